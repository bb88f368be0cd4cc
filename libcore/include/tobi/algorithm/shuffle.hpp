// SPDX-License-Identifier: Apache-2.0
// shuffle: a random order, in which all orders are equally likely, as far as the random bits are. Each element is
// thrown into the first or the second part by a coin, keeping its order there, and the parts are shuffled in turn until
// one is small (Rao 1961, Sandelius 1962). Each of the log2(n / leaf) rounds reads all elements twice and writes them
// once. A small part is shuffled where it lies (Fisher and Yates). The coin of an element depends on the seed and on
// its place, so the order is the same on any number of workers, with any policy.
//
// Work O(n log n), depth O(log^2 n) and a leaf on average. May migrate the caller, which holds no checkout.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tobi/algorithm/select.hpp"
#include "tobi/hint.hpp"
#include "tobi/parallel.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

namespace pieces {

/// Random number I of those that SEED names: what SplitMix64 gives after I + 1 steps (Steele, Lea and Flood 2014).
constexpr std::uint64_t random_at(std::uint64_t seed, std::uint64_t i) noexcept {
  std::uint64_t x = seed + (i + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// One toss per element.
struct coin {
  std::uint64_t seed;
  template <class T>
  bool operator()(const T&, std::size_t i) const noexcept {
    return (random_at(seed, i / 64) >> i % 64 & 1) != 0;
  }
};

/// Shuffles what is in A. The result is in A, or, if ACROSS, in B. A part of at most SMALL elements is small.
template <class T>
void shuffle_in_tasks(const execution_policy& how, std::size_t small, global_span<T> a, global_span<T> b, bool across,
                      std::uint64_t seed) {
  if (a.size() <= small) {
    if (a.empty()) return;
    std::vector<T> here;  // of this leaf, which neither forks nor joins
    here.reserve(a.size());
    const auto take = [&here](std::size_t, std::size_t n, const T* at) { here.insert(here.end(), at, at + n); };
    sweep(how, 0, a.size(), take, input(a));
    for (std::size_t i = a.size() - 1; i > 0; --i) {
      const std::size_t place = random_at(seed, i) % (i + 1);  // each is likely to 1 in 2^64 / i
      const T last = here[i];
      here[i] = here[place];
      here[place] = last;
    }
    const auto give = [&here](std::size_t first, std::size_t n, T* at) {
      std::copy_n(here.begin() + static_cast<std::ptrdiff_t>(first), n, at);
    };
    sweep(how, 0, a.size(), give, output<T>{across ? b : a});
    return;
  }
  const std::size_t size = a.size();
  std::size_t n = 0;
  {
    const selection<T, coin> heads(how, a, coin{seed});
    n = heads.size();
    heads.write(b.first(n), b.subspan(n));
  }
  const std::uint64_t left_seed = random_at(~seed, 0), right_seed = random_at(~seed, 1);
  const auto part = [=](std::size_t from, std::size_t to, std::uint64_t its_seed) {
    shuffle_in_tasks(how, small, b.subspan(from, to - from), a.subspan(from, to - from), !across, its_seed);
  };
  if (size <= cutoff_of<T>(how)) {
    part(0, n, left_seed);
    part(n, size, right_seed);
    return;
  }
  parallel_invoke(
      hint(static_cast<double>(n)), [=] { part(0, n, left_seed); },  //
      hint(static_cast<double>(size - n)), [=] { part(n, size, right_seed); });
}

}  // namespace pieces

/// Puts A into a random order, which SEED and the number of elements determine. SCRATCH is at least as long (or a
/// std::length_error is thrown), does not overlap A, and has undefined contents afterwards. Elements are copied by
/// their bytes.
template <class T>
void shuffle(const execution_policy& how, global_span<T> a, global_span<T> scratch, std::uint64_t seed) {
  static_assert(
      detail::travels<T>,
      "tobi: shuffle() copies bytes: the copy constructor and the destructor of its elements must be trivial");
  pieces::check_sizes("shuffle", a.size(), scratch.size());
  const std::size_t small = pieces::cutoff_of<T>(par);
  pieces::with_one_error([&] { pieces::shuffle_in_tasks(how, small, a, scratch.first(a.size()), false, seed); });
}
/// The same with par.
template <class T>
void shuffle(global_span<T> a, global_span<T> scratch, std::uint64_t seed) {
  tobi::shuffle(par, a, scratch, seed);
}
/// The same with scratch of its own, in the heap of the worker that runs the caller.
/// @code
/// const auto a = tobi::allocate_all<int>(1000);
/// const long sum = tobi::run([=] {
///   tobi::iota(a, 0);
///   tobi::shuffle(a, 42);
///   return tobi::reduce(a, 0L);
/// });
/// if (rt.rank() == 0) std::printf("%ld\n", sum);  // prints 499500
/// @endcode
template <class T>
void shuffle(const execution_policy& how, global_span<T> a, std::uint64_t seed) {
  const pieces::scratch<T> memory(a.size());
  tobi::shuffle(how, a, memory.span(), seed);
}
/// The same with par.
template <class T>
void shuffle(global_span<T> a, std::uint64_t seed) {
  tobi::shuffle(par, a, seed);
}

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
