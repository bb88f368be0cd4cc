// SPDX-License-Identifier: Apache-2.0
// What the rounds of a row say of it: how sure its median and its ratio are, and whether something else had the cores.
//
// A row is measured in rounds, in which a transport and its raw loop take turns. So what changes slowly changes both,
// and the medians of the rounds tell how much a median is worth, whatever the distribution of the samples: the true one
// lies between the k-th smallest and the k-th largest of n of them with a probability that the binomial distribution
// gives (Hettmansperger and Sheather 1986 have finer ones; this one is exact).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tobi_perf {

/// Low and high; it has the true value in at least 95 of 100 measurements.
using interval = std::array<double, 2>;

/// Of values that were measured one after the other; none: there are fewer than six.
[[nodiscard]] std::optional<interval> interval_of(std::vector<double> values);

/// Of samples that were taken one after the other: that of the medians of twelve parts. None: there are fewer than six
/// samples.
[[nodiscard]] std::optional<interval> interval_of_parts(const std::vector<double>& samples);

/// What a process has met since it began; differences tell of a time between.
struct process_facts {
  std::uint64_t cpu_ns = 0;     // of the cores, with all threads
  std::uint64_t stolen_ms = 0;  // the hypervisor took the cores that this process may use, as the kernel says
};
[[nodiscard]] process_facts own_facts();
constexpr process_facts operator-(const process_facts& a, const process_facts& b) noexcept {
  return {a.cpu_ns - b.cpu_ns, a.stolen_ms - b.stolen_ms};
}
/// Nanoseconds in which the calling thread wanted its core and another one had it; 0 where the kernel does not count.
[[nodiscard]] std::uint64_t waited_for_core_ns();
[[nodiscard]] bool counts_waits_for_cores();

/// Nanoseconds that a fixed piece of work takes this core, some 20 us. It is the clock's frequency, if nobody else has
/// the core.
[[nodiscard]] double core_ns();
/// Nanoseconds in which a cache line goes from this core to CPU; none: no thread can be had there. The caller's thread
/// is bound.
[[nodiscard]] std::optional<double> line_ns(int cpu);

/// A round of one transport, or of its raw loop.
struct round_taken {
  std::vector<double> samples;  // ns of an operation
  std::uint64_t ns = 0;
  std::uint64_t longest_ns = 0;    // of a sample with all of its operations
  std::uint64_t usual_ns = 0;      // of the one in the middle
  std::uint64_t scheduled_ns = 0;  // of a schedule, from its begin to its end
  std::array<process_facts, 2> of{};
  std::array<std::uint64_t, 2> without_core_ns{};
  const char* other = "rank 1";     // which is not rank 0
  std::array<double, 2> core_ns{};  // of both ranks; 0: not known
};

/// What disturbed R, which is one of ALL, in words; empty: nothing. One is disturbed where others had a core of its for
/// a twentieth of it and half a millisecond, or the hypervisor had one, where a core was slower than in the best round
/// by a tenth, or where one sample was longer than the usual by a millisecond and by a tenth of the round: something
/// stood still.
[[nodiscard]] std::string disturbance(const round_taken& r, const std::vector<round_taken>& all);

/// What has changed between two times of line_ns(), in words; empty: nothing, or one of them is not known.
[[nodiscard]] std::string changed_between(const std::optional<double>& before, const std::optional<double>& after);

}  // namespace tobi_perf
