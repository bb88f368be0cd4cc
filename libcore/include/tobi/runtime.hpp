// SPDX-License-Identifier: Apache-2.0
// Start and end of a job, and the way from SPMD code into fork-join code.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tobi/detail/combining.hpp"
#include "tobi/detail/everywhere.hpp"
#include "tobi/error.hpp"
#include "tobi/statistics.hpp"

namespace tobi {

namespace detail {
/// The elements of a range. Contiguous ranges, as a vector and an array are, have them in one piece.
template <class Range, class = void>
struct elements {
  using type = std::byte;  // it is no range
  static constexpr bool contiguous = false;
};
template <class Range>
struct elements<Range, std::void_t<decltype(std::begin(std::declval<const Range&>()))>> {
  using type = std::iter_value_t<decltype(std::begin(std::declval<const Range&>()))>;
  static constexpr bool contiguous = requires(const Range& range) {
    { std::data(range) } -> std::convertible_to<const type*>;
    std::size(range);
  };
};
template <class Range>
using element_in = typename elements<Range>::type;
}  // namespace detail

/// What a program may decide itself. The TOBI_* environment decides the rest.
struct options {
  int workers = 0;  // of this machine, the caller included; 0: TOBI_WORKERS, or one per core; or one_per_process
};
/// For options::workers: each process that a launcher started is one worker, whatever their number on a host; without a
/// launcher the program is the only worker.
inline constexpr int one_per_process = -1;

/// The job, from constructor to destructor. Without a launcher the constructor forks the other workers, so every worker
/// returns from it and runs the rest of main (SPMD). A program makes one, outside of tasks, before any thread. An error
/// of the environment or of the machine ends the program with one sentence, and with status 2 for what the user typed.
class runtime {
 public:
  /// Starts the job as the environment says. The arguments are those of main.
  runtime(int argc, char** argv);
  /// Starts the job as CHOSEN says, and as the environment says where CHOSEN leaves it open.
  explicit runtime(const options& chosen = {});
  /// Collective: waits for all workers. Prints the statistics with TOBI_STATS=1.
  ~runtime();
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  /// Returns the rank of this worker, from 0 on.
  [[nodiscard]] int rank() const noexcept;
  /// Returns the number of workers of the job. Each runs main.
  [[nodiscard]] int size() const noexcept;
  /// Returns the number of workers that run tasks: all of them, except one per node with TOBI_AMO_SERVER=worker over a
  /// fabric without atomics.
  [[nodiscard]] int computing() const noexcept;
  /// Returns the number of nodes, as the transports see them: TOBI_NODES splits a machine.
  [[nodiscard]] int nodes() const noexcept;
  /// Collective: every worker returns after every worker has called.
  void barrier();

