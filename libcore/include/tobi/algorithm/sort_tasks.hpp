// SPDX-License-Identifier: Apache-2.0
// How sort() works: not for users. Halves are sorted by tasks, and merged by tasks. Where each worker of several nodes
// owns a part of the range, there are three steps with a join behind each:
//
//   1. Each part is sorted where it lies.
//   2. Each part finds which share of every part belongs into it, and fetches these shares into memory of its owner.
//   3. Each part merges its shares into its place.
//
// So an element crosses the network once, in step 2, and only if it belongs elsewhere. Shares are exact, and respect
// the order of equal elements, so the sort is stable and each part stays as long as it is. Splitting several sorted
// lists in this way is Varman, Scheufler, Iyer and Ricard's (1991).
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "tobi/algorithm/for_each.hpp"
#include "tobi/algorithm/merge.hpp"
#include "tobi/one_sided.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

namespace pieces {

/// ONE and OTHER, in two tasks if SIZE elements are more than a leaf has.
template <class One, class Other>
void both_halves(const execution_policy& how, std::size_t size, const One& one, const Other& other) {
  if (size <= how.cutoff) {
    one();
    other();
    return;
  }
  in_both(one, other);
}

/// Sorts what is in A. The result is in A, or, if ACROSS, in B. LEAF elements, at least 1, are opened as a whole.
template <class T, class Less>
void sort_in_tasks(const execution_policy& how, std::size_t leaf, global_span<T> a, global_span<T> b, bool across,
                   Less less) {
  if (a.size() <= leaf) {
    if (a.empty()) return;
    auto open = checkout(a, mode::read_write);
    std::stable_sort(open.begin(), open.end(), less);
    if (across) std::copy(open.begin(), open.end(), checkout(b, mode::write).begin());
    return;
  }
  const std::size_t half = a.size() / 2;
  const global_span<T> a1 = a.first(half), a2 = a.subspan(half);
  const global_span<T> b1 = b.first(half), b2 = b.subspan(half);
  both_halves(
      how, a.size(), [=] { sort_in_tasks(how, leaf, a1, b1, !across, less); },
      [=] { sort_in_tasks(how, leaf, a2, b2, !across, less); });
  if (across) {
    merge_in_tasks<T>(how, a1, a2, b, less);
  } else {
    merge_in_tasks<T>(how, b1, b2, a, less);
  }
}

/// How much of each of several sorted runs is among their first K elements, merged. Of equal elements those of an
/// earlier run come first. It neither forks nor migrates.
///
/// A round asks for some elements of each run at once, and sorts them: then each says between which places of all
/// elements it lies. Those that are surely among the first K, or surely not, leave less of their run for the next
/// round: about a tenth.
template <class T, class Less>
class first_of_runs {
 public:
  first_of_runs(const std::vector<global_span<T>>& runs, std::size_t k, Less& less)
      : runs_(runs),
        k_(k),
        less_(less),
        memory_(samples * runs.size()),
        values_(memory_.data()),
        low_(runs.size()),
        next_(runs.size()) {
    for (const global_span<T>& run : runs) high_.push_back(std::min(k, run.size()));
  }
  first_of_runs(const first_of_runs&) = delete;
  first_of_runs& operator=(const first_of_runs&) = delete;

  /// Returns the shares. Their sum is K, if LESS orders the elements.
  std::vector<std::size_t> shares() {
    while (ask()) {
      if (!narrow()) break;
    }
    return low_;
  }

 private:
  static constexpr std::size_t samples = 32;  // of each run in a round
  struct sample {
    std::size_t run, place, value;
  };

  /// Gets samples of what is open. False: nothing is.
  bool ask() {
    asked_.clear();
    std::vector<transfer> coming;
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      const std::size_t open = high_[r] - low_[r], some = std::min(open, samples);
      for (std::size_t i = 0; i < some; ++i) {
        const std::size_t place = low_[r] + (2 * i + 1) * open / (2 * some), v = asked_.size();
        coming.push_back(get_nb(runs_[r].subspan(place, 1), std::span<T>(values_ + v, 1)));
        asked_.push_back({r, place, v});
      }
      next_[r] = some != 0 ? asked_[asked_.size() - some].place : high_[r];
    }
    return !asked_.empty();
  }

