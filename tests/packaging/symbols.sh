#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The ABI: the shared library exports what tools/debian/libtobi0.symbols lists, and that is what libcore/libtobi.map names. A change of
# either is a change of this list, in the same commit. The comparison is first tried on lists that differ.
. "$(dirname "$0")/../harness.inc"
export LC_ALL=C
differ() { diff <(sort -u "$1") <(sort -u "$2") | sed -n 's/^< /listed, but not exported: /p; s/^> /exported, but not listed: /p'; }
printf 'a\nb\n' >"$folder/one"; printf 'b\nc\n' >"$folder/other"
[ "$(differ "$folder/one" "$folder/other" | wc -l)" -eq 2 ] || not_ok "a difference is seen in both directions"
library=$ROOT/$OUT/lib/libtobi.so map=$ROOT/libcore/libtobi.map list=$ROOT/tools/debian/libtobi0.symbols
version=$(sed -n 's/^VERSION *:= *//p' "$ROOT/Makefile")
major=${version%%.*}

# A symbol has the name of its node behind it; the node is one itself.
nm -D --defined-only "$library" | awk '{ name = $3; sub(/@@/, "@", name); if (name !~ /@/) name = name "@" name; print name }' >"$folder/exported"
awk '/^ / { print $1 }' "$list" >"$folder/listed"
nothing 'the library exports the symbols of the list, and no other' "$([ -s "$folder/listed" ] || echo 'the list is empty'; differ "$folder/listed" "$folder/exported")"
nothing 'the list names the library and its package by their numbers' "$(grep -qx "libtobi.so.$major libtobi$major #MINVER#" "$list" || head -1 "$list")"
nothing 'each symbol came with a version that there has been' "$(awk '/^ / { print $2 }' "$list" | sort -u | while read -r since; do
  grep -q "^## $since " "$ROOT/libcore/CHANGELOG.md" || echo "$since"; done)"

# The map: names by themselves, and patterns of C++ names, a `::*` or `*` at the end for any rest.
nothing 'the node of the map has the number of the soname' "$(grep -qx "TOBI_$major {" "$map" || head -1 "$map")"
nothing 'the soname has the first number of VERSION' "$(readelf -d "$library" | grep -q "SONAME.*\[libtobi\.so\.$major\]" || readelf -d "$library" | grep SONAME)"
sed -n 's/^ *\(tobi_[a-z_]*\);$/\1/p' "$map" >"$folder/map"
sed -n '/extern "C++"/,/};/s/^ *"\{0,1\}\([^";{}]*\)"\{0,1\};$/\1/p' "$map" >"$folder/patterns"
sed "s/@.*//" "$folder/exported" | grep -v "^TOBI_$major\$" >"$folder/names"
grep '^tobi_' "$folder/names" >"$folder/plain"
nothing 'the plain names are those of the map' "$([ -s "$folder/map" ] || echo 'none were found'; differ "$folder/map" "$folder/plain" | sed 's/listed/in the map/g')"
grep -v '^tobi_' "$folder/names" | c++filt >"$folder/demangled"
touch "$folder/used"
while read -r name; do
  found=
  while read -r pattern; do
    # shellcheck disable=SC2053
    if [[ $name == $pattern ]]; then found=yes; echo "$pattern" >>"$folder/used"; fi
  done <"$folder/patterns"
  [ -n "$found" ] || echo "$name"
done <"$folder/demangled" >"$folder/strange"
nothing 'each name of C++ is of a pattern of the map' "$([ -s "$folder/demangled" ] || echo 'none were found'; cat "$folder/strange")"
nothing 'each pattern of the map has a name' "$(sort -u "$folder/used" | grep -vxFf - "$folder/patterns")"

# What is loaded beside it shows what it is asked for by name, and no more.
for plugin in "$ROOT/$OUT"/lib/libtobi-*.so; do
  [ -e "$plugin" ] || continue
  nothing "${plugin##*/} has its name as soname, and exports names of tobi alone" "$(readelf -d "$plugin" | grep -qF "SONAME" || echo 'no soname'
    readelf -d "$plugin" | grep SONAME | grep -vF "[${plugin##*/}]"; nm -D --defined-only "$plugin" | awk '$2 != "u" && $2 != "V" && $2 != "W" && $3 !~ /^tobi_/ { print $3 }')"
done
finish
