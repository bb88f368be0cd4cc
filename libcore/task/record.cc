// SPDX-License-Identifier: Apache-2.0
// What a record says of itself: whether all that its completion writes has been read.
#include "libcore/task/record.hpp"

#include <atomic>

#include "libcore/base/log.hpp"
#include "libcore/net/fabric.hpp"

namespace tobi::tasks {

namespace {

constexpr std::size_t word_bytes = sizeof(std::uint64_t);
constexpr std::size_t first_marked = offsetof(record, value);
constexpr std::size_t marked_words = (sizeof(record) - first_marked) / word_bytes;
static_assert(first_marked == record_head + 2 * word_bytes && marked_words == 4, "a bit each in unwritten_alike");

std::uint64_t marked(const record& in, std::size_t i) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, reinterpret_cast<const std::byte*>(&in) + first_marked + i * word_bytes, word_bytes);
  return word;
}

}  // namespace

void make_unwritten(record& here, record_status made_for) noexcept {
  here.word = 0;
  here.shares = 1;
  here.status = made_for;
  here.unwritten_alike = 0;
  here.set_by(0);
  here.serial = 0;
  here.done_ns = 0;
  auto* at = reinterpret_cast<std::byte*>(&here) + first_marked;
  for (std::size_t i = 0; i < marked_words; ++i) std::memcpy(at + i * word_bytes, &unwritten, word_bytes);
}

void seal(record& made) noexcept {
  unsigned alike = 0;
  for (std::size_t i = 0; i < marked_words; ++i) alike |= marked(made, i) == unwritten ? 1u << i : 0u;
  made.unwritten_alike = static_cast<std::uint8_t>(alike & 15);
}

bool is_written(const record& read) noexcept {
  if (!is_result(read.status)) return false;  // then the bits are not those of the completion either
  for (std::size_t i = 0; i < marked_words; ++i) {
    if (marked(read, i) == unwritten && (read.unwritten_alike >> i & 1u) == 0) return false;
  }
  return true;
}

bool read_if_done(net::fabric& net, net::location where, record& into) {
  if (net.is_local(where)) {
    auto* here = static_cast<record*>(net.local(where));
    // Acquire: what the record says is behind its word, in the order of the completion's chain or of its release.
    if (!is_done(std::atomic_ref(here->word).load(std::memory_order_acquire))) return false;
    std::memcpy(&into, here, sizeof into);
    return true;
  }
  net.get(where, &into, sizeof into);
  if (!is_done(into.word)) return false;
  read_what_is_left(net, where, into);
  return true;
}

void read_what_is_left(net::fabric& net, net::location where, record& into) {
  if (is_written(into)) return;
  net.get(where, &into, sizeof into);
  TOBI_ASSERT(is_written(into), "a worker that has seen a record done reads the rest of it after that");
}

}  // namespace tobi::tasks
