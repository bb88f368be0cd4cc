// SPDX-License-Identifier: Apache-2.0
#include "libcore/job/limits.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "arch/interrupted.hpp"
#include "arch/pages.hpp"
#include "arch/topology.hpp"
#include "bootstrap/bootstrap.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/plain_text.hpp"
#include "libcore/base/statistics.hpp"
#include "libcore/base/text_line.hpp"
#include "libcore/job/debug_info.hpp"
#include "libcore/job/main_stack.hpp"
#include "libcore/net/location.hpp"
#include "libcore/pgas/memory.hpp"
#include "libcore/sched/worker.hpp"

namespace tobi::job {

namespace {

constexpr std::size_t worker_bytes = 4u << 20;  // that a worker touches before the program does anything
// Of the lower half of 2^48 addresses, that from view.cc's first place on.
constexpr std::size_t view_bytes_of_heaps = std::size_t{1} << 46;

fault_ranges known{};
// What a fault is explained by, made when the ranges are known: the fault may be inside the program's allocator, whose
// lock its thread holds, and a handler that allocates would wait forever.
// They stay until the process ends.
const std::string* stack_is_full = nullptr;
const std::string* deque_is_full = nullptr;

[[noreturn]] void explain_trap(std::uintptr_t address, const void* code) noexcept {
  constexpr std::uintptr_t near = 1 << 16;  // other tasks had their locals at the same addresses before
  const debug_question about{address, nullptr, sched::this_worker().closure_that_holds(address, near)};
  debug_names names;
  ask_debug_info(about, names);
  base::text_line why;
  why << "a task touched the stack of another task, which has moved away";
  if (about.captured.type != nullptr) {
    add_closure(about, names, why << " (");
    why << ")";
  }
  why << ": pass values, not pointers or references to locals, to spawned tasks (found by TOBI_DEBUG_MIGRATE";
  add_place(code, why);
  why << ").";
  base::fatal(why.view());
}

bool explain_fault(const void* address, const void* context) noexcept {
  if (known.memory == nullptr) return false;
  const auto* at = static_cast<const std::byte*>(address);
  if (known.memory->is_stack_guard(at)) {
    base::fatal(*stack_is_full);
  }
  if (at >= known.deque_guard && at < known.deque_guard + known.deque_guard_bytes) {
    base::fatal(*deque_is_full);
  }
  if (pgas::current() != nullptr && pgas::current()->holds(at)) {
    base::fatal(
        "global memory was touched that is not checked out here, or was freed: check it out around the access "
        "(tobi::checkout), or use tobi::load and tobi::store; a global pointer's raw address is no ordinary memory.");
  }
  if (const std::string_view why = sched::this_worker().explain_fault(at); !why.empty()) base::fatal(why);
  const auto here = reinterpret_cast<std::uintptr_t>(at);
  if (at >= known.memory->stack_low() && at < known.memory->stack_high() && sched::this_worker().trapped(here)) {
    explain_trap(here, arch::interrupted_code(context));
  }
  if (may_write_main_stack(at)) return true;
  if (base::text_line why; explain_main_stack(at, arch::interrupted_code(context), why)) base::fatal(why.view());
  return false;
}

void print_real(std::string_view label, double value, int decimals, const std::string& unit) {
  std::fprintf(stderr, "tobi:   %-28s %14s%s\n", std::string(label).c_str(), base::fixed(value, decimals).c_str(),
               unit.c_str());
}

template <class Of, std::size_t N>
void print(const base::figure<Of> (&table)[N], const Of& counted) {
  for (const base::figure<Of>& f : table) {
    if (f.label.empty()) continue;
    if (f.real != nullptr) {
      print_real(f.label, f.real(counted) * f.scale, f.decimals, f.unit.empty() ? "" : " " + std::string(f.unit));
    } else {
      std::fprintf(stderr, "tobi:   %-28s %14llu\n", std::string(f.label).c_str(),
                   static_cast<unsigned long long>(f.count(counted)));
    }
  }
}

// Before a fork(): the stacks of tasks that move are memory that processes share, so the child would run on its
// parent's stack at the same time. posix_spawn, system and popen are no fork(), and leave the stack alone.
void refuse_fork_in_a_task() noexcept {
  const std::byte here{};
  if (known.memory == nullptr || &here < known.memory->stack_low() || &here >= known.memory->stack_high()) return;
  base::fatal(
      "fork() was called inside a task, whose stack the child would share with its parent; start programs with "
      "posix_spawn, system or popen, or fork in main, outside of tobi::run.",
      base::exit_usage);
}

void print_sites(const std::vector<trace::named_site>& fetched_at) {
  constexpr std::size_t most = 10;
  if (fetched_at.empty()) return;
  std::fprintf(stderr, "tobi:   %16s %12s %12s  %s\n", "bytes fetched", "pieces", "waited, s", "at");
  for (std::size_t i = 0; i < std::min(most, fetched_at.size()); ++i) {
    const trace::named_site& s = fetched_at[i];
    std::fprintf(stderr, "tobi:   %16llu %12llu %12s  %s\n", static_cast<unsigned long long>(s.fetched.bytes),
                 static_cast<unsigned long long>(s.fetched.pieces),
                 base::fixed(static_cast<double>(s.fetched.waited_ns) / 1e9, 3).c_str(), s.name.c_str());
  }
  if (fetched_at.size() > most) std::fprintf(stderr, "tobi:   and for %zu places more\n", fetched_at.size() - most);
}

}  // namespace

void check_limits(int workers, int cores, const base::settings& in_force) {
  if (workers < 1)
    base::fatal(std::to_string(workers) + " workers cannot run a job; ask for 1 or more.", base::exit_usage);
  if (const std::string why = arch::too_many_workers(workers, cores, worker_bytes); !why.empty()) {
    base::fatal(why, base::exit_usage);
  }
  if (const std::string why = arch::crowded(workers, cores); !why.empty()) base::log(base::log_level::warn, why);
  if (in_force.debug_migrate && base::steals_children(in_force.sched)) {
    base::fatal(
        "TOBI_DEBUG_MIGRATE moves continuations, and with TOBI_SCHED=child_full or child_rtc none moves; unset one of "
        "them.",
        base::exit_usage);
  }
}

void check_measured(int rank, int ranks, const base::settings& in_force) {
  if (in_force.work_span.empty()) return;
  if (ranks != 1) {
    base::fatal_everywhere(rank,
                           "TOBI_WORK_SPAN measures a program on one worker, and this job has " +
                               std::to_string(ranks) + "; start one process, with TOBI_WORKERS=1.",
                           base::exit_usage);
  }
  if (in_force.debug_migrate) {
    base::fatal("TOBI_DEBUG_MIGRATE moves continuations, and with TOBI_WORK_SPAN none moves; unset one of them.",
                base::exit_usage);
  }
}

void tell_what_binds(int workers) {
  const arch::machine& machine = arch::this_machine();
  const int usable = static_cast<int>(machine.cores.size());
  if (workers <= usable || usable >= machine.cores_total) return;
  std::string sentence = std::to_string(workers) + " workers share " + std::to_string(usable) + " of this machine's " +
                         std::to_string(machine.cores_total) + " cores: this process is bound to " +
                         (usable == 1 ? "that one" : "those");
  for (const char* name : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"}) {
    if (std::getenv(name) == nullptr) continue;
    sentence += std::string(", maybe by OpenMP; unset ") + name + ".";
    base::log(base::log_level::warn, sentence);
    return;
  }
  const bool launched = bootstrap::launched();
  sentence += launched ? "; have the launcher bind it to more (mpirun --bind-to none, srun --cpus-per-task)." : ".";
  base::log(launched ? base::log_level::warn : base::log_level::info, sentence);
}

std::string too_many_ranks(int ranks) {
  if (ranks <= net::location::max_ranks) return "";
  return std::to_string(ranks) + " workers are more than the " + std::to_string(net::location::max_ranks) +
         " that a job can have; start fewer processes, or lower TOBI_WORKERS.";
}

std::string too_much_address_space(int ranks, std::size_t region_bytes) {
  const std::size_t each = view_bytes_of_heaps / static_cast<std::size_t>(ranks);
  if (region_bytes <= each) return "";
  // What a region holds besides the heap is little; a round number of megabytes that surely fits is easier to type.
  constexpr std::size_t round = std::size_t{8} << 20;
  const std::size_t fits = each / round * round > round ? each / round * round - round : round;
  return "the heaps of " + std::to_string(ranks) + " workers (" + base::format_size(region_bytes >> 20 << 20) +
         " each) do not fit into the " + base::format_size(view_bytes_of_heaps) +
         " of addresses that there are for them; set TOBI_HEAP_SIZE=" + base::format_size(fits) + ".";
}

void check_ranks(int rank, int ranks) {
  if (const std::string why = too_many_ranks(ranks); !why.empty()) {
    base::fatal_everywhere(rank, why, base::exit_usage);
  }
}

void check_address_space(int rank, int ranks, std::size_t region_bytes) {
  if (const std::string why = too_much_address_space(ranks, region_bytes); !why.empty()) {
    base::fatal_everywhere(rank, why, base::exit_usage);
  }
}

void watch_ranges(const fault_ranges& ranges) {
  known = ranges;
  stack_is_full = new std::string("the stack of the nested tasks is full: the uni-address region has " +
                                  base::format_size(known.stack_bytes) +
                                  "; raise TOBI_STACK_SIZE (at most 128M) or nest less deeply.");
  deque_is_full = new std::string("the deque is full: more than " + std::to_string(known.deque_entries) +
                                  " forks are nested on one worker; raise TOBI_DEQUE_SIZE.");
  pthread_atfork(&refuse_fork_in_a_task, nullptr, nullptr);  // once: a program makes one job
  bootstrap::set_fault_filter(explain_fault);
}

void forget_ranges() noexcept {
  bootstrap::set_fault_filter(nullptr);
  known = {};
}

void print_statistics(const statistics& all, const std::vector<statistics>& each, const std::vector<int>& servers,
                      const std::vector<trace::named_site>& fetched_at) {
  std::fprintf(stderr, "tobi: statistics of %zu workers\n", each.size() - servers.size());
  print(base::figures, all);
  if (all.global.checkouts != 0) {
    print(base::global_figures, all.global);
    for (std::size_t i = 0; i < global_phases; ++i) {
      print_real(base::global_phase_names[i].label, static_cast<double>(all.global.time_ns[i]) / 1e9, 3,
                 " s, of all workers");
    }
    print_sites(fetched_at);
  }
  if (each.size() == 1) return;
  std::fprintf(stderr, "tobi:   %6s %12s %12s %10s %10s %12s  %s\n", "worker", "steals", "failed", "latency us",
               "copy us", "bytes each", "outstanding * mean us");
  for (std::size_t rank = 0; rank < each.size(); ++rank) {
    if (std::find(servers.begin(), servers.end(), static_cast<int>(rank)) != servers.end()) continue;
    const statistics& one = each[rank];
    std::fprintf(stderr, "tobi:   %6zu %12llu %12llu %10s %10s %12s %8llu *%10s\n", rank,
                 static_cast<unsigned long long>(one.steals_ok), static_cast<unsigned long long>(one.steals_failed),
                 base::fixed(one.steal_latency_ns() / 1000, 3).c_str(), base::fixed(one.copy_ns() / 1000, 3).c_str(),
                 base::fixed(one.bytes_per_steal(), 1).c_str(), static_cast<unsigned long long>(one.outstanding_joins),
                 base::fixed(one.outstanding_join_ns() / 1000, 3).c_str());
  }
}

}  // namespace tobi::job
