// SPDX-License-Identifier: Apache-2.0
// A transport of one worker for tests: its own heap region, in a file, as the view wants it; and that of a rank on
// another node, which is where only the transport finds it. Workers of one node may have the same far one.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "tests/unit/played_transport.hpp"
#include "transports/cpu_ops.hpp"

// Where gets are LATE they take the bytes when they are posted, and bring them at the next flush, the last one first.
class two_regions final : public played_transport {
 public:
  using bytes = std::vector<std::byte>;

  two_regions(int far_rank, std::size_t region_bytes, std::shared_ptr<bytes> shared = nullptr)
      : fd(memfd_create("regions", MFD_CLOEXEC)),
        far_rank_(far_rank),
        region_bytes_(region_bytes),
        shared_(shared != nullptr ? std::move(shared) : std::make_shared<bytes>(region_bytes)),
        far(*shared_) {
    EXPECT_EQ(ftruncate(fd, static_cast<off_t>(region_bytes)), 0);
    own = static_cast<std::byte*>(mmap(nullptr, region_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    caps_.chain_max = 16;
    caps_.put_max = 1 << 20;
  }
  ~two_regions() override {
    munmap(own, region_bytes_);
    close(fd);
  }
  two_regions(const two_regions&) = delete;
  two_regions& operator=(const two_regions&) = delete;

  tobi::status post(int rank, std::span<const tobi::transports::op> ops) noexcept override {
    const auto home = [&](tobi::transports::region_id) { return rank == far_rank_ ? far.data() : own; };
    for (const tobi::transports::op& o : ops) {
      if (!late || o.kind != tobi::transports::op_kind::get) {
        tobi::transports::execute_whole({&o, 1}, home);
        continue;
      }
      const std::byte* const from = far.data() + o.remote;
      on_their_way.push_back({static_cast<std::byte*>(o.local), bytes(from, from + o.bytes)});
    }
    return tobi::status::ok;
  }
  tobi::status flush(int) noexcept override {
    ++flushes;
    for (; !on_their_way.empty(); on_their_way.pop_back()) {
      std::memcpy(on_their_way.back().to, on_their_way.back().what.data(), on_their_way.back().what.size());
    }
    return tobi::status::ok;
  }

  struct bytes_to {
    std::byte* to;
    bytes what;
  };
  bool late = false;
  int flushes = 0;
  std::vector<bytes_to> on_their_way;
  int fd;
  std::byte* own = nullptr;

 private:
  int far_rank_;
  std::size_t region_bytes_;
  std::shared_ptr<bytes> shared_;

 public:
  bytes& far;
};
