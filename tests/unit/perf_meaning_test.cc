// SPDX-License-Identifier: Apache-2.0
// What tobi-perf's cost sheet makes of its rows, on rows that were recorded or planted.
#include <gtest/gtest.h>

#include "tools/perf/meaning.hpp"
#include "tools/perf/units.hpp"

namespace {

using namespace tobi_perf;

// A latency of 1000 ns and 1 ns per byte: half of the bandwidth is at 1000 bytes.
std::vector<at_size> line(double sure) {
  std::vector<at_size> all;
  for (double bytes = 1; bytes <= 1 << 20; bytes *= 2) {
    const double ns = 1000 + bytes;
    all.push_back({bytes, ns, interval{ns * (1 - sure), ns * (1 + sure)}});
  }
  return all;
}

TEST(size_within, is_where_the_line_says) {
  const size_found half = *size_within(line(0.01), 2);
  EXPECT_NEAR(half.value, 1000, 20);
  EXPECT_LT((*half.within)[0], half.value);
  EXPECT_GT((*half.within)[1], half.value);
  EXPECT_LT((*half.within)[1] - (*half.within)[0], 100);
  EXPECT_FALSE(half.at_most);
  EXPECT_FALSE(half.at_least);
  EXPECT_NEAR(size_within(line(0.01), 1.25)->value, 4000, 100);
}

TEST(size_within, knows_its_ends) {
  const std::vector<at_size> flat{{8, 80, {}}, {16, 160, {}}, {32, 320, {}}};
  EXPECT_TRUE(size_within(flat, 1.25)->at_most);
  EXPECT_EQ(size_within(flat, 1.25)->value, 8);
  EXPECT_FALSE(size_within(flat, 1.25)->within);
  const std::vector<at_size> latency{{8, 100, {}}, {16, 100, {}}, {32, 100, {}}};
  EXPECT_TRUE(size_within(latency, 1.25)->at_least);
  const std::vector<at_size> falls_out_of_a_cache{{8, 80, {}}, {80, 80, {}}, {800, 8000, {}}};
  EXPECT_EQ(size_within(falls_out_of_a_cache, 1.25)->last, 10);
  EXPECT_FALSE(size_within({{8, 80, {}}}, 2));
}

TEST(size_within, has_no_interval_where_one_end_is_not_reached) { EXPECT_FALSE(size_within(line(0.6), 1.25)->within); }

TEST(window_for, is_the_first_that_is_good_enough) {
  const std::vector<at_size> rates{
      {1, 10, interval{9, 11}}, {4, 40, interval{30, 50}}, {16, 96, interval{88, 99}}, {64, 100, interval{98, 104}}};
  const size_found found = *window_for(rates, 0.9);
  EXPECT_EQ(found.value, 16);
  EXPECT_EQ(found.within, (interval{16, 64}));
  EXPECT_FALSE(found.at_least);
  EXPECT_TRUE(window_for({{1, 1, {}}, {4, 3, {}}}, 0.9)->at_least);
  EXPECT_FALSE(window_for({}, 0.9));
}

row measured(const std::string& op, std::uint64_t size, double ns) {
  row r{op, "shm", size, calls::transport, 100, 1, summarize({ns}), {}, ""};
  r.median_within = interval{0.9 * ns, 1.1 * ns};
  return r;
}
row missing(const std::string& op, const std::string& why) {
  return {op, "shm", 8, calls::transport, 0, 1, {}, {}, why};
}
finding of(const std::vector<row>& rows, const std::string& name) {
  for (const finding& f : findings_of(rows)) {
    if (f.name == name) return f;
  }
  return {};
}

TEST(findings, grain) {
  const finding f = of({measured("steal.steal_word", 0, 2000), measured("steal.the", 0, 9000)}, "grain");
  EXPECT_EQ(f.value, 20000);
  EXPECT_EQ(f.within, (interval{18000, 22000}));
  EXPECT_EQ(f.text,
            "A task that is stolen should compute for 10 times a steal, 20.0 us (18.0 us to 22.0 us): then the steal "
            "costs at most 10 % of it.");
  const finding none = of({missing("steal.steal_word", "nobody steals")}, "grain");
  EXPECT_FALSE(none.known);
  EXPECT_EQ(none.text, "Undetermined: a steal was not measured: nobody steals.");
}

TEST(findings, an_idle_target) {
  const finding yes = of({measured("get", 8, 100), measured("get-idle", 8, 150)}, "get_idle");
  EXPECT_EQ(yes.value, 1.5);
  EXPECT_NEAR((*yes.within)[0], 150 * 0.9 / 110, 1e-9);
  EXPECT_NEAR((*yes.within)[1], 150 * 1.1 / 90, 1e-9);
  const finding no = of({measured("get", 8, 100), missing("get-idle", "the target must poll")}, "get_idle");
  EXPECT_TRUE(no.known);
  EXPECT_FALSE(no.value);
  EXPECT_FALSE(of({measured("get", 8, 100), missing("get-idle", "it is no atomic")}, "get_idle").known);
}

TEST(findings, a_wake_up_is_what_is_left_of_a_round_trip) {
  const finding f = of({measured("wake", 8, 20000), measured("put-oneway", 8, 1000)}, "wake");
  EXPECT_EQ(f.value, 18000);
  EXPECT_NEAR((*f.within)[0], 18000 - 2200, 1e-9);
  EXPECT_NEAR((*f.within)[1], 22000 - 1800, 1e-9);
  EXPECT_FALSE(of({measured("wake", 8, 2000), measured("put-oneway", 8, 1000)}, "wake").known);
}

TEST(findings, contention_is_of_the_most_ranks) {
  row two = measured("amo-faa-incast", 8, 300);
  two.ranks = 2;
  row four = measured("amo-faa-incast", 8, 600);
  four.ranks = 4;
  four.all_per_second = 6e6;
  const finding f = of({measured("amo-faa", 8, 100), two, four}, "contention");
  EXPECT_EQ(f.value, 6);
  EXPECT_NEAR((*f.within)[0], 540.0 / 110, 1e-9);
  EXPECT_EQ(f.text,
            "A word that 4 ranks add to costs each of them 6.00 times as much (4.91 to 7.33); all of them reach 6.00 "
            "M/s.");
  EXPECT_FALSE(of({measured("amo-faa", 8, 100), missing("amo-faa-incast", "no cores")}, "contention").known);
}

TEST(findings, of_nothing_are_undetermined) {
  const std::vector<finding> all = findings_of({});
  EXPECT_EQ(all.size(), 11u);
  for (const finding& f : all) {
    EXPECT_FALSE(f.known) << f.name;
    EXPECT_TRUE(f.text.starts_with("Undetermined: ")) << f.text;
  }
}

TEST(units, have_three_digits) {
  EXPECT_EQ(time_text(9.999), "10.0 ns");
  EXPECT_EQ(time_text(0.5), "0.50 ns");
  EXPECT_EQ(time_text(999.9), "1.00 us");
  EXPECT_EQ(time_text(123456), "123 us");
  EXPECT_EQ(time_text(5e9), "5.00 s");
  EXPECT_EQ(times_text({}), "-");
  EXPECT_EQ(bandwidth_text(12.34e9), "12.3 GB/s");
  EXPECT_EQ(rate_text(45678), "45.7 k/s");
  EXPECT_EQ(bytes_text(2560), "2.50 KB");
}

}  // namespace