  // --- what workers bring together, outside of run(). T is copied by its bytes: the compiler refuses others ------
  /// Collective: returns every worker's VALUE, in the order of the ranks, on every worker. Of strings and vectors
  /// gather() brings the elements.
  /// @code
  /// const std::vector<int> all = rt.all_gather(10 * rt.rank());
  /// const int sum = rt.reduce(10 * rt.rank());
  /// const int largest = rt.reduce(10 * rt.rank(), [](int a, int b) { return a > b ? a : b; });
  /// if (rt.rank() == 0) std::printf("%d\n", all.back() == largest && sum >= largest);  // prints 1
  /// @endcode
  template <class T>
  [[nodiscard]] std::vector<T> all_gather(const T& value);
  /// Collective: returns combine(... combine(combine(v0, v1), v2) ...) of the workers' VALUEs, on every worker. The
  /// order is that of the ranks, so a sum of floating-point numbers is the same in each run. Where T is a std::array,
  /// also of arrays, that COMBINE does not take, its elements are combined one by one:
  /// `rt.reduce(std::array<long, 3>{...})` has three sums.
  template <class T, class Combine = std::plus<>>
  [[nodiscard]] T reduce(const T& value, const Combine& combine = {});
  /// Collective: returns the elements of all workers' PARTs, which are contiguous ranges of any length, in the order of
  /// the ranks, on worker ROOT. Returns nothing on the others. A string is a range of its characters. Of any other
  /// container the elements are copied to a vector first: of a map, the pairs. What a worker brings must fit into its
  /// registered heap.
  /// @code
  /// const std::map<int, long> squares{{rt.rank(), rt.rank() * 1L * rt.rank()}};
  /// const std::vector<std::pair<int, long>> flat(squares.begin(), squares.end());
  /// const auto all = rt.gather(flat);
  /// if (rt.rank() == 0) std::printf("%d\n", static_cast<int>(all.size()) == rt.size());  // prints 1
  /// @endcode
  template <class Range>
  [[nodiscard]] std::vector<detail::element_in<Range>> gather(const Range& part, int root = 0);
  /// Collective: returns worker ROOT's VALUE on every worker. What has a length lies in global memory instead:
  /// broadcast the length, allocate_all() as much, and ROOT writes it before a barrier().
  template <class T>
  [[nodiscard]] T broadcast(const T& value, int root = 0);
  /// Collective: worker 0 writes all workers' TEXTs to standard output, in the order of the ranks.
  void print(std::string_view text);
  /// Collective, outside of run(): returns the sum over all workers since the start or the last reset. EACH is null, or
  /// has room for size() of them, and gets each worker's own by rank.
  [[nodiscard]] statistics stats(statistics* each = nullptr);
  /// Collective, outside of run(): counts from zero again.
  void reset_stats();
  /// Returns the name of what moves bytes between nodes, or within the one node.
  [[nodiscard]] std::string_view transport_name() const noexcept;
  /// Returns what TOBI_SCHED has chosen.
  [[nodiscard]] std::string_view sched_name() const noexcept;
  /// Returns what TOBI_DEQUE has chosen.
  [[nodiscard]] std::string_view deque_name() const noexcept;
  /// Returns false with TOBI_LOCAL_COLLECTION=0.
  [[nodiscard]] bool local_collection() const noexcept;
};

namespace detail {

/// For the bytes that are taken: those of all workers, of none, or of one rank.
inline constexpr int of_all = -1;
inline constexpr int of_none = -2;

extern "C" {
/// Collective: brings BYTES at MINE. SIZES gets the sizes of what OF names, by rank. EACH: what each must have; 0: any.
void tobi_gather_begin(const void* mine, std::uint64_t bytes, int of, std::uint64_t* sizes, std::uint64_t each);
/// Collective, behind it: copies what OF has named to INTO, in the order of the ranks; null: nothing.
void tobi_gather_end(void* into);
/// Ends the job where there is no worker ROOT.
void tobi_gather_check_root(const char* call, int root);
}

/// The elements of FROM, which are bytes of T.
template <class T>
std::vector<T> elements_of(const std::vector<std::byte>& from) {
  std::vector<T> all;
  all.reserve(from.size() / sizeof(T));
  for (std::size_t at = 0; at + sizeof(T) <= from.size(); at += sizeof(T)) {
    room_for<T> one;
    std::memcpy(static_cast<void*>(std::addressof(one.value)), from.data() + at, sizeof(T));
    all.push_back(one.value);
  }
  return all;
}

/// Runs ROOT and leaves its result in RESULT on every worker. Throws task_error on every worker if the root threw.
void run_root(const root& what, void* result);

}  // namespace detail

/// Runs FUNCTION as the one root task, on the workers together, and returns its result on every worker. Collective:
/// FUNCTION is taken from rank 0. Its closure and result must have trivial copy constructors and destructors. Every
/// task that the root spawned, and every future, must be joined before it returns. A task must not call it.
/// @code
/// const int answer = tobi::run([n = 21] { return 2 * n; });  // one task, on one of the workers
/// if (rt.rank() == 0) std::printf("%d\n", answer);           // prints 42
/// @endcode
template <class Function>
detail::result_of<std::decay_t<Function>> run(Function&& function) {
  const std::decay_t<Function>& given = function;
  return detail::call_by_bytes(given, &detail::run_root);
}

template <class T>
std::vector<T> runtime::all_gather(const T& value) {
  static_assert(detail::travels<T>,
                "tobi: all_gather() copies values by their bytes: give numbers or plain structures; of a string or a "
                "vector gather() brings the elements, and all_gather() of the sizes says where each begins");
  if constexpr (detail::travels<T>) {
    std::vector<std::uint64_t> sizes(static_cast<std::size_t>(size()));
    detail::tobi_gather_begin(std::addressof(value), sizeof(T), detail::of_all, sizes.data(), sizeof(T));
    std::vector<std::byte> all(sizes.size() * sizeof(T));
    detail::tobi_gather_end(all.data());
    return detail::elements_of<T>(all);
  } else {
    __builtin_unreachable();
  }
}
template <class T, class Combine>
T runtime::reduce(const T& value, const Combine& combine) {
  static_assert(detail::travels<T>,
                "tobi: reduce() copies values by their bytes: give a number, a std::array or a plain structure; of a "
                "string or a vector gather() brings the elements to one worker");
  static_assert(!detail::travels<T> || detail::combines_elements<Combine, T>,
                "tobi: reduce(value) adds up by operator+, which this type has not, and reduce(value, combine) calls "
                "combine(a, b): give a combine that takes two values and returns one");
  if constexpr (detail::travels<T> && detail::combines_elements<Combine, T>) {
    const std::vector<T> all = gather(std::span<const T>(std::addressof(value), 1));
    if (rank() != 0) return broadcast(value);
    T sum = all.front();
    for (std::size_t r = 1; r < all.size(); ++r) {
      const T next = all[r];
      sum = detail::combined(sum, next, combine);
    }
    return broadcast(sum);
  } else {
    __builtin_unreachable();
  }
}
template <class Range>
std::vector<detail::element_in<Range>> runtime::gather(const Range& part, int root) {
  using T = detail::element_in<Range>;
  constexpr bool contiguous = detail::elements<Range>::contiguous;
  static_assert(contiguous,
                "tobi: gather() takes elements in one piece: copy those of another container to a vector first, as by "
                "std::vector<std::pair<K, V>> flat(m.begin(), m.end()) of a map; all_gather() takes a single value");
  static_assert(!contiguous || detail::travels<T>,
                "tobi: gather() copies elements by their bytes: give numbers, pairs of such, or plain structures; of "
                "strings gather the lengths, and then the characters in a row");
  if constexpr (contiguous && detail::travels<T>) {
    detail::tobi_gather_check_root("gather", root);
    const bool takes = rank() == root;
    std::vector<std::uint64_t> sizes(takes ? static_cast<std::size_t>(size()) : 0);
    detail::tobi_gather_begin(std::data(part), std::size(part) * sizeof(T), takes ? detail::of_all : detail::of_none,
                              sizes.data(), 0);
    std::uint64_t bytes = 0;
    for (const std::uint64_t s : sizes) bytes += s;
    std::vector<std::byte> all(bytes);
    detail::tobi_gather_end(takes ? all.data() : nullptr);
    return detail::elements_of<T>(all);
  } else {
    __builtin_unreachable();
  }
}
template <class T>
T runtime::broadcast(const T& value, int root) {
  static_assert(detail::travels<T>,
                "tobi: broadcast() copies a value by its bytes: give a number or a plain structure; of a string or a "
                "vector broadcast the size, and let the root write the elements to a tobi::allocate_all of that size");
  if constexpr (detail::travels<T>) {
    detail::tobi_gather_check_root("broadcast", root);
    std::vector<std::uint64_t> sizes(static_cast<std::size_t>(size()));
    const bool brings = rank() == root;
    detail::tobi_gather_begin(std::addressof(value), brings ? sizeof(T) : 0, root, sizes.data(), sizeof(T));
    detail::room_for<T> got;
    detail::tobi_gather_end(std::addressof(got.value));
    return got.value;
  } else {
    __builtin_unreachable();
  }
}

}  // namespace tobi
