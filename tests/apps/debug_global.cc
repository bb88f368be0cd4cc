// SPDX-License-Identifier: Apache-2.0
// Mistakes with global memory, each in a line of its own, for debug_global.sh: the argument says which is made.
#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <tobi/tobi.hpp>

namespace {

struct node {
  long value;
  tobi::global_ptr<node> next;
};

long use_freed() {
  const auto n = tobi::allocate_global<node>(1);
  tobi::store(n, node{1, {}});
  tobi::free_global(n, 1);
  return tobi::load(n).value;  // freed
}

long go_beyond() {
  const auto n = tobi::allocate_global<int>(10);
  return tobi::checkout(n, 11, tobi::mode::read)[3];  // beyond
}

long hold(tobi::global_span<long> a) {
  const auto held = tobi::checkout(a, tobi::mode::read);  // held
  auto child = tobi::spawn([] { return 1L; });
  return child.join() + held[0];
}

long race(tobi::global_span<long> a) {
  for (;;) {  // until a thief has come in time
    auto child = tobi::spawn([=] {
      const auto out = tobi::checkout(a, tobi::mode::write);  // writes
      usleep(1000);
      out[0] = 1;
      return 0;
    });
    auto in = tobi::checkout(a.first(50), tobi::mode::read);  // reads
    usleep(1000);
    in.checkin();
    child.join();
  }
}

}  // namespace

int main(int argc, char** argv) {
  tobi::runtime rt(argc, argv);
  const std::string_view which = argc > 1 ? argv[1] : "";
  const int mistake = which == "freed" ? 1 : which == "beyond" ? 2 : which == "held" ? 3 : which == "race" ? 4 : 0;
  const auto a = tobi::allocate_all<long>(100);
  const long got = tobi::run([=] {
    tobi::fill(a, 7L);
    switch (mistake) {
      case 1:
        return use_freed();
      case 2:
        return go_beyond();
      case 3:
        return hold(a);
      case 4:
        return race(a);
      default:
        return tobi::reduce(a);
    }
  });
  return got == 700 ? EXIT_SUCCESS : EXIT_FAILURE;
}
