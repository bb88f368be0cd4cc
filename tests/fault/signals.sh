#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A job is one program to its shell: what signals do to it, and which status it has.
. "$(dirname "$0")/../harness.inc"

# A process group of its own, as a shell's job has; Ctrl-C reaches all of it.
start() {
  : >"$out"
  # shellcheck disable=SC2086 # words
  env --default-signal=INT,QUIT setsid "$bench" $on_and_on --workers 3 >"$out" 2>"$err" </dev/null &
  first=$!
  begun "$out" || not_ok "a job begins"
  workers=($first $(children $first))
}
ended() {  # whether all are gone is waited for
  wait $first 2>/dev/null
  status=$?
  gone "${workers[@]}" && left=no || left=yes
}

start; kill -INT -- "-$first"; ended
equal "Ctrl-C ends the job with status 130" $status 130
equal "Ctrl-C leaves no process" $left no
equal "Ctrl-C says nothing" "$(cat "$err")" ""

start; kill -TERM $first; ended
equal "SIGTERM to the first process ends the job with status 143" $status 143
equal "SIGTERM leaves no process" $left no
equal "SIGTERM says nothing" "$(cat "$err")" ""

start; kill -SEGV "${workers[1]}"; ended
equal "a crash of a worker gives the status of its signal" $status 139
equal "a crash of a worker leaves no process" $left no
equal "a crash of a worker is one message" "$(grep -c 'was killed by signal 11 (SIGSEGV)' "$err")" 1

start; kill -ABRT $first; ended
equal "a crash of rank 0 gives the status of its signal" $status 134
equal "a crash of rank 0 leaves no process" $left no
equal "a crash of rank 0 is one message" "$(grep -c 'rank 0 .*was killed by signal 6 (SIGABRT)' "$err")" 1

# Two jobs side by side know nothing of each other.
"$bench" uts --tree T1 --workers 2 --verify >/dev/null 2>"$err" & one=$!
"$bench" uts --tree T1 --workers 2 --verify >/dev/null 2>>"$err" & two=$!
wait $one; a=$?; wait $two; b=$?
equal "two jobs at once are both right" "$a $b" "0 0"
finish
