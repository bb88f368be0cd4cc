// SPDX-License-Identifier: Apache-2.0
#include "tests/emulators/utofu/machine.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

namespace emulated {

namespace {

constexpr unsigned path_at = 56;

std::string folder() { return "/dev/shm/tofu-emulator-" + std::to_string(getuid()) + "-" + in_force().machine; }

std::string hexadecimal(utofu::vcq_id id) {
  char text[24];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(without_path(id)));
  return text;
}
std::string vcq_file(utofu::vcq_id id) { return folder() + "/vcq." + hexadecimal(id); }
std::string link_file(utofu::vcq_id from, utofu::vcq_id to) {
  return folder() + "/link." + hexadecimal(from) + "." + hexadecimal(to);
}

// Names are taken and given back by one process at a time: one that sweeps away what a dead process has left would else
// remove what a third one has just put in its place. The kernel unlocks the folder of whoever dies.
class folder_lock {
 public:
  folder_lock() {
    for (;;) {
      if (mkdir(folder().c_str(), 0700) != 0 && errno != EEXIST) return;  // nothing can be made there
      fd_ = open(folder().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      if (fd_ < 0 && errno != ENOENT) return;
      struct stat locked {};
      struct stat named {};
      if (fd_ >= 0 && flock(fd_, LOCK_EX) == 0 && fstat(fd_, &locked) == 0 && stat(folder().c_str(), &named) == 0 &&
          locked.st_ino == named.st_ino) {
        return;
      }
      if (fd_ >= 0) close(fd_);  // the last one has taken the folder away meanwhile
    }
  }
  ~folder_lock() {
    if (fd_ >= 0) close(fd_);
  }
  folder_lock(const folder_lock&) = delete;
  folder_lock& operator=(const folder_lock&) = delete;

 private:
  int fd_ = -1;
};

void* map_file(const std::string& path, std::size_t bytes, bool make) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | (make ? O_CREAT | O_EXCL : 0), 0600);
  if (fd < 0) return nullptr;
  void* at = MAP_FAILED;
  struct stat is {};
  if (make ? ftruncate(fd, static_cast<off_t>(bytes)) == 0
           : fstat(fd, &is) == 0 && static_cast<std::size_t>(is.st_size) == bytes) {
    at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  close(fd);
  return at == MAP_FAILED ? nullptr : at;
}

// When PID began, in the kernel's ticks; 0: there is none that runs.
std::uint64_t start_of(std::int32_t pid) noexcept {
  char path[40];
  std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(pid));
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[1024];
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0) return 0;
  text[n] = '\0';
  const char* at = std::strrchr(text, ')');  // of the program's name, which may hold anything
  if (at == nullptr || at[1] == '\0' || at[2] == 'Z' || at[2] == 'X') return 0;
  at += 2;
  for (int field = 3; field < 22 && at != nullptr; ++field) {
    at = std::strchr(at, ' ');
    if (at != nullptr) ++at;
  }
  return at == nullptr ? 0 : std::strtoull(at, nullptr, 10);
}

template <class Each>
void each_file(Each each) {
  DIR* all = opendir(folder().c_str());
  if (all == nullptr) return;
  while (const dirent* one = readdir(all)) {
    if (one->d_name[0] != '.') each(std::string(one->d_name));
  }
  closedir(all);
}

// Under the lock. What processes have left that are no more: queues, halves of queues, and links from queues that are
// not there.
void sweep() {
  each_file([](const std::string& name) {
    const std::string path = folder() + "/" + name;
    if (name.starts_with("new.")) {
      if (start_of(std::atoi(name.c_str() + 4)) == 0) unlink(path.c_str());
    } else if (name.starts_with("vcq.")) {
      auto* page = static_cast<vcq_page*>(map_file(path, sizeof(vcq_page), false));
      if (page == nullptr) return;
      if (!alive(page->pid, page->started)) unlink(path.c_str());
      unmap(page);
    }
  });
  each_file([](const std::string& name) {
    if (!name.starts_with("link.")) return;
    const std::string from = folder() + "/vcq." + name.substr(5, 16);
    if (access(from.c_str(), F_OK) != 0) unlink((folder() + "/" + name).c_str());
  });
}

}  // namespace

