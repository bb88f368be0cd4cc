// SPDX-License-Identifier: Apache-2.0
// What a transport claims besides its operations, each asked in both directions where that can be (rules.hpp has the
// list).
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <thread>

#include "arch/clock.hpp"
#include "tools/conform/rules.hpp"

namespace tobi::conformance {

namespace {

using transports::op;

constexpr std::uint64_t second_ns = 1'000'000'000;

// Rank 0 puts, and leaves the fabric alone; rank 1 looks, and moves the fabric as a target does that waits. That a put
// has come within this host although needs_progress is claimed says little of other hosts: it is told, and no failure.
std::string what_was_posted_arrives(stage& s) {
  if (s.size() < 2) return "skip: it takes two ranks";
  const bool claimed = s.fabric.caps().needs_progress;
  constexpr std::uint64_t puts = 5;
  std::uint64_t patience_ns = claimed ? second_ns / 5 : s.patience_ns / 2;
  s.word(0) = 0;
  std::uint64_t came = 0;
  std::string& bad = s.seen;
  for (std::uint64_t i = 1; i <= puts; ++i) {  // all of them, whatever happens: ranks go in step
    s.fence();
    s.meet();  // nobody needs rank 0 any more
    if (s.rank() == 0) {
      const op one = s.put(1, 0, &i, 8);
      if (s.posted(1, {&one, 1}) != status::ok) bad = "put failed";
    } else if (s.rank() == 1) {
      const std::atomic_ref word(s.word(0));
      const std::uint64_t begin = arch::now_ns();
      while (word.load(std::memory_order_acquire) != i && arch::now_ns() - begin < patience_ns) s.wait_a_turn();
      came += word.load(std::memory_order_acquire) == i ? 1u : 0u;
      if (came != i && !claimed) {
        bad = "a put did not arrive while its initiator did nothing";
        patience_ns = 0;
      }
    }
    if (s.rank() == 0) s.job.while_waiting(nullptr);
    s.meet();
    s.move_while_waiting();
    while (s.rank() == 0 && s.fabric.flush(1) == status::again) s.wait_a_turn();
  }
  s.fence();
  if (!claimed || s.rank() != 1 || !bad.empty()) return bad;
  return "skip: needs_progress is claimed; " + std::to_string(came) + " of " + std::to_string(puts) +
         " puts have come without it";
}

// Memory that no other process could map: private, without a descriptor.
std::string any_memory_can_be_registered(stage& s) {
  if (!s.fabric.caps().registers_any_memory) return "skip: registers_any_memory is not claimed";
  constexpr std::size_t bytes = 16384;
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return "skip: there is no memory";
  auto* words = static_cast<std::uint64_t*>(at);
  transports::region_key key;
  const bool refused = s.fabric.register_memory({at, bytes, -1, 0}, key) != status::ok;
  words[0] = static_cast<std::uint64_t>(s.rank()) + 1;
  s.job.put("any memory", std::as_bytes(std::span(&key, 1)));
  s.fence();
  s.meet();
  if (refused) return "it is refused: " + s.fabric.why_not_registered();
  transports::region_key theirs;
  std::memcpy(&theirs, s.job.get(s.next(), "any memory").data(), sizeof theirs);
  transports::region_id id = 0;
  std::string& bad = s.seen;
  std::uint64_t seen = 0;
  const std::uint64_t mine = static_cast<std::uint64_t>(s.rank()) + 100;
  if (s.fabric.attach(s.next(), theirs, id) != status::ok) {
    bad = "it cannot be attached";
  } else if (s.done(s.next(), op::get(id, 0, &seen, 8)) != status::ok ||
             s.done(s.next(), op::put(id, 8, &mine, 8)) != status::ok) {
    bad = "it cannot be used";
  }
  s.fence();
  const auto from = static_cast<std::uint64_t>((s.rank() + s.size() - 1) % s.size());
  if (bad.empty() && (seen != static_cast<std::uint64_t>(s.next()) + 1 || words[1] != from + 100)) {
    bad = "its words are not those that were put";
  }
  s.fence();
  if (s.fabric.deregister_memory(key) != status::ok) bad = "deregistering failed";
  munmap(at, bytes);
  return bad;
}

// Memory with a descriptor, which nobody has touched.
class file_memory {
 public:
  explicit file_memory(std::size_t bytes) : bytes_(bytes), fd_(memfd_create("tobi-conform", MFD_CLOEXEC)) {
    if (fd_ < 0 || ftruncate(fd_, static_cast<off_t>(bytes)) != 0) return;
    void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (at != MAP_FAILED) base_ = static_cast<std::byte*>(at);
  }
  ~file_memory() {
    if (base_ != nullptr) munmap(base_, bytes_);
    if (fd_ >= 0) close(fd_);
  }
  file_memory(const file_memory&) = delete;
  file_memory& operator=(const file_memory&) = delete;

