// SPDX-License-Identifier: Apache-2.0
// Whoever waits in a fence of the bootstrap moves its fabric meanwhile (exchange::while_waiting). The fabric is played:
// each rank has a counter of what it was asked, and progress() alone makes it answer. In turn one rank stays away from
// the fence until every other one has answered it twice, which each can only do from inside of the fence. So a fence
// that sleeps never ends, however fast the machine is.
//
//     moves FILE    FILE, which is not there yet, becomes the memory that the ranks of one machine share
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

#include "bootstrap/bootstrap.hpp"
#include "libcore/base/settings.hpp"

namespace {

constexpr int ranks_max = 64;

struct alignas(64) target {
  std::atomic<std::uint64_t> asked;
  std::atomic<std::uint64_t> answered;

  // Acquire with the asker's release, and back: the answer is to that question.
  void progress() noexcept { answered.store(asked.load(std::memory_order_acquire), std::memory_order_release); }
  void ask_and_wait() noexcept {
    const std::uint64_t question = asked.fetch_add(1, std::memory_order_acq_rel) + 1;
    while (answered.load(std::memory_order_acquire) < question) {
      constexpr timespec moment{0, 50'000};
      nanosleep(&moment, nullptr);
    }
  }
};

target* map(const char* file) {
  const int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, ranks_max * sizeof(target)) != 0) return nullptr;
  void* at = mmap(nullptr, ranks_max * sizeof(target), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return at == MAP_FAILED ? nullptr : static_cast<target*>(at);
}

enum class kind { bare, with_values, question, end };
constexpr std::array kinds{kind::bare, kind::with_values, kind::question, kind::end};

// What all say in a question, with the highest bit and without: the least is that of unsigned numbers.
bool ask(tobi::bootstrap::bootstrap& job) {
  const std::uint64_t me = static_cast<std::uint64_t>(job.rank());
  const std::uint64_t last = static_cast<std::uint64_t>(job.size()) - 1;
  std::array<std::uint64_t, 4> words{me, ~me, me == last ? 5 : ~std::uint64_t{0}, me == 0 ? std::uint64_t{1} << 63 : 7};
  job.least(words);
  return words == std::array<std::uint64_t, 4>{0, ~last, 5, 7};
}

// Whether all was as it should be.
bool meet(tobi::bootstrap::bootstrap& job, kind how, int round) {
  switch (how) {
    case kind::bare:
      job.fence();
      return true;
    case kind::with_values: {
      const std::string key = "round " + std::to_string(round);
      job.put(key, std::as_bytes(std::span(key.data(), key.size())));
      job.fence();
      return job.get((job.rank() + 1) % job.size(), key).size() == key.size();
    }
    case kind::question:
      return ask(job);
    case kind::end:
      job.finalize();
      return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  target* all = argc == 2 ? map(argv[1]) : nullptr;
  if (all == nullptr) {
    std::fprintf(stderr, "usage: moves FILE\n");
    return 2;
  }
  tobi::base::settings in_force = tobi::base::read_settings();
  const auto job = tobi::bootstrap::start(in_force, in_force.workers, 1);
  const int me = job->rank();
  const int size = job->size();
  if (size > ranks_max) return 2;
  job->while_waiting([&] { all[me].progress(); });
  int round = 0;
  for (const kind how : kinds) {
    for (int late = 0; late < (how == kind::end ? 1 : size); ++late, ++round) {
      for (int times = 0; me == late && times < 2; ++times) {
        for (int other = 0; other < size; ++other) {
          if (other != me) all[other].ask_and_wait();
        }
      }
      if (meet(*job, how, round)) continue;
      std::fprintf(stderr, "rank %d has learned something wrong in fence %d\n", me, round);
      return 1;
    }
  }
  if (me == 0) std::printf("%d ranks by %s have moved in %d fences\n", size, std::string(job->name()).c_str(), round);
}
