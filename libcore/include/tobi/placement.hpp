// SPDX-License-Identifier: Apache-2.0
// Where work runs: which worker owns a piece of global memory, and loops whose tasks begin there.
//
// A loop that is repeated over the same distributed memory (an iteration of a solver, a step of a simulation) is
// fastest where each worker computes on what it owns. The algorithms on spans do so by themselves when their memory
// lies on more nodes than one. Other loops are told by on():
//
//   tobi::parallel_for(tobi::on(x), 0, rows, 64, [=](int i) { ... });   // iteration i begins where its share of x lies
//
// Each worker gets its part as a task, and divides it further as usual, so that others can steal of it. The workers of
// the same node do so at once, since they read its memory directly. A worker of another node does so when it has been
// idle for some time: for one to 16 times as long as its own part took, of which at most 20 ms count. The factor is
// four at first. It grows where what it took so was waiting for data, and shrinks where it was computing. With
// affinity::owner_computes nobody does.
//
// All of this is about speed: where a task runs never changes what it computes. A task stays where it is while an
// exception is under way, and with TOBI_SCHED=child_full and child_rtc, whose tasks do not move.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <type_traits>

#include "tobi/checkout.hpp"
#include "tobi/detail/division.hpp"
#include "tobi/detail/global.hpp"
#include "tobi/global_memory.hpp"
#include "tobi/global_ptr.hpp"
#include "tobi/task.hpp"

