// SPDX-License-Identifier: Apache-2.0
#include "transports/ofi/sockets.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace tobi::transports::ofi {

bool has_sockets(std::string_view provider) noexcept {
  const std::string_view core = provider.substr(0, provider.find(';'));
  return core == "tcp" || core == "sockets" || core == "net";
}

std::string too_few_files(std::string_view provider, std::size_t most, std::size_t peers) {
  if (files_for(peers) <= most) return "";
  return "libfabric's provider " + std::string(provider) + " has a socket for each of " + std::to_string(peers) +
         " workers, and this process may open " + std::to_string(most) +
         " files; the job ends when it needs more: raise the limit (ulimit -Hn " + std::to_string(files_for(peers)) +
         ", or nofile in /etc/security/limits.conf).";
}

// No further than needed: programs that this one starts may close every descriptor that there could be, one by one.
std::size_t make_room_for_files(std::size_t files) noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return files;  // nobody says that there is a limit
  if (limit.rlim_cur >= files) return limit.rlim_cur;
  limit.rlim_cur = std::min<rlim_t>(files, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

}  // namespace tobi::transports::ofi
