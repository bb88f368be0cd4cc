// SPDX-License-Identifier: Apache-2.0
// What the programs of fork_programs.sh are made of: values of many sizes and alignments that nobody can compute again,
// and their hashes.
#pragma once

#include <alloca.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <tobi/tobi.hpp>

using word = std::uint64_t;
using v2 = double __attribute__((vector_size(16)));
using v4 = double __attribute__((vector_size(32)));
using v8 = double __attribute__((vector_size(64)));
using wide_int = unsigned __int128;

inline word mix(word a, word b = 0) {
  word x = a * 0x9e3779b97f4a7c15U + b;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

template <int Bytes, int Align>
struct alignas(Align) blob {
  unsigned char bytes[Bytes];
};
template <class V>
struct box {
  V v;
};
struct pair {
  const float a;
  const double b;
};

[[gnu::noinline]] inline void fill(void* to, std::size_t n, word seed) {
  auto* bytes = static_cast<volatile unsigned char*>(to);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<unsigned char>(mix(seed, i));
}
[[gnu::noinline]] inline word hash_bytes(const void* of, std::size_t n) {
  const auto* bytes = static_cast<const volatile unsigned char*>(of);
  word h = n;
  for (std::size_t i = 0; i < n; ++i) h = mix(h, bytes[i]);
  return h;
}
// Wrong at once where the compiler, who knows the alignment, would leave the test out.
template <class T>
word misplaced(const T& x) {
  auto at = reinterpret_cast<std::uintptr_t>(&x);
  asm("" : "+r"(at));
  return at % alignof(T);
}

template <class T>
struct value;
template <class T>
concept number = std::is_arithmetic_v<T> || std::is_same_v<T, wide_int>;
template <number T>
struct value<T> {
  [[gnu::noinline]] static T make(word s) {
    if constexpr (std::is_same_v<T, wide_int>) return static_cast<wide_int>(mix(s)) << 64 | mix(s, 1);
    return static_cast<T>(mix(s) % 1000 + 1);
  }
  static word hash(const T& x) {
    if constexpr (std::is_same_v<T, wide_int>) return mix(static_cast<word>(x >> 64), static_cast<word>(x));
    return mix(static_cast<word>(x));
  }
};
template <class V>
struct vector_value {
  [[gnu::noinline]] static V make(word s) {
    V v;
    for (unsigned i = 0; i < sizeof v / 8; ++i) v[i] = static_cast<double>(mix(s, i) % 1000);
    return v;
  }
  static word hash(const V& v) {
    word h = misplaced(v);
    for (unsigned i = 0; i < sizeof v / 8; ++i) h = mix(h, static_cast<word>(v[i]));
    return h;
  }
};
template <>
struct value<v2> : vector_value<v2> {};
template <>
struct value<v4> : vector_value<v4> {};
template <>
struct value<v8> : vector_value<v8> {};
template <class V>
struct value<box<V>> {
  [[gnu::noinline]] static box<V> make(word s) { return {value<V>::make(s)}; }
  static word hash(const box<V>& b) { return value<V>::hash(b.v); }
};
template <>
struct value<pair> {
  [[gnu::noinline]] static pair make(word s) { return {value<float>::make(s), value<double>::make(s + 1)}; }
  static word hash(const pair& p) { return mix(value<float>::hash(p.a), value<double>::hash(p.b)); }
};
template <int B, int A>
struct value<blob<B, A>> {
  [[gnu::noinline]] static blob<B, A> make(word s) {
    blob<B, A> b;
    fill(b.bytes, B, s);
    return b;
  }
  static word hash(const blob<B, A>& b) { return mix(hash_bytes(b.bytes, B), misplaced(b)); }
};

template <class T>
T make(word s) {
  return value<T>::make(s);
}
template <class T>
word hash(const T& x) {
  return value<T>::hash(x);
}