namespace tobi {

#ifndef TOBI_ELIDE
namespace detail {
extern "C" {
/// The caller goes on at RANK, if it can. TIED: no other worker may take it before it has gone on there.
void tobi_go_to(int rank, int tied);
/// The part of a loop that has its data here begins, or is dealt out from here. Returns whether this worker was in one.
int tobi_part_begins() noexcept;
/// One ends. INSIDE: of another one.
void tobi_part_ends(int inside) noexcept;
/// This worker's rank.
int tobi_here() noexcept;
/// Whether COUNT ranks from FIRST on, in turn, are of more nodes than one.
int tobi_on_many_nodes(int first, int count) noexcept;
}
}  // namespace detail
#endif

#ifdef TOBI_ELIDE
inline namespace elided {
#endif

/// Where the tasks of a loop over global memory begin.
enum class affinity : std::uint8_t {
  /// As owner where the memory lies on more nodes than one, else as none.
  automatic,
  /// Where the caller is. The others steal, wherever their data are.
  none,
  /// Each worker's part begins there, and can be stolen.
  owner,
  /// Each worker's part is executed there, one iteration after the other.
  owner_computes,
};

/// What the functions of this header are made of: not for users.
namespace pieces {
#ifdef TOBI_ELIDE
inline void go_to(int, bool) noexcept {}
inline bool part_begins() noexcept { return false; }
inline void part_ends(bool) noexcept {}
inline int here() noexcept { return 0; }
inline bool on_many_nodes(int, int) noexcept { return false; }
#else
inline void go_to(int rank, bool tied) { detail::tobi_go_to(rank, tied ? 1 : 0); }
inline bool part_begins() noexcept { return detail::tobi_part_begins() != 0; }
inline void part_ends(bool inside) noexcept { detail::tobi_part_ends(inside ? 1 : 0); }
inline int here() noexcept { return detail::tobi_here(); }
inline bool on_many_nodes(int first, int count) noexcept { return detail::tobi_on_many_nodes(first, count) != 0; }
#endif
}  // namespace pieces

/// The caller's task goes on at worker RANK, as soon as that has nothing else to run; what it has spawned and not
/// joined stays. It is a hint: the task stays where it is, or is taken by another worker, where the top of this header
/// says so, where RANK already has several such tasks to begin, and where it computes and others are idle. A rank that
/// there is not ends the job. Holds no checkout. A task that deals out work so spawns what is for its own worker last,
/// because a child runs first.
/// @code
/// const bool moved = tobi::run([last = rt.size() - 1] {
///   auto there = tobi::spawn([=] { tobi::migrate_to(last); });  // goes on at the last worker, and ends there
///   there.join();
///   return true;
/// });
/// if (rt.rank() == 0) std::printf("%d\n", moved);  // prints 1
/// @endcode
inline void migrate_to(int rank) { pieces::go_to(rank, false); }

/// Returns the rank of the worker in whose memory the object begins that AT points to. Ends the job where AT is no
/// global memory. Does not migrate the caller. Code outside of tasks may call it, too.
template <class T>
[[nodiscard]] int owner(global_ptr<T> at) {
  return global_calls::layout(at.raw(), sizeof(T)).first;
}

/// A part of a span that one worker owns.
template <class T>
struct segment {
  /// The rank of the worker.
  int owner;
  /// Its elements.
  global_span<T> part;
};

/// The parts of a span, in order. An element belongs where it begins.
template <class T>
class segments_of {
 public:
  /// Made by segments().
  explicit segments_of(global_span<T> all) : all_(all) {
    if (!all.empty()) where_ = global_calls::layout(all.data().raw(), detail::bytes_of<T>(all.size()));
  }
  /// How many there are.
  [[nodiscard]] std::size_t size() const noexcept {
    return all_.empty() ? 0 : where_.pieces(detail::bytes_of<T>(all_.size()));
  }
  /// Returns segment I, which is empty where no element begins in that piece of memory.
  [[nodiscard]] segment<T> operator[](std::size_t i) const noexcept {
    const std::size_t from = where_.begin_of(i, sizeof(T), all_.size());
    return {where_.owner_of(i), all_.subspan(from, where_.begin_of(i + 1, sizeof(T), all_.size()) - from)};
  }

  /// Goes over the segments.
  class iterator {
   public:
    using value_type = segment<T>;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;
    iterator() = default;
    iterator(const segments_of* of, std::size_t at) noexcept : of_(of), at_(at) {}
    segment<T> operator*() const noexcept { return (*of_)[at_]; }
    iterator& operator++() noexcept {
      ++at_;
      return *this;
    }
    iterator operator++(int) noexcept { return {of_, at_++}; }
    friend bool operator==(const iterator& a, const iterator& b) noexcept { return a.at_ == b.at_; }

   private:
    const segments_of* of_ = nullptr;
    std::size_t at_ = 0;
  };
  /// The first segment.
  [[nodiscard]] iterator begin() const noexcept { return {this, 0}; }
  /// Behind the last one.
  [[nodiscard]] iterator end() const noexcept { return {this, size()}; }

 private:
  global_span<T> all_;
  detail::home_layout where_{};
};

/// Returns the parts of ALL by owner: one per worker with block(), many with block_cyclic(), one for what a single
/// worker has allocated. Ends the job where ALL is no global memory. Does not migrate the caller.
template <class T>
[[nodiscard]] segments_of<T> segments(global_span<T> all) {
  return segments_of<T>(all);
}

/// Returns the first part of ALL that this worker owns, which with block() is all that it owns; empty where it owns
/// none. In main each worker fills its own so, without a message:
/// @code
/// const auto a = tobi::allocate_all<int>(100000);
/// const auto mine = tobi::local_part(a);
/// for (int& x : tobi::checkout(mine, tobi::mode::write)) x = 3;
/// rt.barrier();
/// const long sum = tobi::run([=] { return tobi::reduce(a, 0L); });
/// if (rt.rank() == 0) std::printf("%ld\n", sum);  // prints 300000
/// @endcode
template <class T>
[[nodiscard]] global_span<T> local_part(global_span<T> all) {
  for (const segment<T> s : segments(all)) {
    if (s.owner == pieces::here()) return s.part;
  }
  return {};
}

/// Says for a loop where its iterations begin: see on().
class placement {
 public:
  /// Made by on(), and by the algorithms.
  template <class T>
  placement(global_span<T> data, affinity how) : count_(data.size()), element_(sizeof(T)), how_(how) {
    if (count_ == 0 || how == affinity::none) {
      how_ = affinity::none;
      return;
    }
    where_ = global_calls::layout(data.data().raw(), detail::bytes_of<T>(count_));
    pieces_ = where_.pieces(detail::bytes_of<T>(count_));
    parts_ = std::min(pieces_, static_cast<std::size_t>(where_.workers));
    if (how == affinity::automatic) {
      how_ = pieces::on_many_nodes(where_.first, static_cast<int>(parts_)) ? affinity::owner : affinity::none;
    }
  }

  /// Whether the loop begins at the owners of its data at all.
  [[nodiscard]] bool at_owners() const noexcept { return how_ != affinity::none; }
  /// Whether each part is executed where it begins.
  [[nodiscard]] bool alone() const noexcept { return how_ == affinity::owner_computes; }
  /// Returns where the iterations begin when each of the same workers has one piece, all of the same length.
  [[nodiscard]] placement evenly() const noexcept {
    placement even = *this;
    if (!at_owners()) return even;
    const std::size_t longest = (count_ + workers() - 1) / workers();
    even.where_.piece_bytes = longest * element_;
    even.where_.skipped = 0;
    even.pieces_ = even.parts_ = (count_ + longest - 1) / longest;
    return even;
  }
  /// How many pieces of memory the data lie in.
  [[nodiscard]] std::size_t size() const noexcept { return pieces_; }
  /// How many workers have some. Worker number P of them has the pieces p, p + parts() and so on.
  [[nodiscard]] std::size_t parts() const noexcept { return parts_; }
  /// To how many workers the memory was dealt, of which some may have nothing of it.
  [[nodiscard]] std::size_t workers() const noexcept { return static_cast<std::size_t>(where_.workers); }
  /// Returns the rank of the worker that has PIECE.
  [[nodiscard]] int owner_of(std::size_t piece) const noexcept { return where_.owner_of(piece); }
  /// Returns the part of the worker with RANK, or parts() or more where it has none.
  [[nodiscard]] std::size_t part_of(int rank) const noexcept {
    const auto workers = static_cast<std::size_t>(where_.workers), at = static_cast<std::size_t>(rank);
    return at < workers ? (at + workers - static_cast<std::size_t>(where_.first)) % workers : parts_;
  }
  /// Returns the first of ITERATIONS that PIECE has, or of the next one that has any.
  [[nodiscard]] std::size_t begin_of(std::size_t piece, std::size_t iterations) const noexcept {
    if (piece >= pieces_) return iterations;
    return detail::scaled(where_.begin_of(piece, element_, count_), iterations, count_);
  }

 private:
  detail::home_layout where_{};
  std::size_t count_;
  std::size_t element_;
  std::size_t pieces_ = 0;
  std::size_t parts_ = 0;
  affinity how_;
};

/// For parallel_for and parallel_reduce: iteration i of n begins where element i * DATA.size() / n of DATA lies, so the
/// iterations may be elements, or blocks of equally many.
/// @code
/// const auto x = tobi::allocate_all<double>(100000);
/// const double sum = tobi::run([=] {
///   tobi::parallel_for(tobi::on(x), 0, 100, 1, [=](int block) {
///     for (double& e : tobi::checkout(x.subspan(block * 1000, 1000), tobi::mode::write)) e = 0.5;
///   });
///   return tobi::reduce(x);
/// });
/// if (rt.rank() == 0) std::printf("%.0f\n", sum);  // prints 50000
/// @endcode
template <class T>
[[nodiscard]] placement on(global_span<T> data, affinity how = affinity::owner) {
  return {data, how};
}

namespace pieces {

/// Memory for the time of one algorithm, in the heap of the worker that runs the caller. Not initialized.
template <class T>
class scratch {
 public:
  explicit scratch(std::size_t count) : all_(allocate_global<T>(count), count) {}
  ~scratch() { free_global(all_.data(), all_.size()); }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  [[nodiscard]] global_span<T> span() const noexcept { return all_; }

 private:
  global_span<T> all_;
};

/// N elements of the heap of the worker that runs the caller.
template <class T>
global_span<T> own_memory(std::size_t n) {
  return n == 0 ? global_span<T>() : global_span<T>(allocate_global<T>(n), n);
}
/// Memory for the time of one algorithm, a piece per part, which a task of the part makes by own_memory().
template <class T>
class scratch_of_parts {
 public:
  explicit scratch_of_parts(std::size_t parts) : table_(parts) {
    for (std::size_t p = 0; p < parts; ++p) store(&all()[p], global_span<T>());
  }
  ~scratch_of_parts() {
    for (std::size_t p = 0; p < all().size(); ++p) {
      const global_span<T> part = load(&all()[p]);
      if (!part.empty()) free_global(part.data(), part.size());
    }
  }
  scratch_of_parts(const scratch_of_parts&) = delete;
  scratch_of_parts& operator=(const scratch_of_parts&) = delete;
  [[nodiscard]] global_span<global_span<T>> all() const noexcept { return table_.span(); }

 private:
  scratch<global_span<T>> table_;
};

/// What a task with the parts [LO, HI), at least two, does with them: one half goes away, the other one it divides on.
struct halves_of_parts {
  struct half {
    std::size_t lo;
    std::size_t hi;
  };
  half away;
  half stays;
  bool first_stays;

  /// What the caller's worker owns stays. A child runs first, so if its own part were the child, the others would begin
  /// when that has ended.
  halves_of_parts(const placement& at, std::size_t lo, std::size_t hi) noexcept {
    const half first{lo, lo + (hi - lo) / 2};
    const half second{first.hi, hi};
    const std::size_t own = at.part_of(here());
    first_stays = own < second.lo || own >= second.hi;
    away = first_stays ? second : first;
    stays = first_stays ? first : second;
  }
};

/// Whether a loop is in a part of another one. Where nobody has said so its worker knows.
enum class nested : std::uint8_t { unknown, no, yes };
constexpr nested nested_if(bool is) noexcept { return is ? nested::yes : nested::no; }
constexpr bool is_nested(nested said, bool known) noexcept {
  return said == nested::unknown ? known : said == nested::yes;
}

/// leaf(piece) for the pieces of the parts [LO, HI), each begun by its owner. What begins elsewhere goes there first
/// and is divided there, so the depth is the logarithm of the number of parts.
template <class Leaf>
void at_homes(const placement& at, std::size_t lo, std::size_t hi, const Leaf& leaf, nested inside = nested::unknown) {
  [[maybe_unused]] const within_division none(detail::division{});  // the parts are of one worker each
  if (hi - lo > 1) {
    const bool was = part_begins();  // so that nobody takes what is about to be sent away
    const halves_of_parts halves(at, lo, hi);
    auto elsewhere = spawn([=, part = halves.away] {
      go_to(at.owner_of(part.lo), at.alone());
      at_homes(at, part.lo, part.hi, leaf);
    });
    at_homes(at, halves.stays.lo, halves.stays.hi, leaf, nested_if(is_nested(inside, was)));
    elsewhere.join();
    return;
  }
  if (at.owner_of(lo) != here()) inside = nested::unknown;
  go_to(at.owner_of(lo), at.alone());
  const bool was = part_begins();
  Leaf mine = leaf;
  for (std::size_t piece = lo; piece < at.size(); piece += at.parts()) mine(piece);
  part_ends(is_nested(inside, was));
}

/// The results of fold(first, last) for the N iterations, piece by piece, combined in their order. Nothing where N
/// is 0.
template <class R, class Fold, class Combine>
std::optional<R> fold_homes(const placement& at, std::size_t lo, std::size_t hi, std::size_t n, const Fold& fold,
                            const Combine& combine, nested inside = nested::unknown) {
  [[maybe_unused]] const within_division none(detail::division{});  // as above
  if (hi - lo > 1) {
    const bool was = part_begins();  // as above
    const halves_of_parts halves(at, lo, hi);
    auto elsewhere = spawn([=, part = halves.away] {
      go_to(at.owner_of(part.lo), at.alone());
      return fold_homes<R>(at, part.lo, part.hi, n, fold, combine);
    });
    const std::optional<R> mine =
        fold_homes<R>(at, halves.stays.lo, halves.stays.hi, n, fold, combine, nested_if(is_nested(inside, was)));
    const std::optional<R> theirs = elsewhere.join();
    if (!mine || !theirs) return mine ? mine : theirs;
    std::decay_t<Combine> both = combine;
    return halves.first_stays ? both(*mine, *theirs) : both(*theirs, *mine);
  }
  if (at.owner_of(lo) != here()) inside = nested::unknown;
  go_to(at.owner_of(lo), at.alone());
  const std::size_t begin = at.begin_of(lo, n);
  const std::size_t end = at.begin_of(lo + 1, n);
  const bool was = part_begins();
  if (begin == end) {
    part_ends(is_nested(inside, was));
    return {};
  }
  Fold mine = fold;
  const std::optional<R> value(mine(begin, end));
  part_ends(is_nested(inside, was));
  return value;
}

/// The same, where workers have several pieces each: their results meet in global memory.
template <class R, class Fold, class Combine>
std::optional<R> fold_cyclic_homes(const placement& at, std::size_t n, const Fold& fold, const Combine& combine) {
  const scratch<std::optional<R>> kept(at.size());
  const global_span<std::optional<R>> results = kept.span();
  at_homes(at, 0, at.parts(), [=](std::size_t piece) {
    Fold mine = fold;
    const std::size_t begin = at.begin_of(piece, n);
    const std::size_t end = at.begin_of(piece + 1, n);
    store(&results[piece], begin == end ? std::optional<R>() : std::optional<R>(mine(begin, end)));
  });
  std::optional<R> all;
  std::decay_t<Combine> mine = combine;
  for (std::size_t piece = 0; piece < at.size(); ++piece) {
    const std::optional<R> next = load(&results[piece]);
    if (!next) continue;
    const std::optional<R> before = all;
    all.reset();
    all.emplace(before ? mine(*before, *next) : *next);
  }
  return all;
}

/// Whether a reduction to an R can have its parts' results in global memory.
template <class R>
inline constexpr bool keeps_results = alignof(std::optional<R>) <= 16;

/// One of both, as the pieces of AT lie.
template <class R, class Fold, class Combine>
std::optional<R> fold_at_homes(const placement& at, std::size_t n, const Fold& fold, const Combine& combine) {
  if constexpr (keeps_results<R>) {
    if (at.size() > at.parts()) return fold_cyclic_homes<R>(at, n, fold, combine);
  }
  return fold_homes<R>(at, 0, at.parts(), n, fold, combine);
}

}  // namespace pieces

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
