// SPDX-License-Identifier: Apache-2.0
// Random graphs of tasks from a seed: forks, loops, finishes, futures and promises, with leaves that sleep. One
// description both runs as tasks and says what work and span are.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <tobi/tobi.hpp>
#include <utility>

#include "libcore/base/rng.hpp"
#include "tests/jobs/coarse.hpp"

namespace random_graph {

enum class kind : std::uint8_t {
  leaf,
  series,    // one child after the other
  fork,      // spawn each, the last one runs in the task itself
  spine,     // spawn all but the last child as another such, and run the last one beside it: forks, and then none
  loop,      // parallel_for
  finish,    // an async each
  future,    // child 0 is the task of a future, for which leaves of the others may wait
  promise,   // child 0, then a promise is set for which all from child 2 on wait, then child 1
  promises,  // the same with a promise for each
  how_many,
};

struct node {
  kind is = kind::leaf;
  bool waits = false;  // a leaf: for the innermost future around it
  std::uint16_t first = 0;
  std::uint16_t children = 0;
  double ms = 0;
};

/// In every process alike, at the same address: a task that moves finds it where it was.
struct graph {
  static constexpr std::uint32_t most_leaves = 96;
  std::array<node, 4 * most_leaves> nodes{};
  std::uint16_t used = 0;
  std::uint32_t leaves = 0;
  double work_ms = 0;
  double span_ms = 0;

  void make(std::uint64_t seed) {
    tobi::base::rng random(seed);
    used = 1;
    work_ms = 0;
    leaves = 24 + static_cast<std::uint32_t>(random.uniform(most_leaves - 24 + 1));
    grow(0, leaves, order::none, random);
    span_ms = end_of(0, 0, 0);
  }

 private:
  // What is already one after the other on the way here. Only one such step is made on a path: with many in each other
  // the span would be most of the work, and then any schedule is good.
  enum class order : std::uint8_t { none, in_future, taken };

  static constexpr bool is_promise(kind k) noexcept { return k == kind::promise || k == kind::promises; }
  static constexpr bool is_flat(kind k) noexcept {
    return k == kind::spine || k == kind::loop || k == kind::finish || is_promise(k);
  }
  static constexpr bool orders(kind k) noexcept { return is_promise(k) || k == kind::series || k == kind::future; }

  static kind pick(std::uint32_t budget, order before, tobi::base::rng& random) {
    for (;;) {
      const auto k = static_cast<kind>(1 + random.uniform(static_cast<std::uint64_t>(kind::how_many) - 1));
      const bool fits = k == kind::series ? budget == 2 : !is_promise(k) || budget >= 3;
      if (fits && (before == order::none || !orders(k))) return k;
    }
  }

  void grow(std::uint16_t at, std::uint32_t budget, order before, tobi::base::rng& random) {
    node n;
    if (budget == 1) {
      n.ms = 6 + static_cast<double>(random.uniform(6000)) / 1000;
      n.waits = before == order::in_future && random.uniform(4) == 0;
      work_ms += n.ms;
      nodes[at] = n;
      return;
    }
    n.is = pick(budget, before, random);
    const std::uint32_t fewest = is_promise(n.is) ? 3 : 2;
    const std::uint32_t widest = std::min(budget, is_flat(n.is) ? 24u : 4u);
    n.children = static_cast<std::uint16_t>(fewest + random.uniform(widest - fewest + 1));
    n.first = used;
    used = static_cast<std::uint16_t>(used + n.children);
    nodes[at] = n;

    const auto heavy = static_cast<std::uint32_t>(random.uniform(n.children));
    const bool skewed = random.uniform(2) == 0;  // one child has nearly all: a caterpillar, and not a bush
    std::uint32_t spare = budget - n.children;
    for (std::uint32_t i = 0; i < n.children; ++i) {
      const std::uint32_t behind = n.children - i - 1;
      std::uint32_t more =
          skewed ? (i == heavy ? spare : 0) : static_cast<std::uint32_t>(random.uniform(2 * spare / (behind + 1) + 1));
      if (is_promise(n.is) && i == 0) more = 0;
      more = behind == 0 ? spare : std::min(more, spare);
      spare -= more;
      const order inside = !orders(n.is) ? before : n.is == kind::future && i > 0 ? order::in_future : order::taken;
      grow(static_cast<std::uint16_t>(n.first + i), 1 + more, inside, random);
    }
  }

