#include "bootstrap/pmix/library.hpp"

#include <dlfcn.h>

namespace tobi::bootstrap::pmix {

namespace {

constexpr const char* file = "libpmix.so.2";

template <class Function>
bool find(void* in, const char* name, Function*& into) {
  into = reinterpret_cast<Function*>(dlsym(in, name));
  return into != nullptr;
}

}  // namespace

std::string library::load() {
  // Never closed: its threads run until the process ends.
  void* const so = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (so == nullptr) {
    const char* why = dlerror();
    return std::string("the PMIx library cannot be loaded (") + (why == nullptr ? file : why) +
           "); install libpmix2, or name its folder in LD_LIBRARY_PATH";
  }
  const bool all = find(so, "PMIx_Init", init) && find(so, "PMIx_Finalize", finalize) &&
                   find(so, "PMIx_Abort", abort) && find(so, "PMIx_Put", put) && find(so, "PMIx_Commit", commit) &&
                   find(so, "PMIx_Fence", fence) && find(so, "PMIx_Get", get) &&
                   find(so, "PMIx_Register_event_handler", register_event_handler) &&
                   find(so, "PMIx_Error_string", error_string) && find(so, "PMIx_Get_version", get_version);
  return all ? "" : std::string(file) + " lacks a function of PMIx 4; install version 4.0 or newer";
}

}  // namespace tobi::bootstrap::pmix
