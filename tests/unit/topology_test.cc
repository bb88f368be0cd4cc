// SPDX-License-Identifier: Apache-2.0
#include "arch/topology.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "arch/clock.hpp"

namespace {

using namespace tobi::arch;

/// What a child process found out, as its exit status: bindings must not outlive a test.
int in_child(int (*body)()) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(topology, this_machine_has_cores_that_we_may_use) {
  const machine& m = this_machine();
  EXPECT_EQ(m.error, "");
  ASSERT_FALSE(m.cores.empty());
  EXPECT_LE(m.cores.size(), static_cast<std::size_t>(m.cores_total));
  EXPECT_GT(m.memory_bytes, 0u);
  cpu_set_t mine;
  ASSERT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
  std::set<int> cpus;
  for (const core& c : m.cores) {
    EXPECT_TRUE(CPU_ISSET(static_cast<unsigned>(c.os_cpu), &mine)) << c.os_cpu;
    cpus.insert(c.os_cpu);
  }
  EXPECT_EQ(cpus.size(), m.cores.size()) << "no cpu twice";
  EXPECT_EQ(&this_machine(), &m) << "read once";
}

TEST(topology, reading_leaves_the_binding_and_the_environment_alone) {
  cpu_set_t before;
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  unsetenv("HWLOC_PLUGINS_PATH");
  (void)read_machine();
  EXPECT_EQ(getenv("HWLOC_PLUGINS_PATH"), nullptr);
  setenv("HWLOC_PLUGINS_PATH", "/of/the/user", 1);
  (void)read_machine();
  EXPECT_STREQ(getenv("HWLOC_PLUGINS_PATH"), "/of/the/user");
  unsetenv("HWLOC_PLUGINS_PATH");
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(topology, an_inherited_cpuset_is_respected) {
  EXPECT_EQ(in_child([] {
              const core last = read_machine().cores.back();
              if (!bind_to_cpu(last.os_cpu).empty()) return 1;
              if (sched_getcpu() != last.os_cpu) return 2;
              const machine m = read_machine();
              if (m.cores.size() != 1 || m.cores[0].os_cpu != last.os_cpu || m.cores[0].id != last.id) return 3;
              return m.cores_total == this_machine().cores_total ? 0 : 4;
            }),
            0);
}

// A site's description of its nodes, for all programs that use hwloc. Processes are bound all the same.
TEST(topology, what_a_site_says_of_its_machines_leaves_the_binding_in_force) {
  EXPECT_EQ(in_child([] {
              const core last = read_machine().cores.back();
              if (!bind_to_cpu(last.os_cpu).empty()) return 1;
              setenv("HWLOC_SYNTHETIC", "pack:1 core:16 pu:1", 1);
              const machine m = read_machine();
              if (m.cores_total != 16) return 2;
              return m.cores.size() == 1 && m.cores[0].os_cpu == last.os_cpu ? 0 : 3;
            }),
            0);
}

// Of the file that hwloc 2.9 crashes on.
TEST(topology, a_damaged_file_of_a_site_is_told_and_the_affinity_mask_serves) {
  setenv("HWLOC_XMLFILE", "tests/fuzz/seeds/topology/crash", 1);
  const machine m = read_machine();
  unsetenv("HWLOC_XMLFILE");
  EXPECT_EQ(m.error, "hwloc cannot read HWLOC_XMLFILE=tests/fuzz/seeds/topology/crash, which is damaged");
  EXPECT_EQ(m.cores.size(), read_machine().cores.size());
}

TEST(topology, binding_to_a_cpu_that_is_not_there_says_why) {
  EXPECT_NE(bind_to_cpu(100'000), "");
  EXPECT_NE(bind_to_cpu(-1), "");
}

TEST(topology, one_worker_a_core_on_a_machine_with_hardware_threads) {
  const machine m = read_machine("pack:2 l3:2 core:3 pu:2");
  ASSERT_EQ(m.error, "");
  ASSERT_EQ(m.cores.size(), 12u);
  EXPECT_EQ(m.cores_total, 12);
  for (std::size_t i = 0; i < m.cores.size(); ++i) {
    EXPECT_EQ(m.cores[i].os_cpu, static_cast<int>(2 * i)) << "the first hardware thread of each core";
    EXPECT_EQ(m.cores[i].id, static_cast<int>(i));
    EXPECT_EQ(m.cores[i].l3, static_cast<int>(i / 3));
    EXPECT_EQ(m.cores[i].package, static_cast<int>(i / 6));
  }
}

TEST(topology, distance_follows_cache_then_package_then_machine) {
  const machine m = read_machine("pack:2 [numa] l3:2 core:2 pu:1");
  ASSERT_EQ(m.cores.size(), 8u);
  EXPECT_EQ(distance(m.cores[0], m.cores[0]), 0);
  EXPECT_EQ(distance(m.cores[0], m.cores[1]), 0);
  EXPECT_EQ(distance(m.cores[0], m.cores[2]), 1);
  EXPECT_EQ(distance(m.cores[0], m.cores[4]), 2);
  EXPECT_EQ(distance(m.cores[4], m.cores[0]), 2);
  EXPECT_EQ(m.cores[0].numa, 0);
  EXPECT_EQ(m.cores[7].numa, 1);
}

TEST(topology, a_machine_without_shared_caches_still_has_neighbours) {
  const machine m = read_machine("pack:2 core:2 pu:1");
  ASSERT_EQ(m.cores.size(), 4u);
  EXPECT_EQ(m.cores[0].l3, -1);
  EXPECT_EQ(distance(m.cores[0], m.cores[1]), 1);
}

TEST(topology, unknown_places_are_never_called_near) { EXPECT_EQ(distance({0, 0, -1, -1, -1}, {1, 1, -1, -1, -1}), 2); }

TEST(topology, a_machine_that_names_no_cores_is_taken_by_its_hardware_threads) {
  const machine m = read_machine("pack:1 pu:3");
  EXPECT_EQ(m.error, "");
  EXPECT_EQ(m.cores.size(), 3u);
}

TEST(topology, one_cpu_is_a_machine) {
  const machine m = read_machine("pu:1");
  EXPECT_EQ(m.error, "");
  ASSERT_EQ(m.cores.size(), 1u);
  EXPECT_EQ(worker_cores(m), 1);
}

TEST(topology, a_failure_is_told_and_the_affinity_mask_serves) {
  const machine m = read_machine("a machine like no other");
  EXPECT_NE(m.error.find("hwloc does not understand"), std::string::npos) << m.error;
  cpu_set_t mine;
  ASSERT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
  EXPECT_EQ(static_cast<int>(m.cores.size()), CPU_COUNT(&mine));
}

TEST(topology, a_quota_limits_the_workers_and_is_rounded_up) {
  machine m = read_machine("core:8 pu:1");
  m.cpu_quota = 0;
  EXPECT_EQ(worker_cores(m), 8);
  m.cpu_quota = 2.5;
  EXPECT_EQ(worker_cores(m), 3);
  m.cpu_quota = 0.1;
  EXPECT_EQ(worker_cores(m), 1);
  m.cpu_quota = 64;
  EXPECT_EQ(worker_cores(m), 8);
}

/// A copy of what the kernel shows of control groups, in a folder that goes away.
class cgroup_test : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "tobi_cgroup_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    files_ = {root_ / "self", root_ / "mount"};
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  std::filesystem::path root_;
  cgroup_files files_;
};

TEST_F(cgroup_test, no_groups_mean_no_quota) { EXPECT_EQ(cgroup_cpu_quota(files_), 0); }

TEST_F(cgroup_test, version_2_quota) {
  write("self", "0::/\n");
  write("mount/cpu.max", "250000 100000\n");
  EXPECT_EQ(cgroup_cpu_quota(files_), 2.5);
  write("mount/cpu.max", "max 100000\n");
  EXPECT_EQ(cgroup_cpu_quota(files_), 0);
}

TEST_F(cgroup_test, version_1_quota) {
  write("self", "5:devices:/x\n4:cpu,cpuacct:/job\n");
  write("mount/cpu,cpuacct/job/cpu.cfs_quota_us", "150000\n");
  write("mount/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_cpu_quota(files_), 1.5);
  write("mount/cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(cgroup_cpu_quota(files_), 0);
}

TEST_F(cgroup_test, the_smallest_quota_of_all_levels_counts) {
  write("self", "0::/a/b/c\n");
  write("mount/a/b/c/cpu.max", "max 100000\n");
  write("mount/a/b/cpu.max", "300000 100000\n");
  write("mount/a/cpu.max", "200000 100000\n");
  EXPECT_EQ(cgroup_cpu_quota(files_), 2);
}

// A container without a namespace of groups sees its path on the host, but only its own group, as the root of the
// mount.
TEST_F(cgroup_test, a_path_that_is_not_mounted_leaves_the_root) {
  write("self", "0::/kubepods/pod1/container1\n");
  write("mount/cpu.max", "100000 100000\n");
  EXPECT_EQ(cgroup_cpu_quota(files_), 1);
  write("self", "0::/../../outside\n");
  EXPECT_EQ(cgroup_cpu_quota(files_), 1);
}

TEST_F(cgroup_test, both_versions_at_once) {
  write("self", "3:cpu:/\n0::/\n");
  write("mount/unified/cpu.max", "400000 100000\n");
  write("mount/cpu/cpu.cfs_quota_us", "300000\n");
  write("mount/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_cpu_quota(files_), 3);
}

TEST_F(cgroup_test, garbage_is_no_quota) {
  write("self", "garbage\n\n0:\n0::/\n");
  write("mount/cpu.max", "much\n");
  EXPECT_EQ(cgroup_cpu_quota(files_), 0);
}

TEST(clock, never_goes_back) {
  std::uint64_t last = now_ns();
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t next = now_ns();
    ASSERT_GE(next, last);
    last = next;
  }
}

// The counter and the clock read the same stretch of time; each reading of the clock brackets one of the counter, so
// that an interruption widens the bounds and not the error.
TEST(clock, the_cycle_counter_agrees_with_the_clock) {
  (void)ns_per_cycle();
  const std::uint64_t a0 = now_ns();
  const std::uint64_t first = cycles();
  const std::uint64_t a1 = now_ns();
  while (now_ns() < a1 + 20'000'000) tobi::arch::pause();
  const std::uint64_t b0 = now_ns();
  const std::uint64_t last = cycles();
  const std::uint64_t b1 = now_ns();
  const double counted = cycles_to_ns(last - first);
  EXPECT_GE(counted, 0.99 * static_cast<double>(b0 - a1));
  EXPECT_LE(counted, 1.01 * static_cast<double>(b1 - a0));
}

}  // namespace
