// SPDX-License-Identifier: Apache-2.0
#include "libcore/job/late_code.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "bootstrap/came_with_program.hpp"
#include "bootstrap/layout.hpp"
#include "libcore/base/digest.hpp"
#include "libcore/base/settings.hpp"

namespace tobi::job {

namespace {

// The end of a long name says more than its beginning. INTO is zero.
template <std::size_t size>
void keep(char (&into)[size], std::string_view text) noexcept {
  text.substr(text.size() - std::min(text.size(), size - 1)).copy(into, size - 1);
}

}  // namespace

early_code::early_code() {
  struct found {
    std::vector<ElfW(Addr)> places = bootstrap::places_of_task_code();
    std::vector<range> ranges;
  } all;
  const auto add = [](dl_phdr_info* object, std::size_t, void* to) {
    auto& [places, ranges] = *static_cast<found*>(to);
    if (std::find(places.begin(), places.end(), object->dlpi_addr) == places.end()) return 0;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = object->dlpi_phdr[i];
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
      const std::uintptr_t from = object->dlpi_addr + segment.p_vaddr;
      ranges.push_back({from, from + segment.p_memsz});
    }
    return 0;
  };
  dl_iterate_phdr(add, &all);
  ranges_ = std::move(all.ranges);
}

bool early_code::holds(const void* code) const noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(code);
  return std::any_of(ranges_.begin(), ranges_.end(), [=](const range& r) { return at >= r.from && at < r.to; });
}

code_words describe_code(const void* code) {
  code_words words{};
  words.at = reinterpret_cast<std::uint64_t>(code);
  Dl_info in{};
  if (dladdr(code, &in) == 0 || in.dli_fname == nullptr) return words;
  words.module_at = reinterpret_cast<std::uint64_t>(in.dli_fbase);
  const std::string_view path = in.dli_fname;
  keep(words.module, path.substr(path.rfind('/') + 1));
  for (const bootstrap::layout::object& o : bootstrap::own_layout().objects) {
    if (o.address == words.module_at) keep(words.build_id, o.build_id);
  }
  return words;
}

std::uint64_t digest_of(const code_words& code) noexcept {
  return base::digest({reinterpret_cast<const char*>(&code), sizeof code});
}

std::string difference(const code_words& mine, const code_words& theirs) {
  constexpr const char* what_to_do =
      "; tasks move between processes, so open the module (dlopen) before tobi::runtime is made.";
  const std::string here = mine.module[0] == 0 ? "no module" : mine.module;
  const std::string there = theirs.module[0] == 0 ? "no module" : theirs.module;
  const std::string root = "the code of tobi::run's root task is in ";
  if (here != there) return root + here + " on this rank and in " + there + " on rank 0" + what_to_do;
  if (std::string_view(mine.build_id) != theirs.build_id) {
    return root + here + ", which is another build on this rank (build id " + mine.build_id + ") than on rank 0 (" +
           theirs.build_id + "); install the same one on every node.";
  }
  if (mine.module_at != theirs.module_at) {
    return root + here + ", which is at address " + base::format_hex(mine.module_at) + " on this rank and at " +
           base::format_hex(theirs.module_at) + " on rank 0" + what_to_do;
  }
  if (mine.at != theirs.at) {
    return root + here + " at address " + base::format_hex(mine.at) + " on this rank and at " +
           base::format_hex(theirs.at) + " on rank 0; all ranks run the same root.";
  }
  return "";
}

}  // namespace tobi::job
