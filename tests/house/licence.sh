#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each source file of ours has the licence's line first, behind the line of the interpreter where there is one. The search is first
# tried on files without it.
. "$(dirname "$0")/../harness.inc"
licence='SPDX-License-Identifier: Apache-2.0'

# without: of the files on standard input, those whose first line is not the licence's: the second, behind #!.
without() {
  xargs -r awk -v licence="$licence" '
    function judge() { if (file != "" && !good) print file }
    FNR == 1 { judge(); file = FILENAME; good = 0; at = substr($0, 1, 2) == "#!" ? 2 : 1 }
    FNR == at { line = $0; sub(/^(\/\/|\/\*|#|--) /, "", line); sub(/ \*\/$/, "", line); good = line == licence && line != $0 }
    FNR >= 2 { nextfile }
    END { judge() }'
}
printf '// %s\n' "$licence" >"$folder/good.cc"; printf '#!/bin/sh\n# %s\n' "$licence" >"$folder/good.sh"; printf '/* %s */\n' "$licence" >"$folder/good.pml"
printf '// another line\n// %s\n' "$licence" >"$folder/bad.cc"; printf '#!/bin/sh\nset -u\n' >"$folder/bad.sh"; printf '%s\n' "$licence" >"$folder/bad.mk"
[ "$(printf '%s\n' "$folder"/{good,bad}.* | without | wc -l)" -eq 3 ] || not_ok "a file without the line is noticed"

files=$(git ls-files 2>/dev/null | while read -r file; do
  [ -f "$file" ] || continue
  case $file in
    *.cc | *.hpp | *.S | *.sh | *.bash | *.pml | *.mk | *.inc | *.awk | *.lua | Makefile) echo "$file" ;;
    *.md | *.json | *.txt) ;;
    *) head -c 2 "$file" | tr -d '\0' | grep -q '^#!' && echo "$file" ;;
  esac
done)
if [ -z "$files" ]; then skip 'the licence of each file: this tree is no working tree of git'; finish; fi
nothing "each source file has the licence's line first" "$(without <<<"$files")"
nothing 'the licence is the one of LICENSE' "$(grep -q 'Apache License' LICENSE && grep -q 'Version 2.0' LICENSE || head -3 LICENSE)"
finish
