// SPDX-License-Identifier: Apache-2.0
// How the memory of another process of this machine is mapped, and what it is called when it cannot be.
#include "transports/peer_memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

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

int mapped_as(const memory_name& name) {
  std::byte* at = nullptr;
  return static_cast<int>(map_memory(name, 1, "peer_memory_test", at));
}

TEST(peer_memory, is_the_same_memory_seen_twice) {
  const memory own = file_of(8192);
  memory_name name;
  ASSERT_EQ(name_memory(own, 1, name), status::ok);
  std::byte* at = nullptr;
  ASSERT_EQ(map_memory(name, 0, "peer_memory_test", at), status::ok);
  *static_cast<std::uint64_t*>(own.base) = 42;
  EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(at), 42u);
}

// The log writes in between, and its own failure is not the reason.
TEST(peer_memory, of_a_dead_peer_is_a_lost_peer_where_nothing_can_be_logged_too) {
  const memory own = file_of(4096);
  memory_name name;
  ASSERT_EQ(name_memory(own, 1, name), status::ok);
  name.pid = fork();
  if (name.pid == 0) _exit(0);
  waitpid(name.pid, nullptr, 0);
  const int lost = static_cast<int>(status::peer_lost);
  EXPECT_EQ(in_process([&] { return mapped_as(name); }), lost);
  EXPECT_EQ(in_process([&] {
              close(STDERR_FILENO);
              return mapped_as(name);
            }),
            lost);
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
