// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/mpi_plugin.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

namespace tobi::base {

namespace {

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

// The folder of the program, or of the library that this code is in, and the folder lib next to it.
std::vector<std::string> folders() {
  std::vector<std::string> all;
  const auto add = [&](std::string path) {
    path.erase(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    all.push_back(path + "/");
    all.push_back(path + "/../lib/");
  };
  char program[4096];
  if (const ssize_t n = readlink("/proc/self/exe", program, sizeof program); n > 0) {
    add(std::string(program, static_cast<std::size_t>(n)));
  }
  Dl_info here{};
  if (dladdr(reinterpret_cast<const void*>(&services), &here) != 0 && here.dli_fname != nullptr) add(here.dli_fname);
  all.emplace_back("");  // wherever the loader looks
  return all;
}

mpi_plugin load(const std::string& name, const std::string& library, int mode) {
  mpi_plugin p;
  p.library = library;
  const std::string file = "lib" + name + "-" + library + ".so";
  std::string last;
  for (const std::string& folder : folders()) {
    if (!folder.empty() && access((folder + file).c_str(), R_OK) != 0) continue;
    p.code = shared_library(folder + file, mode);
    if (p.code.is_open()) return p;
    last = p.code.error();
  }
  p.error = "the plugin for " + library + " cannot be loaded (" + last + ")";
  return p;
}

std::string library_of_launcher() {
  if (is_set("OMPI_COMM_WORLD_SIZE")) return "openmpi";
  if (is_set("PMI_RANK")) return "mpich";
  return "";
}

}  // namespace

const host_services& services() noexcept {
  static const host_services mine{[](log_level level, const char* message) { log(level, message); }, log_enabled,
                                  [](const char* message, int exit_status) { fatal(message, exit_status); }};
  return mine;
}

bool started_by_mpi() noexcept { return !library_of_launcher().empty(); }

const mpi_plugin& the_mpi_plugin(const settings& in_force) {
  static const mpi_plugin loaded = [&] {
    const std::string library = in_force.mpi == "auto" ? library_of_launcher() : in_force.mpi;
    if (library.empty()) {
      mpi_plugin none;
      none.error = "no MPI launcher has started this program; start it with mpirun -n N";
      return none;
    }
    return load_mpi_plugin("tobi-mpi", library);
  }();
  return loaded;
}

// Open MPI's own components look for its symbols among the global ones.
mpi_plugin load_mpi_plugin(const std::string& name, const std::string& library) {
  return load(name, library, RTLD_NOW | RTLD_GLOBAL);
}

std::vector<mpi_plugin> all_mpi_plugins() {
  constexpr int apart = RTLD_LAZY | RTLD_LOCAL;
  return {load("tobi-mpi", "openmpi", apart), load("tobi-mpi", "mpich", apart)};
}

}  // namespace tobi::base
