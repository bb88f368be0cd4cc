// SPDX-License-Identifier: Apache-2.0
#include "libcore/job/dwarf.hpp"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/base/shared_library.hpp"

namespace tobi::job {

namespace {

#if defined(__x86_64__)
constexpr unsigned frame_pointer_register = 6, stack_pointer_register = 7;  // as DWARF numbers them
#elif defined(__aarch64__)
constexpr unsigned frame_pointer_register = 29, stack_pointer_register = 31;
#endif

// The functions of libdw that are called here, under their names without the prefix.
struct libdw {
  decltype(&::dwfl_begin) begin;
  decltype(&::dwfl_end) end;
  decltype(&::dwfl_linux_proc_report) proc_report;
  decltype(&::dwfl_report_end) report_end;
  decltype(&::dwfl_linux_proc_find_elf) find_elf;
  decltype(&::dwfl_standard_find_debuginfo) find_debuginfo;
  decltype(&::dwfl_addrmodule) addrmodule;
  decltype(&::dwfl_module_nextcu) nextcu;
  decltype(&::dwarf_haspc) haspc;
  decltype(&::dwarf_child) child;
  decltype(&::dwarf_siblingof) siblingof;
  decltype(&::dwarf_tag) tag;
  decltype(&::dwarf_attr) attr;
  decltype(&::dwarf_attr_integrate) attr_integrate;
  decltype(&::dwarf_formref_die) formref_die;
  decltype(&::dwarf_formudata) formudata;
  decltype(&::dwarf_diename) diename;
  decltype(&::dwarf_decl_file) decl_file;
  decltype(&::dwarf_decl_line) decl_line;
  decltype(&::dwarf_peel_type) peel_type;
  decltype(&::dwarf_aggregate_size) aggregate_size;
  decltype(&::dwarf_getlocation_addr) getlocation_addr;
  decltype(&::dwarf_getsrc_die) getsrc_die;
  decltype(&::dwarf_linesrc) linesrc;
  decltype(&::dwarf_lineno) lineno;
  decltype(&::dwarf_getsrcfiles) getsrcfiles;
  decltype(&::dwarf_filesrc) filesrc;

  [[nodiscard]] bool open() {
    return base::shared_library("libdw.so.1")
               .resolve({{"dwfl_begin", begin},
                         {"dwfl_end", end},
                         {"dwfl_linux_proc_report", proc_report},
                         {"dwfl_report_end", report_end},
                         {"dwfl_linux_proc_find_elf", find_elf},
                         {"dwfl_standard_find_debuginfo", find_debuginfo},
                         {"dwfl_addrmodule", addrmodule},
                         {"dwfl_module_nextcu", nextcu},
                         {"dwarf_haspc", haspc},
                         {"dwarf_child", child},
                         {"dwarf_siblingof", siblingof},
                         {"dwarf_tag", tag},
                         {"dwarf_attr", attr},
                         {"dwarf_attr_integrate", attr_integrate},
                         {"dwarf_formref_die", formref_die},
                         {"dwarf_formudata", formudata},
                         {"dwarf_diename", diename},
                         {"dwarf_decl_file", decl_file},
                         {"dwarf_decl_line", decl_line},
                         {"dwarf_peel_type", peel_type},
                         {"dwarf_aggregate_size", aggregate_size},
                         {"dwarf_getlocation_addr", getlocation_addr},
                         {"dwarf_getsrc_die", getsrc_die},
                         {"dwarf_linesrc", linesrc},
                         {"dwarf_lineno", lineno},
                         {"dwarf_getsrcfiles", getsrcfiles},
                         {"dwarf_filesrc", filesrc}}) == nullptr;
  }
};

// One entity of the debug information, with the library that reads it.
class entity {
 public:
  entity(const libdw& lib, const Dwarf_Die& die) : lib_(&lib), die_(die) {}

