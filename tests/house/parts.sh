#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Where make check has installed all optional parts, the build has them.
. "$(dirname "$0")/../harness.inc"
if ! command -v dpkg-query >/dev/null || ! tools/make/packages check >"$out" 2>&1; then
  skip "parts of this build: make check has not installed all packages"
  finish
fi
for part in $(tools/make/fabrics | awk '$3 != "-" { print $1 }') pmix dw tbb gtest spin aarch64; do
  rule "this build has $part" grep -q "HAVE_$part" build/config.mk
done
finish