utofu::vcq_id vcq_name::pack() const noexcept {
  utofu::vcq_id id = 0;
  for (int i = 0; i < 3; ++i) id |= utofu::vcq_id{coords[i]} << (8 * i);
  for (int i = 3; i < 6; ++i) id |= utofu::vcq_id{coords[i]} << (24 + 2 * (i - 3));
  return id | utofu::vcq_id{tni} << 32 | utofu::vcq_id{cq} << 40 | utofu::vcq_id{component} << 48 |
         utofu::vcq_id{path} << path_at;
}

vcq_name vcq_name::unpack(utofu::vcq_id id) noexcept {
  vcq_name n;
  for (int i = 0; i < 3; ++i) n.coords[i] = static_cast<std::uint8_t>(id >> (8 * i));
  for (int i = 3; i < 6; ++i) n.coords[i] = static_cast<std::uint8_t>(id >> (24 + 2 * (i - 3)) & 3);
  n.tni = static_cast<unsigned>(id >> 32 & 0xff);
  n.cq = static_cast<unsigned>(id >> 40 & 0xff);
  n.component = static_cast<unsigned>(id >> 48 & 0xff);
  n.path = static_cast<unsigned>(id >> path_at);
  return n;
}

utofu::vcq_id without_path(utofu::vcq_id id) noexcept { return id & ((utofu::vcq_id{1} << path_at) - 1); }

bool alive(std::int32_t pid, std::uint64_t started) noexcept { return started != 0 && start_of(pid) == started; }

int claim_vcq(unsigned tni, unsigned component, utofu::vcq_id& id, vcq_page*& page) {
  static std::atomic<unsigned> made{0};
  const std::string fresh = folder() + "/new." + std::to_string(getpid()) + "." + std::to_string(made++);
  const folder_lock hold;
  sweep();
  void* at = map_file(fresh, sizeof(vcq_page), true);
  if (at == nullptr) return code::out_of_memory;
  page = new (at) vcq_page{};
  page->pid = getpid();
  page->started = start_of(page->pid);
  page->open.store(1);
  vcq_name name;
  std::memcpy(name.coords, in_force().coords, sizeof name.coords);
  name.tni = tni;
  name.component = component;
  // Under its name it is complete: a link is made or not.
  for (name.cq = 0; name.cq < cqs_per_tni; ++name.cq) {
    id = name.pack();
    if (link(fresh.c_str(), vcq_file(id).c_str()) == 0) break;
  }
  unlink(fresh.c_str());
  if (name.cq < cqs_per_tni) return code::success;
  unmap(page);
  return code::full;
}

void release_vcq(utofu::vcq_id id, vcq_page* page) {
  page->open.store(0);
  const folder_lock hold;
  unlink(vcq_file(id).c_str());
  each_file([&](const std::string& name) {
    if (name.starts_with("link." + hexadecimal(id))) unlink((folder() + "/" + name).c_str());
  });
  unmap(page);
  rmdir(folder().c_str());  // the last one does
}

vcq_page* find_vcq(utofu::vcq_id id) { return static_cast<vcq_page*>(map_file(vcq_file(id), sizeof(vcq_page), false)); }
void unmap(vcq_page* page) { munmap(page, sizeof *page); }

link_page* make_link(utofu::vcq_id from, utofu::vcq_id to) {
  const std::string path = link_file(from, to);
  unlink(path.c_str());  // of a queue that had this name before
  return static_cast<link_page*>(map_file(path, sizeof(link_page), true));
}
link_page* find_link(utofu::vcq_id from, utofu::vcq_id to) {
  const std::string path = link_file(from, to);
  auto* page = static_cast<link_page*>(map_file(path, sizeof(link_page), false));
  if (page != nullptr) unlink(path.c_str());
  return page;
}
void unmap(link_page* page) { munmap(page, sizeof *page); }

void ring_bell(vcq_page& of) noexcept {
  of.bell.fetch_add(1);
  if (of.asleep.load() != 0) syscall(SYS_futex, &of.bell, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void wait_for_bell(vcq_page& own, std::uint32_t seen, std::uint64_t most_ns) noexcept {
  const timespec most{static_cast<time_t>(most_ns / 1'000'000'000), static_cast<long>(most_ns % 1'000'000'000)};
  own.asleep.store(1);
  if (own.bell.load() == seen) syscall(SYS_futex, &own.bell, FUTEX_WAIT, seen, &most, nullptr, 0);
  own.asleep.store(0);
}

}  // namespace emulated
