// SPDX-License-Identifier: Apache-2.0
// The files of libfabric's provider shm in /dev/shm have a name each, and are removed where their process is gone
// alone.
#include "transports/ofi/shm_files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#if __has_include(<rdma/fabric.h>)
namespace {

using tobi::transports::ofi::name_endpoint;
using tobi::transports::ofi::remove_what_the_dead_left;

// A process id that nobody has here: of a process that has just ended and was waited for.
int nobody() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

class shm_files : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = "/dev/shm/shm_files_test.XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    for (const std::string& f : made_) unlink(f.c_str());
    rmdir(folder_.c_str());
  }
  // As the provider makes it.
  int make(const std::string& name) {
    made_.push_back(folder_ + "/" + name);
    const int fd = open(made_.back().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    EXPECT_GE(fd, 0);
    EXPECT_EQ(ftruncate(fd, 4096), 0);
    return fd;
  }
  std::string of(int pid) const { return std::to_string(pid) + ":" + std::to_string(getuid()) + ":0"; }
  bool there(const std::string& name) const { return access((folder_ + "/" + name).c_str(), F_OK) == 0; }

  std::string folder_;
  std::vector<std::string> made_;
};

TEST_F(shm_files, a_dead_process_s_file_goes) {
  const std::string name = of(nobody());
  close(make(name));
  remove_what_the_dead_left(folder_.c_str());
  EXPECT_FALSE(there(name));
}

TEST_F(shm_files, a_live_process_s_file_stays) {
  close(make(of(getpid())));
  remove_what_the_dead_left(folder_.c_str());
  EXPECT_TRUE(there(of(getpid())));
}

// Its process id may be anybody's here: another container's job had it.
TEST_F(shm_files, a_file_of_ours_goes_where_nobody_maps_it_whatever_has_its_process_id) {
  const std::string name = std::to_string(getpid()) + ".0badcafe:" + std::to_string(getuid()) + ":0";
  const int fd = make(name);
  remove_what_the_dead_left(folder_.c_str());
  EXPECT_TRUE(there(name)) << "open";
  close(fd);
  remove_what_the_dead_left(folder_.c_str());
  EXPECT_FALSE(there(name)) << "left";
}

TEST_F(shm_files, names_of_releases_that_count_domains_too) {
  const std::string name = of(nobody()) + ":3";
  close(make(name));
  remove_what_the_dead_left(folder_.c_str());
  EXPECT_FALSE(there(name));
}

// To this process it looks as if its owner were dead: its id says nothing here.
TEST_F(shm_files, a_file_that_somebody_elsewhere_maps_stays) {
  const std::string name = of(nobody());
  const int fd = make(name);
  void* const at = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ASSERT_NE(at, MAP_FAILED);
  remove_what_the_dead_left(folder_.c_str());
  EXPECT_TRUE(there(name)) << "open and mapped";
  close(fd);
  remove_what_the_dead_left(folder_.c_str());
  EXPECT_TRUE(there(name)) << "mapped";
  munmap(at, 4096);
  remove_what_the_dead_left(folder_.c_str());
  EXPECT_FALSE(there(name)) << "left";
}

TEST_F(shm_files, other_files_stay) {
  const std::string mine = std::to_string(nobody());
  for (const std::string& name : {mine + ":" + std::to_string(getuid() + 1) + ":0", mine + ":0", of(nobody()) + "x"}) {
    close(make(name));
    remove_what_the_dead_left(folder_.c_str());
    EXPECT_TRUE(there(name)) << name;
  }
}

TEST(names_of_shm_files, differ_between_endpoints_of_one_process_id) {
  fi_info one{};
  fi_info two{};
  fi_fabric_attr shm{};
  std::string provider = "shm";
  shm.prov_name = provider.data();
  one.fabric_attr = two.fabric_attr = &shm;
  name_endpoint(one);
  name_endpoint(two);
  const std::string first = static_cast<const char*>(one.src_addr);
  EXPECT_TRUE(first.starts_with("fi_shm://" + std::to_string(getpid()) + ".")) << first;
  EXPECT_NE(first, static_cast<const char*>(two.src_addr));
  EXPECT_EQ(one.src_addrlen, first.size() + 1);
  free(one.src_addr);
  free(two.src_addr);
}

TEST(names_of_shm_files, are_in_an_endpoint_s_address) {
  using tobi::transports::ofi::file_of;
  EXPECT_EQ(file_of("fi_shm://123:0:1"), "/dev/shm/123:0:1");
  EXPECT_EQ(file_of(std::string("fi_shm://123:0:1\0\0", 18)), "/dev/shm/123:0:1");
  for (const char* other : {"", "fi_shm://", "fi_shm://a/../b", "fi_sockaddr_in://10.0.0.1:1"})
    EXPECT_EQ(file_of(other), "");
}

}  // namespace
#else
TEST(shm_files, is_part_of_this_build) { GTEST_SKIP() << "needs the package libfabric-dev, at build time"; }
#endif
