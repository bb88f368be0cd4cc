// SPDX-License-Identifier: Apache-2.0
// Four ranks over verbs, each of which may have one connection at a time (TOBI_VERBS_CONNECTIONS=1). Ranks 1 to 3 read
// from rank 0 and from another rank in turn, so that each reading makes a connection and closes one; rank 0 meanwhile
// calls nothing, as a worker that computes. It prints how many queue pairs its process had at most, as the kernel
// counts them. See verbs.sh.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "ranks.hpp"

namespace {

using over_verbs::expect;

constexpr int ranks = 4;
constexpr int turns = 40;

// The kernel names the thread that has made a queue pair. The guest's files are the machine's, over virtio: with busy
// ranks an execve() there fails at times (EFAULT, ENOMEM). Such a look has seen none, and there are others.
int queue_pairs() {
  FILE* said = popen("rdma resource show qp", "r");
  if (said == nullptr) return 0;
  int n = 0;
  for (char line[512]; std::fgets(line, sizeof line, said) != nullptr;) {
    const char* pid = std::strstr(line, " pid ");
    if (pid == nullptr) continue;
    const std::string thread = "/proc/self/task/" + std::to_string(std::atoi(pid + 5));
    if (access(thread.c_str(), F_OK) == 0) ++n;
  }
  pclose(said);
  return n;
}

}  // namespace

int main() {
  over_verbs::ranks all(ranks);
  // Rank 0 learns that they have come to their end without the fabric: each leaves a file.
  const std::string done = "/tmp/come_and_go";
  if (all.rank() != 0) {
    const int other = all.rank() == 3 ? 1 : all.rank() + 1;
    for (int i = 0; i < turns; ++i) {
      expect(all.read(other) == tobi::status::ok, "a neighbour cannot be read");
      // The last one stays until rank 0 has counted, also where it counts rarely.
      expect(all.read(0) == tobi::status::ok, "rank 0 cannot be read");
    }
    FILE* mark = std::fopen((done + "." + std::to_string(all.rank())).c_str(), "w");
    expect(mark != nullptr && std::fclose(mark) == 0, "a file cannot be made");
  } else {
    int most = 0;
    const auto all_done = [&] {
      for (int r = 1; r < ranks; ++r) {
        if (access((done + "." + std::to_string(r)).c_str(), F_OK) != 0) return false;
      }
      return true;
    };
    do {
      most = std::max(most, queue_pairs());
      usleep(100'000);
    } while (!all_done());
    most = std::max(most, queue_pairs());
    for (int r = 1; r < ranks; ++r) unlink((done + "." + std::to_string(r)).c_str());
    std::printf("at most %d queue pairs\n", most);
    std::fflush(stdout);
  }
  all.job->fence();
  all.job->finalize();
}
