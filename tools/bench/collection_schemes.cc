// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/collection_schemes.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tobi/parallel.hpp>
#include <tobi/task_collection.hpp>

#include "tools/bench/collection_gather.hpp"
#include "tools/bench/collection_log.hpp"
#include "tools/bench/timing.hpp"

namespace tobi_bench {

std::string_view name_of(scheme which) {
  for (const named_scheme& s : named_schemes) {
    if (s.which == which) return s.name;
  }
  return "";
}

namespace {

// What tasks find where they are executed.
struct tasks_here {
  collection_program& program;
  collection_log log;

  void execute(std::uint64_t task) {
    log.execute(task, [&] { return program.execute(task); });
  }
};
using collection = tobi::task_collection<std::uint64_t, tasks_here>;

void execute_task(const std::uint64_t& task, const collection::context& here) { here.local().execute(task); }

// Of fork_join: a task finds this process's part by itself, wherever it has moved to.
struct {
  tasks_here* here = nullptr;
  std::vector<std::uint64_t> numbers;  // alike in every process
} listed;

spread spread_of(const std::vector<double>& each) {
  spread s;
  for (const double x : each) s.mean += x / static_cast<double>(each.size());
  for (const double x : each) s.deviation += (x - s.mean) * (x - s.mean) / static_cast<double>(each.size());
  s.deviation = std::sqrt(s.deviation);
  return s;
}

// What each worker tells of an iteration.
enum told : std::uint8_t { seconds, task_ns, executed, null_tasks, attempted, stole, got, between, things_told };

class scheme_run {
 public:
  scheme_run(tobi::runtime& rt, collection_program& program, scheme which, int most, bool verify)
      : rt_(rt), which_(which), most_(most), verify_(verify), here_{program, {}} {
    listed.here = &here_;
    const bool retains = which == scheme::steal_retentive || balances();
    if (which != scheme::fork_join)
      stealing_.emplace(execute_task, here_, tobi::collection_options{.retains = retains});
  }
  ~scheme_run() { listed = {}; }
  scheme_run(const scheme_run&) = delete;
  scheme_run& operator=(const scheme_run&) = delete;

  collection_run run() {
    found_.all = here_.program.tasks();
    bool again = true;
    for (int i = 0; again && i <= most_; ++i) again = iterate(i);
    found_.went_on = again;
    return found_;
  }

 private:
  [[nodiscard]] std::uint64_t first_dealt(int rank) const {
    return found_.all * static_cast<std::uint64_t>(rank) / static_cast<std::uint64_t>(rt_.size());
  }
  [[nodiscard]] bool due(std::uint64_t task, int iteration) const {
    return iteration == 0 || which_ == scheme::steal_all || null_[task] == 0;
  }

  // Adds the tasks that are due and dealt to this worker.
  void deal(collection& to, int iteration) {
    const std::uint64_t end = first_dealt(rt_.rank() + 1);
    for (std::uint64_t task = first_dealt(rt_.rank()); task < end; ++task) {
      if (due(task, iteration)) to.add(task);
    }
  }
  // Adds what this worker has executed and was not null. The queue is taken from its end, so that the order stays.
  void keep(collection& to) {
    const std::vector<executed_task>& tasks = here_.log.tasks();
    for (auto t = tasks.rbegin(); t != tasks.rend(); ++t) {
      if (!t->null) to.add(t->number);
    }
  }

  [[nodiscard]] bool balances() const { return which_ == scheme::plb_central || which_ == scheme::plb_hier; }
  void prepare(int iteration);
  void gather_on_one(int iteration);
  void execute();
  void note(int iteration, double between_s);
  bool iterate(int iteration);
  void count(int iteration);
  [[nodiscard]] tobi::collection_statistics counted();

