// SPDX-License-Identifier: Apache-2.0
// Refusals that do not come, and the first steps of a port that are not there.
#include <unistd.h>

#include "tests/conform/plants/plants.hpp"

namespace tobi::conformance {

namespace {

struct flushes_to_nobody : wrong {
  using wrong::wrong;
  status flush(int rank) noexcept override {
    const status s = inner().flush(rank);
    return s == status::invalid ? status::ok : s;
  }
};

// What is refused below is dropped without a word.
struct refuses_nothing final : flushes_to_nobody {
  using flushes_to_nobody::flushes_to_nobody;
  status post(int rank, std::span<const op> ops) noexcept override {
    const status s = inner().post(rank, ops);
    return s == status::invalid ? status::ok : s;
  }
};

// A chain is posted as far as it is right.
struct half_a_chain final : wrong {
  using wrong::wrong;
  status post(int rank, std::span<const op> ops) noexcept override {
    if (ops.size() < 2) return inner().post(rank, ops);
    for (const op& o : ops) {
      if (const status s = do_now(rank, o); s != status::ok) return s;
    }
    return status::ok;
  }
};

struct attaches_anything final : wrong {
  using wrong::wrong;
  status attach(int rank, const region_key& key, region_id& id) override {
    const status s = inner().attach(rank, key, id);
    if (s == status::ok) last_ = id;
    id = last_;
    return status::ok;
  }

 private:
  region_id last_ = 0;
};

struct deregisters_nothing final : wrong {
  using wrong::wrong;
  status deregister_memory(const region_key&) override { return status::ok; }
};

struct notifies_unclaimed final : wrong {
  using wrong::wrong;
  status put_notify(int rank, const op& put, std::uint64_t) noexcept override { return inner().post(rank, {&put, 1}); }
};

struct connects_nobody final : wrong {
  using wrong::wrong;
  status connect(std::span<const std::string>) override { return status::invalid; }
};

struct long_keys final : wrong {
  using wrong::wrong;
  status register_memory(const transports::memory& local, region_key& key) override {
    const status s = inner().register_memory(local, key);
    key.bytes[100] = std::byte{1};
    return s;
  }
};

struct attaches_nothing final : wrong {
  using wrong::wrong;
  status attach(int, const region_key&, region_id&) override { return status::invalid; }
};

template <op_kind Kind>
struct posts_no final : wrong {
  using wrong::wrong;
  status post(int rank, std::span<const op> ops) noexcept override {
    return !ops.empty() && ops[0].kind == Kind ? status::again : inner().post(rank, ops);
  }
};

struct flushes_never final : wrong {
  using wrong::wrong;
  status flush(int) noexcept override { return status::again; }
};

// One of the calls never returns, on one rank.
struct blocks final : wrong {
  using wrong::wrong;
  status flush(int rank) noexcept override {
    constexpr int many = 20;
    while (rank == 0 && ++flushes_ > many) usleep(1000);
    return inner().flush(rank);
  }

 private:
  int flushes_ = 0;
};

constexpr plant plants[] = {
    {"connects-nobody", "shm", "address", "connect() returns invalid", planted<connects_nobody>},
    {"long-keys", "shm", "register", "more than the first 64 bytes of the key", planted<long_keys>},
    {"attaches-nothing", "shm", "attach", "attach() returns invalid", planted<attaches_nothing>},
    {"posts-no-put", "shm", "put", "post() of a put of 8 bytes returns again", planted<posts_no<op_kind::put>>},
    {"posts-no-get", "shm", "get", "post() of a get of 8 bytes returns again", planted<posts_no<op_kind::get>>},
    {"flushes-never", "shm", "flush", "flush() returns again", planted<flushes_never>},
    {"refuses-nothing", "shm", "out-of-range", "an access beyond the region returns ok", planted<refuses_nothing>},
    {"refuses-nothing", "shm", "misaligned-atomic", "a misaligned atomic returns ok", planted<refuses_nothing>},
    {"refuses-nothing", "shm", "unknown-region", "a region that nobody attached returns ok", planted<refuses_nothing>},
    {"refuses-nothing", "shm", "flush-of-nothing", "an empty chain is not refused", planted<refuses_nothing>},
    {"flushes-to-nobody", "shm", "flush-of-nothing", "a rank that does not exist is not refused",
     planted<flushes_to_nobody>},
    {"half-a-chain", "shm", "bad-chain-has-no-effect", "its first operation was executed", planted<half_a_chain>},
    {"half-a-chain", "shm", "chain-max", "it returns ok", planted<half_a_chain>},
    {"attaches-anything", "shm", "forged-key", "a forged key was attached", planted<attaches_anything>},
    {"attaches-anything", "shm", "deregistered-key", "it was attached", planted<attaches_anything>},
    {"deregisters-nothing", "shm", "deregistered-region", "an operation on it is not refused",
     planted<deregisters_nothing>},
    {"blocks", "shm", "-", "has not come back from a call of the transport, in the rule", planted<blocks>},
    {"notifies-unclaimed", "shm", "unclaimed-is-unsupported", "put_notify does not return unsupported",
     planted<notifies_unclaimed>},
};

}  // namespace

std::span<const plant> refusal_plants() { return plants; }

}  // namespace tobi::conformance
