// SPDX-License-Identifier: Apache-2.0
// The numbers of tobi/statistics.hpp as tables: how each adds up, and what it is called in JSON and in the table that
// TOBI_STATS prints.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "tobi/statistics.hpp"

namespace tobi::base {

/// How those of several workers become those of the job.
enum class adds : std::uint8_t { up, to_the_largest };

struct counter {
  adds how;
  std::uint64_t& (*of)(statistics&);
};
inline constexpr counter counters[] = {
    {adds::up, [](statistics& s) -> std::uint64_t& { return s.forks; }},
    {adds::up, [](statistics& s) -> std::uint64_t& { return s.joins; }},
    {adds::to_the_largest, [](statistics& s) -> std::uint64_t& { return s.run_ns; }},
    {adds::up, [](statistics& s) -> std::uint64_t& { return s.outstanding_joins; }},
    {adds::up, [](statistics& s) -> std::uint64_t& { return s.outstanding_ns; }},
    {adds::up, [](statistics& s) -> std::uint64_t& { return s.steals_ok; }},
    {adds::up, [](statistics& s) -> std::uint64_t& { return s.steals_failed; }},
    {adds::up, [](statistics& s) -> std::uint64_t& { return s.steal_ns; }},
    {adds::up, [](statistics& s) -> std::uint64_t& { return s.steal_round_trips; }},
    {adds::up, [](statistics& s) -> std::uint64_t& { return s.copying_ns; }},
    {adds::up, [](statistics& s) -> std::uint64_t& { return s.stolen_bytes; }},
    {adds::up, [](statistics& s) -> std::uint64_t& { return s.contexts_stolen; }},
    {adds::up, [](statistics& s) -> std::uint64_t& { return s.evacuations; }},
    {adds::up, [](statistics& s) -> std::uint64_t& { return s.evacuated_bytes; }},
    {adds::up, [](statistics& s) -> std::uint64_t& { return s.published; }},
    {adds::up, [](statistics& s) -> std::uint64_t& { return s.taken_back; }},
    {adds::to_the_largest, [](statistics& s) -> std::uint64_t& { return s.peak_stack_bytes; }},
    {adds::up, [](statistics& s) -> std::uint64_t& { return s.suspend_cycles; }},
    {adds::up, [](statistics& s) -> std::uint64_t& { return s.global.checkouts; }},
    {adds::up, [](statistics& s) -> std::uint64_t& { return s.global.hits; }},
    {adds::up, [](statistics& s) -> std::uint64_t& { return s.global.fetched_bytes; }},
    {adds::up, [](statistics& s) -> std::uint64_t& { return s.global.copied_bytes; }},
    {adds::up, [](statistics& s) -> std::uint64_t& { return s.global.written_bytes; }},
    {adds::up, [](statistics& s) -> std::uint64_t& { return s.global.evictions; }},
    {adds::up, [](statistics& s) -> std::uint64_t& { return s.global.remaps; }},
};
static_assert(sizeof(statistics) == sizeof(std::uint64_t) * (std::size(counters) + steal_phases + global_phases),
              "each number of the struct has a row, or is one of a phase");

inline void add(statistics& sum, const statistics& one) noexcept {
  statistics other = one;
  for (const counter& c : counters) {
    std::uint64_t& here = c.of(sum);
    const std::uint64_t there = c.of(other);
    here = c.how == adds::up ? here + there : std::max(here, there);
  }
  for (std::size_t i = 0; i < steal_phases; ++i) sum.steal_cycles[i] += one.steal_cycles[i];
  for (std::size_t i = 0; i < global_phases; ++i) sum.global.time_ns[i] += one.global.time_ns[i];
}

/// A number for people and programs. It is a count, or else it is real; the table shows it in UNIT: the real number
/// times SCALE.
template <class Of>
struct figure {
  std::string_view name;   // in JSON; "": not there
  std::string_view label;  // in the table; "": not there
  std::uint64_t (*count)(const Of&) = nullptr;
  double (*real)(const Of&) = nullptr;
  std::string_view unit = "";
  double scale = 1;
  int decimals = 3;
  bool of_forks = false;  // known where forks are counted
};

inline constexpr figure<statistics> figures[] = {
    {.name = "forks", .label = "forks", .count = [](const statistics& s) { return s.forks; }, .of_forks = true},
    {.name = "joins", .label = "joins", .count = [](const statistics& s) { return s.joins; }, .of_forks = true},
    {.name = "execution_s",
     .label = "execution time",
     .real = [](const statistics& s) { return static_cast<double>(s.run_ns) / 1e9; },
     .unit = "s"},
    {.name = "outstanding_joins",
     .label = "outstanding joins",
     .count = [](const statistics& s) { return s.outstanding_joins; }},
    {.name = "outstanding_join_ns",
     .label = "outstanding join time, mean",
     .real = [](const statistics& s) { return s.outstanding_join_ns(); },
     .unit = "us",
     .scale = 1e-3},
    {.name = "steals_ok", .label = "steals, successful", .count = [](const statistics& s) { return s.steals_ok; }},
    {.name = "steals_failed", .label = "steals, failed", .count = [](const statistics& s) { return s.steals_failed; }},
    {.name = "steal_latency_ns",
     .label = "steal latency, mean",
     .real = [](const statistics& s) { return s.steal_latency_ns(); },
     .unit = "us",
     .scale = 1e-3},
    {.name = "round_trips_per_steal",
     .label = "round trips per steal",
     .real = [](const statistics& s) { return s.round_trips_per_steal(); }},
    {.name = "stolen_bytes", .label = "", .count = [](const statistics& s) { return s.stolen_bytes; }},
    {.name = "bytes_per_steal",
     .label = "stolen task size, mean",
     .real = [](const statistics& s) { return s.bytes_per_steal(); },
     .unit = "bytes"},
    {.name = "copy_ns",
     .label = "task copy time, mean",
     .real = [](const statistics& s) { return s.copy_ns(); },
     .unit = "us",
     .scale = 1e-3},
    {.name = "contexts_stolen",
     .label = "ready tasks stolen",
     .count = [](const statistics& s) { return s.contexts_stolen; }},
    {.name = "evacuations", .label = "evacuations", .count = [](const statistics& s) { return s.evacuations; }},
    {.name = "published", .label = "published", .count = [](const statistics& s) { return s.published; }},
    {.name = "taken_back", .label = "taken back", .count = [](const statistics& s) { return s.taken_back; }},
    {.name = "peak_stack_bytes",
     .label = "peak stack use, bytes",
     .count = [](const statistics& s) { return s.peak_stack_bytes; }},
    {.name = "stolen_per_created",
     .label = "stolen / created",
     .real = [](const statistics& s) { return s.stolen_per_created(); },
     .decimals = 6,
     .of_forks = true},
};

inline constexpr figure<global_statistics> global_figures[] = {
    {.name = "checkouts", .label = "checkouts", .count = [](const global_statistics& g) { return g.checkouts; }},
    {.name = "hits", .label = "", .count = [](const global_statistics& g) { return g.hits; }},
    {.name = "hit_rate",
     .label = "of them found here",
     .real = [](const global_statistics& g) { return g.hit_rate(); },
     .unit = "%",
     .scale = 100},
    {.name = "fetched_bytes",
     .label = "bytes fetched",
     .count = [](const global_statistics& g) { return g.fetched_bytes; }},
    {.name = "copied_bytes",
     .label = "bytes copied from neighbours",
     .count = [](const global_statistics& g) { return g.copied_bytes; }},
    {.name = "written_bytes",
     .label = "bytes written back",
     .count = [](const global_statistics& g) { return g.written_bytes; }},
    {.name = "evictions", .label = "evictions", .count = [](const global_statistics& g) { return g.evictions; }},
    {.name = "remaps", .label = "remaps", .count = [](const global_statistics& g) { return g.remaps; }},
};

struct phase_name {
  std::string_view name, label;  // in JSON, for people
};
/// By global_phase.
inline constexpr std::array<phase_name, global_phases> global_phase_names{{{"get", "get"},
                                                                           {"checkout", "checkout"},
                                                                           {"checkin", "checkin"},
                                                                           {"release", "release"},
                                                                           {"lazy_release", "lazy release"},
                                                                           {"acquire", "acquire"},
                                                                           {"serial", "serial parts"}}};

}  // namespace tobi::base
