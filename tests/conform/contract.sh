#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: sleeps, 7 s
# The contract of the transports that need nothing from outside: each rule of tobi-conform is one of this test.
. "$(dirname "$0")/../harness.inc"
for transport in self shm sim; do
  run "$BIN/tobi-conform" $transport
  sed -n "s/^pass \(.*\)/ok - $transport: \1/p; s/^fail \(.*\)/not ok - $transport: \1/p; s/^skip \(.*\)/skip - $transport: \1/p" "$out" | relay
  rule "$transport: tobi-conform ends well" [ $status -eq 0 ]
done
finish
