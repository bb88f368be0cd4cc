// SPDX-License-Identifier: Apache-2.0
// A runtime that is a global variable: it is there before main, and goes when the program's other globals have gone.
#include <cstdio>
#include <tobi/tobi.hpp>

namespace {

tobi::runtime early;  // NOLINT: what is tried

long fib(long n) {
  if (n < 2) return n;
  auto x = tobi::spawn([n] { return fib(n - 1); });
  const long y = fib(n - 2);
  return x.join() + y;
}

// Global memory that is given back after main has returned.
struct memory {
  tobi::global_span<long> all = tobi::allocate_all<long>(1000);
  ~memory() { tobi::free_all(all); }
};

}  // namespace

int main() {
  static const memory kept;
  const long r = tobi::run([] { return fib(20); });
  if (early.rank() == 0) std::printf("%d workers: %ld\n", early.size(), r);
  return 0;
}
