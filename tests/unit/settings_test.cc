#include "libcore/base/settings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using namespace tobi::base;

extern "C" char** environ;

/// Every test starts without any TOBI_ name, and leaves none.
class settings_test : public testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }
  static std::string complaints() {
    testing::internal::CaptureStderr();
    (void)read_settings();
    return testing::internal::GetCapturedStderr();
  }

 private:
  static void clear() {
    std::vector<std::string> names;
    for (char** e = environ; *e != nullptr; ++e) {
      const std::string entry = *e;
      if (entry.starts_with("TOBI_")) names.push_back(entry.substr(0, entry.find('=')));
    }
    for (const std::string& name : names) unsetenv(name.c_str());
    set_log_level(log_level::warn);
  }
};
using settings_death = settings_test;

TEST_F(settings_test, nothing_set_means_the_defaults) {
  const settings s = read_settings();
  EXPECT_EQ(s.workers, 0);
  EXPECT_EQ(s.transport, "auto");
  EXPECT_EQ(s.deque, deque_kind::steal_word);
  EXPECT_EQ(s.victims, victim_policy::near);
  EXPECT_EQ(s.stack_bytes, 64u << 20);
  EXPECT_EQ(s.heap_bytes, 1u << 30);
  EXPECT_EQ(s.deque_entries, 1u << 20);
  EXPECT_EQ(s.pin, pin_policy::automatic);
  EXPECT_FALSE(s.stats);
  EXPECT_FALSE(s.debug_migrate);
  EXPECT_EQ(s.log, log_level::warn);
}

TEST_F(settings_test, every_setting_is_read) {
  set("TOBI_WORKERS", "7");
  set("TOBI_TRANSPORT", "anything");
  set("TOBI_SCHED", "child_full");
  set("TOBI_DEQUE", "the");
  set("TOBI_VICTIMS", "uniform");
  set("TOBI_TASK_STACK_SIZE", "32K");
  set("TOBI_LOCAL_COLLECTION", "off");
  set("TOBI_STACK_SIZE", "1M");
  set("TOBI_HEAP_SIZE", "32MiB");
  set("TOBI_DEQUE_SIZE", "4K");
  set("TOBI_PIN", "none");
  set("TOBI_STATS", "on");
  set("TOBI_DEBUG_MIGRATE", "true");
  set("TOBI_LOG", "trace");
  const settings s = read_settings();
  EXPECT_EQ(s.workers, 7);
  EXPECT_EQ(s.transport, "anything");
  EXPECT_EQ(s.sched, sched_kind::child_full);
  EXPECT_EQ(s.deque, deque_kind::the);
  EXPECT_EQ(s.victims, victim_policy::uniform);
  EXPECT_EQ(s.task_stack_bytes, 32u << 10);
  EXPECT_FALSE(s.local_collection);
  EXPECT_EQ(s.stack_bytes, 1u << 20);
  EXPECT_EQ(s.heap_bytes, 32u << 20);
  EXPECT_EQ(s.deque_entries, 4096u);
  EXPECT_EQ(s.pin, pin_policy::none);
  EXPECT_TRUE(s.stats);
  EXPECT_TRUE(s.debug_migrate);
  EXPECT_EQ(s.log, log_level::trace);
  EXPECT_TRUE(log_enabled(log_level::trace)) << "TOBI_LOG takes effect when it has been read";
}

TEST_F(settings_test, flags_have_three_spellings_each_way) {
  for (const char* yes : {"1", "on", "true"}) {
    set("TOBI_STATS", yes);
    EXPECT_TRUE(read_settings().stats) << yes;
  }
  for (const char* no : {"0", "off", "false"}) {
    set("TOBI_STATS", no);
    EXPECT_FALSE(read_settings().stats) << no;
  }
}

TEST_F(settings_test, stack_sizes_are_rounded_up_to_64K) {
  set("TOBI_STACK_SIZE", "65537");
  EXPECT_EQ(read_settings().stack_bytes, 128u << 10);
  set("TOBI_STACK_SIZE", "128M");
  EXPECT_EQ(read_settings().stack_bytes, 128u << 20);
}

TEST_F(settings_test, the_bounds_themselves_are_good) {
  for (const auto& [name, value] : std::vector<std::pair<const char*, const char*>>{{"TOBI_WORKERS", "1"},
                                                                                    {"TOBI_WORKERS", "65535"},
                                                                                    {"TOBI_STACK_SIZE", "64K"},
                                                                                    {"TOBI_STACK_SIZE", "128M"},
                                                                                    {"TOBI_HEAP_SIZE", "16M"},
                                                                                    {"TOBI_HEAP_SIZE", "64G"},
                                                                                    {"TOBI_DEQUE_SIZE", "256"},
                                                                                    {"TOBI_DEQUE_SIZE", "16M"}}) {
    set(name, value);
    EXPECT_EQ(complaints(), "") << name << "=" << value;
    unsetenv(name);
  }
}

