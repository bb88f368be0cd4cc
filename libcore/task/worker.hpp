// A worker: one process of the job. It enters tasks, takes over when one leaves, and looks for the next. What
// TOBI_SCHED chooses is its scheduler (scheduler.hpp); what schedulers share is here: records, futures, steals, idling,
// and the uni-address region of those that steal continuations. What follows is about these.
//
// The scheduler runs on the process's own stack, tasks run in the uni-address region. A task leaves in one of three
// ways: it died (its parent has been taken), it suspended (a join must wait), or it forked under TOBI_DEBUG_MIGRATE.
//
// Invariant (checked where a task is entered): a worker that brings frames into its region owns no live frame there.
// When a child dies whose parent was taken, all older ones were taken too, or the newest that is left goes on in place;
// a task that suspends over a parent that is still here gives way to that parent, in place. And before foreign frames
// come in, or a frame in place goes on below which others were taken, the deque is quiet: nobody still copies them.
//
// The one instance is a static object: a task that moves finds its new worker at the same address.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "alloc/heap.hpp"
#include "alloc/remote_objects.hpp"
#include "arch/context.hpp"
#include "libcore/base/coherence.hpp"
#include "libcore/task/attendant.hpp"
#include "libcore/task/deque.hpp"
#include "libcore/task/fabric.hpp"
#include "libcore/task/incoming_frees.hpp"
#include "libcore/task/incoming_image.hpp"
#include "libcore/task/lookout.hpp"
#include "libcore/task/ready.hpp"
#include "libcore/task/record.hpp"
#include "libcore/task/scheduler.hpp"
#include "libcore/task/scopes.hpp"
#include "libcore/task/standstill.hpp"
#include "libcore/task/steal_word.hpp"
#include "libcore/task/the.hpp"
#include "libcore/task/victims.hpp"
#include "libcore/task/window.hpp"
#include "tobi/future.hpp"
#include "tobi/statistics.hpp"

namespace tobi::tasks {

/// What the job layer gives a worker. All of it outlives the worker.
struct worker_parts {
  fabric* net;
  alloc::remote_objects* objects;
  incoming_frees* incoming;  // null: local collection
  steal_window* window;
  idle_board* board;
  the_area* the;
  std::byte* stack_low;
  std::byte* stack_high;
  std::uintptr_t* slot_memory;
  image_room* images;  // in the registered heap
  victims* choice;
  const std::vector<int>* hosts;  // of each rank: where clocks agree
  base::coherence* memory;        // the fences of the global memory; null: there is none
  base::sched_kind sched;
  std::size_t task_stack_bytes;  // of a task that has a stack of its own
  bool use_the;                  // the paper's THE deque instead of the default
  bool count_forks;              // TOBI_STATS
  bool debug_migrate;            // TOBI_DEBUG_MIGRATE
  bool runs_tasks;               // false: it serves others (job/server.cc)
  bool oversubscribed;           // more workers than cores: give the core away when idle
  int cores;                     // of this node, for all of its workers
  unsigned workers_a_core;       // at least 1
  std::vector<int> near;         // the other ranks of this node that run tasks
};

class worker final : public record_source {
 public:
  void start(const worker_parts& parts);
  void stop() noexcept;

  /// Scheduler: runs tasks until the word DONE, which others put to, holds DONE_VALUE. FIRST, if not null, is the root,
  /// entered with ARGUMENT on the region's top, below ARGUMENT_BYTES of space that it may use.
  void schedule(void (*first)(void*), const void* argument, std::size_t argument_bytes, std::uint64_t& done,
                std::uint64_t done_value);

  // --- called from tasks -----------------------------------------------------------------------------
  /// WORDS: the closure's four, then the task_type.
  void on_fork(std::uintptr_t sp, std::uint64_t* words) noexcept;
  void on_return(std::uintptr_t sp, std::uint64_t a, std::uint64_t b) noexcept;
  void* result_slot(std::uintptr_t sp, std::uint32_t bytes, std::uint32_t offset) noexcept;
  void task_failed(std::uintptr_t sp) noexcept;
  void join(std::uint64_t& handle_record, void* result, std::uint32_t bytes);
  void abandon(std::uint64_t& handle_record) noexcept;
  void poll() noexcept;
  /// What the attendant does inside, while this worker's own thread runs a task.
  void attend() noexcept;
  /// Changes whenever this worker has moved its transport by itself. Callable from any thread.
  [[nodiscard]] std::uint64_t sign_of_life() const noexcept {
    return std::atomic_ref(const_cast<std::uint64_t&>(polled_at_)).load(std::memory_order_relaxed);
  }
  /// Whether this transport stands still unless it is polled, here or at its targets.
  [[nodiscard]] static bool must_poll(const transports::capabilities& caps) noexcept {
    return !caps.passive_rma || !caps.passive_amo || caps.needs_progress;
  }
  /// The task that calls this is over, and nobody joins it through a fork: the root's end.
  [[noreturn]] void leave_dead() noexcept;

