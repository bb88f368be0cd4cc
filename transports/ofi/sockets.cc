// SPDX-License-Identifier: Apache-2.0
#include "transports/ofi/sockets.hpp"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace tobi::transports::ofi {

namespace {

// How many of WANTED more files this process can have open.
std::size_t free_files(std::size_t wanted) {
  std::vector<int> taken;
  while (taken.size() < wanted) {
    const int fd = eventfd(0, EFD_CLOEXEC);
    if (fd < 0) break;
    taken.push_back(fd);
  }
  for (const int fd : taken) close(fd);
  return taken.size();
}

}  // namespace

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

std::string no_first_sockets(std::string_view provider, std::size_t most, std::size_t peers) {
  // With each of the partners that the transport is measured with, and a few files that are open for a moment each.
  const std::size_t wanted = std::min<std::size_t>(peers, 4) + 4;
  const std::size_t free = free_files(wanted);
  if (free == wanted) return "";
  return "libfabric's provider " + std::string(provider) + " has a socket for each worker that it speaks with, and " +
         std::to_string(most - free) + " of the " + std::to_string(most) +
         " files that this process may open are taken: raise the limit (ulimit -Hn " +
         std::to_string(files_for(peers)) + ", or nofile in /etc/security/limits.conf).";
}

// libfabric returns other errors too where it has met this one, FI_EIO for example, and has closed its files by then.
std::string remedy(int error) {
  constexpr std::size_t some = 8;
  return error == EMFILE || free_files(some) < some ? "; raise the limit of open files (ulimit -Hn)" : "";
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
