// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/virtual_cores.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>
#include <random>
#include <utility>

#include "libcore/pool/balance_tree.hpp"

namespace tobi_bench {

namespace pool = tobi::pool;

namespace {

constexpr std::uint64_t message_bytes = 40;  // of what a node says besides its lots

// Times whose logarithm is normal; the same on every system, which the standard's distributions are not.
std::vector<std::uint64_t> sorted_times(const dealt_tasks& how) {
  std::mt19937_64 random(how.seed);
  const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
  const double middle = how.mean_s * 1e9 / std::exp(how.spread * how.spread / 2);
  std::vector<std::uint64_t> all(how.tasks);
  for (std::uint64_t& ns : all) {
    const double normal = std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform());
    ns = static_cast<std::uint64_t>(std::max(1.0, middle * std::exp(how.spread * normal)));
  }
  std::sort(all.begin(), all.end());
  return all;
}

double imbalance_of(const std::vector<double>& loads) {
  const double sum = std::accumulate(loads.begin(), loads.end(), 0.0);
  if (sum == 0) return 1;
  return *std::max_element(loads.begin(), loads.end()) * static_cast<double>(loads.size()) / sum;
}

void join(longest_path& into, const longest_path& other) {
  into.compute_s = std::max(into.compute_s, other.compute_s);
  into.seconds = std::max(into.seconds, other.seconds);
  into.steps = std::max(into.steps, other.steps);
  into.messages = std::max(into.messages, other.messages);
  into.bytes = std::max(into.bytes, other.bytes);
}

// One time each core's computing is done, in the same order each time.
class stopwatch {
 public:
  void begin_run() noexcept { next_ = 0; }
  template <class F>
  auto time(longest_path& path, F f) {
    const auto begin = std::chrono::steady_clock::now();
    auto result = f();
    const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (next_ == least_s_.size()) least_s_.push_back(s);
    double& least = least_s_[next_++];
    least = std::min(least, s);
    path.compute_s += least;
    path.seconds += least;
    return result;
  }

 private:
  std::vector<double> least_s_;
  std::size_t next_ = 0;
};

class run {
 public:
  run(const core_times& times, const balance_rules& rules, const virtual_network& net, stopwatch& watch)
      : times_(times),
        rules_(rules),
        net_(net),
        watch_(watch),
        bins_(rules.bins_per_doubling),
        tree_(size(), rules.central ? std::max(2u, size()) : rules.branching),
        sorted_(times),
        paths_(size()) {}

  balance_outcome balance();

 private:
  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(times_.size()); }
  void meet();
  void begin();
  void go_up();
  void go_down();
  void fill_directories();
  void exchange();
  // Handled one after the other at the end of a path.
  void message(longest_path& at, std::uint64_t count, std::uint64_t bytes) {
    at.seconds += static_cast<double>(count) * net_.message_s + static_cast<double>(bytes) / net_.bytes_per_s;
    at.messages += count;
    at.bytes += bytes;
    out_.messages += count;
    out_.bytes += bytes;
  }
  std::uint64_t* numbered(unsigned level, std::uint32_t rank) {
    return directories_[level][tree_.node_with(level, rank)].data();
  }

  const core_times& times_;
  const balance_rules& rules_;
  const virtual_network& net_;
  stopwatch& watch_;
  pool::time_bins bins_;
  pool::balance_tree tree_;
  core_times sorted_;  // by bin: a core gives its first tasks away
  double average_ns_ = 0;
  double longest_ns_ = 0;                                             // task that is given away
  std::vector<longest_path> paths_;                                   // of each core, up to where it is
  std::vector<pool::standing> leaves_;                                // after they have given away
  std::vector<std::vector<pool::balance_node>> nodes_;                // by level
  std::vector<std::vector<longest_path>> up_;                         // of these, by level
  std::vector<pool::share> shares_;                                   // of each core, in the end
  std::vector<std::vector<std::vector<std::uint64_t>>> directories_;  // of each node: the donor and its task
  balance_outcome out_;
};

