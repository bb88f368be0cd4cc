// SPDX-License-Identifier: Apache-2.0
#include "libcore/job/captured_pointers.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "libcore/base/plain_text.hpp"
#include "libcore/job/captured_vectors.hpp"
#include "libcore/pgas/memory.hpp"

namespace tobi::job {

namespace {

// What lies at AT in this process, where it is its own: "memory of malloc", or the name of a mapped file. "": it is
// nothing, or no other's affair: a local of main, which TOBI_DEBUG_MIGRATE tells of, or memory of the runtime.
std::string private_memory_at(std::uintptr_t at) {
  base::file_in maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t from = 0;
    std::uintptr_t to = 0;
    char access[5] = "";
    int name_at = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %4s %*s %*s %*s %n", &from, &to, access, &name_at) < 3) continue;
    if (at < from || at >= to) continue;
    const std::string name = line.substr(std::min<std::size_t>(line.size(), static_cast<std::size_t>(name_at)));
    if (name.empty() || name == "[heap]") return access[3] == 'p' ? "memory of malloc or mmap" : "";
    // What all processes share, as the runtime's own memory is, is a device's or has no name in a file system.
    const bool is_file = name.front() == '/' && name.rfind("/dev/", 0) != 0 && name.rfind("/memfd:", 0) != 0;
    return is_file ? "a mapping of " + name : "";
  }
  return "";
}

}  // namespace

void captured_pointers::keep(const void* root, std::span<const std::byte> closure) {
  mine_.clear();
  if (told_ || closure.empty() || ++runs_[root] > first_runs) return;
  const auto kept = closure.first(std::min(closure.size(), most_bytes));
  mine_.assign(kept.begin(), kept.end());
}

std::string captured_pointers::compare(std::span<const std::byte> theirs, const pgas::memory& global) {
  for (std::size_t i = 0; i + sizeof(std::uintptr_t) <= std::min(mine_.size(), theirs.size());
       i += sizeof(std::uintptr_t)) {
    std::uintptr_t here = 0;
    std::uintptr_t there = 0;
    std::memcpy(&here, mine_.data() + i, sizeof here);
    std::memcpy(&there, theirs.data() + i, sizeof there);
    if (here == there || here < first_page || there < first_page) continue;
    const void* const at = reinterpret_cast<const void*>(here);
    Dl_info module;
    if (global.holds(at) || dladdr(at, &module) != 0) continue;
    const std::string what = private_memory_at(here);
    if (what.empty()) continue;
    told_ = true;
    return "byte " + std::to_string(i) + " of what the root of tobi::run captures is a pointer into " + what +
           " here, and another address on rank 0, which all tasks use: each process has such memory for itself. Keep "
           "the pointer in a tobi::per_worker, map a file by tobi::mapped_file, or let tasks read global memory.";
  }
  return "";
}

}  // namespace tobi::job
