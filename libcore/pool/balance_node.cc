// SPDX-License-Identifier: Apache-2.0
#include "libcore/pool/balance_node.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <tuple>

namespace tobi::pool {

namespace {

// Adds a flow, or lengthens the last one.
void append(std::vector<flow>& to, flow f, std::uint64_t count) {
  for (;;) {
    constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
    if (!to.empty()) {
      flow& last = to.back();
      if (last.bin == f.bin && last.level == f.level && last.place + last.count == f.place &&
          last.count + count <= most) {
        last.count += static_cast<std::uint32_t>(count);
        return;
      }
    }
    const std::uint64_t now = std::min(count, most);
    f.count = static_cast<std::uint32_t>(now);
    to.push_back(f);
    count -= now;
    f.place += now;
    if (count == 0) return;
  }
}

// Cuts FLOWS into what each child has in PORTIONS, both of the longest times first: bin by bin, in order.
void deal(std::vector<flow> flows, const std::vector<portion>& portions, std::vector<share>& to,
          std::vector<flow> share::*where) {
  std::stable_sort(flows.begin(), flows.end(), [](const flow& a, const flow& b) { return a.bin > b.bin; });
  auto f = flows.begin();
  for (const portion& p : portions) {
    for (std::uint64_t left = p.count; left != 0 && f != flows.end();) {
      const std::uint32_t now = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, f->count));
      append(to[p.child].*where, *f, now);
      left -= now;
      f->place += now;
      f->count -= now;
      if (f->count == 0) ++f;
    }
  }
}

// The sums by bin of PORTIONS or flows, which are of the longest times first; the shortest are first in the result.
std::vector<bin_count> by_bin(const std::vector<portion>& portions) {
  std::vector<bin_count> sums;
  for (auto p = portions.rbegin(); p != portions.rend(); ++p) {
    if (p->count == 0) continue;
    if (sums.empty() || sums.back().bin != p->bin) sums.push_back({p->bin, 0});
    sums.back().count += p->count;
  }
  return sums;
}

}  // namespace

std::uint64_t tasks_in(const std::vector<flow>& flows) noexcept {
  std::uint64_t all = 0;
  for (const flow& f : flows) all += f.count;
  return all;
}

balance_node::balance_node(std::vector<standing> children, unsigned level, bool is_root, const balance_terms& terms)
    : children_(std::move(children)), level_(level), is_root_(is_root), terms_(terms), told_(children_.size()) {
  for (std::uint32_t c = 0; c < children_.size(); ++c) {
    for (const bin_count& b : children_[c].surplus) surplus_.push_back({b.bin, c, b.count});
    children_[c].surplus.clear();
  }
  std::sort(surplus_.begin(), surplus_.end(),
            [](const portion& a, const portion& b) { return std::tie(b.bin, a.child) < std::tie(a.bin, b.child); });
  steps_ = surplus_.size() + children_.size();
}

// COUNT of the tasks FROM has go to the child TO.
void balance_node::tell_of(const portion& from, std::uint32_t to, std::uint64_t count) {
  const flow f{numbered_, 0, static_cast<std::uint16_t>(from.bin), static_cast<std::uint16_t>(level_)};
  append(told_[from.child].out, f, count);
  append(told_[to].in, f, count);
  numbered_ += count;
}

// Assigns what children have given to children, within LIMITS. A child first gets back what it has given: that need
// not move far, and where the child is a core it does not move at all.
void balance_node::match(const assign_limits& limits) {
  std::vector<portion> wanted = assign(by_bin(surplus_), children_, limits, terms_.bins, steps_);
  steps_ += wanted.size() + surplus_.size();
  auto given = surplus_.begin();
  for (auto want = wanted.begin(); want != wanted.end();) {
    const std::uint32_t bin = want->bin;
    while (given->bin != bin) ++given;
    auto g = given;
    auto w = want;
    while (w != wanted.end() && w->bin == bin && g != surplus_.end() && g->bin == bin) {
      if (g->child != w->child) {
        g->child < w->child ? ++g : ++w;
        continue;
      }
      const std::uint64_t count = std::min(g->count, w->count);
      if (count != 0) tell_of(*g, w->child, count);
      g->count -= count;
      w->count -= count;
      ++g;
      ++w;
    }
    g = given;
    for (; want != wanted.end() && want->bin == bin; ++want) {
      while (want->count != 0) {
        const std::uint64_t count = std::min(g->count, want->count);
        if (count != 0) tell_of(*g, want->child, count);
        g->count -= count;
        want->count -= count;
        if (g->count == 0) ++g;
      }
    }
  }
}

standing balance_node::up() {
  if (!is_root_) match({terms_.unit_ns(), terms_.limit_ns, terms_.longest_ns});
  standing all{loads_of(children_, terms_.unit_ns()), by_bin(surplus_)};
  steps_ += all.loads.size() + all.surplus.size();
  return all;
}

std::vector<share> balance_node::down(const share& from) {
  if (is_root_) match({terms_.unit_ns()});
  deal(from.out, surplus_, told_, &share::out);
  std::vector<bin_count> pool;
  for (const flow& f : from.in) pool.push_back({f.bin, f.count});
  std::sort(pool.begin(), pool.end(), [](const bin_count& a, const bin_count& b) { return a.bin < b.bin; });
  std::vector<bin_count> sums;
  for (const bin_count& b : pool) {
    if (sums.empty() || sums.back().bin != b.bin) sums.push_back({b.bin, 0});
    sums.back().count += b.count;
  }
  deal(from.in, assign(sums, children_, {terms_.unit_ns()}, terms_.bins, steps_), told_, &share::in);
  steps_ += from.in.size() + from.out.size();
  for (share& s : told_) {
    s.totals = from.totals;
    s.totals.push_back(numbered_);
    steps_ += s.in.size() + s.out.size();
  }
  return std::move(told_);
}

}  // namespace tobi::pool
