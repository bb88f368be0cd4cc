// SPDX-License-Identifier: Apache-2.0
// The files of processes that were killed: noted, forgotten, and removed by whoever is left.
#include "libcore/base/left_files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace {

using namespace tobi::base;

class left_files : public testing::Test {
 protected:
  static constexpr std::size_t all = 2 * left_files_per_process;

  left_files() {
    std::string pattern = "/tmp/left_files_test.XXXXXX";
    folder_ = mkdtemp(pattern.data());
    void* const at = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    files_ = static_cast<left_file*>(at);
    note_files_at(files_, files_ + left_files_per_process);
  }
  ~left_files() override {
    note_files_at(nullptr, nullptr);
    munmap(files_, 4096);
    for (const char* name : {"a", "b", "c"}) unlink(path(name).c_str());
    rmdir(folder_.c_str());
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string make(const std::string& name) const {
    close(open(path(name).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    return path(name);
  }
  bool there(const std::string& name) const { return access(path(name).c_str(), F_OK) == 0; }

  std::string folder_;
  left_file* files_ = nullptr;
};

TEST_F(left_files, of_a_killed_process_are_removed_by_another) {
  const pid_t child = fork();
  if (child == 0) {
    note_file(make("a"));
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
  ASSERT_TRUE(there("a"));
  remove_files(files_, left_files_per_process);
  EXPECT_FALSE(there("a"));
}

TEST_F(left_files, are_noted_at_both_places) {
  note_file(make("a"));
  remove_files(files_ + left_files_per_process, left_files_per_process);
  EXPECT_FALSE(there("a"));
}

TEST_F(left_files, that_are_forgotten_stay_and_leave_their_place) {
  note_file(make("a"));
  note_file(make("b"));
  forget_file(path("a"));
  note_file(make("c"));
  remove_files(files_, all);
  EXPECT_TRUE(there("a"));
  EXPECT_FALSE(there("b"));
  EXPECT_FALSE(there("c"));
}

TEST_F(left_files, are_removed_once) {
  note_file(make("a"));
  remove_files(files_, all);
  make("a");
  remove_files(files_, all);
  EXPECT_TRUE(there("a"));
}

TEST_F(left_files, that_are_too_many_or_too_long_are_not_noted) {
  note_file(path(std::string(100, 'x')));
  note_file(make("a"));
  note_file(make("b"));
  note_file(make("c"));
  remove_files(files_, all);
  EXPECT_FALSE(there("b"));
  EXPECT_TRUE(there("c"));
}

TEST(no_left_files, before_there_is_a_job) {
  note_file("/tmp/nobody");
  forget_file("/tmp/nobody");
}

}  // namespace
