// SPDX-License-Identifier: Apache-2.0
#include "transports/ofi/library.hpp"

#include <signal.h>

#include <array>

#include "libcore/base/shared_library.hpp"

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
  const base::shared_library so("libfabric.so.1");
  if (!so.is_open()) {
    lib.error = "libfabric is not installed (" + so.error() + "); Debian's package is libfabric1";
    return lib;
  }
  const char* lacks = so.resolve({{"fi_getinfo", lib.getinfo},
                                  {"fi_freeinfo", lib.freeinfo},
                                  {"fi_dupinfo", lib.dupinfo},
                                  {"fi_fabric", lib.fabric},
                                  {"fi_strerror", lib.strerror},
                                  {"fi_version", lib.version}});
  if (lacks != nullptr) lib.error = std::string("this libfabric has no ") + lacks;
  return lib;
}

}  // namespace

const library& libfabric() {
  static const library lib = load();
  return lib;
}

}  // namespace tobi::transports::ofi
