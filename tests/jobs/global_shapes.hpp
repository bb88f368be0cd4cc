// SPDX-License-Identifier: Apache-2.0
// What the algorithms on global ranges are tried on, next to those of the standard library: sizes 0 and 1, around the
// cutoffs, primes; over block and block-cyclic arrays, in each kind of job.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "global_places.hpp"

// Sorted by the key alone: the rest says whether equal keys kept their order.
struct record {
  std::uint32_t key = 0, place = 0;
  bool operator==(const record&) const = default;
};
inline bool earlier(const record& x, const record& y) { return x.key < y.key; }

inline std::uint32_t mixed(std::uint64_t x) {
  x = (x + 1) * 0x9e3779b97f4a7c15;
  x ^= x >> 31;
  return static_cast<std::uint32_t>(x * 0xbf58476d1ce4e5b9 >> 32);
}

struct shape {
  std::size_t size;
  tobi::execution_policy how;
};
// Leaves of 100 and of 1000 elements, with chunks smaller than a leaf, as large, and larger than the small cache.
inline constexpr std::array<shape, 13> shapes{{{0, {100, 0}},
                                               {1, {100, 0}},
                                               {2, {1, 0}},
                                               {99, {100, 64}},
                                               {100, {100, 1}},
                                               {101, {100, 0}},
                                               {1009, {1, 0}},
                                               {4099, {100, 500}},
                                               {5000, {1000, 1 << 30}},
                                               {7919, {1000, 4096}},
                                               {20011, {30000, 1 << 30}},
                                               {20011, {}},
                                               {1013, tobi::seq}}};

template <class T>
std::vector<T> now_in(tobi::global_span<T> a) {
  std::vector<T> all(a.size());
  tobi::for_each(tobi::seq, a, tobi::mode::read, [&all](const T& x, std::size_t i) { all[i] = x; });
  return all;
}

// Compares on rank 0, and says what is wrong.
struct checker {
  tobi::runtime& rt;
  shape now;
  tobi::distribution how;
  int wrong = 0;

  template <class T>
  void same(const char* what, const T& got, const T& wanted) {
    if (got == wanted) return;
    ++wrong;
    if (rt.rank() != 0) return;
    std::fprintf(stderr, "%s of %zu elements (cutoff %zu, checkout %zu, chunk %zu) is not right\n", what, now.size,
                 now.how.cutoff, now.how.checkout_bytes, how.chunk_bytes);
  }
};

inline const bool in_soak = std::getenv("RUNS") != nullptr;
inline const bool whole = std::getenv("SOAK") != nullptr;

// Over both kinds of array, or over the one that has more to do with other ranks.
inline void all_shapes(const std::vector<place>& places, void (*body)(checker&), bool both = whole) {
  in_each(places, [body, both](tobi::runtime& rt) {
    int wrong = 0;
    for (const tobi::distribution how : {tobi::block_cyclic(1), tobi::block()}) {
      for (const shape& s : shapes) {
        checker c{rt, s, how};
        body(c);
        wrong += c.wrong;
        rt.barrier();  // nobody frees what another one still compares
      }
      if (!both) break;
    }
    CHECK(wrong == 0);
    return 0;
  });
}

// Over sockets each fetch takes long: there with KEPT alone, a policy of caching, or never.
inline std::vector<place> less_over_sockets(std::string_view kept) {
  auto places = small_caches();
  std::erase_if(places, [kept](const place& p) {
    const auto sockets = [](const auto& setting) { return std::string_view(setting.second) == "ofi"; };
    return std::any_of(p.env.begin(), p.env.end(), sockets) && kept != p.name;
  });
  return places;
}
inline constexpr std::string_view lazy = "write_back_lazy";
