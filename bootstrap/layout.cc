// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/layout.hpp"

#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <span>
#include <sstream>
#include <tuple>
#include <utility>

#include "bootstrap/came_with_program.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/plain_text.hpp"

namespace tobi::bootstrap {

namespace {

std::string file_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

std::string program_path() {
  std::array<char, 4096> path{};
  const ssize_t n = readlink("/proc/self/exe", path.data(), path.size() - 1);
  return n > 0 ? std::string(path.data(), static_cast<std::size_t>(n)) : "the program";
}

std::string hex(std::uint64_t n) {
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), n, 16).ptr;
  return {digits.data(), end};
}

// The linker's note with a hash of the contents, or "" where an object was linked without one.
std::string build_id_of(const dl_phdr_info& of) {
  for (int i = 0; i < of.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = of.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* at = reinterpret_cast<const unsigned char*>(of.dlpi_addr + segment.p_vaddr);
    const auto* end = at + segment.p_memsz;
    const std::size_t unit = segment.p_align == 8 ? 8 : 4;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const unsigned char* name = at + sizeof note;
      const unsigned char* content = at + (sizeof note + note.n_namesz + unit - 1) / unit * unit;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
        std::string id;
        for (std::size_t b = 0; b < note.n_descsz; ++b) {
          const char* digit = "0123456789abcdef";
          id += digit[content[b] >> 4];
          id += digit[content[b] & 15];
        }
        return id;
      }
      at = content + (note.n_descsz + unit - 1) / unit * unit;
    }
  }
  return "";
}

struct with_task_code {
  std::vector<ElfW(Addr)> places = places_of_task_code();
  std::vector<layout::object> objects;
};

int add_object(dl_phdr_info* info, std::size_t, void* to) {
  auto& [places, objects] = *static_cast<with_task_code*>(to);
  if (std::find(places.begin(), places.end(), info->dlpi_addr) == places.end()) return 0;
  const bool is_program = objects.empty();  // the first one, which has no name
  objects.push_back({file_name(is_program ? program_path() : info->dlpi_name), build_id_of(*info), info->dlpi_addr});
  return 0;
}

std::span<const layout::object> libraries(const layout& l) { return std::span(l.objects).subspan(1); }

const layout::object* find(std::span<const layout::object> in, const std::string& name) {
  const auto found = std::find_if(in.begin(), in.end(), [&](const layout::object& o) { return o.name == name; });
  return found == in.end() ? nullptr : &*found;
}

std::string or_none(const std::string& id) { return id.empty() ? "no build id" : "build id " + id; }

}  // namespace

layout own_layout() {
  with_task_code found;
  dl_iterate_phdr(add_object, &found);
  layout l;
  l.objects = std::move(found.objects);
  l.thread_pointer = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
  l.page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return l;
}

std::string layout::to_text() const {
  std::string text = hex(thread_pointer) + " " + hex(page_bytes) + "\n";
  for (const object& o : objects)
    text += hex(o.address) + " " + (o.build_id.empty() ? "-" : o.build_id) + " " + o.name + "\n";
  return text;
}

layout layout::from_text(const std::string& text) {
  layout l;
  base::text_in in(text);
  in >> std::hex >> l.thread_pointer >> l.page_bytes;
  for (object o; in >> o.address >> o.build_id && in.get() == ' ' && std::getline(in, o.name);) {
    if (o.build_id == "-") o.build_id.clear();
    l.objects.push_back(o);
  }
  return l;
}

std::string difference(const layout& mine, const layout& theirs, const std::string& my_name,
                       const std::string& their_name) {
  if (mine.objects.empty() || theirs.objects.empty()) return their_name + " has not said which program it runs.";
  const layout::object& program = mine.objects.front();
  const layout::object& other = theirs.objects.front();
  if (program.build_id != other.build_id || (program.build_id.empty() && program.name != other.name)) {
    return their_name + " runs another program than " + my_name + " (" + other.name + ", " + or_none(other.build_id) +
           "; " + program.name + ", " + or_none(program.build_id) +
           "); start the same build of one program everywhere.";
  }
  // Which libraries there are, then which versions, then where: one more library moves all the others.
  for (const auto& [has, has_not, owner, other_owner] :
       {std::tuple(&mine, &theirs, &my_name, &their_name), std::tuple(&theirs, &mine, &their_name, &my_name)}) {
    for (const layout::object& o : libraries(*has)) {
      if (find(libraries(*has_not), o.name) != nullptr) continue;
      return *owner + " has loaded " + o.name + " and " + *other_owner +
             " has not; give both the same libraries (LD_LIBRARY_PATH, LD_PRELOAD).";
    }
  }
  for (const layout::object& o : libraries(mine)) {
    const layout::object& t = *find(libraries(theirs), o.name);
    if (t.build_id == o.build_id) continue;
    return o.name + " differs: " + or_none(o.build_id) + " in " + my_name + ", " + or_none(t.build_id) + " in " +
           their_name + "; install the same library on every node.";
  }
  for (const layout::object& o : mine.objects) {
    const layout::object& t = &o == &program ? other : *find(libraries(theirs), o.name);
    if (t.address == o.address) continue;
    // Libraries that came with the program lie together: where one is in its place, this one was opened later.
    const bool later = std::ranges::any_of(libraries(mine), [&](const layout::object& l) {
      return find(libraries(theirs), l.name)->address == l.address;
    });
    return o.name + " is at address 0x" + hex(o.address) + " in " + my_name + " and at 0x" + hex(t.address) + " in " +
           their_name +
           (later ? "; open it (dlopen) before what the processes do differently, best at the start of main."
                  : "; start all with the same libraries and limits (ulimit -s) on equal kernels.");
  }
  if (mine.thread_pointer != theirs.thread_pointer) {
    return "thread-local data is at address 0x" + hex(mine.thread_pointer) + " in " + my_name + " and at 0x" +
           hex(theirs.thread_pointer) + " in " + their_name +
           "; make the environments equal (LD_LIBRARY_PATH, GLIBC_TUNABLES).";
  }
  if (mine.page_bytes != theirs.page_bytes) {
    return "pages have " + std::to_string(mine.page_bytes) + " bytes in " + my_name + " and " +
           std::to_string(theirs.page_bytes) + " in " + their_name + "; use nodes whose kernels agree.";
  }
  return "";
}

}  // namespace tobi::bootstrap