  // --- futures ----------------------------------------------------------------------------------------
  detail::future_name future_create(std::uint32_t consumers, bool promise) noexcept;
  /// CHECKED: anybody may have set it before; else this is the one task that does.
  void future_set(detail::future_name which, const void* value, std::uint32_t bytes, bool checked) noexcept;
  void future_fail(detail::future_name which, bool checked) noexcept;
  void future_join(detail::future_name which, void* value, std::uint32_t bytes);
  /// Outside of tasks: frees the futures of any_number.
  void end_of_run() noexcept;

  // --- finish and async ---------------------------------------------------------------------------------
  void finish_begin(detail::scope_marker& marker) noexcept;
  void finish_end(detail::scope_marker& marker);
  void finish_fail(std::uint64_t finish) noexcept;
  std::uint64_t async_finish() noexcept;
  void async_begin(detail::scope_marker& marker, std::uint64_t finish) noexcept;
  void async_end(const detail::scope_marker& marker, std::uint64_t finish) noexcept;
  void async_parted(std::uint64_t& handle_record, std::uint64_t finish) noexcept;
  void scope_end(const detail::scope_marker& marker) noexcept;
  // --- called by schedulers -----------------------------------------------------------------------------
  /// Continuation stealing: enters the root, an image that can run, or a stolen continuation, and follows it until the
  /// region is empty.
  void enter_root(void (*first)(void*), const void* argument, std::size_t argument_bytes);
  void enter_image(std::uint64_t where, std::uint64_t resumable_ns);
  bool run_ready();
  bool steal_once();
  bool enlist(std::uint64_t where, std::uint64_t record) noexcept;
  /// RECORD is done, and WAITERS is what its word said before.
  void wake(location record, std::uint64_t waiters);
  void suspend_for(std::uint64_t where, record& copy);
  /// One attempt, counted. The deque is empty and quiet. Of what was taken count_phases() is to be told, once it is in
  /// its place.
  steal_result steal(stolen& got);
  void count_phases(const stolen& got) noexcept;
  /// Of what was taken: it may read what its victim had written. Not before its frames or descriptor are in place:
  /// until it returns this worker serves releases itself.
  void acquire_stolen(const stolen& got) noexcept;
  /// Whether the record at WHERE is done; if so COPY is what it says.
  bool finished(std::uint64_t where, record& copy);
  /// What a record says that is known to be done.
  void read_done(std::uint64_t where, record& copy);
  std::uint64_t need_record();
  void put_done(location at, record& made) noexcept;
  /// The task that returned A and B, or that result_slot or task_failed know of, completes to WHERE; 0: nowhere.
  void complete_task(std::uint64_t where, std::uint64_t a, std::uint64_t b) noexcept;
  /// Between two tasks, or while one waits in place: pauses, then sleeps, as ATTEMPTS grows.
  /// True when it has come to sleeping.
  bool idle(unsigned& attempts) noexcept;
  /// After a look at all that could run here, now and then: nothing has been found since SINCE_NS. Ends the job when
  /// nothing can run anywhere.
  void nothing_runs_since(std::uint64_t since_ns) noexcept;
  /// Polls a transport that needs it, now and then.
  void keep_moving() noexcept;
  void set_busy(bool in_a_task) noexcept;
  /// Which finish governs the running task. Who switches between tasks that are tied to this worker switches this too.
  [[nodiscard]] scopes& governing() noexcept { return scopes_; }
  [[nodiscard]] const worker_parts& parts() const noexcept { return parts_; }
  /// Whether a thief has asked for work since serve() was last called.
  [[nodiscard]] bool asked_for_work() const noexcept;

  // Outstanding joins: since when the task could have gone on. SINCE_NS is when it came to the join; where the child
  // ended on a host with another clock, when its record was last seen not to be done, which not_done_yet() answers.
  [[nodiscard]] std::uint64_t resumable_since(std::uint64_t since_ns, const record& done) const noexcept;
  [[nodiscard]] std::uint64_t not_done_yet(std::uint64_t since_ns) const noexcept;
  /// A task that has no image waits, and can go on since RESUMABLE_NS.
  void tied_task_waits() noexcept {
    ++counts_.outstanding_joins;
    still_.waits();
  }
  void tied_task_goes_on(std::uint64_t resumable_ns) noexcept {
    still_.moves();
    still_.goes_on();
    count_resumed(resumable_ns);
  }
  void count_resumed(std::uint64_t resumable_ns) noexcept;
  void count_run(std::uint64_t ns) noexcept { counts_.run_time += ns; }

  // --- record_source ------------------------------------------------------------------------------------
  std::uint64_t make_record() noexcept override;
  void drop_record(std::uint64_t record) noexcept override;
  [[nodiscard]] std::uint64_t finish_at(std::uintptr_t sp) const noexcept override { return scopes_.at(sp); }
  std::uint64_t release_ticket() noexcept override { return fences() ? parts_.memory->release_lazily() : 0; }

