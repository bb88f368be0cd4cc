// SPDX-License-Identifier: Apache-2.0
// A program may have made any locale global. Here it writes and expects a blank between thousands, as some do, and a
// comma in place of the point: what processes tell each other, and what the kernel says, is read all the same.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <locale>
#include <string>

#include "arch/cgroup.hpp"
#include "arch/topology.hpp"
#include "bootstrap/clients.hpp"
#include "bootstrap/layout.hpp"
#include "bootstrap/tcp/door.hpp"
#include "libcore/base/plain_text.hpp"

namespace {

using namespace tobi;

struct strange : std::numpunct<char> {
  char do_thousands_sep() const override { return ' '; }
  std::string do_grouping() const override { return "\3"; }
  char do_decimal_point() const override { return ','; }
};

class another_locale : public testing::Test {
 protected:
  another_locale() : before_(std::locale::global(std::locale(std::locale::classic(), new strange))) {
    std::ostringstream shows;
    shows << 12345;
    EXPECT_EQ(shows.str(), "12 345") << "the locale is in force";
  }
  ~another_locale() override { std::locale::global(before_); }
  another_locale(const another_locale&) = delete;
  another_locale& operator=(const another_locale&) = delete;

 private:
  std::locale before_;
};

TEST_F(another_locale, does_not_change_numbers) {
  EXPECT_EQ(base::fixed(1234567.891, 2), "1234567.89");
  EXPECT_EQ(base::fixed(-0.5, 1), "-0.5");
  base::text_out out;
  out << 12345 << ' ' << 678;
  EXPECT_EQ(out.str(), "12345 678");
  base::text_in in("100 200 1.5");
  int a = 0, b = 0;
  double c = 0;
  in >> a >> b >> c;
  EXPECT_EQ(a, 100);
  EXPECT_EQ(b, 200);
  EXPECT_EQ(c, 1.5);
}

TEST_F(another_locale, does_not_change_how_clients_tell_each_other_the_plan) {
  bootstrap::plan p;
  for (const char* host : {"here", "there"}) p.hosts.push_back(host);
  for (const int node : {0, 0, 1}) p.node.push_back(node);
  for (const int first : {0, 1000, 2000, 4500}) p.first.push_back(first);
  const bootstrap::plan same = bootstrap::plan_from(bootstrap::to_text(p), 1, p.clients());
  EXPECT_EQ(bootstrap::to_text(same), bootstrap::to_text(p));
  EXPECT_EQ(same.clients(), 3);
  EXPECT_EQ(same.workers(2), 2500);
}

TEST_F(another_locale, does_not_change_how_a_layout_is_told) {
  const bootstrap::layout mine = bootstrap::own_layout();
  const bootstrap::layout same = bootstrap::layout::from_text(mine.to_text());
  EXPECT_EQ(same.to_text(), mine.to_text());
  EXPECT_EQ(same.objects.size(), mine.objects.size());
}

TEST_F(another_locale, does_not_change_the_text_of_a_door) {
  const bootstrap::tcp::door in({});
  const bootstrap::tcp::guest out(in.text());
  EXPECT_EQ(in.text().find_first_of(",."), in.text().find('.')) << in.text();
  EXPECT_EQ(out.error(), 0);
}

TEST_F(another_locale, does_not_hide_a_quota_of_cores) {
  std::string folder = (std::filesystem::temp_directory_path() / "locale_test.XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::ofstream(folder + "/membership") << "0::/job\n";
  std::filesystem::create_directories(folder + "/job");
  std::ofstream(folder + "/job/cpu.max") << "150000 100000\n";
  EXPECT_EQ(arch::cgroup_cpu_quota({folder + "/membership", folder}), 1.5);
  std::filesystem::remove_all(folder);
}

}  // namespace
