// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/neighbours.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <system_error>
#include <thread>

#include "libcore/base/log.hpp"

namespace tobi::bootstrap {

namespace {

std::size_t files_from(int clients) {
  constexpr std::size_t unit = sizeof(base::left_file);
  return (sizeof(node_page) + static_cast<std::size_t>(clients) + unit - 1) / unit * unit;
}
std::size_t bytes_for(int clients) {
  return files_from(clients) +
         static_cast<std::size_t>(clients) * base::left_files_per_process * sizeof(base::left_file);
}

using loss = void (*)(int client, const char* how) noexcept;

void sleep_and_watch(std::vector<neighbour> those, std::vector<pollfd> ends, node_page* page, loss gone) {
  std::size_t left = 0;
  for (const pollfd& end : ends) left += end.fd >= 0 ? 1 : 0;
  while (left > 0) {
    if (poll(ends.data(), ends.size(), -1) < 0 && errno != EINTR) return;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (ends[i].fd < 0 || ends[i].revents == 0) continue;
      if (page->finished[those[i].client].load(std::memory_order_acquire) == 0)
        gone(those[i].client, "its process ended");
      close(ends[i].fd);
      ends[i].fd = -1;  // poll passes over it
      --left;
    }
  }
}

}  // namespace

base::left_file* files_of(node_page& page, int clients) noexcept {
  return reinterpret_cast<base::left_file*>(reinterpret_cast<std::byte*>(&page) + files_from(clients));
}

page_offer offer_node_page(int clients) {
  page_offer offered{getpid(), -1, 0, 0};
  const int fd = memfd_create("tobi-node", MFD_CLOEXEC);
  struct stat file {};
  if (fd < 0) return offered;
  if (ftruncate(fd, static_cast<off_t>(bytes_for(clients))) != 0 || fstat(fd, &file) != 0) {
    close(fd);
    return offered;
  }
  return {offered.pid, fd, file.st_dev, file.st_ino};
}

node_page* map_node_page(const page_offer& offered, int clients) {
  if (offered.fd < 0) return nullptr;
  const std::string path = "/proc/" + std::to_string(offered.pid) + "/fd/" + std::to_string(offered.fd);
  const int here = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (here < 0) return nullptr;
  struct stat file {};
  const std::size_t bytes = bytes_for(clients);
  const bool right = fstat(here, &file) == 0 && file.st_dev == offered.device && file.st_ino == offered.inode &&
                     file.st_size == static_cast<off_t>(bytes);
  void* at = right ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, here, 0) : MAP_FAILED;
  close(here);
  return at == MAP_FAILED ? nullptr : static_cast<node_page*>(at);
}

void watch_neighbours(const std::vector<neighbour>& those, node_page* page, loss gone) {
  std::vector<pollfd> ends;
  for (const neighbour& n : those) {
    const auto fd = static_cast<int>(syscall(SYS_pidfd_open, n.pid, 0));
    if (fd < 0 && errno == ESRCH && page->finished[n.client].load(std::memory_order_acquire) == 0) {
      gone(n.client, "its process ended");
    }
    if (fd < 0 && errno == ENOSYS) return;  // Linux before 5.3: the launcher alone notices
    ends.push_back({fd, POLLIN, 0});
  }
  // The signals are the workers'.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread(sleep_and_watch, those, std::move(ends), page, gone).detach();
  } catch (const std::system_error& e) {
    base::log(base::log_level::warn, std::string("no thread to watch the other processes of this node (") + e.what() +
                                         "); the launcher alone will notice a death.");
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace tobi::bootstrap
