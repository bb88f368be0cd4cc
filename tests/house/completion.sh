#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 5 s
# Completion for bash offers what the tools take: each option, program and value that their --help names, and no other. What --help
# says is read here in another way, and the comparison is first tried on lists that differ.
. "$(dirname "$0")/../harness.inc"
PATH=$BIN:$PATH
# differ OFFERED TAKEN: what is in one of two lists of words alone.
differ() { diff <(tr ' ' '\n' <<<"$1" | sort) <(tr ' ' '\n' <<<"$2" | sort) | sed -n 's/^< /offered, but not taken: /p; s/^> /taken, but not offered: /p'; }
[ "$(differ '--a --b' '--b --c' | wc -l)" -eq 2 ] || not_ok "a difference is seen in both directions"

. tools/completion/tobi.bash
# offered WORD...: what completion has for the last of these words.
offered() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tobi; echo "${COMPREPLY[*]}"; }
is() { local what=$1 wanted=$2 got; shift 2; got=$(offered "$@"); nothing "$what" "$([ "$got" = "$wanted" ] || echo "\"$got\", not \"$wanted\"")"; }

# --help wraps nothing: an option is the first word of its line.
options() { "$@" --help | sed -nE 's/^  (-[^ ]*).*/\1/p' | tr , '\n' | sed 's/[{:].*//' | paste -sd' '; }
programs() { "$@" --help | sed '1,/^Subcommands:/d' | awk 'NF { print $1 }' | paste -sd' '; }
tried=0
compare() {  # COMMAND...: it, and its programs
  local program
  tried=$((tried + 1))
  nothing "$*: the options are those of --help" "$([ -n "$(options "$@")" ] || echo none; differ "$(offered "$@" -)" "$(options "$@")")"
  if "$@" --help | grep -q '^Subcommands:'; then
    nothing "$*: the programs are those of --help" "$(differ "$(offered "$@" "")" "$(programs "$@")")"
    for program in $(programs "$@"); do compare "$@" "$program"; done
  fi
}
for tool in "$BIN"/tobi-*; do compare "${tool##*/}"; done
nothing "these were many" "$([ "$tried" -ge 24 ] || echo "$tried")"

# The values of an option: NAME KIND:{a,b,...} on one line of --help.
for command in tobi-conform 'tobi-bench ramp' 'tobi-bench cilksort'; do
  $command --help | sed -nE 's/^  (--[a-z]+) [A-Z]+:\{([^}]*)\}.*/\1 \2/p' >"$folder/values"
  nothing "$command: the values of an option are those of --help" "$([ -s "$folder/values" ] || echo 'no such option'
    while read -r option values; do differ "$(offered $command "$option" "")" "${values//,/ }"; done <"$folder/values")"
done
# What is offered is taken, and what is not offered is refused.
refusal=$(tobi-bench uts --tree none 2>&1 | sed -nE 's/.*is not one of ([^(]*) \(.*/\1/p' | tr -d ,)
nothing "tobi-bench uts takes the trees that are offered" "$([ -n "$refusal" ] || echo 'none are named'; differ "$(offered tobi-bench uts --tree "")" "$refusal")"
transports=$("$BIN/tobi-info" --no-measure --json | sed -n 's/^{"kind":"transport","name":"\([^"]*\)".*/\1/p' | paste -sd' ')
nothing "tobi-conform and tobi-perf: the transports are those of tobi-info" "$(for command in 'tobi-conform' 'tobi-perf --transport'; do differ "$(offered $command "")" "$transports"; done)"
operations=$(sed -n '/^The operations:/,/^# OPTIONS/p' tools/manual/tobi-perf.1.md | grep -E '^`' | tr -d '`,' | paste -sd' ')
nothing "tobi-perf: the operations are those of its page" "$(differ "$(offered tobi-perf "")" "$operations")"
TOBI_TRACE=$folder/trace TOBI_WORKERS=1 tobi-bench fib --n 5 >/dev/null
nothing "tobi-report takes the figures that are offered, and no other" "$(figures=$(offered tobi-report --svg ""); [ -n "$figures" ] || echo none
  for figure in $figures; do tobi-report "$folder/trace" --svg "$figure" "$folder/x.svg" >/dev/null 2>&1 || echo "$figure"; done
  tobi-report "$folder/trace" --svg none "$folder/x.svg" >/dev/null 2>&1 && echo 'a figure that is not offered')"
rm "$folder/trace"
# What the completion knows by itself is there.
sed -n '/^_tobi_values/,/^}/p' tools/completion/tobi.bash | grep -oE -- '--[a-z]+' | sort -u >"$folder/known"
nothing "each option that the completion knows is one of a tool" "$([ -s "$folder/known" ] || echo none
  for tool in "$BIN"/tobi-*; do options "$tool"; done | tr ' ' '\n' >"$folder/all"; grep -vxFf "$folder/all" "$folder/known")"

is "the beginning of a program's name" "fib fmm frames fork-cost" tobi-bench f
is "a value behind a space" "parallel_for parallel_invoke promises pair" tobi-bench ramp --shape p
is "a value behind =" "parallel_for parallel_invoke promises pair" tobi-bench ramp --shape = p
is "a value behind = that has not begun" "$(offered tobi-bench ramp --shape "")" tobi-bench ramp --shape =
is "options behind a value" "--verify" tobi-bench fib --workers 3 --v
is "a short range of numbers" "0 1 2 3" tobi-bench uts -t ""
is "the second of several values with commas" "shm,ofi" tobi-perf --transport shm,o
is "one operation, not two" "" tobi-perf get ""
is "a path to the tool" "self shm sim" "$BIN/tobi-conform" s
: >"$folder/trace-1"; : >"$folder/trace-2"
is "files" "$folder/trace-1 $folder/trace-2" tobi-report "$folder/trace-"
is "a file as an option's value" "$folder/trace-1" tobi-report --html "$folder/trace-1"
is "a file as the second of two values" "$folder/trace-1" tobi-report --svg steals "$folder/trace-1"
is "a tool that is not there" "" no/such/tobi-bench f

$MAKE --no-print-directory install-completion OUT="$OUT" PREFIX="$folder/prefix" >"$folder/log" 2>&1
nothing "make install puts it under the name of each tool" "$(differ "$(cd "$folder/prefix/share/bash-completion/completions" && echo *)" "$(cd "$BIN" && echo tobi-*)"; cat "$folder/log")"
nothing "and each of them registers" "$(for file in "$folder"/prefix/share/bash-completion/completions/*; do
  bash -c ". $file && complete -p ${file##*/}" >/dev/null 2>&1 || echo "$file"; done)"
finish
