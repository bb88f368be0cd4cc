// SPDX-License-Identifier: Apache-2.0
// The job: the only place that knows bootstrap, transports, memory and tasks, and puts them together.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "alloc/heap.hpp"
#include "alloc/remote_objects.hpp"
#include "alloc/segment.hpp"
#include "arch/clock.hpp"
#include "arch/topology.hpp"
#include "bootstrap/bootstrap.hpp"
#include "libcore/base/per_rank.hpp"
#include "libcore/base/settings.hpp"
#include "libcore/deque/arrivals.hpp"
#include "libcore/job/alike.hpp"
#include "libcore/job/assembly.hpp"
#include "libcore/job/captured_pointers.hpp"
#include "libcore/job/captured_vectors.hpp"
#include "libcore/job/changed_globals.hpp"
#include "libcore/job/collections.hpp"
#include "libcore/job/gathering.hpp"
#include "libcore/job/global.hpp"
#include "libcore/job/job_trace.hpp"
#include "libcore/job/late_code.hpp"
#include "libcore/job/pause.hpp"
#include "libcore/net/fabric.hpp"
#include "libcore/net/growing_heap.hpp"
#include "libcore/sched/victims.hpp"
#include "libcore/sched/worker.hpp"
#include "tobi/runtime.hpp"
#include "transports/transport.hpp"

namespace tobi::job {

/// The start of every worker's heap region: words that other workers put to, at the same offsets everywhere.
struct control_block {
  deque::steal_window window;
  deque::arrival_area arrivals;
  assembly_words all;
  tasks::idle_board board;
  sched::node_sights sights;
  alignas(64) statistics counted;  // published for stats()
  alignas(64) trace_words trace;   // TOBI_TRACE
  alignas(64) global_words global;
  alignas(64) code_words root_code;  // of a root whose module came late
  alignas(64) deque::the_area the;
  alignas(64) net::incoming_area incoming;
  deque::image_room images;
  tasks::closure_watch closures;  // TOBI_DEBUG_MIGRATE
  pool::collection_places collections;
  alignas(64) std::uint64_t epoch_taken;  // of rank 0 (pause.hpp)
  gather_words gathered;
  alignas(64) net::heap_parts heap_parts;
};

/// What a root left, in the heap of the worker where it ended; its bytes follow, and then what it had captured on rank
/// 0, up to captured_pointers::most_bytes.
struct alignas(16) root_result {
  std::uint64_t bytes;
  std::uint64_t failure;  // location of a tasks::failure, or 0
};

class job {
 public:
  explicit job(const options& chosen);
  ~job();
  job(const job&) = delete;
  job& operator=(const job&) = delete;

  [[nodiscard]] int rank() const noexcept { return bootstrap_->rank(); }
  [[nodiscard]] int size() const noexcept { return bootstrap_->size(); }
  /// How many workers run tasks: all but those that serve their nodes.
  [[nodiscard]] int computing() const noexcept { return size() - static_cast<int>(servers_.size()); }
  [[nodiscard]] int nodes() const noexcept { return *std::max_element(nodes_.begin(), nodes_.end()) + 1; }
  [[nodiscard]] std::string_view transport_name() const noexcept { return transport_->name(); }
  [[nodiscard]] std::string_view deque_name() const noexcept { return sched::this_worker().work().name(); }
  [[nodiscard]] std::string_view sched_name() const noexcept { return sched::this_worker().sched().name(); }
  [[nodiscard]] bool local_collection() const noexcept { return settings_.local_collection; }

  /// The program has called WHICH here. Fatal inside a task.
  void enter(call which);
  void run(const detail::root& what, void* result);
  void barrier() { together_->barrier(); }
  /// Of all workers together; and EACH of them by rank, unless it is null.
  statistics stats(statistics* each);
  /// The barrier of programs: what was written to global memory before it is read after it.
  void coherent_barrier();
  void reset_stats();
  /// Begins a phase of the program, for a trace.
  void begin_phase(std::string_view name) noexcept;
  [[nodiscard]] class collections& task_collections() noexcept { return *collections_; }
  [[nodiscard]] gathering& gathers() noexcept { return *gathering_; }
  /// In a task: all workers process the collection of that NUMBER, or restore it.
  [[nodiscard]] pause_asked ask_to_process(std::uint32_t number, bool restores);
  /// In a task: all workers call WHAT. The future's result is rank 0's.
  [[nodiscard]] pause_asked ask_to_call(const detail::root& what);
  /// Collective.
  [[nodiscard]] std::uint64_t most_of_all(std::uint64_t mine);

  /// On the worker where the root ends. False: the pause that ENDS comes before, and then this is asked again.
  [[nodiscard]] bool may_end_root(detail::future_name& ends);
  /// Behind it: keeps the result and starts to tell everybody.
  void root_ended(const void* result, std::uint64_t bytes, std::uint64_t failure, std::span<const std::byte> captures);

