// SPDX-License-Identifier: Apache-2.0
// How the memory of another process of this machine is mapped, and what it is called when it cannot be.
#include "transports/peer_memory.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace {

using namespace tobi::transports;
using tobi::status;

memory file_of(std::size_t bytes) {
  const int fd = memfd_create("peer_memory", MFD_CLOEXEC);
  EXPECT_EQ(ftruncate(fd, static_cast<off_t>(bytes)), 0);
  return {mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), bytes, fd, 0};
}

// What BODY returns in a process of its own.
template <class Body>
int in_process(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Puts an empty folder over /proc, for this process alone. As root, and as a user who may make namespaces.
int forget_proc() {
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return 1;
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 2;
  return mount("none", "/proc", "tmpfs", 0, nullptr) == 0 ? 0 : 3;
}

int mapped_as(const memory_name& name) {
  std::byte* at = nullptr;
  std::string why;
  return static_cast<int>(map_memory(name, 1, at, why));
}

TEST(peer_memory, is_the_same_memory_seen_twice) {
  const memory own = file_of(8192);
  memory_name name;
  ASSERT_EQ(name_memory(own, 1, name), status::ok);
  std::byte* at = nullptr;
  std::string why;
  ASSERT_EQ(map_memory(name, 0, at, why), status::ok) << why;
  *static_cast<std::uint64_t*>(own.base) = 42;
  EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(at), 42u);
}

TEST(peer_memory, of_a_dead_peer_is_a_lost_peer) {
  const memory own = file_of(4096);
  memory_name name;
  ASSERT_EQ(name_memory(own, 1, name), status::ok);
  name.pid = fork();
  if (name.pid == 0) _exit(0);
  waitpid(name.pid, nullptr, 0);
  std::byte* at = nullptr;
  std::string why;
  EXPECT_EQ(map_memory(name, 1, at, why), status::peer_lost);
  EXPECT_NE(why.find("its process has ended"), std::string::npos) << why;
}

// What a process finds whose /proc is an empty folder.
TEST(peer_memory, is_found_without_proc) {
  const memory own = file_of(4096);
  *static_cast<std::uint64_t*>(own.base) = 7;
  memory_name name;
  ASSERT_EQ(name_memory(own, 1, name), status::ok);
  if (in_process(forget_proc) != 0) GTEST_SKIP() << "no mount namespace for this user here";
  const bool copies = in_process([&] {
                        forget_proc();
                        const auto process = static_cast<int>(syscall(SYS_pidfd_open, name.pid, 0));
                        return syscall(SYS_pidfd_getfd, process, name.fd, 0) < 0 ? 1 : 0;
                      }) == 0;
  EXPECT_EQ(in_process([&] {
              std::byte* at = nullptr;
              std::string why;
              if (forget_proc() != 0 || map_memory(name, 0, at, why) != status::ok) return 1;
              return *reinterpret_cast<std::uint64_t*>(at) == 7 ? 0 : 2;
            }),
            copies ? 0 : 1)
      << "the kernel gives it under conditions (Yama's ptrace_scope, the user namespace)";
  name.fd = 9999;  // no copy of it either
  EXPECT_EQ(in_process([&] {
              std::byte* at = nullptr;
              std::string why;
              // Its process lives: it is no lost peer, of which others would hear.
              const bool refused = forget_proc() == 0 && map_memory(name, 0, at, why) == status::invalid;
              return refused && why.find("there is no /proc here") != std::string::npos ? 0 : 1;
            }),
            0);
}

TEST(peer_memory, that_too_few_open_files_keep_away_says_so) {
  const memory own = file_of(4096);
  memory_name name;
  ASSERT_EQ(name_memory(own, 1, name), status::ok);
  EXPECT_EQ(in_process([&] {
              const rlimit none{0, 0};
              setrlimit(RLIMIT_NOFILE, &none);
              std::byte* at = nullptr;
              std::string why;
              const bool refused = map_memory(name, 0, at, why) == status::invalid;
              return refused && why.find("Too many open files); raise the limit") != std::string::npos ? 0 : 1;
            }),
            0);
}

TEST(peer_memory, of_another_file_is_refused) {
  const memory own = file_of(4096);
  memory_name name;
  ASSERT_EQ(name_memory(own, 1, name), status::ok);
  const int invalid = static_cast<int>(status::invalid);
  memory_name other = name;
  ++other.inode;
  EXPECT_EQ(mapped_as(other), invalid) << "the descriptor is another file's by now";
  other = name;
  other.bytes = 8192;
  EXPECT_EQ(mapped_as(other), invalid) << "it is shorter than what its key says";
  other = name;
  other.pid = 0;
  EXPECT_EQ(mapped_as(other), invalid);
}

}  // namespace
