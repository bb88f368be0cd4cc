#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What keeps the gate from deciding by time or luck, as far as a search can see it: limits stand in one place, scripts of the gate do
# not wait for seconds to pass, and tests/README.md says of each test that only the soak has why. Each search is first tried on a
# planted case.
. "$(dirname "$0")/../harness.inc"
reason() { sed -n 's/^\(#\|\/\/\) soak: //p' "$1" | head -n 1; }
scripts() { git ls-files 'tests/*.sh' 'tests/*.inc'; }
in_gate() { local file; while IFS= read -r file; do [ -n "$(reason "$file")" ] || echo "$file"; done; }

# own_limits FILE...: lines with a limit of their own. What runs in the background is ended by the limit itself.
own_limits() { grep -nE '(^|[^-a-z_])timeout ' "$@" /dev/null | grep -vE '^[^:]*:[0-9]+: *#|timeout -k 10 "\$HANG_S"'; }
printf '  timeout 60 true\n' >"$folder/planted.sh"
[ -n "$(own_limits "$folder/planted.sh")" ] || not_ok 'a limit of its own is not seen'
# tests/packaging/deb.sh has a part that runs in another machine.
nothing 'limits for hangs stand in tests/limits.inc' "$(scripts | grep -vE '^tests/(limits.inc|house/gate.sh|packaging/deb.sh|softroce/guest_works.sh)$' | xargs grep -lE 'timeout' | while IFS= read -r f; do own_limits "$f"; done)"

# sleeps FILE...: lines that let a second pass, or more.
sleeps() { grep -nE '(^|[;&|(]) *sleep +("?\$|[1-9])' "$@" /dev/null | grep -vE '^[^:]*:[0-9]+: *#'; }
printf 'x; sleep 2\n' >"$folder/planted.sh"
[ -n "$(sleeps "$folder/planted.sh")" ] || not_ok 'a sleep is not seen'
nothing 'scripts of the gate wait for a state, not for a time' "$(scripts | grep -vE '^tests/((hosts|perf)/|house/gate.sh)' | in_gate | xargs grep -lE 'sleep' | while IFS= read -r f; do sleeps "$f"; done)"

{ git ls-files 'tests/*/*.sh'; git ls-files 'tests/unit/*_test.cc' 'tests/jobs/*_test.cc'; } | while IFS= read -r file; do
  why=$(reason "$file")
  [ -z "$why" ] || echo "| \`${file#tests/}\` | $why |"
done | sed 's/\.cc`/`/' >"$folder/heads"
sed -n '/^## What only the soak has/,/^## The way/p' tests/README.md | grep -E '^\| `' >"$folder/table"
[ -s "$folder/heads" ] || not_ok 'no test says that it is not in the gate'
nothing 'tests/README.md has each test that only the soak has, with the reason' "$(diff "$folder/heads" "$folder/table")"
finish
