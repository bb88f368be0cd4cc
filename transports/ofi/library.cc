#include "transports/ofi/library.hpp"

#include <dlfcn.h>

namespace tobi::transports::ofi {

namespace {

library load() {
  library lib;
  void* handle = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    lib.error = std::string("libfabric is not installed (") + dlerror() + "); Debian's package is libfabric1";
    return lib;
  }
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    if (function == nullptr) lib.error = std::string("this libfabric has no ") + name;
  };
  find(lib.getinfo, "fi_getinfo");
  find(lib.freeinfo, "fi_freeinfo");
  find(lib.dupinfo, "fi_dupinfo");
  find(lib.fabric, "fi_fabric");
  find(lib.strerror, "fi_strerror");
  find(lib.version, "fi_version");
  return lib;
}

}  // namespace

const library& libfabric() {
  static const library lib = load();
  return lib;
}

}  // namespace tobi::transports::ofi
