// SPDX-License-Identifier: Apache-2.0
// The shortest program: Fibonacci numbers, one task per call. Run it as it is, or with TOBI_WORKERS=4.
#include <cstdio>
#include <cstdlib>
#include <tobi/tobi.hpp>

long fib(long n) {
  if (n < 2) return n;
  auto x = tobi::spawn([=] { return fib(n - 1); });  // the child runs now; what follows can be stolen
  const long y = fib(n - 2);
  return x.join() + y;
}

int main(int argc, char** argv) {
  tobi::runtime rt(argc, argv);  // every worker returns from here
  const long n = argc > 1 ? std::atol(argv[1]) : 30;
  const long r = tobi::run([=] { return fib(n); });  // one root task; its result on every worker
  if (rt.rank() == 0) std::printf("%ld\n", r);
}