// Status 2, and one line that names what is good.
void expect_refused(const char* name, const std::string& value, const std::string& good) {
  setenv(name, value.c_str(), 1);
  EXPECT_EXIT((void)read_settings(), testing::ExitedWithCode(exit_usage),
              "^tobi: " + std::string(name) + "=[^\n]* is not [^\n]*" + good + "[^\n]*\\.\n$")
      << name << "=" << value;
  unsetenv(name);
}

TEST_F(settings_death, bad_numbers_of_workers_are_refused) {
  for (const char* bad :
       {"-3", "0", "1e9", "1000000000", "99999999999999999999", "65536", "two", "", " 2", "2 ", "+2", "2.0"}) {
    expect_refused("TOBI_WORKERS", bad, "from 1 to 65535");
  }
}

TEST_F(settings_death, bad_sizes_are_refused_with_the_bounds) {
  for (const char* bad :
       {"", "-1", "1K", "65535", "129M", "134217729", "lots", "1.5M", "16MX", "99999999999999999999"}) {
    expect_refused("TOBI_STACK_SIZE", bad, "from 64K to 128M");
  }
  for (const char* bad : {"16777215", "65G", "-16M", "0"}) expect_refused("TOBI_HEAP_SIZE", bad, "from 16M to 64G");
  for (const char* bad : {"255", "17M", "-256", ""}) expect_refused("TOBI_DEQUE_SIZE", bad, "from 256 to 16M");
}

TEST_F(settings_death, bad_choices_are_refused_with_the_good_ones) {
  for (const char* bad : {"foo", "", "THE", "the ", "steal_wor"}) {
    expect_refused("TOBI_DEQUE", bad, "one of steal_word, the");
  }
  for (const char* bad : {"far", "", "nea", "uniform,near"})
    expect_refused("TOBI_VICTIMS", bad, "one of near, uniform");
  for (const char* bad : {"child", "greedy", "", "child_ful"}) {
    expect_refused("TOBI_SCHED", bad, "one of continuation_greedy, continuation_stalling, child_full, child_rtc");
  }
  for (const char* bad : {"15K", "2G", "none"}) expect_refused("TOBI_TASK_STACK_SIZE", bad, "from 16K to 1G");
  expect_refused("TOBI_PIN", "cores", "one of auto, none");
  expect_refused("TOBI_LOG", "loud", "one of error, warn, info, debug, trace");
  expect_refused("TOBI_STATS", "yes", "one of 0, 1, off, on, false, true");
  expect_refused("TOBI_DEBUG_MIGRATE", "2", "one of 0, 1, off, on, false, true");
  expect_refused("TOBI_TRANSPORT", "", "auto or the name of a transport");
}

