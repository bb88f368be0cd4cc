// SPDX-License-Identifier: Apache-2.0
// The steal word under real concurrency: an owner, its attendant and several thieves, as threads of one process so that
// ThreadSanitizer sees them, over a transport that does nothing but execute chains on memory. Each entry carries a
// number and a payload; every entry must be popped by the owner or taken by one thief, once, with its payload whole.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "arch/heavy_fence.hpp"
#include "libcore/base/rng.hpp"
#include "libcore/deque/ready.hpp"
#include "libcore/deque/steal_word.hpp"
#include "libcore/deque/the_deque.hpp"
#include "libcore/task/door.hpp"
#include "played_transport.hpp"
#include "played_worker.hpp"
#include "transports/cpu_ops.hpp"

namespace {

using namespace tobi;
using namespace played;
using deque::the_deque;

// NIC: where given, atomics exclude only each other, as those of most devices; a change by a CPU between an atomic's
// load and its store would be lost. MAPS: the memory of others is mapped for whoever has this.
class memory_transport final : public played_transport {
 public:
  explicit memory_transport(std::vector<place>& places, std::mutex* nic = nullptr, bool maps = true)
      : places_(places), nic_(nic), maps_(maps) {
    caps_.chain_max = 16;
    caps_.scope = nic == nullptr ? transports::amo_scope::host : transports::amo_scope::domain;
  }
  // The first byte of a key says which of the rank's two regions it names.
  status attach(int rank, const transports::region_key& key, transports::region_id& id) override {
    id = static_cast<transports::region_id>(2 * rank) + static_cast<transports::region_id>(key.bytes[0]);
    return status::ok;
  }
  [[nodiscard]] std::byte* map(transports::region_id id) noexcept override { return maps_ ? memory_of(id) : nullptr; }
  status post(int, std::span<const transports::op> ops) noexcept override {
    if (nic_ == nullptr) {
      transports::execute_whole(ops, [this](transports::region_id id) { return memory_of(id); });
      return status::ok;
    }
    for (const transports::op& o : ops) {
      std::atomic_thread_fence(std::memory_order_seq_cst);  // a chain's order
      if (o.kind != transports::op_kind::compare_swap) {
        transports::execute_whole({&o, 1}, [this](transports::region_id id) { return memory_of(id); });
      } else {
        swap_slowly(o);
      }
      if (o.guard && *static_cast<std::uint64_t*>(o.local) != o.expected) break;
    }
    return status::ok;
  }

 private:
  [[nodiscard]] std::byte* memory_of(transports::region_id id) noexcept {
    place& p = places_[id / 2];
    return id % 2 == 0 ? reinterpret_cast<std::byte*>(p.heap.get()) : reinterpret_cast<std::byte*>(p.low());
  }
  void swap_slowly(const transports::op& o) noexcept {
    const std::lock_guard now(*nic_);
    const std::atomic_ref word(*reinterpret_cast<std::uint64_t*>(memory_of(o.region) + o.remote));
    const std::uint64_t found = word.load(std::memory_order_acquire);
    *static_cast<std::uint64_t*>(o.local) = found;
    if (found != o.expected) return;
    if (++swaps_ % 16 == 0) std::this_thread::yield();
    word.store(o.operand, std::memory_order_release);
  }

