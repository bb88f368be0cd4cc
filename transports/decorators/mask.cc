// SPDX-License-Identifier: Apache-2.0
#include "transports/decorators/mask.hpp"

#include <algorithm>

#include "libcore/base/text.hpp"
#include "transports/decorators/decorator.hpp"
#include "transports/decorators/pinning.hpp"
#include "transports/decorators/settings.hpp"

namespace tobi::transports::decorators {

namespace {

constexpr std::string_view any_memory = "any_memory";
constexpr std::string_view peer_errors = "peer_errors";
constexpr std::string_view unpinned = "unpinned";
constexpr std::uint32_t least_inline = 64;

struct row {
  std::string_view name;
  void (*take)(capabilities&);
};
// With what the runtime does then.
constexpr row table[] = {
    // Atomics are messages, executed when the target polls.
    {"amo", [](capabilities&) {}},
    // Owners post the atomics on their own words too.
    {"host_scope", [](capabilities& c) { c.scope = std::min(c.scope, amo_scope::domain); }},
    // Owners post the atomics on their own words too, and updates of many numbers are one by one.
    {"amo_in_calls", [](capabilities& c) { c.amo_in_calls = false; }},
    // Order costs a round trip.
    {"chain",
     [](capabilities& c) {
       c.chain_max = 1;
       c.ordered_gets = false;
     }},
    // No difference: nothing relies on it.
    {"ordered_gets", [](capabilities& c) { c.ordered_gets = false; }},
    // Servers of atomics look at their cells; else no difference.
    {"put_notify",
     [](capabilities& c) {
       c.put_notify = false;
       c.msg_max = 0;
     }},
    // Owners poll while they compute.
    {"passive_rma", [](capabilities& c) { c.passive_rma = false; }},
    // Owners poll while they compute.
    {"passive_amo", [](capabilities& c) { c.passive_amo = false; }},
    // Both.
    {"passive", [](capabilities& c) { c.passive_rma = c.passive_amo = false; }},
    // Initiators poll while they compute.
    {"progress", [](capabilities& c) { c.needs_progress = true; }},
    // Idle workers sleep for a time, not until something comes.
    {"wait_fd", [](capabilities& c) { c.has_wait_fd = false; }},
    // Workers of one node reach each other through the fabric.
    {"maps_peers", [](capabilities& c) { c.maps_peers = false; }},
    // A job whose peer dies ends without waiting for what the launcher says of it.
    {peer_errors, [](capabilities& c) { c.peer_errors = false; }},
    // What is registered has a descriptor.
    {any_memory, [](capabilities& c) { c.registers_any_memory = false; }},
    // The thread that made the transport makes all calls.
    {"any_thread", [](capabilities& c) { c.any_thread = false; }},
    // Heaps start small and grow.
    {unpinned, [](capabilities& c) { c.pins_memory = true; }},
    // Puts of more than 64 bytes keep their buffers until they are complete.
    {"inline", [](capabilities& c) { c.inline_max = std::min(c.inline_max, least_inline); }},
};
// What no port can do without.
constexpr std::string_view needed[] = {"put", "get", "flush", "register", "address"};

const row* find(std::string_view name) noexcept {
  for (const row& r : table) {
    if (r.name == name) return &r;
  }
  return nullptr;
}

bool is_atomic(const op& o) noexcept { return o.kind == op_kind::fetch_add || o.kind == op_kind::compare_swap; }

class mask final : public decorator {
 public:
  mask(std::unique_ptr<transport> inner, const std::string& list) : decorator(std::move(inner)), list_(list) {
    for (const std::string_view item : base::items(list_)) rows_.push_back(find(item));
    maps_ = has("maps_peers") ? false : this->inner().caps().maps_peers;
    waits_ = !has("wait_fd");
    notifies_ = !has("put_notify");
    any_memory_ = !has(any_memory);
    names_dead_ = !has(peer_errors);
    look();
  }

  [[nodiscard]] const capabilities& caps() const noexcept override { return caps_; }
  [[nodiscard]] std::string describe() const override {
    std::string said = decorator::describe();
    return base::add_item(said, "masked: " + list_, "; ");
  }
  void measure(meeting& with) override {
    inner().measure(with);
    look();
  }
  status register_memory(const memory& local, region_key& key) override {
    return local.fd < 0 && !any_memory_ ? status::unsupported : inner().register_memory(local, key);
  }
  [[nodiscard]] std::byte* map(region_id id) noexcept override { return maps_ ? inner().map(id) : nullptr; }

  status flush(int rank) noexcept override { return told(inner().flush(rank)); }
  status put_notify(int rank, const op& put, std::uint64_t data) noexcept override {
    return notifies_ ? told(inner().put_notify(rank, put, data)) : status::unsupported;
  }
  status poll_notice(notice& got) noexcept override {
    return notifies_ ? inner().poll_notice(got) : status::unsupported;
  }
  [[nodiscard]] int wait_fd() const noexcept override { return waits_ ? decorator::wait_fd() : -1; }

 protected:
  status post_as(int rank, std::span<const op> ops, bool in_order) noexcept override {
    const status s = check(ops);
    return s == status::ok ? told(decorator::post_as(rank, ops, in_order)) : s;
  }

 private:
  [[nodiscard]] bool has(std::string_view name) const noexcept {
    return std::any_of(rows_.begin(), rows_.end(), [&](const row* r) { return r->name == name; });
  }
  void look() {
    caps_ = inner().caps();
    for (const row* r : rows_) r->take(caps_);
  }
  // A fabric that does not know which peer has died has lost them all.
  [[nodiscard]] status told(status s) const noexcept {
    return s == status::peer_lost && !names_dead_ ? status::domain_lost : s;
  }
  [[nodiscard]] status check(std::span<const op> ops) const noexcept {
    if (ops.size() > caps_.chain_max) return status::invalid;
    const bool atomics = caps_.fetch_add || caps_.compare_swap;
    return atomics || std::none_of(ops.begin(), ops.end(), is_atomic) ? status::ok : status::unsupported;
  }

  std::string list_;
  std::vector<const row*> rows_;
  bool maps_ = true;
  bool waits_ = true;
  bool notifies_ = true;
  bool any_memory_ = true;
  bool names_dead_ = true;
  capabilities caps_;
};

}  // namespace

std::string check_mask(const base::settings& in_force) {
  const std::string& list = in_force.of<settings>().mask;
  for (const std::string_view item : base::items(list)) {
    if (find(item) != nullptr) continue;
    if (std::find(std::begin(needed), std::end(needed), item) != std::end(needed)) {
      return "TOBI_MASK=" + list + " has \"" + std::string(item) +
             "\", without which nothing works; what can be masked is " + base::joined(table, &row::name);
    }
    return "TOBI_MASK=" + list + " has \"" + std::string(item) + "\", which is not one of " +
           base::joined(table, &row::name);
  }
  return "";
}

bool is_masked(const base::settings& in_force, std::string_view name) {
  const auto& list = in_force.of<settings>().mask;
  const auto all = base::items(list);
  return std::find(all.begin(), all.end(), name) != all.end();
}

std::unique_ptr<transport> masked(std::unique_ptr<transport> inner, const base::settings& in_force) {
  const std::string& list = in_force.of<settings>().mask;
  if (list.empty()) return inner;
  if (is_masked(in_force, unpinned)) inner = pinning(std::move(inner));
  return std::make_unique<mask>(std::move(inner), list);
}

}  // namespace tobi::transports::decorators
