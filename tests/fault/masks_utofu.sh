#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak: the contract once for each mask
# The transport of the Tofu interconnects keeps the contract and runs UTS without each capability that TOBI_MASK names. The device is
# emulated (tests/emulators/utofu).
. "$(dirname "$0")/../harness.inc"
ok() { echo "ok - emulated: $1"; }
. tests/fault/masks.inc
emulator=$PWD/$OUT/tests/emulators/libtofucom.so
if [ ! -e "$emulator" ]; then not_ok "there is no $emulator: make tests"; finish; fi
export TOBI_UTOFU_LIBRARY=$emulator TOFU_EMULATOR_MACHINE=masks_utofu.sh.$$
at_exit="rm -rf /dev/shm/tofu-emulator-$(id -u)-$TOFU_EMULATOR_MACHINE"
for mask in $all_masks; do
  conform utofu "$mask"
  tree utofu "$mask" TOBI_WORKERS=2 TOBI_NODES=2
done
finish
