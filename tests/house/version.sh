#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The version is in the Makefile alone, the changelogs follow it, and what the packages are built with is what `make deb` installs.
. "$(dirname "$0")/../harness.inc"
export LC_ALL=C
version=$(sed -n 's/^VERSION *:= *//p' Makefile)
nothing 'VERSION is MAJOR.MINOR.PATCH' "$([[ $version =~ ^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)$ ]] || echo "$version")"

# named FILE...: those that name the version.
named() { grep -lE "(^|[^0-9.])${version//./\\.}([^0-9.]|\$)" "$@"; }
echo "version = \"$version\"" >"$folder/planted"; echo "1$version" >"$folder/other"
[ "$(named "$folder/planted" "$folder/other")" = "$folder/planted" ] || not_ok 'a version is noticed elsewhere'
# A list of symbols says with which version each came.
nothing 'no other file names it' "$(git ls-files 2>/dev/null | grep -vxE 'Makefile|libcore/CHANGELOG\.md|tools/debian/libtobi0\.symbols|LICENSE' | while read -r file; do
  [ ! -f "$file" ] || named "$file"; done)"

log=libcore/CHANGELOG.md
sed -nE 's/^## ([^ ]*) - (.*)$/\1 \2/p' $log >"$folder/entries"
nothing 'the newest entry of the changelog is that of VERSION' "$([ "$(head -1 "$folder/entries" | cut -d' ' -f1)" = "$version" ] || head -1 "$folder/entries")"
nothing 'its entries are in order' "$(cut -d' ' -f1 "$folder/entries" | sort -rV | diff - <(cut -d' ' -f1 "$folder/entries"); cut -d' ' -f2 "$folder/entries" | sort -r | diff - <(cut -d' ' -f2 "$folder/entries"))"
nothing 'its dates are dates' "$(while read -r _ day; do [ "$(date +%F -d "$day" 2>&1)" = "$day" ] || echo "$day"; done <"$folder/entries")"
nothing 'each entry has a point' "$(awk '/^## / { if (head != "" && !points) print head; head = $0; points = 0 } /^- / { points++ } END { if (!points) print head }' $log)"

maintainer='Some One <one@example.org>'
debian() { awk -v maintainer="$maintainer" -f tools/debian/changelog.awk "$1"; }
printf '# Changes\n\n## 2.0 (today)\n\n- x\n' >"$folder/bad.md"
nothing "an entry that is not written as it must be is refused" "$(debian "$folder/bad.md" >"$folder/out" 2>&1 && cat "$folder/out")"
debian $log >"$folder/changelog" 2>"$folder/complaint"
nothing "Debian's changelog is made of it" "$([ -s "$folder/changelog" ] || echo empty; cat "$folder/complaint")"
nothing 'it has the same entries' "$(sed -nE 's/^tobi \((.*)-1\) unstable; urgency=medium$/\1/p' "$folder/changelog" | diff - <(cut -d' ' -f1 "$folder/entries"))"
words() { tr -s ' \n' '\n' | grep -v '^$'; }
nothing 'and all of its points, word by word' "$(diff <(sed -n '/^## /,$p' $log | sed -nE 's/^- /* /p; s/^  ([^ ])/\1/p' | words) <(grep '^  ' "$folder/changelog" | words))"
nothing 'its lines have at most 80 columns' "$(awk 'length($0) > 80' "$folder/changelog")"
if command -v dpkg-parsechangelog >/dev/null; then
  nothing 'dpkg reads it' "$(dpkg-parsechangelog -l "$folder/changelog" --all >"$folder/parsed" 2>"$folder/complaint" || echo failed; cat "$folder/complaint"
    grep -qx "Version: $version-1" "$folder/parsed" || grep ^Version "$folder/parsed")"
else
  echo "skip - dpkg reads Debian's changelog: this is no Debian"
fi

# The packages.
control=tools/debian/control
made_control=$folder/control
"$MAKE" --no-print-directory deb-control >"$made_control"
sed -n '/^Build-Depends:/,/^[A-Z]/p' "$made_control" | tr , '\n' | sed -nE 's/^ ([a-z0-9+.-]+).*/\1/p' | sed 's/^debhelper-compat$/debhelper/' | sort >"$folder/depends"
tools/make/packages list deb | tr ' ' '\n' | sort >"$folder/installed"
nothing 'the packages are built with what the transports need' "$(tools/make/fabrics | awk '$3 != "-" { print $3 }' | sort | comm -23 - "$folder/depends")"
nothing 'make deb installs what the packages are built with' "$([ -s "$folder/depends" ] || echo 'nothing is named'; comm -23 "$folder/depends" "$folder/installed")"
sed -n 's/^Package: //p' $control | sort >"$folder/packages"
nothing 'each package has a list of its files' "$(cd tools/debian && printf '%s\n' *.install | sed 's/\.install$//' | sort | diff - "$folder/packages")"
finish