TEST_F(settings_death, a_message_is_one_readable_line_whatever_the_value) {
  expect_refused("TOBI_DEQUE", "two\nlines", "one of steal_word, the");
  set("TOBI_DEQUE", std::string(100'000, 'x'));
  EXPECT_EXIT((void)read_settings(), testing::ExitedWithCode(exit_usage),
              "^tobi: TOBI_DEQUE=x{64}\\.\\.\\. is not one of steal_word, the\\.\n$");
}

TEST_F(settings_test, an_unknown_name_draws_one_warning_with_the_nearest_known_name) {
  set("TOBI_WROKERS", "4");
  const std::string said = complaints();
  EXPECT_NE(said.find("warning: TOBI_WROKERS is no setting"), std::string::npos) << said;
  EXPECT_NE(said.find("the nearest one is TOBI_WORKERS"), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_EQ(complaints(), "") << "a name is warned of once";
  set("TOBI_STAT", "1");
  const std::string more = complaints();
  EXPECT_NE(more.find("the nearest one is TOBI_STATS"), std::string::npos) << more;
  EXPECT_EQ(more.find("WROKERS"), std::string::npos) << more;
}

// Counted as two changes each, the swaps would make TOBI_DEQUE the nearest.
TEST_F(settings_test, a_swap_of_neighbours_is_one_mistake) {
  set("TOBI_DEQU_ISEZ", "1M");
  const std::string said = complaints();
  EXPECT_NE(said.find("the nearest one is TOBI_DEQUE_SIZE "), std::string::npos) << said;
}

TEST_F(settings_test, names_of_others_are_left_alone) {
  setenv("TOBIAS", "1", 1);
  EXPECT_EQ(complaints(), "");
  unsetenv("TOBIAS");
}

TEST_F(settings_test, warnings_of_unknown_names_obey_the_log_level) {
  set("TOBI_QUIETLY", "1");
  set("TOBI_LOG", "error");
  EXPECT_EQ(complaints(), "");
}

TEST_F(settings_test, the_table_says_value_and_source) {
  set("TOBI_DEQUE", "the");
  set("TOBI_STACK_SIZE", "65537");
  const std::vector<setting_row> rows = settings_table();
  const auto row = [&](std::string_view name) {
    return *std::find_if(rows.begin(), rows.end(), [&](const setting_row& r) { return r.name == name; });
  };
  EXPECT_GE(rows.size(), 10u);
  EXPECT_EQ(row("TOBI_DEQUE").value, "the");
  EXPECT_EQ(row("TOBI_DEQUE").source, "environment");
  EXPECT_EQ(row("TOBI_DEQUE").default_value, "steal_word");
  EXPECT_EQ(row("TOBI_STACK_SIZE").value, "128K") << "the value in force, not the text";
  EXPECT_EQ(row("TOBI_HEAP_SIZE").value, "1G");
  EXPECT_EQ(row("TOBI_HEAP_SIZE").source, "default");
}

// What the table offers must be accepted: each word of a list, and both ends of a range.
TEST_F(settings_test, every_choice_of_the_table_is_good) {
  int tried = 0;
  for (const setting_row& r : settings_table()) {
    std::string choices(r.choices);
    if (const std::size_t dots = choices.find(".."); dots != std::string::npos) choices.replace(dots, 2, "|");
    while (!choices.empty()) {
      const std::size_t bar = std::min(choices.find('|'), choices.size());
      set(std::string(r.name).c_str(), choices.substr(0, bar));
      EXPECT_EQ(complaints(), "") << r.name << "=" << choices.substr(0, bar);
      choices.erase(0, bar + 1);
      ++tried;
    }
    unsetenv(std::string(r.name).c_str());
  }
  EXPECT_GT(tried, 20);
}

TEST(parse_size, takes_bytes_and_binary_units) {
  for (const auto& [text, bytes] :
       std::vector<std::pair<const char*, std::uint64_t>>{{"0", 0},
                                                          {"1", 1},
                                                          {"16B", 16},
                                                          {"16M", 16u << 20},
                                                          {"16m", 16u << 20},
                                                          {"16MB", 16u << 20},
                                                          {"16MiB", 16u << 20},
                                                          {"16mib", 16u << 20},
                                                          {"3K", 3072},
                                                          {"2G", std::uint64_t{2} << 30},
                                                          {"1T", std::uint64_t{1} << 40},
                                                          {"18446744073709551615", ~std::uint64_t{0}},
                                                          {"16777215T", std::uint64_t{16777215} << 40}}) {
    std::uint64_t got = 99;
    EXPECT_TRUE(parse_size(text, got)) << text;
    EXPECT_EQ(got, bytes) << text;
  }
}

TEST(parse_size, refuses_everything_else_and_leaves_the_value) {
  for (const char* text :
       {"", "M", "-1", "-1M", "+1", " 1", "1 ", "1 M", "1.5M", "0x10", "1MM", "1Mi", "1iB", "1X", "1MBs",
        "18446744073709551616", "16777216T", "99999999999999999999999", "18446744073709551615K"}) {
    std::uint64_t got = 99;
    EXPECT_FALSE(parse_size(text, got)) << text;
    EXPECT_EQ(got, 99u) << text;
  }
}

TEST(format_size, is_what_parse_size_reads) {
  EXPECT_EQ(format_size(0), "0");
  EXPECT_EQ(format_size(1023), "1023");
  EXPECT_EQ(format_size(1536), "1536");
  EXPECT_EQ(format_size(64u << 20), "64M");
  EXPECT_EQ(format_size(std::uint64_t{5} << 50), "5120T");
  for (const std::uint64_t bytes :
       {std::uint64_t{1}, std::uint64_t{65536}, std::uint64_t{3} << 33, ~std::uint64_t{0}}) {
    std::uint64_t back = 0;
    EXPECT_TRUE(parse_size(format_size(bytes), back));
    EXPECT_EQ(back, bytes);
  }
}

}  // namespace
