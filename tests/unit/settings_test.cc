// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/settings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/no_settings.hpp"
#include "transports/decorators/settings.hpp"
#include "transports/ofi/settings.hpp"
#include "transports/sim/settings.hpp"
#include "transports/soft/settings.hpp"
#include "transports/utofu/settings.hpp"
#include "transports/verbs/settings.hpp"

namespace {

using namespace tobi::base;
using namespace tobi::transports;

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
    unset_settings();
    set_log_level(log_level::warn);
  }
};
using settings_DeathTest = settings_test;

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
  EXPECT_FALSE(s.label);
  EXPECT_FALSE(s.stats);
  EXPECT_FALSE(s.debug_migrate);
  EXPECT_EQ(s.log, log_level::warn);
}

// --- every row ---

template <class T>
std::string text_of(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<int>(value));
  } else if constexpr (std::is_arithmetic_v<T>) {
    return std::to_string(value);
  } else if constexpr (std::is_same_v<T, port_range>) {
    return std::to_string(value.low) + "-" + std::to_string(value.high);
  } else {
    return value;
  }
}
template <class... T>
std::vector<std::string> texts_of(const T&... values) {
  return {text_of(values)...};
}
// All fields in their order. With one field more this does not compile: it belongs here, and into the list below.
std::vector<std::string> fields_of(const settings& s) {
  const auto& [workers, nodes, bootstrap, listen, connect, peer_timeout_s, ports, transport, mpi, deque, sched, victims,
               task_stack_bytes, local_collection, stack_bytes, stack_given, heap_bytes, heap_given, deque_entries,
               caching, cache_bytes, cache_shared, block_bytes, sub_block_bytes, read_ahead_bytes, global_bytes,
               map_limit, debug_global, pin, label, stats, trace, trace_bytes, work_span, debug_migrate, log, above] =
      s;
  const auto& [wrap, fault, mask] = above.of<decorators::settings>();
  const auto& [amo_server] = above.of<soft::settings>();
  const auto& [device, port, gid_index, sl, traffic_class, pkey_index, connections] = above.of<verbs::settings>();
  const auto& [library, tni, order] = above.of<utofu::settings>();
  const auto& [domain, provider, progress] = above.of<ofi::settings>();
  const auto& [modes, seed] = above.of<sim::settings>();
  return texts_of(workers, nodes, bootstrap, listen, connect, peer_timeout_s, ports, transport, mpi, deque, sched,
                  victims, task_stack_bytes, local_collection, stack_bytes, stack_given, heap_bytes, heap_given,
                  deque_entries, caching, cache_bytes, cache_shared, block_bytes, sub_block_bytes, read_ahead_bytes,
                  global_bytes, map_limit, debug_global, pin, label, stats, trace, trace_bytes, work_span,
                  debug_migrate, log, wrap, fault, mask, amo_server, device, port, gid_index, sl, traffic_class,
                  pkey_index, connections, library, tni, order, domain, provider, progress, modes, seed);
}

