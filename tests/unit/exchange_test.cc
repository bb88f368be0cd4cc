// SPDX-License-Identifier: Apache-2.0
// What ranks settle without reading a value of everybody: questions to all, cards, and what a node's processes share.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <barrier>
#include <map>
#include <mutex>
#include <thread>

#include "bootstrap/clients.hpp"
#include "bootstrap/fork/values.hpp"
#include "bootstrap/rounds.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/rng.hpp"
#include "libcore/job/card.hpp"

namespace {

using namespace tobi;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto all = std::as_bytes(std::span(text.data(), text.size()));
  return {all.begin(), all.end()};
}
std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A launcher whose processes are threads. What one has put is seen by the others after the next fence, and not before.
struct launcher {
  explicit launcher(int processes) : all(processes), put(static_cast<std::size_t>(processes)) {}
  std::barrier<> all;
  std::mutex lock;
  std::vector<std::map<std::string, std::vector<std::byte>, std::less<>>> put;
};
class process : public bootstrap::exchange {
 public:
  process(launcher& of, int rank) : of_(of), rank_(rank) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "threads"; }
  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return static_cast<int>(of_.put.size()); }
  void put(std::string_view key, std::span<const std::byte> value) override {
    news_.emplace_back(std::string(key), std::vector<std::byte>(value.begin(), value.end()));
  }
  [[nodiscard]] std::vector<std::byte> get(int rank, std::string_view key) override {
    ++gets;
    const std::lock_guard guard(of_.lock);
    const auto& theirs = of_.put[static_cast<std::size_t>(rank)];
    const auto found = theirs.find(key);
    EXPECT_NE(found, theirs.end()) << "rank " << rank << " has not put " << key << " yet";
    return found == theirs.end() ? std::vector<std::byte>(64) : found->second;
  }
  void fence() override {
    {
      const std::lock_guard guard(of_.lock);
      for (auto& [key, value] : news_) of_.put[static_cast<std::size_t>(rank_)][key] = value;
    }
    news_.clear();
    of_.all.arrive_and_wait();
  }
  void least(std::span<std::uint64_t> words) override {
    bootstrap::least_by_rounds(*this, words, "least" + std::to_string(questions_++));
  }
  [[noreturn]] void abort(int status) noexcept override { _exit(status); }
  void finalize() override {}

  int gets = 0;

 private:
  launcher& of_;
  int rank_;
  int questions_ = 0;
  std::vector<std::pair<std::string, std::vector<std::byte>>> news_;
};

TEST(least_by_rounds, all_know_the_least_and_nobody_asks_everybody) {
  for (const int size : {1, 2, 3, 7, 8, 9, 15, 16, 17, 63, 64, 65, 100}) {
    launcher all(size);
    base::rng random(static_cast<std::uint64_t>(size));
    std::vector<std::array<std::uint64_t, 3>> said(static_cast<std::size_t>(size));
    std::array<std::uint64_t, 3> least;
    least.fill(~std::uint64_t{0});
    for (auto& words : said) {
      for (std::size_t i = 0; i < 3; ++i) {
        words[i] = random();
        least[i] = std::min(least[i], words[i]);
      }
    }
    std::vector<std::thread> processes;
    for (int r = 0; r < size; ++r) {
      processes.emplace_back([&, r] {
        process self(all, r);
        for (int question = 0; question < 2; ++question) {
          auto words = said[static_cast<std::size_t>(r)];
          self.least(words);
          EXPECT_EQ(words, least) << "rank " << r << " of " << size;
        }
        const int rounds = size <= 8 ? 1 : size <= 64 ? 2 : 3;
        EXPECT_LE(self.gets, 2 * std::min(size - 1, 7 * rounds)) << size;
      });
    }
    for (std::thread& t : processes) t.join();
  }
}

TEST(gather_by_rounds, process_0_has_all_texts_in_order) {
  for (const int size : {1, 2, 8, 9, 20, 64, 65, 70}) {
    launcher all(size);
    std::vector<std::thread> processes;
    std::string want;
    for (int r = 0; r < size; ++r) want += "<" + std::to_string(r) + ">";
    for (int r = 0; r < size; ++r) {
      processes.emplace_back([&, r] {
        process self(all, r);
        const std::string mine = "<" + std::to_string(r) + ">";
        self.put("text", bytes_of(mine));
        const std::string got = bootstrap::gather_by_rounds(self, mine, "text");
        if (r == 0) {
          EXPECT_EQ(got, want);
        }
        EXPECT_LE(self.gets, 21);
      });
    }
    for (std::thread& t : processes) t.join();
  }
}

struct shared {
  explicit shared(std::uint32_t ranks)
      : bytes(bootstrap::forked::values::bytes_for(ranks)),
        at(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)),
        all(at, ranks) {}
  ~shared() { munmap(at, bytes); }
  std::size_t bytes;
  void* at;
  bootstrap::forked::values all;
};

