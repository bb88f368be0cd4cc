// SPDX-License-Identifier: Apache-2.0
// How fast work spreads over idle workers: programs of leaves that are so long that nothing else takes time, and so few
// that each worker should have its own at once. Times are in leaves, of which an ideal machine takes
// ceil(leaves / workers). Leaves that sleep let many workers share a few cores; those that are busy spin until the wall
// clock says that they are over, which is right where each worker has a core. Each shape has a job of its own, because
// the first run of a job is the one in which nobody has shown or asked for anything yet.
#include <errno.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tobi/finish.hpp>
#include <tobi/future.hpp>
#include <tobi/parallel.hpp>
#include <tobi/runtime.hpp>
#include <tobi/task.hpp>
#include <tobi/task_collection.hpp>
#include <vector>

#include "tools/bench/measures.hpp"
#include "tools/bench/timing.hpp"

namespace tobi_bench {

namespace {

struct leaf {
  std::uint64_t ns;
  bool busy;
  void operator()() const noexcept {
    const std::uint64_t end = now_ns() + ns;
    if (busy) {
      while (now_ns() < end) continue;
      return;
    }
    sleep_until(end);
  }
};

void tree(leaf l, std::uint64_t leaves, std::uint64_t) {
  if (leaves == 1) return l();
  auto left = tobi::spawn([=] { tree(l, leaves / 2, 0); });
  tree(l, leaves - leaves / 2, 0);
  left.join();
}

void loop(leaf l, std::uint64_t leaves, std::uint64_t) {
  tobi::parallel_for(std::uint64_t{0}, leaves, 1, [=](std::uint64_t) { l(); });
}

// Four at a time, which makes three forks in a row at each level.
void invoke(leaf l, std::uint64_t leaves, std::uint64_t) {
  if (leaves == 1) return l();
  const auto part = [=](std::uint64_t i) { return [=] { invoke(l, leaves * (i + 1) / 4 - leaves * i / 4, 0); }; };
  if (leaves >= 4) {
    tobi::parallel_invoke(part(0), part(1), part(2), part(3));
    return;
  }
  const auto rest = [=] { invoke(l, leaves - 1, 0); };
  tobi::parallel_invoke(l, rest);
}

void asyncs(leaf l, std::uint64_t leaves, std::uint64_t) {
  tobi::finish([=] {
    for (std::uint64_t i = 0; i < leaves; ++i) tobi::async(l);
  });
}

// The promises lie among the locals of one task, each with the way to the one before.
struct promised {
  tobi::promise<void> promise;
  const promised* before;
};
void make_and_set(leaf l, std::uint64_t waiters, const promised* last) {
  if (waiters == 0) {
    for (; last != nullptr; last = last->before) last->promise.set();
    return l();
  }
  const promised mine{tobi::make_promise<void>(), last};
  auto waiter = tobi::spawn([l, value = mine.promise.get_future()] {
    value.join();
    l();
  });
  make_and_set(l, waiters - 1, &mine);
  waiter.join();
}
void promises(leaf l, std::uint64_t leaves, std::uint64_t) { make_and_set(l, leaves - 1, nullptr); }

void pair(leaf l, std::uint64_t, std::uint64_t) {
  auto beside = tobi::spawn(l);
  l();
  beside.join();
}

// From 1,000 to 4,000 tasks that end at once, another number in each run, so that what a
// worker does once in so many forks is met at other points each time.
void burst(leaf l, std::uint64_t, std::uint64_t round) {
  const std::uint64_t tiny = 1000 + round * 977 % 3001;
  for (std::uint64_t i = 0; i < tiny; ++i) {
    auto one = tobi::spawn([=] { return i; });
    (void)one.join();
  }
  pair(l, 2, 0);
}

struct shape {
  std::string_view name;
  void (*run)(leaf l, std::uint64_t leaves, std::uint64_t round);  // null: tasks of a collection
  std::uint64_t leaves;                                            // 0: as many as asked for
  bool even;                                                       // the collection's tasks begin on all workers
};
constexpr shape shapes[] = {
    {"tree", tree, 0, false},     {"parallel_for", loop, 0, false},  {"parallel_invoke", invoke, 0, false},
    {"finish", asyncs, 0, false}, {"promises", promises, 0, false},  {"burst", burst, 2, false},
    {"pair", pair, 2, false},     {"collection", nullptr, 0, false}, {"collection_even", nullptr, 0, true},
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double run_once(tobi::runtime& rt, const shape& what, leaf l, std::uint64_t leaves, std::uint64_t round) {
  rt.barrier();
  const auto begin = std::chrono::steady_clock::now();
  tobi::run([=, body = what.run] { body(l, leaves, round); });
  return seconds_since(begin);
}

// Times of all rounds, of which each begins with the tasks where the first one does.
std::vector<double> process_all(tobi::runtime& rt, const shape& what, leaf l, std::uint64_t leaves, int rounds) {
  struct number {
    std::uint64_t of;
  };
  using collection = tobi::task_collection<number, leaf>;
  collection tasks([](const number&, const collection::context& here) { here.local()(); }, l, {.retains = false});
  const auto self = static_cast<std::uint64_t>(rt.rank());
  const auto workers = static_cast<std::uint64_t>(rt.computing());
  for (std::uint64_t i = 0; i < leaves; ++i) {
    if ((what.even ? i % workers : 0) == self) tasks.add({i});
  }
  std::vector<double> taken;
  for (int round = 0; round < rounds; ++round) {
    rt.barrier();
    const auto begin = std::chrono::steady_clock::now();
    tasks.process();
    taken.push_back(seconds_since(begin));
    tasks.restore();
  }
  return taken;
}

std::string length_of(double seconds) {
  if (seconds >= 1) return fmt::format("{:g}s", seconds);
  return seconds >= 1e-3 ? fmt::format("{:g}ms", seconds * 1e3) : fmt::format("{:g}us", seconds * 1e6);
}

int measure_shape(const arguments& a, const shape& what, bool with_header) {
  tobi::runtime rt(tobi::options{.workers = a.workers});
  const auto workers = static_cast<std::uint64_t>(rt.computing());
  const std::uint64_t asked_for = a.ramp.leaves == 0 ? workers : a.ramp.leaves;
  const std::uint64_t leaves = what.leaves == 0 ? asked_for : what.leaves;
  const char* kind = a.ramp.busy ? "busy" : "sleep";
  const bool refused = what.name == "promises" && rt.sched_name() == "child_rtc";

  const leaf l{static_cast<std::uint64_t>(a.ramp.leaf_s * 1e9), a.ramp.busy};
  std::vector<double> taken;
  if (what.run == nullptr) taken = process_all(rt, what, l, leaves, a.repeat + 1);
  for (int i = 0; what.run != nullptr && i <= a.repeat && !refused; ++i) {
    taken.push_back(run_once(rt, what, l, leaves, static_cast<std::uint64_t>(i)));
  }
  if (rt.rank() != 0) return 0;

  if (!a.json && with_header) {
    fmt::print(
        "ramp: {} workers on {} node{}, {}, {}, {}; leaves of {} that {}. Of {} runs behind the first, in leaves\n",
        workers, rt.nodes(), rt.nodes() == 1 ? "" : "s", rt.transport_name(), rt.sched_name(), rt.deque_name(),
        length_of(a.ramp.leaf_s), a.ramp.busy ? "are busy" : "sleep", a.repeat);
    fmt::print("{:>18}{:>8}{:>8}{:>9}{:>9}{:>9}\n", "shape", "leaves", "ideal", "first", "median", "worst");
  }
  nlohmann::ordered_json line{{"app", "ramp"},
                              {"params", {{"shape", what.name}, {"leaves", leaves}, {kind, length_of(a.ramp.leaf_s)}}},
                              {"workers", rt.size()},
                              {"nodes", rt.nodes()},
                              {"transport", rt.transport_name()},
                              {"sched", rt.sched_name()},
                              {"deque", rt.deque_name()}};
  const std::uint64_t ideal = (leaves + workers - 1) / workers;
  line["ideal"] = ideal;
  if (refused) {
    constexpr const char* why = "TOBI_SCHED=child_rtc refuses make_promise";
    line["not_run"] = why;
    if (!a.json) fmt::print("{:>18}{:>8}{:>8}  not run: {}\n", what.name, leaves, ideal, why);
  } else {
    const double first = taken.front() / a.ramp.leaf_s;
    const std::vector<double> further(taken.begin() + 1, taken.end());
    const double middle = median(further);
    const double worst = *std::max_element(further.begin(), further.end()) / a.ramp.leaf_s;
    line["first"] = first;
    line["median"] = middle / a.ramp.leaf_s;
    line["worst"] = worst;
    line["seconds"] = middle;
    if (!a.json)
      fmt::print("{:>18}{:>8}{:>8}{:>9.2f}{:>9.2f}{:>9.2f}\n", what.name, leaves, ideal, first, middle / a.ramp.leaf_s,
                 worst);
  }
  if (a.json) fmt::print("{}\n", line.dump());
  return 0;
}

}  // namespace

int measure_ramp(const arguments& a) {
  const auto* chosen =
      std::find_if(std::begin(shapes), std::end(shapes), [&](const shape& s) { return s.name == a.ramp.shape; });
  if (chosen != std::end(shapes)) return measure_shape(a, *chosen, true);  // in this process: a launcher may have it
  for (const shape& one : shapes) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child < 0) {
      fmt::print(stderr, "tobi-bench: cannot start a process for the shape {}\n", one.name);
      return 1;
    }
    if (child == 0) std::exit(measure_shape(a, one, &one == std::begin(shapes)));
    int how = 0;
    waitpid(child, &how, 0);
    if (!WIFEXITED(how) || WEXITSTATUS(how) != 0) return WIFEXITED(how) ? WEXITSTATUS(how) : 1;
  }
  return 0;
}

}  // namespace tobi_bench