  [[nodiscard]] int tag() { return lib_->tag(&die_); }
  [[nodiscard]] std::string_view name() {
    const char* n = lib_->diename(&die_);
    return n == nullptr ? "" : n;
  }
  [[nodiscard]] bool has_code(Dwarf_Addr at) { return lib_->haspc(&die_, at) == 1; }
  [[nodiscard]] bool attribute(unsigned which, Dwarf_Attribute& into) {
    return lib_->attr_integrate(&die_, which, &into) != nullptr;
  }
  /// What it says itself, not what its declaration does.
  [[nodiscard]] bool own_attribute(unsigned which, Dwarf_Attribute& into) {
    return lib_->attr(&die_, which, &into) != nullptr;
  }
  [[nodiscard]] std::optional<entity> refers_to(unsigned which) {
    Dwarf_Attribute reference;
    Dwarf_Die to;
    if (!own_attribute(which, reference) || lib_->formref_die(&reference, &to) == nullptr) return {};
    return entity(*lib_, to);
  }
  /// Without typedefs and qualifiers.
  [[nodiscard]] std::optional<entity> type() {
    Dwarf_Attribute reference;
    Dwarf_Die named, plain;
    if (!attribute(DW_AT_type, reference) || lib_->formref_die(&reference, &named) == nullptr ||
        lib_->peel_type(&named, &plain) != 0) {
      return {};
    }
    return entity(*lib_, plain);
  }
  [[nodiscard]] std::uint64_t bytes() {
    Dwarf_Word n = 0;
    return lib_->aggregate_size(&die_, &n) == 0 ? n : 0;
  }
  [[nodiscard]] std::string place() {
    const char* file = lib_->decl_file(&die_);
    int line = 0;
    if (file == nullptr || lib_->decl_line(&die_, &line) != 0) return "";
    return std::string(file) + ":" + std::to_string(line);
  }
  /// Of a unit: the line that the code at AT comes from.
  [[nodiscard]] std::string line_at(Dwarf_Addr at) {
    Dwarf_Line* const line = lib_->getsrc_die(&die_, at);
    const char* file = line == nullptr ? nullptr : lib_->linesrc(line, nullptr, nullptr);
    int number = 0;
    if (file == nullptr || lib_->lineno(line, &number) != 0) return "";
    return std::string(file) + ":" + std::to_string(number);
  }
  /// Of a function that was put into its caller: where it was called. UNIT has both.
  [[nodiscard]] std::string called_at(entity& unit) {
    Dwarf_Attribute given;
    Dwarf_Word file = 0;
    Dwarf_Word line = 0;
    Dwarf_Files* files = nullptr;
    if (!own_attribute(DW_AT_call_file, given) || lib_->formudata(&given, &file) != 0 ||
        !own_attribute(DW_AT_call_line, given) || lib_->formudata(&given, &line) != 0 ||
        lib_->getsrcfiles(&unit.die_, &files, nullptr) != 0) {
      return "";
    }
    const char* name = lib_->filesrc(files, file, nullptr, nullptr);
    return name == nullptr ? "" : std::string(name) + ":" + std::to_string(line);
  }
  /// Of a member or a base: where it begins in its class.
  [[nodiscard]] std::uint64_t offset() {
    Dwarf_Attribute given;
    Dwarf_Word n = 0;
    return attribute(DW_AT_data_member_location, given) && lib_->formudata(&given, &n) == 0 ? n : 0;
  }
  /// DO_THIS(child) for each, until one says true.
  template <class Function>
  bool any_child(Function do_this) {
    Dwarf_Die at;
    for (int more = lib_->child(&die_, &at); more == 0; more = lib_->siblingof(&at, &at)) {
      if (do_this(entity(*lib_, at))) return true;
    }
    return false;
  }
  /// The one operation that ATTRIBUTE, a location, consists of where the program is at CODE.
  [[nodiscard]] std::optional<Dwarf_Op> operation(unsigned which, Dwarf_Addr code) {
    Dwarf_Attribute location;
    Dwarf_Op* operations = nullptr;
    std::size_t count = 0;
    if (!attribute(which, location) || lib_->getlocation_addr(&location, code, &operations, &count, 1) < 1 ||
        count != 1) {
      return {};
    }
    return operations[0];
  }

