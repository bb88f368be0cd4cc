// SPDX-License-Identifier: Apache-2.0
// Puts, gets and chains that are not what the contract says.
#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/conform/plants/plants.hpp"

namespace tobi::conformance {

namespace {

// A device that moves whole words.
template <op_kind Kind>
struct whole_words final : wrong {
  using wrong::wrong;
  status post(int rank, std::span<const op> ops) noexcept override {
    std::vector<op> longer(ops.begin(), ops.end());
    for (op& o : longer) {
      if (o.kind == Kind && o.bytes < (1u << 20)) o.bytes = (o.bytes + 7) / 8 * 8;
    }
    return inner().post(rank, longer);
  }
};

// The last byte of what lies in registered memory is forgotten.
struct short_of_registered final : wrong {
  using wrong::wrong;
  status register_memory(const transports::memory& local, region_key& key) override {
    if (local.bytes > own_.bytes) own_ = local;
    return inner().register_memory(local, key);
  }
  status post(int rank, std::span<const op> ops) noexcept override {
    if (!is_one(ops, op_kind::put)) return inner().post(rank, ops);
    op one = ops[0];
    const auto* base = static_cast<const std::byte*>(own_.base);
    const auto* from = static_cast<const std::byte*>(one.local);
    const bool registered = from >= base && from < base + own_.bytes;
    if (one.bytes > 4096 && registered) --one.bytes;
    return inner().post(rank, {&one, 1});
  }

 private:
  transports::memory own_{nullptr, 0, -1, 0};
};

// The operations of a chain take effect in another order: those that BEFORE says come first.
template <bool (*Before)(const op&, const op&)>
struct other_order final : wrong {
  using wrong::wrong;
  status post(int rank, std::span<const op> ops) noexcept override {
    if (ops.size() < 2 || !still_wrong()) return inner().post(rank, ops);
    std::vector<op> sorted(ops.rbegin(), ops.rend());
    std::stable_sort(sorted.begin(), sorted.end(), Before);
    for (const op& o : sorted) {
      if (const status s = do_now(rank, o); s != status::ok) return s;
      linger();
    }
    return status::ok;
  }
};
bool none_before(const op&, const op&) { return false; }  // the last comes first
bool gets_before(const op& a, const op& b) { return a.kind == op_kind::get && b.kind != op_kind::get; }

struct unordered_without_its_last final : wrong {
  using wrong::wrong;
  status post_unordered(int rank, std::span<const op> ops) noexcept override {
    return inner().post(rank, ops.size() < 2 ? ops : ops.first(ops.size() - 1));
  }
};

// A word is written with its whole cache line, as it was a moment ago.
struct whole_lines final : wrong {
  using wrong::wrong;
  status post(int rank, std::span<const op> ops) noexcept override {
    if (!is_one(ops, op_kind::put) || ops[0].bytes != 8 || !still_wrong()) return inner().post(rank, ops);
    const op& one = ops[0];
    alignas(64) std::byte line[64];
    const std::uint64_t at = one.remote / 64 * 64;
    if (const status s = do_now(rank, op::get(one.region, at, line, 64)); s != status::ok) return s;
    linger();
    std::memcpy(line + one.remote % 64, one.local, 8);
    return do_now(rank, op::put(one.region, at, line, 64));
  }
};

struct torn_words final : wrong {
  using wrong::wrong;
  status post(int rank, std::span<const op> ops) noexcept override {
    if (!is_one(ops, op_kind::put) || ops[0].bytes < 8 || !still_wrong()) return inner().post(rank, ops);
    const op& one = ops[0];
    op half = one;
    half.bytes = 4;
    if (const status s = do_now(rank, half); s != status::ok) return s;
    linger();
    return do_now(rank, one);
  }
};

struct twice_written final : wrong {
  using wrong::wrong;
  status post(int rank, std::span<const op> ops) noexcept override {
    if (!is_one(ops, op_kind::put) || ops[0].bytes != 8 || !still_wrong()) return inner().post(rank, ops);
    if (const status s = do_now(rank, ops[0]); s != status::ok) return s;
    linger();
    return do_now(rank, ops[0]);
  }
};

// A put is complete, it says, and has effect when its rank has waited for long, or puts to that rank again. Of the
// first word alone, which the first rules leave alone.
struct late_puts final : wrong {
  using wrong::wrong;
  status post(int rank, std::span<const op> ops) noexcept override {
    if (rank == held_rank_ && !ops.empty() && ops[0].kind == op_kind::put) release();
    if (held_rank_ >= 0 || !is_one(ops, op_kind::put) || ops[0].remote != 0 || ops[0].bytes != 8) {
      return inner().post(rank, ops);
    }
    held_ = ops[0];
    std::memcpy(&value_, held_.local, 8);
    held_.local = &value_;
    held_rank_ = rank;
    turns_ = 0;
    return status::ok;
  }
  void progress() noexcept override {
    constexpr int many = 1000;
    if (++turns_ >= many) release();
    inner().progress();
  }

