// SPDX-License-Identifier: Apache-2.0
// Atomics that are not atomic, or not those that were asked for.
#include <cstring>
#include <utility>

#include "tests/conform/plants/plants.hpp"

namespace tobi::conformance {

namespace {

// A read, and a write later.
struct read_and_write final : wrong {
  using wrong::wrong;
  status post(int rank, std::span<const op> ops) noexcept override {
    const bool adds = is_one(ops, op_kind::fetch_add);
    if (!adds && !is_one(ops, op_kind::compare_swap)) return inner().post(rank, ops);
    if (!still_wrong()) return inner().post(rank, ops);
    const op& one = ops[0];
    std::uint64_t found = 0;
    if (const status s = do_now(rank, op::get(one.region, one.remote, &found, 8)); s != status::ok) return s;
    linger();
    std::memcpy(one.local, &found, 8);
    const std::uint64_t fresh = adds ? found + one.operand : one.operand;
    if (!adds && found != one.expected) return status::ok;
    return do_now(rank, op::put(one.region, one.remote, &fresh, 8));
  }
};

// Each swap succeeds, it says, and reads take long.
struct swaps_always final : wrong {
  using wrong::wrong;
  status post(int rank, std::span<const op> ops) noexcept override {
    if (is_one(ops, op_kind::get)) {
      const status s = do_now(rank, ops[0]);
      linger();
      return s;
    }
    if (!is_one(ops, op_kind::compare_swap)) return inner().post(rank, ops);
    const op& one = ops[0];
    std::memcpy(one.local, &one.expected, 8);
    return do_now(rank, op::put(one.region, one.remote, &one.operand, 8));
  }
};

// One of many swaps succeeds, it says, and nothing has changed.
struct swaps_in_vain final : wrong {
  using wrong::wrong;
  status post(int rank, std::span<const op> ops) noexcept override {
    constexpr int many = 10;
    if (!is_one(ops, op_kind::compare_swap) || ++swaps_ % many != 0) return inner().post(rank, ops);
    std::memcpy(ops[0].local, &ops[0].expected, 8);
    return status::ok;
  }

 private:
  int swaps_ = 0;
};

struct operands_exchanged final : wrong {
  using wrong::wrong;
  status post(int rank, std::span<const op> ops) noexcept override {
    if (!is_one(ops, op_kind::compare_swap)) return inner().post(rank, ops);
    op other = ops[0];
    std::swap(other.expected, other.operand);
    return inner().post(rank, {&other, 1});
  }
};

// What an addition has found comes at once, and the addition itself with the next post.
struct late_additions final : wrong {
  using wrong::wrong;
  status post(int rank, std::span<const op> ops) noexcept override {
    if (held_rank_ >= 0) do_now(std::exchange(held_rank_, -1), held_);
    if (!is_one(ops, op_kind::fetch_add)) return inner().post(rank, ops);
    held_ = ops[0];
    held_.local = &dropped_;
    held_rank_ = rank;
    return do_now(rank, op::get(ops[0].region, ops[0].remote, ops[0].local, 8));
  }

 private:
  op held_{};
  std::uint64_t dropped_ = 0;
  int held_rank_ = -1;
};

struct late_swaps final : wrong {
  using wrong::wrong;
  status post(int rank, std::span<const op> ops) noexcept override {
    if (ops.size() != 2 || ops[0].kind != op_kind::compare_swap || ops[1].kind != op_kind::get) {
      return inner().post(rank, ops);
    }
    if (const status s = do_now(rank, ops[1]); s != status::ok) return s;
    linger();
    return do_now(rank, ops[0]);
  }
};

struct guards_that_always_stop final : wrong {
  using wrong::wrong;
  status post(int rank, std::span<const op> ops) noexcept override {
    return inner().post(rank, ops.size() > 1 && ops[0].guard ? ops.first(1) : ops);
  }
};

constexpr plant plants[] = {
    {"read-and-write", "shm", "fetch-add-exact", "additions were lost", planted<read_and_write>},
    {"read-and-write", "shm", "fetch-add-unique", "two ranks found the value", planted<read_and_write>},
    {"operands-exchanged", "shm", "compare-swap-exact", "the swap of 5 for 6 where there is 5 has left 6",
     planted<operands_exchanged>},
    {"swaps-always", "shm", "compare-swap-excludes", "two ranks held the lock at once", planted<swaps_always>},
    {"swaps-in-vain", "shm", "owner-and-thieves", "was taken twice", planted<swaps_in_vain>},
    {"read-and-write", "shm", "amo-scope-host", "additions of the owner or of a peer were lost",
     planted<read_and_write>},
    {"late-additions", "shm", "amo-seen-by-the-cpu", "a load of the CPU missed a completed fetch_add",
     planted<late_additions>},
    {"late-swaps", "shm", "claim-then-get", "read an older value", planted<late_swaps>},
    {"guards-that-always-stop", "shm", "chain-guard", "the operation behind a guard that held was not executed",
     planted<guards_that_always_stop>},
    {"claims-amo-in-calls", "shm", "amo-in-calls", "additions of the owner or of a peer were lost",
     planted<claims_otherwise<[](capabilities& c) { c.amo_in_calls = true; }>>},
    {"claims-passive-amo", "ofi", "passive-amo", "passive_amo is claimed",
     planted<claims_otherwise<[](capabilities& c) { c.passive_amo = true; }>>},
};

}  // namespace

std::span<const plant> atomic_plants() { return plants; }

}  // namespace tobi::conformance
