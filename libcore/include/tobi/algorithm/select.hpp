// SPDX-License-Identifier: Apache-2.0
// Elements that stay: copy_if, remove_if, unique, partition. What is kept of each leaf is counted, the counts are added
// up, and the leaves write what they keep to where it belongs. Work O(n), depth O(log n) for each level of the scan and
// a leaf. Elements keep their order, and are copied by their bytes. The predicate is called twice per element. The
// algorithms that change their range write into scratch memory as long as it, and copy back. That lies in the heaps of
// the range's owners where their parts begin there (execution_policy::where), else in that of the worker that runs the
// caller. May migrate the caller, which holds no checkout. Predicates do not fork. What one throws leaves as
// task_error, and the elements are what they were.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <stdexcept>
#include <type_traits>

#include "tobi/algorithm/for_each.hpp"
#include "tobi/algorithm/scan.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

namespace pieces {

/// Writes elements one after the other, through one checkout at a time. Between the first and the last of them the
/// caller neither forks nor joins.
template <class T>
class writer {
 public:
  /// To OUT, all of which will be written.
  writer(const execution_policy& how, global_span<T> out) noexcept : how_(how), left_(out) {}
  void write(const T& value) {
    if (at_ == end_) open();
    *at_++ = value;
  }
  /// Everything has been written.
  void end() const {
    if (at_ != end_ || !left_.empty()) refuse();
  }

 private:
  [[noreturn]] static void refuse() {
    throw std::logic_error("tobi: a predicate of an algorithm has not returned the same for an element twice");
  }
  void open() {
    if (left_.empty()) refuse();
    const std::size_t n = std::min(left_.size(), output<T>{left_}.chunk_at(how_, 0));
    open_.reset();
    open_.emplace(checkout(left_.first(n), mode::write));
    left_ = left_.subspan(n);
    at_ = open_->data();
    end_ = at_ + n;
  }

  execution_policy how_;
  global_span<T> left_;
  std::optional<checked_out<T, access::write>> open_;
  T* at_ = nullptr;
  T* end_ = nullptr;
};

/// take(element, kept) for the elements [BEGIN, END). KEEP is called with the element and its index, or with the
/// element before it (null for the first of all) and the element.
template <class T, class Keep, class Take>
void select_leaf(const execution_policy& how, std::size_t begin, std::size_t end, global_span<T> a,
                 const Keep& keep_given, Take&& take) {
  using element = std::remove_const_t<T>;
  Keep keep = keep_given;
  if constexpr (std::is_invocable_v<Keep&, const element&, std::size_t>) {
    const auto body = [&](std::size_t first, std::size_t n, const T* at) {
      for (std::size_t i = 0; i < n; ++i) take(at[i], static_cast<bool>(keep(at[i], first + i)));
    };
    sweep(how, begin, end, body, input(a));
  } else {
    std::optional<element> before;
    if (begin != 0) before.emplace(load(&a[begin - 1]));
    const auto body = [&](std::size_t, std::size_t n, const T* at) {
      for (std::size_t i = 0; i < n; ++i) {
        const element* const previous = i != 0 ? at + i - 1 : before ? &*before : nullptr;
        take(at[i], static_cast<bool>(keep(previous, at[i])));
      }
      before.reset();
      before.emplace(at[n - 1]);
    };
    sweep(how, begin, end, body, input(a));
  }
}

/// How many elements KEEP keeps, in each leaf and all before it. The range is not empty.
template <class T, class Keep>
class selection {
 public:
  using element = std::remove_const_t<T>;

  selection(const execution_policy& how, global_span<T> a, const Keep& keep)
      : how_(how),
        a_(a),
        keep_(keep),
        cutoff_(cutoff_of<T>(how)),
        at_(home_of(how, cutoff_, a.size(), input(a))),
        memory_((a.size() - 1) / cutoff_ + 1) {
    const global_span<std::size_t> counts = memory_.span();
    in_tasks_at(at_, counts.size(), 1, [=, cutoff = cutoff_](std::size_t first, std::size_t last) {
      for (std::size_t leaf = first; leaf < last; ++leaf) {
        const std::size_t begin = leaf * cutoff;
        std::size_t kept = 0;
        select_leaf(how, begin, std::min(begin + cutoff, a.size()), a, keep,
                    [&](const T&, bool stays) { kept += stays ? 1 : 0; });
        store(&counts[leaf], kept);
      }
    });
    scan<true>(how, counts, counts, std::optional<std::size_t>(), std::plus<>());
    kept_ = load(&counts[counts.size() - 1]);
  }
  /// How many are kept.
  [[nodiscard]] std::size_t size() const noexcept { return kept_; }
  /// Writes them to KEPT, and the others to OTHERS, unless that is empty.
  void write(global_span<element> kept, global_span<element> others) const {
    in_tasks_at(at_, leaves(), 1, [=, leaf_of = reader()](std::size_t first, std::size_t last) {
      const run r = leaf_of(first, last);
      leaf_of.write(r, kept.subspan(r.from, r.kept()),
                    others.empty() ? others : others.subspan(r.left_before(), r.left()));
    });
  }
  /// Puts them to the front of TO, which is the range itself, where OTHERS_TOO with the others behind them.
  void write_back(global_span<element> to, bool others_too) const {
    if (at_.at_owners()) {
      by_owners(to, others_too);
      return;
    }
    const scratch<element> memory(others_too ? a_.size() : kept_);
    const global_span<element> all = memory.span();
    write(all.first(kept_), others_too ? all.subspan(kept_) : global_span<element>());
    tobi::copy(how_, others_too ? all : all.first(kept_), to);
  }

