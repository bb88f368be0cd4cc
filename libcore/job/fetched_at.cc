// SPDX-License-Identifier: Apache-2.0
// For which places in the program bytes of global memory were fetched, of all workers together.
#include <algorithm>

#include "libcore/job/debug_info.hpp"
#include "libcore/job/job.hpp"
#include "libcore/pgas/call_sites.hpp"

namespace tobi::job {

std::vector<trace::named_site> job::fetched_at() {
  const std::vector<trace::call_site>& mine = global_->memory()->fetched_at();
  std::vector<std::uint64_t> bytes(static_cast<std::size_t>(size()));
  gathering_->begin(mine.data(), mine.size() * sizeof(trace::call_site), rank() == 0 ? detail::of_all : detail::of_none,
                    bytes.data(), 0);
  std::uint64_t all_bytes = 0;
  for (const std::uint64_t theirs : bytes) all_bytes += theirs;
  std::vector<trace::call_site> all(all_bytes / sizeof(trace::call_site));
  gathering_->end(all.data());
  if (rank() != 0) return {};

  pgas::call_sites sums;
  for (const trace::call_site& one : all) sums.add(one);
  std::vector<trace::call_site> sites = sums.all();
  std::sort(sites.begin(), sites.end(), [](const trace::call_site& a, const trace::call_site& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.place < b.place;
  });
  // Some lines of the program are at several places of its code. Few are looked for: it takes its time.
  constexpr std::size_t most_looked_for = 32;
  std::vector<std::uintptr_t> calls;
  for (const trace::call_site& s : sites) {
    if (s.place != 0 && calls.size() < most_looked_for) calls.push_back(s.place);
  }
  const std::vector<std::string> lines = lines_of(calls);
  std::vector<trace::named_site> named;
  trace::named_site others{"elsewhere", {}};
  for (const trace::call_site& s : sites) {
    const auto at = std::find(calls.begin(), calls.end(), s.place);
    trace::named_site* to = &others;
    if (at != calls.end()) {
      const std::string& line = lines[static_cast<std::size_t>(at - calls.begin())];
      const auto known =
          std::find_if(named.begin(), named.end(), [&](const trace::named_site& n) { return n.name == line; });
      to = known != named.end() ? &*known : &named.emplace_back(trace::named_site{line, {}});
    }
    to->fetched.pieces += s.pieces;
    to->fetched.bytes += s.bytes;
    to->fetched.waited_ns += s.waited_ns;
  }
  const auto by_bytes = [](const trace::named_site& a, const trace::named_site& b) {
    return a.fetched.bytes > b.fetched.bytes;
  };
  std::stable_sort(named.begin(), named.end(), by_bytes);
  if (others.fetched.bytes != 0) named.push_back(others);
  return named;
}

}  // namespace tobi::job
