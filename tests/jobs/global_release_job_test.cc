// SPDX-License-Identifier: Apache-2.0
// lane: computes, 8 s
// A thief waits for what its ticket names, and gets it also when the victim's dirty bytes went home, or were freed,
// before anybody asked: then there is nothing to write back, and the epoch must be counted all the same.
#include <gtest/gtest.h>
#include <sched.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "global_places.hpp"

namespace {

using tobi::global_span;

constexpr std::size_t block = 4096;

void pause() {
  sched_yield();
  tobi::poll();
}

// The parent is shown to thieves at one of these forks, while something is dirty. Few of them: at the next ones the
// thief may have asked already.
void fork_often(int forks) {
  for (int i = 0; i < forks; ++i) {
    auto nothing = tobi::spawn([] {
      for (int k = 0; k < 5; ++k) sched_yield();
    });
    nothing.join();
  }
}

// With the parent's block the cache is full of dirty ones; one more is read, for which all of them are written back.
void write_back_by_eviction(global_span<char> far) {
  for (std::size_t i = 0; i < 15; ++i) tobi::store(&far[i * block], 'x');
  (void)tobi::load(&far[16 * block]);
}

// What a test is about: a thief that asks, and bytes that have gone before. Chance decides whether anything is stolen.
struct witness {
  bool stolen, evicted;
};

// BODY() as often as it takes until WANTED has been seen in one run, or one was wrong: then it is not 0.
template <class Body>
int until_seen(tobi::runtime& rt, witness wanted, Body body) {
  for (;;) {
    rt.reset_stats();
    const int wrong = body();
    const tobi::statistics s = rt.stats();
    if (wrong != 0 || ((s.steals_ok > 0 || !wanted.stolen) && (s.global.evictions > 0 || !wanted.evicted)))
      return wrong;
  }
}

// With TOBI_DEBUG_MIGRATE each continuation moves, in its own worker: none is shown to thieves.
bool has_thieves(const tobi::runtime& rt) { return rt.size() > 1 && std::getenv("TOBI_DEBUG_MIGRATE") == nullptr; }

bool has_a_cache() {
  const char* policy = std::getenv("TOBI_CACHE_POLICY");
  return std::getenv("TOBI_NODES") != nullptr && (policy == nullptr || std::string_view(policy) != "none");
}

TEST(global_release, is_counted_when_an_eviction_has_written_back) {
  in_each(small_caches(), [](tobi::runtime& rt) {
    const auto a = tobi::allocate_all<char>(static_cast<std::size_t>(rt.size()) * 40 * block);
    const witness wanted{has_thieves(rt), has_a_cache()};
    const int wrong = until_seen(rt, wanted, [a] {
      return tobi::run([=] {
        int bad = 0;
        for (char round = 0; round < 20; ++round) {
          // Both halves: one of them is on the other node, wherever this runs.
          for (const auto part : {a.first(a.size() / 2), a.subspan(a.size() / 2)}) {
            tobi::store(&part[17 * block], round);
            auto child = tobi::spawn([=] {
              fork_often(1 + round % 4);
              write_back_by_eviction(part);
              for (int i = 0; i < 30; ++i) pause();
            });
            bad += tobi::load(&part[17 * block]) == round ? 0 : 1;
            child.join();
          }
        }
        return bad;
      });
    });
    CHECK(wrong == 0);
    return 0;
  });
}

TEST(global_release, is_counted_when_what_was_dirty_is_freed) {
  in_each(small_caches(), [](tobi::runtime& rt) {
    const witness wanted{has_thieves(rt), false};
    const int wrong = until_seen(rt, wanted, [] {
      tobi::run([] {
        for (int round = 0; round < 40; ++round) {
          // Made by one task and written by another, which may be on the other node.
          auto maker = tobi::spawn([] {
            pause();
            return tobi::allocate_global<long>(1);
          });
          fork_often(30);
          const auto object = maker.join();
          tobi::store(object, 1L);
          auto child = tobi::spawn([=] {
            fork_often(1 + round % 4);
            tobi::free_global(object, 1);
            for (int i = 0; i < 30; ++i) pause();
          });
          child.join();
        }
      });
      return 0;
    });
    CHECK(wrong == 0);
    return 0;
  });
}

// The attendant of a worker that computes sends dirty bytes home for a thief. What the worker has checked out for
// writing is not among them: a fabric must not read what changes. The strict provider notices where it would.
std::vector<place> caches_and_a_strict_fabric() {
  std::vector<place> all = small_caches();
  static const std::string folder = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fabric";
  if (!std::filesystem::exists(folder + "/libstrict-fi.so")) return all;
  for (const char* profile : {"opx", "psm3"}) {
    all.push_back({profile,
                   4,
                   {{"TOBI_NODES", "2"},
                    {"TOBI_TRANSPORT", "ofi"},
                    {"TOBI_OFI_PROVIDER", "strict"},
                    {"FI_PROVIDER_PATH", folder.c_str()},
                    {"FI_STRICT_PROFILE", profile},
                    {"TOBI_CACHE_SIZE", "1M"}}});
  }
  return all;
}

TEST(global_release, leaves_alone_what_is_checked_out_for_writing) {
  in_each(caches_and_a_strict_fabric(), [](tobi::runtime& rt) {
    constexpr std::size_t held = 300;
    const auto a = tobi::allocate_all<long>(static_cast<std::size_t>(rt.size()) * 1024);
    const witness wanted{has_thieves(rt), false};
    const int wrong = until_seen(rt, wanted, [a] {
      return tobi::run([=] {
        int bad = 0;
        for (long round = 1; round <= 5; ++round) {
          for (const auto part : {a.first(512), a.subspan(a.size() / 2).first(512)}) {
            tobi::fill(part, round);
            auto child = tobi::spawn([=] {
              auto mine = tobi::checkout(part.first(held), tobi::mode::read_write);
              const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(10);
              do {
                for (long& x : mine) x += 3;
              } while (std::chrono::steady_clock::now() < end);
              for (long& x : mine) x = -round;
              mine.checkin();
            });
            bad += tobi::load(&part[held]) == round && tobi::load(&part[511]) == round ? 0 : 1;
            child.join();
            bad +=
                tobi::reduce(part) == static_cast<long>(512 - held) * round - static_cast<long>(held) * round ? 0 : 1;
          }
        }
        return bad;
      });
    });
    CHECK(wrong == 0);
    return 0;
  });
}

}  // namespace
