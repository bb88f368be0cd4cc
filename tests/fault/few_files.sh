#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A fabric that has a socket for each peer, in a shell that allows few open files.
. "$(dirname "$0")/../harness.inc"
if ! "$BIN/tobi-info" --json --no-measure | grep -q '"kind":"transport","name":"ofi".*tcp'; then
  skip "few open files: needs libfabric's provider tcp (package libfabric-dev, at build time, and libfabric1)"
  finish
fi
within() { run prlimit --nofile="$1:$2" env "${@:3}"; }  # soft and hard limit, settings and command
job="TOBI_WORKERS=8 TOBI_NODES=8 TOBI_TRANSPORT=ofi TOBI_OFI_PROVIDER=tcp"
# shellcheck disable=SC2086
within 20 1024 $job "$bench" uts --tree T3 --verify
all "the shell's soft limit is raised where the sockets need it" '[ $status -eq 0 ]' 'says "8 workers"' 'says yes' silent
# shellcheck disable=SC2086
within 100 100 $job "$bench" uts --tree T3 --verify
all "a hard limit that is too small is told, with what to type" 'complains "warning: .*has a socket for each of 8 workers, and this process may open 100 files.*ulimit -Hn 272"'
# A worker that could not accept its first peer would leave that one without an answer.
# shellcheck disable=SC2086
within 16 16 $job "$bench" uts --tree T3 --verify
all "one that leaves no room for the first sockets ends the job, and is told once" '[ $status -eq 1 ]' '[ "$(wc -l <"$err")" -eq 1 ]' \
  'complains "has a socket for each worker that it speaks with, and [0-9]* of the 16 files that this process may open are taken: raise the limit (ulimit -Hn 272"'
for files in 6 8 9 10 12; do
  within $files $files $job "$bench" uts --tree T3 --verify
  all "$files open files are a sentence" '[ $status -ne 0 ]' '[ $status -lt 124 ]' 'complains "^tobi.*\(open files\|ulimit -[Hn]*\|files that\).*\.$"'
done
finish
