// SPDX-License-Identifier: Apache-2.0
#include "arch/pages.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace {

using namespace tobi::arch;

class pages_test : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "tobi_pages_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    groups_ = {root_ / "self", root_ / "mount"};
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  std::string write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
    return root_ / file;
  }
  std::filesystem::path root_;
  cgroup_files groups_;
};

TEST_F(pages_test, the_page_size_is_the_kernels) {
  EXPECT_EQ(read_pages().page_bytes, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
}

TEST_F(pages_test, pools_of_huge_pages_are_listed_small_first) {
  write("hugepages/hugepages-1048576kB/nr_hugepages", "3\n");
  write("hugepages/hugepages-1048576kB/free_hugepages", "2\n");
  write("hugepages/hugepages-2048kB/nr_hugepages", "100\n");
  write("hugepages/hugepages-2048kB/free_hugepages", "50\n");
  write("hugepages/hugepages-2048kB/resv_hugepages", "20\n");
  write("hugepages/something-else/nr_hugepages", "9\n");
  const page_facts facts = read_pages(root_);
  ASSERT_EQ(facts.huge.size(), 2u);
  EXPECT_EQ(facts.huge[0].page_bytes, 2u << 20);
  EXPECT_EQ(facts.huge[0].total, 100u);
  EXPECT_EQ(facts.huge[0].free, 30u) << "reserved ones are not free";
  EXPECT_EQ(facts.huge[1].page_bytes, 1u << 30);
  EXPECT_EQ(facts.huge[1].free, 2u);
}

TEST_F(pages_test, a_kernel_without_huge_pages_has_none) {
  const page_facts facts = read_pages(root_ / "nothing");
  EXPECT_TRUE(facts.huge.empty());
  EXPECT_EQ(facts.transparent, "");
  EXPECT_EQ(facts.transparent_shared, "");
}

TEST_F(pages_test, the_mode_in_brackets_is_in_force) {
  write("transparent_hugepage/enabled", "always [madvise] never\n");
  write("transparent_hugepage/shmem_enabled", "always within_size advise never deny [force]\n");
  EXPECT_EQ(read_pages(root_).transparent, "madvise");
  EXPECT_EQ(read_pages(root_).transparent_shared, "force");
  write("transparent_hugepage/enabled", "unreadable");
  EXPECT_EQ(read_pages(root_).transparent, "");
}

// Where the pool is empty, no memory file can have huge pages: what was tried must agree with what is counted.
TEST_F(pages_test, memory_files_with_huge_pages_need_free_ones) {
  for (const huge_pages& pool : read_pages().huge) {
    const std::string name = "/sys/kernel/mm/hugepages/hugepages-" + std::to_string(pool.page_bytes / 1024) + "kB/";
    std::size_t overcommit = 0;
    std::ifstream(name + "nr_overcommit_hugepages") >> overcommit;
    if (pool.memfd) {
      EXPECT_GT(pool.free + overcommit, 0u) << pool.page_bytes;
    }
  }
  // No processor has pages of 1K: the kernel must refuse them.
  write("hugepages/hugepages-1kB/nr_hugepages", "1\n");
  const page_facts impossible = read_pages(root_);
  ASSERT_EQ(impossible.huge.size(), 1u);
  EXPECT_FALSE(impossible.huge[0].memfd);
}

TEST_F(pages_test, the_locked_memory_limit_is_that_of_this_process) {
  const pid_t child = fork();
  if (child == 0) {
    rlimit limit{};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    limit.rlim_cur = 65536;
    if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0) _exit(1);
    const page_facts facts = read_pages();
    if (facts.locked_limit != 65536) _exit(2);
    const std::uint64_t hard = limit.rlim_max == RLIM_INFINITY ? unlimited : limit.rlim_max;
    _exit(facts.locked_limit_hard == hard ? 0 : 3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(pages_test, available_memory_is_the_kernels_without_groups) {
  const std::string info = write("meminfo", "MemTotal:       9 kB\nMemAvailable:   1000 kB\nMemFree: 3 kB\n");
  EXPECT_EQ(available_memory(info, groups_), 1000u * 1024);
  EXPECT_EQ(available_memory(root_ / "nothing", groups_), unlimited);
}

TEST_F(pages_test, a_group_limit_counts_without_idle_file_caches) {
  const std::string info = write("meminfo", "MemAvailable:   1000000 kB\n");
  write("self", "0::/a/b\n");
  write("mount/a/b/memory.max", "max\n");
  EXPECT_EQ(available_memory(info, groups_), 1000000u * 1024);
  write("mount/a/memory.max", "100000\n");
  write("mount/a/memory.current", "70000\n");
  write("mount/a/memory.stat", "inactive_file_other 5\ninactive_file 30000\nactive_file 7\n");
  EXPECT_EQ(available_memory(info, groups_), 100000u - (70000u - 30000u));
  write("mount/a/memory.current", "500000\n");
  EXPECT_EQ(available_memory(info, groups_), 0u);
}

TEST_F(pages_test, a_limit_of_version_1_counts) {
  const std::string info = write("meminfo", "MemAvailable:   1000000 kB\n");
  write("self", "4:memory:/job\n");
  write("mount/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(available_memory(info, groups_), 1000000u * 1024) << "what the kernel writes for no limit";
  write("mount/memory/job/memory.limit_in_bytes", "200000\n");
  write("mount/memory/job/memory.usage_in_bytes", "50000\n");
  EXPECT_EQ(available_memory(info, groups_), 150000u);
}

TEST_F(pages_test, this_machine_has_memory_available) {
  EXPECT_GT(available_memory(), 0u);
  EXPECT_NE(available_memory(), unlimited);
}

TEST(too_many_workers, as_many_as_fit_are_welcome) {
  EXPECT_EQ(too_many_workers(1, 1, 1u << 20, 1u << 20), "");
  EXPECT_EQ(too_many_workers(128, 2, 0, 0), "");
  EXPECT_EQ(too_many_workers(10, 2, 100, 1000), "");
  EXPECT_EQ(too_many_workers(2, 2, ~std::size_t{0}, unlimited), "")
      << "a machine that does not say is not second-guessed";
}

TEST(too_many_workers, more_than_64_a_core_are_told_what_to_expect) {
  EXPECT_EQ(crowded(128, 2), "");
  EXPECT_EQ(crowded(129, 2),
            "129 workers share 2 cores: they run in turns; one worker per core is fastest (TOBI_WORKERS).");
}

TEST(too_many_workers, more_than_512_a_core_are_refused) {
  EXPECT_EQ(too_many_workers(1024, 2, 0, unlimited), "");
  EXPECT_EQ(too_many_workers(1025, 2, 0, unlimited),
            "1025 workers are more than 512 for each of the 2 cores that this process may use; lower TOBI_WORKERS.");
}

TEST(too_many_workers, more_than_memory_holds_are_refused) {
  EXPECT_EQ(too_many_workers(11, 2, 100u << 20, 1000u << 20),
            "11 workers of 100M each need more than the 1000M of memory that are available; lower TOBI_WORKERS.");
  EXPECT_NE(too_many_workers(3, 2, ~std::size_t{0} / 2, 1u << 30), "") << "the product does not overflow";
}

TEST(too_many_workers, none_or_fewer_are_refused) {
  EXPECT_EQ(too_many_workers(0, 2, 0, 0), "0 workers cannot run a job; ask for 1 or more.");
  EXPECT_EQ(too_many_workers(-5, 2, 0, 0), "-5 workers cannot run a job; ask for 1 or more.");
}

}  // namespace
