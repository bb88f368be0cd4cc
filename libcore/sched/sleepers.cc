// SPDX-License-Identifier: Apache-2.0
#include "libcore/sched/sleepers.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace tobi::sched {

namespace {

// unix(7), autobind: a null byte and five hexadecimal digits, which fit into a word of the window.
constexpr std::size_t digits = 5;
constexpr socklen_t name_bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + digits);
constexpr int most_calls = 16;  // Linux keeps 11 for a socket (net.unix.max_dgram_qlen)

}  // namespace

void sleepers::start(net::fabric& net, deque::steal_window& own, const std::vector<int>& near) {
  own_ = &own;
  asleep_ = &own.sleepers;
  const std::uint64_t offset = net.here(&own).offset();
  int first = net.rank();
  windows_.clear();
  ranks_ = near;
  for (const int r : near) {
    auto* const window = reinterpret_cast<deque::steal_window*>(net.mapped(r) + offset);
    windows_.push_back(window);
    if (r < first) asleep_ = &window->sleepers;
    first = std::min(first, r);
  }
  if (windows_.empty()) return;
  next_ = static_cast<std::size_t>(net.rank()) % windows_.size();  // not all of them the same one
  fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  socklen_t bytes = sizeof name;
  if (fd_ >= 0 && (bind(fd_, reinterpret_cast<const sockaddr*>(&name), sizeof(sa_family_t)) != 0 ||
                   getsockname(fd_, reinterpret_cast<sockaddr*>(&name), &bytes) != 0 || bytes != name_bytes)) {
    close(fd_);
    fd_ = -1;
  }
  if (fd_ < 0) return;
  std::uint64_t word = 0;
  std::memcpy(&word, name.sun_path + 1, digits);
  std::atomic_ref(own.alarm).store(word, std::memory_order_release);
}

void sleepers::stop() noexcept {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  windows_.clear();
}

void sleepers::falls_asleep() noexcept {
  if (fd_ < 0) return;
  std::atomic_ref(*asleep_).fetch_add(1, std::memory_order_relaxed);
  std::atomic_ref(own_->asleep).store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // and a caller's
}

void sleepers::is_awake(bool called) noexcept {
  if (fd_ < 0) return;
  if (std::atomic_ref(own_->asleep).exchange(0, std::memory_order_relaxed) != 0) {
    std::atomic_ref(*asleep_).fetch_sub(1, std::memory_order_relaxed);
  }
  // What comes later ends the next nap too early, which does no harm. Any process of the machine may send to this
  // socket, so one that sends all the time is not listened to for ever.
  char one = 0;
  for (int calls = 0; called && calls < most_calls && recv(fd_, &one, 1, 0) >= 0; ++calls) {
  }
}

void sleepers::call(std::size_t most) noexcept {
  if (windows_.empty() || most == 0) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);  // and a sleeper's
  const std::atomic_ref asleep(*asleep_);
  for (std::size_t looked = 0; looked < windows_.size() && most != 0; ++looked) {
    if (asleep.load(std::memory_order_relaxed) == 0) return;
    deque::steal_window& one = *windows_[next_];
    next_ = next_ + 1 == windows_.size() ? 0 : next_ + 1;
    if (call_one(one)) --most;
  }
}

void sleepers::call_rank(int rank) noexcept {
  const auto at = std::find(ranks_.begin(), ranks_.end(), rank) - ranks_.begin();
  if (static_cast<std::size_t>(at) >= windows_.size()) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);  // and a sleeper's
  (void)call_one(*windows_[static_cast<std::size_t>(at)]);
}

bool sleepers::call_one(deque::steal_window& one) const noexcept {
  const std::atomic_ref flag(one.asleep);
  if (flag.load(std::memory_order_relaxed) == 0 || flag.exchange(0, std::memory_order_relaxed) == 0) return false;
  std::atomic_ref(*asleep_).fetch_sub(1, std::memory_order_relaxed);
  send_to(one);
  return true;
}

// Without waiting. A sleeper whose queue is full is awake.
void sleepers::send_to(const deque::steal_window& one) const noexcept {
  const std::uint64_t word = std::atomic_ref(const_cast<std::uint64_t&>(one.alarm)).load(std::memory_order_acquire);
  if (word == 0) return;
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path + 1, &word, digits);
  const char call = 0;
  (void)!sendto(fd_, &call, 1, MSG_DONTWAIT | MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&name), name_bytes);
}

}  // namespace tobi::sched
