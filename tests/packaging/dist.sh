#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 9 s
# The source tarball: what git tracks, the same bytes each time, and a tree that needs no git. tests/packaging/deb.sh builds of it.
. "$(dirname "$0")/../harness.inc"
make_in() { env -u MAKEFLAGS -u MAKELEVEL -u OUT "$MAKE" --no-print-directory -C "$@" >"$folder/log" 2>&1 || tail -n 5 "$folder/log"; }
version=$(sed -n 's/^VERSION *:= *//p' "$ROOT/Makefile")
tarball=$ROOT/build/tobi-$version.tar.xz
listed() { tar -tf "$1" | sed "s|^tobi-$version/||" | LC_ALL=C sort; }

nothing 'make dist' "$(make_in "$ROOT" dist)"
if git -C "$ROOT" ls-files --error-unmatch Makefile >/dev/null 2>&1; then
  nothing 'it has what git tracks' "$(diff <(listed "$tarball") <(git -C "$ROOT" ls-files | LC_ALL=C sort))"
else
  echo 'skip - it has what git tracks: this tree is no working tree of git'
fi
nothing 'all is in one folder' "$(tar -tf "$tarball" | grep -v "^tobi-$version/")"
nothing 'all of it is of root, and others may read it' "$(tar -tvf "$tarball" | grep -vE '^[-l]rw[-x]r.[-x]r.[-x] 0/0|^lrwxrwxrwx 0/0')"
cp "$tarball" "$folder/first"
until_true "[ \"\$(date +%s)\" != $(date +%s) ]"  # its files would have other times
nothing 'made again it has the same bytes' "$(make_in "$ROOT" dist; cmp "$folder/first" "$tarball" 2>&1)"
tar -xf "$tarball" -C "$folder"
tree=$folder/tobi-$version
nothing 'make knows what to do in it' "$(make_in "$tree" -n all tests)"
touch "$tree/build.log"; mkdir -p "$tree/build/release"; touch "$tree/build/release/x"
nothing 'make dist in it needs no git' "$(GIT_CEILING_DIRECTORIES=$folder make_in "$tree" dist; diff <(listed "$tree/build/tobi-$version.tar.xz") <({ listed "$tarball"; echo build.log; } | LC_ALL=C sort))"
finish
