// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "tools/bench/apps/lcs_table.hpp"
#include "tools/bench/apps/variant.hpp"
#include "tools/bench/timing.hpp"

namespace tobi_bench {

namespace {

// The shortest of a few: what else the machine does only makes it longer.
template <class F>
double best_of(int times, F f) {
  double best = seconds_of(f);
  for (int i = 1; i < times; ++i) best = std::min(best, seconds_of(f));
  return best;
}

// One leaf block of the table, C x C, in the middle of nowhere.
double seconds_of_a_leaf(std::uint32_t c) {
  const lcs_strings strings(c);
  return best_of(9, [&] {
    lcs_edge top{};
    lcs_edge left{};
    lcs_leaf(strings, 0, 0, c, top, left);
    asm volatile("" : : "r"(&top), "r"(&left) : "memory");
  });
}

double seconds_of_an_iteration(const loop_options& o) { return o.m * 1e-6; }

}  // namespace

// Eight chains that do not depend on each other keep the multiply-adds going.
std::uint64_t iteration::operator()() const {
  if (sleep_ns != 0) {
    sleep_until(now_ns() + sleep_ns);
    return 1;
  }
  double x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (std::uint64_t r = 0; r < rounds; ++r) {
    for (double& v : x) v = v * 0.999 + 0.5;
    asm volatile("" : : "r"(x) : "memory");
  }
  return 1;
}

void calibrate(loop_options& o) {
  if (o.sleeps) {
    o.one.sleep_ns = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(o.m * 1e3));
    return;
  }
  iteration some{.rounds = 1024};
  while (seconds_of(some) < 2e-3) some.rounds *= 2;
  const double round_s = best_of(7, some) / static_cast<double>(some.rounds);
  o.one.rounds = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(seconds_of_an_iteration(o) / round_s));
}

std::optional<ideal> ideal_pfor(const arguments& a) {
  const loop_options& o = a.loop;
  return ideal{static_cast<double>(o.k) * seconds_of_an_iteration(o) * static_cast<double>(o.n), 0};
}

std::optional<ideal> ideal_recpfor(const arguments& a) {
  const loop_options& o = a.loop;
  const double level = seconds_of_an_iteration(o) * static_cast<double>(o.n);
  return ideal{static_cast<double>(o.k) * level * static_cast<double>(std::bit_width(o.n) - 1) + level, 0};
}

std::optional<ideal> ideal_lcs(const arguments& a) {
  const auto side = static_cast<std::uint32_t>(std::min(a.lcs.n, a.lcs.c));
  const double one = seconds_of_a_leaf(side);
  const double blocks = static_cast<double>(a.lcs.n) / static_cast<double>(side);
  return ideal{blocks * blocks * one, (2 * blocks - 1) * one};
}

std::string compare(const ideal& best, int workers, double seconds) {
  if (best.span == 0) {
    const double least = best.at_least(workers);
    return fmt::format("ideal time T1/P {:.4f} s, efficiency {:.3f}", least, least / seconds);
  }
  return fmt::format("greedy bound: max(T1/P, Tinf) {:.4f} s <= TP {:.4f} s <= T1/P + Tinf {:.4f} s: {}",
                     best.at_least(workers), seconds, best.at_most(workers),
                     seconds < best.at_least(workers)  ? "below it"
                     : seconds > best.at_most(workers) ? "above it"
                                                       : "within it");
}

}  // namespace tobi_bench
