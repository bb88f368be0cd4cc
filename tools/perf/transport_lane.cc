// SPDX-License-Identifier: Apache-2.0
// The operations through the contract of transports/transport.hpp.
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "arch/cpu.hpp"
#include "libcore/base/log.hpp"
#include "tools/perf/lane.hpp"
#include "transports/meeting.hpp"

namespace tobi_perf {

namespace {

namespace base = tobi::base;
using tobi::status;
using tobi::transports::capabilities;
using tobi::transports::notice;
using tobi::transports::op;
using tobi::transports::op_kind;
using tobi::transports::region_id;
using tobi::transports::region_key;
using tobi::transports::transport;

constexpr std::uint64_t most_together = 64;  // of operations that are due
constexpr std::uint64_t falls_asleep_ns = 200'000;

[[noreturn]] void give_up(const transport& fabric, const char* call, status s) {
  base::fatal("the transport " + std::string(fabric.name()) + " returned " + std::string(to_string(s)) + " from " +
              call + ".");
}

class through_transport final : public lane {
 public:
  through_transport(const scene& s, transport& fabric) : s_(s), fabric_(fabric), limit_ns_(s.limit_ns) { connect(); }

  std::string describe() const override { return fabric_.describe(); }
  std::string unable(const work& w) const override;
  void start(const work& w) override;
  bool initiate(const work& w, std::uint64_t count) override;
  bool follow(const work& w, const schedule& plan, std::vector<double>& ns) override;
  void respond(const work& w, const stop_flag& stop) override;
  double apart_ns() const override { return static_cast<double>(apart_ns_); }
  bool drain() override { return flush(); }
  std::vector<set_up_part> set_up() const override { return set_up_; }

 private:
  void connect();
  op put_op(std::uint64_t bytes) const { return op::put(region_, s_.where.data, s_.at(s_.where.local), bytes); }
  op get_op(std::uint64_t bytes) const { return op::get(region_, s_.where.data, s_.at(s_.where.local), bytes); }
  op swap_op() const { return op::cas(region_, s_.where.word, expected_, expected_ + 1, s_.at(s_.where.result)); }

  bool post(std::span<const op> ops) noexcept {
    patience p(limit_ns_);
    status got;
    while ((got = fabric_.post(peer_, ops)) == status::again) {
      fabric_.progress();
      if (p.over()) return false;
    }
    if (got != status::ok) give_up(fabric_, "an operation", got);
    return true;
  }
  bool flush() noexcept {
    patience p(limit_ns_);
    status got;
    while ((got = fabric_.flush(peer_)) == status::again) {
      if (p.over()) return false;
    }
    if (got != status::ok) give_up(fabric_, "a flush", got);
    return true;
  }
  // Between two looks at what the peer writes.
  void look() noexcept {
    fabric_.progress();
    tobi::arch::pause();
  }
  // The next one is the peer.
  void take_turns() noexcept {
    turn_ = turn_ + 1 == peers_.size() ? 0 : turn_ + 1;
    peer_ = peers_[turn_].rank;
    region_ = peers_[turn_].region;
  }
  // COUNT times the same operation, each complete before the next.
  bool repeat(op one, std::uint64_t count) noexcept {
    const bool several = peers_.size() > 1;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (several) {
        take_turns();
        one.region = region_;
      }
      if (!post({&one, 1}) || !flush()) return false;
    }
    return true;
  }
  bool swaps(std::uint64_t count, std::uint64_t bytes) noexcept;
  bool window(op one, std::uint64_t count) noexcept;
  bool pings(std::uint64_t bytes, std::uint64_t count) noexcept;
  bool notices(std::uint64_t bytes, std::uint64_t count) noexcept;
  bool wakes(std::uint64_t bytes, std::uint64_t count) noexcept;
  void answer_wakes(std::uint64_t bytes, const stop_flag& stop) noexcept;
  void sleep_until(std::uint32_t seen, std::uint64_t bytes, std::uint8_t ping) noexcept;
  bool asks(std::uint64_t bytes, std::uint64_t count) noexcept;
  void answer_asks(std::uint64_t bytes, const stop_flag& stop) noexcept;
  void answer_pings(std::uint64_t bytes, const stop_flag& stop) noexcept;
  void answer_notices(std::uint64_t bytes, const stop_flag& stop) noexcept;
  bool send_notice(const op& one) noexcept;

