// SPDX-License-Identifier: Apache-2.0
// shuffle: a random order, in which all orders are equally likely, as far as the random bits are. Each element is
// thrown into one of up to 256 bins, keeping its order there, and each bin is shuffled for itself: with Fisher and
// Yates's algorithm if it is small, else in the same way (Rao 1961, Sandelius 1962; in this form Sanders 1998). The bin
// of an element depends on the seed and on its place, so the order is the same on any number of workers, with any
// policy and distribution. There are three steps with a join behind each:
//
//   1. Each leaf brings its elements into the order of their bins, where they lie.
//   2. Each bin fetches what belongs to it from all leaves, and is shuffled on the way into scratch memory if it is
//      small.
//   3. Each bin is copied to its place, or shuffled on the way there.
//
// A bin begins at the owner of its place, where its memory lies if the caller gives none. So an element crosses the
// network once, in step 2, and once more where its place is another owner's than the bin's: in a range that lies in
// many pieces (tobi::block_cyclic()).
//
// Work O(n log n / log 256), depth O(log n) and a leaf for each time that elements are thrown. Random numbers are those
// of SplitMix64. May migrate the caller, which holds no checkout.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tobi/algorithm/for_each.hpp"
#include "tobi/one_sided.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

namespace pieces {

/// Random number I of those that SEED names: what SplitMix64 gives after I + 1 steps (Steele, Lea and Flood 2014).
constexpr std::uint64_t random_at(std::uint64_t seed, std::uint64_t i) noexcept {
  std::uint64_t x = seed + (i + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// Elements are shuffled at once if there are no more than these.
template <class T>
constexpr std::size_t small_shuffle = 4 * cutoff_of<T>(par);

/// Fisher and Yates's algorithm for the N elements at AT. A place is more or less likely than others by 1 in 2^64 / N.
template <class T>
void shuffle_here(T* at, std::size_t n, std::uint64_t seed) {
  __extension__ using wide = unsigned __int128;
  for (std::size_t i = n; i-- > 1;) {
    const auto place = static_cast<std::size_t>(static_cast<wide>(random_at(seed, i)) * (i + 1) >> 64);
    const T last = at[i];
    std::construct_at(at + i, at[place]);
    std::construct_at(at + place, last);
  }
}

/// Bins for SIZE elements.
struct bins {
  std::uint64_t seed;
  std::size_t count;  // a power of two, at least 2

  bins(std::uint64_t given, std::size_t size, std::size_t small) noexcept
      : seed(given), count(std::clamp<std::size_t>(std::bit_ceil(2 * size / small), 2, 256)) {}
  /// Eight elements from I on, a multiple of 8, are thrown by the bytes of this number, the lowest first.
  [[nodiscard]] std::uint64_t eight_from(std::size_t i) const noexcept { return random_at(seed, i / 8); }
  [[nodiscard]] std::size_t of(std::uint64_t number) const noexcept { return number & (count - 1); }
  /// By which BIN is shuffled.
  [[nodiscard]] std::uint64_t seed_of(std::size_t bin) const noexcept { return random_at(~seed, bin); }
};

/// Elements that have been thrown into bins: step 1. Each leaf has those of its bins in their order. Whatever the
/// number of leaves, so have all together. A task gets view(), and gathers the elements of a bin by it.
template <class T>
class thrown {
 public:
  class view {
   public:
    /// Of all elements, where those of BIN belong.
    [[nodiscard]] std::size_t begin_of(std::size_t bin) const { return load(&begins_[bin]); }
    [[nodiscard]] std::size_t size_of(std::size_t bin) const { return begin_of(bin + 1) - begin_of(bin); }
    /// Calls take(first, n, pointer) for the elements of BIN, up to MOST at a time. It may change what it gets. TAKE
    /// neither forks nor joins.
    template <class Take>
    void gather(std::size_t bin, std::size_t most, Take&& take) const {
      std::vector<std::uint32_t> from(leaves_), to(leaves_);
      if (bin != 0) get(ends_.subspan((bin - 1) * leaves_, leaves_), from);
      get(ends_.subspan(bin * leaves_, leaves_), to);
      const std::size_t size = size_of(bin);
      leaf_memory<T> here(std::min(most, size));
      for (std::size_t done = 0, leaf = 0; done < size;) {
        std::size_t n = 0;
        {
          std::vector<transfer> coming;
          while (n < here.size() && leaf < leaves_) {
            const std::size_t some = std::min<std::size_t>(to[leaf] - from[leaf], here.size() - n);
            if (some != 0) {
              coming.push_back(get_nb(a_.subspan(leaf * length_ + from[leaf], some), here.span().subspan(n, some)));
            }
            n += some;
            from[leaf] += static_cast<std::uint32_t>(some);
            if (from[leaf] == to[leaf]) ++leaf;
          }
        }
        take(done, n, here.data());
        done += n;
      }
    }

   private:
    friend class thrown;
    global_span<T> a_;
    std::size_t length_ = 0, leaves_ = 0;
    global_span<std::uint32_t> ends_;  // of each bin in each leaf, by bin
    global_span<std::size_t> begins_;  // of the bins, and where the last one ends
  };

  thrown(const execution_policy& how, const placement& at, global_span<T> a, const bins& into)
      : leaves_((a.size() - 1) / length_of(at, a.size()) + 1), ends_(into.count * leaves_), begins_(into.count + 1) {
    now_.a_ = a;
    now_.length_ = length_of(at, a.size());
    now_.leaves_ = leaves_;
    now_.ends_ = ends_.span();
    now_.begins_ = begins_.span();
    const scratch<std::uint32_t> by_leaf(into.count * leaves_);
    const global_span<std::uint32_t> found = by_leaf.span();
    const std::size_t serial = std::max<std::size_t>(cutoff_of<T>(how) / now_.length_, 1);
    in_tasks_at(at, leaves_, serial, [=, length = now_.length_](std::size_t first, std::size_t last) {
      for (std::size_t leaf = first; leaf < last; ++leaf) {
        const std::size_t begin = leaf * length;
        put(throw_leaf(how, a, begin, std::min(begin + length, a.size()), into),
            found.subspan(leaf * into.count, into.count));
      }
    });
    add_up(found);
  }
  [[nodiscard]] const view& now() const noexcept { return now_; }
  /// How many elements the largest bin has.
  [[nodiscard]] std::size_t largest() const noexcept { return largest_; }

 private:
  /// Elements of a leaf, a multiple of 8. Longer leaves have longer pieces of bins, each of which is a get. 256 leaves
  /// are enough to share, and four per worker where each has its part.
  static std::size_t length_of(const placement& at, std::size_t size) noexcept {
    constexpr std::size_t most = std::max<std::size_t>((std::size_t{1} << 22) / sizeof(T), 8);
    const std::size_t leaves = at.at_owners() ? std::min<std::size_t>(4 * at.workers(), 256) : 256;
    return (std::clamp(size / leaves, cutoff_of<T>(par), most) + 7) / 8 * 8;
  }
  /// Brings the elements [BEGIN, END) into the order of their bins. Returns where each bin ends there.
  static std::vector<std::uint32_t> throw_leaf(const execution_policy& how, global_span<T> a, std::size_t begin,
                                               std::size_t end, const bins& into) {
    std::vector<std::uint8_t> bin(end - begin);
    std::vector<std::uint32_t> next(into.count + 1);
    for (std::size_t i = begin; i < end; i += 8) {
      std::uint64_t eight = into.eight_from(i);
      for (std::size_t k = i; k < std::min(i + 8, end); ++k, eight >>= 8) {
        bin[k - begin] = static_cast<std::uint8_t>(into.of(eight));
        ++next[into.of(eight) + 1];
      }
    }
    for (std::size_t b = 1; b < next.size(); ++b) next[b] += next[b - 1];
    leaf_memory<T> here(end - begin);
    const auto take = [&](std::size_t first, std::size_t n, const T* at) {
      for (std::size_t i = 0; i < n; ++i) std::construct_at(here.data() + next[bin[first - begin + i]]++, at[i]);
    };
    sweep(how, begin, end, take, input(a));
    const auto give = [&](std::size_t first, std::size_t n, T* at) {
      std::copy_n(here.data() + (first - begin), n, at);
    };
    sweep(how, begin, end, give, output<T>{a});
    next.pop_back();  // each has come to its end by now
    return next;
  }
  /// FOUND has the bins' ends by leaf. A task needs them by bin.
  void add_up(global_span<std::uint32_t> found) {
    const std::size_t count = found.size() / leaves_;
    std::vector<std::uint32_t> by_leaf(found.size()), by_bin(found.size());
    get(found, by_leaf);
    std::vector<std::size_t> begins(count + 1);
    for (std::size_t leaf = 0; leaf < leaves_; ++leaf) {
      for (std::size_t b = 0; b < count; ++b) {
        by_bin[b * leaves_ + leaf] = by_leaf[leaf * count + b];
        begins[b + 1] += by_leaf[leaf * count + b];
      }
    }
    put(by_bin, now_.ends_);
    put(begins, now_.begins_);
    for (std::size_t b = 0; b < count; ++b) largest_ = std::max(largest_, begins[b + 1] - begins[b]);
  }

  std::size_t leaves_;
  scratch<std::uint32_t> ends_;
  scratch<std::size_t> begins_;
  view now_;
  std::size_t largest_ = 0;
};

/// Shuffles what is in A, whose tasks begin as AT says. The result is in A, or, if ACROSS, in B. B is as long as A, or
/// empty where it is not given: then each bin has memory of its own.
template <class T>
void shuffle_in_tasks(const execution_policy& how, const placement& at, global_span<T> a, global_span<T> b, bool across,
                      std::uint64_t seed) {
  constexpr std::size_t small = small_shuffle<T>;
  if (a.size() <= small) {
    leaf_memory<T> here(a.size());
    get(a, here.span());
    shuffle_here(here.data(), a.size(), seed);
    put(here.span(), across ? b : a);
    return;
  }
  const bins into(seed, a.size(), small);
  const thrown<T> all(how, at, a, into);
  std::optional<scratch_of_parts<T>> memory;
  if (b.empty()) memory.emplace(into.count);
  const std::size_t serial = std::max<std::size_t>(cutoff_of<T>(how) / (a.size() / into.count), 1);
  const auto rooms = memory ? memory->all() : global_span<global_span<T>>();
  in_tasks_at(at, into.count, serial, [=, of = all.now()](std::size_t first, std::size_t last) {
    for (std::size_t bin = first; bin < last; ++bin) {
      const std::size_t size = of.size_of(bin);
      const global_span<T> room = rooms.empty() ? b.subspan(of.begin_of(bin), size) : own_memory<T>(size);
      if (!rooms.empty()) store(&rooms[bin], room);
      of.gather(bin, small, [&](std::size_t done, std::size_t n, T* here) {
        if (size <= small) shuffle_here(here, n, into.seed_of(bin));
        put(std::span<const T>(here, n), room.subspan(done, n));
      });
    }
  });
  if (across && all.largest() <= small) return;
  in_tasks_at(at, into.count, serial,
              [=, of = all.now(), part = in_part(how, at)](std::size_t first, std::size_t last) {
                for (std::size_t bin = first; bin < last; ++bin) {
                  const std::size_t begin = of.begin_of(bin), size = of.size_of(bin);
                  const global_span<T> place = a.subspan(begin, size);
                  const global_span<T> room = rooms.empty() ? b.subspan(begin, size) : load(&rooms[bin]);
                  if (size > small) {
                    shuffle_in_tasks(part, placement(a, affinity::none), room, place, !across, into.seed_of(bin));
                  } else if (!across) {
                    tobi::copy(part, room, place);
                  }
                }
              });
}

/// Shuffles A with SCRATCH, or with memory of its own.
template <class T>
void shuffle(const execution_policy& how, global_span<T> a, std::optional<global_span<T>> given, std::uint64_t seed) {
  static_assert(
      detail::travels<T>,
      "tobi: shuffle() copies bytes: the copy constructor and the destructor of its elements must be trivial");
  if (a.size() < 2) return;
  with_one_error([&] {
    const placement at = home_of(how, small_shuffle<T>, a.size(), input(a));
    if (given || at.at_owners() || a.size() <= small_shuffle<T>) {
      shuffle_in_tasks(how, at, a, given ? given->first(a.size()) : global_span<T>(), false, seed);
    } else {
      const scratch<T> memory(a.size());
      shuffle_in_tasks(how, at, a, memory.span(), false, seed);
    }
  });
}

}  // namespace pieces

/// Puts A into a random order, which SEED and the number of elements determine. SCRATCH is at least as long (or a
/// std::length_error is thrown), does not overlap A, and has undefined contents afterwards. Elements are copied by
/// their bytes.
template <class T>
void shuffle(const execution_policy& how, global_span<T> a, global_span<T> scratch, std::uint64_t seed) {
  pieces::check_sizes("shuffle", a.size(), scratch.size());
  pieces::shuffle(how, a, std::optional(scratch), seed);
}
/// The same with par.
template <class T>
void shuffle(global_span<T> a, global_span<T> scratch, std::uint64_t seed) {
  tobi::shuffle(par, a, scratch, seed);
}
/// The same with scratch of its own: as long as A, in the heaps of its owners where their parts begin there
/// (execution_policy::where), else in that of the worker that runs the caller.
/// @code
/// const auto a = tobi::allocate_all<int>(1000);
/// const long sum = tobi::run([=] {
///   tobi::iota(a, 0);
///   tobi::shuffle(a, 42);
///   return tobi::reduce(a, 0L);
/// });
/// if (rt.rank() == 0) std::printf("%ld\n", sum);  // prints 499500
/// @endcode
template <class T>
void shuffle(const execution_policy& how, global_span<T> a, std::uint64_t seed) {
  pieces::shuffle<T>(how, a, std::nullopt, seed);
}
/// The same with par.
template <class T>
void shuffle(global_span<T> a, std::uint64_t seed) {
  tobi::shuffle(par, a, seed);
}

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
