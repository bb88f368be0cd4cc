#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak: new, and not yet green for twenty runs
# What tobi-conform finds. Each rule is asked of a transport that breaks it (tests/conform/plants), and must fail with the words that
# lead to the breach. A rule that no breach breaks is one that cannot fail.
. "$(dirname "$0")/../harness.inc"
planted=$OUT/tests/conform/planted

# With no breach the same program finds nothing.
run PLANT=none "$planted" shm --seconds 0.1
rule "a right transport passes" [ $status -eq 0 ]

# Some breaches show as something that never comes, which is waited for so many seconds.
patience() {
  case $1 in
    posts-no-* | flushes-never) echo 6 ;;
    blocks) echo 2 ;;
    claims-passive-* | loses-* | wakes-nobody | tells-no-end | waits-for-the-next-call) echo 4 ;;
    *) echo 120 ;;
  esac
}
while IFS=$'\t' read -r plant base rule words; do
  if [ "$base" = ofi ] && ! "$BIN/tobi-info" --json | grep -q '"ofi"'; then skip "$rule: $plant (libfabric is not there)"; continue; fi
  asked=$rule
  case $rule in - | address | register | attach | put | get | flush) asked=flush-of-nothing ;; esac  # they come first anyway
  run PLANT="$plant" "$planted" "$base" --rule "$asked" --seconds 0.05 --patience "$(patience "$plant")"
  if [ "$rule" = - ]; then
    all "the end of a job says what $plant" '[ $status -eq 1 ]' '[ "$(grep -c "$words" "$err")" -ge 1 ]'
    continue
  fi
  all "$rule finds $plant" '[ $status -eq 1 ]' 'grep -qF "fail $rule: " "$out"' 'grep "^fail $rule: " "$out" | grep -qF -- "$words"'
done < <("$OUT/tests/conform/plants")

missing=$(comm -23 <("$planted" self --json | sed -n 's/.*"rule":"\([^"]*\)".*/\1/p' | sort) \
  <("$OUT/tests/conform/plants" | cut -f3 | sort -u))
nothing "each rule has a breach" "$missing"
finish
