#include "libcore/job/limits.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

#include "arch/pages.hpp"
#include "bootstrap/bootstrap.hpp"
#include "libcore/base/log.hpp"
#include "libcore/task/worker.hpp"

namespace tobi::job {

namespace {

constexpr std::size_t worker_bytes = 4u << 20;  // that a worker touches before the program does anything
constexpr std::size_t address_bits = std::size_t{1} << 46;

fault_ranges known{};

void explain_fault(const void* address) noexcept {
  if (known.memory == nullptr) return;
  const auto* at = static_cast<const std::byte*>(address);
  if (known.memory->is_stack_guard(at)) {
    base::fatal("the stack of the nested tasks is full: the uni-address region has " +
                base::format_size(known.stack_bytes) + "; raise TOBI_STACK_SIZE (at most 128M) or nest less deeply.");
  }
  if (at >= known.deque_guard && at < known.deque_guard + known.deque_guard_bytes) {
    base::fatal("the deque is full: more than " + std::to_string(known.deque_entries) +
                " forks are nested on one worker; raise TOBI_DEQUE_SIZE.");
  }
  if (const std::string why = tasks::this_worker().explain_fault(at); !why.empty()) base::fatal(why);
  const auto here = reinterpret_cast<std::uintptr_t>(at);
  if (here >= tasks::this_worker().protected_from() && at < known.memory->stack_high()) {
    base::fatal(
        "a task touched the stack of another task, which has moved away: pass values, not pointers or "
        "references to locals, to spawned tasks (found by TOBI_DEBUG_MIGRATE).");
  }
}

}  // namespace

void check_limits(int workers, int cores, const base::settings& in_force) {
  if (workers < 1)
    base::fatal(std::to_string(workers) + " workers cannot run a job; ask for 1 or more.", base::exit_usage);
  if (const std::string why = arch::too_many_workers(workers, cores, worker_bytes); !why.empty()) {
    base::fatal(why, base::exit_usage);
  }
  if (in_force.debug_migrate && base::steals_children(in_force.sched)) {
    base::fatal(
        "TOBI_DEBUG_MIGRATE moves continuations, and with TOBI_SCHED=child_full or child_rtc none moves; unset one of "
        "them.",
        base::exit_usage);
  }
  check_address_space(workers, in_force);
}

void check_address_space(int workers, const base::settings& in_force) {
  if ((in_force.heap_bytes + in_force.stack_bytes) <= address_bits / static_cast<std::size_t>(workers)) return;
  base::fatal(std::to_string(workers) + " workers are too many for the address space with TOBI_HEAP_SIZE=" +
                  base::format_size(in_force.heap_bytes) + "; lower TOBI_WORKERS.",
              base::exit_usage);
}

void watch_ranges(const fault_ranges& ranges) {
  known = ranges;
  bootstrap::set_fault_filter(explain_fault);
}

void forget_ranges() noexcept {
  bootstrap::set_fault_filter(nullptr);
  known = {};
}

void add(statistics& sum, const statistics& one) noexcept {
  sum.forks += one.forks;
  sum.joins += one.joins;
  sum.run_time = std::max(sum.run_time, one.run_time);
  sum.outstanding_joins += one.outstanding_joins;
  sum.outstanding_time += one.outstanding_time;
  sum.steals_ok += one.steals_ok;
  sum.steals_failed += one.steals_failed;
  sum.steal_time += one.steal_time;
  sum.steal_round_trips += one.steal_round_trips;
  sum.copy_time += one.copy_time;
  sum.stolen_bytes += one.stolen_bytes;
  sum.contexts_stolen += one.contexts_stolen;
  sum.evacuations += one.evacuations;
  sum.evacuated_bytes += one.evacuated_bytes;
  sum.published += one.published;
  sum.taken_back += one.taken_back;
  for (std::size_t i = 0; i < steal_phases; ++i) sum.steal_cycles[i] += one.steal_cycles[i];
  sum.suspend_cycles += one.suspend_cycles;
  sum.global.checkouts += one.global.checkouts;
  sum.global.hits += one.global.hits;
  sum.global.fetched_bytes += one.global.fetched_bytes;
  sum.global.written_bytes += one.global.written_bytes;
  sum.global.evictions += one.global.evictions;
  sum.global.remaps += one.global.remaps;
  for (std::size_t i = 0; i < global_phases; ++i) sum.global.time_ns[i] += one.global.time_ns[i];
  sum.peak_stack_bytes = std::max(sum.peak_stack_bytes, one.peak_stack_bytes);
}

void print_statistics(const statistics& all, const std::vector<statistics>& each, const std::vector<int>& servers) {
  const auto count = [](const char* name, std::uint64_t n) {
    std::fprintf(stderr, "tobi:   %-28s %14llu\n", name, static_cast<unsigned long long>(n));
  };
  const auto real = [](const char* name, double x, const char* unit) {
    std::fprintf(stderr, "tobi:   %-28s %14.3f %s\n", name, x, unit);
  };
  std::fprintf(stderr, "tobi: statistics of %zu workers\n", each.size() - servers.size());
  count("forks", all.forks);
  count("joins", all.joins);
  real("execution time", static_cast<double>(all.run_time) / 1e9, "s");
  count("outstanding joins", all.outstanding_joins);
  real("outstanding join time, mean", all.outstanding_join_ns() / 1000, "us");
  count("steals, successful", all.steals_ok);
  count("steals, failed", all.steals_failed);
  real("steal latency, mean", all.steal_latency_ns() / 1000, "us");
  real("round trips a steal", all.round_trips_a_steal(), "");
  real("stolen task size, mean", all.bytes_a_steal(), "bytes");
  real("task copy time, mean", all.copy_ns() / 1000, "us");
  count("ready tasks stolen", all.contexts_stolen);
  count("evacuations", all.evacuations);
  count("published", all.published);
  count("taken back", all.taken_back);
  count("peak stack use, bytes", all.peak_stack_bytes);
  std::fprintf(stderr, "tobi:   %-28s %14.6f\n", "stolen / created", all.stolen_per_created());
  if (all.global.checkouts != 0) {
    constexpr const char* phases[global_phases] = {"get",          "checkout", "checkin",     "release",
                                                   "lazy release", "acquire",  "serial parts"};
    count("checkouts", all.global.checkouts);
    real("of them found here", 100 * all.global.hit_rate(), "%");
    count("bytes fetched", all.global.fetched_bytes);
    count("bytes written back", all.global.written_bytes);
    count("evictions", all.global.evictions);
    count("remaps", all.global.remaps);
    for (std::size_t i = 0; i < global_phases; ++i) {
      real(phases[i], static_cast<double>(all.global.time_ns[i]) / 1e9, "s, of all workers");
    }
  }
  if (each.size() == 1) return;
  std::fprintf(stderr, "tobi:   %6s %12s %12s %10s %10s %12s  %s\n", "worker", "steals", "failed", "latency us",
               "copy us", "bytes each", "outstanding * mean us");
  for (std::size_t rank = 0; rank < each.size(); ++rank) {
    if (std::find(servers.begin(), servers.end(), static_cast<int>(rank)) != servers.end()) continue;
    const statistics& one = each[rank];
    std::fprintf(stderr, "tobi:   %6zu %12llu %12llu %10.3f %10.3f %12.1f %8llu *%10.3f\n", rank,
                 static_cast<unsigned long long>(one.steals_ok), static_cast<unsigned long long>(one.steals_failed),
                 one.steal_latency_ns() / 1000, one.copy_ns() / 1000, one.bytes_a_steal(),
                 static_cast<unsigned long long>(one.outstanding_joins), one.outstanding_join_ns() / 1000);
  }
}

}  // namespace tobi::job
