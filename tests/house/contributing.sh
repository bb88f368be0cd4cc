#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What .github/CONTRIBUTING.md names is there: paths, targets of make, modes, patterns of names. The search for paths is first tried
# on one that is missing.
. "$(dirname "$0")/../harness.inc"
page=.github/CONTRIBUTING.md

# missing: of the paths on standard input, those that are not there. NAME stands for a name: the pattern must match some file.
missing() {
  while read -r path; do
    case $path in build/* | -*) continue ;; esac
    compgen -G "${path//NAME/*}" >/dev/null || echo "$path"
  done
}
[ "$(printf 'Makefile\ntests/none.sh\ntransports/NAME/none.cc\n' | missing | wc -l)" -eq 2 ] || not_ok 'a missing path is noticed'
# A path has a slash, or is a file at the top.
top=$(ls -A | paste -sd'|' | sed 's/\./\\./g')
paths=$({ grep -oE '`[^` ]+`' $page | tr -d '`' | grep -E "/|^($top)$"; sed -n '/^```sh/,/^```/p' $page | grep -oE 'tests/[a-z]+/[a-z_]+\.sh'; } | sort -u)
nothing 'the files and folders are there' "$(missing <<<"$paths")"
nothing 'there are many' "$([ "$(wc -l <<<"$paths")" -ge 40 ] || wc -l <<<"$paths")"

targets=$(grep -ohE '`?make [a-z][a-zA-Z0-9= -]*' $page | grep -v '^make_' | sed 's/`//; s/^make //; s/#.*//' | tr ' ' '\n' | grep -E '^[a-z]+$' | sort -u)
nothing 'the targets of make are there' "$([ -n "$targets" ] || echo none; for target in $targets; do
  grep -qhE "^([a-z -]+ )?$target( [a-z -]+)?:([^=]|$)" Makefile ./*/module.mk ./*/*/module.mk || echo "$target"; done)"
nothing 'the modes are those of the Makefile' "$(for mode in debug asan tsan; do grep -q "$mode" $page && grep -q "^mode_$mode" Makefile || echo "$mode"; done)"
nothing 'the page on ports is there' "$(grep -qx '## Adding a transport' transports/README.md || echo 'transports/README.md has no such section')"
functions=$(grep -oE '`[a-z]+_[a-z]+`' $page | tr -d '`' | grep -vE '^(snake_case|timeout_us|block_bytes)$' | sort -u)
nothing 'the names of the code are there' "$(for name in $functions; do git grep -qw "$name" -- 'libcore/*.[ch]*' 'tools/make/check' 'tests/*.inc' 2>/dev/null || grep -rqw "$name" libcore tools/make tests/harness.inc tests/limits.inc || echo "$name"; done)"
finish