// A barrier, or a sum: up a tree of two, and down again.
void run::meet() {
  longest_path all;
  for (const longest_path& p : paths_) join(all, p);
  const std::uint64_t before = out_.messages;
  message(all, 2u * static_cast<unsigned>(std::bit_width(size() - 1u)), 0);
  out_.messages = before + 2 * (size() - 1u);
  paths_.assign(size(), all);
}

// Each core's bins, the sum, and what each gives away.
void run::begin() {
  std::vector<pool::binned_times> binned(size(), pool::binned_times(bins_));
  double sum_ns = 0;
  std::vector<double> loads(size());
  for (std::uint32_t r = 0; r < size(); ++r) {
    binned[r] = watch_.time(paths_[r], [&] {
      pool::binned_times own(bins_);
      for (const std::uint64_t ns : times_[r]) own.add(pool::code_of(ns));
      return own;
    });
    paths_[r].steps = binned[r].entries().size();
    sum_ns += binned[r].load_ns();
    loads[r] = std::accumulate(times_[r].begin(), times_[r].end(), 0.0);
    std::sort(sorted_[r].begin(), sorted_[r].end());
  }
  out_.before = imbalance_of(loads);
  average_ns_ = sum_ns / size();
  meet();
  for (std::uint32_t r = 0; r < size(); ++r) {
    leaves_.push_back(watch_.time(paths_[r], [&] { return pool::donate(binned[r], rules_.c * average_ns_, true); }));
    paths_[r].steps += leaves_[r].surplus.size();
    if (!leaves_[r].surplus.empty()) longest_ns_ = std::max(longest_ns_, bins_.ns_of(leaves_[r].surplus.back().bin));
  }
  meet();
}

void run::go_up() {
  nodes_.resize(tree_.levels() + 1);
  up_.resize(tree_.levels() + 1);
  up_[0] = paths_;
  std::vector<pool::standing> below = leaves_;
  for (unsigned l = 1; l <= tree_.levels(); ++l) {
    std::vector<pool::standing> here;
    for (std::uint32_t i = 0; i < tree_.nodes_of(l); ++i) {
      std::vector<pool::standing> children;
      longest_path at;
      std::uint64_t bytes = 0;
      const std::uint32_t count = tree_.children_of(l, i);
      for (std::uint32_t k = 0; k < count; ++k) {
        const std::uint32_t child = i * tree_.branching() + k;
        join(at, up_[l - 1][child]);
        if (k != 0)
          bytes += message_bytes + below[child].surplus.size() * sizeof(pool::bin_count) +
                   below[child].loads.size() * sizeof(pool::load_group);
        children.push_back(std::move(below[child]));
      }
      message(at, count - 1, bytes);
      nodes_[l].emplace_back(std::move(children), l, l == tree_.levels(),
                             pool::balance_terms{average_ns_, rules_.d * average_ns_, longest_ns_, bins_});
      here.push_back(watch_.time(at, [&] { return nodes_[l][i].up(); }));
      at.steps += nodes_[l][i].steps();
      up_[l].push_back(at);
    }
    below = std::move(here);
  }
}

void run::go_down() {
  shares_.resize(1);
  paths_ = up_[tree_.levels()];
  for (unsigned l = tree_.levels(); l >= 1; --l) {
    std::vector<pool::share> below(tree_.nodes_of(l - 1));
    std::vector<longest_path> paths(tree_.nodes_of(l - 1));
    for (std::uint32_t i = 0; i < tree_.nodes_of(l); ++i) {
      longest_path at = paths_[i];
      const std::uint64_t steps = nodes_[l][i].steps();
      std::vector<pool::share> each = watch_.time(at, [&] { return nodes_[l][i].down(shares_[i]); });
      at.steps += nodes_[l][i].steps() - steps;
      std::uint64_t bytes = 0;
      for (std::size_t k = 1; k < each.size(); ++k) {
        bytes += message_bytes + (each[k].in.size() + each[k].out.size()) * sizeof(pool::flow);
      }
      message(at, each.size() - 1, bytes);
      for (std::size_t k = 0; k < each.size(); ++k) {
        paths[i * tree_.branching() + k] = at;
        below[i * tree_.branching() + k] = std::move(each[k]);
      }
    }
    shares_ = std::move(below);
    paths_ = std::move(paths);
  }
}