TEST(values, are_found_by_rank_and_key) {
  for (const std::uint32_t ranks : {1u, 2u, 7u}) {
    shared of(ranks);
    std::vector<std::byte> found;
    EXPECT_FALSE(of.all.find(0, "a", found));
    for (std::uint32_t r = 0; r < ranks; ++r) {
      of.all.put(r, "a", bytes_of("a of " + std::to_string(r)));
      of.all.put(r, "ab", {});
    }
    for (std::uint32_t r = 0; r < ranks; ++r) {
      ASSERT_TRUE(of.all.find(r, "a", found));
      EXPECT_EQ(text_of(found), "a of " + std::to_string(r));
      ASSERT_TRUE(of.all.find(r, "ab", found));
      EXPECT_TRUE(found.empty());
      EXPECT_FALSE(of.all.find(r, "b", found));
    }
  }
}

TEST(values, travel_to_another_client_once) {
  shared here(4);
  shared there(4);
  std::vector<std::byte> news;
  std::vector<std::byte> found;
  here.all.put(2, "first", bytes_of("1"));
  here.all.put(3, "first", bytes_of("of 3"));
  here.all.collect(2, 0, news);
  here.all.collect(3, 0, news);
  there.all.add(news);
  const std::uint32_t sent = here.all.newest(2);
  here.all.put(2, "second", bytes_of("22"));
  here.all.put(2, "third", bytes_of("333"));
  news.clear();
  here.all.collect(2, sent, news);
  EXPECT_EQ(text_of(news).find("first"), std::string::npos);
  there.all.add(news);
  for (const auto& [rank, key, value] :
       {std::tuple(2u, "first", "1"), {2u, "second", "22"}, {2u, "third", "333"}, {3u, "first", "of 3"}}) {
    ASSERT_TRUE(there.all.find(rank, key, found)) << key;
    EXPECT_EQ(text_of(found), value);
  }
}

TEST(values, of_all_ranks_are_put_at_once) {
  constexpr std::uint32_t ranks = 8;
  constexpr int each = 200;
  shared of(ranks);
  std::vector<std::thread> processes;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    processes.emplace_back([&, r] {
      for (int i = 0; i < each; ++i)
        of.all.put(r, std::to_string(i), bytes_of(std::string(static_cast<std::size_t>(i % 40), 'x')));
    });
  }
  for (std::thread& t : processes) t.join();
  std::vector<std::byte> found;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    for (int i = 0; i < each; ++i) {
      ASSERT_TRUE(of.all.find(r, std::to_string(i), found));
      EXPECT_EQ(text_of(found), std::string(static_cast<std::size_t>(i % 40), 'x'));
    }
  }
}

TEST(card, survives_its_way_without_the_zeros_at_the_end_of_keys) {
  job::rank_card mine{};
  mine.core = {3, 2, 1, 0, 5};
  mine.keys.heap.bytes[0] = std::byte{7};
  mine.keys.heap.bytes[20] = std::byte{9};
  mine.keys.stack.bytes[127] = std::byte{1};
  const std::vector<std::byte> bytes = job::to_bytes(mine);
  EXPECT_EQ(bytes.size(), sizeof mine.core + 2 + 21 + 128);
  const job::rank_card back = job::card_from(bytes);
  EXPECT_EQ(back.keys.heap.bytes, mine.keys.heap.bytes);
  EXPECT_EQ(back.keys.stack.bytes, mine.keys.stack.bytes);
  EXPECT_EQ(back.core.os_cpu, 3);
  EXPECT_EQ(back.core.package, 5);
}

TEST(card, cores_are_a_run_or_two) {
  const std::vector<std::int32_t> examples[] = {{}, {5}, {0, 1, 2, 3}, {0, 2, 4, 6, 7, 8, 9}, {3, 1, 4, 1, 5}};
  for (const auto& numbers : examples) EXPECT_EQ(job::from_runs(job::as_runs(numbers)), numbers);
  std::vector<std::int32_t> many;
  for (int i = 0; i < 128; ++i) many.push_back(2 * i);
  EXPECT_EQ(job::as_runs(many).size(), 3u);
}

// A process of another version, whose card nobody can read. Client 0 says so when no process is in a fence any more:
// its own fences are counted.
int fences_of_client_0 = 0;
class counting final : public process {
 public:
  using process::process;
  void fence() override {
    process::fence();
    ++fences_of_client_0;
  }
};
TEST(agree_DeathTest, names_a_process_of_another_version_behind_the_last_fence) {
  const auto job = [] {
    launcher all(2);
    std::thread other([&] {
      process self(all, 1);
      self.put("card", bytes_of("tobiuo2 says this in another way\n"));
      self.fence();
      self.put("news", {});
      self.fence();
      self.fence();  // for ever
    });
    counting self(all, 0);
    base::set_fatal_hook([](int status) { _exit(10 * status + fences_of_client_0); });
    base::settings in_force;
    (void)bootstrap::agree(self, bootstrap::own_layout(), 0, 1, in_force);
    other.join();
  };
  EXPECT_EXIT(job(), testing::ExitedWithCode(10 * base::exit_usage + 2),
              "process 1 has said nothing that this version of Tobiuo understands");
}

}  // namespace