 private:
  const libdw* lib_;
  Dwarf_Die die_;
};

// The innermost function around the code at AT, among those inside of WITHIN that were compiled by themselves.
std::optional<entity> function_around(entity within, Dwarf_Addr at) {
  std::optional<entity> found;
  within.any_child([&](entity e) {
    const bool function = e.tag() == DW_TAG_subprogram;
    found = function_around(e, at);
    if (!found && function && e.has_code(at)) found = e;
    return found.has_value();
  });
  return found;
}

// Debug information in files of its own is not looked for.
int find_nothing(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word, char**) {
  return -1;
}

// The program as it is in memory. SEARCHES: debug information may be in files of its own.
class program {
 public:
  explicit program(bool searches) {
    if (!lib_.open()) return;
    callbacks_.find_elf = lib_.find_elf;
    callbacks_.find_debuginfo = searches ? lib_.find_debuginfo : &find_nothing;
    session_ = lib_.begin(&callbacks_);
    if (session_ == nullptr || lib_.proc_report(session_, getpid()) != 0 ||
        lib_.report_end(session_, nullptr, nullptr) != 0) {
      if (session_ != nullptr) lib_.end(session_);
      session_ = nullptr;
    }
  }
  program(const program&) = delete;
  program& operator=(const program&) = delete;
  ~program() {
    if (session_ != nullptr) lib_.end(session_);
  }
  /// The unit with CODE; BIAS is the difference between addresses in memory and those that it speaks of.
  [[nodiscard]] std::optional<entity> unit_at(std::uintptr_t code, Dwarf_Addr& bias) {
    Dwfl_Module* const module = session_ == nullptr ? nullptr : lib_.addrmodule(session_, code);
    if (module == nullptr) return {};
    // Not by the table of addresses, which clang does not write.
    Dwarf_Die* unit = nullptr;
    while ((unit = lib_.nextcu(module, unit, &bias)) != nullptr) {
      if (lib_.haspc(unit, code - bias) == 1) return entity(lib_, *unit);
    }
    return {};
  }
  /// The function at CODE, likewise.
  [[nodiscard]] std::optional<entity> function_at(std::uintptr_t code, Dwarf_Addr& bias) {
    const std::optional<entity> unit = unit_at(code, bias);
    return unit ? function_around(*unit, code - bias) : std::nullopt;
  }

