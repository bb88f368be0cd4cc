#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 11 s
# README.md says what is so: its list of tools is complete, its programs run, and each rule for tasks is told as it says. The
# table of transports in transports/README.md is complete too. Each comparison is first tried on a table with a row too many and
# one too few, so that one that finds nothing is noticed.
. "$(dirname "$0")/../harness.inc"
# Lines that are in one file and not in the other.
differ() { diff <(sort -u "$1") <(sort -u "$2") | sed -n 's/^< /only in the page: /p; s/^> /missing in the page: /p'; }
printf 'a\nb\n' >"$folder/one"; printf 'b\nc\n' >"$folder/other"
[ "$(differ "$folder/one" "$folder/other" | wc -l)" -eq 2 ] || not_ok "a difference is seen in both directions"

section() { sed -n "/^## $1\$/,/^## /p" "${2:-README.md}"; }
# The first column of a section's tables, without quotes.
rows() { section "$@" | grep '^| `' | sed 's/^| *`//; s/`.*//'; }

"$BIN/tobi-info" --settings --json | sed -n 's/.*"name":"\([^"]*\)".*/\1/p' >"$folder/source"
[ -s "$folder/source" ] || not_ok "tobi-info lists the settings"
nothing "no README names a setting that there is not" "$(git ls-files '*.md' | grep -v '^tools/manual/' | xargs grep -ohE 'TOBI_[A-Z]+[A-Z_]*' | sort -u |
  grep -vxFf "$folder/source" | grep -vxE 'TOBI_ELIDE|TOBI_HEADER_WARNINGS')"  # macros
"$BIN/tobi-info" --no-measure --json | sed -n 's/^{"kind":"transport","name":"\([^"]*\)".*/\1/p' >"$folder/transports"
rows Transports transports/README.md >"$folder/readme"
nothing "the transports are those of the registry" "$(differ "$folder/readme" "$folder/transports")"
ls "$BIN" | grep '^tobi-' >"$folder/tools"
rows Tools | grep '^tobi-' >"$folder/readme"
nothing "the tools are those that are built" "$(differ "$folder/readme" "$folder/tools")"

build() { $CXX -std=c++20 -O2 -g -Wall -Wextra -Werror -Ilibcore/include "$1.cc" -o "$folder/${1##*/}" "$BIN/../lib/libtobi.a" -lhwloc -lpthread -ldl >"$folder/log" 2>&1; }
# its SECTION EXPECTED [NUMBER ITS-RESULT]: the program of a section builds without a warning, and prints what it says. With a small
# NUMBER it ends soon also where each fork is slow.
its() {
  section "$1" | sed -n '/^```cpp$/,/^```$/p' | sed '/^```/d' >"$folder/program.cc"
  build "$folder/program"
  nothing "the program of '$1' builds without a warning" "$([ -x "$folder/program" ] || cat "$folder/log")"
  for nodes in 1 2; do
    nothing "and prints $2 on $nodes of two workers each" "$(got=$(TOBI_WORKERS=$((2 * nodes)) TOBI_NODES=$nodes limited "$folder/program" 2>&1); [ "$got" = "$2" ] || echo "$got")"
  done
  [ -z "${3:-}" ] || nothing "and with TOBI_DEBUG_MIGRATE=1 and $3 it prints $4" "$(got=$(TOBI_WORKERS=2 TOBI_DEBUG_MIGRATE=1 limited "$folder/program" "$3" 2>&1); [ "$got" = "$4" ] || echo "$got")"
  rm -f "$folder/program"
}
its 'A program' 102334155 20 6765
its 'Global memory' "$(section 'Global memory' | sed -n 's|.*// prints ||p')"

# The rules: wrong.cc breaks the one whose number it is given.
build tests/house/wrong
nothing "the program that breaks the rules builds" "$([ -x "$folder/wrong" ] || cat "$folder/log")"
rules=0
while IFS= read -r line; do
  rules=$((rules + 1))
  number=${line%%.*} text=$(sed -nE 's/.* `([^`]*)`$/\1/p' <<<"$line")
  migrate=$(grep -c '\\\* `' <<<"$line") global=$(grep -c '† `' <<<"$line")
  said=$(TOBI_WORKERS=2 TOBI_DEBUG_MIGRATE=$migrate TOBI_DEBUG_GLOBAL=$global limited "$folder/wrong" "$number" 2>&1); status=$?
  nothing "rule $number is told as it says" "$(
    [ -n "$text" ] && grep -qF -- "$text" <<<"$said" || echo "$said"
    case $status in 0) grep -q 'tobi: warning' <<<"$said" || echo "it ended well" ;; 1 | 2) ;; *) echo "status $status" ;; esac)"
done < <(section 'Rules for tasks' | grep -E '^[0-9]+\. ')
nothing "there are 17 rules, and a right program is told of none" "$([ "$rules" -eq 17 ] || echo "$rules"
  said=$(TOBI_WORKERS=2 TOBI_DEBUG_MIGRATE=1 TOBI_DEBUG_GLOBAL=1 limited "$folder/wrong" 0 2>&1); [ $? -eq 0 ] && [ -z "$said" ] || echo "$said")"
finish
