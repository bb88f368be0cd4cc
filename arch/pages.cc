// SPDX-License-Identifier: Apache-2.0
#include "arch/pages.hpp"

#include <dirent.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <memory>

#include "libcore/base/plain_text.hpp"

namespace tobi::arch {

namespace {

std::uint64_t read_number(const std::string& file, std::uint64_t otherwise) {
  std::uint64_t n = 0;
  return base::file_in(file) >> n ? n : otherwise;
}

// The kernel lists what is possible, with the choice in brackets: "always [madvise] never".
std::string read_bracketed(const std::string& file) {
  std::string line;
  base::file_in in(file);
  std::getline(in, line);
  const std::size_t open = line.find('[');
  const std::size_t close = line.find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return "";
  return line.substr(open + 1, close - open - 1);
}

// A mapping reserves its pages at once, so this returns without touching one.
bool memfd_works(std::size_t page_bytes) {
  const auto size_code = static_cast<unsigned>(std::countr_zero(page_bytes)) << MAP_HUGE_SHIFT;
  const int fd = memfd_create("tobi-pages", MFD_CLOEXEC | MFD_HUGETLB | size_code);
  if (fd < 0) return false;
  bool works = false;
  if (ftruncate(fd, static_cast<off_t>(page_bytes)) == 0) {
    void* at = mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    works = at != MAP_FAILED;
    if (works) munmap(at, page_bytes);
  }
  close(fd);
  return works;
}

std::vector<huge_pages> read_huge_pages(const std::string& folder) {
  std::vector<huge_pages> found;
  const std::unique_ptr<DIR, void (*)(DIR*)> dir(opendir(folder.c_str()), [](DIR* d) {
    if (d != nullptr) closedir(d);
  });
  if (dir == nullptr) return found;
  while (const dirent* entry = readdir(dir.get())) {
    std::size_t kib = 0;
    if (std::sscanf(entry->d_name, "hugepages-%zukB", &kib) != 1 || !std::has_single_bit(kib)) continue;
    const std::string pool = folder + "/" + entry->d_name;
    const std::uint64_t free = read_number(pool + "/free_hugepages", 0);
    const std::uint64_t reserved = read_number(pool + "/resv_hugepages", 0);
    found.push_back({kib * 1024, read_number(pool + "/nr_hugepages", 0), free > reserved ? free - reserved : 0,
                     memfd_works(kib * 1024)});
  }
  std::sort(found.begin(), found.end(),
            [](const huge_pages& a, const huge_pages& b) { return a.page_bytes < b.page_bytes; });
  return found;
}

// The number after NAME in a file of "name number" lines.
std::uint64_t read_named(const std::string& file, const std::string& name, std::uint64_t otherwise) {
  base::file_in lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, name.size(), name) != 0 || line.size() == name.size() || line[name.size()] != ' ') continue;
    unsigned long long n = 0;
    if (std::sscanf(line.c_str() + name.size(), "%llu", &n) == 1) return n;
  }
  return otherwise;
}

// A group's usage counts file caches too; the kernel drops those that nobody uses before it refuses memory.
std::uint64_t left_in_group(const std::string& folder, int version) {
  const bool v2 = version == 2;
  const std::uint64_t limit = read_number(folder + (v2 ? "/memory.max" : "/memory.limit_in_bytes"), unlimited);
  // Version 1 writes a number near 2^63 for no limit; version 2 writes "max", which does not read as a number.
  if (limit >= unlimited / 4) return unlimited;
  const std::uint64_t used = read_number(folder + (v2 ? "/memory.current" : "/memory.usage_in_bytes"), 0);
  const std::uint64_t idle = read_named(folder + "/memory.stat", v2 ? "inactive_file" : "total_inactive_file", 0);
  const std::uint64_t held = used > idle ? used - idle : 0;
  return limit > held ? limit - held : 0;
}

std::string megabytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + "M"; }

}  // namespace

page_facts read_pages(const std::string& sys) {
  page_facts facts;
  facts.page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  facts.huge = read_huge_pages(sys + "/hugepages");
  facts.transparent = read_bracketed(sys + "/transparent_hugepage/enabled");
  facts.transparent_shared = read_bracketed(sys + "/transparent_hugepage/shmem_enabled");
  rlimit locked{};
  if (getrlimit(RLIMIT_MEMLOCK, &locked) == 0) {
    facts.locked_limit = locked.rlim_cur == RLIM_INFINITY ? unlimited : locked.rlim_cur;
    facts.locked_limit_hard = locked.rlim_max == RLIM_INFINITY ? unlimited : locked.rlim_max;
  }
  return facts;
}

std::uint64_t available_memory(const std::string& meminfo, const cgroup_files& files) {
  const std::uint64_t kib = read_named(meminfo, "MemAvailable:", unlimited);
  std::uint64_t least = kib == unlimited ? unlimited : kib * 1024;
  visit_cgroup_levels(files, "memory", [&](const std::string& folder, int version) {
    least = std::min(least, left_in_group(folder, version));
  });
  return least;
}

std::string too_many_workers(int asked, int cores, std::size_t bytes_per_worker, std::uint64_t available_bytes) {
  const std::string subject = std::to_string(asked) + (asked == 1 ? " worker" : " workers");
  if (asked < 1) return subject + " cannot run a job; ask for 1 or more.";
  if (asked > std::int64_t{workers_per_core_max} * cores) {
    return subject + " are more than " + std::to_string(workers_per_core_max) + " for each of the " +
           std::to_string(cores) + " cores that this process may use; lower TOBI_WORKERS.";
  }
  // Divided, not multiplied: the product may not fit.
  if (available_bytes != unlimited && bytes_per_worker > available_bytes / static_cast<std::uint64_t>(asked)) {
    return subject + " of " + megabytes(bytes_per_worker) + " each need more than the " + megabytes(available_bytes) +
           " of memory that are available; lower TOBI_WORKERS.";
  }
  return "";
}

std::string too_many_workers(int asked, int cores, std::size_t bytes_per_worker) {
  return too_many_workers(asked, cores, bytes_per_worker, available_memory());
}

std::string crowded(int workers, int cores) {
  if (workers <= std::int64_t{workers_per_core_good} * cores) return "";
  return std::to_string(workers) + " workers share " + std::to_string(cores) + (cores == 1 ? " core" : " cores") +
         ": they run in turns; one worker per core is fastest (TOBI_WORKERS).";
}

}  // namespace tobi::arch