 private:
  /// What this rank would use; "" where it could use none, which agreed_transport() says.
  [[nodiscard]] std::string choose_transport(const transports::context& where);
  [[nodiscard]] std::string agreed_transport(const std::string& chosen_here, const transports::context& where);
  void take_core();
  /// What of the heap region is registered at the start, where the heap grows; else 0.
  [[nodiscard]] std::size_t choose_sizes();
  enum class answer : std::uint8_t { no, yes, refuses };
  bool all_say(answer mine, const std::string& reason = "");
  /// The first rank whose word is another than rank 0's; -1: all have the same. Collective.
  [[nodiscard]] std::array<int, 2> first_others(const std::array<std::uint64_t, 2>& mine);
  [[noreturn]] void refuse_what_differs(const alike& found, int other);
  void make_memory(std::size_t heap_at_first);
  void make_heap();
  [[nodiscard]] std::size_t heap_unit() const noexcept;
  void compare_code(const void* body);
  void exchange();
  void start_global();
  void start_worker();
  void start_trace();
  /// Collective. At rank 0: the lines of the program for which bytes were fetched, the most first; else nothing.
  [[nodiscard]] std::vector<trace::named_site> fetched_at();
  void work(const detail::root* what);
  enum class epoch_end : std::uint8_t { own, of_task, of_root };
  [[nodiscard]] epoch_end take_end_of_epoch(bool for_root);
  [[nodiscard]] detail::future_name wait_for_pause();
  static void awaken(const std::vector<detail::future_name>& waiting);
  void check_may_pause(const char* call) const;
  void check_collection(const pause& what, const char* call) const;
  [[nodiscard]] bool may_pause_now(detail::future_name& ends);
  void begin_pause(const pause& what, detail::future_name ends);
  void make_pause();
  [[nodiscard]] std::uint64_t keep_call(const detail::root& what);
  void warn_of_own_stack(const detail::root& what);
  std::vector<std::byte> call_with_all(net::location where);
  void run_debugged(const detail::root& what, const detail::root* first);
  void warn_of_captured_vectors();
  /// A turn of a loop that waits, and serves others. True: it is time to sleep.
  bool serves_then_sleeps(unsigned spins);
  [[nodiscard]] unsigned turns_before_naps() const noexcept;
  [[nodiscard]] std::uint64_t shortest_nap_ns() const noexcept { return std::uint64_t{25'000} * workers_per_core_; }
  [[nodiscard]] std::uint64_t growing_nap_ns(unsigned spins, std::uint64_t longest_ns) const noexcept;
  void wait_a_little(unsigned spins);
  void wait_in_assembly(unsigned spins, const awaited& what);
  /// LAST: no other run is under way around it.
  void take_result(const detail::root& what, void* result, bool last);
  void compare_captures(net::location there, std::size_t bytes);
  void find_servers();
  [[nodiscard]] bool serves_only() const noexcept { return transport_->serves_only(rank()); }
  void serve_until_told();
  /// SERVERS_TOO: also to those that run no tasks.
  [[nodiscard]] std::vector<int> distances(bool servers_too) const;
  [[nodiscard]] std::vector<int> near_ranks(bool servers_too) const;
  void start_collections();
  [[nodiscard]] std::size_t far_victims() const;
  [[nodiscard]] bool goes_by_sockets() const;
  void connect_far();
  [[nodiscard]] base::per_rank<int> find_nodes() const;

  base::settings settings_;
  std::unique_ptr<bootstrap::bootstrap> bootstrap_;
  early_code code_;         // made before anything else: all ranks have it
  alloc::segment segment_;  // before the transport, which ends first: it has registered this memory
  std::unique_ptr<transports::transport> transport_;
  control_block* control_ = nullptr;
  std::unique_ptr<net::growing_heap> growing_;  // null: the heap does not grow
  std::unique_ptr<alloc::heap> heap_;
  std::unique_ptr<alloc::remote_objects> objects_;
  std::unique_ptr<net::fabric> net_;
  std::unique_ptr<assembly> together_;
  std::unique_ptr<net::incoming_frees> incoming_;  // null: local collection
  std::unique_ptr<global> global_;
  std::unique_ptr<sched::victims> choice_;
  std::unique_ptr<sched::victims> holders_;  // of a collection's tasks
  std::unique_ptr<class collections> collections_;
  std::unique_ptr<gathering> gathering_;
  std::uint64_t trace_bytes_ = 0;     // of each worker's ring, as rank 0 wants it; 0: nothing is traced
  std::unique_ptr<job_trace> trace_;  // null: nothing is traced
  captured_vectors captured_;
  captured_pointers pointers_;
  std::unique_ptr<changed_globals> globals_;  // TOBI_DEBUG_MIGRATE, from the first run on
  std::uintptr_t* slot_memory_ = nullptr;
  std::size_t slot_bytes_ = 0;
  std::uint64_t epoch_ = 0;
  int runs_ = 0;                  // under way: one in the pause of another
  bool has_paused_ = false;       // some run of this job
  detail::future_name waiter_{};  // of the task here that has asked for a pause
  bool told_of_own_stack_ = false;
  std::vector<detail::future_name> waiting_for_pause_;  // of tasks here that come second, and of roots that end
  const std::uint64_t began_ns_ = arch::now_ns();
  std::uint64_t run_began_ns_ = 0;
  arch::core core_;            // of this worker; no os_cpu: none in particular
  int view_elsewhere_ = -1;    // a rank whose global memory is at another place than rank 0's, or nowhere; -1: none
  base::per_rank<int> nodes_;  // of each rank
  std::vector<int> servers_;   // ranks that run no tasks
  base::per_rank<int> hosts_;  // of each rank: its real node, which TOBI_NODES does not change
  int cores_here_ = 1;         // of this node, for all of its workers
  unsigned workers_per_core_ = 1;
  bool crowded_ = false;  // more workers here than cores: those that wait give theirs away
};

}  // namespace tobi::job
