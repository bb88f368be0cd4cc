#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A fabric that has a socket for each peer, in a shell that allows few open files.
. "$(dirname "$0")/../harness.inc"
if ! "$BIN/tobi-info" --json --no-measure | grep -q '"kind":"transport","name":"ofi".*tcp'; then
  skip "few open files: needs libfabric's provider tcp (package libfabric-dev, at build time, and libfabric1)"
  finish
fi
within() {  # soft and hard limit, settings and command
  soft=$1 hard=$2
  shift 2
  (ulimit -Sn "$soft" && ulimit -Hn "$hard" && limited env "$@" > "$out" 2> "$err")
  status=$?
}
job="TOBI_WORKERS=8 TOBI_NODES=8 TOBI_TRANSPORT=ofi TOBI_OFI_PROVIDER=tcp"
# shellcheck disable=SC2086
within 20 1024 $job "$bench" uts --tree T3 --verify
all "the shell's soft limit is raised where the sockets need it" '[ $status -eq 0 ]' 'says "8 workers"' 'says yes' silent
# shellcheck disable=SC2086
within 100 100 $job "$bench" uts --tree T3 --verify
all "a hard limit that is too small is told, with what to type" 'complains "warning: .*has a socket for each of 8 workers, and this process may open 100 files.*ulimit -Hn 272"'
finish
