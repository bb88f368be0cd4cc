// SPDX-License-Identifier: Apache-2.0
// Task collections: many tasks that are known when they begin, executed again and again (HPDC'12: Lifflander,
// Krishnamoorthy, Kale, "Work Stealing and Persistence-based Load Balancers for Iterative Overdecomposed
// Applications").
//
//   struct tile { int row, column; };
//   tobi::task_collection<tile, matrices> tiles(multiply, mine);   // on every worker
//   for (tile t : my_share(rt.rank())) tiles.add(t);
//   while (!converged()) {
//     tiles.process();                                             // all tiles, on all workers
//     tiles.restore();                                             // each where it was executed
//   }
//
// A worker that has executed its tasks steals half of what another one still has. restore() gives each worker what it
// has executed, so the next process() begins as balanced as the last one ended, and steals less (retentive stealing).
// rebalance() in place of restore() moves tasks, by the time that each has taken, so that all workers begin the next
// process() with about the same load (persistence-based load balancing).
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>

#include "tobi/detail/collection.hpp"
#include "tobi/detail/travels.hpp"
#include "tobi/error.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

template <class Task, class Local>
class task_collection;

/// What a task of a collection finds where it is executed.
template <class Task, class Local>
class task_context {
 public:
  /// Returns the object that this worker has given to the collection.
  [[nodiscard]] Local& local() const noexcept { return of_.local(); }
  /// Adds a task to be executed in the same process(). It is not kept for restore(): its parent adds it again.
  void add(const Task& task, std::uint32_t function = 0) const { of_.add(task, function); }

 private:
  friend task_collection<Task, Local>;
  explicit task_context(task_collection<Task, Local>& of) noexcept : of_(of) {}
  task_collection<Task, Local>& of_;
};

/// A collection as a task of tobi::run names it. It is trivially copyable, so closures may hold it on any worker.
class collection_handle {
 public:
  /// In a task of tobi::run: all workers process the collection, each as soon as no task of the run is left that it
  /// could execute, and the caller goes on when it is done. The run's other tasks wait meanwhile, where they do not run
  /// already. Throws task_error as task_collection::process() does. May migrate the caller. Tasks that ask at the same
  /// time get their turns one after the other. Not with TOBI_SCHED=child_rtc, whose tasks cannot be waited for from
  /// outside.
  void process() const { ask(0); }
  /// The same, of task_collection::restore().
  void restore() const { ask(1); }

 private:
  template <class Task, class Local>
  friend class task_collection;
#ifndef TOBI_ELIDE
  explicit collection_handle(const void* part) noexcept : number_(detail::tobi_collection_number(part)) {}
  void ask(int restores) const { detail::tobi_collection_in_run(number_, restores); }
  std::uint32_t number_;
#else
  // There are no tasks to wait for.
  explicit collection_handle(void* part) noexcept : part_(part) {}
  void ask(int restores) const {
    restores != 0 ? detail::tobi_collection_restore(part_) : detail::tobi_collection_process(part_);
  }
  void* part_;
#endif
};

/// Tasks of one type, which is copied by bytes from worker to worker. A task is executed once per process(), on some
/// worker, from its start to its end: it does not move, and it does not fork. Its order among others is not known.
///
/// All workers make the collection together and call process() together. What a task writes to global memory others
/// read behind process(); what was written before process(), and what the task that added it has written, it reads
/// itself.
template <class Task, class Local>
class task_collection {
  static_assert(detail::travels<Task>,
                "tobi: a task of a collection is copied by bytes; give it a trivial copy constructor and destructor");
  static_assert(alignof(Task) <= 64, "tobi: a task of a collection is aligned to 64 bytes at most");

 public:
  /// What a task finds where it is executed.
  using context = task_context<Task, Local>;
  /// Executes a task.
  using body = void (*)(const Task& task, const context& here);
  /// The type of handle(), for parameters and members of what tasks capture.
  using handle_type = collection_handle;

