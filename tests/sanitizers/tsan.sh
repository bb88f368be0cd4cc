#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 11 s
# What threads of one process share (tests/module.mk: shared_by_threads), under the thread sanitizer.
. "${BASH_SOURCE%/*}/sanitized.inc"
sanitized tsan thread-tests
finish
