// SPDX-License-Identifier: Apache-2.0
// A tool of the build: jemalloc's thread-local data becomes ordinary data that is found by an offset from the thread
// pointer, in a variable. Debian's archive is compiled for the initial-exec model, in which 2.6 KB of it would lie in
// every thread's static TLS: a program that was started without Tobiuo has no such room left, and could not dlopen it.
//
// Where the code loads the offset of je_tsd_tls from the global offset table it now loads it from the variable
// tobi_je_tsd_offset, by an instruction of the same bytes: only the relocations differ. alloc/tsd.cc sets the variable.
//
// Objects for AArch64 have local names for the same place besides, of their mapping ($d) and of GCC's (.LANCHOR1). What
// jemalloc's own file loads by such a name is exchanged like the rest.
#include <elf.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

constexpr const char* offset_variable = "tobi_je_tsd_offset";  // objcopy has renamed je_tsd_tls to it

struct exchange {
  unsigned machine;
  unsigned long thread_local_offset;
  unsigned long variable;
};
constexpr exchange exchanges[] = {
    {EM_X86_64, R_X86_64_GOTTPOFF, R_X86_64_PC32},
    {EM_AARCH64, R_AARCH64_TLSIE_ADR_GOTTPREL_PAGE21, R_AARCH64_ADR_PREL_PG_HI21},
    {EM_AARCH64, R_AARCH64_TLSIE_LD64_GOTTPREL_LO12_NC, R_AARCH64_LDST64_ABS_LO12_NC},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::ifstream in(argv[1], std::ios::binary);
  std::vector<char> file((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  in.close();
  const auto wrong = [&](const std::string& what) {
    std::fprintf(stderr, "%s: %s; Tobiuo needs jemalloc's PIC archive as Debian builds it.\n", argv[1], what.c_str());
    return 1;
  };
  if (file.size() < sizeof(Elf64_Ehdr) || std::memcmp(file.data(), ELFMAG, SELFMAG) != 0)
    return wrong("not an ELF object");
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(file.data());
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(file.data() + header->e_shoff);
  Elf64_Word variable = 0;
  std::vector<bool> other_name;
  std::size_t exchanged = 0;
  for (unsigned s = 0; s < header->e_shnum; ++s) {
    if (sections[s].sh_type != SHT_SYMTAB) continue;
    auto* symbols = reinterpret_cast<Elf64_Sym*>(file.data() + sections[s].sh_offset);
    const char* names = file.data() + sections[sections[s].sh_link].sh_offset;
    other_name.resize(sections[s].sh_size / sizeof(Elf64_Sym));
    for (std::size_t i = 0; i < other_name.size(); ++i) {
      if (ELF64_ST_TYPE(symbols[i].st_info) != STT_TLS) continue;
      if (ELF64_ST_BIND(symbols[i].st_info) == STB_LOCAL && symbols[i].st_value == 0) {
        other_name[i] = true;
        symbols[i].st_info = ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE);
        continue;
      }
      if (variable != 0 || symbols[i].st_value != 0 || std::strcmp(names + symbols[i].st_name, offset_variable) != 0) {
        return wrong("it has thread-local data other than je_tsd_tls");
      }
      variable = static_cast<Elf64_Word>(i);
      symbols[i].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE);
      symbols[i].st_shndx = SHN_UNDEF;
      symbols[i].st_value = 0;
      symbols[i].st_size = 0;
    }
  }
  if (variable == 0) return wrong("it has no je_tsd_tls");
  for (unsigned s = 0; s < header->e_shnum; ++s) {
    if (sections[s].sh_type != SHT_RELA) continue;
    auto* relocations = reinterpret_cast<Elf64_Rela*>(file.data() + sections[s].sh_offset);
    for (std::size_t i = 0; i < sections[s].sh_size / sizeof(Elf64_Rela); ++i) {
      const auto named = ELF64_R_SYM(relocations[i].r_info);
      const bool other = named < other_name.size() && other_name[named];
      if (named != variable && !other) continue;
      if (relocations[i].r_addend != 0 && other) return wrong("its thread-local data is used in parts");
      bool known = false;
      for (const exchange& e : exchanges) {
        if (e.machine != header->e_machine || e.thread_local_offset != ELF64_R_TYPE(relocations[i].r_info)) continue;
        relocations[i].r_info = ELF64_R_INFO(static_cast<Elf64_Xword>(variable), e.variable);
        known = true;
        ++exchanged;
        break;
      }
      if (!known) return wrong("its thread-local data is of another model");
    }
  }
  if (exchanged == 0) return wrong("its code does not use je_tsd_tls");
  std::ofstream out(argv[1], std::ios::binary | std::ios::trunc);
  out.write(file.data(), static_cast<std::streamsize>(file.size()));
  return out.good() ? 0 : wrong("it cannot be written");
}
