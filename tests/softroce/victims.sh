#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak: compares counts that stealing decides
# Whom a worker asks for work when it has room for two connections, one of them to itself: one far victim at a time. When it chose
# among all there were 1.2 to 1.4 connections an attempt to steal; now there are 0.05 to 0.1, most of them for barriers and joins.
. "${BASH_SOURCE%/*}/inside.inc"
[ "${1:-}" = --inside ] || run_in_guest
begin=$SECONDS
export TOBI_TRANSPORT=verbs

few_connections() {
  limited "$BIN/tobi-bench" uts -t 1 -a 3 -d 9 -b 4 -r 19 --workers 8 --json >$log 2>&1 || return 1
  attempts=$(sed -n 's/.*"steals_ok":\([0-9]*\),"steals_failed":\([0-9]*\).*"each_worker.*/\1 \2/p' $log | awk '{ print $1 + $2 }')
  made=$(sed -n 's/.*verbs: made \([0-9]*\) connections.*/\1/p' $log | awk '{ all += $1 } END { print all }')
  echo "# $made connections, $attempts attempts"
  [ "$made" -gt 0 ] && [ $((made * 4)) -le "$attempts" ]
}
for TOBI_VICTIMS in near uniform; do
  export TOBI_VICTIMS
  TOBI_LOG=debug TOBI_NODES=8 TOBI_VERBS_CONNECTIONS=2 rule "verbs: eight nodes, two connections a worker, victims $TOBI_VICTIMS: few are made" few_connections
done
unset TOBI_VICTIMS
echo "# $((SECONDS - begin)) s inside"
finish