  // When the node would end on a machine with a worker for each task, if it can begin at START.
  double end_of(std::uint16_t at, double start, double future_ms) const {
    const node& n = nodes[at];
    const auto child = [&](int i, double from, double known) {
      return end_of(static_cast<std::uint16_t>(n.first + i), from, known);
    };
    double end = start;
    switch (n.is) {
      case kind::leaf:
        return std::max(start, n.waits ? future_ms : 0) + n.ms;
      case kind::series:
        for (int i = 0; i < n.children; ++i) end = child(i, end, future_ms);
        return end;
      case kind::future: {
        const double known = child(0, start, future_ms);
        end = known;
        for (int i = 1; i < n.children; ++i) end = std::max(end, child(i, start, known));
        return end;
      }
      case kind::promise:
      case kind::promises: {
        const double set = child(0, start, future_ms);
        end = child(1, set, future_ms);
        for (int i = 2; i < n.children; ++i) end = std::max(end, child(i, set, future_ms));
        return end;
      }
      default:
        for (int i = 0; i < n.children; ++i) end = std::max(end, child(i, start, future_ms));
        return end;
    }
  }
};

inline graph description;

using awaited = tobi::future<void>;

/// Runs a node of the description, in a task. COUNT, which all workers share, counts leaves that have ended.
inline void run(std::uint16_t at, awaited future, std::atomic<std::uint32_t>* count);

namespace detail {

// Each child in a task of its own but the last; BEFORE, if it names anything, is awaited by each first.
inline void run_each(std::uint16_t at, std::uint16_t end, awaited future, awaited before,
                     std::atomic<std::uint32_t>* count) {
  const auto one = [=] {
    if (before.valid()) before.join();
    run(at, future, count);
  };
  if (at + 1 == end) return one();
  auto child = tobi::spawn(one);
  run_each(static_cast<std::uint16_t>(at + 1), end, future, before, count);
  child.join();
}

// The deepest fork is the first child's; behind it there are all the others, and never a fork of this task again.
inline void run_spine(std::uint16_t at, std::uint16_t end, awaited future, std::atomic<std::uint32_t>* count) {
  if (at == end) return;
  const auto last = static_cast<std::uint16_t>(end - 1);
  auto rest = tobi::spawn([=] { run_spine(at, last, future, count); });
  run(last, future, count);
  rest.join();
}

// Child 0 of a node of promises, then all of them, each among the locals of the one task, with the way to the one
// before.
struct promised {
  tobi::promise<void> promise;
  const promised* before;
};
inline void run_promises(std::uint16_t first, std::uint16_t at, std::uint16_t end, awaited future, const promised* last,
                         std::atomic<std::uint32_t>* count) {
  if (at == end) {
    run(first, future, count);
    for (; last != nullptr; last = last->before) last->promise.set();
    return run(static_cast<std::uint16_t>(first + 1), future, count);
  }
  const promised mine{tobi::make_promise<void>(), last};
  auto waiter = tobi::spawn([=, set = mine.promise.get_future()] {
    set.join();
    run(at, future, count);
  });
  run_promises(first, static_cast<std::uint16_t>(at + 1), end, future, &mine, count);
  waiter.join();
}

}  // namespace detail

inline void run(std::uint16_t at, awaited future, std::atomic<std::uint32_t>* count) {
  const node n = description.nodes[at];
  const std::uint16_t first = n.first;
  const auto end = static_cast<std::uint16_t>(first + n.children);
  switch (n.is) {
    case kind::leaf:
      if (n.waits) future.join();
      coarse::sleep_ms(n.ms);
      count->fetch_add(1);
      return;
    case kind::series:
      for (std::uint16_t i = first; i < end; ++i) run(i, future, count);
      return;
    case kind::spine:
      return detail::run_spine(first, end, future, count);
    case kind::loop:
      tobi::parallel_for(first, end, std::uint16_t{1}, [=](std::uint16_t i) { run(i, future, count); });
      return;
    case kind::finish:
      tobi::finish([=] {
        for (std::uint16_t i = first; i < end; ++i) tobi::async([=] { run(i, future, count); });
      });
      return;
    case kind::future: {
      const awaited made = tobi::spawn_future([=] { run(first, future, count); }, tobi::any_number);
      detail::run_each(static_cast<std::uint16_t>(first + 1), end, made, {}, count);
      made.join();
      return;
    }
    case kind::promise: {
      const auto promise = tobi::make_promise<void>(tobi::any_number);
      auto waiters = tobi::spawn(
          [=] { detail::run_each(static_cast<std::uint16_t>(first + 2), end, future, promise.get_future(), count); });
      run(first, future, count);
      promise.set();
      run(static_cast<std::uint16_t>(first + 1), future, count);
      waiters.join();
      return;
    }
    case kind::promises:
      return detail::run_promises(first, static_cast<std::uint16_t>(first + 2), end, future, nullptr, count);
    default:
      detail::run_each(first, end, future, {}, count);
  }
}

}  // namespace random_graph
