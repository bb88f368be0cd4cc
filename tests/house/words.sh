#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How READMEs, the manual, comments and messages are written. A mannerism is a pattern, tried first on an example that it must find.
# Prose is read by paragraphs and comments by blocks, so that a line's end hides nothing. Each folder has a README.md, what READMEs
# name is there, and their links lead somewhere.
. "$(dirname "$0")/../harness.inc"

# paragraphs FILE...: of Markdown without its code, a line for each, as FILE:LINE: TEXT. Rows of tables are paragraphs.
paragraphs() {
  awk 'function out() { if (text != "") print where ": " text; text = "" }
    FNR == 1 { out(); code = 0 }
    /^```/ { out(); code = !code; next }
    code { next }
    /^ *$/ || /^\|/ || /^#/ || /^ *([-*]|[0-9]+\.) / { out() }
    /^ *$/ { next }
    { if (text == "") where = FILENAME ":" FNR; sub(/^ *([-*]|[0-9]+\.) /, ""); sub(/^ +/, ""); text = text == "" ? $0 : text " " $0 }
    END { out() }' "$@"
}
# comments FILE...: the same of C++'s // comments, without the examples in them.
comments() {
  awk 'function out() { if (text != "") print where ": " text; text = "" }
    FNR == 1 { out(); example = 0 }
    /\/\/\/ @code/ { out(); example = 1 }
    /\/\/\/ @endcode/ { example = 0; next }
    example { next }
    { at = match($0, /\/\/+( |$)/); alone = $0 ~ /^ *\/\/+/ }
    !at { out(); next }
    !alone { out() }
    { rest = substr($0, at); code = rest ~ /^\/\/   (.*[;{}] *(\/\/.*)?$|.*;   )/; sub(/^\/\/+ */, "", rest); if (rest == "" || code) { out(); next }
      if (text == "") where = FILENAME ":" FNR; text = text == "" ? rest : text " " rest }
    !alone { out() }
    END { out() }' "$@"
}
# literals FILE...: the same of C++'s string literals that are sentences: those with a space, and no markup. A literal that ends in
# a space goes on in the next line.
literals() {
  grep -HnoP "//.*|'(\\\\.|[^\\\\'])'|\"(\\\\.|[^\\\\\"])*\"" "$@" | awk 'BEGIN { markup = "<|{[a-z-]+:[a-z]" } {
    match($0, /^[^:]*:[0-9]*:/); at = substr($0, 1, RLENGTH - 1); $0 = substr($0, RLENGTH + 1)
    if (!/^"/ || at == "") next
    $0 = substr($0, 2, length - 2)
    split(at, now, ":")
    if (text ~ / $/ && now[1] == file && now[2] <= line + 1) text = text $0
    else { if (text ~ / / && text !~ markup) print where ": " text; text = $0; where = at }
    file = now[1]; line = now[2] }
    END { if (text ~ / / && text !~ markup) print where ": " text }'
}
git ls-files '*.md' | grep -v '^tools/manual/' >"$folder/pages"
mapfile -t pages <"$folder/pages"
mapfile -t manual < <(git ls-files 'tools/manual/*.md')
mapfile -t sources < <(git ls-files alloc arch bootstrap libcore tools transports | grep -E '\.(cc|hpp)$')
# The text of each sentence and, in the same line of another file, where it stands.
{ paragraphs "${pages[@]}" "${manual[@]}"; comments "${sources[@]}"; literals "${sources[@]}"; } | sed 's/`[^`]*`/`...`/g' >"$folder/both"
sed -E 's/^([^ ]*): .*/\1/' "$folder/both" >"$folder/where"
sed -E 's/^[^ ]*: //; s/^SPDX-License-Identifier: Apache-2.0 //' "$folder/both" >"$folder/prose"
printf '/// One\n/// two.\n/// @code\n/// int code;\n/// @endcode\nint x;  // three\n//   code;\nint y;  // four\n' >"$folder/example.hpp"
printf 'One\ntwo.\n\n```\ncode\n```\n- three\n  four\n' >"$folder/example.md"
nothing "comments and paragraphs are read whole" "$([ "$(comments "$folder/example.hpp" | sed 's/.*: //' | tr '\n' '|')" = 'One two.|three|four|' ] || comments "$folder/example.hpp"
  [ "$(paragraphs "$folder/example.md" | sed 's/.*: //' | tr '\n' '|')" = 'One two.|three four|' ] || paragraphs "$folder/example.md"
  printf 'f("one "\n  "two", x);  // "no"\ng(%s"%s, "a \\"b\\"");\n' "'" "'" >"$folder/example.cc"
  [ "$(literals "$folder/example.cc" | sed 's/^[^ ]*: //' | tr '\n' '|')" = 'one two|a \"b\"|' ] || literals "$folder/example.cc"
  [ "$(wc -l <"$folder/prose")" -gt 5000 ] || echo "too little prose")"

# none NAME PATTERN EXAMPLE...: no sentence has it, and each example does.
none() {
  local name=$1 pattern=$2 example; shift 2
  for example in "$@"; do
    echo "$example" | grep -qP "$pattern" || not_ok "the pattern for '$name' does not find: $example"
  done
  nothing "$name" "$(grep -nP "$pattern" "$folder/prose" | awk 'NR == FNR { where[NR] = $0; next }
    { n = $0 + 0; sub(/^[0-9]+:/, ""); print where[n] ": " substr($0, 1, 160) }' "$folder/where" -)"
}
unit='(worker|core|node|rank|fork|steal|task|peer|process|block|leaf|second|poll|level|side|server|target|link|client|entry|element|job|look|turn|line|round|page|attempt|event|iteration|machine|vertex|cell|chunk|row)'
some='(one|two|three|half(?! a second)|some|many|[0-9][0-9,.]*|[ukmn]s|bytes?|words?|lines?|events?|rings?|workers?|connections?|records?|trips?|forks?|steals?|tasks?|values?|threads?|sockets?|allocations?)'
none "a function returns; it does not answer" '\b([Aa]nswers|[Aa]nswered|[Aa]nswering)\b|\b(can|may|must|will|to|not) answer\b' 'flush() answers ok.' 'Posts. Answers the status.' 'EVERYONE_OK must answer whether.'
none "code is it, never who" '\b[Ww]ho(|ever|m|mever)\b' 'Who posts says how much.' 'Whoever has it frees it.' 'A thief who looks.'
none "nor he" '\b([Hh]e|[Hh]is|[Hh]im)\b' 'The owner reads his word.'
none "a rate is per, not a" "\b$some an? $unit\b" 'One worker a core.' 'It costs 3 us a look.' 'A byte a worker.'
thing='(task|row|column|line|bar|bit|byte|word|tree|mapping|value|atomic|object|pair|ring|event|process|thread|entry|record|slot|socket|connection|file|folder|copy|message|lock|bell|counter|page|block)s?'
none "nor is one thing per another: a row per setting" "\\b([Aa]n?|[Oo]ne) ([\\w-]+ ){0,2}$thing an? [\\w-]+([.,:;)]|$)" 'A task a call.' 'one JSON object a row' \
  'It says a row a setting, in turn.' 'One RC queue pair a rank.'
none "compared with, or next to, not beside" '\b[Bb]eside\b' 'The time beside the elision.'
participle='([A-Z]?[a-z]{2,}ed|(?i:evictable|written|shown|kept|taken|stolen|given|found|lost|done|fatal|atomic))'
none "the subject comes first" "(^|[.:] )(?!(?i:speed|seed|need|indeed) )$participle (is|are|was|were)\\b" 'Fenced are the puts of a chain.' \
  'So: Evictable is what nobody uses.' 'freed was an object.'
none "not for good, but permanently" '\bfor good\b' 'It rings its bell for good.'
none "one fact a sentence: no chains of semicolons" '^[^|]*;[^.;|]*;[^.;|]*;' 'It looks; it waits; it takes; it goes.'
none "numbers stand in columns: no row of them in a sentence" '[0-9.]+(, [0-9.]+){3,}(,? and [0-9.]+)? (ns|us|ms|s|percent|KB|MB|GB)\b' 'It takes 27, 28, 43, 64 ms.'

# orphans FILE...: words that a change of the columns has left on a line of their own, in the middle of a comment: one or two of
# them, or some that stand left of the line behind them, as an item's begin does.
orphans() {
  awk 'FNR == 1 { full = few = left = 0 }
    { comment = $0 ~ /^ *\/\/+ +[^ @]/; text = $0; sub(/^ *\/\/+/, "", text); match(text, /^ */); column = RLENGTH; sub(/^ +/, "", text)
      item = text ~ /^([-*]|\(?[A-Z]?[0-9]+[.):]?) /
      if (comment && (few && column == 1 || left && column > before && !item)) print FILENAME ":" FNR - 1
      short = comment && full && !item && text !~ /[.:;]$/
      few = short && column == 1 && split(text, word, " ") <= 2; left = short && column == before && length($0) < 60
      before = column; full = comment && length($0) >= 90 }' "$@"
}
{ printf '// %0100d\n// faults\n// and more.\n' 0; printf '// %0100d\n// at the end.\n' 0
  printf '//   - %0100d\n//   read after it\n//     and more.\n//   I1  %0100d\n//       is right.\n' 0 0; } >"$folder/orphan.hpp"
equal "orphaned lines of comments are seen" "$(orphans "$folder/orphan.hpp" | paste -sd' ')" "$folder/orphan.hpp:2 $folder/orphan.hpp:7"
nothing "no line of a comment is orphaned" "$(orphans "${sources[@]}")"

nothing "README.md has at most 140 lines" "$(lines=$(wc -l <README.md); [ "$lines" -le 140 ] || echo "$lines")"
# wide FILE...: lines of prose that are too long. Tables, code, a line that ends in code, and the values of a setting, which
# tests/house/manual.sh reads as a line, may be.
wide() { awk '/^```/ { code = !code } !code && !/^\|/ && !/^:   Values: / && length($0) > 120 && !/`$/ { print FILENAME ":" FNR }' "$@"; }
{ printf '%0120d\n%0121d\n' 0 0; printf '| %0121d |\n:   Values: %0121d\n' 0 0; } >"$folder/wide.md"
equal "a line of more than 120 columns is seen" "$(wide "$folder/wide.md")" "$folder/wide.md:2"
nothing "prose has at most 120 columns" "$(wide "${pages[@]}" "${manual[@]}")"
# The formatter leaves comments alone.
nothing "and sources" "$(awk 'length($0) > 120 { print FILENAME ":" FNR }' "${sources[@]}")"

# ragged FILE...: lines inside of a paragraph or an item that end long before the next word would not fit.
ragged() {
  awk 'FNR == 1 { code = inside = 0 }
    /^```/ { code = !code; inside = 0; next }
    code { next }
    { plain = $0 !~ /^ *$/ && $0 !~ /^(\||#|:   |---)/; begins = $0 ~ /^ *([-*]|[0-9]+[.:]) /
      if (inside && plain && !begins && length(before) + 1 + length($1) <= 90 && before !~ /:$/) print FILENAME ":" FNR - 1
      before = $0; inside = plain }' "$@"
}
printf 'One line that ends\nin its middle.\n\n- One\n- two:\n  three\n' >"$folder/ragged.md"
equal "a line that ends in the middle is seen" "$(ragged "$folder/ragged.md")" "$folder/ragged.md:1"
nothing "paragraphs are filled" "$(ragged "${pages[@]}" "${manual[@]}")"
printf '#no heading\n# a heading\n' >"$folder/heading.md"
headings() { awk '/^```/ { code = !code } !code && /^#+[^# ]/ { print FILENAME ":" FNR }' "$@"; }
equal "a heading without a space is seen" "$(headings "$folder/heading.md")" "$folder/heading.md:1"
nothing "headings are headings" "$(headings "${pages[@]}" "${manual[@]}")"

# Folders at the top, and the rooms of libcore.
folders() { git ls-files | grep '/' | cut -d / -f 1 | grep -v '^\.' | sort -u; git ls-files 'libcore/*/*' | cut -d / -f 2 | sed 's|^include$|include/tobi|; s|^|libcore/|' | sort -u; }
nothing "each folder and each room has a README.md" "$([ "$(folders | wc -l)" -ge 15 ] || echo "too few folders"; folders | while read -r room; do [ -f "$room/README.md" ] || echo "$room"; done)"
# lacking FILE: which of the four parts a README has not, or has without a text: what it is for, how it goes, what always holds, and
# how more is added.
lacking() {
  awk '/^```/ { code = !code }
    !code && /^#+ / { part = /^# [^ ]+: / ? "purpose" : /^## Invariants/ ? "invariants" : /^## Adding an? / ? "adding" : /^## / ? "way" : part; next }
    NF && !/^```/ { has[part] = 1 }
    END { n = split("purpose way invariants adding", all, " "); for (i = 1; i <= n; i++) if (!(all[i] in has)) print FILENAME ": " all[i] }' "$1"
}
printf '# x: y\n\nText.\n\n## The way\n\nText.\n\n## Invariants\n\n- One.\n\n## Adding an x\n\nText.\n' >"$folder/README.md"
equal "a README with the four parts has them" "$(lacking "$folder/README.md")" ""
for part in 1:purpose 5:way 9:invariants 13:adding; do
  sed "${part%:*},+2d" "$folder/README.md" >"$folder/without.md"
  equal "one without its ${part#*:} is seen" "$(lacking "$folder/without.md")" "$folder/without.md: ${part#*:}"
  sed "$((${part%:*} + 2))d" "$folder/README.md" >"$folder/empty.md"
  equal "and one without a text there" "$(lacking "$folder/empty.md")" "$folder/empty.md: ${part#*:}"
done
nothing "each has the four parts" "$(folders | while read -r room; do lacking "$room/README.md"; done)"

# absent: of lines FILE:NAME those whose file is not there, from the top.
absent() { while IFS=: read -r from name; do [ -e "$name" ] || echo "$from: $name"; done; }
echo 'x.md:arch/nowhere.hpp' | absent | grep -q . || not_ok "a file that is not there is not noticed"
nothing "files that are named are there" "$(grep -oE '`(arch|alloc|bootstrap|transports|libcore|tests|tools)/[A-Za-z0-9_./]*`' "${pages[@]}" | tr -d '`' | grep -v NAME | absent)"
# vanished FILE...: the sources that comments of C++ name by their path, or by its end, and that are not there.
vanished() {
  grep -HnoE '//.*' "$@" | sed 's/"[^"]*"//g' | awk -v files="$folder/files" '
    BEGIN { while ((getline path < files) > 0) for (there[path]; match(path, "/"); there[path]) path = substr(path, RSTART + 1) }
    { at = $0; sub(/:\/\/.*/, "", at)
      for (rest = substr($0, length(at) + 1) " "; match(rest, /[A-Za-z0-9_.\/-]*[A-Za-z0-9_]\.(hpp|cc|sh|pml|S|inc|py|md)[^A-Za-z0-9_]/);
           rest = substr(rest, RSTART + RLENGTH)) {
        name = substr(rest, RSTART, RLENGTH - 1)
        sub(/^[.\/]*\//, "", name)
        if (!(name in there)) print at ": " name } }'
}
git ls-files >"$folder/files"
printf '// as nowhere.hpp has it, and job.hpp\nint i;  // job/nowhere.cc, "elsewhere.cc"\n' >"$folder/named.cc"
equal "a comment that names a file which is gone is seen" "$(vanished "$folder/named.cc" | sed 's/.*: //' | tr '\n' ' ')" "nowhere.hpp job/nowhere.cc "
mapfile -t all_sources < <(git ls-files '*.cc' '*.hpp' '*.S' '*.pml')
nothing "files that comments name are there" "$(vanished "${all_sources[@]}")"
# A room's pages are the way in: a header that they do not name is found by chance.
unnamed() { while read -r header; do grep -qF "$header" "${header%/*}"/*.md || echo "$header"; done; }
equal "a header that no page of its room names is seen" "$(echo libcore/base/nowhere.hpp | unnamed)" libcore/base/nowhere.hpp
nothing "each header of a room is named by a page of the room" "$(git ls-files 'libcore/*/*.hpp' | grep -v '^libcore/include/' | unnamed)"
links() { for page in "$@"; do grep -oE '\]\([^)]*\)' "$page" | sed -E 's/^\]\(//; s/\)$//; s/#.*//' | grep -v '^https\?:' | sed "s|^|$page:$(dirname "$page")/|"; done; }
printf '[x](nowhere.md)\n' >"$folder/linked.md"
links "$folder/linked.md" | absent | grep -q . || not_ok "a link that leads nowhere is not noticed"
nothing "links lead somewhere" "$(links "${pages[@]}" | absent)"
finish
