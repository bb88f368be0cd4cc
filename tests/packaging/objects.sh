#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 7 s
# What is compiled again, and what is not: an object follows its source, its headers, its flags and the configuration it reads.
. "$(dirname "$0")/../harness.inc"
made() { "$MAKE" -C "$ROOT" --no-print-directory OUT="$folder/made" "$@" "$folder/made/obj/alloc/joined.o" "$folder/made/obj/bootstrap/neighbours.o" 2>&1 | grep '^  CXX' | grep -o 'obj/[a-z/]*\.o' | sort | tr '\n' ' '; }

equal "all is compiled at first" "$(made)" "obj/alloc/joined.o obj/bootstrap/neighbours.o "
equal "nothing is compiled twice" "$(made)" ""
equal "another flag compiles all again" "$(made EXTRA_CXXFLAGS=-DANOTHER)" "obj/alloc/joined.o obj/bootstrap/neighbours.o "
equal "and only once" "$(made EXTRA_CXXFLAGS=-DANOTHER)" ""
equal "without it they are what they were" "$(made)" "obj/alloc/joined.o obj/bootstrap/neighbours.o "
equal "a part that comes compiles what reads of it" "$(made flags_bootstrap=-DA_PART)" "obj/bootstrap/neighbours.o "
finish