  const scene& s_;
  transport& fabric_;
  struct reached {
    int rank;
    region_id region;
  };
  std::vector<reached> peers_;
  std::size_t turn_ = 0;  // of them
  int peer_ = 0;          // whose turn it is
  region_id region_ = 0;
  std::uint8_t ping_ = 0;
  std::uint64_t asked_ = 0;
  std::uint64_t expected_ = 0;
  std::uint64_t limit_ns_;
  std::uint64_t apart_ns_ = 0;
  std::vector<set_up_part> set_up_;
};

void through_transport::connect() {
  const auto timed = [this](const char* what, auto&& call) {
    const std::uint64_t begin = tobi::arch::now_ns();
    const status got = call();
    set_up_.push_back({what, static_cast<double>(tobi::arch::now_ns() - begin)});
    if (got != status::ok) give_up(fabric_, what, got);
  };
  region_key key;
  timed("register_memory", [&] { return fabric_.register_memory(s_.own, key); });
  const std::string address = fabric_.address();
  s_.job.put("address", std::as_bytes(std::span(address.data(), address.size())));
  s_.job.put("key", std::as_bytes(std::span(&key, 1)));
  s_.job.fence();
  std::vector<std::string> addresses;
  for (int r = 0; r < s_.job.size(); ++r) {
    const auto bytes = s_.job.get(r, "address");
    addresses.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  timed("connect", [&] { return fabric_.connect(addresses); });
  tobi::transports::meeting_over meet(s_.job);
  fabric_.measure(meet);
  for (const int peer : s_.peers()) {
    peer_ = peer;
    std::memcpy(&key, s_.job.get(peer, "key").data(), sizeof key);
    timed("attach", [&] { return fabric_.attach(peer, key, region_); });
    peers_.push_back({peer_, region_});
  }
}

std::string through_transport::unable(const work& w) const {
  const capabilities& c = fabric_.caps();
  const auto lacks = [&](const char* what) { return "the transport does not claim " + std::string(what); };
  if (w.bytes > c.put_max) return "the transport moves at most " + base::format_size(c.put_max) + " at once";
  if (w.what == step::fresh && w.bytes < 8) return "fresh bytes are at least 8";
  if (w.what == step::fetch_add && !c.fetch_add) return lacks("fetch_add");
  if ((w.what == step::compare_swap || w.what == step::chain) && !c.compare_swap) return lacks("compare_swap");
  if (w.what == step::chain && c.chain_max < 3) return lacks("chains of three operations");
  if (w.what == step::notify && !c.put_notify) return lacks("put_notify");
  if (w.what == step::wake && fabric_.map(region_) == nullptr && fabric_.wait_fd() < 0) {
    return "the transport has no descriptor that a worker could sleep on";
  }
  if (w.what == step::notify && w.bytes > s_.where.total) return lacks("notices of this size");
  return "";
}

void through_transport::start(const work& w) {
  ping_ = 0;
  asked_ = 0;
  limit_ns_ = w.idle ? idle_limit_ns : s_.limit_ns;
  *s_.word_at(layout::ask) = 0;
  // Else the number that a round of one left here would be taken for the first answer.
  if (w.what == step::fresh) *s_.word_at(layout::data) = 0;
  set_last_byte(s_.at(s_.where.data), w.bytes, 0);
}

bool through_transport::initiate(const work& w, std::uint64_t count) {
  apart_ns_ = 0;
  switch (w.what) {
    case step::get:
      return repeat(get_op(w.bytes), count);
    case step::put:
      return repeat(put_op(w.bytes), count);
    case step::fetch_add:
      return repeat(op::add(region_, s_.where.word, 1, s_.at(s_.where.result)), count);
    case step::compare_swap:
      return swaps(count, 0);
    case step::chain:
      return swaps(count, w.bytes);
    case step::get_window:
      return window(get_op(w.bytes), count);
    case step::put_window:
      return window(put_op(w.bytes), count);
    case step::ping_pong:
      return pings(w.bytes, count);
    case step::wake:
      return wakes(w.bytes, count);
    case step::fresh:
      return asks(w.bytes, count);
    case step::notify:
      return notices(w.bytes, count);
  }
  return false;
}

bool through_transport::follow(const work& w, const schedule& plan, std::vector<double>& ns) {
  const op one = w.what == step::get         ? get_op(w.bytes)
                 : w.what == step::fetch_add ? op::add(region_, s_.where.word, 1, s_.at(s_.where.result))
                                             : put_op(w.bytes);
  const std::uint64_t begin = tobi::arch::cycles();
  const auto now = [begin] { return tobi::arch::cycles_to_ns(tobi::arch::cycles() - begin); };
  const auto some = [&](std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      if (!post({&one, 1})) return false;
    }
    return flush();
  };
  return tobi_perf::follow(
      plan, most_together, now, some, [&] { fabric_.progress(); }, ns);
}

// A compare-and-swap alone, or with BYTES the chain that begins with it. One that fails has found the value for the
// next.
bool through_transport::swaps(std::uint64_t count, std::uint64_t bytes) noexcept {
  op word = get_op(8);
  word.remote = s_.where.word;
  word.local = s_.at(s_.where.result + 8);
  std::array ops{swap_op(), word, get_op(bytes)};
  const std::size_t posted = bytes == 0 ? 1 : ops.size();
  for (std::uint64_t i = 0; i < count; ++i) {
    ops[0].expected = expected_;
    ops[0].operand = expected_ + 1;
    if (!post({ops.data(), posted}) || !flush()) return false;
    const std::uint64_t found = *s_.word_at(s_.where.result);
    expected_ = found == expected_ ? expected_ + 1 : found;
  }
  return true;
}

bool through_transport::window(op one, std::uint64_t count) noexcept {
  const std::uint64_t places = layout::places(one.bytes);
  const std::uint64_t stride = layout::stride(one.bytes);
  const std::uint64_t remote = one.remote;
  auto* const local = static_cast<std::byte*>(one.local);
  std::uint64_t place = 0;
  const bool several = peers_.size() > 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (several) {
      take_turns();
      one.region = region_;
    }
    one.remote = remote + place * stride;
    one.local = local + place * stride;
    if (!post({&one, 1})) return false;
    if (++place == places) place = 0;
  }
  bool done = flush();
  for (std::size_t others = 1; others < peers_.size() && done; ++others) {
    take_turns();
    done = flush();
  }
  return done;
}

