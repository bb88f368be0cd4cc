// SPDX-License-Identifier: Apache-2.0
// Questions to all processes that one has forked: each gets the least of what all say, question after question, with
// fences and values between them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "bootstrap/bootstrap.hpp"
#include "in_job.hpp"

namespace {

constexpr int processes = 9;

std::uint64_t said_by(int rank, int question, std::size_t word) {
  const auto n = static_cast<std::uint64_t>(rank * 1009 + question * 31 + static_cast<int>(word) * 7);
  return n * 0x9e3779b97f4a7c15;
}

TEST(questions, are_answered_by_the_least_word_of_all) {
  const outcome o = in_child([] {
    const auto all = tobi::bootstrap::fork_workers(processes);
    for (int question = 0; question < 300; ++question) {
      std::array<std::uint64_t, 8> words{};
      const std::size_t asked = 1 + static_cast<std::size_t>(question) % words.size();
      for (std::size_t i = 0; i < asked; ++i) words[i] = said_by(all->rank(), question, i);
      const std::string key = "of " + std::to_string(question);
      if (question % 5 == 0) all->put(key, std::as_bytes(std::span(words)));
      all->least({words.data(), asked});
      for (std::size_t i = 0; i < asked; ++i) {
        std::uint64_t least = ~std::uint64_t{0};
        for (int r = 0; r < processes; ++r) least = std::min(least, said_by(r, question, i));
        if (words[i] != least) all->abort(3);
      }
      if (question % 5 == 0) {  // it was a fence as well
        const int other = (all->rank() + question) % processes;
        std::uint64_t first = 0;
        std::memcpy(&first, all->get(other, key).data(), sizeof first);
        if (first != said_by(other, question, 0)) all->abort(4);
      }
      if (question % 3 == 0) all->fence();
    }
    all->finalize();
    std::exit(0);
  });
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.said, "");
}

}  // namespace