  std::vector<place>& places_;
  std::mutex* nic_;
  bool maps_;
  unsigned swaps_ = 0;
};

// OWNER_ANSWERS: the owner looks at its bell; else all that thieves get they get by the attendant.
// FAR_FROM: thieves of this rank and above are of another node. BY_NIC: its atomics exclude only each other. Returns
// how often the owner went on with an older entry.
template <class MakeDeque>
std::uint64_t run_race(std::uint64_t seed, bool owner_answers, MakeDeque make, std::size_t far_from = 0,
                       bool by_nic = false) {
  constexpr std::size_t thieves = 3;
  const std::uint64_t enough = owner_answers ? 20'000 : 40'000;
  const std::uint64_t enough_taken = owner_answers ? 1 : 10;
  constexpr std::uint64_t entries = 2'000'000;  // where cores are busy, the thieves may need a while to come
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::vector<place> places(thieves + 1);
  std::mutex nic;
  memory_transport over(places, by_nic ? &nic : nullptr);
  std::vector<std::atomic<int>> seen(entries);
  std::atomic<bool> stop{false};
  std::atomic<int> broken{0};
  std::atomic<std::uint64_t> taken{0};
  no_records records;

  auto own_net = fabric_of(over, places[0], 0, places.size());
  auto own = make(places[0], own_net, records);
  std::atomic_ref(places[0].heap->window.busy).store(own->busy_word());
  tasks::door door;
  owner me(places[0], *own, door, seen);
  own->is_root(true);
  const std::uint64_t deaf = 0;
  if (!owner_answers) places[0].hot.doorbell = &deaf;
  door.step_out();

  std::vector<std::thread> threads;
  if (arch::prepare_heavy_fence().empty()) {
    threads.emplace_back([&] {
      for (unsigned next_visit = 0; !stop.load(std::memory_order_relaxed);) {
        if (deque::asked(places[0].heap->window) && door.try_visit()) {
          own->serve(deque::server::attendant);
          door.end_visit();
        }
        if (next_visit++ % 16 == 0) std::this_thread::yield();
      }
    });
  } else {
    EXPECT_TRUE(owner_answers) << "this kernel has no membarrier";
  }
  for (std::size_t t = 1; t <= thieves; ++t) {
    threads.emplace_back([&, t] {
      memory_transport way(places, by_nic ? &nic : nullptr, far_from == 0 || t < far_from);
      auto net = fabric_of(way, places[t], static_cast<int>(t), places.size());
      auto mine = make(places[t], net, records);
      while (!stop.load(std::memory_order_relaxed)) {
        trace::stolen got;
        if (mine->steal(0, got) != trace::steal_result::taken) {
          std::this_thread::yield();
          continue;
        }
        const auto* frame = reinterpret_cast<const std::uint64_t*>(got.sp);
        if (is_whole(frame, got.base - got.sp, entries)) {
          seen[number_of(frame)].fetch_add(1);
          taken.fetch_add(1);
        } else {
          broken.fetch_add(1);
        }
      }
    });
  }

  base::rng random(seed);
  std::uint64_t next = 0;
  const auto more = [&] { return next < enough || (next < entries && taken.load() < enough_taken); };
  while (more() || !me.empty()) {
    const bool deep = me.depth() > (owner_answers ? 200 : 4);
    if (more() && !deep && (me.empty() || random.uniform(100) < 55)) {
      me.fork(next++);
    } else {
      me.back();
    }
    if (random.uniform(owner_answers ? 64 : 4096) == 0) std::this_thread::yield();
  }
  // What is still shown has been taken by now, or will never be: the owner found itself empty.
  for (int i = 0; i < 100; ++i) std::this_thread::yield();
  stop = true;
  for (auto& t : threads) t.join();

  EXPECT_EQ(broken.load(), 0);
  EXPECT_GT(taken.load(), 0u);
  for (std::uint64_t n = 0; n < next; ++n) EXPECT_EQ(seen[n].load(), 1) << "entry " << n;
  return me.gone_on();
}

TEST(steal_word, every_entry_is_popped_or_taken_once_and_whole) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    run_race(seed, seed % 2 == 0, [](place& p, net::fabric& net, no_records& r) {
      return std::make_unique<deque::steal_word>(p.hot, p.slots.data(), net, p.heap->window, r, p.high(), stack_bytes);
    });
  }
}

void race_at_two_windows(bool by_nic) {
  std::uint64_t gone_on = 0;
  for (std::uint64_t seed = 1; seed <= 10 || gone_on == 0; ++seed) {
    const std::size_t far_from = 2 + seed / 2 % 2;
    gone_on += run_race(
        seed, seed % 2 == 0,
        [&](place& p, net::fabric& net, no_records& r) {
          const bool has_neighbours = net.rank() < static_cast<int>(far_from);
          return std::make_unique<deque::steal_word>(p.hot, p.slots.data(), net, p.heap->window, r, p.high(),
                                                     stack_bytes, true, has_neighbours ? 2 : 1);
        },
        far_from, by_nic);
  }
}
TEST(steal_word, every_entry_is_popped_or_taken_once_and_whole_from_two_windows) { race_at_two_windows(false); }
TEST(steal_word, every_entry_is_popped_or_taken_once_and_whole_from_two_windows_by_the_nic) {
  race_at_two_windows(true);
}

// What is shown to other nodes, and to this one, when a task that has just begun has forked FORKS times.
struct shown_entries {
  std::uint64_t far, near;
  bool operator==(const shown_entries&) const = default;
};
shown_entries shown_after(int forks, std::size_t nodes, bool of_root) {
  std::vector<place> places(2);
  memory_transport over(places);
  std::vector<std::atomic<int>> seen(16);
  no_records records;
  auto net = fabric_of(over, places[0], 0, places.size());
  deque::steal_word mine(places[0].hot, places[0].slots.data(), net, places[0].heap->window, records, places[0].high(),
                         stack_bytes, true, nodes);
  tasks::door door;
  owner me(places[0], mine, door, seen);
  if (of_root) mine.is_root(true);
  for (int i = 0; i < forks; ++i) me.fork(static_cast<std::uint64_t>(i));
  const deque::steal_window& window = places[0].heap->window;
  return {deque::window_word::unpack(window.word).size(), deque::window_word::unpack(window.near.word).size()};
}

TEST(steal_word, shows_what_a_root_forks_first_to_other_nodes) {
  EXPECT_EQ(shown_after(1, 2, true), (shown_entries{1, 0}));
  EXPECT_EQ(shown_after(3, 2, true), (shown_entries{1, 2}));
  EXPECT_EQ(shown_after(3, 4, true), (shown_entries{2, 1}));
  EXPECT_EQ(shown_after(4, 1000, true), (shown_entries{3, 1})) << "something is left for the root's own node";
}
TEST(steal_word, shows_what_other_tasks_fork_first_to_their_own_node) {
  EXPECT_EQ(shown_after(3, 2, false), (shown_entries{0, 3}));
  EXPECT_EQ(shown_after(3, 1, true), (shown_entries{3, 0})) << "one node has one window";
}

