// SPDX-License-Identifier: Apache-2.0
// Policies of loops, and the work hints in them.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace ityr {

/// How the work of a range is distributed, for TOBI_SCHED=adws. It names what a workhint_range keeps.
template <class W>
class workhint_range_view {
 public:
  constexpr workhint_range_view() noexcept = default;
  /// SUMS: in global memory, see workhint_range. Null: nothing is said.
  explicit constexpr workhint_range_view(const double* sums) noexcept : sums_(sums) {}
  [[nodiscard]] constexpr bool empty() const noexcept { return sums_ == nullptr; }
  [[nodiscard]] constexpr const double* sums() const noexcept { return sums_; }

 private:
  const double* sums_ = nullptr;
};
template <class W>
class workhint_range;  // ityr/workhint.hpp

namespace internal {
/// A number of elements, for which a work hint may stand: then it is 0. Policies are a part of each task of a loop, so
/// both are one word: no number of elements has its highest bit, and no address does.
class count_or_hint {
 public:
  constexpr count_or_hint(std::size_t count) noexcept : word_(count) {}
  template <class W>
  count_or_hint(const workhint_range<W>& hints) noexcept : count_or_hint(hints.view()) {}
  template <class W>
  count_or_hint(const workhint_range_view<W>& hints) noexcept
      : word_(hints.empty() ? 0 : reinterpret_cast<std::uintptr_t>(hints.sums()) | is_hint) {}
  constexpr operator std::size_t() const noexcept { return (word_ & is_hint) != 0 ? 0 : word_; }
  /// Of a hint, or null.
  [[nodiscard]] const double* sums() const noexcept {
    return (word_ & is_hint) == 0 ? nullptr : reinterpret_cast<const double*>(word_ & ~is_hint);
  }

 private:
  static constexpr std::size_t is_hint = ~(~std::size_t{0} >> 1);
  std::size_t word_;
};
}  // namespace internal

namespace execution {

// Programs write sequenced_policy(100) and sequenced_policy{.checkout_count = 100}. Where the compiler makes aggregates
// by parentheses (g++ 10, clang++ 16) both are right; elsewhere the first one is.

/// One element after the other, in the caller.
struct sequenced_policy {
  /// How many elements are checked out at a time.
  std::size_t checkout_count = 1;
#ifndef __cpp_aggregate_paren_init
  constexpr sequenced_policy() noexcept = default;
  constexpr sequenced_policy(std::size_t checked_out) noexcept : checkout_count(checked_out) {}
#endif
};

/// In parallel, by halves.
struct parallel_policy {
  /// A task of at most so many elements is not divided.
  internal::count_or_hint cutoff_count = 1;
  /// How many of them are checked out at a time.
  internal::count_or_hint checkout_count = cutoff_count;
  /// A work hint.
  internal::count_or_hint workhint = 0;
#ifndef __cpp_aggregate_paren_init
  constexpr parallel_policy() noexcept = default;
  constexpr parallel_policy(internal::count_or_hint cutoff) noexcept : cutoff_count(cutoff) {}
  constexpr parallel_policy(internal::count_or_hint cutoff, internal::count_or_hint checked_out,
                            internal::count_or_hint hint = 0) noexcept
      : cutoff_count(cutoff), checkout_count(checked_out), workhint(hint) {}
#endif
};

inline constexpr sequenced_policy seq{};
inline constexpr parallel_policy par{};

}  // namespace execution

namespace internal {
template <class Policy>
inline constexpr bool is_parallel = std::is_same_v<Policy, execution::parallel_policy>;
/// How many elements a task has at most, and how many are checked out at a time: at least one each.
template <class Policy>
constexpr std::size_t leaf_of(const Policy& how) noexcept {
  if constexpr (is_parallel<Policy>) {
    return std::max<std::size_t>(how.cutoff_count, 1);
  } else {
    return ~std::size_t{0};
  }
}
template <class Policy>
constexpr std::size_t chunk_of(const Policy& how) noexcept {
  const std::size_t count = how.checkout_count;
  return count != 0 ? count : is_parallel<Policy> ? leaf_of(how) : 1;
}
/// The work hint in HOW, wherever it stands; null: it has none.
template <class Policy>
const double* sums_of(const Policy& how) noexcept {
  if constexpr (is_parallel<Policy>) {
    for (const count_or_hint& one : {how.workhint, how.checkout_count, how.cutoff_count}) {
      if (one.sums() != nullptr) return one.sums();
    }
  }
  return nullptr;
}
/// HOW without its work hint, which is of a whole range, for a part of that.
template <class Policy>
constexpr Policy of_a_part(const Policy& how) noexcept {
  if constexpr (is_parallel<Policy>) {
    return Policy(leaf_of(how), static_cast<std::size_t>(how.checkout_count));
  } else {
    return how;
  }
}
}  // namespace internal
}  // namespace ityr
