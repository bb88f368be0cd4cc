// SPDX-License-Identifier: Apache-2.0
// Tasks that write, change and read an array of global memory, in pieces of other sizes than blocks.
#pragma once

#include <cstddef>

#include "tobi/tobi.hpp"

inline long fill(tobi::global_span<long> a, long from) {
  if (a.size() <= 100) {
    auto out = tobi::checkout(a, tobi::mode::write);
    for (std::size_t i = 0; i < a.size(); ++i) out[i] = from + static_cast<long>(i);
    return static_cast<long>(a.size());
  }
  const std::size_t half = a.size() / 2;
  auto left = tobi::spawn([=] { return fill(a.first(half), from); });
  const long right = fill(a.subspan(half), from + static_cast<long>(half));
  return left.join() + right;
}

inline void add_one(tobi::global_span<long> a) {
  if (a.size() <= 130) {
    for (long& x : tobi::checkout(a, tobi::mode::read_write)) ++x;
    return;
  }
  const std::size_t part = a.size() / 3;
  auto left = tobi::spawn([=] { add_one(a.first(part)); });
  add_one(a.subspan(part));
  left.join();
}

inline long sum(tobi::global_span<long> a) {
  if (a.size() <= 77) {
    long total = 0;
    for (const long x : tobi::checkout(a, tobi::mode::read)) total += x;
    return total;
  }
  const std::size_t part = a.size() * 2 / 5;
  auto left = tobi::spawn([=] { return sum(a.first(part)); });
  const long right = sum(a.subspan(part));
  return left.join() + right;
}