  void free_object(location where) noexcept;
  [[nodiscard]] statistics counted() const noexcept;
  void reset_counts() noexcept;
  [[nodiscard]] fabric& net() noexcept { return *parts_.net; }
  [[nodiscard]] deque& work() noexcept { return *deque_; }
  [[nodiscard]] scheduler& sched() noexcept { return *sched_; }
  [[nodiscard]] alloc::remote_objects& objects() noexcept { return *parts_.objects; }
  [[nodiscard]] bool inside_task() const noexcept { return inside_task_; }
  /// The exception being handled, as an object of this worker's heap; the location of a failure, or ends the job when
  /// it cannot be kept.
  [[nodiscard]] std::uint64_t keep_failure() noexcept;
  /// For the fault handler: what the scheduler knows of a fault at ADDRESS, or "".
  [[nodiscard]] std::string explain_fault(const void* address) const {
    return sched_ == nullptr ? "" : sched_->explain_fault(address);
  }
  /// For the fault handler: the lowest address of the region that belongs to tasks that moved away, or the region's
  /// top.
  [[nodiscard]] std::uintptr_t protected_from() const noexcept { return protected_from_; }

 private:
  /// Whether global memory is in use here, so that its fences mean something.
  [[nodiscard]] bool fences() const noexcept { return parts_.memory != nullptr && parts_.memory->used; }
  enum class left : std::uint8_t { died, suspended, forked };

  // worker.cc: the scheduler
  void begin_task() noexcept;
  void after_leave();
  void go_on(std::uintptr_t sp) noexcept;
  void start_attendant();
  std::uintptr_t leave_region();
  void settle() noexcept;
  [[nodiscard]] bool parent_is_here(std::uintptr_t sp) const noexcept;
  void resume(std::uint64_t list);
  std::uintptr_t bring_back(location where, waiter_links& before);
  void enter_restored(std::uintptr_t sp);
  [[nodiscard]] bool one_clock_with(int rank) const noexcept;
  void cut_from_parent(std::uintptr_t base) const noexcept;
  void tell_parent(const arch::saved_frame& frame, std::uintptr_t base) const noexcept;
  [[nodiscard]] std::uint64_t peak_stack() const noexcept;
  // suspend.cc: in and out of the region
  std::uintptr_t suspend_task();
  void migrate_at_fork();
  std::uint64_t evacuate(std::uintptr_t sp, std::uintptr_t base, std::uint64_t die_record);
  std::uintptr_t restore(location where, waiter_links& before);
  void expose(std::uintptr_t up_to) noexcept;
  // join.cc: records
  void trace_ready(std::uint64_t waiters);
  void complete(std::uint64_t where, record_status status, const void* value, std::uint32_t bytes,
                std::uint32_t serial = 0) noexcept;
  bool look(std::uint64_t where, std::uint64_t& shares, record& copy);
  void wait_for(std::uint64_t where, record& copy);
  void before_a_wait() noexcept;
  void acquire_from(const record& copy) noexcept;
  // finishes.cc
  void strand_ended(std::uint64_t finish) noexcept;
  [[noreturn]] void throw_all(std::uint64_t failures);
  // futures.cc
  void show_awakened(bool goes_on) noexcept;
  void must_be_unset(detail::future_name which);
  void take_result(const record& copy, void* result, std::uint32_t bytes);
  [[noreturn]] void throw_failure(std::uint64_t where, const record& copy);
  void consume(std::uint64_t where, const record& copy) noexcept;

  worker_parts parts_{};
  std::unique_ptr<scheduler> sched_;
  std::unique_ptr<deque> deque_;
  std::unique_ptr<attendant> attendant_;  // null: there are no thieves
  statistics counts_;
  deque::counters shown_before_;  // at the last reset
  ready_contexts ready_;
  lookout lookout_;
  bool sleeps_ = false;  // between its attempts to steal
  incoming_image incoming_image_;
  standstill still_;
  scopes scopes_;
  std::uint32_t last_serial_ = 0;       // of a future made here
  std::vector<std::uint64_t> to_free_;  // futures that last until the end of the run
  bool must_poll_ = false;
  bool one_host_ = true;
  bool had_to_wait_ = false;        // the task that was just brought back was suspended at a join
  unsigned until_poll_ = 1;         // slow forks, returns and joins until the transport is polled again
  std::uint64_t polled_at_ = 0;     // cycles; atomic for the attendant
  std::uint64_t polled_after_ = 1;  // slow forks that the last poll waited for
  left left_ = left::died;
  bool inside_task_ = false;
  std::uint64_t waiting_for_ = 0;                // suspended: the record
  std::array<std::uint64_t, 4> forked_words_{};  // forked: what tobi_fork was called with
  const void* forked_type_ = nullptr;
  std::uintptr_t forked_sp_ = 0;
  std::uint64_t pending_failure_ = 0;  // of the child that is about to return to a frame that is not private
  std::vector<std::byte> large_;       // its result, when it is too large for registers
  std::uint32_t large_bytes_ = 0;
  std::uint32_t large_offset_ = 0;
  std::uintptr_t protected_from_ = 0;
};

/// The worker of this process.
worker& this_worker() noexcept;

}  // namespace tobi::tasks
