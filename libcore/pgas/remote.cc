#include "libcore/pgas/remote.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <string>

#include "arch/cpu.hpp"
#include "libcore/base/log.hpp"

namespace tobi::pgas {

using transports::op;
using transports::op_kind;

namespace {
constexpr std::size_t chain_most = 16;
}

remote::remote(transports::transport& over, int size, std::function<transports::region_id(int)> region_of)
    : over_(over),
      region_of_(std::move(region_of)),
      regions_(static_cast<std::size_t>(size), -1),
      waiting_for_(static_cast<std::size_t>(size), 0) {}

transports::region_id remote::region(int rank) {
  std::int64_t& known = regions_[static_cast<std::size_t>(rank)];
  if (known < 0) known = region_of_(rank);
  return static_cast<transports::region_id>(known);
}

void remote::lost(int rank, status why) const {
  if (why == status::peer_lost) {  // the bootstrap knows of what it died, and ends this process
    const timespec moment{0, 300'000'000};
    nanosleep(&moment, nullptr);
  }
  base::fatal("cannot reach the global memory of rank " + std::to_string(rank) + " over " + std::string(over_.name()) +
              " (" + std::string(to_string(why)) + "); the job ends.");
}

void remote::note(int rank, op_kind kind, std::uint64_t at, void* local, std::uint64_t bytes) {
  const std::uint64_t most = over_.caps().put_max;
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t step = most == 0 ? bytes - done : std::min(most, bytes - done);
    noted_.push_back({rank, {kind, false, region(rank), at + done, static_cast<std::byte*>(local) + done, step, 0, 0}});
    done += step;
  }
}

void remote::get(int rank, std::uint64_t from, void* local, std::uint64_t bytes) {
  note(rank, op_kind::get, from, local, bytes);
}

void remote::put(int rank, std::uint64_t to, const void* local, std::uint64_t bytes) {
  note(rank, op_kind::put, to, const_cast<void*>(local), bytes);
}

void remote::post_chain(int rank, std::size_t first, std::size_t count) {
  std::array<op, chain_most> chain;
  for (std::size_t i = 0; i < count; ++i) chain[i] = noted_[first + i].what;
  for (unsigned spins = 0;; idle(spins)) {
    const status s = over_.post(rank, {chain.data(), count});
    if (s == status::ok) break;
    if (s != status::again) lost(rank, s);
  }
  char& waiting = waiting_for_[static_cast<std::size_t>(rank)];
  if (waiting == 0) under_way_.push_back(rank);
  waiting = 1;
}

void remote::post() {
  if (noted_.empty()) return;
  // By target, and within one in the order of the calls.
  const auto other =
      std::find_if(noted_.begin(), noted_.end(), [&](const noted& n) { return n.rank != noted_.front().rank; });
  if (other != noted_.end()) {
    std::stable_sort(noted_.begin(), noted_.end(), [](const noted& a, const noted& b) { return a.rank < b.rank; });
  }
  const std::size_t most = std::clamp<std::size_t>(over_.caps().chain_max, 1, chain_most);
  for (std::size_t first = 0; first < noted_.size();) {
    const int rank = noted_[first].rank;
    std::size_t count = 1;
    while (count < most && first + count < noted_.size() && noted_[first + count].rank == rank) ++count;
    post_chain(rank, first, count);
    first += count;
  }
  noted_.clear();
}

void remote::wait() {
  for (const int rank : under_way_) {
    for (unsigned spins = 0;; idle(spins)) {
      const status s = over_.flush(rank);
      if (s == status::ok) break;
      if (s != status::again) lost(rank, s);
    }
    waiting_for_[static_cast<std::size_t>(rank)] = 0;
  }
  under_way_.clear();
}

std::uint64_t remote::read_word(int rank, std::uint64_t offset) {
  get(rank, offset, &word_, sizeof word_);
  post();
  wait();
  return word_;
}

// Whom we wait for may need this core. What comes within some ten microseconds is met spinning.
void remote::idle(unsigned& spins) noexcept {
  constexpr unsigned eager = 128;
  constexpr unsigned yielding = 4096;
  over_.progress();
  ++spins;
  if (spins < eager) {
    arch::pause();
  } else if (spins < yielding || spins % 16 != 0) {
    sched_yield();
  } else {
    const timespec nap{0, 20'000};
    nanosleep(&nap, nullptr);
  }
}

}  // namespace tobi::pgas
