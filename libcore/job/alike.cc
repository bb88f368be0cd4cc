// SPDX-License-Identifier: Apache-2.0
#include "libcore/job/alike.hpp"

#include <algorithm>
#include <string_view>

#include "libcore/base/digest.hpp"
#include "libcore/base/settings.hpp"

namespace tobi::job {

namespace {

template <std::size_t N>
std::array<char, N> kept(std::string_view text) {
  std::array<char, N> start{};
  text.copy(start.data(), N - 1);
  return start;
}

std::string atomics(const alike& a) {
  if (!a.fetch_add || !a.compare_swap) return "no atomics";
  return a.scope == transports::amo_scope::host ? "atomics that are atomic with the CPU's"
                                                : "atomics that are atomic among themselves only";
}

std::string progress(const alike& a) {
  const std::string_view own = a.needs_progress ? "must be polled" : "moves by itself";
  if (a.passive_rma && a.passive_amo) return "a fabric that " + std::string(own);
  return "a fabric that " + std::string(own) + " and whose targets must poll" + (a.passive_rma ? " for atomics" : "");
}

// Everything that is compared, in the order in which one thing explains the next.
struct row {
  std::string (*what)(const alike&);  // "has ..."
  const char* help;
};
constexpr row table[] = {
    {[](const alike& a) { return "the transport " + std::string(a.transport.data()); },
     "set TOBI_TRANSPORT to one that all can use"},
    {[](const alike& a) { return std::string(a.transport.data()) + " with " + a.dialect.data(); },
     "choose what all can use (TOBI_OFI_PROVIDER, TOBI_VERBS_DEVICE, TOBI_VERBS_PORT, TOBI_AMO_SERVER)"},
    {atomics, "use devices that are alike, or TOBI_AMO_SERVER=inline"},
    {progress, "use devices that are alike, or TOBI_OFI_PROGRESS=manual"},
    {[](const alike& a) { return "chains of " + std::to_string(a.chain_max) + " operations"; },
     "use devices that are alike"},
    {[](const alike& a) {
       return "a heap region of " + base::format_size(a.heap_bytes) +
              (a.heap_at_first != 0 ? " that grows from " + base::format_size(a.heap_at_first) : "");
     },
     "set TOBI_HEAP_SIZE for rank 0 alone, or alike on all nodes"},
    {[](const alike& a) { return "a stack region of " + base::format_size(a.stack_bytes); },
     "set TOBI_STACK_SIZE for rank 0 alone, or alike on all nodes"},
    {[](const alike& a) {
       return "its heap at " + base::format_hex(a.memory_at) + " and its stack at " + base::format_hex(a.stack_at);
     },
     "start all ranks with the same limits (ulimit -v), on the same kernel"},
};

}  // namespace

std::uint64_t digest_of(const alike& found) noexcept {
  return base::digest({reinterpret_cast<const char*>(&found), sizeof found});
}

alike of_this_rank(const transports::transport& fabric, const alloc::segment& memory) {
  const transports::capabilities& caps = fabric.caps();
  alike a;
  a.transport = kept<16>(fabric.name());
  a.dialect = kept<48>(fabric.dialect());
  a.memory_at = reinterpret_cast<std::uint64_t>(memory.heap_memory().base);
  a.heap_bytes = memory.heap_memory().bytes;
  a.heap_at_first = memory.heap_memory().at_first;
  a.stack_at = reinterpret_cast<std::uint64_t>(memory.stack_low());
  a.stack_bytes = memory.stack_memory().bytes;
  a.chain_max = caps.chain_max;
  a.scope = caps.scope;
  a.fetch_add = caps.fetch_add;
  a.compare_swap = caps.compare_swap;
  a.passive_rma = caps.passive_rma;
  a.passive_amo = caps.passive_amo;
  a.needs_progress = caps.needs_progress;
  return a;
}

std::string difference(const alike& first, const alike& theirs, const std::string& first_name,
                       const std::string& their_name) {
  if (first == theirs) return "";
  for (const row& r : table) {
    const std::string there = r.what(theirs);
    const std::string here = r.what(first);
    if (there == here) continue;
    return their_name + " has " + there + ", and " + first_name + " has " + here + ": all ranks need the same; " +
           r.help + ".";
  }
  return their_name + " describes its fabric differently from " + first_name + "; use nodes that are alike.";
}

}  // namespace tobi::job
