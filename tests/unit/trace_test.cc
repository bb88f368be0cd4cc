// SPDX-License-Identifier: Apache-2.0
// The ring of events, the fit of two clocks, and the file that comes of both.
#include "libcore/trace/trace.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "libcore/trace/clock_fit.hpp"
#include "libcore/trace/trace_file.hpp"

namespace {

using namespace tobi;
using trace::event;
using trace::event_kind;
using trace::steal_result;

event task_at(std::uint64_t begin, std::uint64_t end) {
  return {begin, end, event_kind::task, steal_result::taken, 0, -1, 0, 1, {}};
}

TEST(trace_ring, keeps_the_newest_and_counts_what_went) {
  trace::event_ring ring(4 * sizeof(event));
  EXPECT_EQ(ring.newest(), nullptr);
  for (std::uint64_t i = 0; i < 4; ++i) ring.add(task_at(i, i));
  EXPECT_EQ(ring.lost(), 0u);
  EXPECT_EQ(ring.at(0).begin, 0u);
  for (std::uint64_t i = 4; i < 11; ++i) ring.add(task_at(i, i));
  EXPECT_EQ(ring.size(), 4u);
  EXPECT_EQ(ring.lost(), 7u);
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(ring.at(i).begin, 7 + i);
  EXPECT_EQ(ring.newest()->begin, 10u);
}

TEST(trace_ring, has_room_for_one_at_least) {
  trace::event_ring ring(1);
  ring.add(task_at(1, 2));
  ring.add(task_at(3, 4));
  EXPECT_EQ(ring.size(), 1u);
  EXPECT_EQ(ring.at(0).begin, 3u);
}

TEST(tracer, failed_attempts_in_a_row_are_one_event_and_are_all_counted) {
  trace::tracer t(1 << 16);
  t.run_begins();
  const auto attempt = [&](int victim, steal_result result) {
    const std::uint64_t begin = trace::tracer::now();
    t.steal_begins(begin);
    trace::stolen got;
    got.sp = 0x1000;
    got.base = got.sp + 100;
    t.steal_ends(victim, result, trace::tracer::now(), got);
  };
  for (int i = 0; i < 5; ++i) attempt(1, steal_result::empty);
  attempt(2, steal_result::empty);
  attempt(2, steal_result::lost_race);
  attempt(2, steal_result::taken);
  attempt(2, steal_result::taken);
  attempt(2, steal_result::context);
  ASSERT_EQ(t.ring().size(), 6u);
  EXPECT_EQ(t.ring().at(0).count, 5u);
  EXPECT_EQ(t.ring().at(0).peer, 1);
  EXPECT_EQ(t.ring().at(1).count, 1u);
  EXPECT_EQ(t.ring().at(3).value, 100u);
  EXPECT_EQ(t.totals().steals_empty, 6u);
  EXPECT_EQ(t.totals().steals_lost_race, 1u);
  EXPECT_EQ(t.totals().steals_ok, 2u);
  EXPECT_EQ(t.totals().contexts_stolen, 1u);
  EXPECT_EQ(t.totals().stolen_bytes, 200u) << "a context is brought home when it is resumed";
}

TEST(tracer, a_task_that_was_found_ready_late_has_the_time_since_it_was) {
  trace::tracer t(1 << 16);
  t.run_begins();
  const std::uint64_t could = trace::tracer::now() - 5000;
  t.ready_since(48, could);
  t.resumed(48, 3, trace::tracer::now());
  t.ready_since(64, trace::tracer::now() + 1'000'000'000);
  ASSERT_EQ(t.ring().size(), 3u);
  EXPECT_EQ(t.ring().at(0).begin, could);
  EXPECT_GE(t.ring().at(0).end, could + 5000);
  EXPECT_EQ(t.ring().at(2).begin, t.ring().at(2).end) << "a clock that is ahead makes no time before itself";

  trace::trace_facts facts{"shm", "child_full", "steal_word", could, {}, {}};
  facts.ranks.resize(1);
  std::string text;
  trace::trace_encoder encoder(text, facts);
  encoder.begin();
  encoder.event(0, {could, could + 7000, event_kind::ready, steal_result::taken, 0, -1, 48, 1, {}});
  encoder.event(0, {could + 9000, could + 9000, event_kind::ready, steal_result::taken, 0, -1, 64, 1, {}});
  encoder.end();
  const auto events = nlohmann::json::parse(text)["traceEvents"];
  const auto& late = events[events.size() - 4];  // an arrow's end is behind each
  EXPECT_EQ(late["ts"], 7.0) << "moments are in order";
  EXPECT_EQ(late["args"], nlohmann::json::parse(R"({"join":"48","for_ns":7000})"));
  EXPECT_FALSE(events[events.size() - 2]["args"].contains("for_ns"));
}

TEST(tracer, records_nothing_outside_of_runs_and_no_wait_inside_a_steal) {
  trace::tracer t(1 << 16);
  t.waited(1, trace::tracer::now());
  EXPECT_EQ(t.ring().size(), 0u);
  t.run_begins();
  t.steal_begins(trace::tracer::now());
  t.waited(1, trace::tracer::now());
  trace::stolen got;
  got.spent(steal_phase::lock, arch::cycles() - 10'000'000);
  t.steal_ends(1, steal_result::taken, trace::tracer::now(), got);
  EXPECT_GT(t.ring().at(0).phase_ns[static_cast<std::size_t>(steal_phase::lock)], 0u);
  EXPECT_EQ(t.ring().at(0).phase_ns[static_cast<std::size_t>(steal_phase::unlock)], 0u);
  t.waited(1, trace::tracer::now());
  EXPECT_EQ(t.ring().size(), 2u);
  EXPECT_EQ(t.ring().at(1).kind, event_kind::wait);
  t.run_ends();
  EXPECT_EQ(t.ring().at(t.ring().size() - 1).kind, event_kind::run);
}

TEST(tracer, a_phase_begins_outside_of_runs_too_and_its_name_ends_somewhere) {
  trace::tracer t(1 << 16);
  t.phase_begins("setting up");
  t.run_begins();
  t.phase_begins(std::string(40, 'x'));
  ASSERT_EQ(t.ring().size(), 2u);
  EXPECT_EQ(t.ring().at(0).kind, event_kind::phase);
  EXPECT_STREQ(reinterpret_cast<const char*>(t.ring().at(0).phase_ns.data()), "setting up");
  EXPECT_EQ(std::strlen(reinterpret_cast<const char*>(t.ring().at(1).phase_ns.data())), trace::longest_phase);
}

TEST(tracer, what_moves_in_global_memory_is_part_of_a_run) {
  trace::tracer t(1 << 16);
  t.fetched(1, 100, 2, trace::tracer::now());
  t.wrote_back(8, trace::tracer::now());
  t.awaited(1, trace::tracer::now());
  EXPECT_EQ(t.ring().size(), 0u);
  t.run_begins();
  t.fetched(3, 4096, 2, trace::tracer::now());
  t.wrote_back(64, trace::tracer::now());
  t.awaited(2, trace::tracer::now());
  ASSERT_EQ(t.ring().size(), 3u);
  EXPECT_EQ(t.ring().at(0).kind, event_kind::fetch);
  EXPECT_EQ(t.ring().at(0).peer, 3);
  EXPECT_EQ(t.ring().at(0).value, 4096u);
  EXPECT_EQ(t.ring().at(0).count, 2u);
  EXPECT_EQ(t.ring().at(1).value, 64u);
  EXPECT_EQ(t.ring().at(2).peer, 2);
}

// A name may be of any bytes: what is no character of UTF-8 would make the file one that no reader takes.
TEST(trace_file, has_names_of_any_bytes) {
  trace::trace_facts facts{"shm", "continuation_greedy", "steal_word", 0, {}, {}};
  facts.ranks.resize(1);
  facts.sites.push_back({"/a/\xff\"q\\/caf\xc3\xa9.cc:7", {1, 3, 5000, 70}});
  std::string text;
  trace::trace_encoder encoder(text, facts);
  encoder.begin();
  const auto phase = [&](std::string_view name) {
    event e{1, 1, event_kind::phase, steal_result::taken, 0, -1, 0, 1, {}};
    std::memcpy(e.phase_ns.data(), name.data(), std::min(name.size(), trace::longest_phase));
    encoder.event(0, e);
  };
  // Each is followed by what a reader has to see.
  const std::vector<std::pair<std::string, std::string>> names{
      {"solve", "solve"},
      {"\xe2\x82\xac \xf0\x9f\x90\x9f", "\xe2\x82\xac \xf0\x9f\x90\x9f"},
      {"cut in its middle: \xf0\x9f\x90", "cut in its middle: ???"},
      {"\xc0\xaf \xe0\x80\xaf \xed\xa0\x80", "?? ??? ???"},
      {"\xf4\x90\x80\x80 \x80 \xc3", "???? ? ?"},
      {"tab\tand \"quote\"", "tab and \"quote\""}};
  for (const auto& [given, read] : names) phase(given);
  encoder.end();
  const auto all = nlohmann::json::parse(text);
  EXPECT_EQ(all["otherData"]["fetched_at"],
            nlohmann::json::parse(R"([{"place":"/a/?\"q\\/café.cc:7","pieces":3,"bytes":5000,"waited_ns":70}])"));
  const auto& events = all["traceEvents"];
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(events[events.size() - names.size() + i]["args"]["name"], names[i].second);
  }
}

