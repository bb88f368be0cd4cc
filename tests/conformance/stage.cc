#include "tests/conformance/rules.hpp"

namespace tobi::conformance {

using transports::op;
using transports::op_kind;

status stage::posted(int peer, std::span<const op> ops) const {
  status s;
  while ((s = fabric.post(peer, ops)) == status::again) fabric.progress();
  return s;
}

status stage::done(int peer, std::span<const op> ops) const {
  status s = posted(peer, ops);
  if (s != status::ok) return s;
  while ((s = fabric.flush(peer)) == status::again) {
  }
  return s;
}

op stage::put(int peer, std::uint64_t at, const void* from, std::uint64_t n) const {
  return {op_kind::put, false, region(peer), at, const_cast<void*>(from), n, 0, 0};
}
op stage::get(int peer, std::uint64_t at, void* to, std::uint64_t n) const {
  return {op_kind::get, false, region(peer), at, to, n, 0, 0};
}
op stage::add(int peer, std::uint64_t at, std::uint64_t operand, std::uint64_t* old) const {
  return {op_kind::fetch_add, false, region(peer), at, old, 8, operand, 0};
}
op stage::swap(int peer, std::uint64_t at, std::uint64_t expected, std::uint64_t desired, std::uint64_t* old) const {
  return {op_kind::compare_swap, false, region(peer), at, old, 8, desired, expected};
}

}  // namespace tobi::conformance
