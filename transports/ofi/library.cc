// SPDX-License-Identifier: Apache-2.0
#include "transports/ofi/library.hpp"

#include <signal.h>

#include <array>

#include "libcore/base/shared_library.hpp"

namespace tobi::transports::ofi {

namespace {

// Libraries of providers (PSM's) take signals for themselves as they are loaded, which takes a fifth of a second. They
// are the job's, which explains a full stack, and ends as the signal of an interrupt says: one that comes meanwhile
// waits until its handler is back.
class handlers_kept {
 public:
  handlers_kept() noexcept {
    sigset_t waiting;
    sigemptyset(&waiting);
    for (const int s : waits) sigaddset(&waiting, s);
    pthread_sigmask(SIG_BLOCK, &waiting, &mask_);
    for (std::size_t i = 0; i < taken.size(); ++i) sigaction(taken[i], nullptr, &before_[i]);
  }
  ~handlers_kept() {
    for (std::size_t i = 0; i < taken.size(); ++i) sigaction(taken[i], &before_[i], nullptr);
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }
  handlers_kept(const handlers_kept&) = delete;
  handlers_kept& operator=(const handlers_kept&) = delete;

 private:
  static constexpr std::array waits{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  static constexpr std::array taken{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTERM, SIGINT, SIGHUP, SIGQUIT};
  std::array<struct sigaction, taken.size()> before_;
  sigset_t mask_;
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