  /// False: it has found out nothing, which does not happen where LESS orders the elements.
  bool narrow() {
    // Stable: equal samples stay in the order of runs and places.
    std::vector<sample> sorted = asked_;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](const sample& a, const sample& b) { return less_(values_[a.value], values_[b.value]); });
    // Of all elements, FEWEST to MOST are not behind the sample.
    std::size_t fewest = 0, most = 0;
    std::vector<std::size_t> known = low_, low = low_, high = high_;
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      fewest += low_[r];
      most += next_[r];
    }
    for (const auto& [run, place, value] : sorted) {
      fewest += place + 1 - known[run];
      known[run] = place + 1;
      const bool last = value + 1 == asked_.size() || asked_[value + 1].run != run;
      const std::size_t next = last ? high_[run] : asked_[value + 1].place;
      most += next - next_[run];
      next_[run] = next;
      if (most <= k_) low[run] = place + 1;
      if (fewest > k_) high[run] = std::min(high[run], place);
    }
    bool some = false;
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      some = some || low[r] != low_[r] || high[r] != high_[r];
      if (low[r] > high[r]) return false;
    }
    low_ = low;
    high_ = high;
    return some;
  }

  const std::vector<global_span<T>>& runs_;
  const std::size_t k_;
  Less& less_;
  const leaf_memory<T> memory_;
  T* const values_;                      // by number in asked_
  std::vector<std::size_t> low_, high_;  // between these each share lies
  std::vector<std::size_t> next_;        // of each run, the first sample that comes later
  std::vector<sample> asked_;            // by run and place
};

/// What each part has.
template <class T>
struct part_of_sort {
  global_span<T> run;               // sorted in step 1, and by step 3
  global_span<T> room;              // as long as RUN
  global_span<std::size_t> shares;  // where its share of each part begins there, and then where it ends in ROOM
  bool owns_run, owns_room;         // whether they are memory of the sort's own
};

/// Of all parts. It frees what they own.
template <class T>
class parts_of_sort {
 public:
  explicit parts_of_sort(std::size_t count) : table_(count) {
    for (std::size_t p = 0; p < count; ++p) store(&all()[p], part_of_sort<T>{});
  }
  parts_of_sort(const parts_of_sort&) = delete;
  parts_of_sort& operator=(const parts_of_sort&) = delete;
  ~parts_of_sort() {
    for (std::size_t p = 0; p < all().size(); ++p) {
      const part_of_sort<T> part = load(&all()[p]);
      if (!part.shares.empty()) free_global(part.shares.data(), part.shares.size());
      if (part.owns_run) free_global(part.run.data(), part.run.size());
      if (part.owns_room) free_global(part.room.data(), part.room.size());
    }
  }
  [[nodiscard]] global_span<part_of_sort<T>> all() const noexcept { return table_.span(); }

 private:
  scratch<part_of_sort<T>> table_;
};

/// The second half of step 2: fetches the shares of part P.
template <class T>
void fetch_shares(const execution_policy& how, global_span<part_of_sort<T>> parts, std::size_t p) {
  const part_of_sort<T> mine = load(&parts[p]);
  const std::size_t count = parts.size();
  const auto orders = [](bool yes) {
    if (yes) return;
    throw std::invalid_argument(
        "tobi::sort: the comparison contradicts itself, as < does where some of the numbers are NaN");
  };
  std::size_t fetched = 0;
  for (std::size_t r = 0; r < count; ++r) {
    const global_span<T> run = load(&parts[r]).run;
    const std::size_t begin = load(&mine.shares[r]);
    const std::size_t end = p + 1 < count ? load(&load(&parts[p + 1]).shares[r]) : run.size();
    orders(begin <= end && end - begin <= mine.room.size() - fetched);
    tobi::copy(how, run.subspan(begin, end - begin), mine.room.subspan(fetched, end - begin));
    fetched += end - begin;
    store(&mine.shares[count + r], fetched);
  }
  orders(fetched == mine.room.size());
}

