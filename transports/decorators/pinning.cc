// SPDX-License-Identifier: Apache-2.0
#include "transports/decorators/pinning.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "libcore/base/log.hpp"
#include "transports/decorators/decorator.hpp"

namespace tobi::transports::decorators {

namespace {

// Where nothing is mapped, the rest is not registered. A backend that maps has to show all of it: then the key says, in
// the last word of its own part, how much of it operations reach.
class pins final : public decorator {
 public:
  using decorator::decorator;

  status register_memory(const memory& local, region_key& key) override {
    memory in_use = local;
    in_use.at_first = 0;
    if (!maps()) in_use.bytes = local.bytes_at_first();
    const status s = inner().register_memory(in_use, key);
    if (s != status::ok) return s;
    touch(static_cast<const volatile std::byte*>(local.base), local.bytes_at_first());
    if (maps()) set_reach(key, local.bytes_at_first());
    return s;
  }
  status deregister_memory(const region_key& key) override { return inner().deregister_memory(without_reach(key)); }
  status attach(int rank, const region_key& key, region_id& id) override {
    const status s = inner().attach(rank, without_reach(key), id);
    if (s != status::ok || !maps()) return s;
    if (id >= reach_.size()) reach_.resize(id + 1, 0);
    reach_[id] = reach(key);
    return s;
  }

 protected:
  status post_as(int rank, std::span<const op> ops, bool in_order) noexcept override {
    const bool all_in_reach = !maps() || std::all_of(ops.begin(), ops.end(), [&](const op& o) {
      return o.region >= reach_.size() || (o.bytes <= reach_[o.region] && o.remote <= reach_[o.region] - o.bytes);
    });
    return all_in_reach ? decorator::post_as(rank, ops, in_order) : status::invalid;
  }

 private:
  static constexpr std::size_t reach_at = own_key_bytes_max - sizeof(std::uint64_t);

  [[nodiscard]] bool maps() noexcept { return inner().caps().maps_peers; }
  static void touch(const volatile std::byte* at, std::size_t bytes) noexcept {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    for (std::size_t i = 0; i < bytes; i += page) (void)at[i];
  }
  static std::uint64_t reach(const region_key& key) noexcept {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, key.bytes.data() + reach_at, sizeof bytes);
    return bytes;
  }
  static void set_reach(region_key& key, std::uint64_t bytes) noexcept {
    TOBI_ASSERT(bytes == 0 || reach(key) == 0, "a backend that maps leaves the last word of its key alone");
    std::memcpy(key.bytes.data() + reach_at, &bytes, sizeof bytes);
  }
  [[nodiscard]] region_key without_reach(region_key key) noexcept {
    if (maps()) set_reach(key, 0);
    return key;
  }

  std::vector<std::uint64_t> reach_;  // by region
};

}  // namespace

std::unique_ptr<transport> pinning(std::unique_ptr<transport> inner) {
  return std::make_unique<pins>(std::move(inner));
}

}  // namespace tobi::transports::decorators
