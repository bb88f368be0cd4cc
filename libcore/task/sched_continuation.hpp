// Continuation stealing, with the two joins of the CLUSTER 2022 paper: greedy (figure 4) and stalling (figure 3).
#pragma once

#include <deque>

#include "libcore/task/scheduler.hpp"

namespace tobi::tasks {

class sched_continuation : public scheduler {
 public:
  explicit sched_continuation(worker& w) noexcept : w_(w) {}
  [[nodiscard]] bool moves_tasks() const noexcept override { return true; }
  void run_root(void (*first)(void*), const void* argument, std::size_t argument_bytes) override;
  bool run_something() override;
  void forked(std::uintptr_t sp, std::uint64_t* words) noexcept override;
  void wait(std::uint64_t where, record& copy) override;

 protected:
  worker& w_;
};

/// The waiting task's image becomes part of the record, and whoever completes the record takes it.
class sched_greedy final : public sched_continuation {
 public:
  using sched_continuation::sched_continuation;
  [[nodiscard]] std::string_view name() const noexcept override { return "continuation_greedy"; }
  [[nodiscard]] bool moves_at_joins() const noexcept override { return true; }
  bool park(std::uint64_t where, std::uint64_t record) override;
  void conclude(alloc::location where, record& made) noexcept override;
};

/// The waiting task's image goes into a queue of this worker, which looks at its records in turn. Nobody but the
/// completing task changes a record's word, so that takes no atomic.
class sched_stalling final : public sched_continuation {
 public:
  using sched_continuation::sched_continuation;
  [[nodiscard]] std::string_view name() const noexcept override { return "continuation_stalling"; }
  bool run_something() override;
  void wait(std::uint64_t where, record& copy) override;
  bool park(std::uint64_t where, std::uint64_t record) override;
  void conclude(alloc::location where, record& made) noexcept override;

 private:
  struct waiting {
    std::uint64_t image;
    std::uint64_t record;
    std::uint64_t since_ns;  // of the join, or of the last look at the record where clocks differ
  };
  bool look_at_one_waiting();

  std::deque<waiting> queue_;
};

}  // namespace tobi::tasks