bool through_transport::pings(std::uint64_t bytes, std::uint64_t count) noexcept {
  const op one = put_op(bytes);
  const std::byte* inbox = s_.at(s_.where.data);
  for (std::uint64_t i = 0; i < count; ++i) {
    ping_ = after(ping_);
    set_last_byte(static_cast<std::byte*>(one.local), bytes, ping_);
    if (!post({&one, 1})) return false;
    patience p(limit_ns_);
    while (last_byte(inbox, bytes) != ping_) {
      look();
      if (p.over()) return false;
    }
    if (!flush()) return false;  // the buffer is used again
  }
  return true;
}

void through_transport::answer_pings(std::uint64_t bytes, const stop_flag& stop) noexcept {
  const op one = put_op(bytes);
  const std::byte* inbox = s_.at(s_.where.data);
  for (std::uint8_t ping = 1;; ping = after(ping)) {
    while (last_byte(inbox, bytes) != ping) {
      look();
      if (stop.load(std::memory_order_relaxed) != 0) return;
    }
    set_last_byte(static_cast<std::byte*>(one.local), bytes, ping);
    if (!post({&one, 1}) || !flush()) base::fatal("a reply was not completed in time.");
  }
}

// Before each ping the target has time to fall asleep. Where its memory is mapped it sleeps on a word, as workers of a
// node do, and is called behind the put.
bool through_transport::wakes(std::uint64_t bytes, std::uint64_t count) noexcept {
  std::byte* const mapped = fabric_.map(region_);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t begin = tobi::arch::now_ns();
    std::uint64_t waited = 0;
    while ((waited = tobi::arch::now_ns() - begin) < falls_asleep_ns) tobi::arch::pause();
    apart_ns_ += waited;
    ping_ = after(ping_);
    const op one = put_op(bytes);
    set_last_byte(static_cast<std::byte*>(one.local), bytes, ping_);
    if (!post({&one, 1}) || !flush()) return false;
    if (mapped != nullptr) {
      auto* const bell = reinterpret_cast<std::uint32_t*>(mapped + layout::bell);
      std::atomic_ref(*bell).fetch_add(1, std::memory_order_acq_rel);
      syscall(SYS_futex, bell, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    }
    patience p(limit_ns_);
    while (last_byte(s_.at(s_.where.data), bytes) != ping_) {
      fabric_.progress();
      if (p.over()) return false;
    }
  }
  return true;
}

