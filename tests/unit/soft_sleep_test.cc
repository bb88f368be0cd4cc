// SPDX-License-Identifier: Apache-2.0
// Who serves atomics and asks whether it may sleep: what that question lets in is done before the answer.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "transports/decorators/decorator.hpp"
#include "transports/registry.hpp"
#include "transports/soft/amo.hpp"
#include "transports/soft/settings.hpp"

namespace {

using namespace tobi::transports;
using tobi::status;

// As libfabric's tcp: what is put waits at the target's door until the target polls, and the question whether it may
// sleep lets it in, too.
class door;
struct {
  struct at_the_door {
    door* from;
    int to;
    op put;
    std::vector<std::byte> data;
  };
  std::deque<at_the_door> waiting;
  bool open = true;
} street;

class door final : public decorators::decorator {
 public:
  door(std::unique_ptr<transport> inner, int rank)
      : decorator(std::move(inner)), rank_(rank), caps_(decorator::caps()) {
    caps_.has_wait_fd = true;
    caps_.passive_rma = false;
    caps_.put_notify = false;
  }
  [[nodiscard]] const capabilities& caps() const noexcept override { return caps_; }
  [[nodiscard]] int wait_fd() const noexcept override { return 0; }
  status post(int rank, std::span<const op> ops) noexcept override {
    if (ops[0].kind != op_kind::put) return inner().post(rank, ops);
    const auto* from = static_cast<const std::byte*>(ops[0].local);
    street.waiting.push_back({this, rank, ops[0], {from, from + ops[0].bytes}});
    return status::ok;
  }
  status flush(int rank) noexcept override {
    for (const auto& w : street.waiting) {
      if (w.from == this && w.to == rank) return status::again;
    }
    return inner().flush(rank);
  }
  void progress() noexcept override {
    if (!street.open) return;
    for (auto& w : street.waiting) {
      if (w.to != rank_) continue;
      w.put.local = w.data.data();
      if (w.from->inner().post(rank_, {&w.put, 1}) != status::ok) std::abort();
      while (w.from->inner().flush(rank_) == status::again) continue;
    }
    std::erase_if(street.waiting, [this](const auto& w) { return w.to == rank_; });
  }
  [[nodiscard]] bool may_sleep() noexcept override {
    progress();
    return true;
  }

 private:
  int rank_;
  capabilities caps_;
};

std::unique_ptr<transport> behind_a_door(const context& where) {
  for (const registry_entry& e : registry()) {
    if (e.name == "shm") return std::make_unique<door>(e.create(where), where.rank);
  }
  return nullptr;
}

TEST(soft_sleep, a_request_that_the_question_lets_in_is_served_before_the_sleep) {
  tobi::base::settings in_force = tobi::base::read_settings();
  in_force.of<soft::settings>().amo_server = soft::amo_place::inline_;
  std::array<std::unique_ptr<transport>, 2> worker;
  std::vector<std::string> addresses;
  for (int r = 0; r < 2; ++r) {
    worker[static_cast<std::size_t>(r)] = soft::with_amo_server({r, 2, {}, in_force}, behind_a_door);
    addresses.push_back(worker[static_cast<std::size_t>(r)]->address());
  }
  for (const auto& w : worker) ASSERT_EQ(w->connect(addresses), status::ok);
  transport& server = *worker[0];
  transport& client = *worker[1];
  ASSERT_TRUE(server.caps().has_wait_fd);
  constexpr std::size_t bytes = 4096;
  const int fd = memfd_create("words", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(fd, bytes), 0);
  auto* words = static_cast<std::uint64_t*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  ASSERT_NE(words, MAP_FAILED);
  region_key key;
  ASSERT_EQ(server.register_memory({words, bytes, fd, 0}, key), status::ok);
  region_id there = 0;
  ASSERT_EQ(client.attach(0, key, there), status::ok);

  // Past every turn of the slots.
  for (std::uint64_t i = 0; i < 3000; ++i) {
    std::uint64_t found = ~std::uint64_t{0};
    while (client.fetch_add(0, there, 8, 1, &found) == status::again) server.progress();
    for (int asked = 0; words[1] == i; ++asked) {
      ASSERT_LT(asked, 100'000) << "request " << i << " was lost";
      client.progress();
      if (!server.may_sleep()) continue;
      street.open = false;
      server.progress();
      street.open = true;
      ASSERT_EQ(words[1], i) << "request " << i << " had been let in, and would have waited for the end of a sleep";
    }
    while (client.flush(0) == status::again) continue;
    ASSERT_EQ(found, i);
  }
}

}  // namespace
