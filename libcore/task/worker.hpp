// A worker: the scheduler of one process. It enters tasks, takes over when one leaves, and looks for the next.
//
// The scheduler runs on the process's own stack, tasks run in the uni-address region. A task leaves in one of three
// ways: it died (its parent has been taken), it suspended (a join must wait), or it forked under TOBI_DEBUG_MIGRATE.
//
// Invariant (checked where a task is entered): a worker that brings frames into its region owns no live frame there.
// When a child dies whose parent was taken, all older ones were taken too; a task that suspends over a parent that is
// still here gives way to that parent, in place. And before foreign frames come in, the deque is quiet: nobody still
// copies the old ones.
//
// The one instance is a static object: a task that moves finds its new worker at the same address.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "alloc/heap.hpp"
#include "alloc/remote_objects.hpp"
#include "arch/context.hpp"
#include "libcore/base/coherence.hpp"
#include "libcore/task/deque.hpp"
#include "libcore/task/fabric.hpp"
#include "libcore/task/record.hpp"
#include "libcore/task/steal_word.hpp"
#include "libcore/task/the.hpp"
#include "libcore/task/victims.hpp"
#include "libcore/task/window.hpp"
#include "tobi/statistics.hpp"

namespace tobi::tasks {

/// What the job layer gives a worker. All of it outlives the worker.
struct worker_parts {
  fabric* net;
  alloc::remote_objects* objects;
  steal_window* window;
  the_area* the;
  std::byte* stack_low;
  std::byte* stack_high;
  std::uintptr_t* slot_memory;
  victims* choice;
  base::coherence* memory;  // the fences of the global memory; null: there is none
  bool use_the;             // the paper's THE deque instead of the default
  bool count_forks;         // TOBI_STATS
  bool debug_migrate;       // TOBI_DEBUG_MIGRATE
  bool oversubscribed;      // more workers than cores: give the core away when idle
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
  void on_fork(std::uintptr_t sp, const std::uint64_t* words, const void* type) noexcept;
  void on_return(std::uintptr_t sp, std::uint64_t a, std::uint64_t b) noexcept;
  void* result_slot(std::uintptr_t sp, std::uint32_t bytes, std::uint32_t offset) noexcept;
  void task_failed(std::uintptr_t sp) noexcept;
  void join(std::uint64_t& handle_record, void* result, std::uint32_t bytes);
  void abandon(std::uint64_t& handle_record) noexcept;
  void poll() noexcept;
  /// Whether this transport stands still unless it is polled, here or at its targets.
  [[nodiscard]] static bool must_poll(const transports::capabilities& caps) noexcept {
    return !caps.passive_rma || !caps.passive_amo || caps.needs_progress;
  }
  /// The task that calls this is over, and nobody joins it through a fork: the root's end.
  [[noreturn]] void leave_dead() noexcept;

  // --- futures ----------------------------------------------------------------------------------------
  std::uint64_t future_create(std::uint32_t consumers) noexcept;
  void future_set(std::uint64_t where, const void* value, std::uint32_t bytes) noexcept;
  void future_fail(std::uint64_t where) noexcept;
  void future_join(std::uint64_t where, void* value, std::uint32_t bytes);
  /// Outside of tasks: frees the futures of any_number.
  void end_of_run() noexcept;

  // --- record_source ------------------------------------------------------------------------------------
  std::uint64_t make_record() noexcept override;
  void drop_record(std::uint64_t record) noexcept override;
  std::uint64_t release_ticket() noexcept override { return fences() ? parts_.memory->release_lazily() : 0; }

  void free_object(location where) noexcept;
  [[nodiscard]] statistics counted() const noexcept;
  void reset_counts() noexcept;
  [[nodiscard]] fabric& net() noexcept { return *parts_.net; }
  [[nodiscard]] deque& work() noexcept { return *deque_; }
  [[nodiscard]] alloc::remote_objects& objects() noexcept { return *parts_.objects; }
  [[nodiscard]] bool inside_task() const noexcept { return inside_task_; }
  /// The exception being handled, as an object of this worker's heap; the location of a failure, or ends the job when
  /// it cannot be kept.
  [[nodiscard]] std::uint64_t keep_failure() noexcept;
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
  void settle() noexcept;
  bool run_ready();
  bool steal_once();
  void tell_parent(const arch::saved_frame& frame, std::uintptr_t base) const noexcept;
  [[nodiscard]] std::uint64_t peak_stack() const noexcept;
  void idle(unsigned& attempts) noexcept;
  void keep_moving() noexcept;
  // suspend.cc: in and out of the region
  std::uintptr_t suspend_task();
  void migrate_at_fork();
  std::uint64_t evacuate(std::uintptr_t sp, std::uintptr_t base, std::uint64_t die_record);
  std::uintptr_t restore(location where);
  void expose(std::uintptr_t up_to) noexcept;
  bool enlist(std::uint64_t where) noexcept;
  // join.cc: records
  std::uint64_t need_record();
  void complete(std::uint64_t where, record_status status, const void* value, std::uint32_t bytes) noexcept;
  void wake(std::uint64_t waiters);
  bool finished(std::uint64_t where, record& copy);
  void wait_for(std::uint64_t where, record& copy);
  void acquire_from(const record& copy) noexcept;
  void take_result(const record& copy, void* result, std::uint32_t bytes);
  [[noreturn]] void throw_failure(std::uint64_t where, const record& copy);
  void consume(std::uint64_t where, const record& copy) noexcept;

  worker_parts parts_{};
  std::unique_ptr<deque> deque_;
  statistics counts_;
  deque::counters shown_before_;        // at the last reset
  std::vector<std::uint64_t> ready_;    // locations of images that can run
  std::vector<std::uint64_t> to_free_;  // futures that last until the end of the run
  bool must_poll_ = false;
  unsigned until_poll_ = 1;  // slow forks, returns and joins until the transport is polled again
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
