// SPDX-License-Identifier: Apache-2.0
// Operations that are lost, doubled or not complete, notices that are not what they announce, and peers' ends.
#include <sys/eventfd.h>

#include <optional>
#include <utility>
#include <vector>

#include "tests/conform/plants/plants.hpp"

namespace tobi::conformance {

namespace {

constexpr std::uint64_t now_and_then = 10;

// One of many puts is lost.
struct loses_a_put final : wrong {
  using wrong::wrong;
  status post(int rank, std::span<const op> ops) noexcept override {
    return is_one(ops, op_kind::put) && ++puts_ % now_and_then == 0 ? status::ok : inner().post(rank, ops);
  }

 private:
  std::uint64_t puts_ = 0;
};

// Refused, and executed all the same.
struct executes_what_it_refuses final : wrong {
  using wrong::wrong;
  status post(int rank, std::span<const op> ops) noexcept override {
    const status s = inner().post(rank, ops);
    const bool adds = is_one(ops, op_kind::fetch_add) && ops[0].operand != 0;
    return s == status::ok && adds && ++additions_ % now_and_then == 0 ? status::again : s;
  }

 private:
  std::uint64_t additions_ = 0;
};

// The last of several gets comes with the next post.
struct flushes_all_gets_but_one final : wrong {
  using wrong::wrong;
  status post(int rank, std::span<const op> ops) noexcept override {
    if (held_) do_now(rank_, *std::exchange(held_, std::nullopt));
    if (!is_one(ops, op_kind::get) || ops[0].bytes <= 8) return inner().post(rank, ops);
    held_ = ops[0];
    rank_ = rank;
    return status::ok;
  }

 private:
  std::optional<op> held_;
  int rank_ = 0;
};

// The put of a notice comes with the flush, and a put of nothing new carries the notice.
struct early_notices final : wrong {
  using wrong::wrong;
  status put_notify(int rank, const op& put, std::uint64_t data) noexcept override {
    static std::uint64_t nothing = 0;
    const status s = inner().put_notify(rank, op::put(put.region, last_word, &nothing, 8), data);
    if (s == status::ok) held_.push_back({rank, put, *static_cast<const std::uint64_t*>(put.local)});
    return s;
  }
  status flush(int rank) noexcept override {
    for (const late& l : std::exchange(held_, {})) do_now(l.rank, op::put(l.put.region, l.put.remote, &l.value, 8));
    return inner().flush(rank);
  }

 private:
  static constexpr std::uint64_t last_word = (4u << 20) - 8;
  struct late {
    int rank;
    op put;
    std::uint64_t value;
  };
  std::vector<late> held_;
};

struct notices_twice final : wrong {
  using wrong::wrong;
  status poll_notice(notice& got) noexcept override {
    if (again_) {
      got = *std::exchange(again_, std::nullopt);
      return status::ok;
    }
    const status s = inner().poll_notice(got);
    if (s == status::ok && ++notices_ % now_and_then == 0) again_ = got;
    return s;
  }

 private:
  std::optional<notice> again_;
  std::uint64_t notices_ = 0;
};

struct notices_of_the_wrong_rank final : wrong {
  using wrong::wrong;
  status poll_notice(notice& got) noexcept override {
    const status s = inner().poll_notice(got);
    if (s == status::ok) ++got.rank;
    return s;
  }
};

struct notices_cut_short final : wrong {
  using wrong::wrong;
  status put_notify(int rank, const op& put, std::uint64_t data) noexcept override {
    return inner().put_notify(rank, put, data & 0x3f);
  }
};

struct loses_a_notice final : wrong {
  using wrong::wrong;
  status poll_notice(notice& got) noexcept override {
    const status s = inner().poll_notice(got);
    return s == status::ok && ++notices_ == 7 ? status::again : s;
  }

 private:
  int notices_ = 0;
};

struct wakes_nobody final : wrong {
  explicit wakes_nobody(std::unique_ptr<transport> inner) : wrong(std::move(inner)), fd_(eventfd(0, EFD_CLOEXEC)) {}
  void claim(capabilities& c) const noexcept override { c.passive_rma = false; }
  [[nodiscard]] int wait_fd() const noexcept override { return fd_; }
  [[nodiscard]] bool may_sleep() noexcept override { return true; }

 private:
  int fd_;
};

struct loses_all_with_one final : wrong {
  using wrong::wrong;
  status post(int rank, std::span<const op> ops) noexcept override { return told(inner().post(rank, ops)); }
  status flush(int rank) noexcept override { return told(inner().flush(rank)); }

 private:
  status told(status s) noexcept {
    lost_ = lost_ || s == status::peer_lost;
    return lost_ ? status::peer_lost : s;
  }
  bool lost_ = false;
};

struct tells_no_end final : wrong {
  using wrong::wrong;
  status post(int rank, std::span<const op> ops) noexcept override { return told(inner().post(rank, ops)); }
  status flush(int rank) noexcept override { return told(inner().flush(rank)); }

 private:
  static status told(status s) noexcept { return s == status::peer_lost ? status::ok : s; }
};

constexpr plant plants[] = {
    {"loses-a-put", "shm", "back-pressure", "is not there", planted<loses_a_put>},
    {"executes-what-it-refuses", "shm", "back-pressure", "additions were lost or came twice",
     planted<executes_what_it_refuses>},
    {"flushes-all-gets-but-one", "shm", "flush-completes-gets", "a get was not complete after flush",
     planted<flushes_all_gets_but_one>},
    {"early-notices", "sim", "notices", "a notice came before its put", planted<early_notices>},
    {"notices-twice", "sim", "notices", "came", planted<notices_twice>},
    {"notices-of-the-wrong-rank", "sim", "notices", "a notice names the wrong rank",
     planted<notices_of_the_wrong_rank>},
    {"notices-cut-short", "sim", "notices", "a notice came twice or with other data", planted<notices_cut_short>},
    {"loses-a-notice", "sim", "notices", "notices have come", planted<loses_a_notice>},
    {"wakes-nobody", "ofi", "wait-fd-wakes", "an operation woke nobody", planted<wakes_nobody>},
    {"loses-all-with-one", "sim", "peer-death", "any more", planted<loses_all_with_one>},
    {"tells-no-end", "sim", "peer-death", "the end of a peer was not reported", planted<tells_no_end>},
};

}  // namespace

std::span<const plant> flow_plants() { return plants; }

}  // namespace tobi::conformance
