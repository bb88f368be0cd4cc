// SPDX-License-Identifier: Apache-2.0
// What breaks the contract is refused, and has had no effect.
#include <cstring>

#include "tools/conform/rules.hpp"

namespace tobi::conformance {

namespace {

using transports::op;
using transports::op_kind;

std::string refused(stage& s, const op& o, const char* what) {
  const status got = s.posted(s.next(), {&o, 1});
  return got == status::invalid ? "" : std::string(what) + " returns " + std::string(to_string(got));
}

std::string outside_the_region_is_invalid(stage& s) {
  std::uint64_t buffer[4] = {};
  for (const std::uint64_t at :
       {std::uint64_t{stage::bytes - 31}, std::uint64_t{stage::bytes}, ~std::uint64_t{0} - 7, ~std::uint64_t{0}}) {
    for (const op& o : {s.put(s.next(), at, buffer, sizeof buffer), s.get(s.next(), at, buffer, sizeof buffer)}) {
      if (std::string bad = refused(s, o, "an access beyond the region"); !bad.empty()) return bad;
    }
  }
  return refused(s, s.get(s.next(), 8, buffer, ~std::uint64_t{0} - 3), "a size that wraps around");
}

std::string a_misaligned_atomic_is_invalid(stage& s) {
  if (!s.fabric.caps().fetch_add) return "skip: fetch_add is not claimed";
  std::uint64_t old = 0;
  for (const std::uint64_t at : {1u, 4u, 7u}) {
    if (std::string bad = refused(s, s.add(s.next(), at, 1, &old), "a misaligned atomic"); !bad.empty()) return bad;
  }
  return refused(s, s.add(s.next(), stage::bytes, 1, &old), "an atomic beyond the region");
}

std::string an_unknown_region_is_invalid(stage& s) {
  std::uint64_t buffer = 0;
  op o = s.get(s.next(), 0, &buffer, 8);
  o.region = 0x7fffffff;
  return refused(s, o, "a region that nobody attached");
}

std::string a_bad_chain_has_no_effect(stage& s) {
  if (!s.fabric.caps().chains()) return "skip: chains are not claimed";
  s.word(0) = 5;
  s.fence();
  const std::uint64_t value = 6;
  const op chain[] = {s.put(s.next(), 0, &value, 8), s.put(s.next(), stage::bytes, &value, 8)};
  const status got = s.posted(s.next(), chain);
  s.fence();
  if (got != status::invalid) return "it returns " + std::string(to_string(got));
  return s.word(0) == 5 ? "" : "its first operation was executed";
}

std::string a_chain_too_long_is_invalid(stage& s) {
  std::uint64_t buffer = 0;
  const std::vector<op> chain(s.fabric.caps().chain_max + 1, s.get(s.next(), 0, &buffer, 8));
  const status got = s.posted(s.next(), chain);
  if (got != status::invalid) return "it returns " + std::string(to_string(got));
  const std::vector<op> longest(s.fabric.caps().chain_max, s.get(s.next(), 0, &buffer, 8));
  return s.done(s.next(), longest) == status::ok ? "" : "a chain of chain_max is refused";
}

std::string a_forged_key_is_not_attached(stage& s) {
  transports::region_id id = 0;
  transports::region_key forged = s.keys[s.next()];
  for (auto& b : forged.bytes) b ^= std::byte{0x5a};
  if (s.fabric.attach(s.next(), forged, id) == status::ok) return "a forged key was attached";
  return s.fabric.attach(s.size(), s.keys[0], id) == status::invalid ? "" : "a rank that does not exist is not refused";
}

std::string a_deregistered_region_is_not_attached(stage& s) {
  transports::memory part = s.memory;
  part.bytes = 4096;
  transports::region_key key;
  if (s.fabric.register_memory(part, key) != status::ok)
    return "registering a part of the memory failed: " + s.fabric.why_not_registered();
  if (s.fabric.deregister_memory(key) != status::ok) return "deregistering failed";
  transports::region_id id = 0;
  if (s.fabric.attach(s.rank(), key, id) == status::ok) return "it was attached";
  return s.fabric.deregister_memory(key) == status::invalid ? "" : "it was deregistered twice";
}

// A rank that has taken its region back does not reach it any more either.
std::string a_deregistered_region_is_not_used(stage& s) {
  transports::memory part = s.memory;
  part.bytes = 4096;
  transports::region_key key;
  transports::region_id id = 0;
  if (s.fabric.register_memory(part, key) != status::ok)
    return "registering a part of the memory failed: " + s.fabric.why_not_registered();
  if (s.fabric.attach(s.rank(), key, id) != status::ok) return "attaching a region of one's own failed";
  s.word(0) = 5;
  const std::uint64_t value = 6;
  op o = s.put(s.rank(), 0, &value, 8);
  o.region = id;
  if (s.done(s.rank(), o) != status::ok || s.word(0) != 6) return "it cannot be used while it is registered";
  if (s.fabric.deregister_memory(key) != status::ok) return "deregistering failed";
  s.word(0) = 5;
  if (s.posted(s.rank(), {&o, 1}) != status::invalid) return "an operation on it is not refused";
  // The whole memory is registered once more, and that registration has not ended.
  return s.done(s.rank(), s.put(s.rank(), 0, &value, 8)) == status::ok && s.word(0) == 6
             ? ""
             : "the deregistration ended another one's region";
}

std::string what_is_not_claimed_is_unsupported(stage& s) {
  const auto& caps = s.fabric.caps();
  std::uint64_t value = 1;
  const op o = s.put(s.next(), 0, &value, 8);
  transports::notice n;
  if (!caps.put_notify) {
    if (s.fabric.put_notify(s.next(), o, 1) != status::unsupported) return "put_notify does not return unsupported";
    if (s.fabric.poll_notice(n) != status::unsupported) return "poll_notice does not return unsupported";
  }
  if (!caps.has_wait_fd && s.fabric.wait_fd() != -1) return "wait_fd returns a descriptor";
  if (!caps.registers_any_memory) {
    static std::uint64_t anywhere[512];
    transports::region_key key;
    if (s.fabric.register_memory({anywhere, sizeof anywhere, -1, 0}, key) != status::unsupported) {
      return "registering memory without a descriptor does not return unsupported";
    }
  }
  return "";
}

constexpr rule rules[] = {
    {"out-of-range", outside_the_region_is_invalid},
    {"misaligned-atomic", a_misaligned_atomic_is_invalid},
    {"unknown-region", an_unknown_region_is_invalid},
    {"bad-chain-has-no-effect", a_bad_chain_has_no_effect},
    {"chain-max", a_chain_too_long_is_invalid},
    {"forged-key", a_forged_key_is_not_attached},
    {"deregistered-key", a_deregistered_region_is_not_attached},
    {"deregistered-region", a_deregistered_region_is_not_used},
    {"unclaimed-is-unsupported", what_is_not_claimed_is_unsupported},
};

}  // namespace

std::span<const rule> error_rules() { return rules; }

}  // namespace tobi::conformance