  [[nodiscard]] bool is_there() const noexcept { return base_ != nullptr; }
  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  [[nodiscard]] volatile std::uint64_t& word(std::size_t at) const noexcept {
    return *reinterpret_cast<std::uint64_t*>(base_ + at);
  }
  [[nodiscard]] transports::memory from(std::size_t begin, std::size_t at_first = 0) const noexcept {
    return {base_ + begin, bytes_ - begin, fd_, begin, at_first};
  }

 private:
  std::size_t bytes_;
  int fd_;
  std::byte* base_ = nullptr;
};

// What is locked exists; what is not locked exists when it is touched.
std::string registered_memory_exists_where_it_is_pinned(stage& s) {
  constexpr std::size_t pages = 64;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const file_memory memory(pages * page);
  if (!memory.is_there()) return "skip: there is no memory";
  transports::region_key key;
  std::string& bad = s.seen;
  if (s.fabric.register_memory(memory.from(0), key) != status::ok) {
    bad = "it is refused: " + s.fabric.why_not_registered();
  } else {
    unsigned char states[pages] = {};
    std::size_t there = 0;
    if (mincore(memory.base(), pages * page, states) != 0) bad = "skip: mincore() says nothing";
    for (const unsigned char state : states) there += state & 1u;
    if (bad.empty() && s.fabric.caps().pins_memory && there != pages)
      bad = "pins_memory is claimed, and pages are not there";
    if (bad.empty() && !s.fabric.caps().pins_memory && there == pages)
      bad = "all pages are there, and pins_memory is not claimed";
    if (s.fabric.deregister_memory(key) != status::ok) bad = "deregistering failed";
  }
  return bad;
}

constexpr std::size_t half_bytes = 32u * 4096;
constexpr std::size_t growing_bytes = 2 * half_bytes;

// What rank s.next() has registered is FIRST, of which half is in use, and SECOND. Each rank writes its number at both
// sides of the border.
std::string parts_are_reached(stage& s, const transports::region_key& first, const transports::region_key& second) {
  const std::uint64_t mine = static_cast<std::uint64_t>(s.rank()) + 1;
  transports::region_id before = 0;
  transports::region_id behind = 0;
  if (s.fabric.attach(s.next(), first, before) != status::ok || s.fabric.attach(s.next(), second, behind) != status::ok)
    return "a part cannot be attached";
  if (s.done(s.next(), op::put(before, half_bytes - 8, &mine, 8)) != status::ok ||
      s.done(s.next(), op::put(behind, 0, &mine, 8)) != status::ok)
    return "a part cannot be used";
  const op beyond = op::put(before, half_bytes + 8, &mine, 8);
  if (s.fabric.caps().pins_memory) {
    if (s.posted(s.next(), {&beyond, 1}) != status::invalid)
      return "the first key reaches more than at_first, and pins_memory is claimed";
  } else if (s.done(s.next(), beyond) != status::ok) {
    return "the first key reaches no more than at_first, and pins_memory is not claimed";
  }
  const std::byte* there = s.fabric.map(before);
  const auto* last = reinterpret_cast<const volatile std::uint64_t*>(there + growing_bytes - 8);
  return there == nullptr || *last == static_cast<std::uint64_t>(s.next()) + 50 ? "" : "map() shows other memory";
}

// Memory of which a part is in use at first, and the rest as it comes, under a key of its own.
std::string memory_that_grows_is_reached_part_by_part(stage& s) {
  const file_memory memory(growing_bytes);
  if (!memory.is_there()) return "skip: there is no memory";
  std::array<transports::region_key, 2> keys;
  const bool refused = s.fabric.register_memory(memory.from(0, half_bytes), keys[0]) != status::ok ||
                       s.fabric.register_memory(memory.from(half_bytes), keys[1]) != status::ok;
  memory.word(growing_bytes - 8) = static_cast<std::uint64_t>(s.rank()) + 50;
  s.job.put("parts", std::as_bytes(std::span(keys)));
  s.fence();
  s.meet();
  if (refused) return "it is refused: " + s.fabric.why_not_registered();
  std::array<transports::region_key, 2> theirs;
  std::memcpy(&theirs, s.job.get(s.next(), "parts").data(), sizeof theirs);
  std::string& bad = s.seen;
  bad = parts_are_reached(s, theirs[0], theirs[1]);
  s.fence();
  const auto from = static_cast<std::uint64_t>((s.rank() + s.size() - 1) % s.size()) + 1;
  if (bad.empty() && (memory.word(half_bytes - 8) != from || memory.word(half_bytes) != from))
    bad = "its words are not those that were put";
  s.fence();
  for (const transports::region_key& key : keys) {
    if (s.fabric.deregister_memory(key) != status::ok) bad = "deregistering failed";
  }
  return bad;
}

std::string another_thread_may_call(stage& s) {
  if (!s.fabric.caps().any_thread) return "skip: any_thread is not claimed, and what is forbidden cannot be tried";
  const auto mine = static_cast<std::uint64_t>(s.rank()) + 7;
  s.word(0) = 0;
  s.fence();
  std::string& bad = s.seen;
  std::thread other([&] {
    std::uint64_t back = 0;
    try {
      if (s.done(s.next(), s.put(s.next(), 0, &mine, 8)) != status::ok) bad = "put failed in another thread";
      if (s.done(s.next(), s.get(s.next(), 0, &back, 8)) != status::ok) bad = "get failed in another thread";
      if (bad.empty() && back != mine) bad = "what another thread has put does not come back";
    } catch (const out_of_patience& e) {
      bad = e.what();
    }
  });
  other.join();
  s.fence();
  return bad;
}

std::string put_max_is_the_most(stage& s) {
  const std::uint64_t most = s.fabric.caps().put_max;
  const std::uint64_t n = most < stage::bytes ? most : stage::bytes;
  if (n == 0) return "put_max is 0";
  std::memset(s.local(), 0, stage::bytes);
  s.fence();
  const std::vector<std::byte> all(n + 1, static_cast<std::byte>(s.rank() + 1));
  if (s.done(s.next(), s.put(s.next(), 0, all.data(), n)) != status::ok) return "a put of put_max is refused";
  s.fence();
  const auto from = static_cast<std::byte>((s.rank() + s.size() - 1) % s.size() + 1);
  std::string& bad = s.seen;
  for (std::uint64_t i = 0; i < n; ++i) {
    if (*s.local(i) != from) bad = "a byte of a put of " + std::to_string(n) + " is wrong";
  }
  s.fence();
  if (n < stage::bytes) {
    const op longer = s.put(s.next(), 0, all.data(), n + 1);
    if (s.posted(s.next(), {&longer, 1}) != status::invalid) bad = "a put beyond put_max is not refused";
  }
  return bad;
}

// That the bytes within msg_max arrive is asked of notices (flow.cc).
std::string msg_max_is_the_most(stage& s) {
  const auto& caps = s.fabric.caps();
  if (!caps.put_notify) return caps.msg_max == 0 ? "skip: put_notify is not claimed" : "msg_max is claimed without it";
  if (caps.msg_max >= 8) return caps.msg_max == 8 ? "" : "msg_max is more than data of a notice";
  const std::uint64_t value = 1;
  const std::uint64_t longer = std::uint64_t{1} << 8 * caps.msg_max;
  status got;
  while ((got = s.fabric.put_notify(s.next(), s.put(s.next(), 0, &value, 8), longer)) == status::again) s.wait_a_turn();
  return got == status::invalid ? "" : "with data beyond msg_max it returns " + std::string(to_string(got));
}

constexpr rule rules[] = {
    {"needs-progress", what_was_posted_arrives},
    {"any-memory", any_memory_can_be_registered},
    {"pins", registered_memory_exists_where_it_is_pinned},
    {"grows", memory_that_grows_is_reached_part_by_part},
    {"any-thread", another_thread_may_call},
    {"put-max", put_max_is_the_most},
    {"msg-max", msg_max_is_the_most},
};

}  // namespace

std::span<const rule> claim_rules() { return rules; }

}  // namespace tobi::conformance
