#include "transports/ofi/library.hpp"

#include <dlfcn.h>
#include <signal.h>

#include <array>

namespace tobi::transports::ofi {

namespace {

// Libraries of providers (PSM's) take the signals of faults for themselves as they are loaded. They are the job's,
// which explains a full stack.
class handlers_kept {
 public:
  handlers_kept() noexcept {
    for (std::size_t i = 0; i < faults.size(); ++i) sigaction(faults[i], nullptr, &before_[i]);
  }
  ~handlers_kept() {
    for (std::size_t i = 0; i < faults.size(); ++i) sigaction(faults[i], &before_[i], nullptr);
  }
  handlers_kept(const handlers_kept&) = delete;
  handlers_kept& operator=(const handlers_kept&) = delete;

 private:
  static constexpr std::array faults{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTERM, SIGINT};
  std::array<struct sigaction, faults.size()> before_;
};

library load() {
  library lib;
  const handlers_kept kept;
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
