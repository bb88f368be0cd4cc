// SPDX-License-Identifier: Apache-2.0
// Cilksort on global memory (SC'23, figure 1): quarters are sorted by tasks, then merged by tasks; a merge halves the
// longer input and looks for the place in the other one. Below the cutoff a leaf checks out what it needs and is
// serial. There are two shapes. The original one is the figure's: four sorts, then two merges, then one. In pairs the
// two sorts and the merge of a half are one task: a pair is merged as soon as it is sorted, and a thief takes a
// half, whose bytes lie together.
#include <algorithm>
#include <span>
#include <tobi/checkout.hpp>
#include <tobi/global_memory.hpp>
#include <tobi/parallel.hpp>
#include <utility>

#include "tools/bench/apps/variant.hpp"

namespace tobi_bench::TOBI_BENCH_VARIANT {

namespace {

using element = std::int32_t;
using range = tobi::global_span<element>;
using const_range = tobi::global_span<const element>;

// Set once, by every process, before any task: the array and the buffer next to it.
range the_array;
range the_buffer;

// Leaves that touch every element: so large that they cost little, so small that some fit into any cache.
constexpr std::size_t sweep = 16384;

// The element that the array has at I before it is sorted (splitmix64).
element value_at(std::uint64_t i) {
  std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return static_cast<element>(z ^ (z >> 31));
}

std::pair<range, range> halves(range r) {
  const std::size_t middle = r.size() / 2;
  return {r.first(middle), r.subspan(middle)};
}

// How many of the COUNT elements from FIRST on are less than VALUE. Whether the next step goes left or right is
// anybody's guess, so that nothing branches on it. Three looks at a time, which do not wait for each other, leave a
// quarter.
std::size_t place_in(const element* first, std::size_t count, element value) {
  const element* at = first;
  while (count > 4) {
    const std::size_t quarter = count / 4;
    const std::size_t quarters = static_cast<std::size_t>(at[quarter - 1] < value) +
                                 static_cast<std::size_t>(at[2 * quarter - 1] < value) +
                                 static_cast<std::size_t>(at[3 * quarter - 1] < value);
    at += quarters * quarter;
    count -= 3 * quarter;
  }
  std::size_t less = 0;
  for (std::size_t i = 0; i < count; ++i) less += static_cast<std::size_t>(at[i] < value);
  return static_cast<std::size_t>(at - first) + less;
}

// How many elements of S are less than VALUE. The last steps look at one piece, of less than what is fetched at a time.
std::size_t place_of(const_range s, element value) {
  constexpr std::size_t piece = 256;
  std::size_t low = 0;
  std::size_t high = s.size();
  while (high - low > piece) {
    const std::size_t middle = low + (high - low) / 2;
    if (tobi::load(&s[middle]) < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  auto open = tobi::checkout(s.subspan(low, high - low), tobi::mode::read);
  return low + place_in(open.data(), open.size(), value);
}

// std::merge from both ends at once: two chains of loads for the processor to overlap, and no branch on which element
// is less, which nobody can guess either. Neither end leaves an input in as many steps as the shorter one has elements.
// Then what is left of both is shorter, and begins anew; a few such rounds leave one input alone.
void merge_into(std::span<const element> one, std::span<const element> two, element* into) {
  const element* a = one.data();
  const element* b = two.data();
  const element* a_end = a + one.size();
  const element* b_end = b + two.size();
  element* into_end = into + one.size() + two.size();
  while (a != a_end && b != b_end) {
    for (std::ptrdiff_t steps = std::min(a_end - a, b_end - b); steps > 0; --steps) {
      const bool from_b = *b < *a;
      *into++ = from_b ? *b : *a;
      b += from_b;
      a += !from_b;
      const bool last_of_a = b_end[-1] < a_end[-1];
      *--into_end = last_of_a ? a_end[-1] : b_end[-1];
      a_end -= last_of_a;
      b_end -= !last_of_a;
    }
  }
  into = std::copy(a, a_end, into);
  std::copy(b, b_end, into);
}

void merge(const_range one, const_range two, range into, std::size_t cutoff) {
  if (into.size() < cutoff) {
    // Started together: what has to be fetched is fetched at the same time.
    auto a = tobi::checkout_nb(one, tobi::mode::read);
    auto b = tobi::checkout_nb(two, tobi::mode::read);
    auto out = tobi::checkout(into, tobi::mode::write);
    merge_into({a.data(), a.size()}, {b.data(), b.size()}, out.data());
    return;
  }
  if (one.size() < two.size()) std::swap(one, two);
  const std::size_t at_one = (one.size() + 1) / 2;
  const std::size_t at_two = place_of(two, tobi::load(&one[at_one - 1]));
  const range left = into.first(at_one + at_two);
  const range right = into.subspan(at_one + at_two);
  const const_range one_left = one.first(at_one), one_right = one.subspan(at_one);
  const const_range two_left = two.first(at_two), two_right = two.subspan(at_two);
  tobi::parallel_invoke([=] { merge(one_left, two_left, left, cutoff); },
                        [=] { merge(one_right, two_right, right, cutoff); });
}

void sort_leaf(range a) {
  auto open = tobi::checkout(a, tobi::mode::read_write);
  std::sort(open.begin(), open.end());
}

void sort(range a, range b, std::size_t cutoff);

// A's halves are sorted, B their scratch, and merged into B.
void sort_into(range a, range b, std::size_t cutoff) {
  const auto [a1, a2] = halves(a);
  const auto [b1, b2] = halves(b);
  tobi::parallel_invoke([a1 = a1, b1 = b1, cutoff] { sort(a1, b1, cutoff); },
                        [a2 = a2, b2 = b2, cutoff] { sort(a2, b2, cutoff); });
  merge(a1, a2, b, cutoff);
}

void sort(range a, range b, std::size_t cutoff) {
  if (a.size() < cutoff) {
    sort_leaf(a);
    return;
  }
  const auto [a12, a34] = halves(a);
  const auto [b12, b34] = halves(b);
  tobi::parallel_invoke([a12 = a12, b12 = b12, cutoff] { sort_into(a12, b12, cutoff); },
                        [a34 = a34, b34 = b34, cutoff] { sort_into(a34, b34, cutoff); });
  merge(b12, b34, a, cutoff);
}

// The original shape: lines 8 to 22 of the figure.
void sort_quarters(range a, range b, std::size_t cutoff) {
  if (a.size() < cutoff) {
    sort_leaf(a);
    return;
  }
  const auto [a12, a34] = halves(a);
  const auto [a1, a2] = halves(a12);
  const auto [a3, a4] = halves(a34);
  const auto [b12, b34] = halves(b);
  const auto [b1, b2] = halves(b12);
  const auto [b3, b4] = halves(b34);
  tobi::parallel_invoke([a1 = a1, b1 = b1, cutoff] { sort_quarters(a1, b1, cutoff); },
                        [a2 = a2, b2 = b2, cutoff] { sort_quarters(a2, b2, cutoff); },
                        [a3 = a3, b3 = b3, cutoff] { sort_quarters(a3, b3, cutoff); },
                        [a4 = a4, b4 = b4, cutoff] { sort_quarters(a4, b4, cutoff); });
  tobi::parallel_invoke([a1 = a1, a2 = a2, b12 = b12, cutoff] { merge(a1, a2, b12, cutoff); },
                        [a3 = a3, a4 = a4, b34 = b34, cutoff] { merge(a3, a4, b34, cutoff); });
  merge(b12, b34, a, cutoff);
}

struct found {
  std::uint64_t sum;
  std::uint64_t unordered;
};

found look(range a, std::size_t begin, std::size_t end) {
  if (end - begin > sweep) {
    const std::size_t middle = begin + (end - begin) / 2;
    auto left = tobi::spawn([=] { return look(a, begin, middle); });
    const found right = look(a, middle, end);
    const found other = left.join();
    return {other.sum + right.sum, other.unordered + right.unordered};
  }
  found here{0, 0};
  const std::size_t first = begin == 0 ? 0 : begin - 1;  // each leaf compares with the element before it, too
  auto open = tobi::checkout(a.subspan(first, end - first), tobi::mode::read);
  for (std::size_t i = begin; i < end; ++i) {
    here.sum += static_cast<std::uint32_t>(open[i - first]);
    if (i > 0 && open[i - first] < open[i - first - 1]) ++here.unordered;
  }
  return here;
}

}  // namespace

void cilksort_prepare(std::uint64_t n, std::uint64_t chunk_bytes) {
  the_array = tobi::allocate_all<element>(n, tobi::distribution{chunk_bytes});
  the_buffer = tobi::allocate_all<element>(n, tobi::distribution{chunk_bytes});
}

void cilksort_fill() {
  const range a = the_array;
  const std::size_t leaves = (a.size() + sweep - 1) / sweep;
  tobi::parallel_for(std::size_t{0}, leaves, 1, [=](std::size_t leaf) {
    const std::size_t begin = leaf * sweep;
    const std::size_t count = std::min(sweep, a.size() - begin);
    auto open = tobi::checkout(a.subspan(begin, count), tobi::mode::write);
    for (std::size_t i = 0; i < count; ++i) open[i] = value_at(begin + i);
  });
}

void cilksort(cilksort_shape shape, std::uint64_t cutoff) {
  if (shape == cilksort_shape::original) {
    sort_quarters(the_array, the_buffer, cutoff);
  } else {
    sort(the_array, the_buffer, cutoff);
  }
}

bool cilksort_sorted() {
  std::uint64_t wanted = 0;
  for (std::size_t i = 0; i < the_array.size(); ++i) wanted += static_cast<std::uint32_t>(value_at(i));
  const found got = look(the_array, 0, the_array.size());
  return got.unordered == 0 && got.sum == wanted;
}

}  // namespace tobi_bench::TOBI_BENCH_VARIANT
