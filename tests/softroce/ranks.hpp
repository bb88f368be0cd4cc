// SPDX-License-Identifier: Apache-2.0
// A job of a few ranks over verbs alone, without tasks: each has a page whose first word is 100 and its rank, and has
// attached those of all. The program that uses it is started once, and forks the others.
#pragma once

#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "libcore/base/log.hpp"
#include "transports/registry.hpp"

namespace over_verbs {

inline void expect(bool right, const char* what) {
  if (!right) tobi::base::fatal(std::string("over verbs: ") + what + ".");
}

struct ranks {
  static constexpr std::size_t bytes = 4096;

  tobi::base::settings in_force = tobi::base::read_settings();
  std::unique_ptr<tobi::bootstrap::bootstrap> job;
  std::unique_ptr<tobi::transports::transport> fabric;
  tobi::transports::region_key key;
  std::vector<std::string> addresses;
  std::vector<tobi::transports::region_id> regions;

  explicit ranks(int n) : job(tobi::bootstrap::start(in_force, n, 2)) {
    using tobi::status;
    fabric = tobi::transports::select("verbs", where());
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    expect(memory != MAP_FAILED, "no memory");
    *static_cast<std::uint64_t*>(memory) = word_of(rank());
    expect(fabric->register_memory({memory, bytes, -1, 0}, key) == status::ok, "registering failed");
    const std::string address = fabric->address();
    job->put("key", std::as_bytes(std::span(&key, 1)));
    job->put("address", std::as_bytes(std::span(address.data(), address.size())));
    job->fence();
    for (int r = 0; r < n; ++r) {
      const auto where = job->get(r, "address");
      addresses.emplace_back(reinterpret_cast<const char*>(where.data()), where.size());
    }
    expect(fabric->connect(addresses) == status::ok, "connecting failed");
    regions.resize(static_cast<std::size_t>(n));
    for (int r = 0; r < n; ++r) {
      tobi::transports::region_key theirs;
      std::memcpy(&theirs, job->get(r, "key").data(), sizeof theirs);
      expect(fabric->attach(r, theirs, regions[static_cast<std::size_t>(r)]) == status::ok, "attaching failed");
    }
    job->fence();
  }

  [[nodiscard]] int rank() const { return job->rank(); }
  [[nodiscard]] tobi::transports::context where() const { return {rank(), job->size(), {}, in_force}; }
  [[nodiscard]] static std::uint64_t word_of(int rank) { return 100 + static_cast<std::uint64_t>(rank); }

  /// Reads the word of PEER; what the fabric says of it, and it is the right one if that is ok.
  tobi::status read(int peer) {
    using tobi::status;
    std::uint64_t found = 0;
    status s;
    while ((s = fabric->get(peer, regions[static_cast<std::size_t>(peer)], 0, &found, 8)) == status::again) {
      fabric->progress();
    }
    if (s != status::ok) return s;
    while ((s = fabric->flush(peer)) == status::again) {
    }
    expect(s != status::ok || found == word_of(peer), "a word was read wrongly");
    return s;
  }
};

}  // namespace over_verbs
