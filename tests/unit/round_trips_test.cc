// SPDX-License-Identifier: Apache-2.0
// How many dependent round trips a thief needs, by event and by transport: the table of libcore/net/README.md. A
// victim, its thief and a third worker are one process; a thread moves the transports of all but the thief, and nothing
// else touches their memory.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

#include "libcore/deque/incoming_image.hpp"
#include "libcore/deque/ready.hpp"
#include "libcore/deque/steal_word.hpp"
#include "libcore/deque/the_deque.hpp"
#include "transports/decorators/settings.hpp"
#include "transports/ofi/settings.hpp"
#include "transports/registry.hpp"
#include "transports/sim/settings.hpp"

namespace {

using namespace tobi;
using net::location;

constexpr std::size_t stack_bytes = 1u << 20;
constexpr std::size_t frame_bytes = 512;
constexpr int victim = 0;
constexpr int thief = 1;
constexpr int other = 2;
constexpr int ranks = 3;

struct place {
  const char* name;
  const char* transport;
  const char* modes;  // TOBI_SIM, or the provider
  bool chains;
  const char* mask = "";  // TOBI_MASK
};

struct control {
  deque::steal_window window;
  alignas(64) deque::the_area area;
  deque::image_room room;
  alignas(64) std::byte images[1u << 16];
};

// Memory that any transport can register.
class shared_memory {
 public:
  explicit shared_memory(std::size_t bytes) : bytes_(bytes), fd_(memfd_create("tobi-test", MFD_CLOEXEC)) {
    if (fd_ < 0 || ftruncate(fd_, static_cast<off_t>(bytes)) != 0) std::abort();
    at_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (at_ == MAP_FAILED) std::abort();
  }
  ~shared_memory() {
    munmap(at_, bytes_);
    close(fd_);
  }
  shared_memory(const shared_memory&) = delete;
  shared_memory& operator=(const shared_memory&) = delete;
  [[nodiscard]] std::byte* low() const { return static_cast<std::byte*>(at_); }
  [[nodiscard]] std::uintptr_t high() const { return reinterpret_cast<std::uintptr_t>(at_) + bytes_; }
  [[nodiscard]] transports::memory whole() const { return {at_, bytes_, fd_, 0}; }

 private:
  std::size_t bytes_;
  int fd_;
  void* at_;
};

struct no_records final : deque::record_source {
  std::uint64_t make_record() noexcept override { return 16; }
  void drop_record(std::uint64_t) noexcept override {}
};

struct process {
  shared_memory heap{sizeof(control)};
  shared_memory stack{stack_bytes};
  std::vector<std::uintptr_t> slots = std::vector<std::uintptr_t>(64);
  arch::hot_state hot{};
  std::unique_ptr<transports::transport> over;
  std::unique_ptr<net::fabric> net;
  [[nodiscard]] control& words() { return *reinterpret_cast<control*>(heap.low()); }
};

class thief_over : public testing::TestWithParam<place> {
 protected:
  void SetUp() override {
    const place& p = GetParam();
    base::settings in_force = base::read_settings();
    const bool sim = std::string_view(p.transport) == "sim";
    in_force.of<transports::sim::settings>().modes = sim ? p.modes : "";
    in_force.of<transports::ofi::settings>().provider = sim ? "" : p.modes;
    in_force.of<transports::decorators::settings>().mask = p.mask;
    std::vector<std::string> addresses;
    std::vector<net::peer_keys> keys;
    for (int r = 0; r < ranks; ++r) {
      process& it = at_[r];
      const transports::context where{r, ranks, {}, in_force};
      for (const auto& e : transports::registry()) {
        if (e.name != p.transport) continue;
        if (const std::string why = transports::unusable_apart(e, where); !why.empty()) GTEST_SKIP() << why;
        it.over = transports::create(e, where);
      }
      new (it.heap.low()) control{};
      net::peer_keys mine{};
      ASSERT_EQ(it.over->register_memory(it.heap.whole(), mine.heap), status::ok);
      ASSERT_EQ(it.over->register_memory(it.stack.whole(), mine.stack), status::ok);
      keys.push_back(mine);
      addresses.push_back(it.over->address());
    }
    // Some connect to the others at once, and wait for them.
    std::vector<std::thread> connecting;
    for (process& it : at_) connecting.emplace_back([&] { EXPECT_EQ(it.over->connect(addresses), status::ok); });
    for (std::thread& t : connecting) t.join();
    for (int r = 0; r < ranks; ++r) {
      at_[r].net = std::make_unique<net::fabric>(*at_[r].over, r, ranks, at_[r].heap.low(), sizeof(control),
                                                 [keys](int of) { return keys[static_cast<std::size_t>(of)]; });
    }
    image_.start(*at_[thief].net, at_[thief].words().room);
  }