struct change {
  std::string_view name;
  const char* value;
  void (*makes)(settings&);  // of the defaults what this setting makes
};
// A value of each setting that is not its default.
constexpr change changes[] = {
    {"TOBI_WORKERS", "7", [](settings& s) { s.workers = 7; }},
    {"TOBI_TRANSPORT", "anything", [](settings& s) { s.transport = "anything"; }},
    {"TOBI_NODES", "3", [](settings& s) { s.nodes = 3; }},
    {"TOBI_BOOTSTRAP", "pmix", [](settings& s) { s.bootstrap = "pmix"; }},
    {"TOBI_LISTEN", "3", [](settings& s) { s.listen = 3; }},
    {"TOBI_CONNECT", "h1:20000", [](settings& s) { s.connect = "h1:20000"; }},
    {"TOBI_PEER_TIMEOUT", "5", [](settings& s) { s.peer_timeout_s = 5; }},
    {"TOBI_PORTS", "20000-20009",
     [](settings& s) {
       s.ports = {20000, 20009};
     }},
    {"TOBI_WRAP", "stats,trace", [](settings& s) { s.of<decorators::settings>().wrap = "stats,trace"; }},
    {"TOBI_FAULT", "again=3", [](settings& s) { s.of<decorators::settings>().fault = "again=3"; }},
    {"TOBI_MASK", "chain", [](settings& s) { s.of<decorators::settings>().mask = "chain"; }},
    {"TOBI_OFI_PROVIDER", "tcp", [](settings& s) { s.of<ofi::settings>().provider = "tcp"; }},
    {"TOBI_OFI_DOMAIN", "eth0", [](settings& s) { s.of<ofi::settings>().domain = "eth0"; }},
    {"TOBI_OFI_PROGRESS", "thread", [](settings& s) { s.of<ofi::settings>().progress = ofi::progress_mode::thread; }},
    {"TOBI_AMO_SERVER", "inline", [](settings& s) { s.of<soft::settings>().amo_server = soft::amo_place::inline_; }},
    {"TOBI_VERBS_DEVICE", "mlx5_0", [](settings& s) { s.of<verbs::settings>().device = "mlx5_0"; }},
    {"TOBI_VERBS_PORT", "2", [](settings& s) { s.of<verbs::settings>().port = 2; }},
    {"TOBI_VERBS_GID_INDEX", "4", [](settings& s) { s.of<verbs::settings>().gid_index = 4; }},
    {"TOBI_VERBS_SL", "5", [](settings& s) { s.of<verbs::settings>().sl = 5; }},
    {"TOBI_VERBS_TRAFFIC_CLASS", "104", [](settings& s) { s.of<verbs::settings>().traffic_class = 104; }},
    {"TOBI_VERBS_PKEY_INDEX", "6", [](settings& s) { s.of<verbs::settings>().pkey_index = 6; }},
    {"TOBI_VERBS_CONNECTIONS", "8", [](settings& s) { s.of<verbs::settings>().connections = 8; }},
    {"TOBI_UTOFU_LIBRARY", "libx.so", [](settings& s) { s.of<utofu::settings>().library = "libx.so"; }},
    {"TOBI_UTOFU_TNI", "3", [](settings& s) { s.of<utofu::settings>().tni = 3; }},
    {"TOBI_UTOFU_ORDER", "all", [](settings& s) { s.of<utofu::settings>().order = utofu::trusted_order::all; }},
    {"TOBI_MPI", "mpich", [](settings& s) { s.mpi = "mpich"; }},
    {"TOBI_SIM", "manual", [](settings& s) { s.of<sim::settings>().modes = "manual"; }},
    {"TOBI_SIM_SEED", "18446744073709551615", [](settings& s) { s.of<sim::settings>().seed = ~std::uint64_t{0}; }},
    {"TOBI_SCHED", "child_full", [](settings& s) { s.sched = sched_kind::child_full; }},
    {"TOBI_DEQUE", "the", [](settings& s) { s.deque = deque_kind::the; }},
    {"TOBI_VICTIMS", "uniform", [](settings& s) { s.victims = victim_policy::uniform; }},
    {"TOBI_STACK_SIZE", "1M", [](settings& s) { s.stack_bytes = 1u << 20, s.stack_given = true; }},
    {"TOBI_TASK_STACK_SIZE", "32K", [](settings& s) { s.task_stack_bytes = 32u << 10; }},
    {"TOBI_HEAP_SIZE", "32MiB", [](settings& s) { s.heap_bytes = 32u << 20, s.heap_given = true; }},
    {"TOBI_DEQUE_SIZE", "4K", [](settings& s) { s.deque_entries = 4096; }},
    {"TOBI_LOCAL_COLLECTION", "off", [](settings& s) { s.local_collection = false; }},
    {"TOBI_CACHE_POLICY", "write_through", [](settings& s) { s.caching = cache_policy::write_through; }},
    {"TOBI_CACHE_SIZE", "128K", [](settings& s) { s.cache_bytes = 128u << 10; }},
    {"TOBI_CACHE_SHARED", "0", [](settings& s) { s.cache_shared = false; }},
    {"TOBI_BLOCK_SIZE", "8K", [](settings& s) { s.block_bytes = 8u << 10; }},
    {"TOBI_SUB_BLOCK_SIZE", "512", [](settings& s) { s.sub_block_bytes = 512; }},
    {"TOBI_READ_AHEAD", "1M", [](settings& s) { s.read_ahead_bytes = 1u << 20; }},
    {"TOBI_GLOBAL_SIZE", "2M", [](settings& s) { s.global_bytes = 2u << 20; }},
    {"TOBI_MAP_LIMIT", "99", [](settings& s) { s.map_limit = 99; }},
    {"TOBI_DEBUG_GLOBAL", "1", [](settings& s) { s.debug_global = true; }},
    {"TOBI_PIN", "none", [](settings& s) { s.pin = pin_policy::none; }},
    {"TOBI_LABEL", "true", [](settings& s) { s.label = true; }},
    {"TOBI_STATS", "on", [](settings& s) { s.stats = true; }},
    {"TOBI_TRACE", "/a/file", [](settings& s) { s.trace = "/a/file"; }},
    {"TOBI_TRACE_SIZE", "8K", [](settings& s) { s.trace_bytes = 8u << 10; }},
    {"TOBI_WORK_SPAN", "/a/span", [](settings& s) { s.work_span = "/a/span"; }},
    {"TOBI_DEBUG_MIGRATE", "true", [](settings& s) { s.debug_migrate = true; }},
    {"TOBI_LOG", "trace", [](settings& s) { s.log = log_level::trace; }},
};
const change* change_of(std::string_view name) {
  const auto* at =
      std::find_if(std::begin(changes), std::end(changes), [&](const change& c) { return c.name == name; });
  return at == std::end(changes) ? nullptr : at;
}

