#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 6 s
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
equal "a crash of a worker names its process, for its core file" "$(grep -c "rank 1 on [^ ]* (process ${workers[1]}) was killed" "$err")" 1

start; kill -ABRT $first; ended
equal "a crash of rank 0 gives the status of its signal" $status 134
equal "a crash of rank 0 leaves no process" $left no
equal "a crash of rank 0 is one message" "$(grep -c 'rank 0 .*was killed by signal 6 (SIGABRT)' "$err")" 1

# What main returns, and what happens to a worker when the job is over.
cat >"$folder/ends.cc" <<'END'
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tobi/tobi.hpp>
int main(int argc, char** argv) {
  const std::string how = argv[1];
  int rank = 0;
  {
    tobi::runtime rt(argc, argv);
    rank = rt.rank();
    while (how == "write" && rank == 1) std::puts("line");
  }
  if (how == "signal" && rank == 1) std::raise(std::atoi(argv[2]));
  if (how == "last") return rank == 2 ? 5 : 3;
  return how == "rank" ? rank : how == "all" ? 3 : 0;
}
END
$CXX -std=c++20 -Ilibcore/include "$folder/ends.cc" -o "$folder/ends" "$OUT/lib/libtobi.a" -lhwloc -lpthread -ldl >"$out" 2>&1; verdict $? "the program builds"
export TOBI_WORKERS=2
run "$folder/ends" all; all "main returns 3 everywhere: the job's status, and no word" '[ $status -eq 3 ]' silent
run TOBI_WORKERS=3 "$folder/ends" last; all "all but one return 3: the job's status, and that one is named" '[ $status -eq 3 ]' \
  '[ "$(wc -l <"$err")" -eq 1 ]' 'complains "^tobi: rank 2 on .* ended with status 5\.$"'
run "$folder/ends" rank; all "a rank alone returns 1: the job's status, and it is named" '[ $status -eq 1 ]' 'complains "^tobi: rank 1 on .* ended with status 1\.$"'
run "$folder/ends" signal 9; all "a worker killed after the job's end is named, with its signal" '[ $status -eq 137 ]' \
  'complains "^tobi: rank 1 on .* was killed by signal 9 (SIGKILL) after the job.s end\.$"'
run "$folder/ends" signal 13; all "SIGPIPE is named where somebody reads what the job writes" '[ $status -eq 141 ]' 'complains "(SIGPIPE)"'

# Nobody reads on: a sequential program ends without a word, and so does a job, whichever rank was writing.
for writer in "rank 0;$bench $on_and_on" "another rank;$folder/ends write"; do
  # shellcheck disable=SC2086 # words
  { limited ${writer#*;} 2>"$err" </dev/null; echo $? >"$folder/status"; } | head -1 >"$out"
  all "the reader of the output has gone (${writer%%;*} writes): status 141, and no word" '[ "$(cat "$folder/status")" -eq 141 ]' 'lines 1' silent
done
unset TOBI_WORKERS

# Two jobs side by side know nothing of each other.
"$bench" uts --tree T1 --workers 2 --verify >/dev/null 2>"$err" & one=$!
"$bench" uts --tree T1 --workers 2 --verify >/dev/null 2>>"$err" & two=$!
wait $one; a=$?; wait $two; b=$?
equal "two jobs at once are both right" "$a $b" "0 0"
finish