 private:
  libdw lib_{};
  Dwfl_Callbacks callbacks_{};
  Dwfl* session_ = nullptr;
};

// --- where in an object an address lies -------------------------------------------------------------------

struct inside {
  std::string path;     // ".sums[9]"
  std::string closure;  // the place of the innermost lambda on the way; then the path begins there
};

// A class that can be called and that the program has not named.
bool is_lambda(entity type) {
  const std::string_view name = type.name();
  return (name.empty() || name.starts_with("<lambda") || name.starts_with("(lambda") || name.starts_with("._anon")) &&
         type.any_child([](entity e) { return e.tag() == DW_TAG_subprogram && e.name() == "operator()"; });
}

bool is_class(int tag) { return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type; }

void step_into(entity type, std::uint64_t offset, inside& where) {
  if (type.tag() == DW_TAG_array_type) {
    int dimensions = 0;
    type.any_child([&](entity e) {
      dimensions += e.tag() == DW_TAG_subrange_type ? 1 : 0;
      return false;
    });
    std::optional<entity> element = type.type();
    const std::uint64_t bytes = element ? element->bytes() : 0;
    if (dimensions != 1 || bytes == 0) return;
    where.path += "[" + std::to_string(offset / bytes) + "]";
    step_into(*element, offset % bytes, where);
    return;
  }
  if (!is_class(type.tag())) return;
  if (const std::string made = is_lambda(type) ? type.place() : ""; !made.empty()) where = {"", made};
  // An empty member may lie where another one does.
  std::optional<entity> member;
  std::uint64_t largest = 0;
  type.any_child([&](entity e) {
    if (e.tag() != DW_TAG_member && e.tag() != DW_TAG_inheritance) return false;
    Dwarf_Attribute is_static;
    if (e.own_attribute(DW_AT_external, is_static) || e.own_attribute(DW_AT_declaration, is_static)) return false;
    std::optional<entity> of = e.type();
    const std::uint64_t bytes = of ? of->bytes() : 0;
    if (offset < e.offset() || offset - e.offset() >= bytes || bytes <= largest) return false;
    largest = bytes;
    member = e;
    return false;
  });
  if (!member) return;
  std::string_view name = member->tag() == DW_TAG_member ? member->name() : "";
  if (!where.closure.empty() && name.starts_with("__")) name.remove_prefix(2);  // a capture, as GCC calls it
  if (!name.empty()) (where.path += ".") += name;
  if (std::optional<entity> of = member->type()) step_into(*of, offset - member->offset(), where);
}

template <std::size_t Size>
void put(std::string_view text, char (&into)[Size]) {
  const std::size_t n = std::min(text.size(), Size - 1);
  std::memcpy(into, text.data(), n);
  into[n] = 0;
}

// --- the questions ---------------------------------------------------------------------------------------

// Where a register or the frame was in FRAME.
std::optional<std::uintptr_t> value_of(unsigned number, const waiting_frame& frame) {
  if (number == frame_pointer_register) return frame.frame_pointer;
  if (number == stack_pointer_register) return frame.low;
  return {};
}

std::optional<std::uintptr_t> base_of(entity& function, const waiting_frame& frame, Dwarf_Addr code) {
  const std::optional<Dwarf_Op> how = function.operation(DW_AT_frame_base, code);
  if (!how) return {};
  if (how->atom == DW_OP_call_frame_cfa) return frame.high;
  if (how->atom >= DW_OP_reg0 && how->atom <= DW_OP_reg31) return value_of(how->atom - DW_OP_reg0, frame);
  return {};
}

// A local whose place is a fixed distance from the frame: all that have an address are.
std::optional<std::uintptr_t> address_of(entity& local, std::optional<std::uintptr_t> base, const waiting_frame& frame,
                                         Dwarf_Addr code) {
  const std::optional<Dwarf_Op> how = local.operation(DW_AT_location, code);
  if (!how) return {};
  if (how->atom == DW_OP_fbreg && base) return *base + how->number;
  if (how->atom >= DW_OP_breg0 && how->atom <= DW_OP_breg31) {
    if (const auto from = value_of(how->atom - DW_OP_breg0, frame)) return *from + how->number;
  }
  return {};
}

bool name_local(entity within, const debug_question& about, std::optional<std::uintptr_t> base, Dwarf_Addr code,
                std::string& found) {
  return within.any_child([&](entity e) {
    const int tag = e.tag();
    // Locals of different blocks lie at one address; only one block waits.
    if (tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine) {
      return e.has_code(code) && name_local(e, about, base, code, found);
    }
    if ((tag != DW_TAG_variable && tag != DW_TAG_formal_parameter) || e.name().empty()) return false;
    const auto from = address_of(e, base, *about.frame, code);
    std::optional<entity> type = e.type();
    if (!from || !type || about.address - *from >= type->bytes()) return false;
    inside where;
    step_into(*type, about.address - *from, where);
    found = std::string(e.name()) + (where.closure.empty() ? where.path : "");
    if (const std::string place = e.place(); !place.empty()) found += "\n" + place;
    return true;
  });
}

void name_variable(program& of, const debug_question& about, debug_names& into) {
  Dwarf_Addr bias = 0;
  const std::uintptr_t code = about.frame->code - 1;  // of the call, not of what follows it
  std::optional<entity> function = of.function_at(code, bias);
  if (!function) return;
  std::string found;
  const auto base = base_of(*function, *about.frame, code - bias);
  if (!name_local(*function, about, base, code - bias, found)) return;
  const std::size_t end = found.find('\n');
  std::string text = found.substr(0, end) + " of " + std::string(function->name());
  if (end != std::string::npos) text += ", " + found.substr(end + 1);
  put(text, into.variable);
}

// The byte AT of a closure. Its type is the first template parameter of the function at RUNS, which runs it
// (tobi/detail/fork.hpp, tobi/runtime.hpp). That is written where the template is, or where it is made.
inside look_into_closure(program& of, const void* runs, std::uint64_t at) {
  Dwarf_Addr bias = 0;
  std::optional<entity> declared = of.function_at(reinterpret_cast<std::uintptr_t>(runs), bias);
  std::optional<entity> closure;
  for (int levels = 0; declared && levels < 4; ++levels) {
    declared->any_child([&](entity e) {
      if (e.tag() == DW_TAG_template_type_parameter) closure = e.type();
      return closure.has_value();
    });
    if (closure) break;
    std::optional<entity> next = declared->refers_to(DW_AT_specification);
    declared = next ? next : declared->refers_to(DW_AT_abstract_origin);
  }
  inside where;
  if (closure) step_into(*closure, at, where);
  return where.closure.empty() || where.path.empty() ? inside{} : where;
}

// --- calls of the library ----------------------------------------------------------------------------------

// Of the library's headers or the compiler's: a user looks for lines of the program.
bool is_ours(std::string_view place) {
  return place.empty() || place.find("/include/tobi/") != std::string_view::npos ||
         place.find("/include/c++/") != std::string_view::npos;
}

// The functions around AT that were put into WITHIN, the outermost first.
void inlined_around(entity within, Dwarf_Addr at, std::vector<entity>& chain) {
  within.any_child([&](entity e) {
    const int tag = e.tag();
    if ((tag != DW_TAG_lexical_block && tag != DW_TAG_inlined_subroutine) || !e.has_code(at)) return false;
    if (tag == DW_TAG_inlined_subroutine) chain.push_back(e);
    inlined_around(e, at, chain);
    return true;
  });
}

// Where the program has made what TYPE, a closure of the library, calls.
std::string made_by_user(entity type, int levels) {
  if (!is_class(type.tag()) || levels == 0) return "";
  if (const std::string place = is_lambda(type) ? type.place() : ""; !is_ours(place)) return place;
  std::string found;
  type.any_child([&](entity e) {
    if (e.tag() != DW_TAG_member && e.tag() != DW_TAG_inheritance) return false;
    if (std::optional<entity> of = e.type()) found = made_by_user(*of, levels - 1);
    return !found.empty();
  });
  return found;
}

// The first line of the program on the way up from CODE. In a task that an algorithm has made there is none: then where
// its closure was made. If nothing says where, it is the line of our header.
std::string line_of_user(program& of, std::uintptr_t code) {
  Dwarf_Addr bias = 0;
  std::optional<entity> unit = of.unit_at(code, bias);
  if (!unit) return "";
  const Dwarf_Addr at = code - bias;
  std::string line = unit->line_at(at);
  std::optional<entity> function = function_around(*unit, at);
  if (!function) return line;
  std::vector<entity> inlined;
  inlined_around(*function, at, inlined);
  for (; is_ours(line) && !inlined.empty(); inlined.pop_back()) line = inlined.back().called_at(*unit);
  if (!is_ours(line)) return line;
  for (int levels = 0; function && levels < 4; ++levels) {
    std::string made;
    function->any_child([&](entity e) {
      std::optional<entity> type;
      if (e.tag() == DW_TAG_template_type_parameter || e.tag() == DW_TAG_formal_parameter) type = e.type();
      if (type && (type->tag() == DW_TAG_pointer_type || type->tag() == DW_TAG_reference_type)) type = type->type();
      if (type) made = made_by_user(*type, 8);
      return !made.empty();
    });
    if (!made.empty()) return made;
    std::optional<entity> next = function->refers_to(DW_AT_specification);
    function = next ? next : function->refers_to(DW_AT_abstract_origin);
  }
  return line;
}

}  // namespace

std::vector<std::string> read_lines(std::span<const std::uintptr_t> calls) {
  program self(false);
  std::vector<std::string> lines;
  for (const std::uintptr_t behind : calls) lines.push_back(line_of_user(self, behind - 1));  // of the call itself
  return lines;
}

void read_dwarf(const debug_question& about, debug_names& into) {
  program self(true);
  if (about.frame != nullptr) name_variable(self, about, into);
  if (about.captured.type != nullptr) {
    const inside where =
        look_into_closure(self, reinterpret_cast<const void*>(about.captured.type->run), about.captured.at);
    put(where.closure, into.closure);
    put(std::string_view(where.path).substr(where.path.empty() ? 0 : 1), into.capture);
  }
  if (about.root != nullptr) {
    const inside where = look_into_closure(self, about.root, about.root_at);
    put(std::string_view(where.path).substr(where.path.empty() ? 0 : 1), into.root_capture);
  }
}

}  // namespace tobi::job
