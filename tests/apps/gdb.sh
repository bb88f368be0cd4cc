#!/bin/sh
# gdb walks a stack through forks: every level of a recursion of tasks is in the backtrace, down to the root.
set -u
: "${ROOT:=$PWD}" "${OUT:=build/release}"
if ! command -v gdb >/dev/null; then echo "skip - gdb: not installed"; exit 0; fi
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cat >"$work/deep.cc" <<'END'
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
${CXX:-g++} -std=c++20 -O1 -g -I"$ROOT/libcore/include" "$work/deep.cc" -o "$work/deep" "$ROOT/$OUT/lib/libtobi.a" -lhwloc -lpthread -ldl -lm || { echo "not ok - the program builds"; exit 1; }
TOBI_WORKERS=1 gdb -q -batch -ex 'break bottom' -ex run -ex backtrace "$work/deep" >"$work/log" 2>&1
levels=$(grep -cE '^#[0-9]+ .* in level|^#[0-9]+ +level' "$work/log")
if [ "$levels" = 21 ]; then echo "ok - the backtrace shows all 21 levels"; else echo "not ok - the backtrace shows $levels levels of 21"; tail -40 "$work/log"; exit 1; fi
if grep -q tobi_enter_root "$work/log"; then echo "ok - and ends at the root"; else echo "not ok - it does not reach the root"; tail -5 "$work/log"; exit 1; fi
