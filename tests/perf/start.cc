// SPDX-License-Identifier: Apache-2.0
// How long a job takes to its first task, and what memory each of its workers then has for itself: the program of
// tests/perf/start. The argument is the time in nanoseconds since 1970 when it was started.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <tobi/tobi.hpp>

namespace {

long now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// What no other process has mapped.
long private_kb() {
  std::FILE* sums = std::fopen("/proc/self/smaps_rollup", "re");
  if (sums == nullptr) return -1;
  long all = 0;
  long kb = 0;
  for (char line[256]; std::fgets(line, sizeof line, sums) != nullptr;) {
    if (std::sscanf(line, "Private_%*[A-Za-z]: %ld kB", &kb) == 1 && std::strstr(line, "Hugetlb") == nullptr) all += kb;
  }
  std::fclose(sums);
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const long begin = argc > 1 ? std::atol(argv[1]) : now_ns();
  tobi::runtime rt(argc, argv);
  const long first = tobi::run([] { return now_ns(); });
  rt.barrier();  // everybody is there, and nobody ends yet
  const long kb = private_kb();
  rt.barrier();
  char line[128];
  int bytes = std::snprintf(line, sizeof line, "private %ld\n", kb);
  if (rt.rank() == 0) {
    bytes += std::snprintf(line + bytes, sizeof line - static_cast<std::size_t>(bytes), "first %ld %s\n",
                           (first - begin) / 1'000'000, std::string(rt.transport_name()).c_str());
  }
  std::fwrite(line, 1, static_cast<std::size_t>(bytes), stdout);  // one write a rank: lines stay whole
  return 0;
}
