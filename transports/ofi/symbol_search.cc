// SPDX-License-Identifier: Apache-2.0
#include "transports/ofi/symbol_search.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>

namespace tobi::transports::ofi {

namespace {

using opener = FILE* (*)(const char*, const char*);

opener original = nullptr;

FILE* open_but_the_list(const char* path, const char* mode) {
  if (std::string_view(path) != "/proc/kallsyms") return original(path, mode);
  errno = ENOENT;
  return nullptr;
}

struct library_image {
  ElfW(Addr) base = 0;
  const ElfW(Dyn) * dynamic = nullptr;
  std::uintptr_t protected_from = 0;  // by the loader, once the addresses are in
  std::uintptr_t protected_to = 0;
};

int look(dl_phdr_info* object, std::size_t, void* out) {
  const char* name = object->dlpi_name == nullptr ? nullptr : std::strrchr(object->dlpi_name, '/');
  if (name == nullptr || !std::string_view(name).starts_with("/libfabric.so")) return 0;
  auto& image = *static_cast<library_image*>(out);
  image.base = object->dlpi_addr;
  for (const ElfW(Phdr) & part : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    const std::uintptr_t at = object->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_DYNAMIC) image.dynamic = reinterpret_cast<const ElfW(Dyn)*>(at);
    if (part.p_type != PT_GNU_RELRO) continue;
    image.protected_from = at;
    image.protected_to = at + part.p_memsz;
  }
  return 1;
}

// The loader of glibc has made addresses of what the file says; others leave what the file says.
template <class T>
const T* at(const library_image& image, ElfW(Addr) where) {
  return reinterpret_cast<const T*>(where >= image.base ? where : image.base + where);
}

// Where the library keeps the address of fopen: a slot of that name that holds it.
void** find_slot(const library_image& image, const void* function) {
  const ElfW(Rela)* calls = nullptr;
  const ElfW(Sym)* symbols = nullptr;
  const char* strings = nullptr;
  std::size_t bytes = 0;
  bool addends = false;
  for (const ElfW(Dyn)* entry = image.dynamic; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_JMPREL) calls = at<ElfW(Rela)>(image, entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB) symbols = at<ElfW(Sym)>(image, entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRTAB) strings = at<char>(image, entry->d_un.d_ptr);
    if (entry->d_tag == DT_PLTRELSZ) bytes = entry->d_un.d_val;
    if (entry->d_tag == DT_PLTREL) addends = entry->d_un.d_val == DT_RELA;
  }
  if (calls == nullptr || symbols == nullptr || strings == nullptr || !addends) return nullptr;
  for (const ElfW(Rela) & call : std::span(calls, bytes / sizeof *calls)) {
    if (std::string_view(strings + symbols[ELF64_R_SYM(call.r_info)].st_name) != "fopen") continue;
    auto** slot = reinterpret_cast<void**>(image.base + call.r_offset);
    return *slot == function ? slot : nullptr;
  }
  return nullptr;
}

}  // namespace

symbol_search_off::symbol_search_off() noexcept {
  library_image image;
  void* function = dlsym(RTLD_DEFAULT, "fopen");
  if (dl_iterate_phdr(look, &image) == 0 || image.dynamic == nullptr || function == nullptr) return;
  slot_ = find_slot(image, function);
  if (slot_ == nullptr) return;
  const auto here = reinterpret_cast<std::uintptr_t>(slot_);
  read_only_ = here >= image.protected_from && here < image.protected_to;
  original = reinterpret_cast<opener>(function);
  set(reinterpret_cast<void*>(&open_but_the_list));
}

symbol_search_off::~symbol_search_off() {
  if (slot_ != nullptr) set(reinterpret_cast<void*>(original));
}

void symbol_search_off::set(void* function) const noexcept {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  void* around = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(slot_) / page * page);
  if (read_only_ && mprotect(around, page, PROT_READ | PROT_WRITE) != 0) return;
  *slot_ = function;
  if (read_only_) mprotect(around, page, PROT_READ);
}

}  // namespace tobi::transports::ofi
