#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 5 s
# `make new-transport`: a port is laid down in a copy of the tree and taken away again, and bad names are refused. In a soak: it is built,
# tobi-conform says what to write next, and says the next thing as each is written.
. "$(dirname "$0")/../harness.inc"
tree=$folder/tree
mkdir "$tree"
(cd "$ROOT" && { git ls-files 2>/dev/null || find . -path ./build -prune -o -type f -print; }) | tar -cf - -C "$ROOT" -T - | tar -xf - -C "$tree"
cd "$tree" || exit 1
lay() { "$MAKE" --no-print-directory new-transport NAME="$1" >"$out" 2>"$err"; status=$?; }
whole() { find . -path ./build -prune -o -type f -print | sort | xargs sha256sum; }
whole >"$folder/before"

refused() {  # NAME SENTENCE
  lay "$1"
  all "the name \"$1\" is refused in one sentence" '[ $status -ne 0 ]' "complains \"$2\"" '[ "$(grep -c "^new-transport" "$err")" -eq 1 ]'
}
refused '' 'a name is missing; type: make new-transport NAME=x'
refused self 'transports/self is there already'
refused soft 'transports/soft is there already'
refused Probe 'no name of a folder and a namespace'
refused 9probe 'no name of a folder and a namespace'
refused probe-2 'no name of a folder and a namespace'
refused ../probe 'no name of a folder and a namespace'
refused new 'is a word of C++'
refused a_name_that_is_too_long_for_tables 'is too long'
nothing "a refusal changes nothing" "$(whole | diff "$folder/before" -)"

lay probe
all "a port is laid down" '[ $status -eq 0 ]' '[ -s transports/probe/setup.cc ]' '[ -s transports/probe/datapath.cc ]' '[ -s transports/probe/probe.hpp ]'
nothing "nothing in it is of the template" "$(grep -nE '\bself\b|self_' transports/probe/* | grep -v 'of its own')"
nothing "it is found by its folder, and has one row outside" "$(whole | diff "$folder/before" - | grep '^[<>]' | awk '{ print $3 }' | sort -u | grep -vE '^./transports/(probe/(module.mk|probe.hpp|setup.cc|datapath.cc)|registry.cc)$')"
for compiler in g++ clang++; do
  command -v $compiler >/dev/null || { skip "$compiler: not installed"; continue; }
  nothing "it compiles without a warning with $compiler" "$(for file in transports/probe/*.cc; do
    $compiler -std=c++20 -fsyntax-only -Wall -Wextra -Wconversion -Wshadow -Werror -DTOBI_HEADER_WARNINGS -I. -Ilibcore/include "$file" 2>&1; done)"
done
! command -v clang-format >/dev/null || nothing "it is as clang-format would have it" "$(clang-format --dry-run -Werror transports/probe/*.cc transports/probe/*.hpp 2>&1)"
lay probe
all "a second time it is refused" '[ $status -ne 0 ]' 'complains "transports/probe is there already"'

# write FUNCTION STATUS: what the function returns from now on
write() { sed -i "/probe_transport::$1(/{:body;/}/!{N;b body};s/status::[a-z]*;/status::$2;/}" transports/probe/*.cc; }
next_is() {  # RULE WORDS: that rule fails, and says what to write; those before pass, those behind are not asked
  "$MAKE" --no-print-directory -j2 OUT="$OUT" "$OUT/bin/tobi-conform" >"$out" 2>"$err" || { not_ok "it builds for $1"; return; }
  run "$OUT/bin/tobi-conform" probe --ranks 2
  local words=$2
  all "tobi-conform probe fails at $1, and says what to write" '[ $status -eq 1 ]' "says \"^fail $1: rank 0: .*; next: .*$words\"" \
    '[ "$(grep -c ^fail "$out")" -eq 1 ]' "says \"^  $1 *wrong: \"" 'says "^  notices *missing: "'
}
if [ -n "${SOAK:-}" ]; then
  mkdir -p "$OUT" && cp -a "$ROOT/$OUT"/{obj,made,lib} "$OUT/" && cp -a "$ROOT/build/config.mk" build/
  next_is address 'connect() takes those of all'
  write connect ok
  next_is register 'register_memory() registers'
  write register_memory ok
  next_is attach 'attach() checks'
  write attach ok
  next_is put 'post() checks a put'
  write post ok
  next_is flush 'flush() takes completions'
  write flush ok
  next_is flush 'flush() takes completions'
  says 'the get has not brought its word' || not_ok "a flush that completes nothing is found"
fi
rm -rf transports/probe
sed -i '/^  row(probe,/d' transports/registry.cc
nothing "without its folder and its row the tree is what it was" "$(whole | diff "$folder/before" -)"
finish
