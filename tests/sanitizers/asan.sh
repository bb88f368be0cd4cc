#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 200 s
# soak: the whole library is compiled once more, which takes as long as all of the gate's tests
# The unit tests under the sanitizers of addresses and of undefined behaviour.
. "${BASH_SOURCE%/*}/sanitized.inc"
sanitized asan plain-tests
finish
