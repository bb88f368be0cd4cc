// Access to global memory (SC'23, section 3.3). A checkout makes a range readable or writable here, at its global
// address: memory of the same node as it is, memory of other nodes through a cache. The range is used like any other
// memory until the checkin.
//
//   read        the bytes are there; they must not be changed
//   write       every byte will be written; until then they may be anything
//   read_write  the bytes are there, and all of them count as written
//
// Tasks that access the same bytes, one of them not reading, must be ordered by spawns and joins (no data races). Then
// each reads what was written last. read_write is a write, also where nothing is changed.
//
// A checkout ends before the task forks, joins or ends, on the worker where it began. Within one worker they may
// overlap and nest. None migrates the caller. Errors (memory that is not global or was freed, more than the cache
// holds, a checkin that matches no checkout, a checkout held across a fork or a join that moves the task) end the job
// with one sentence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "tobi/detail/global.hpp"
#include "tobi/global_ptr.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

enum class access : std::uint32_t { read = 0, write = 1, read_write = 2 };

/// The same as types, so that what is read comes as const: checkout(p, n, tobi::mode::read).
namespace mode {
template <access How>
struct tag {
  static constexpr access value = How;
};
inline constexpr tag<access::read> read{};
inline constexpr tag<access::write> write{};
inline constexpr tag<access::read_write> read_write{};
}  // namespace mode

/// The pair of the paper: each checkout_raw is followed by one checkin_raw with the same arguments.
inline void checkout_raw(const void* at, std::size_t bytes, access how) {
  global_calls::checkout(at, bytes, static_cast<std::uint32_t>(how));
}
inline void checkin_raw(const void* at, std::size_t bytes, access how) {
  global_calls::checkin(at, bytes, static_cast<std::uint32_t>(how));
}

/// A range that is checked out as long as this lives. It is a local of the task that made it, and moves, but is not
/// copied.
template <class T, access How>
class [[nodiscard]] checked_out {
 public:
  using element_type = std::conditional_t<How == access::read, const T, T>;

  checked_out(global_ptr<T> first, std::size_t count, bool wait) : first_(first.raw()), count_(count), waits_(!wait) {
    const std::uint32_t how = static_cast<std::uint32_t>(How);
    wait ? global_calls::checkout(first_, bytes(), how) : global_calls::checkout_nb(first_, bytes(), how);
  }
  checked_out(checked_out&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)),
        count_(std::exchange(other.count_, 0)),
        waits_(std::exchange(other.waits_, false)) {}
  checked_out& operator=(checked_out&& other) noexcept {
    if (this != &other) {
      checkin();
      first_ = std::exchange(other.first_, nullptr);
      count_ = std::exchange(other.count_, 0);
      waits_ = std::exchange(other.waits_, false);
    }
    return *this;
  }
  ~checked_out() { checkin(); }

  /// Ends the checkout before its time. A second call does nothing.
  void checkin() noexcept {
    if (first_ == nullptr) return;
    global_calls::checkin(first_, bytes(), static_cast<std::uint32_t>(How));
    first_ = nullptr;
    count_ = 0;
  }
  /// After checkout_nb: waits until the bytes are there. data() and the rest call it.
  void wait() {
    if (std::exchange(waits_, false)) global_calls::wait();
  }

  [[nodiscard]] element_type* data() {
    wait();
    return first_;
  }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] element_type* begin() { return data(); }
  [[nodiscard]] element_type* end() { return data() + count_; }
  [[nodiscard]] element_type& operator[](std::size_t i) { return data()[i]; }
  [[nodiscard]] element_type& operator*() { return *data(); }
  [[nodiscard]] element_type* operator->() { return data(); }

 private:
  [[nodiscard]] std::size_t bytes() const noexcept { return count_ * sizeof(T); }

  T* first_;
  std::size_t count_;
  bool waits_;
};

/// Checks out COUNT elements from FIRST on. Waits until the bytes are there.
template <class T, access How>
checked_out<T, How> checkout(global_ptr<T> first, std::size_t count, mode::tag<How>) {
  return {first, count, true};
}
template <class T, access How>
checked_out<T, How> checkout(global_span<T> what, mode::tag<How> how) {
  return checkout(what.data(), what.size(), how);
}
/// Starts to fetch, and returns: the bytes are there after wait(), or at the first use of the result.
template <class T, access How>
checked_out<T, How> checkout_nb(global_ptr<T> first, std::size_t count, mode::tag<How>) {
  return {first, count, false};
}
template <class T, access How>
checked_out<T, How> checkout_nb(global_span<T> what, mode::tag<How> how) {
  return checkout_nb(what.data(), what.size(), how);
}

/// What a loop over global memory may check out at a time, wherever it lies: a few ranges of so many bytes always fit
/// into the cache. The same on every worker.
[[nodiscard]] inline std::size_t chunk_bytes() { return global_calls::chunk_bytes(); }

/// One element, read or written by value.
template <class T>
[[nodiscard]] std::remove_const_t<T> load(global_ptr<T> from) {
  // Looking at what is here already needs no checkout: nothing of this worker comes between the answer and the copy.
  if constexpr (std::is_trivially_copyable_v<T>) {
    if (global_calls::readable(from.raw(), sizeof(T))) return *from.raw();
  }
  return *checkout(from, 1, mode::read);
}
template <class T>
void store(global_ptr<T> to, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>, "tobi: store() writes bytes; construct other objects in a checkout");
  *checkout(to, 1, mode::write) = value;
}

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