// Each donor says where the tasks are that it gives away.
void run::fill_directories() {
  directories_.resize(tree_.levels() + 1);
  for (unsigned l = 1; l <= tree_.levels(); ++l) directories_[l].resize(tree_.nodes_of(l));
  for (std::uint32_t r = 0; r < size(); ++r) {
    const unsigned levels = tree_.levels();
    for (unsigned l = 1; l <= levels; ++l) {
      directories_[l][tree_.node_with(l, r)].resize(shares_[r].totals[levels - l], ~std::uint64_t{0});
    }
    std::vector<pool::flow>& out = shares_[r].out;
    std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.bin < b.bin; });
    std::uint64_t next = 0;
    for (const pool::flow& f : out) {
      for (std::uint32_t i = 0; i < f.count; ++i) numbered(f.level, r)[f.place + i] = std::uint64_t{r} << 32 | next++;
    }
    message(paths_[r], out.size(), next * sizeof(std::uint64_t));
  }
}

// Each core looks up its tasks, and gets them from their donors.
void run::exchange() {
  std::vector<double> loads(size());
  for (std::uint32_t r = 0; r < size(); ++r) {
    const std::uint64_t given = tasks_in(shares_[r].out);
    for (std::size_t t = given; t < sorted_[r].size(); ++t) loads[r] += static_cast<double>(sorted_[r][t]);
    out_.tasks += sorted_[r].size() - given;
    std::vector<std::uint32_t> donors;
    std::uint64_t moved = 0;
    for (const pool::flow& f : shares_[r].in) {
      for (std::uint32_t i = 0; i < f.count; ++i) {
        std::uint64_t& entry = numbered(f.level, r)[f.place + i];
        if (entry == ~std::uint64_t{0}) continue;  // it would be missing in the tasks that are counted
        const auto donor = static_cast<std::uint32_t>(entry >> 32);
        loads[r] += static_cast<double>(sorted_[donor][entry & 0xffffffff]);
        entry = ~std::uint64_t{0};
        ++out_.tasks;
        if (donor == r) continue;
        ++moved;
        if (std::find(donors.begin(), donors.end(), donor) == donors.end()) donors.push_back(donor);
      }
    }
    message(paths_[r], shares_[r].in.size() + donors.size(),
            moved * net_.task_bytes + tasks_in(shares_[r].in) * sizeof(std::uint64_t));
    out_.moved += moved;
    join(out_.path, paths_[r]);
  }
  out_.after = imbalance_of(loads);
}

balance_outcome run::balance() {
  begin();
  go_up();
  go_down();
  meet();
  fill_directories();
  meet();
  exchange();
  return out_;
}

}  // namespace

core_times deal(const dealt_tasks& how) {
  core_times all(how.cores);
  const std::vector<std::uint64_t> sorted = sorted_times(how);
  for (std::size_t next = 0; next < sorted.size();) {
    for (std::uint32_t r = 0; r < how.cores && next < sorted.size(); ++r) {
      const std::size_t count = std::min<std::size_t>(r % how.stride == 0 ? how.favour : 1, sorted.size() - next);
      all[r].insert(all[r].end(), sorted.begin() + static_cast<std::ptrdiff_t>(next),
                    sorted.begin() + static_cast<std::ptrdiff_t>(next + count));
      next += count;
    }
  }
  return all;
}

balance_outcome balance(const core_times& times, const balance_rules& rules, const virtual_network& net, int repeat) {
  stopwatch watch;
  balance_outcome last;
  for (int i = 0; i < repeat; ++i) {
    watch.begin_run();
    last = run(times, rules, net, watch).balance();
  }
  return last;
}

}  // namespace tobi_bench
