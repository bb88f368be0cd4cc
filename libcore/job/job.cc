#include "libcore/job/job.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include "arch/clock.hpp"
#include "arch/cpu.hpp"
#include "arch/topology.hpp"
#include "libcore/base/door.hpp"
#include "libcore/base/log.hpp"
#include "libcore/job/limits.hpp"
#include "transports/meeting.hpp"

namespace tobi::job {

using transports::op;
using transports::op_kind;

namespace {

job* current_job = nullptr;

std::span<const std::byte> bytes_of(const auto& value) { return std::as_bytes(std::span(&value, 1)); }

base::settings first_settings() {
  base::set_launch_index(bootstrap::launch_index());
  return base::read_settings();
}

}  // namespace

job* current() noexcept { return current_job; }

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
  const int wanted = chosen.workers != 0 ? chosen.workers : settings_.workers;
  check_limits(wanted != 0 ? wanted : cores, cores, settings_);
  bootstrap_ = bootstrap::start(settings_, wanted, cores);
  check_address_space(size(), settings_);
  // Before anything runs: a job of hours must not end with a file that never could be written.
  if (!settings_.trace.empty() && rank() == 0) job_trace::check_writable(settings_.trace);
  take_core();
  nodes_ = find_nodes();
  hosts_.assign(bootstrap_->nodes().begin(), bootstrap_->nodes().end());
  transport_ = transports::select(settings_.transport, {rank(), size(), nodes_, settings_});
  find_servers();
  choose_sizes();
  make_memory();
  exchange();
  start_global();
  if (tasks::worker::must_poll(transport_->caps()) || serves_only()) {
    bootstrap_->while_waiting([this] { transport_->progress(); });
  }
  start_worker();
  current_job = this;
  bootstrap_->fence();
  start_trace();
}

job::~job() {
  barrier();
  if (trace_ != nullptr) {
    trace_->write(transport_name(), sched_name(), deque_name());
    trace_.reset();
  }
  if (settings_.stats) {
    std::vector<statistics> each(static_cast<std::size_t>(size()));
    const statistics all = stats(each.data());
    if (rank() == 0) print_statistics(all, each, servers_);
  }
  // Unwaited operations name buffers of this worker and memory of others: all of it is about to go. The barrier keeps
  // the fabric moving for those who drain later; a launcher's fence would not.
  net_->drain();
  barrier();
  bootstrap_->finalize();
  bootstrap_->while_waiting(nullptr);
  tasks::this_worker().stop();
  if (slot_memory_ != nullptr) munmap(slot_memory_, slot_bytes_);
  global_.reset();
  objects_.reset();
  incoming_.reset();
  heap_.reset();
  base::set_fatal_hook(nullptr);
  forget_ranges();
  current_job = nullptr;
}

// Which core this worker is to run on. Its neighbours are those of its node that may use the very same cores: all of
// them where this process forked them or a launcher bound nobody, and only itself where the launcher bound each to its
// own.
void job::take_core() {
  const arch::machine& machine = arch::this_machine();
  std::vector<std::int32_t> mine;
  for (const arch::core& c : machine.cores) mine.push_back(c.os_cpu);
  bootstrap_->put("cores", std::as_bytes(std::span(mine)));
  bootstrap_->fence();
  std::set<std::int32_t> all;
  std::size_t neighbours = 0;
  std::size_t place = 0;
  for (const int peer : bootstrap_->local_peers()) {
    const std::vector<std::byte> bytes = bootstrap_->get(peer, "cores");
    std::vector<std::int32_t> theirs(bytes.size() / sizeof(std::int32_t));
    std::memcpy(theirs.data(), bytes.data(), bytes.size());
    all.insert(theirs.begin(), theirs.end());
    if (theirs != mine) continue;
    if (peer == rank()) place = neighbours;
    ++neighbours;
  }
  std::size_t cores = all.size();
  if (machine.cpu_quota > 0) cores = std::min(cores, static_cast<std::size_t>(std::ceil(machine.cpu_quota)));
  cores_here_ = static_cast<int>(cores);
  crowded_ = bootstrap_->local_peers().size() > cores;
  workers_a_core_ = static_cast<unsigned>((bootstrap_->local_peers().size() + cores - 1) / cores);
  if (neighbours > machine.cores.size()) return;

  core_ = machine.cores[place];
  // A lone worker may share the machine with threads of its program: binding it would bind them too. One that may use a
  // single core has been bound by somebody who knew better.
  if (settings_.pin != base::pin_policy::automatic || size() == 1 || machine.cores.size() == 1) return;
  if (const std::string why = arch::bind_to_cpu(core_.os_cpu); !why.empty()) {
    base::log(base::log_level::warn, "cannot bind this worker to cpu " + std::to_string(core_.os_cpu) + " (" + why +
                                         "); TOBI_PIN=none says not to.");
  }
}