  net::fabric& net() { return *at_[thief].net; }
  [[nodiscard]] bool mapped() { return net().mapped(victim) != nullptr; }

  // Round trips of BODY on the thief, while the others do nothing but move their transports.
  template <class Body>
  std::uint64_t trips(Body body) {
    std::atomic<bool> stop{false};
    std::thread mover([&] {
      while (!stop) {
        at_[victim].over->progress();
        at_[other].over->progress();
        sched_yield();
      }
    });
    const std::uint64_t before = net().round_trips();
    body();
    const std::uint64_t needed = net().round_trips() - before;
    net().drain();
    stop = true;
    mover.join();
    return needed;
  }

  std::unique_ptr<deque::deque> steal_word_of(int r, std::size_t nodes = 1) {
    process& it = at_[r];
    return std::make_unique<deque::steal_word>(it.hot, it.slots.data(), *it.net, it.words().window, records_,
                                               it.stack.high(), stack_bytes, true, nodes);
  }
  std::unique_ptr<deque::deque> the_of(int r) {
    process& it = at_[r];
    return std::make_unique<deque::the_deque>(it.hot, it.slots.data(), *it.net, it.words().window, it.words().area,
                                              records_, it.stack.high(), stack_bytes);
  }
  // FORKS of a task that begins at the stack's top.
  void fork(deque::deque& own, int forks) {
    process& it = at_[victim];
    own.reset(it.stack.high(), 0);
    for (int i = 1; i <= forks; ++i) {
      const std::uintptr_t sp = it.stack.high() - static_cast<std::uintptr_t>(i) * frame_bytes;
      *reinterpret_cast<arch::saved_frame*>(sp) = {};
      *it.hot.bottom++ = sp;
      own.forked();
    }
    own.serve(deque::server::owner);
  }
  // An image of BYTES of frames in the heap of RANK, which belong to the end of the thief's stack.
  location suspended_at(int rank, std::size_t bytes) {
    auto* head = reinterpret_cast<deque::image*>(at_[rank].words().images);
    *head = {};
    head->sp = at_[thief].stack.high() - bytes;
    head->bytes = bytes;
    auto* frames = reinterpret_cast<std::uint64_t*>(head + 1);
    for (std::size_t i = 0; i < bytes / 8; ++i) frames[i] = i + bytes;
    return at_[rank].net->here(head);
  }
  void expect_frames(std::size_t bytes) {
    const auto* frames = reinterpret_cast<const std::uint64_t*>(at_[thief].stack.high() - bytes);
    for (std::size_t i = 0; i < bytes / 8; ++i) ASSERT_EQ(frames[i], i + bytes) << i;
  }
  void bring(location where) { image_.frames(where, image_.head(where)); }

