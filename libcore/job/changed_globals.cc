// SPDX-License-Identifier: Apache-2.0
#include "libcore/job/changed_globals.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <span>

namespace tobi::job {

namespace {

constexpr std::size_t largest = 16u << 20;  // of a variable: to compare a longer one costs more than it tells

// Of the program itself, not of libraries.
struct image {
  std::uintptr_t base = 0;
  std::uintptr_t from = 0, to = 0;  // what it can write to
  bool found = false;
  bool has_loader = false;  // else the C library's own variables are among the program's
};

int look_at(dl_phdr_info* info, std::size_t, void* into) {
  auto& is = *static_cast<image*>(into);
  is.base = info->dlpi_addr;
  for (const ElfW(Phdr) & p : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
    if (p.p_type == PT_INTERP) is.has_loader = true;
    if (p.p_type != PT_LOAD || (p.p_flags & PF_W) == 0) continue;
    is.from = info->dlpi_addr + p.p_vaddr;
    is.to = is.from + p.p_memsz;
    is.found = true;
  }
  return 1;  // the program comes first
}

// A file in memory, for as long as this lives.
class mapped_file {
 public:
  explicit mapped_file(const char* path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat s {};
    if (fd >= 0 && fstat(fd, &s) == 0 && s.st_size > 0) {
      bytes_ = static_cast<std::size_t>(s.st_size);
      at_ = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    if (fd >= 0) close(fd);
  }
  ~mapped_file() {
    if (at_ != MAP_FAILED) munmap(at_, bytes_);
  }
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;
  /// COUNT objects at OFFSET; empty where the file is shorter.
  template <class T>
  [[nodiscard]] std::span<const T> at(std::size_t offset, std::size_t count) const {
    if (at_ == MAP_FAILED || offset > bytes_ || count > (bytes_ - offset) / sizeof(T)) return {};
    return {reinterpret_cast<const T*>(static_cast<const std::byte*>(at_) + offset), count};
  }

 private:
  void* at_ = MAP_FAILED;
  std::size_t bytes_ = 0;
};

std::string readable(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                     &std::free);
  return status == 0 ? plain.get() : symbol;
}

}  // namespace

bool is_nobodys_variable(std::string_view symbol) noexcept {
  constexpr std::array ours{"_ZN4tobi", "_ZZN4tobi", "_ZZNK4tobi", "tobi_", "je_", "hwloc_"};
  constexpr std::array theirs{"_ZGV",  "_ZGR",   "_ZTV",   "_ZTI", "_ZTS", "_ZSt",
                              "_ZNSt", "_ZNKSt", "_ZZNSt", "__",   "_IO_", "completed."};
  const auto begins = [&](const char* with) { return symbol.starts_with(with); };
  return symbol.empty() || symbol.find('@') != std::string_view::npos ||
         std::any_of(ours.begin(), ours.end(), begins) || std::any_of(theirs.begin(), theirs.end(), begins);
}

changed_globals::changed_globals() {
  image is;
  dl_iterate_phdr(&look_at, &is);
  if (!is.found || !is.has_loader) {
    blind_ = "the program is linked statically, with the C library's own variables among its own";
    return;
  }
  const mapped_file file("/proc/self/exe");
  const auto head = file.at<ElfW(Ehdr)>(0, 1);
  const auto sections =
      head.empty() ? std::span<const ElfW(Shdr)>{} : file.at<ElfW(Shdr)>(head[0].e_shoff, head[0].e_shnum);
  for (const ElfW(Shdr) & s : sections) {
    if (s.sh_type != SHT_SYMTAB || s.sh_link >= sections.size()) continue;
    const ElfW(Shdr)& strings = sections[s.sh_link];
    const auto names = file.at<char>(strings.sh_offset, strings.sh_size);
    if (names.empty() || names.back() != '\0') continue;
    for (const ElfW(Sym) & symbol : file.at<ElfW(Sym)>(s.sh_offset, s.sh_size / sizeof(ElfW(Sym)))) {
      const std::uintptr_t at = is.base + symbol.st_value;
      if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx == SHN_UNDEF) continue;
      if (symbol.st_size == 0 || symbol.st_size > largest || symbol.st_name >= names.size()) continue;
      // A static variable of C: perhaps one of libraries that are linked statically, this one's heap among them.
      if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL &&
          !std::string_view(names.data() + symbol.st_name).starts_with("_Z")) {
        continue;
      }
      if (at < is.from || at >= is.to || symbol.st_size > is.to - at) continue;
      add(reinterpret_cast<std::byte*>(at), symbol.st_size, names.data() + symbol.st_name);
    }
  }
  std::sort(all_.begin(), all_.end(), [](const variable& a, const variable& b) { return a.symbol < b.symbol; });
  if (all_.empty()) blind_ = "the program has no table of symbols (it was stripped)";
}

// Guards of a function's local variables are kept too: they tell which of these are new.
void changed_globals::add(std::byte* at, std::size_t bytes, std::string_view symbol) {
  if (is_nobodys_variable(symbol) && !symbol.starts_with("_ZGVZ")) return;
  all_.push_back({at, bytes, std::string(symbol), nullptr});
}

void changed_globals::keep() {
  for (variable& v : all_) {
    if (v.kept == nullptr) v.kept = std::make_unique_for_overwrite<std::byte[]>(v.bytes);
    std::memcpy(v.kept.get(), v.at, v.bytes);
  }
}

bool changed_globals::has_changed(const variable& v) const noexcept {
  return v.kept != nullptr && std::memcmp(v.at, v.kept.get(), v.bytes) != 0;
}

// The guard of _ZZ<function>E<name> is _ZGVZ<function>E<name>.
bool changed_globals::is_new(const variable& v) const {
  if (!v.symbol.starts_with("_ZZ")) return false;
  const std::string guard = "_ZGV" + v.symbol.substr(2);
  const auto found = std::lower_bound(all_.begin(), all_.end(), guard,
                                      [](const variable& a, const std::string& b) { return a.symbol < b; });
  return found != all_.end() && found->symbol == guard && has_changed(*found);
}

std::vector<std::string> changed_globals::compare() {
  std::vector<std::string> names;
  for (variable& v : all_) {
    if (v.named || is_nobodys_variable(v.symbol) || !has_changed(v) || is_new(v)) continue;
    v.named = true;
    names.push_back(readable(v.symbol));
  }
  return names;
}

}  // namespace tobi::job
