#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 7 s
# The manual (tools/manual) says what is so: every setting with its values, default and scope, every option of every tool, the
# messages of the rules for tasks; its programs build and run, its commands succeed. Where pandoc is installed the pages are made
# and man renders them; where Doxygen is, every public name is documented. `make docs` installs both, make check does not. Each
# comparison is first tried on two lists that differ, so that one that finds nothing is noticed.
. "$(dirname "$0")/../harness.inc"
export LC_ALL=C.UTF-8
differ() { diff <(sort -u "$1") <(sort -u "$2") | sed -n 's/^< /only in the page: /p; s/^> /missing in the page: /p'; }
printf 'a\nb\n' >"$folder/one"; printf 'b\nc\n' >"$folder/other"
[ "$(differ "$folder/one" "$folder/other" | wc -l)" -eq 2 ] || not_ok "a difference is seen in both directions"
pages=tools/manual
sources=$(ls $pages/*.[17].md)

# The settings, their values where the table knows them, their defaults, and whose value counts.
"$BIN/tobi-info" --settings --json >"$folder/json"
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" "$folder/json"; }
paste <(field name) <(field choices) <(field default) <(field rank0 | sed 's/^gives$/job/; s/^offers$/node/; s/^has its own$/process/') >"$folder/settings"
awk '/^\*\*TOBI_[A-Z_]*\*\*$/ { gsub(/\*/, ""); name = $0 } /^:   Values: / { sub(/^:   Values: /, ""); print name "\t" $0; name = "" }' \
  "$pages/tobi-settings.7.md" >"$folder/rows"
sed -n 's/^\(TOBI_[A-Z_]*\)\t\(.*\)\. Default: \(.*\)\. Scope: \([a-z]*\)\.$/\1\t\2\t\3\t\4/p' "$folder/rows" >"$folder/read"
nothing "tobi-settings: each entry has values, a default and a scope" "$([ -s "$folder/read" ] && diff <(cut -f 1 "$folder/rows") <(cut -f 1 "$folder/read"))"
awk -F '\t' -v OFS='\t' 'NR == FNR { choices[$1] = $2; next }
  { good = choices[$1] == "" ? "" : $2; gsub(/`/, "", good); gsub(/`/, "", $3); print $1, good, $3 == "none" ? "" : $3, $4 }' \
  "$folder/settings" "$folder/read" >"$folder/page"
nothing "tobi-settings: the entries are those of tobi-info" "$(differ "$folder/page" "$folder/settings")"
field name >"$folder/names"
nothing "no page names a setting that there is not" "$(grep -ohE 'TOBI_[A-Z]+[A-Z_]*' $sources | sort -u | grep -vxFf "$folder/names")"

# The options of each tool, with those of its programs. --help wraps nothing: an option is the first word of its line.
options() { sed -nE 's/^  (-[^ ]*).*/\1/p' | tr , '\n' | sed 's/[{:].*//'; }
help_of() {
  "$BIN/$1" --help | options
  [ "$1" != tobi-bench ] || for program in $("$BIN/$1" --help | sed '1,/^Subcommands:/d' | awk 'NF { print $1 }'); do
    case $program in
      peers) "$BIN/$1" peers fib --help; "$BIN/$1" peers uts --help ;;
      *) "$BIN/$1" "$program" --help ;;
    esac | options
  done
}
ls "$BIN" | grep '^tobi-' >"$folder/tools"
ls $pages | sed -n 's/\.1\.md$//p' >"$folder/page"
nothing "the tools that are built have a page each" "$(differ "$folder/page" "$folder/tools")"
while read -r tool; do
  help_of "$tool" >"$folder/help"
  sed -n '/^# OPTIONS/,/^# EXIT/p' "$pages/$tool.1.md" | grep '^\*\*-' | grep -oE '\*\*-[^*]*\*\*' | tr -d '*\\' >"$folder/page"
  nothing "$tool: the options are those of --help" "$([ -s "$folder/help" ] && differ "$folder/page" "$folder/help" || echo 'no options at all')"
done <"$folder/tools"
"$BIN/tobi-bench" --help | sed '1,/^Subcommands:/d' | awk 'NF { print $1 }' >"$folder/help"
sed -n '/^# DESCRIPTION/,/^# OPTIONS/p' $pages/tobi-bench.1.md | sed -n 's/^`\([a-z-]*\)`$/\1/p' >"$folder/page"
nothing "tobi-bench: the programs are those of --help" "$(differ "$folder/page" "$folder/help")"

nothing "each page has the usual sections" "$(for page in $sources; do
  for section in NAME SYNOPSIS DESCRIPTION EXAMPLES 'SEE ALSO'; do grep -qx "# $section" "$page" || echo "$page: $section"; done; done)"
nothing "each page is named as it says, and the site's first page leads to it" "$(for page in $sources; do
  name=$(basename "$page" .md); [ "$(sed -n '3s/ - .*//p' "$page")" = "${name%.*}" ] || echo "$page: NAME"
  grep -qF "**${name%.*}**(${name##*.})" $pages/index.md || echo "$page: index.md"; done)"
nothing "pages that are named are there" "$(grep -ohE '\*\*tobi[a-z-]*\*\*\([0-9]\)' $pages/*.md | sort -u | tr -d '*' | sed 's/(/ /; s/)//' |
  while read -r name section; do [ -f "$pages/$name.$section.md" ] || echo "$name($section)"; done)"