// A world in which the truth is known: clocks that differ by an offset and a rate, messages that take what they like.
struct world {
  double offset, drift;
  std::mt19937_64 rng{7};
  [[nodiscard]] std::uint64_t other(double ns) const { return static_cast<std::uint64_t>(ns * (1 + drift) + offset); }
  std::vector<trace::clock_exchange> ping(double at, int count, double slowest_there, double slowest_back) {
    std::vector<trace::clock_exchange> all;
    for (int i = 0; i < count; ++i) {
      const double there = 200 + std::uniform_real_distribution<>(0, slowest_there)(rng);
      const double back = 200 + std::uniform_real_distribution<>(0, slowest_back)(rng);
      all.push_back({static_cast<std::uint64_t>(at), other(at + there), static_cast<std::uint64_t>(at + there + back)});
      at += there + back;
    }
    return all;
  }
};

TEST(clock_fit, the_truth_lies_within_the_bound_however_unlike_the_two_ways_are) {
  for (const double offset : {0.0, 5e6, 1e12}) {
    for (const auto& [there, back] : {std::pair{100.0, 100.0}, {5000.0, 10.0}, {10.0, 90000.0}}) {
      world w{offset, 0};
      const auto got = trace::estimate_offset(w.ping(1e13, 32, there, back));
      EXPECT_LE(std::abs(static_cast<double>(got.offset_ns) - offset), static_cast<double>(got.error_ns) + 1);
      EXPECT_LT(got.error_ns, 3000u) << "32 exchanges, some of which are fast";
    }
  }
}

