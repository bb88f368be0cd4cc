// SPDX-License-Identifier: Apache-2.0
// Claims that do not hold, and what holds and is not claimed.
#include <thread>
#include <utility>
#include <vector>

#include "tests/conform/plants/plants.hpp"

namespace tobi::conformance {

namespace {

// Puts wait for the next call, and needs_progress is not claimed.
struct waits_for_the_next_call final : wrong {
  using wrong::wrong;
  status post(int rank, std::span<const op> ops) noexcept override {
    release();
    if (!is_one(ops, op_kind::put) || ops[0].bytes != 8) return inner().post(rank, ops);
    held_.emplace_back(rank, ops[0]);
    value_ = *static_cast<const std::uint64_t*>(ops[0].local);
    held_.back().second.local = &value_;
    return status::ok;
  }
  status flush(int rank) noexcept override {
    release();
    return inner().flush(rank);
  }
  void progress() noexcept override {
    release();
    inner().progress();
  }

 private:
  void release() noexcept {
    for (const auto& [rank, one] : std::exchange(held_, {})) do_now(rank, one);
  }
  std::vector<std::pair<int, op>> held_;
  std::uint64_t value_ = 0;
};

struct serves_one_thread final : wrong {
  explicit serves_one_thread(std::unique_ptr<transport> inner)
      : wrong(std::move(inner)), own_(std::this_thread::get_id()) {}
  status post(int rank, std::span<const op> ops) noexcept override {
    return std::this_thread::get_id() == own_ ? inner().post(rank, ops) : status::domain_lost;
  }

 private:
  std::thread::id own_;
};

// Of memory that grows only what is in use at first is registered, and mapped.
struct cuts_at_first final : wrong {
  using wrong::wrong;
  status register_memory(const transports::memory& local, region_key& key) override {
    transports::memory cut = local;
    cut.bytes = local.bytes_at_first();
    return inner().register_memory(cut, key);
  }
};

// What is put into a part that came later lands in that of the start.
struct knows_one_part final : wrong {
  using wrong::wrong;
  status register_memory(const transports::memory& local, region_key& key) override {
    transports::memory whole = local;
    if (local.fd_offset != 0) {
      whole.base = static_cast<std::byte*>(local.base) - local.fd_offset;
      whole.fd_offset = 0;
    }
    return inner().register_memory(whole, key);
  }
};

constexpr plant plants[] = {
    {"waits-for-the-next-call", "shm", "needs-progress", "did not arrive while its initiator did nothing",
     planted<waits_for_the_next_call>},
    {"claims-any-memory", "shm", "any-memory", "it is refused",
     planted<claims_otherwise<[](capabilities& c) { c.registers_any_memory = true; }>>},
    {"claims-pinned-memory", "shm", "pins", "pins_memory is claimed, and pages are not there",
     planted<claims_otherwise<[](capabilities& c) { c.pins_memory = true; }>>},
    {"cuts-at-first", "shm", "grows", "the first key reaches no more than at_first", planted<cuts_at_first>},
    {"knows-one-part", "shm", "grows", "its words are not those that were put", planted<knows_one_part>},
    {"serves-one-thread", "shm", "any-thread", "failed in another thread", planted<serves_one_thread>},
    {"takes-more-than-put-max", "shm", "put-max", "a put beyond put_max is not refused",
     planted<claims_otherwise<[](capabilities& c) { c.put_max = 1u << 20; }>>},
    {"takes-longer-notices", "sim", "msg-max", "with data beyond msg_max it returns ok",
     planted<claims_otherwise<[](capabilities& c) { c.msg_max = 4; }>>},
};

}  // namespace

std::span<const plant> claim_plants() { return plants; }

}  // namespace tobi::conformance