// Until something comes, or for some milliseconds: the order to stop shows at neither.
void through_transport::sleep_until(std::uint32_t seen, std::uint64_t bytes, std::uint8_t ping) noexcept {
  constexpr timespec most{0, 5'000'000};
  if (fabric_.map(region_) != nullptr) {
    syscall(SYS_futex, s_.at(layout::bell), FUTEX_WAIT, seen, &most, nullptr, 0);
  } else if (fabric_.may_sleep() && last_byte(s_.at(s_.where.data), bytes) != ping) {
    pollfd on{fabric_.wait_fd(), POLLIN, 0};
    (void)ppoll(&on, 1, &most, nullptr);
  }
}

void through_transport::answer_wakes(std::uint64_t bytes, const stop_flag& stop) noexcept {
  const op one = put_op(bytes);
  const std::byte* inbox = s_.at(s_.where.data);
  const std::atomic_ref bell(*reinterpret_cast<std::uint32_t*>(s_.at(layout::bell)));
  for (std::uint8_t ping = 1;; ping = after(ping)) {
    for (;;) {
      const std::uint32_t seen = bell.load(std::memory_order_acquire);
      fabric_.progress();
      if (last_byte(inbox, bytes) == ping) break;
      if (stop.load(std::memory_order_relaxed) != 0) return;
      sleep_until(seen, bytes, ping);
    }
    set_last_byte(static_cast<std::byte*>(one.local), bytes, ping);
    if (!post({&one, 1}) || !flush()) base::fatal("a reply was not completed in time.");
  }
}

bool through_transport::asks(std::uint64_t bytes, std::uint64_t count) noexcept {
  const op ask = op::put(region_, layout::ask, s_.at(layout::asking), 8);
  const op read = get_op(bytes);
  const std::atomic_ref found(*s_.word_at(s_.where.local));
  for (std::uint64_t i = 0; i < count; ++i) {
    *s_.word_at(layout::asking) = ++asked_;
    if (!post({&ask, 1}) || !flush()) return false;
    patience p(limit_ns_);
    do {
      if (!post({&read, 1}) || !flush() || p.over()) return false;
    } while (found.load(std::memory_order_acquire) != asked_);
  }
  return true;
}

void through_transport::answer_asks(std::uint64_t bytes, const stop_flag& stop) noexcept {
  const std::atomic_ref ask(*s_.word_at(layout::ask));
  for (std::uint64_t next = 1;; ++next) {
    while (ask.load(std::memory_order_acquire) != next) {
      fabric_.progress();
      if (stop.load(std::memory_order_relaxed) != 0) return;
    }
    write_lines(s_.at(s_.where.data), bytes, next);
  }
}

bool through_transport::send_notice(const op& one) noexcept {
  patience p(limit_ns_);
  status got;
  while ((got = fabric_.put_notify(peer_, one, 1)) == status::again) {
    fabric_.progress();
    if (p.over()) return false;
  }
  if (got != status::ok) give_up(fabric_, "put_notify", got);
  return true;
}

bool through_transport::notices(std::uint64_t bytes, std::uint64_t count) noexcept {
  const op one = put_op(bytes);
  notice n;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!send_notice(one)) return false;
    patience p(limit_ns_);
    while (fabric_.poll_notice(n) != status::ok) {
      if (p.over()) return false;
      fabric_.progress();
    }
    if (!flush()) return false;
  }
  return true;
}

void through_transport::answer_notices(std::uint64_t bytes, const stop_flag& stop) noexcept {
  const op one = put_op(bytes);
  notice n;
  while (stop.load(std::memory_order_relaxed) == 0) {
    if (fabric_.poll_notice(n) != status::ok) {
      fabric_.progress();
      continue;
    }
    if (!send_notice(one) || !flush()) base::fatal("a reply was not completed in time.");
  }
}

void through_transport::respond(const work& w, const stop_flag& stop) {
  if (w.what == step::ping_pong) return answer_pings(w.bytes, stop);
  if (w.what == step::notify) return answer_notices(w.bytes, stop);
  if (w.what == step::wake) return answer_wakes(w.bytes, stop);
  if (w.what == step::fresh) return answer_asks(w.bytes, stop);
  while (stop.load(std::memory_order_relaxed) == 0) fabric_.progress();
}

}  // namespace

std::unique_ptr<lane> transport_lane(const scene& s, transport& fabric) {
  return std::make_unique<through_transport>(s, fabric);
}

}  // namespace tobi_perf
