// SPDX-License-Identifier: Apache-2.0
#include "libcore/job/job.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "arch/clock.hpp"
#include "arch/cpu.hpp"
#include "arch/topology.hpp"
#include "bootstrap/around.hpp"
#include "libcore/base/loaded.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/refusal.hpp"
#include "libcore/job/labels.hpp"
#include "libcore/job/limits.hpp"
#include "libcore/job/main_stack.hpp"
#include "libcore/job/whole_file.hpp"
#include "libcore/job/work_span_file.hpp"
#include "libcore/task/door.hpp"
#include "transports/nap.hpp"
#include "transports/registry.hpp"

namespace tobi::job {

using transports::op;
using transports::op_kind;

namespace {

job* current_job = nullptr;

static_assert(sizeof(control_block) + (std::size_t{64} << 30) < std::size_t{1} << net::location::offset_bits,
              "a location reaches the end of the largest heap");
static_assert(1 << barrier_rounds >= net::location::max_ranks);

base::settings first_settings() {
  bootstrap::before_joining();
  return base::read_settings();
}

}  // namespace

job::job(const options& chosen) : settings_(first_settings()) {
  // The workers of a first job run main on; a second one would fork from each of them.
  static bool made = false;
  if (std::exchange(made, true)) base::fatal("a program can make one tobi::runtime only.", base::exit_usage);
  if (const std::string& why = arch::this_machine().error; !why.empty()) {
    base::log(base::log_level::warn, why + "; every allowed cpu counts as a core, and none is nearer than another.");
  }
  transports::check_names(settings_);
  global::check(settings_);
  const int cores = arch::worker_cores();
  static_assert(one_per_process == bootstrap::one_per_client);
  const int unless_said = !settings_.work_span.empty() && !bootstrap::launched() ? 1 : 0;
  const int wanted = chosen.workers != 0 ? chosen.workers : settings_.workers != 0 ? settings_.workers : unless_said;
  check_limits(wanted == one_per_process ? 1 : wanted != 0 ? wanted : cores, cores, settings_);
  base::keep_loaded(reinterpret_cast<const void*>(&first_settings));
  labels::prepare();
  bootstrap_ = bootstrap::start(settings_, wanted, cores, tell_what_binds);
  transports::look_at_naps(bootstrap::watch_for_deaths());
  if (settings_.label) labels::start(rank());
  check_ranks(rank(), size());
  // Before anything runs: a job of hours must not end with a file that never could be written.
  if (!settings_.trace.empty() && rank() == 0) whole_file::check("TOBI_TRACE", settings_.trace);
  check_measured(rank(), size(), settings_);
  if (!settings_.work_span.empty()) whole_file::check("TOBI_WORK_SPAN", settings_.work_span);
  nodes_ = find_nodes();
  base::speak_for_node(bootstrap_->local_peers().front() == rank());
  hosts_.assign(bootstrap_->nodes().begin(), bootstrap_->nodes().end());
  const transports::context where{rank(), size(), nodes_, settings_};
  const std::string chosen_here = choose_transport(where);
  take_core();
  transport_ = transports::create(agreed_transport(chosen_here, where), where);
  find_servers();
  const std::size_t heap_at_first = choose_sizes();
  check_address_space(rank(), size(), sizeof(control_block) + settings_.heap_bytes);
  make_memory(heap_at_first);
  exchange();
  together_ =
      std::make_unique<assembly>(*net_, control_->all, nodes_,
                                 waiting{[this](unsigned spins, const awaited& what) { wait_in_assembly(spins, what); },
                                         [] { sched::this_worker().asleep().call_all(); },
                                         [](int rank) { sched::this_worker().asleep().call_rank(rank); }});
  start_global();
  if (tasks::poller::must_poll(transport_->caps()) || serves_only()) {
    bootstrap_->while_waiting([this] { transport_->progress(); });
  }
  start_worker();
  start_collections();
  gathering_ = std::make_unique<gathering>(*net_, *objects_, control_->gathered, [this] { barrier(); });
  if (goes_by_sockets()) connect_far();
  current_job = this;
  bootstrap_->fence();
  start_trace();
}

job::~job() {
  enter(call::end);
  barrier();
  std::vector<trace::named_site> sites;
  if (trace_ != nullptr || settings_.stats) sites = fetched_at();
  if (trace_ != nullptr) {
    trace_->write({std::string(transport_name()), std::string(sched_name()), std::string(deque_name()), 0, {}, sites},
                  global_->memory()->counted(true));
    trace_.reset();
  }
  if (const trace::measured_program* measured = sched::this_worker().sched().measured(); measured != nullptr) {
    whole_file file("TOBI_WORK_SPAN", settings_.work_span);
    file.write(work_span_line(*measured, arch::now_ns() - began_ns_));
    file.finish();
  }
  if (settings_.stats) {
    std::vector<statistics> each(rank() == 0 ? static_cast<std::size_t>(size()) : 0);
    const statistics all = stats(rank() == 0 ? each.data() : nullptr);
    if (rank() == 0) print_statistics(all, each, servers_, sites);
  }
  // Unwaited operations name buffers of this worker and memory of others: all of it is about to go. The barrier keeps
  // the fabric moving for the workers that drain later; a launcher's fence would not.
  net_->drain();
  barrier();
  bootstrap_->finalize();
  bootstrap_->while_waiting(nullptr);
  sched::this_worker().stop();
  collections_.reset();
  if (slot_memory_ != nullptr) munmap(slot_memory_, slot_bytes_);
  global_.reset();
  objects_.reset();
  incoming_.reset();
  heap_.reset();
  growing_.reset();
  base::set_fatal_hook(nullptr);
  transports::look_at_naps(nullptr);
  bootstrap::unmark_job();
  forget_ranges();
  current_job = nullptr;
}

// Where registering memory locks it, the defaults, which are address space elsewhere, would be a gigabyte of memory per
// worker. A heap that the user has chosen is there from the start: no task waits for it to be registered.
std::size_t job::choose_sizes() {
  constexpr std::size_t pinned_heap = 32u << 20;
  constexpr std::size_t pinned_stack = 8u << 20;
  if (!transport_->caps().pins_memory) return 0;
  if (!settings_.stack_given) settings_.stack_bytes = pinned_stack;
  std::size_t at_first = 0;
  if (!settings_.heap_given) {
    at_first = std::max(pinned_heap, heap_unit());
    while (settings_.heap_bytes > at_first &&
           !too_much_address_space(size(), sizeof(control_block) + settings_.heap_bytes).empty()) {
      settings_.heap_bytes /= 2;
    }
    if (at_first >= settings_.heap_bytes) at_first = 0;
  }
  base::log(base::log_level::info,
            std::string(transport_->name()) + " locks the memory that it registers: a heap of " +
                (at_first != 0 ? base::format_size(at_first) + ", which grows up to " : std::string()) +
                base::format_size(settings_.heap_bytes) + ", and a stack of " +
                base::format_size(settings_.stack_bytes) +
                " per worker (TOBI_HEAP_SIZE and TOBI_STACK_SIZE choose others).");
  return at_first;
}

// Parts of the heap region begin where blocks of the cache do, and large pages.
std::size_t job::heap_unit() const noexcept { return std::max<std::size_t>(2u << 20, settings_.block_bytes); }

void job::make_heap() {
  const transports::memory region = segment_.heap_memory();
  if (region.at_first == 0) {
    heap_ = std::make_unique<alloc::heap>(segment_.heap(), segment_.heap_bytes());
    return;
  }
  growing_ = std::make_unique<net::growing_heap>(*transport_, region, control_->heap_parts, heap_unit());
  heap_ = std::make_unique<alloc::heap>(segment_.heap(), region.at_first - segment_.control_bytes(),
                                        [this](std::size_t bytes) { return growing_->grow(bytes); });
}

void job::make_memory(std::size_t heap_at_first) {
  const auto everyone_ok = [&](bool mine) { return all_say(mine ? answer::yes : answer::no); };
  segment_ =
      alloc::segment({sizeof(control_block), settings_.heap_bytes, settings_.stack_bytes, heap_at_first}, everyone_ok);
  control_ = new (segment_.control()) control_block{};
  make_heap();
  objects_ = std::make_unique<alloc::remote_objects>(*heap_);

  // The deque's own part is private memory. The page behind it has no access: to nest too many forks faults there.
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t wanted = (settings_.deque_entries + 1) * sizeof(std::uintptr_t);
  slot_bytes_ = (wanted + page - 1) / page * page + page;
  void* slots = mmap(nullptr, slot_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (slots == MAP_FAILED || mprotect(static_cast<std::byte*>(slots) + slot_bytes_ - page, page, PROT_NONE) != 0) {
    base::fatal("no memory for the deque" + base::refusal(errno, "mmap", "lower TOBI_DEQUE_SIZE"));
  }
  slot_memory_ = static_cast<std::uintptr_t*>(slots);
  global_ = std::make_unique<global>(settings_, size(), segment_.heap_memory().bytes);
  watch_ranges({&segment_, static_cast<std::byte*>(slots) + slot_bytes_ - page, page, settings_.stack_bytes,
                settings_.deque_entries});
}

// TOBI_NODES splits the workers of a machine into equal runs of ranks, so that the paths between nodes run on one.
base::per_rank<int> job::find_nodes() const {
  const std::span<const int> given = bootstrap_->nodes();
  base::per_rank<int> of(given.begin(), given.end());
  if (settings_.nodes <= 1) return of;
  if (settings_.nodes > size()) {
    base::fatal_everywhere(rank(),
                           "TOBI_NODES=" + std::to_string(settings_.nodes) + " is more than the " +
                               std::to_string(size()) + " workers of this job; lower it or raise TOBI_WORKERS.",
                           base::exit_usage);
  }
  if (of.back() != 0) {
    base::fatal_everywhere(rank(),
                           "TOBI_NODES splits the workers of one machine, and this job is on " +
                               std::to_string(of.back() + 1) + " nodes; unset it.",
                           base::exit_usage);
  }
  for (int r = 0; r < size(); ++r) of[r] = static_cast<int>(std::int64_t{r} * settings_.nodes / size());
  return of;
}

// Half of the connections are for everything else: joins, frees, barriers, the ranks that hold what a task reads.
std::size_t job::far_victims() const {
  constexpr std::size_t socket_victims = 8;
  const std::uint32_t most = transport_->caps().peers_max;
  if (most != 0) return std::max<std::size_t>(1, most / 2);
  return goes_by_sockets() ? socket_victims : 0;
}

// A fabric that can be slept on goes by the kernel's connections: any number, but the first operation on each waits for
// some milliseconds of both processes.
bool job::goes_by_sockets() const { return transport_->caps().peers_max == 0 && transport_->wait_fd() >= 0; }

// Now, where nobody waits. A join that meets ranks for the first time makes one connection behind the other: with 64
// workers of two nodes on two cores the end of a tree took 20 to 90 ms until all had met. Each pair once, and from the
// lower rank on, so that not everybody calls the same one. A job with more ranks would spend its start on pairs that
// never have to do with each other.
void job::connect_far() {
  constexpr std::size_t most = 64;
  std::vector<int> far;
  for (int step = 1; 2 * step <= size(); ++step) {
    const int r = (rank() + step) % size();
    if (nodes_[r] != nodes_[rank()] && (2 * step < size() || rank() < r)) far.push_back(r);
  }
  if (far.size() > most / 2) return;
  net_->meet(far, [this](unsigned spins) {
    constexpr std::uint64_t longest_nap_ns = 2'000'000;
    if (serves_then_sleeps(spins)) transports::nap(*transport_, growing_nap_ns(spins, longest_nap_ns));
  });
}

void job::start_global() {
  std::string unusable;
  if (view_elsewhere_ >= 0) {
    unusable = "its addresses are not free at the same place in every worker (rank " + std::to_string(view_elsewhere_) +
               "); lower TOBI_GLOBAL_SIZE, or raise the limit of address space (ulimit -v).";
  }
  std::vector<int> node = near_ranks(true);
  node.insert(std::lower_bound(node.begin(), node.end(), rank()), rank());
  global_->start(
      segment_, *heap_, *net_, control_->global, sizeof(control_block), std::move(node), control_->window, *together_,
      trace_bytes_ != 0, [this](call which) { enter(which); }, std::move(unusable));
}

// The other ranks of this node.
std::vector<int> job::near_ranks(bool servers_too) const {
  std::vector<int> near;
  for (int r = 0; r < size(); ++r) {
    if (r != rank() && nodes_[r] == nodes_[rank()] && (servers_too || !transport_->serves_only(r))) {
      near.push_back(r);
    }
  }
  return near;
}

void job::start_collections() {
  std::vector<int> near = near_ranks(true);
  std::erase_if(near, [this](int r) { return net_->mapped(r) == nullptr; });
  holders_ = std::make_unique<sched::victims>(rank(), distances(true), static_cast<std::uint64_t>(rank()) + 1,
                                              sched::victims::rules{settings_.victims, far_victims()});
  collections_ = std::make_unique<class collections>(
      pool::ground{net_.get(), heap_.get(), &control_->collections, global_->memory(), holders_.get(), std::move(near),
                   serves_only(), tasks::poller::must_poll(transport_->caps()), workers_per_core_,
                   [this](unsigned spins) { wait_a_little(spins); }},
      *together_, [this](call which) { enter(which); }, [this] { coherent_barrier(); });
}

void job::start_worker() {
  choice_ = std::make_unique<sched::victims>(rank(), distances(false), static_cast<std::uint64_t>(rank()) + 1,
                                             sched::victims::rules{settings_.victims, far_victims()});
  if (!settings_.local_collection) {
    incoming_ = std::make_unique<net::incoming_frees>(*net_, control_->incoming, *objects_);
    objects_->collect_from(incoming_.get());
  }
  std::vector<int> near = near_ranks(false);
  // Where TOBI_NODES splits a machine, its nodes share the machine's cores.
  const int cores =
      std::max(1, cores_here_ * static_cast<int>(near.size() + 1) / static_cast<int>(bootstrap_->local_peers().size()));
  sched::this_worker().start({net_.get(),
                              objects_.get(),
                              incoming_.get(),
                              &control_->window,
                              &control_->arrivals,
                              &control_->board,
                              &control_->sights,
                              &control_->the,
                              segment_.stack_low(),
                              segment_.stack_high(),
                              slot_memory_,
                              &control_->images,
                              &control_->closures,
                              choice_.get(),
                              &hosts_,
                              &nodes_,
                              global_->memory(),
                              settings_.sched,
                              !settings_.work_span.empty(),
                              settings_.task_stack_bytes,
                              settings_.deque == base::deque_kind::the,
                              settings_.stats,
                              settings_.debug_migrate,
                              !serves_only(),
                              crowded_,
                              cores,
                              workers_per_core_,
                              std::move(near)});
}

// Workers of one host read one clock. Where TOBI_NODES splits a host their clocks are still measured, so that
// this runs on one machine, where the right answer is known to be 0. Rank 0 says for all whether there is a trace: a
// launcher may have given the environment to some nodes only.
void job::start_trace() {
  if (trace_bytes_ == 0) return;
  constexpr int none_yet = -1;
  base::per_rank<int> first_of(nodes(), none_yet);
  base::per_rank<int> clock_of;
  for (const int node : nodes_) {
    int& first = first_of[node];
    if (first == none_yet) first = static_cast<int>(clock_of.size());
    clock_of.push_back(first);
  }
  trace_ = std::make_unique<job_trace>(
      settings_.trace, trace_bytes_,
      job_trace::parts{net_.get(), objects_.get(), &control_->trace, offsetof(control_block, trace),
                       std::move(clock_of), nodes_, [this] { barrier(); },
                       [this](std::uint64_t mine) { return most_of_all(mine); },
                       [this](unsigned spins) { wait_a_little(spins); }});
}

// In main all workers say so, and one is enough.
void job::begin_phase(std::string_view name) noexcept {
  if (trace::tracing == nullptr || (rank() != 0 && !sched::this_worker().inside_task())) return;
  trace::tracing->phase_begins(name);
}

bool job::serves_then_sleeps(unsigned spins) {
  transport_->progress();
  if (global_->memory()->used) global_->memory()->serve();
  if (collections_ != nullptr) collections_->serve();
  if (spins >= turns_before_naps()) return true;
  if (!crowded_ && spins < 2000) {
    arch::pause();
  } else {
    sched_yield();
  }
  return false;
}

unsigned job::turns_before_naps() const noexcept { return transport_->wait_fd() >= 0 && crowded_ ? 16 : 4000; }

void job::wait_a_little(unsigned spins) {
  if (serves_then_sleeps(spins)) transports::nap(*transport_, shortest_nap_ns());
}

// What is waited for ends the nap: over a fabric that can be slept on, or by a neighbour's call. A neighbour's message
// in mapped memory does not, so naps begin short. They grow with the time that has been waited: where many wait on few
// cores their looks alone would keep those from the cores that they wait for (64 workers of eight small hosts on two
// cores: seconds).
void job::wait_in_assembly(unsigned spins, const awaited& what) {
  constexpr std::uint64_t longest_nap_ns = 5'000'000;
  if (!serves_then_sleeps(spins)) return;
  const std::uint64_t ns = transport_->wait_fd() < 0 ? shortest_nap_ns() : growing_nap_ns(spins, longest_nap_ns);
  // Others' wishes may have come in by the question whether it may sleep, too.
  const pgas::memory& memory = *global_->memory();
  sched::this_worker().asleep().sleep(*transport_, ns,
                                      [&] { return what.is_there() || (memory.used && memory.asked()); });
}

std::uint64_t job::growing_nap_ns(unsigned spins, std::uint64_t longest_ns) const noexcept {
  return std::min(shortest_nap_ns() * (2 + spins - turns_before_naps()) / 2, longest_ns);
}

namespace {

// What the root task starts with, in its own frames. The closure follows.
struct alignas(64) root_start {
  void (*body)(const void*, void*);
  std::uint64_t result_bytes;
  std::uint64_t closure_bytes;
};

// Of the captures, what goes to all ranks with the result.
constexpr std::size_t told_of(std::size_t closure_bytes) noexcept {
  return std::min(closure_bytes, captured_pointers::most_bytes);
}

// A run, while others may be under way around it: what all workers call in a pause may run tasks.
class one_more {
 public:
  explicit one_more(int& count) noexcept : count_(count), before_(count++) {}
  ~one_more() { --count_; }
  one_more(const one_more&) = delete;
  one_more& operator=(const one_more&) = delete;
  [[nodiscard]] bool another() const noexcept { return before_ != 0; }

 private:
  int& count_;
  const int before_;
};

// The root task. It may end on another worker than it began on, so nothing of `this` is kept across the body.
void root_task(void* argument) {
  const auto* start = static_cast<const root_start*>(argument);
  const std::uint64_t bytes = start->result_bytes;
  auto* result = __builtin_alloca_with_align(bytes + 1, 8 * 64);
  std::uint64_t failure = 0;
  tasks::the_door.step_out();
  try {
    start->body(start + 1, result);
    tasks::the_door.step_in();
  } catch (...) {
    tasks::the_door.step_in();
    failure = sched::this_worker().failures().keep();
  }
  for (detail::future_name ends{}; !current_job->may_end_root(ends);) {
    sched::this_worker().futures().join(ends, nullptr, 0);
  }
  current_job->root_ended(result, bytes, failure,
                          {reinterpret_cast<const std::byte*>(start + 1), start->closure_bytes});
  sched::this_worker().leave_dead();
}

}  // namespace

void job::root_ended(const void* result, std::uint64_t bytes, std::uint64_t failure,
                     std::span<const std::byte> captures) {
  const auto told = captures.first(told_of(captures.size()));
  auto* kept = static_cast<root_result*>(objects_->allocate(sizeof(root_result) + bytes + told.size()));
  if (kept == nullptr) base::fatal("the registered heap is full: no room for the root's result; raise TOBI_HEAP_SIZE.");
  *kept = {bytes, failure};
  if (bytes != 0) std::memcpy(kept + 1, result, bytes);
  if (!told.empty()) std::memcpy(reinterpret_cast<std::byte*>(kept + 1) + bytes, told.data(), told.size());
  if (global_->memory()->used) global_->memory()->release();
  control_->all.notice.result = net_->here(kept).word;
  std::atomic_ref(control_->all.notice.epoch).store(epoch_, std::memory_order_release);
}

void job::run(const detail::root& what, void* result) {
  enter(call::run);
  compare_code(reinterpret_cast<const void*>(what.body));
  // What this worker has written outside of tasks, the root may read.
  if (global_->memory()->shared()) coherent_barrier();
  const one_more within(runs_);
  const bool watches = size() > 1 && !within.another();
  if (watches) {
    captured_.keep(reinterpret_cast<const void*>(what.body),
                   {static_cast<const std::byte*>(what.closure), what.closure_bytes}, *global_->memory(),
                   settings_.debug_migrate);
    pointers_.keep(reinterpret_cast<const void*>(what.body),
                   {static_cast<const std::byte*>(what.closure), what.all_set ? what.closure_bytes : 0});
  }
  if (!within.another()) run_began_ns_ = arch::now_ns();
  ++epoch_;
  for (const detail::root* first = &what;; first = nullptr) {
    if (settings_.debug_migrate) {
      run_debugged(what, first);
    } else {
      work(first);
    }
    if (!pause::is_one(net::location{control_->all.notice.result})) break;
    make_pause();
  }
  if (watches) warn_of_captured_vectors();
  take_result(what, result, !within.another());
}

void job::warn_of_captured_vectors() {
  const std::size_t bytes = captured_.changed();
  if (bytes == 0) return;
  base::log(base::log_level::warn,
            "a vector of main, of " + std::to_string(bytes) +
                " bytes, which the root of tobi::run has captured by reference, has changed here while tasks ran, and "
                "each process has its own: let tasks fill global memory (tobi::allocate_all), or return what they "
                "find. A vector that is meant for its process alone is right.");
}

void job::compare_captures(net::location there, std::size_t bytes) {
  std::vector<std::byte> theirs(bytes);
  net_->get(there, theirs.data(), bytes);
  const std::string differs = pointers_.compare(theirs, *global_->memory());
  if (!differs.empty()) base::log(base::log_level::warn, differs);
}

// This rank's part of the run, on its own stack from here downwards. FIRST: the root, unless the run goes on.
void job::work(const detail::root* first) {
  if (rank() == 0 && first != nullptr) {
    const detail::root& what = *first;
    std::vector<std::byte> start(sizeof(root_start) + what.closure_bytes);
    const root_start head{what.body, what.result_bytes, what.closure_bytes};
    std::memcpy(start.data(), &head, sizeof head);
    std::memcpy(start.data() + sizeof head, what.closure, what.closure_bytes);
    sched::this_worker().schedule(&root_task, start.data(), start.size(), control_->all.notice.epoch, epoch_);
  } else if (serves_only()) {
    serve_until_told();
  } else {
    sched::this_worker().schedule(nullptr, nullptr, 0, control_->all.notice.epoch, epoch_);
  }
}

void job::run_debugged(const detail::root& what, const detail::root* first) {
  std::pair<job*, const detail::root*> both{this, first};
  const auto work_on = [](void* argument) {
    const auto& [self, root] = *static_cast<const std::pair<class job*, const detail::root*>*>(argument);
    self->work(root);
  };
  if (globals_ == nullptr) {
    globals_ = std::make_unique<changed_globals>();
    if (!globals_->blind().empty()) {
      base::log(base::log_level::info,
                "TOBI_DEBUG_MIGRATE does not see changes of global variables: " + globals_->blind() + ".");
    }
    if (!captured_vectors::can_look()) {
      base::log(base::log_level::info,
                "TOBI_DEBUG_MIGRATE does not see changes of the elements of main's vectors: process_vm_readv is "
                "forbidden here.");
    }
  }
  globals_->keep();
  with_main_stack_protected(work_on, &both, {static_cast<const std::byte*>(what.closure), what.closure_bytes},
                            reinterpret_cast<const void*>(what.body));
  for (const std::string& name : globals_->compare()) {
    base::log(base::log_level::warn,
              "the global variable " + name +
                  " has changed here while tasks ran, and each process has its own: return what tasks have found, or "
                  "keep it in global memory (found by TOBI_DEBUG_MIGRATE; a variable that is meant for its process "
                  "alone is right).");
  }
}

// The other nodes are told first, and each of their speakers gets the result for its neighbours, so that it crosses to
// a node once.
void job::take_result(const detail::root& what, void* result, bool last) {
  auto& notice = control_->all.notice;
  const net::location where{notice.result};
  const std::uint64_t bytes = sizeof(root_result) + what.result_bytes + told_of(what.closure_bytes);
  net::location near = where;
  void* copy = nullptr;
  if (together_->tells(where.rank())) {
    together_->tell_nodes(where.rank(), epoch_);
    // Without room for a copy everybody gets it from there.
    if (where.rank() != rank()) copy = objects_->allocate(bytes);
    if (copy != nullptr) {
      net_->get(where, copy, bytes);
      near = net_->here(copy);
    }
    together_->tell_neighbours(epoch_, near.word);
    sched::this_worker().asleep().call_all();
  }
  root_result head;
  net_->get(near, &head, sizeof head);
  if (what.result_bytes != 0 && head.failure == 0) {
    net_->get({near.rank(), near.offset() + sizeof head}, result, what.result_bytes);
  }
  if (last && rank() != 0 && pointers_.wants()) {
    compare_captures({near.rank(), near.offset() + sizeof head + what.result_bytes}, told_of(what.closure_bytes));
  }
  tasks::failure failed;
  if (head.failure != 0) net_->get(net::location{head.failure}, &failed, sizeof failed);
  barrier();  // everybody has read it, and nobody is stealing any more
  if (global_->memory()->used) global_->memory()->acquire(0, -1);
  if (last) {
    sched::this_worker().futures().end_of_run();
    sched::this_worker().count_run(arch::now_ns() - run_began_ns_);
  } else {
    // Tasks of the run around it, which wanted a pause when this root had ended.
    awaken(std::exchange(waiting_for_pause_, {}));
  }
  if (near.rank() == rank()) {
    objects_->free_local(net_->local(near));
    // A failure may lie in another worker's heap; then that worker frees it when it collects.
    if (copy == nullptr && head.failure != 0) sched::this_worker().free_object(net::location{head.failure});
  }
  if (head.failure != 0) throw task_error(failed.type_name, failed.message, failed.rank);
}

}  // namespace tobi::job
