// SPDX-License-Identifier: Apache-2.0
// The first rules: what each of the others needs. A rank waits for others by the bootstrap alone, and never for long.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "arch/clock.hpp"
#include "libcore/base/log.hpp"
#include "tools/conform/work.hpp"
#include "transports/key_parts.hpp"
#include "transports/meeting.hpp"

namespace tobi::conformance {

namespace {

using transports::op;

constexpr std::size_t put_at = 64;  // in the region of the next rank
constexpr std::size_t source_at = 128;
constexpr std::size_t target_at = 192;
constexpr std::size_t found_at = 256;  // what each rank has for its predecessor

transports::memory memory_file(std::size_t bytes) {
  const int fd = memfd_create("tobi-conform", MFD_CLOEXEC);
  void* base = MAP_FAILED;
  if (fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes)) == 0) {
    base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  if (base == MAP_FAILED) base::fatal("no memory for the region of the tests.");
  return {base, bytes, fd, 0};
}

std::string returned(const char* what, status s) { return std::string(what) + " returns " + std::string(to_string(s)); }

/// The first status that is not `again`, or `again` after a time.
template <class Ask>
status patiently(const stage& s, Ask ask) {
  const std::uint64_t begin = arch::now_ns();
  for (;;) {
    const status got = ask();
    if (got != status::again || arch::now_ns() - begin > s.patience_ns / 6) return got;
    s.wait_a_turn();
  }
}

std::string addresses_are_taken(stage& s) {
  const std::string mine = s.fabric.address();
  s.job.put("address", std::as_bytes(std::span(mine.data(), mine.size())));
  s.meet();
  std::vector<std::string> all;
  for (int r = 0; r < s.size(); ++r) {
    const auto theirs = s.job.get(r, "address");
    all.emplace_back(reinterpret_cast<const char*>(theirs.data()), theirs.size());
  }
  const status got = s.fabric.connect(all);
  return got == status::ok ? "" : returned("connect()", got);
}

std::string memory_is_registered(stage& s) {
  s.memory = memory_file(stage::bytes);
  transports::memory words = memory_file(4096);
  s.arrived = static_cast<std::uint64_t*>(words.base);
  transports::region_key sync;
  for (const auto& [memory, key] : {std::pair{&s.memory, &s.key}, std::pair{&words, &sync}}) {
    const status got = s.fabric.register_memory(*memory, *key);
    if (got != status::ok) return returned("register_memory()", got) + s.fabric.why_not_registered();
  }
  // Soft atomics look at the fabric's own part themselves, before they write behind it.
  if (!transports::keeps_to(transports::soft_key_bytes_max, s.key)) {
    return "register_memory() has written more than the first " + std::to_string(transports::own_key_bytes_max) +
           " bytes of the key";
  }
  s.job.put("key", std::as_bytes(std::span(&s.key, 1)));
  s.job.put("sync", std::as_bytes(std::span(&sync, 1)));
  return "";
}

std::string peers_are_attached(stage& s) {
  transports::meeting_over meet(s.job);
  s.fabric.measure(meet);
  s.move_while_waiting();
  for (int r = 0; r < s.size(); ++r) {
    for (const char* name : {"key", "sync"}) {
      transports::region_key theirs;
      std::memcpy(&theirs, s.job.get(r, name).data(), sizeof theirs);
      transports::region_id id = 0;
      const status got = s.fabric.attach(r, theirs, id);
      if (got != status::ok) return returned("attach()", got);
      (std::string_view(name) == "key" ? s.regions : s.sync).push_back(id);
      if (std::string_view(name) == "key") s.keys.push_back(theirs);
    }
  }
  return "";
}

std::uint64_t word_of(int rank) { return 0x746f6269'00000000 + static_cast<std::uint64_t>(rank); }

std::string a_put_is_posted(stage& s) {
  s.word(put_at) = s.word(target_at) = 0;
  s.word(source_at) = word_of(s.rank());
  s.word(found_at) = ~word_of(s.rank());
  s.meet();
  const op one = s.put(s.next(), put_at, s.local(source_at), 8);
  const status got = patiently(s, [&] { return s.fabric.post(s.next(), {&one, 1}); });
  return got == status::ok ? "" : returned("post() of a put of 8 bytes", got);
}

std::string a_get_is_posted(stage& s) {
  const op one = s.get(s.next(), found_at, s.local(target_at), 8);
  const status got = patiently(s, [&] { return s.fabric.post(s.next(), {&one, 1}); });
  return got == status::ok ? "" : returned("post() of a get of 8 bytes", got);
}

std::string flush_completes_both(stage& s) {
  const status got = patiently(s, [&] { return s.fabric.flush(s.next()); });
  if (got != status::ok) return returned("flush()", got);
  if (s.word(target_at) != ~word_of(s.next())) return "flush() has returned ok, and the get has not brought its word";
  s.meet();
  const int from = (s.rank() + s.size() - 1) % s.size();
  if (s.word(put_at) != word_of(from)) return "flush() has returned ok, and the put is not at its target";
  return "";
}

constexpr rule rules[] = {
    {"address", addresses_are_taken}, {"register", memory_is_registered}, {"attach", peers_are_attached},
    {"put", a_put_is_posted},         {"get", a_get_is_posted},           {"flush", flush_completes_both},
};

}  // namespace

std::span<const rule> first_rules() { return rules; }

}  // namespace tobi::conformance