# A message of a rule is on a line of its own, in the list of rules.
# The sources' literals, each as one line's text, so that a message is found that several lines make.
cat $(git ls-files 'alloc/*.[ch]*' 'bootstrap/*.[ch]*' 'libcore/*.[ch]*') | tr '\n' ' ' | sed 's/" *"//g' >"$folder/literals"
sed -n '/^# RULES FOR TASKS/,/^# GLOBAL/p' $pages/tobi.7.md | sed -nE 's/^ +(Error|Warning): `([^`]*)`$/\2/p' >"$folder/messages"
nothing "the messages of the rules for tasks are those of the sources" "$([ "$(wc -l <"$folder/messages")" -ge 20 ] || echo 'too few were found'
  while read -r text; do grep -qF -- "$text" "$folder/literals" || echo "$text"; done <"$folder/messages")"

# code LANGUAGE FILE: its blocks, each to a file of $folder.
code() { rm -f "$folder"/block.*; awk -v to="$folder/block." -v start="^\`\`\`$1\$" '$0 ~ start { n++; into = to n; next } /^```$/ { into = "" } into { print > into }' "$2"; }
code cpp $pages/tobi.7.md
programs=0
for block in "$folder"/block.*; do
  grep -q 'int main' "$block" || continue
  programs=$((programs + 1))
  $CXX -std=c++20 -Wall -Wextra -Werror -Ilibcore/include -x c++ "$block" -x none -o "$folder/program" "$OUT/lib/libtobi.a" -lhwloc -lpthread -ldl >"$folder/log" 2>&1
  expected=$(sed -n 's|.*// prints ||p' "$block")
  got=$(TOBI_WORKERS=2 limited "$folder/program" 2>>"$folder/log")
  nothing "program $programs of tobi(7) builds without a warning and prints what it says" "$([ -n "$expected" ] && [ "$got" = "$expected" ] || { echo "$got"; cat "$folder/log"; })"
  rm -f "$folder/program"
done
nothing "there are two programs" "$([ "$programs" -eq 2 ] || echo "$programs")"

mkdir "$folder/here"
for page in $sources; do
  code sh "$page"
  for block in "$folder"/block.*; do
    [ -e "$block" ] || continue
    nothing "$(basename "$page" .md): the commands of an example succeed" \
      "$(cd "$folder/here" && PATH=$BIN:$PATH limited bash -e "$block" >"$folder/log" 2>&1 </dev/null || { cat "$block"; tail -n 5 "$folder/log"; })"
  done
done

# Pages are installed where they have been made, and nothing else is.
mkdir -p "$folder/tree/man/man7" && echo x >"$folder/tree/man/man7/tobi.7"
$MAKE --no-print-directory install-manual OUT="$folder/tree" PREFIX="$folder/prefix" >"$folder/log" 2>&1
nothing "make install puts the pages where man looks" "$([ "$(cd "$folder/prefix" && find . -type f)" = ./share/man/man7/tobi.7 ] || cat "$folder/log")"
$MAKE --no-print-directory install-manual OUT="$folder/none" PREFIX="$folder/bare" >"$folder/log" 2>&1 || echo failed >>"$folder/log"
nothing "make install without make docs installs no page" "$(ls "$folder/bare" 2>/dev/null; grep failed "$folder/log")"

if command -v pandoc >/dev/null && command -v man >/dev/null; then
  names=$(for page in $sources; do name=$(basename "$page" .md); echo "$folder/made/man/man${name##*.}/$name $folder/made/html/$name.html"; done)
  $MAKE --no-print-directory $names "$folder/made/html/index.html" OUT="$folder/made" >"$folder/log" 2>&1
  nothing "pandoc makes the pages without a warning" "$([ -f "$folder/made/html/index.html" ] || tail -n 5 "$folder/log"; grep -F '[WARNING]' "$folder/log")"
  # A terminal has no pages, so where one would end in a table is nobody's affair.
  nothing "man renders them without a warning" "$(for page in "$folder"/made/man/*/*; do MANWIDTH=80 man --warnings=w -E UTF-8 -l "$page" 2>&1 >/dev/null |
    grep -v 'text block will not fit on one page$'; done)"
  nothing "the site needs no network" "$(grep -oE '(src|href|url)[=(]["'"'"']?(https?:)?//[^ >]*' "$folder"/made/html/*.html)"
  nothing "its links lead somewhere" "$(cd "$folder/made/html" && grep -ohE 'href="[^"#]*' ./*.html | sed 's/href="//' | sort -u | while read -r to; do [ -z "$to" ] || [ "$to" = api/index.html ] || [ -f "$to" ] || echo "$to"; done)"
else
  skip 'the pages are rendered: needs pandoc and man, which make docs installs'
fi
if command -v doxygen >/dev/null; then
  mkdir -p "$folder/api"
  (cat $pages/Doxyfile; echo "OUTPUT_DIRECTORY=$folder/api"; echo GENERATE_HTML=NO; echo GENERATE_XML=YES) | doxygen - >"$folder/log" 2>&1
  nothing "every public name is documented" "$(grep 'is not documented' "$folder/log" | sed "s|^$PWD/||")"
else
  skip 'the reference of the headers: needs doxygen, which make docs installs'
fi
finish
