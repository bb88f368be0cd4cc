// SPDX-License-Identifier: Apache-2.0
// fault: TOBI_FAULT, a list with commas of what goes wrong.
//
//   again=N        the next N posts return `again`
//   again-rate=P   P percent of posts and of flushes return `again`
//   delay=US       a flush that has returned ok returns `again` until the last post is US microseconds old
//   lose=RANK@N    after N operations to RANK everything about it returns peer_lost
//   domain-lost@N  after N operations everything returns domain_lost
//   seed=N         of the choices of again-rate (1)
//
// Whatever is injected, it looks at its own end whether the memory that it has registered is still there: a device, or
// a thread that serves others, may touch it up to that moment.
#include <sys/mman.h>
#include <unistd.h>

#include <charconv>
#include <vector>

#include "arch/clock.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/per_rank.hpp"
#include "libcore/base/rng.hpp"
#include "libcore/base/text.hpp"
#include "transports/decorators/decorator.hpp"
#include "transports/decorators/settings.hpp"

namespace tobi::transports::decorators {

namespace {

constexpr std::uint64_t never = ~std::uint64_t{0};
constexpr const char* good_faults =
    "again=N, again-rate=PERCENT, delay=MICROSECONDS, lose=RANK@N, domain-lost@N, seed=N";

struct plan {
  std::uint64_t again = 0;
  std::uint64_t again_percent = 0;
  std::uint64_t delay_ns = 0;
  std::uint64_t lost_rank = never;
  std::uint64_t lost_after = never;
  std::uint64_t domain_lost_after = never;
  std::uint64_t seed = 1;
};

bool number(std::string_view text, std::uint64_t most, std::uint64_t& into) noexcept {
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end != text.data() + text.size() || n > most) return false;
  into = n;
  return true;
}

bool read_fault(std::string_view item, plan& p) noexcept {
  const auto after = [&](std::string_view name) { return item.substr(name.size()); };
  if (item.starts_with("again=")) return number(after("again="), never - 1, p.again);
  // All of them would be a job that cannot end.
  if (item.starts_with("again-rate=")) return number(after("again-rate="), 99, p.again_percent);
  if (item.starts_with("seed=")) return number(after("seed="), never, p.seed);
  if (item.starts_with("domain-lost@")) return number(after("domain-lost@"), never - 1, p.domain_lost_after);
  if (item.starts_with("delay=")) {
    if (!number(after("delay="), 10'000'000, p.delay_ns)) return false;
    p.delay_ns *= 1000;
    return true;
  }
  if (!item.starts_with("lose=")) return false;
  const std::size_t at = item.find('@');
  return at != std::string_view::npos && number(item.substr(5, at - 5), 65535, p.lost_rank) &&
         number(item.substr(at + 1), never - 1, p.lost_after);
}

std::string read_plan(const std::string& list, plan& p) {
  for (const std::string_view item : base::items(list)) {
    if (!read_fault(item, p)) {
      return "TOBI_FAULT=" + list + " has \"" + std::string(item) + "\", which is not one of " + good_faults;
    }
  }
  return "";
}

bool is_mapped(const void* at) noexcept {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  unsigned char there = 0;
  return mincore(reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(at) / page * page), 1, &there) == 0;
}

class fault final : public decorator {
 public:
  fault(std::unique_ptr<transport> inner, const context& where, const plan& wanted)
      : decorator(std::move(inner)),
        plan_(wanted),
        rng_(wanted.seed + static_cast<std::uint64_t>(where.rank) * 0x9e3779b97f4a7c15),
        posted_at_(where.size) {}
  ~fault() override {
    for (const void* base : registered_) {
      if (is_mapped(base)) continue;
      base::log(base::log_level::error, "memory was given up before the transport that has registered it.");
    }
  }
  status register_memory(const memory& local, region_key& key) override {
    const status s = inner().register_memory(local, key);
    if (s == status::ok) registered_.push_back(local.base);
    return s;
  }
  // Which memory it was the key does not say. Nothing of the runtime's deregisters before the end.
  status deregister_memory(const region_key& key) override {
    registered_.clear();
    return inner().deregister_memory(key);
  }

  status put_notify(int rank, const op& put, std::uint64_t data) noexcept override {
    if (!caps().put_notify) return inner().put_notify(rank, put, data);
    if (const status s = before(rank); s != status::ok) return s;
    return after(rank, 1, inner().put_notify(rank, put, data));
  }
  status flush(int rank) noexcept override {
    if (const status s = gone(rank); s != status::ok) return s;
    const status s = inner().flush(rank);
    if (s != status::ok) return s;
    if (plan_.again_percent != 0 && rng_.uniform(100) < plan_.again_percent) return status::again;
    if (plan_.delay_ns != 0 && arch::now_ns() - posted_at_[rank] < plan_.delay_ns) {
      return status::again;
    }
    return status::ok;
  }
  status poll_notice(notice& got) noexcept override {
    return caps().put_notify && domain_gone() ? status::domain_lost : inner().poll_notice(got);
  }

 protected:
  status post_as(int rank, std::span<const op> ops, bool in_order) noexcept override {
    if (const status s = before(rank); s != status::ok) return s;
    return after(rank, ops.size(), decorator::post_as(rank, ops, in_order));
  }

 private:
  [[nodiscard]] bool domain_gone() const noexcept { return operations_ >= plan_.domain_lost_after; }
  [[nodiscard]] status gone(int rank) const noexcept {
    if (domain_gone()) return status::domain_lost;
    const bool lost = static_cast<std::uint64_t>(rank) == plan_.lost_rank && to_lost_ >= plan_.lost_after;
    return lost ? status::peer_lost : status::ok;
  }
  status before(int rank) noexcept {
    if (const status s = gone(rank); s != status::ok) return s;
    if (plan_.again > 0) {
      --plan_.again;
      return status::again;
    }
    return plan_.again_percent != 0 && rng_.uniform(100) < plan_.again_percent ? status::again : status::ok;
  }
  status after(int rank, std::size_t operations, status s) noexcept {
    if (s != status::ok) return s;
    operations_ += operations;
    if (static_cast<std::uint64_t>(rank) == plan_.lost_rank) to_lost_ += operations;
    if (plan_.delay_ns != 0) posted_at_[rank] = arch::now_ns();
    return s;
  }

  std::vector<const void*> registered_;
  plan plan_;
  base::rng rng_;
  base::per_rank<std::uint64_t> posted_at_;
  std::uint64_t operations_ = 0;
  std::uint64_t to_lost_ = 0;
};

}  // namespace

std::string check_fault(const base::settings& in_force) {
  plan ignored;
  return read_plan(in_force.of<settings>().fault, ignored);
}

std::unique_ptr<transport> make_fault(std::unique_ptr<transport> inner, const context& where) {
  plan wanted;
  (void)read_plan(where.settings.of<settings>().fault, wanted);  // wrap() has checked it
  return std::make_unique<fault>(std::move(inner), where, wanted);
}

}  // namespace tobi::transports::decorators