  /// Collective, outside of tobi::run. WHAT is function number 0. LOCAL is this worker's own object, and outlives the
  /// collection. Ends the job where the registered heap has no room (TOBI_HEAP_SIZE).
  task_collection(body what, Local& local, const collection_options& how = {})
      : local_(local), functions_{what}, part_(make(how)) {}
  /// Collective.
  ~task_collection() { detail::tobi_collection_end(part_); }
  task_collection(const task_collection&) = delete;
  task_collection& operator=(const task_collection&) = delete;

  /// Returns the number of one more function, for add(). Every worker adds the same ones in the same order, before
  /// process(). A collection has 64 at most, and throws std::length_error beyond.
  std::uint32_t add_function(body what) {
    if (count_ == functions_.size()) throw std::length_error("tobi: a task collection has 64 functions at most");
    functions_[count_] = what;
    return count_++;
  }
  /// Adds a task for function number FUNCTION: to this worker, before process(). Costs no communication.
  void add(const Task& task, std::uint32_t function = 0) {
    detail::tobi_collection_add(part_, function, std::addressof(task));
  }
  /// Collective, outside of tobi::run (inside of it: handle()): executes all tasks, also those that tasks add, and
  /// returns on every worker when none is left. Throws task_error on every worker where a task has thrown, of the
  /// lowest rank that has one. Tasks that had not begun are then not executed. restore() gives them back, with those
  /// that were, and with those that threw.
  void process() { detail::tobi_collection_process(part_); }
  /// Returns what names this collection in the tasks of tobi::run.
  [[nodiscard]] handle_type handle() const noexcept { return handle_type(part_); }
  /// Behind process(): what the next one executes here. See collection_options::retains.
  void restore() { detail::tobi_collection_restore(part_); }
  /// Collective, outside of tobi::run, behind process(), in place of restore(): moves tasks between the workers by the
  /// time that each took in the last process(), so that the next one begins balanced. What it moves are the tasks that
  /// restore() would give back, from where they were executed, also where collection_options::retains is false; what it
  /// gives a worker is from then on what was added to it. A task that was never begun, because another one has thrown,
  /// is taken to take the mean time. The time of tasks that tasks add is not predicted. Does not move the caller. Ends
  /// the job with a sentence where nothing was processed since the collection was filled, where HOW is no good or
  /// differs between workers, and where the registered heap has no room for the tasks that arrive (TOBI_HEAP_SIZE).
  void rebalance([[maybe_unused]] const balance_options& how = {}) {
#ifdef TOBI_ELIDE
    restore();
#else
    detail::tobi_collection_rebalance(part_, &how);
#endif
  }
  /// Returns what the last rebalance() did, on all workers alike.
  [[nodiscard]] balance_statistics balanced() const {
    balance_statistics what;
    detail::tobi_collection_balanced(part_, &what);
    return what;
  }
  /// Behind process(), or before: nothing is in the collection on this worker any more.
  void clear() { detail::tobi_collection_clear(part_); }

  /// Returns this worker's object.
  [[nodiscard]] Local& local() const noexcept { return local_; }
  /// Returns what this worker did in the last process().
  [[nodiscard]] collection_statistics counted() const {
    collection_statistics counts;
    detail::tobi_collection_counted(part_, &counts);
    return counts;
  }

 private:
  void* make(const collection_options& how) {
    const detail::collection_type type{sizeof(Task), &execute, this};
#ifdef TOBI_ELIDE
    // Each worker has global memory of its own there, so tasks stay where they were added.
    collection_options alone = how;
    alone.steals = false;
    return detail::tobi_collection_make(&type, &alone);
#else
    return detail::tobi_collection_make(&type, &how);
#endif
  }
  static void execute(void* face, std::uint32_t function, const void* task) {
    auto& self = *static_cast<task_collection*>(face);
    self.functions_[function](*static_cast<const Task*>(task), context(self));
  }

  Local& local_;
  std::array<body, 64> functions_;
  std::uint32_t count_ = 1;
  void* part_;
};

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
