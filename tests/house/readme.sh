#!/usr/bin/env bash
# README.md says what is so: its tables of settings, transports and tools are complete and right, and its program runs. Each
# comparison is first tried on a table with a row too many and one too few, so that one that finds nothing is noticed.
set -u
cd "${ROOT:-$PWD}"
: "${BIN:=build/release/bin}" "${CXX:=g++}"
for name in $(env | sed -n 's/^\(TOBI_[A-Za-z0-9_]*\)=.*/\1/p'); do unset "$name"; done
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
failed=0
say() { if [ -z "$2" ]; then echo "ok - $1"; else echo "not ok - $1"; echo "$2" | head -5; failed=1; fi; }
# Lines that are in one file and not in the other.
differ() { diff <(sort -u "$1") <(sort -u "$2") | sed -n 's/^< /only in README.md: /p; s/^> /missing in README.md: /p'; }
printf 'a\nb\n' >"$work/one"; printf 'b\nc\n' >"$work/other"
[ "$(differ "$work/one" "$work/other" | wc -l)" -eq 2 ] || { echo "not ok - a difference is seen in both directions"; failed=1; }

section() { sed -n "/^## $1\$/,/^## /p" README.md; }
# The rows of a section's tables, their columns with tabs between, without quotes.
rows() { section "$1" | grep '^| `' | sed 's/\\|/,/g; s/^| *//; s/ *| */\t/g; s/`//g'; }

"$BIN/tobi-info" --settings --json | sed 's/.*"name":"\([^"]*\)".*"default":"\([^"]*\)".*/\1\t\2/' >"$work/settings"
[ -s "$work/settings" ] || { echo "not ok - tobi-info lists its settings"; failed=1; }
rows Settings | cut -f 1,2 >"$work/readme"
say "the settings and their defaults are those of settings.cc" "$(differ "$work/readme" "$work/settings")"
sed -n 's/^ *{"\(TOBI_[A-Z_]*\)", .*/\1/p' libcore/base/settings.cc >"$work/source"
cut -f 1 "$work/readme" >"$work/names"
say "every row of settings.cc has a row in README.md, and the reverse" "$(differ "$work/names" "$work/source")"
say "every setting's row says what it is for" "$(rows Settings | awk -F '\t' 'length($3) < 10 {print $1}')"
for file in README.md libcore/DESIGN.md; do
  say "$file names no setting that there is not" "$(grep -oE 'TOBI_[A-Z]+[A-Z_]*' "$file" | sort -u | grep -vxFf "$work/source")"
done

"$BIN/tobi-info" --no-measure --json | sed -n 's/^{"kind":"transport","name":"\([^"]*\)".*/\1/p' >"$work/transports"
rows Transports | cut -f 1 >"$work/readme"
say "the transports are those of the registry" "$(differ "$work/readme" "$work/transports")"
ls "$BIN" | grep '^tobi-' >"$work/tools"
rows Tools | cut -f 1 | sed 's/ .*//' | grep '^tobi-' >"$work/readme"
say "the tools are those that are built" "$(differ "$work/readme" "$work/tools")"
say "README.md has at most 240 lines" "$(lines=$(wc -l <README.md); [ "$lines" -le 240 ] || echo "$lines")"
say "its files and folders are there" "$(grep -oE '`(libcore|tests|tools|transports)/[a-zA-Z0-9_./]*`' README.md | tr -d '`' | while read -r path; do [ -e "$path" ] || echo "$path"; done)"

section 'A program' | sed -n '/^```cpp$/,/^```$/p' | sed '/^```/d' >"$work/fib.cc"
$CXX -std=c++20 -O2 -Wall -Wextra -Werror -Ilibcore/include "$work/fib.cc" -o "$work/fib" "$BIN/../lib/libtobi.a" -lhwloc -lpthread -ldl >"$work/log" 2>&1
say "its program builds without a warning" "$([ -x "$work/fib" ] || cat "$work/log")"
say "and counts right" "$([ "$(TOBI_WORKERS=2 "$work/fib" 2>&1)" = 102334155 ] || echo 'another answer than fib(40)')"
exit $failed