// Where registering memory locks it, the defaults, which are address space elsewhere, would be a gigabyte of memory a
// worker.
void job::choose_sizes() {
  constexpr std::size_t pinned_heap = 128u << 20;
  constexpr std::size_t pinned_stack = 8u << 20;
  if (!transport_->caps().pins || (settings_.heap_given && settings_.stack_given)) return;
  if (!settings_.heap_given) settings_.heap_bytes = pinned_heap;
  if (!settings_.stack_given) settings_.stack_bytes = pinned_stack;
  base::log(base::log_level::info, std::string(transport_->name()) + " locks the memory that it registers: a heap of " +
                                       base::format_size(settings_.heap_bytes) + " and a stack of " +
                                       base::format_size(settings_.stack_bytes) +
                                       " a worker (TOBI_HEAP_SIZE and TOBI_STACK_SIZE choose others).");
}

void job::make_memory() {
  int attempt = 0;
  const auto everyone_ok = [&](bool mine) {
    const std::string key = "reserved" + std::to_string(attempt++);
    bootstrap_->put(key, bytes_of(mine));
    bootstrap_->fence();
    for (int r = 0; r < size(); ++r) {
      if (bootstrap_->get(r, key)[0] == std::byte{0}) return false;
    }
    return true;
  };
  segment_ = alloc::segment({sizeof(control_block), settings_.heap_bytes, settings_.stack_bytes}, everyone_ok);
  control_ = new (segment_.control()) control_block{};
  heap_ = std::make_unique<alloc::heap>(segment_.heap(), segment_.heap_bytes());
  objects_ = std::make_unique<alloc::remote_objects>(*heap_);

  // The deque's own part is private memory. The page behind it has no access: to nest too many forks faults there.
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t wanted = (settings_.deque_entries + 1) * sizeof(std::uintptr_t);
  slot_bytes_ = (wanted + page - 1) / page * page + page;
  void* slots = mmap(nullptr, slot_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (slots == MAP_FAILED || mprotect(static_cast<std::byte*>(slots) + slot_bytes_ - page, page, PROT_NONE) != 0) {
    base::fatal(std::string("no memory for the deque (") + std::strerror(errno) + "); lower TOBI_DEQUE_SIZE.");
  }
  slot_memory_ = static_cast<std::uintptr_t*>(slots);
  global_ = std::make_unique<global>(settings_, size(), segment_.heap_memory().bytes);
  watch_ranges({&segment_, static_cast<std::byte*>(slots) + slot_bytes_ - page, page, settings_.stack_bytes,
                settings_.deque_entries});
}

void job::exchange() {
  struct card {
    tasks::peer_keys keys;
    arch::core core;
    std::byte* view;
    std::uint64_t trace_bytes;
  } mine{{}, core_, global_->base(), settings_.trace.empty() ? 0 : settings_.trace_bytes};
  status s = transport_->register_memory(segment_.heap_memory(), mine.keys.heap);
  if (s == status::ok) s = transport_->register_memory(segment_.stack_memory(), mine.keys.stack);
  if (s != status::ok) {
    const std::string why = transport_->why_not_registered();
    base::fatal("cannot register this worker's memory with " + std::string(transport_->name()) + ": " +
                (why.empty() ? std::string(to_string(s)) : why) + ".");
  }
  const std::string address = transport_->address();
  bootstrap_->put("card", bytes_of(mine));
  bootstrap_->put("address", std::as_bytes(std::span(address.data(), address.size())));
  bootstrap_->fence();
  std::vector<tasks::peer_keys> keys;
  std::vector<std::string> addresses;
  for (int r = 0; r < size(); ++r) {
    card theirs;
    const std::vector<std::byte> bytes = bootstrap_->get(r, "card");
    TOBI_ASSERT(bytes.size() == sizeof theirs, "all workers run the same program");
    std::memcpy(&theirs, bytes.data(), sizeof theirs);
    keys.push_back(theirs.keys);
    cores_.push_back(theirs.core);
    if (r == 0) trace_bytes_ = theirs.trace_bytes;
    views_.push_back(theirs.view);
    const std::vector<std::byte> where = bootstrap_->get(r, "address");
    addresses.emplace_back(reinterpret_cast<const char*>(where.data()), where.size());
  }
  s = transport_->connect(addresses);
  if (s != status::ok) {
    base::fatal("cannot connect to the other workers over " + std::string(transport_->name()) + " (" +
                std::string(to_string(s)) + ").");
  }
  transports::meeting_over meet(*bootstrap_);
  transport_->measure(meet);
  net_ = std::make_unique<tasks::fabric>(*transport_, rank(), segment_.control(), segment_.heap_memory().bytes,
                                         std::move(keys), crowded_);
}

// TOBI_NODES splits the workers of a machine into equal runs of ranks, so that the paths between nodes run on one.
std::vector<int> job::find_nodes() const {
  const std::span<const int> given = bootstrap_->nodes();
  std::vector<int> of(given.begin(), given.end());
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
  for (std::size_t r = 0; r < of.size(); ++r) {
    of[r] = static_cast<int>(r * static_cast<std::size_t>(settings_.nodes) / of.size());
  }
  return of;
}

// In levels: the cores' own on a node, where they are known, and beyond them all other nodes. Servers are no victims,
// and choose none.
std::vector<int> job::distances() const {
  constexpr int nobody = -1;
  const auto self = static_cast<std::size_t>(rank());
  std::vector<int> levels(cores_.size(), 0);
  for (std::size_t r = 0; r < levels.size(); ++r) {
    if (serves_only() || transport_->serves_only(static_cast<int>(r))) {
      levels[r] = nobody;
    } else if (nodes_[r] != nodes_[self]) {
      levels[r] = tasks::victims::far_level;
    } else if (core_.os_cpu >= 0 && cores_[r].os_cpu >= 0) {
      levels[r] = arch::distance(core_, cores_[r]);
    }
  }
  return levels;
}

// Half of the connections are for everything else: joins, frees, barriers, the ranks that hold what a task reads.
std::size_t job::far_victims() const {
  const std::uint32_t most = transport_->caps().peers_max;
  return most == 0 ? 0 : std::max<std::size_t>(1, most / 2);
}

void job::start_global() {
  std::string unusable;
  for (int r = 0; r < size() && unusable.empty(); ++r) {
    const std::byte* theirs = views_[static_cast<std::size_t>(r)];
    if (theirs != nullptr && theirs == views_[0]) continue;
    unusable = "its addresses are not free at the same place in every worker (rank " + std::to_string(r) +
               "); lower TOBI_GLOBAL_SIZE, or raise the limit of address space (ulimit -v).";
  }
  global_->start(
      segment_, *heap_, *net_, control_->global, sizeof(control_block), control_->window, [this] { barrier(); },
      std::move(unusable));
}

void job::start_worker() {
  choice_ = std::make_unique<tasks::victims>(rank(), distances(), static_cast<std::uint64_t>(rank()) + 1,
                                             tasks::victims::rules{settings_.victims, far_victims()});
  if (!settings_.local_collection) {
    incoming_ = std::make_unique<tasks::incoming_frees>(*net_, control_->incoming, *objects_);
    objects_->collect_from(incoming_.get());
  }
  std::vector<int> near;
  for (int r = 0; r < size(); ++r) {
    if (r != rank() && nodes_[static_cast<std::size_t>(r)] == nodes_[static_cast<std::size_t>(rank())] &&
        !transport_->serves_only(r)) {
      near.push_back(r);
    }
  }
  tasks::this_worker().start({net_.get(),
                              objects_.get(),
                              incoming_.get(),
                              &control_->window,
                              &control_->board,
                              &control_->the,
                              segment_.stack_low(),
                              segment_.stack_high(),
                              slot_memory_,
                              &control_->images,
                              choice_.get(),
                              &hosts_,
                              global_->memory(),
                              settings_.sched,
                              settings_.task_stack_bytes,
                              settings_.deque == base::deque_kind::the,
                              settings_.stats,
                              settings_.debug_migrate,
                              !serves_only(),
                              crowded_,
                              cores_here_,
                              workers_a_core_,
                              std::move(near)});
}

// Workers of one host read one clock. Where TOBI_NODES only plays at nodes their clocks are still measured, so that
// this runs on one machine, where the right answer is known to be 0. Rank 0 says for all whether there is a trace: a
// launcher may have given the environment to some nodes only.
void job::start_trace() {
  if (trace_bytes_ == 0) return;
  std::vector<int> clock_of(nodes_.size());
  for (std::size_t r = 0; r < clock_of.size(); ++r) {
    const auto first = std::find(nodes_.begin(), nodes_.end(), nodes_[r]);
    clock_of[r] = static_cast<int>(first - nodes_.begin());
  }
  trace_ = std::make_unique<job_trace>(
      settings_.trace, trace_bytes_,
      job_trace::parts{net_.get(), objects_.get(), &control_->trace, offsetof(control_block, trace),
                       std::move(clock_of), nodes_, [this] { barrier(); },
                       [this](unsigned spins) { wait_a_little(spins); }});
}

// Dissemination: in round k each rank tells the one 2^k further on, and hears from the one 2^k back. Everybody has
// heard of everybody after log2(size) rounds. Each word has one writer, and generations only grow.
void job::barrier() {
  const std::uint64_t generation = ++barrier_generation_;
  int round = 0;
  for (int step = 1; step < size(); step *= 2, ++round) {
    const int to = (rank() + step) % size();
    const std::uint64_t at = offsetof(control_block, arrived) + static_cast<std::uint64_t>(round) * 8;
    const op tell{op_kind::put, false, net_->heap(to), at, const_cast<std::uint64_t*>(&generation), 8, 0, 0};
    net_->post(to, {&tell, 1});
    net_->complete(to);
    const std::atomic_ref heard(control_->arrived[round]);
    for (unsigned spins = 0; heard.load(std::memory_order_acquire) < generation; ++spins) wait_a_little(spins);
  }
}

void job::wait_a_little(unsigned spins) {
  transport_->progress();
  if (global_->memory()->used) global_->memory()->serve();
  if (!crowded_ && spins < 2000) {
    arch::pause();
  } else if (spins < 4000) {
    sched_yield();
  } else {
    const timespec nap{0, 100'000};
    nanosleep(&nap, nullptr);
  }
}

namespace {

// What the root task starts with, in its own frames. The closure follows.
struct alignas(64) root_start {
  void (*body)(const void*, void*);
  std::uint64_t result_bytes;
};

// The root task. It may end on another worker than it began on, so nothing of `this` is kept across the body.
void root_task(void* argument) {
  const auto* start = static_cast<const root_start*>(argument);
  const std::uint64_t bytes = start->result_bytes;
  auto* result = __builtin_alloca_with_align(bytes + 1, 8 * 64);
  std::uint64_t failure = 0;
  base::the_door.step_out();
  try {
    start->body(start + 1, result);
    base::the_door.step_in();
  } catch (...) {
    base::the_door.step_in();
    failure = tasks::this_worker().keep_failure();
  }
  current_job->root_ended(result, bytes, failure);
  tasks::this_worker().leave_dead();
}

}  // namespace

void job::root_ended(const void* result, std::uint64_t bytes, std::uint64_t failure) {
  auto* kept = static_cast<root_result*>(objects_->allocate(sizeof(root_result) + bytes));
  if (kept == nullptr) base::fatal("the registered heap is full: no room for the root's result; raise TOBI_HEAP_SIZE.");
  *kept = {bytes, failure};
  if (bytes != 0) std::memcpy(kept + 1, result, bytes);
  if (global_->memory()->used) global_->memory()->release();
  control_->notice.result = net_->here(kept).word;
  std::atomic_ref(control_->notice.epoch).store(epoch_, std::memory_order_release);
}

void job::coherent_barrier() {
  pgas::memory& shared = *global_->memory();
  if (shared.used) {
    shared.nothing_held("barrier");
    shared.release();
  }
  barrier();
  if (shared.used) shared.acquire(0);
}

void job::run(const detail::root& what, void* result) {
  if (tasks::this_worker().inside_task()) {
    base::fatal("tobi::run was called inside a task; a program has one root at a time.", base::exit_usage);
  }
  // What this worker has written outside of tasks, the root may read.
  if (global_->memory()->shared()) coherent_barrier();
  run_began_ns_ = arch::now_ns();
  ++epoch_;
  if (rank() == 0) {
    std::vector<std::byte> start(sizeof(root_start) + what.closure_bytes);
    const root_start head{what.body, what.result_bytes};
    std::memcpy(start.data(), &head, sizeof head);
    std::memcpy(start.data() + sizeof head, what.closure, what.closure_bytes);
    tasks::this_worker().schedule(&root_task, start.data(), start.size(), control_->notice.epoch, epoch_);
  } else if (serves_only()) {
    serve_until_told();
  } else {
    tasks::this_worker().schedule(nullptr, nullptr, 0, control_->notice.epoch, epoch_);
  }
  take_result(what, result);
}

// A binomial tree of puts, rooted where the root ended: in terms of distance from there, rank d tells d + 2^k for each
// 2^k above d.
void job::tell_others(int origin) {
  const int distance = (rank() - origin + size()) % size();
  telling_ = {control_->notice.result, epoch_};
  constexpr std::uint64_t at = offsetof(control_block, notice);
  for (int step = 1; step < size(); step *= 2) {
    if (step <= distance || distance + step >= size()) continue;
    const int to = (origin + distance + step) % size();
    const op both[] = {
        {op_kind::put, false, net_->heap(to), at + 8, &telling_[0], 8, 0, 0},
        {op_kind::put, false, net_->heap(to), at, &telling_[1], 8, 0, 0},
    };
    net_->post(to, both);
  }
}

void job::take_result(const detail::root& what, void* result) {
  const tasks::location where{control_->notice.result};
  tell_others(where.rank());
  root_result head;
  net_->get(where, &head, sizeof head);
  if (what.result_bytes != 0 && head.failure == 0) {
    net_->get({where.rank(), where.offset() + sizeof head}, result, what.result_bytes);
  }
  tasks::failure failed;
  if (head.failure != 0) net_->get(tasks::location{head.failure}, &failed, sizeof failed);
  barrier();  // everybody has read it, and nobody is stealing any more
  if (global_->memory()->used) global_->memory()->acquire(0);
  tasks::this_worker().end_of_run();
  tasks::this_worker().count_run(arch::now_ns() - run_began_ns_);
  if (where.rank() == rank()) {
    objects_->free_local(net_->local(where));
    // A failure may lie in another worker's heap; then that worker frees it when it collects.
    if (head.failure != 0) tasks::this_worker().free_object(tasks::location{head.failure});
  }
  if (head.failure != 0) throw task_error(failed.type_name, failed.message, failed.rank);
}

statistics job::stats(statistics* each) {
  control_->counted = tasks::this_worker().counted();
  control_->counted.global = global_->memory()->counted();
  barrier();
  statistics all;
  for (int r = 0; r < size(); ++r) {
    statistics one;
    net_->get({r, offsetof(control_block, counted)}, &one, sizeof one);
    add(all, one);
    if (each != nullptr) each[r] = one;
  }
  barrier();
  return all;
}

void job::reset_stats() {
  tasks::this_worker().reset_counts();
  global_->memory()->reset_counts();
  barrier();
}

}  // namespace tobi::job
