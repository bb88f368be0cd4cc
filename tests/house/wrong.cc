// SPDX-License-Identifier: Apache-2.0
// A program for each rule of README.md, which breaks that rule: tests/house/readme.sh runs them, and compares what they
// end with. The argument names the rule by its number.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <tobi/tobi.hpp>

namespace {

[[gnu::noinline]] long fib(long n) {
  if (n < 2) return n;
  auto t = tobi::spawn([=] { return fib(n - 1); });
  const long y = fib(n - 2);
  return t.join() + y;
}

long counted = 0;

// What main returns is of no account where the job has ended with an error.
int broken(tobi::runtime& rt, int rule) {
  switch (rule) {
    case 0:
      return tobi::run([] { return fib(6); }) == 8 ? 0 : 1;  // none
    case 1:
      tobi::run([] {
        long mine = 0;
        auto t = tobi::spawn([&mine] { mine = 1; });
        t.join();
        return mine;
      });
      return 0;
    case 2: {
      long result = 0;
      tobi::run([&result] { result = fib(5); });
      return 0;
    }
    case 3:
      tobi::run([] {
        ++counted;
        return fib(5);
      });
      return 0;
    case 4: {
      auto t = tobi::spawn([] { return 1; });
      return t.join();
    }
    case 5:
      tobi::run([] { return tobi::run([] { return 1; }); });
      return 0;
    case 6:
      tobi::run([&] { rt.barrier(); });
      return 0;
    case 7:
      tobi::run([] {
        const auto f = tobi::spawn_future([] { return 1; });
        return f.join() + f.join();
      });
      return 0;
    case 8:
      tobi::run([] {
        const auto p = tobi::make_promise<int>();
        p.set(1);
        p.set(2);
        return p.get_future().join();
      });
      return 0;
    case 9:
      tobi::run([] { return tobi::make_promise<int>().get_future().join(); });
      return 0;
    case 10:
      tobi::run([] { tobi::async([] {}); });
      return 0;
    case 11:
      tobi::run([] {
        const auto p = tobi::allocate_global<int>(10);
        const auto held = tobi::checkout(p, 10, tobi::mode::write);
        return fib(5);
      });
      return 0;
    case 12:
      tobi::run([] {
        const auto p = tobi::allocate_global<int>(10);
        return p.raw() == nullptr ? 0 : *p.raw();
      });
      return 0;
    case 13:
      tobi::run([] {
        const auto p = tobi::allocate_global<int>(1);
        tobi::parallel_for(0, 2, 1, [=](int i) {
          const auto held = tobi::checkout(p, 1, tobi::mode::write);
          usleep(300'000);
          held[0] = i;
        });
      });
      return 0;
    case 14:
      tobi::run([] {
        const auto p = tobi::allocate_global<int>(10);
        tobi::free_global(p, 10);
        tobi::free_global(p, 10);
      });
      return 0;
    case 15:
      tobi::run([] { return static_cast<int>(fork()); });
      return 0;
    case 16:
      std::exit(0);
    case 17:
      tobi::run([] {
        struct deep {
          static long down(long n) {
            volatile char much[1024];
            much[0] = static_cast<char>(n);
            auto t = tobi::spawn([=] { return down(n + 1); });
            return t.join() + much[0];
          }
        };
        return deep::down(0);
      });
      return 0;
    default:
      return 99;
  }
}

}  // namespace

int main(int argc, char** argv) {
  tobi::runtime rt(argc, argv);
  return broken(rt, argc > 1 ? std::atoi(argv[1]) : 0);
}
