#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside
# gdb walks a stack through forks: every level of a recursion of tasks is in the backtrace, down to the root.
. "$(dirname "$0")/../harness.inc"
if ! command -v gdb >/dev/null; then skip "gdb: not installed"; finish; fi
cat >"$folder/deep.cc" <<'END'
#include <tobi/tobi.hpp>
[[gnu::noinline]] long bottom(long n) { asm volatile("" : "+r"(n)); return n; }
[[gnu::noinline]] long level(long n) {
  if (n == 0) return bottom(1);
  auto child = tobi::spawn([=] { return level(n - 1); });
  return child.join() + 1;
}
int main(int argc, char** argv) {
  tobi::runtime rt(argc, argv);
  return tobi::run([] { return level(20); }) == 21 ? 0 : 1;
}
END
run "$CXX" -std=c++20 -O1 -g -I"$ROOT/libcore/include" "$folder/deep.cc" -o "$folder/deep" "$ROOT/$OUT/lib/libtobi.a" -lhwloc -lpthread -ldl -lm ||
  { not_ok "the program builds"; finish; }
run TOBI_WORKERS=1 gdb -q -batch -ex 'break bottom' -ex run -ex backtrace "$folder/deep"
equal "the backtrace shows all 21 levels" "$(grep -cE '^#[0-9]+ .* in level|^#[0-9]+ +level' "$out")" 21
rule "and ends at the root" says tobi_enter_root
finish