 private:
  // Elements of the range that follow each other, and what is kept of the range before and up to their end.
  struct run {
    std::size_t begin, end, from, to;
    [[nodiscard]] std::size_t kept() const noexcept { return to - from; }
    [[nodiscard]] std::size_t left() const noexcept { return end - begin - kept(); }
    [[nodiscard]] std::size_t left_before() const noexcept { return begin - from; }
  };
  // What a leaf needs.
  struct leaf_reader {
    execution_policy how;
    global_span<T> a;
    Keep keep;
    std::size_t cutoff;
    global_span<std::size_t> counts;

    // The elements of the leaves [FIRST, LAST), at least one.
    run operator()(std::size_t first, std::size_t last) const {
      return {first * cutoff, std::min(last * cutoff, a.size()), first == 0 ? 0 : load(&counts[first - 1]),
              load(&counts[last - 1])};
    }
    void write(const run& r, global_span<element> kept, global_span<element> others) const {
      writer<element> first(how, kept);
      if (others.empty()) {
        select_leaf(how, r.begin, r.end, a, keep, [&](const T& x, bool stays) {
          if (stays) first.write(x);
        });
        first.end();
        return;
      }
      writer<element> second(how, others);
      select_leaf(how, r.begin, r.end, a, keep, [&](const T& x, bool stays) {
        if (stays) {
          first.write(x);
        } else {
          second.write(x);
        }
      });
      first.end();
      second.end();
    }
  };
  [[nodiscard]] std::size_t leaves() const noexcept { return memory_.span().size(); }
  [[nodiscard]] leaf_reader reader() const { return {how_, a_, keep_, cutoff_, memory_.span()}; }

  // What is kept of each piece waits in the heap of its owner until all have been read.
  void by_owners(global_span<element> to, bool others_too) const {
    const scratch_of_parts<element> memory(at_.size());
    const global_span<global_span<element>> rooms = memory.all();
    at_homes(at_, 0, at_.parts(), [=, at = at_, leaf_of = reader(), leaves = leaves()](std::size_t p) {
      const std::size_t lo = at.begin_of(p, leaves), hi = at.begin_of(p + 1, leaves);
      if (lo == hi) return;
      const run part = leaf_of(lo, hi);
      const global_span<element> room = own_memory<element>(others_too ? part.end - part.begin : part.kept());
      store(&rooms[p], room);
      in_tasks(lo, hi, at.alone() ? leaves : 1, [=](std::size_t first, std::size_t last) {
        const run r = leaf_of(first, last);
        const std::size_t behind = part.kept() + r.left_before() - part.left_before();
        leaf_of.write(r, room.subspan(r.from - part.from, r.kept()),
                      others_too ? room.subspan(behind, r.left()) : global_span<element>());
      });
    });
    const execution_policy here = in_part(how_, at_);
    at_homes(at_, 0, at_.parts(), [=, at = at_, leaf_of = reader(), leaves = leaves(), all = kept_](std::size_t p) {
      const std::size_t lo = at.begin_of(p, leaves), hi = at.begin_of(p + 1, leaves);
      if (lo == hi) return;
      const run part = leaf_of(lo, hi);
      const global_span<element> room = load(&rooms[p]);
      tobi::copy(here, room.first(part.kept()), to.subspan(part.from, part.kept()));
      if (others_too) tobi::copy(here, room.subspan(part.kept()), to.subspan(all + part.left_before(), part.left()));
    });
  }