/// Step 3: merges the shares [LO, HI), of which each ends as ENDS says, in FROM. The result is in FROM, or, if ACROSS,
/// in TO.
template <class T, class Less>
void merge_shares(const execution_policy& how, global_span<std::size_t> ends, std::size_t lo, std::size_t hi,
                  global_span<T> from, global_span<T> to, bool across, Less less) {
  const std::size_t begin = lo == 0 ? 0 : load(&ends[lo - 1]), end = load(&ends[hi - 1]);
  if (hi - lo == 1) {
    if (across) tobi::copy(how, from.subspan(begin, end - begin), to.subspan(begin, end - begin));
    return;
  }
  const std::size_t half = lo + (hi - lo) / 2;
  both_halves(
      how, end - begin, [=] { merge_shares(how, ends, lo, half, from, to, !across, less); },
      [=] { merge_shares(how, ends, half, hi, from, to, !across, less); });
  const std::size_t middle = load(&ends[half - 1]);
  const global_span<T> in = across ? from : to, out = across ? to : from;
  merge_in_tasks<T>(how, in.subspan(begin, middle - begin), in.subspan(middle, end - middle),
                    out.subspan(begin, end - begin), less);
}

/// All three steps, for SIZE elements that lie as AT says, in a piece per worker. BEGINS(first, n) returns run and room
/// of the part that begins with element FIRST, and ENDS(first, run) takes the result: both at the part's owner.
template <class T, class Begins, class Ends, class Less>
void sort_parts(const execution_policy& asked, const placement& at, std::size_t size, const Begins& begins,
                const Ends& ends, Less less) {
  const execution_policy how = in_part(asked, at);
  const std::size_t leaf = whole_leaf<T>(how), count = at.parts();
  const parts_of_sort<T> memory(count);
  const global_span<part_of_sort<T>> parts = memory.all();
  at_homes(at, 0, count, [=](std::size_t p) {
    const std::size_t first = at.begin_of(p, size), n = at.begin_of(p + 1, size) - first;
    part_of_sort<T> mine = begins(first, n);
    mine.shares = own_memory<std::size_t>(2 * count);
    store(&parts[p], mine);
    sort_in_tasks(how, leaf, mine.run, mine.room, false, less);
  });
  at_homes(at, 0, count, [=](std::size_t p) {
    std::vector<global_span<T>> runs;  // this forks nothing
    for (std::size_t r = 0; r < count; ++r) runs.push_back(load(&parts[r]).run);
    Less own = less;
    const std::vector<std::size_t> found = first_of_runs<T, Less>(runs, at.begin_of(p, size), own).shares();
    put(found, load(&parts[p]).shares.first(count));
  });
  at_homes(at, 0, count, [=](std::size_t p) { fetch_shares(how, parts, p); });
  at_homes(at, 0, count, [=](std::size_t p) {
    const part_of_sort<T> mine = load(&parts[p]);
    merge_shares(how, mine.shares.subspan(count), 0, count, mine.room, mine.run, true, less);
    ends(at.begin_of(p, size), mine.run);
  });
}

/// Where the parts of a range are sorted.
struct home_of_sort {
  placement at;  // with one piece per worker, or nowhere
  bool dealt;    // the range lies in more pieces, so what is sorted of it is brought together first
};
/// The parts of A are sorted in tasks anywhere if they lie on one node or are small. Where all workers own about as
/// much, each sorts its part without being stolen from: nobody would idle, and what is stolen by another node is
/// fetched and written back (measured: one and a half times as long with 64 MB on two nodes).
template <class T>
home_of_sort find_home_of_sort(const execution_policy& how, global_span<T> a) {
  const placement at(a, how.where);
  const bool small = how.where == affinity::automatic && a.size() / cutoff_of<T>(how) < at.parts();
  if (small || !at.at_owners() || at.parts() < 2) return {{a, affinity::none}, false};
  const bool dealt = at.parts() < at.size();
  if (how.where != affinity::automatic) return {dealt ? at.evenly() : at, dealt};
  if (dealt) return {placement(a, affinity::owner_computes).evenly(), true};
  std::size_t longest = 0;
  for (std::size_t p = 0; p < at.parts(); ++p) {
    longest = std::max(longest, at.begin_of(p + 1, a.size()) - at.begin_of(p, a.size()));
  }
  return {{a, longest <= a.size() / at.workers() * 3 / 2 ? affinity::owner_computes : affinity::owner}, false};
}

}  // namespace pieces

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