  tobi::runtime& rt_;
  const scheme which_;
  const int most_;
  const bool verify_;
  tasks_here here_;
  std::optional<collection> stealing_;
  std::optional<collection> fixed_;  // the same without steals
  std::vector<std::uint8_t> null_;   // by task; known behind iteration 0
  collection_run found_;
  double seconds_ = 0;
  tobi::balance_statistics balanced_;
};

// What the iteration executes is then in the collection that executes it, or in the list.
void scheme_run::prepare(int iteration) {
  if (which_ == scheme::fork_join) {
    listed.numbers.clear();
    for (std::uint64_t task = 0; task < found_.all; ++task) {
      if (due(task, iteration)) listed.numbers.push_back(task);
    }
    return;
  }
  if (iteration == 0) return deal(*stealing_, 0);
  if (iteration == 1 && which_ != scheme::steal_all) {
    stealing_->clear();
    if (which_ == scheme::ideal) return gather_on_one(iteration);
    return which_ == scheme::steal ? deal(*stealing_, iteration) : keep(*stealing_);
  }
  if (!balances()) return fixed_ ? fixed_->restore() : stealing_->restore();
  if (iteration > 2) {
    fixed_->rebalance({.how = which_ == scheme::plb_central ? tobi::balancer::central : tobi::balancer::hierarchical});
    balanced_ = fixed_->balanced();
    return;
  }
  fixed_.emplace(execute_task, here_, tobi::collection_options{.steals = false});
  keep(*fixed_);
}

void scheme_run::gather_on_one(int iteration) {
  fixed_.emplace(execute_task, here_, tobi::collection_options{.retains = false, .steals = false});
  for (std::uint64_t task = 0; rt_.rank() == 0 && task < found_.all; ++task) {
    if (due(task, iteration)) fixed_->add(task);
  }
}

void scheme_run::execute() {
  if (which_ == scheme::fork_join) rt_.reset_stats();
  rt_.barrier();
  here_.log.begin();
  if (which_ == scheme::fork_join) {
    tobi::run([] {
      tobi::parallel_for(std::size_t{0}, listed.numbers.size(), 1,
                         [](std::size_t i) { listed.here->execute(listed.numbers[i]); });
    });
  } else {
    (fixed_ ? *fixed_ : *stealing_).process();
  }
  seconds_ = static_cast<double>(here_.log.now_ns()) / 1e9;
}

// Collective. Tasks of fork_join are what its workers have stolen of the loop: halves of it.
tobi::collection_statistics scheme_run::counted() {
  if (which_ != scheme::fork_join) return (fixed_ ? *fixed_ : *stealing_).counted();
  std::vector<tobi::statistics> each(static_cast<std::size_t>(rt_.size()));
  (void)rt_.stats(rt_.rank() == 0 ? each.data() : nullptr);
  std::vector<std::uint64_t> told;
  for (const tobi::statistics& s : each) {
    told.push_back(s.steals_ok);
    told.push_back(s.steals_failed);
  }
  told = gather(rt_, told);  // rank 0 alone has been told, and its part is the first
  const std::size_t mine = 2 * static_cast<std::size_t>(rt_.rank());
  tobi::collection_statistics of_this;
  of_this.steals = told[mine];
  of_this.stolen = told[mine];
  of_this.attempted_steals = told[mine] + told[mine + 1];
  return of_this;
}

// Collective: in iteration 0 finds the null tasks, and with VERIFY whether each task that was due was executed once.
void scheme_run::count(int iteration) {
  if (iteration > 0 && !verify_) return;
  constexpr std::uint16_t work = 1, nothing = 256;  // executed once, with and without something to do
  std::vector<std::uint16_t> times(found_.all, 0);
  for (const executed_task& t : here_.log.tasks()) {
    times[t.number] = static_cast<std::uint16_t>(times[t.number] + (t.null ? nothing : work));
  }
  times = sum_over_workers(rt_, times);
  if (iteration == 0) null_.assign(found_.all, 0);
  for (std::uint64_t task = 0; task < found_.all; ++task) {
    if (iteration == 0) null_[task] = times[task] == nothing ? 1 : 0;
    const std::uint16_t right = !due(task, iteration) ? 0 : null_[task] != 0 ? nothing : work;
    if (times[task] != right) found_.counted_right = false;
    if (iteration == 0) found_.non_null += null_[task] == 0 ? 1 : 0;
  }
}

void scheme_run::note(int iteration, double between_s) {
  const tobi::collection_statistics counts = counted();
  const std::vector<executed_task>& tasks = here_.log.tasks();
  std::vector<double> mine(things_told);
  mine[seconds] = seconds_;
  mine[task_ns] = static_cast<double>(here_.log.task_ns());
  mine[executed] = static_cast<double>(tasks.size());
  mine[null_tasks] =
      static_cast<double>(std::count_if(tasks.begin(), tasks.end(), [](const executed_task& t) { return t.null; }));
  mine[attempted] = static_cast<double>(counts.attempted_steals);
  mine[stole] = static_cast<double>(counts.steals);
  mine[got] = static_cast<double>(counts.stolen);
  mine[between] = between_s;
  const std::vector<double> all = gather(rt_, mine);
  std::vector<double> each[things_told];
  for (std::size_t i = 0; i < all.size(); ++i) each[i % things_told].push_back(all[i]);
  const auto most_of = [&](told what) { return *std::max_element(each[what].begin(), each[what].end()); };
  const auto sum_of = [&](told what) { return spread_of(each[what]).mean * static_cast<double>(rt_.size()); };

  collection_iteration done;
  const auto workers = static_cast<double>(rt_.computing());
  done.seconds = most_of(seconds);
  done.task_seconds = sum_of(task_ns) / 1e9;
  done.ideal_seconds = done.task_seconds / workers;
  done.balance_seconds = static_cast<double>(balanced_.ns) / 1e9;
  done.moved = balanced_.moved;
  done.between_seconds = most_of(between);
  done.executed = static_cast<std::uint64_t>(std::llround(sum_of(executed)));
  done.null = static_cast<std::uint64_t>(std::llround(sum_of(null_tasks)));
  done.tasks = spread_of(each[executed]);
  done.attempted_steals = spread_of(each[attempted]);
  done.steals = spread_of(each[stole]);
  done.stolen = spread_of(each[got]);
  const double length_ns = done.seconds * 1e9;
  done.utilisation = sum_over_workers(rt_, here_.log.busy_ns(utilisation_bins, length_ns));
  for (double& share : done.utilisation) share /= length_ns / utilisation_bins * workers;
  // One worker executes all of them, where all workers would in a part of the time.
  if (which_ == scheme::ideal && iteration > 0) done.seconds /= workers;
  found_.iterations.push_back(std::move(done));
}

bool scheme_run::iterate(int iteration) {
  prepare(iteration);
  here_.program.begin(iteration);
  execute();
  count(iteration);
  bool again = false;
  const double between_s = seconds_of([&] { again = here_.program.end(iteration); });
  note(iteration, between_s);
  return again;
}

}  // namespace

collection_run run_scheme(tobi::runtime& rt, collection_program& program, scheme which, int most, bool verify) {
  return scheme_run(rt, program, which, most, verify).run();
}

}  // namespace tobi_bench