  process at_[ranks];
  no_records records_;
  deque::incoming_image image_;
};

TEST_P(thief_over, a_look_at_nothing_is_one) {
  const auto own = steal_word_of(victim);
  const auto mine = steal_word_of(thief);
  trace::stolen got;
  for (const std::uint64_t busy : {0u, 1u}) {  // the bell is not waited for
    at_[victim].words().window.busy = busy;
    EXPECT_EQ(trips([&] { EXPECT_EQ(mine->steal(victim, got), trace::steal_result::empty); }), 1u);
  }
}

TEST_P(thief_over, a_continuation_is_two_with_chains_and_three_without) {
  const auto own = steal_word_of(victim);
  const auto mine = steal_word_of(thief);
  fork(*own, 2);
  trace::stolen got;
  for (int left = 2; left > 0; --left) {  // the last one rings the bell
    const auto needed = trips([&] { EXPECT_EQ(mine->steal(victim, got), trace::steal_result::taken); });
    EXPECT_EQ(needed, GetParam().chains ? 2u : 3u);
    EXPECT_EQ(got.base - got.sp, frame_bytes);
  }
}

// Where the fabric's atomics and the CPU's exclude each other; else it is for the victim to move.
TEST_P(thief_over, a_continuation_that_is_shown_to_the_victim_s_neighbours_is_one_more) {
  const auto own = steal_word_of(victim, 2);
  const auto mine = steal_word_of(thief);
  at_[victim].words().window.busy = own->busy_word();
  fork(*own, 1);
  ASSERT_EQ(deque::near_entries(at_[victim].words().window), 1u);
  trace::stolen got;
  if (at_[thief].net->mapped(victim) != nullptr || !at_[victim].net->host_atomics()) {
    EXPECT_EQ(trips([&] { EXPECT_EQ(mine->steal(victim, got), trace::steal_result::empty); }), 1u);
    return;
  }
  const auto needed = trips([&] { EXPECT_EQ(mine->steal(victim, got), trace::steal_result::taken); });
  EXPECT_EQ(needed, GetParam().chains ? 3u : 4u);
  EXPECT_EQ(got.base - got.sp, frame_bytes);
  EXPECT_EQ(trips([&] { EXPECT_EQ(mine->steal(victim, got), trace::steal_result::empty); }), 2u);
}

TEST_P(thief_over, a_continuation_of_the_paper_s_deque_is_six_with_chains_and_seven_without) {
  const auto own = the_of(victim);
  const auto mine = the_of(thief);
  fork(*own, 2);
  trace::stolen got;
  EXPECT_EQ(trips([&] { EXPECT_EQ(mine->steal(victim, got), trace::steal_result::taken); }),
            GetParam().chains ? 6u : 7u);
}

TEST_P(thief_over, a_look_at_a_part_of_a_loop_that_is_left_alone_is_one) {
  for (const bool paper_s : {false, true}) {
    const auto own = paper_s ? the_of(victim) : steal_word_of(victim);
    const auto mine = paper_s ? the_of(thief) : steal_word_of(thief);
    fork(*own, 2);
    at_[victim].words().window.busy = own->busy_word() | deque::runs_part;
    trace::stolen got;
    got.no_parts = true;
    EXPECT_EQ(trips([&] { EXPECT_EQ(mine->steal(victim, got), trace::steal_result::empty); }), 1u);
    EXPECT_TRUE(got.of_part);
    got = {};
    trips([&] { EXPECT_EQ(mine->steal(victim, got), trace::steal_result::taken); });
    EXPECT_EQ(got.of_part, !paper_s);
    at_[victim].words().window.busy = own->busy_word();
    got.no_parts = true;
    trips([&] { EXPECT_EQ(mine->steal(victim, got), trace::steal_result::taken); });
    EXPECT_FALSE(got.of_part);
  }
}

// Both deques show them in the same way.
TEST_P(thief_over, a_task_that_was_awakened_is_two_where_its_image_lies_at_the_victim_and_there_are_chains) {
  for (const bool paper_s : {false, true}) {
    const auto own = paper_s ? the_of(victim) : steal_word_of(victim);
    const auto mine = paper_s ? the_of(thief) : steal_word_of(thief);
    for (const std::size_t bytes : {frame_bytes, std::size_t{16} << 10}) {
      const location where = suspended_at(victim, bytes);
      deque::ready_contexts ready;
      ready.start(*at_[victim].net, own->shown_lists(), true);
      ready.push(where.word);
      ready.show();
      trace::stolen got;
      got.image = &image_;
      const auto needed = trips([&] {
        EXPECT_EQ(mine->steal(victim, got), trace::steal_result::context);
        bring(where);
      });
      EXPECT_EQ(got.list, where.word);
      expect_frames(bytes);
      // What the guess did not reach is one more; where memory is mapped the head and the frames are two gets for which
      // nobody waits.
      const std::uint64_t beyond = bytes > frame_bytes ? 1 : 0;
      EXPECT_EQ(needed, mapped() ? 4u : (GetParam().chains ? 2u : 3u) + beyond);
    }
  }
}

TEST_P(thief_over, an_image_is_one_and_one_more_for_what_is_long) {
  for (const std::size_t bytes : {std::size_t{16}, frame_bytes, std::size_t{16} << 10}) {
    const location where = suspended_at(victim, bytes);
    EXPECT_EQ(trips([&] { bring(where); }), mapped() || bytes > 2048 ? 2u : 1u);
    expect_frames(bytes);
  }
  const location near_the_end = at_[victim].net->here(at_[victim].words().images + sizeof(control::images) - 128);
  auto* last = static_cast<deque::image*>(at_[victim].net->local(near_the_end));
  *last = {};
  last->sp = at_[thief].stack.high() - 16;
  last->bytes = 16;
  trips([&] { bring(near_the_end); });  // a guess beyond the region would be refused, and end the job
}

TEST_P(thief_over, a_task_that_was_awakened_is_three_where_its_image_lies_elsewhere) {
  const auto own = steal_word_of(victim);
  const auto mine = steal_word_of(thief);
  const location where = suspended_at(other, frame_bytes);
  deque::ready_contexts ready;
  ready.start(*at_[victim].net, own->shown_lists(), true);
  ready.push(where.word);
  ready.show();
  trace::stolen got;
  got.image = &image_;
  const auto needed = trips([&] {
    EXPECT_EQ(mine->steal(victim, got), trace::steal_result::context);
    bring(where);
  });
  expect_frames(frame_bytes);
  EXPECT_EQ(needed, mapped() ? 4u : 3u);
}

// A claim that fails may have read an image, which is not believed: its memory may hold another one by now.
TEST_P(thief_over, an_image_that_came_with_a_lost_claim_is_read_again) {
  const auto own = steal_word_of(victim);
  const location where = suspended_at(victim, frame_bytes);
  trace::stolen got;
  got.image = &image_;
  const location word = at_[victim].net->here(own->shown_lists().data());
  trips([&] { EXPECT_FALSE(deque::claim_list(net(), word, where.word, got)); });
  static_cast<deque::image*>(at_[victim].net->local(where))->finish = 77;
  trips([&] { EXPECT_EQ(image_.head(where).finish, 77u); });
}

INSTANTIATE_TEST_SUITE_P(
    fabrics, thief_over,
    testing::Values(place{"shm", "shm", "", true}, place{"sim", "sim", "clog=0", true},
                    place{"sim_nochain", "sim", "nochain,clog=0", false}, place{"ofi", "ofi", "tcp;ofi_rxm", false},
                    // Masks: those that are not here change no round trip.
                    place{"shm_no_maps", "shm", "", true, "maps_peers"},
                    place{"shm_no_chain", "shm", "", false, "chain,maps_peers"},
                    place{"shm_no_amo", "shm", "", false, "amo,maps_peers"},
                    place{"sim_no_chain", "sim", "clog=0", false, "chain"},
                    place{"sim_no_amo", "sim", "clog=0", false, "amo"},
                    place{"sim_no_notices", "sim", "clog=0", false, "amo,put_notify"},
                    place{"sim_host_scope", "sim", "clog=0", true, "host_scope"},
                    place{"sim_passive", "sim", "clog=0", true, "passive_rma,passive_amo,progress"},
                    place{"ofi_no_amo", "ofi", "tcp;ofi_rxm", false, "amo"}),
    [](const auto& p) { return std::string(p.param.name); });

}  // namespace