  execution_policy how_;
  global_span<T> a_;
  Keep keep_;
  std::size_t cutoff_;
  placement at_;
  scratch<std::size_t> memory_;
  std::size_t kept_ = 0;
};

template <class T, class Predicate>
struct keeps_if {
  [[no_unique_address]] Predicate predicate;
  bool operator()(const T& x, std::size_t) { return predicate(x); }
};
template <class T, class Predicate>
struct keeps_unless {
  [[no_unique_address]] Predicate predicate;
  bool operator()(const T& x, std::size_t) { return !predicate(x); }
};
template <class T, class Equal>
struct keeps_different {
  [[no_unique_address]] Equal equal;
  bool operator()(const T* before, const T& x) { return before == nullptr || !equal(*before, x); }
};

/// What KEEP keeps of A goes to its front, where OTHERS_TOO with all others behind it. Returns how many are kept.
template <class T, class Keep>
std::size_t select_in_place(const execution_policy& how, global_span<T> a, const Keep& keep, bool others_too) {
  static_assert(detail::travels<T>,
                "tobi: these algorithms copy bytes: the copy constructor and the destructor of "
                "their elements must be trivial");
  if (a.empty()) return 0;
  return with_one_error([&] {
    const selection<T, Keep> chosen(how, a, keep);
    const std::size_t n = chosen.size();
    if (n == a.size() || n == 0) return n;
    chosen.write_back(a, others_too);
    return n;
  });
}

}  // namespace pieces

/// Copies the elements of IN that have predicate(element) to the front of OUT, in their order, and returns how many
/// there are. OUT overlaps nothing of IN. Where it is too short, nothing is written and a std::length_error is thrown.
/// @code
/// const auto numbers = tobi::allocate_all<int>(1000);
/// const auto odd = tobi::allocate_all<int>(1000);
/// const auto found = tobi::run([=] {
///   tobi::iota(numbers, 0);
///   const std::size_t n = tobi::copy_if(numbers, odd, [](int x) { return x % 2 == 1; });
///   return std::pair<std::size_t, int>(n, odd[n - 1]);
/// });
/// if (rt.rank() == 0) std::printf("%zu, the last %d\n", found.first, found.second);  // prints 500, the last 999
/// @endcode
template <class In, class Predicate>
std::size_t copy_if(const execution_policy& how, global_span<In> in, global_span<std::remove_const_t<In>> out,
                    const Predicate& predicate) {
  using element = std::remove_const_t<In>;
  static_assert(detail::travels<element>,
                "tobi: copy_if() copies bytes: the copy constructor and the destructor of "
                "its elements must be trivial");
  if (in.empty()) return 0;
  using Keep = pieces::keeps_if<element, std::decay_t<Predicate>>;
  std::optional<std::size_t> too_many;
  const std::size_t n = pieces::with_one_error([&] {
    const pieces::selection<In, Keep> chosen(how, in, Keep{predicate});
    if (chosen.size() > out.size()) {
      too_many = chosen.size();
    } else {
      chosen.write(out.first(chosen.size()), {});
    }
    return chosen.size();
  });
  if (too_many) pieces::check_sizes("copy_if", *too_many, out.size());
  return n;
}
/// The same with par.
template <class In, class Predicate>
std::size_t copy_if(global_span<In> in, global_span<std::remove_const_t<In>> out, const Predicate& predicate) {
  return tobi::copy_if(par, in, out, predicate);
}

/// Takes the elements that have predicate(element) out of A. Returns the others, which are at its front in their order.
/// What is behind them is undefined.
template <class T, class Predicate>
global_span<T> remove_if(const execution_policy& how, global_span<T> a, const Predicate& predicate) {
  using Keep = pieces::keeps_unless<T, std::decay_t<Predicate>>;
  return a.first(pieces::select_in_place(how, a, Keep{predicate}, false));
}
/// The same with par.
template <class T, class Predicate>
global_span<T> remove_if(global_span<T> a, const Predicate& predicate) {
  return tobi::remove_if(par, a, predicate);
}

/// Keeps the first of equal neighbours. Returns what is kept, which is at the front of A. What is behind it is
/// undefined. EQUAL is transitive. With sort() before it, no two elements are equal.
template <class T, class Equal = std::equal_to<>>
global_span<T> unique(const execution_policy& how, global_span<T> a, const Equal& equal = {}) {
  using Keep = pieces::keeps_different<T, std::decay_t<Equal>>;
  return a.first(pieces::select_in_place(how, a, Keep{equal}, false));
}
/// The same with par.
template <class T, class Equal = std::equal_to<>>
global_span<T> unique(global_span<T> a, const Equal& equal = {}) {
  return tobi::unique(par, a, equal);
}

/// Moves the elements that have predicate(element) to the front of A, and returns how many there are. Both groups keep
/// their order (as std::stable_partition).
template <class T, class Predicate>
std::size_t partition(const execution_policy& how, global_span<T> a, const Predicate& predicate) {
  using Keep = pieces::keeps_if<T, std::decay_t<Predicate>>;
  return pieces::select_in_place(how, a, Keep{predicate}, true);
}
/// The same with par.
template <class T, class Predicate>
std::size_t partition(global_span<T> a, const Predicate& predicate) {
  return tobi::partition(par, a, predicate);
}

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
