// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/came_with_program.hpp"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <vector>

// Not in programs without a loader.
#pragma weak _r_debug

namespace tobi::bootstrap {

namespace {

struct loaded_object {
  std::string_view path;           // "" for the program
  std::string_view soname;         // "" without one
  std::vector<const char*> needs;  // names of libraries, as linked
  ElfW(Addr) at = 0;
  bool is_ours = false;
  bool found = false;  // by find()
};

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

int add_loaded(dl_phdr_info* info, std::size_t, void* to) {
  static const char inside = 0;
  loaded_object found;
  found.path = info->dlpi_name;
  found.at = info->dlpi_addr;
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const std::uintptr_t from = info->dlpi_addr + segment.p_vaddr;
    const auto here = reinterpret_cast<std::uintptr_t>(&inside);
    if (segment.p_type == PT_LOAD && here >= from && here < from + segment.p_memsz) found.is_ours = true;
    if (segment.p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn)*>(from);
  }
  const char* names = nullptr;
  const auto each = [&](ElfW(Sxword) tag, auto&& use) {
    for (const ElfW(Dyn)* d = dynamic; d != nullptr && d->d_tag != DT_NULL; ++d) {
      if (d->d_tag == tag) use(d->d_un.d_val);
    }
  };
  // glibc has made this an address in all objects but the kernel's.
  each(DT_STRTAB,
       [&](auto at) { names = reinterpret_cast<const char*>(at < info->dlpi_addr ? info->dlpi_addr + at : at); });
  if (names != nullptr) {
    each(DT_SONAME, [&](auto at) { found.soname = names + at; });
    each(DT_NEEDED, [&](auto at) { found.needs.push_back(names + at); });
  }
  static_cast<std::vector<loaded_object>*>(to)->push_back(std::move(found));
  return 0;
}

bool is_of_kernel(std::string_view path) { return path.starts_with("linux-vdso") || path.starts_with("linux-gate"); }

// Parts that Open MPI, PMIx, UCX and hwloc open as they find the machine. No program opens one, or has an address of
// it.
bool is_component(std::string_view path) {
  constexpr std::string_view beginnings[] = {"mca_", "pmix_mca_", "libuct_", "libucm_", "hwloc_"};
  return std::ranges::any_of(beginnings, [name = last_part(path)](auto with) { return name.starts_with(with); });
}

// An object and what it needs. As the loader does: a library is found by its own name, or by that of its file.
void find(std::vector<loaded_object>& all, std::string_view name);

void find_needed(std::vector<loaded_object>& all, const loaded_object& by) {
  for (const char* needed : by.needs) find(all, needed);
}

void find(std::vector<loaded_object>& all, std::string_view name) {
  for (loaded_object& o : all) {
    if (o.path.empty() || o.found || (o.soname != last_part(name) && last_part(o.path) != last_part(name))) continue;
    o.found = true;
    find_needed(all, o);
    return;
  }
}

// All that are loaded; found are those that came with the program.
std::vector<loaded_object> loaded_now() {
  std::vector<loaded_object> all;  // the program first
  dl_iterate_phdr(add_loaded, &all);
  if (all.empty()) return all;
  all[0].found = true;
  find_needed(all, all[0]);
  if (const char* preloaded = std::getenv("LD_PRELOAD"); preloaded != nullptr) {
    for (std::string_view rest = preloaded; !rest.empty();) {
      const std::size_t end = std::min(rest.find_first_of(" :"), rest.size());
      if (end != 0) find(all, rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return all;
}

}  // namespace

bool came_with_program() {
  const std::vector<loaded_object> all = loaded_now();
  return all.empty() ||
         std::any_of(all.begin(), all.end(), [](const loaded_object& o) { return o.is_ours && o.found; });
}

std::vector<ElfW(Addr)> places_of_task_code() {
  std::vector<loaded_object> all = loaded_now();
  std::vector<loaded_object> of_components = all;
  for (loaded_object& o : of_components) {
    if (o.found || !is_component(o.path)) continue;
    o.found = true;
    find_needed(of_components, o);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].found || of_components[i].found || is_of_kernel(all[i].path)) continue;
    all[i].found = true;
    find_needed(all, all[i]);
  }
  std::vector<ElfW(Addr)> places;
  for (const loaded_object& o : all) {
    if (o.found) places.push_back(o.at);
  }
  return places;
}

bool is_exe_the_program() {
  struct stat exe {};
  if (stat("/proc/self/exe", &exe) != 0) return false;
  const std::uint64_t ours[] = {
      getauxval(AT_PHDR),                            // of the program
      &_r_debug == nullptr ? 0 : _r_debug.r_ldbase,  // of the loader, where the user has started it with the program
  };
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return false;
  bool is = false;
  for (char line[4352]; std::fgets(line, sizeof line, maps) != nullptr;) {
    unsigned long from = 0;
    unsigned long to = 0;
    unsigned long inode = 0;  // alone: of overlays the maps name another device than stat does
    if (std::sscanf(line, "%lx-%lx %*s %*s %*s %lu", &from, &to, &inode) != 3 || inode != exe.st_ino) continue;
    is = is || std::any_of(std::begin(ours), std::end(ours), [&](auto at) { return at >= from && at < to; });
  }
  std::fclose(maps);
  return is;
}

}  // namespace tobi::bootstrap