// Alone each changes its own field and no other, and shows in its own row and no other.
TEST_F(settings_test, every_setting_changes_its_field_and_no_other) {
  const std::vector<std::string> defaults = fields_of(settings{});
  std::set<std::size_t> changed;
  const std::vector<setting_row> rows = settings_table();
  for (const setting_row& row : rows) {
    const change* c = change_of(row.name);
    ASSERT_NE(c, nullptr) << row.name << " is a row of the table and has none in this test";
    set(c->name.data(), c->value);
    settings expected;
    c->makes(expected);
    const std::vector<std::string> fields = fields_of(read_settings());
    EXPECT_EQ(fields, fields_of(expected)) << row.name << "=" << c->value;
    EXPECT_NE(fields, defaults) << row.name << "=" << c->value << " is its default";
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (fields[i] != defaults[i]) changed.insert(i);
    }
    for (const setting_row& shown : settings_table()) {
      EXPECT_EQ(shown.value != shown.default_value, shown.name == row.name) << shown.name << ", with " << row.name;
      EXPECT_EQ(shown.source, shown.name == row.name ? "environment" : "default") << shown.name;
    }
    unsetenv(c->name.data());
  }
  EXPECT_EQ(std::size(changes), rows.size()) << "a name of this test is no row of the table";
  EXPECT_EQ(changed.size(), defaults.size()) << "a field is changed by no setting";
}

TEST_F(settings_test, the_level_of_the_log_is_in_force_when_it_has_been_read) {
  set("TOBI_LOG", "trace");
  (void)read_settings();
  EXPECT_TRUE(log_enabled(log_level::trace));
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

TEST_F(settings_DeathTest, bad_numbers_of_workers_are_refused) {
  for (const char* bad :
       {"-3", "0", "1e9", "1000000000", "99999999999999999999", "65536", "two", "", " 2", "2 ", "+2", "2.0"}) {
    expect_refused("TOBI_WORKERS", bad, "from 1 to 65535");
  }
}

TEST_F(settings_DeathTest, bad_sizes_are_refused_with_the_bounds) {
  for (const char* bad :
       {"", "-1", "1K", "65535", "129M", "134217729", "lots", "1.5M", "16MX", "99999999999999999999"}) {
    expect_refused("TOBI_STACK_SIZE", bad, "from 64K to 128M");
  }
  for (const char* bad : {"16777215", "65G", "-16M", "0"}) expect_refused("TOBI_HEAP_SIZE", bad, "from 16M to 64G");
  for (const char* bad : {"255", "17M", "-256", ""}) expect_refused("TOBI_DEQUE_SIZE", bad, "from 256 to 16M");
}

TEST_F(settings_DeathTest, bad_choices_are_refused_with_the_good_ones) {
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

TEST_F(settings_DeathTest, a_message_is_one_readable_line_whatever_the_value) {
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
