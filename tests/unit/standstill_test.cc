// SPDX-License-Identifier: Apache-2.0
// How rank 0 looks whether all workers stand still: how often it waits for the network, and where it stops. Nothing
// runs, time is what the test says, and the others' boards are what it has written.
#include "libcore/task/standstill.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <vector>

#include "alloc/heap.hpp"
#include "tests/unit/played_transport.hpp"
#include "transports/cpu_ops.hpp"

namespace {

using namespace tobi;

constexpr int workers = 200;

// What is posted is executed at once. Counted: gets, and how often somebody waits for what was posted before.
class boards_apart final : public played_transport {
 public:
  boards_apart() {
    caps_.chain_max = 16;
    caps_.put_max = 1 << 20;
  }
  std::vector<tasks::idle_board> boards{workers};
  int gets = 0;
  int waits = 0;

  status attach(int rank, const transports::region_key&, transports::region_id& id) override {
    id = static_cast<transports::region_id>(rank);
    return status::ok;
  }
  status post(int, std::span<const transports::op> ops) noexcept override {
    for (const transports::op& o : ops) gets += o.kind == transports::op_kind::get ? 1 : 0;
    posted_ = true;
    transports::execute_whole(ops,
                              [this](transports::region_id id) { return reinterpret_cast<std::byte*>(&boards[id]); });
    return status::ok;
  }
  status flush(int) noexcept override {
    waits += posted_ ? 1 : 0;
    posted_ = false;
    return status::ok;
  }

 private:
  bool posted_ = false;
};

class standstill : public testing::Test {
 protected:
  standstill() {
    for (tasks::idle_board& b : net_.boards) b.state = 2;  // still
    looks_.start(fabric_, net_.boards[0], objects_, &none_);
  }
  // Rank 0 has been idle for long, and looks.
  void look() {
    now_ += 1'000'000'000;
    looks_.idle(1, now_, [] { return std::uint64_t{0}; });
  }

  boards_apart net_;
  static constexpr std::size_t heap_bytes = std::size_t{64} << 20;
  std::byte* memory_ = static_cast<std::byte*>(
      mmap(nullptr, heap_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  alloc::heap heap_{memory_, heap_bytes};
  alloc::remote_objects objects_{heap_};
  tasks::tied_tasks none_;
  net::fabric fabric_{
      net_, 0, workers, reinterpret_cast<std::byte*>(net_.boards.data()), sizeof(tasks::idle_board), [](int) {
        return net::peer_keys{};
      }};
  tasks::standstill looks_;
  std::uint64_t now_ = 1'000'000'000;
};

TEST_F(standstill, is_looked_for_with_few_waits) {
  net_.boards[workers - 1].state = 3;  // the last one runs something, so nothing ends
  look();
  EXPECT_EQ(net_.gets, workers - 1);
  EXPECT_LE(net_.waits, 9);  // 1 + 2 + 4 + ... + 64, and 64 at a time
}

TEST_F(standstill, is_not_looked_for_behind_a_worker_that_is_not_still) {
  net_.boards[1].state = 3;
  look();
  EXPECT_LE(net_.gets, 2);
  EXPECT_LE(net_.waits, 1);
}

TEST_F(standstill, ends_the_job_when_three_looks_have_read_the_same_and_all_have_passed_twice) {
  const auto stand_still = [this] {
    for (int i = 0; i < 8; ++i) {
      look();
      for (tasks::idle_board& b : net_.boards) {
        ++b.passes;
        b.reported = 1;
      }
    }
  };
  EXPECT_DEATH(stand_still(), "the job stands still: 200 workers are idle, nothing can run");
}

TEST_F(standstill, does_not_end_the_job_while_something_given_was_not_received) {
  net_.boards[7].given = 1;
  for (int i = 0; i < 8; ++i) {
    look();
    for (tasks::idle_board& b : net_.boards) ++b.passes;
  }
  SUCCEED();
}

}  // namespace
