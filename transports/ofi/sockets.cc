// SPDX-License-Identifier: Apache-2.0
#include "transports/ofi/sockets.hpp"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace tobi::transports::ofi {

namespace {

constexpr std::size_t some = 8;

// How many more files this process can have open, of so many.
std::size_t free_of_some_files() noexcept {
  std::array<int, some> taken{};
  std::size_t n = 0;
  while (n < some && (taken[n] = eventfd(0, EFD_CLOEXEC)) >= 0) ++n;
  for (std::size_t i = 0; i < n; ++i) close(taken[i]);
  return n;
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
  static_assert(some >= 4 + 4);
  const std::size_t free = free_of_some_files();
  if (free >= wanted) return "";
  return "libfabric's provider " + std::string(provider) + " has a socket for each worker that it speaks with, and " +
         std::to_string(most - free) + " of the " + std::to_string(most) +
         " files that this process may open are taken: raise the limit (ulimit -Hn " +
         std::to_string(files_for(peers)) + ", or nofile in /etc/security/limits.conf).";
}

// libfabric returns other errors too where it has met this one, FI_EIO for example, and has closed its files by then.
std::string remedy(int error) {
  return error == EMFILE || free_of_some_files() < some ? "; raise the limit of open files (ulimit -Hn)" : "";
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
