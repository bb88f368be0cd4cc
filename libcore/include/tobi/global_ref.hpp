// SPDX-License-Identifier: Apache-2.0
// The type of `*p` and `p[i]` for a pointer to global memory, and of `a[i]` for a span or a vector: a reference that
// loads where it is read and stores where it is assigned to. So global pointers, and the iterators of spans and
// vectors, work with the standard library's algorithms.
//
//   long x = *p;          *p = 5;          a[3] += x;          for (const long y : a) ...          fetch_add(&a[3], x);
//
// Each access is a checkout of its own: some 10 ns where the bytes are here, and a round trip or two where they are
// not. That is right for a few elements, as in std::lower_bound. A loop over many checks out a range (checkout.hpp), or
// is one of algorithm.hpp.
//
// A member of a structure is read as a[3].get().x, and written as checkout(&a[3], 1, mode::read_write)->x = 5: no class
// can have the members of another one, so of a[3].x the compiler says that a global_ref has no member x.
//
// As with std::vector<bool>, `auto x = *p` is another reference, while `long x = *p` and `auto x = load(p)` are values.
// Data races and errors are those of load() and store(). None migrates the caller.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <cstddef>
#include <type_traits>
#include <utility>

#include "tobi/checkout.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

namespace pieces {
/// What VALUE stands for: the element, of a global reference.
template <class T>
const T& value_of(const T& value) noexcept {
  return value;
}
template <class T>
std::remove_const_t<T> value_of(const global_ref<T>& at) {
  return at.get();
}
template <class T>
inline constexpr bool to_structure = false;
template <class T>
inline constexpr bool to_structure<global_ref<T>> = std::is_class_v<T>;
template <class A, class B>
concept compared_by_element = to_structure<A> || to_structure<B>;
/// False: what a function that wants an address says of a reference.
template <class T>
inline constexpr bool is_address = false;
}  // namespace pieces

/// A reference to a T in global memory. A reference to a const T only reads. T is copied by its bytes where it is
/// written. It is a plain value as global_ptr is: capture it, return it.
template <class T>
class global_ref {
 public:
  /// The type of the element.
  using value_type = std::remove_const_t<T>;

  /// Refers to the element at AT.
  constexpr explicit global_ref(global_ptr<T> at) noexcept : at_(at) {}
  /// A copy refers to the same element.
  global_ref(const global_ref&) = default;

  /// Returns the element as it is now: for members of a structure, `a[i].get().x`.
  [[nodiscard, gnu::always_inline]] value_type get() const { return load(at_); }
  /// Returns the element as it is now.
  [[gnu::always_inline]] operator value_type() const { return get(); }
  /// Returns the address of the element: &a[i].
  [[nodiscard]] constexpr global_ptr<T> operator&() const noexcept { return at_; }
  /// Does not compile: the element is there already.
  template <class U = T>
  value_type operator*() const {
    static_assert(pieces::is_address<U>,
                  "tobi: a[i] is the element, and &a[i] its address: write a[i] in place of *a[i]");
    return get();
  }

  /// Assigns to the element. Assignments are const, because they change the element and not the reference.
  [[gnu::always_inline]] const global_ref& operator=(const value_type& value) const requires(!std::is_const_v<T>) {
    store(at_, value);
    return *this;
  }
  /// Copies the element.
  const global_ref& operator=(const global_ref& other) const requires(!std::is_const_v<T>) {
    return *this = other.get();
  }
  /// Copies the element, and converts it.
  template <class U>
  const global_ref& operator=(const global_ref<U>& other) const requires(!std::is_const_v<T>) {
    return *this = static_cast<value_type>(other.get());
  }

  // One checkout for the reading and the writing.
#define TOBI_COMPOUND(ASSIGN, OP)                        \
  template <class U>                                     \
  const global_ref& operator ASSIGN(const U& by) const { \
    const auto& operand = pieces::value_of(by);          \
    return changed([&](T& element) {                     \
      if constexpr (std::is_arithmetic_v<T>) {           \
        element = static_cast<T>(element OP operand);    \
      } else {                                           \
        element ASSIGN operand;                          \
      }                                                  \
    });                                                  \
  }
  TOBI_COMPOUND(+=, +)
  TOBI_COMPOUND(-=, -)
  TOBI_COMPOUND(*=, *)
  TOBI_COMPOUND(/=, /)
  TOBI_COMPOUND(%=, %)
  TOBI_COMPOUND(&=, &)
  TOBI_COMPOUND(|=, |)
  TOBI_COMPOUND(^=, ^)
  TOBI_COMPOUND(<<=, <<)
  TOBI_COMPOUND(>>=, >>)
#undef TOBI_COMPOUND
  /// Changes the element under one checkout.
  const global_ref& operator++() const {
    return changed([](T& element) { ++element; });
  }
  /// Changes the element under one checkout.
  const global_ref& operator--() const {
    return changed([](T& element) { --element; });
  }
  /// Returns the element as it was before.
  value_type operator++(int) const {
    const value_type before = get();
    ++*this;
    return before;
  }
  /// Returns the element as it was before.
  value_type operator--(int) const {
    const value_type before = get();
    --*this;
    return before;
  }

  /// Exchanges the elements.
  friend void swap(global_ref a, global_ref b) requires(!std::is_const_v<T>) {
    const value_type was = a.get();
    a = b;
    b = was;
  }
  /// Exchanges the element and a local.
  friend void swap(global_ref a, value_type& b) requires(!std::is_const_v<T>) {
    const value_type was = a.get();
    a = b;
    b = was;
  }
  /// Exchanges a local and the element.
  friend void swap(value_type& a, global_ref b) requires(!std::is_const_v<T>) { swap(b, a); }

 private:
  template <class Change>
  const global_ref& changed(const Change& change) const {
    static_assert(!std::is_const_v<T>, "tobi: this global reference is to a const element");
    static_assert(detail::travels<T>, "tobi: a global reference writes bytes; change other objects in a checkout");
    change(*checkout(at_, 1, mode::read_write));
    return *this;
  }

  global_ptr<T> at_;
};

/// A function that takes an address, called with an element: it does not compile, and says what to write.
template <class T>
T load(global_ref<T> element) {
  static_assert(pieces::is_address<T>,
                "tobi: a[i] is the element, and &a[i] its address: write a[i] in place of load(a[i])");
  return element.get();
}
/// The same.
template <class T>
void store(global_ref<T>, const std::type_identity_t<T>&) {
  static_assert(pieces::is_address<T>,
                "tobi: a[i] is the element, and &a[i] its address: write a[i] = x in place of store(a[i], x)");
}
/// The same.
template <class T, access How>
checked_out<T, How> checkout(global_ref<T> element, std::size_t count, mode::tag<How> how) {
  static_assert(pieces::is_address<T>,
                "tobi: a[i] is the element, and &a[i] its address: write checkout(&a[i], n, how) in place of "
                "checkout(a[i], n, how)");
  return checkout(&element, count, how);
}

// Numbers compare by themselves, since a reference converts to one. The operators of structures are often templates or
// members, which do not see that: these look at the elements.
#define TOBI_COMPARISON(OP)                  \
  template <class A, class B>                \
  requires pieces::compared_by_element<A, B> \
  [[nodiscard]] bool operator OP(const A& a, const B& b) { return pieces::value_of(a) OP pieces::value_of(b); }
TOBI_COMPARISON(==)
TOBI_COMPARISON(<)
TOBI_COMPARISON(>)
TOBI_COMPARISON(<=)
TOBI_COMPARISON(>=)
#undef TOBI_COMPARISON

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