 private:
  void release() noexcept {
    if (held_rank_ >= 0) {
      if (still_wrong()) linger();  // a target that shares the core looks, too
      do_now(held_rank_, held_);
    }
    held_rank_ = -1;
  }

  op held_{};
  std::uint64_t value_ = 0;
  int held_rank_ = -1;
  int turns_ = 0;
};

// The buffers of puts are read at the flush.
struct kept_buffers final : wrong {
  using wrong::wrong;
  status post(int rank, std::span<const op> ops) noexcept override {
    if (!is_one(ops, op_kind::put) || ops[0].bytes > caps().inline_max) return inner().post(rank, ops);
    held_.emplace_back(rank, ops[0]);
    return status::ok;
  }
  status flush(int rank) noexcept override {
    for (const auto& [to, one] : held_) do_now(to, one);
    held_.clear();
    return inner().flush(rank);
  }

 private:
  std::vector<std::pair<int, op>> held_;
};

struct maps_elsewhere final : wrong {
  using wrong::wrong;
  [[nodiscard]] std::byte* map(region_id id) noexcept override {
    std::byte* const there = inner().map(id);
    return there == nullptr ? nullptr : there + 4096;
  }
};
constexpr plant plants[] = {
    {"whole-words-put", "shm", "put-integrity", "a byte next to the put has changed",
     planted<whole_words<op_kind::put>>},
    {"whole-words-get", "shm", "get-integrity", "a byte next to the get has changed",
     planted<whole_words<op_kind::get>>},
    {"short-of-registered", "shm", "registered-buffers", "what was put did not come back",
     planted<short_of_registered>},
    {"last-first", "shm", "chain-order-of-puts", "the second put was seen before the first",
     planted<other_order<none_before>>},
    {"gets-first", "shm", "chain-order-put-then-get", "both gets overtook the puts before them",
     planted<other_order<gets_before>>},
    {"gets-first", "shm", "chain-order-of-one-word", "before the put of its chain", planted<other_order<gets_before>>},
    {"last-first", "shm", "chain-order-of-gets", "chains read before the first", planted<other_order<none_before>>},
    {"without-its-last", "shm", "unordered", "was not executed", planted<unordered_without_its_last>},
    {"whole-lines", "shm", "stores-next-to-puts", "a store was lost next to a peer's put", planted<whole_lines>},
    {"torn-words", "shm", "words-do-not-tear", "a word was seen half written", planted<torn_words>},
    {"twice-written", "shm", "word-written-once", "a word was written again when it had been seen",
     planted<twice_written>},
    {"late-puts", "shm", "complete-put-is-seen", "a put that was complete was not seen", planted<late_puts>},
    {"late-puts", "shm", "flush-is-at-the-target", "is not there for a third rank", planted<late_puts>},
    {"late-puts", "shm", "flush-and-a-sleeper", "before the target moved the fabric", planted<late_puts>},
    {"claims-passive-rma", "ofi", "passive-rma", "passive_rma is claimed",
     planted<claims_otherwise<[](capabilities& c) { c.passive_rma = true; }>>},
    {"maps-elsewhere", "shm", "direct-map", "the mapped word is not the one", planted<maps_elsewhere>},
    {"maps-unclaimed", "shm", "direct-map", "although maps_peers is not claimed",
     planted<claims_otherwise<[](capabilities& c) { c.maps_peers = false; }>>},
    {"kept-buffers", "shm", "inline-put", "the buffer was read after post() returned", planted<kept_buffers>},
};

}  // namespace

std::span<const plant> data_plants() { return plants; }

}  // namespace tobi::conformance