TEST(clock_fit, a_clock_that_is_behind_has_a_negative_offset) {
  const trace::clock_exchange one{1'000'000, 400'500, 1'001'000};
  const auto got = trace::estimate_offset({&one, 1});
  EXPECT_EQ(got.offset_ns, -600'000);
  EXPECT_EQ(got.error_ns, 500u);
}

TEST(clock_fit, ranges_that_contradict_each_other_leave_the_narrowest) {
  const trace::clock_exchange all[] = {{0, 1000, 100}, {5000, 9000, 5010}};
  const auto got = trace::estimate_offset(all);
  EXPECT_EQ(got.offset_ns, 3995);
  EXPECT_EQ(got.error_ns, 5u);
}

TEST(clock_fit, a_linear_drift_is_corrected_all_the_way) {
  world w{123'456'789, 40e-6};
  const auto first = trace::estimate_offset(w.ping(1e12, 32, 300, 300));
  const auto last = trace::estimate_offset(w.ping(1e12 + 3600e9, 32, 300, 300));
  const trace::clock_line line(first, last);
  EXPECT_NEAR(line.drift_ppm(), 40, 0.1);
  for (double at = 1e12; at < 1e12 + 3600e9; at += 97e9) {
    EXPECT_LE(std::abs(line.to_reference(w.other(at)) - at), static_cast<double>(line.error_ns()) + 200);
  }
}

TEST(clock_fit, time_never_turns_around) {
  const trace::clock_line wild({1000, 0, 10}, {1001, 500'000, 10});
  double before = -1e18;
  for (std::uint64_t t = 1000; t < 100'000; t += 7) {
    EXPECT_GE(wild.to_reference(t), before);
    before = wild.to_reference(t);
  }
}

TEST(clock_fit, the_default_is_no_change) {
  const trace::clock_line same;
  EXPECT_EQ(same.to_reference(123'456'789'012'345), 123'456'789'012'345.0);
  EXPECT_EQ(same.error_ns(), 0u);
}

TEST(trace_file, is_json_with_every_track_named_one_event_a_line) {
  trace::trace_facts facts{"shm+\"odd\"", "continuation_greedy", "steal_word", 1000, {}, {}};
  facts.ranks.resize(3);
  facts.ranks[2].node = 1;
  facts.ranks[1].lost = 17;
  std::string text;
  trace::trace_encoder encoder(text, facts);
  encoder.begin();
  encoder.event(0, task_at(1500, 4999));
  event steal{2000, 3234, event_kind::steal, steal_result::taken, 0, 2, 512, 1, {}};
  steal.phase_ns[0] = 1000;
  encoder.event(1, steal);
  steal.result = steal_result::lost_race;
  encoder.event(1, steal);
  encoder.event(2, {2000, 2000, event_kind::ready, steal_result::taken, 0, -1, 0xffff'ffff'ffff'fff0, 1, {}});
  encoder.end();

  const auto all = nlohmann::json::parse(text);
  EXPECT_EQ(all["otherData"]["transport"], "shm+\"odd\"");
  EXPECT_EQ(all["otherData"]["ranks"][1]["lost"], 17);
  std::map<int, std::string> names;
  std::vector<nlohmann::json> events;
  std::vector<nlohmann::json> arrows;
  for (const auto& e : all["traceEvents"]) {
    if (e["name"] == "thread_name") names[e["tid"]] = e["args"]["name"];
    if (e["ph"] == "s" || e["ph"] == "f") {
      arrows.push_back(e);
    } else if (e["ph"] != "M") {
      events.push_back(e);
    }
  }
  EXPECT_EQ(names, (std::map<int, std::string>{{1, "worker 0"}, {2, "worker 1"}, {3, "worker 2"}}));
  ASSERT_EQ(events.size(), 4u);
  ASSERT_EQ(arrows.size(), 3u) << "of the theft that succeeded, and of the task that may go on";
  EXPECT_EQ(arrows[0]["tid"], 3) << "from the victim";
  EXPECT_EQ(arrows[0]["ts"], 1.0);
  EXPECT_EQ(arrows[1]["tid"], 2) << "to the thief";
  EXPECT_EQ(arrows[1]["ts"], 2.234);
  EXPECT_EQ(arrows[0]["id"], arrows[1]["id"]);
  EXPECT_EQ(arrows[2]["id"], "j18446744073709551600");
  EXPECT_EQ(events[0]["ts"], 0.5);
  EXPECT_EQ(events[0]["dur"], 3.499);
  EXPECT_EQ(events[1]["args"],
            nlohmann::json::parse(R"({"victim":2,"result":"success","bytes":512,"empty_check_ns":1000})"));
  EXPECT_EQ(events[2]["args"]["result"], "lost race");
  EXPECT_EQ(events[3]["args"]["join"], "18446744073709551600");
  EXPECT_NE(events[3]["pid"], events[0]["pid"]) << "another node is another process of the viewer";
  EXPECT_TRUE(text.ends_with("\n]}\n"));
}

}  // namespace
