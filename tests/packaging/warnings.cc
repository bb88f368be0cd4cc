// SPDX-License-Identifier: Apache-2.0
// What programs write, with types that are not words: compiled with all warnings (warnings.sh), and never run.
#include <array>
#include <functional>
#include <string_view>
#include <tobi/tobi.hpp>
#include <utility>

int outside(int i);

namespace {

struct odd {
  char tag;
  short count;
  bool operator<(const odd& other) const noexcept { return count < other.count; }
};
struct big {
  std::array<double, 40> values;
  char last;
};
short as_short(short i) { return i; }

template <class T>
T reduced() {
  return tobi::parallel_reduce(
      0, 4, 1, T{}, [](int i) { return static_cast<T>(i); }, std::plus<T>{});
}

int forks(int n) {
  auto plain = tobi::spawn([] { return 1; });
  auto flag = tobi::spawn([n] { return n > 0; });
  auto small = tobi::spawn(as_short, short{3});
  auto pair = tobi::spawn([c = char{1}, s = short{2}, n] { return odd{c, static_cast<short>(s + n)}; });
  auto large = tobi::spawn([n] { return big{{}, static_cast<char>(n)}; });
  auto nothing = tobi::spawn([] {});
  tobi::future<int> later = tobi::spawn_future([] { return 5; });
  nothing.join();
  return plain.join() + (flag.join() ? 1 : 0) + small.join() + pair.join().count + large.join().last + later.join();
}

void loops(int n) {
  tobi::parallel_for(0, 4, 1, [](int i) { outside(i); });
  tobi::parallel_for(0, n, 1, [](int) {});
  tobi::parallel_invoke([] { outside(1); }, [n] { outside(n); });
  tobi::finish([n] {
    tobi::async([] { outside(2); });
    tobi::async([n, c = 'x'] { outside(n + c); });
  });
}

int global(int n) {
  const auto a = tobi::allocate_all<int>(static_cast<std::size_t>(n));
  const auto b = tobi::allocate_all<odd>(9);
  const auto c = tobi::allocate_all<float>(9);
  tobi::fill(a, 1);
  tobi::sort(b);
  tobi::for_each(c, [](float& x) { x *= 2; });
  tobi::transform(a, a, [](int x) { return x + 1; });
  a[0] += a[1];
  b[0] = b[1];
  tobi::fetch_add(&a[0], 1);
  tobi::global_vector<odd> v;
  v.push_back({});
  auto part = tobi::checkout(c.first(3), tobi::mode::read_write);
  part[0] = 1;
  part.checkin();
  tobi::nth_element(b, 4);
  tobi::for_each(a, tobi::mode::read, [](const int& x) { outside(x); });
  const auto [least, greatest] = tobi::minmax_element(b);
  outside(tobi::min_element(a) == tobi::max_element(a) || least == greatest ? 1 : 0);
  return tobi::reduce(a) + (b[0] < v[0] ? 1 : 0);
}

}  // namespace

int main(int argc, char** argv) {
  tobi::runtime rt(argc, argv);
  tobi::run([] { loops(4); });
  outside(rt.reduce(std::array<short, 2>{})[0] + rt.reduce(short{1}));
  tobi::for_lines("a text", 0, 6, [](std::string_view line) { outside(static_cast<int>(line.size())); });
  const big far = tobi::run([n = argc] { return big{{}, static_cast<char>(n)}; });
  return tobi::run([] {
           return tobi::parallel_reduce(
               0, 4, 1, 0, [](int i) { return i; }, std::plus<>{});
         }) +
         tobi::run([n = argc] { return forks(n) + global(n); }) + reduced<char>() + reduced<short>() +
         static_cast<int>(reduced<float>()) + (reduced<bool>() ? 1 : 0) + far.last + tobi::run(reduced<int>);
}