TEST(the, every_entry_is_popped_or_taken_once_and_whole) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    run_race(seed, true, [](place& p, net::fabric& net, no_records& r) {
      return std::make_unique<the_deque>(p.hot, p.slots.data(), net, p.heap->window, p.heap->area, r, p.high(),
                                         stack_bytes);
    });
  }
}

// Lists of ready tasks: each is taken once, by the owner or by a thief, whatever is shown at the moment.
template <class MakeDeque>
void run_ready_race(MakeDeque make) {
  constexpr std::size_t thieves = 2;
  constexpr std::uint64_t lists = 20'000;
  std::vector<place> places(thieves + 1);
  memory_transport over(places);
  std::vector<std::atomic<int>> seen(lists + 1);
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> taken{0};
  no_records records;
  auto own_net = fabric_of(over, places[0], 0, places.size());
  auto own = make(places[0], own_net, records);
  deque::ready_contexts ready;
  ready.start(own_net, own->shown_lists(), true);
  std::vector<std::thread> threads;
  for (std::size_t t = 1; t <= thieves; ++t) {
    threads.emplace_back([&, t] {
      auto net = fabric_of(over, places[t], static_cast<int>(t), places.size());
      auto mine = make(places[t], net, records);
      while (!stop.load(std::memory_order_relaxed)) {
        trace::stolen got;
        if (mine->steal(0, got) == trace::steal_result::context) {
          seen[got.list / 16].fetch_add(1);
          taken.fetch_add(1);
        } else {
          std::this_thread::yield();
        }
      }
    });
  }
  std::uint64_t own_share = 0;
  const auto take = [&] {
    const std::uint64_t list = ready.take();
    if (list != 0) {
      seen[list / 16].fetch_add(1);
      ++own_share;
    }
    return list != 0;
  };
  base::rng random(1);
  for (std::uint64_t n = 1; n <= lists; ++n) {
    ready.push(16 * n);
    if (random.uniform(2) == 0) ready.show();
    if (random.uniform(3) == 0) take();
    if (random.uniform(8) == 0) std::this_thread::yield();
  }
  while (take()) {
  }
  stop = true;
  for (auto& t : threads) t.join();
  EXPECT_EQ(own_share + taken.load(), lists);
  EXPECT_EQ(ready.claimed(), taken.load());
  for (std::uint64_t n = 1; n <= lists; ++n) ASSERT_EQ(seen[n].load(), 1) << "list " << n;
}

TEST(ready, every_list_is_taken_once) {
  run_ready_race([](place& p, net::fabric& net, no_records& r) {
    return std::make_unique<deque::steal_word>(p.hot, p.slots.data(), net, p.heap->window, r, p.high(), stack_bytes);
  });
  run_ready_race([](place& p, net::fabric& net, no_records& r) {
    return std::make_unique<the_deque>(p.hot, p.slots.data(), net, p.heap->window, p.heap->area, r, p.high(),
                                       stack_bytes);
  });
}

// A device whose atomics reach memory late: a thief's claim has been executed and is not visible to the CPU yet.
class late_transport final : public played_transport {
 public:
  explicit late_transport(place& owner) : owner_(owner) {
    caps_.compare_swap = true;
    caps_.scope = transports::amo_scope::domain;
  }
  status post(int, std::span<const transports::op> ops) noexcept override {
    for (const transports::op& o : ops) {
      ++swaps;
      *static_cast<std::uint64_t*>(o.local) = device_word;
      if (device_word != o.expected) continue;
      device_word = o.operand;
      owner_.heap->window.word = o.operand;  // one's own is there when it is complete
    }
    if (swaps > 100) owner_.heap->window.word = device_word;  // at last; who loads instead would not come to an end
    return status::ok;
  }

  std::uint64_t device_word = 0;
  int swaps = 0;

 private:
  place& owner_;
};

TEST(steal_word, its_owner_believes_the_atomic_that_has_failed_and_not_a_load) {
  std::vector<place> places(1);
  late_transport over(places[0]);
  no_records records;
  auto net = fabric_of(over, places[0], 0, 2);
  deque::steal_word own(places[0].hot, places[0].slots.data(), net, places[0].heap->window, records, places[0].high(),
                        stack_bytes);
  over.device_word = places[0].heap->window.word;
  own.reset(places[0].high(), 0);
  const std::uintptr_t sp = places[0].high() - frame_words * 8;
  std::memset(reinterpret_cast<void*>(sp), 0, frame_words * 8);
  *places[0].hot.bottom++ = sp;
  own.forked();
  const auto shown = deque::window_word::unpack(over.device_word);
  ASSERT_EQ(shown.size(), 1u);
  over.device_word = shown.claimed().pack();
  over.swaps = 0;
  EXPECT_FALSE(own.take_back(sp));
  EXPECT_LE(over.swaps, 1);
}

}  // namespace
