// SPDX-License-Identifier: Apache-2.0
#include "tools/perf/initiator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "arch/clock.hpp"
#include "arch/cpu.hpp"
#include "libcore/base/log.hpp"
#include "tools/perf/histogram.hpp"
#include "tools/perf/measure.hpp"
#include "tools/perf/units.hpp"

namespace tobi_perf {

namespace {

namespace arch = tobi::arch;
namespace base = tobi::base;

constexpr std::uint64_t rounds = 12;  // in which a transport and its raw loop take turns
// What a round takes where the user gives no number of operations.
constexpr double default_round_ns = 3.5e7;
constexpr std::uint64_t least_samples = 5;
constexpr std::uint64_t most_samples = 50'000;
// Operations of a sample, where single ones are shorter than this: then reading the clock is a hundredth of it.
constexpr double shortest_sample_ns = 2000;
constexpr std::uint64_t most_of_a_sample = 8192;
constexpr std::uint64_t fewest_samples = 4;  // of a number of operations that the user gives
// A ratio is not told where reading the clock is more of a sample than this.
constexpr double clock_share = 0.05;

constexpr std::uint64_t of_a_try = 2000;  // operations, in search of the most that there can be
constexpr double keeps_up = 0.95;         // of a schedule

// False: the time limit was over.
bool timed(lane& l, const work& w, std::uint64_t count, double& ns) {
  const std::uint64_t begin = arch::cycles();
  const bool done = l.initiate(w, count);
  ns = arch::cycles_to_ns(arch::cycles() - begin) - l.apart_ns();
  return done;
}

}  // namespace

// The mean of the middle half, since a clock may have steps of 10 ns, and others may have the core for much longer.
double clock_cost_ns() {
  std::vector<double> all(1001);
  for (double& one : all) {
    const std::uint64_t begin = arch::cycles();
    one = arch::cycles_to_ns(arch::cycles() - begin);
  }
  std::sort(all.begin(), all.end());
  return tobi_tools::mean({all.begin() + 250, all.end() - 250});
}

void begin_samples(const arguments& a) {
  if (a.samples.empty()) return;
  if (!(std::ofstream(a.samples) << "op,transport,bytes,raw,each,round,ns\n")) {
    refuse("--samples: " + a.samples + " cannot be written");
  }
}

// A target that is to be idle is told nothing, and sleeps on.
void initiator::wake(const work& w, std::size_t lane_index) {
  lanes_[lane_index]->start(w);
  if (!w.idle) other_.begin(w, static_cast<std::uint32_t>(lane_index));
}

void initiator::release(const work& w, std::size_t lane_index, done_by_itself& back, round_taken& in) {
  if (w.idle) return;
  const work only_serves{w.what, w.bytes};
  const done_by_itself done = other_.stop([&](const stop_flag& stopped) {
    if (w.both_ways || a_.with != crowd::none) lanes_[lane_index]->respond(only_serves, stopped);
  });
  back.operations += done.operations;
  back.ns += done.ns;
  in.core_ns[1] = done.core_ns;
  if (a_.with != crowd::none) in.other = "another rank";
  in.without_core_ns[1] = done.without_core_ns;
}

// What an idle target has not let end ends once it polls: the lane is of use again.
bool initiator::drains(const work& w, std::size_t lane_index) {
  work served = w;
  served.idle = false;
  other_.begin(served, static_cast<std::uint32_t>(lane_index));
  const bool done = lanes_[lane_index]->drain();
  (void)other_.stop([](const stop_flag&) {});
  return done;
}

// How many operations a sample holds, so that reading the clock is no part of it, and how many samples there are.
bool initiator::make_plan(lane& l, const work& w, plan& p) {
  double ns = 0;
  if (!timed(l, w, 1, p.first_ns)) return false;
  if (a_.warmup > 1 && !timed(l, w, a_.warmup - 1, ns)) return false;
  if (is_window(w.what)) {
    p.a_sample = window_of(w);
  } else {
    std::uint64_t tried = 1;
    for (;; tried *= 4) {
      if (!timed(l, w, tried, ns)) return false;
      if (ns > 1e6 || tried >= 1u << 16) break;
    }
    // Other programs may have had the core meanwhile: the shortest of a few tries counts.
    for (int again = 0; again < 4 && ns < 1e8; ++again) {
      double next = 0;
      if (!timed(l, w, tried, next)) return false;
      ns = std::min(ns, next);
    }
    const double one = std::max(ns / static_cast<double>(tried), 0.1);
    if (one < shortest_sample_ns / 2) {
      p.a_sample = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(shortest_sample_ns / one), 2, most_of_a_sample);
    }
  }
  p.samples = 1;
  if (a_.iterations == 0) return true;
  if (w.window != 0) {
    p.samples = std::max<std::uint64_t>(1, a_.iterations / w.window);
    return true;
  }
  p.a_sample = std::clamp<std::uint64_t>(a_.iterations / fewest_samples, 1, p.a_sample);
  p.samples = (a_.iterations + p.a_sample - 1) / p.a_sample;
  p.a_sample = a_.iterations / p.samples;
  return true;
}

// Adds a round to what each lane that can has taken.
void initiator::take_round(const work& w, const std::vector<std::string>& unable, std::uint64_t round,
                           std::vector<plan>& plans, std::vector<taken>& all) {
  for (std::size_t l = 0; l < lanes_.size(); ++l) {
    meet();
    if (!unable[l].empty() || stuck_[l]) continue;
    round_taken& in = all[l].rounds.emplace_back();
    const std::array<process_facts, 2> before{own_facts(), other_.facts()};
    const std::uint64_t begin = arch::now_ns();
    wake(w, l);
    const std::uint64_t waited_before = waited_for_core_ns();
    stuck_[l] = !measure_round(*lanes_[l], w, round, plans[l], in);
    in.without_core_ns[0] = waited_for_core_ns() - waited_before;
    in.core_ns[0] = core_ns();
    release(w, l, all[l].back, in);
    in.ns = arch::now_ns() - begin;
    in.of = {own_facts() - before[0], other_.facts() - before[1]};
  }
}

// Measures once more what was disturbed, in all lanes, since a ratio compares what was taken in turn. As many times as
// there are rounds: a row takes twice the time at most. Returns how many times. Several pairs have no time of their
// own.
std::uint64_t initiator::repeat_disturbed(const work& w, const std::vector<std::string>& unable,
                                          std::vector<plan>& plans, std::vector<taken>& all) {
  std::uint64_t again = 0;
  const auto is_disturbed = [&](std::uint64_t round) {
    return std::any_of(all.begin(), all.end(), [&](const taken& of) {
      return round < of.rounds.size() && !disturbance(of.rounds[round], of.rounds).empty();
    });
  };
  for (std::uint64_t round = 0; round < rounds && again < rounds && pairs_ == nullptr && !is_stuck();) {
    if (!is_disturbed(round)) {
      ++round;
      continue;
    }
    ++again;
    take_round(w, unable, round, plans, all);
    if (is_stuck()) break;
    const bool better = !is_disturbed(rounds);
    for (taken& of : all) {
      if (of.rounds.size() <= rounds) continue;
      if (better) of.rounds[round] = std::move(of.rounds.back());
      of.rounds.pop_back();
    }
  }
  return again;
}

void initiator::measure(const item& asked, const std::vector<std::string>& unable, std::vector<row>& rows) {
  item i = asked;
  if (i.under && unable[0].empty() && !stuck_[0]) {
    i.todo.interval_ns = i.under->interval_ns(i.under->is_share ? most_per_second(i.todo, 0) : 0);
  }
  const std::vector<bool> was_stuck = stuck_;
  taken_.assign(lanes_.size(), {});
  std::vector<taken>& all = taken_;
  std::vector<plan> plans(lanes_.size());
  const std::optional<double> line_before = other_cpu_ < 0 ? std::nullopt : line_ns(other_cpu_);
  for (std::uint64_t round = 0; round < rounds; ++round) take_round(i.todo, unable, round, plans, all);
  const std::uint64_t repeated = repeat_disturbed(i.todo, unable, plans, all);
  const std::string changed =
      changed_between(line_before, other_cpu_ < 0 || is_stuck() ? std::nullopt : line_ns(other_cpu_));
  for (std::size_t l = 0; l < lanes_.size(); ++l) {
    if (!unable[l].empty()) continue;
    if (stuck_[l]) {
      rows[l].note = was_stuck[l]  ? "an operation before it was not completed"
                     : i.todo.idle ? "the target must poll"
                                   : "an operation was not completed in 60 s";
      if (i.todo.idle && !was_stuck[l]) stuck_[l] = !drains(i.todo, l);
      continue;
    }
    row& r = rows[l];
    r.repeated = repeated;
    r.disturbance = changed;
    fill(r, plans[l], all[l]);
    r.ranks = a_.ranks;
    if (i.under) fill_load(r, i.todo.interval_ns, all[l]);
    const auto tells = [&](const row& told) {
      return told.ns && clock_ns_ < clock_share * told.ns->median * static_cast<double>(told.operations_per_sample);
    };
    if (l == 0 || !tells(rows[0]) || !tells(r)) continue;
    r.ratio = rows[0].ns->median / r.ns->median;
    std::vector<double> ratios = all[0].medians();
    const std::vector<double> below = all[l].medians();
    if (ratios.size() != below.size()) continue;
    for (std::size_t k = 0; k < ratios.size(); ++k) ratios[k] /= below[k];
    r.ratio_within = interval_of(ratios);
  }
}

void initiator::fill_load(row& r, double interval_ns, const taken& of) {
  std::uint64_t ns = 0;
  for (const round_taken& round : of.rounds) ns += round.scheduled_ns;
  r.scheduled_per_second = 1e9 / interval_ns;
  r.all_per_second = static_cast<double>(r.ns->samples) * 1e9 / static_cast<double>(std::max<std::uint64_t>(ns, 1));
  if (*r.all_per_second < keeps_up * *r.scheduled_per_second) {
    emit_note(fmt::format("{} fell behind its schedule: {} of {}. Latencies grow for as long as it goes on.", r.op,
                          rate_text(*r.all_per_second), rate_text(*r.scheduled_per_second)));
  }
}

void initiator::show_samples(std::size_t l, const row& r) const {
  const std::vector<round_taken>& all = taken_[l].rounds;
  if (a_.histogram) {
    std::vector<double> samples;
    for (const round_taken& round : all) samples.insert(samples.end(), round.samples.begin(), round.samples.end());
    for (const std::string& line : histogram_of(samples)) emit_note(line);
  }
  if (a_.samples.empty()) return;
  std::ofstream out(a_.samples, std::ios::app);
  const char* const of_library = r.by == calls::best ? "best" : r.by == calls::raw ? "true" : "false";
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const double ns : all[i].samples) {
      out << fmt::format("{},{},{},{},{},{},{:.2f}\n", r.op, r.transport, *r.size, of_library, r.operations_per_sample,
                         i, ns);
    }
  }
  if (!out.flush()) base::fatal("--samples: " + a_.samples + " cannot be written; is the file system full?");
}

void initiator::fill(row& r, const plan& p, const taken& of) const {
  std::vector<double> samples;
  std::uint64_t ns = 0;
  std::array<std::uint64_t, 2> cpu_ns{};
  for (const round_taken& round : of.rounds) {
    samples.insert(samples.end(), round.samples.begin(), round.samples.end());
    ns += round.ns;
    for (std::size_t rank = 0; rank < 2; ++rank) cpu_ns[rank] += round.of[rank].cpu_ns;
    const std::string why = disturbance(round, of.rounds);
    if (why.empty()) continue;
    if (r.disturbed++ == 0) r.disturbance = why;
  }
  r.ns = summarize(samples);
  r.median_within = interval_of(of.medians());
  r.rounds = of.rounds.size();
  r.iterations = samples.size() * p.a_sample;
  r.operations_per_sample = p.a_sample;
  r.first_ns = p.first_ns;
  r.clock_ns = clock_ns_;
  if (of.back.ns != 0) {
    r.all_per_second =
        1e9 / r.ns->mean + static_cast<double>(of.back.operations) * 1e9 / static_cast<double>(of.back.ns);
  }
  const auto share = [&](std::uint64_t cpu) { return static_cast<double>(cpu) / static_cast<double>(ns); };
  r.cpu = {share(cpu_ns[0]), share(cpu_ns[1])};
}

// The best of some times in which everything is due at once. It is of the same loop, with what it writes down.
double initiator::most_per_second(const work& w, std::size_t lane_index) {
  double& most = most_per_second_[{w.what, w.bytes, w.idle}];
  if (most > 0) return most;
  constexpr int tries = 5;
  const std::uint64_t count = a_.iterations != 0 ? std::min(a_.iterations, of_a_try) : of_a_try;
  done_by_itself back;
  round_taken in;
  in.samples.reserve(count);
  wake(w, lane_index);
  for (int i = 0; i <= tries && !stuck_[lane_index]; ++i) {
    in.samples.clear();
    const std::uint64_t begin = arch::cycles();
    stuck_[lane_index] = !lanes_[lane_index]->follow(w, schedule(0, count), in.samples);
    const double ns = arch::cycles_to_ns(arch::cycles() - begin);
    if (i > 0) most = std::max(most, static_cast<double>(count) * 1e9 / ns);  // the first one may connect
  }
  release(w, lane_index, back, in);
  emit_note(fmt::format("{} bytes, all due at once: {} are the most", w.bytes, rate_text(most)));
  return most;
}

// A round of one schedule. False: an operation took longer than the limit.
bool initiator::follow_schedule(lane& l, const work& w, std::uint64_t round, plan& p, round_taken& in) {
  double ns = 0;
  if (p.samples == 0) {
    if (!timed(l, w, 1, p.first_ns)) return false;
    p.samples = std::max<std::uint64_t>(a_.iterations, 1);
  }
  if (a_.warmup > 1 && !timed(l, w, std::clamp<std::uint64_t>(a_.warmup / 4, 1, 100), ns)) return false;
  const double round_ns = a_.duration_s > 0 ? a_.duration_s * 1e9 / rounds : default_round_ns;
  const std::uint64_t count = a_.iterations != 0 ? a_.iterations * (round + 1) / rounds - a_.iterations * round / rounds
                                                 : std::clamp(static_cast<std::uint64_t>(round_ns / w.interval_ns),
                                                              least_samples, most_samples);
  in.samples.assign(count, 0);
  in.samples.clear();
  const std::uint64_t begin = arch::now_ns();
  const bool done = l.follow(w, schedule(w.interval_ns, count), in.samples);
  in.scheduled_ns = arch::now_ns() - begin;
  return done;
}

// The first round also makes the plan. False: an operation took longer than the limit.
bool initiator::measure_round(lane& l, const work& w, std::uint64_t round, plan& p, round_taken& in) {
  if (w.interval_ns > 0) return follow_schedule(l, w, round, p, in);
  std::vector<double>& samples = in.samples;
  double ns = 0;
  // Touched, so that no sample has the kernel's time for it.
  samples.assign(a_.iterations != 0 ? std::min(a_.iterations, most_samples) : most_samples, 0);
  samples.clear();
  if (p.samples == 0) {
    if (!make_plan(l, w, p)) return false;
  } else if (!timed(l, w, std::clamp<std::uint64_t>(a_.warmup / 4, 1, p.a_sample), ns)) {
    return false;
  }
  // Both directions of a ping-pong are alike.
  const double directions = w.what == step::ping_pong || w.what == step::notify ? 2 : 1;
  double spent_ns = 0;
  const auto take = [&] {
    if (!timed(l, w, p.a_sample, ns)) return false;
    samples.push_back(ns / static_cast<double>(p.a_sample) / directions);
    spent_ns += ns + l.apart_ns();
    return true;
  };
  const double round_ns = a_.duration_s > 0 ? a_.duration_s * 1e9 / rounds : default_round_ns;
  const std::uint64_t most = a_.iterations != 0  ? p.samples * (round + 1) / rounds - p.samples * round / rounds
                             : a_.duration_s > 0 ? ~std::uint64_t{0}
                                                 : most_samples;
  const auto wants = [&](std::uint64_t n) {
    return a_.iterations != 0 ? n < most : n < least_samples || (spent_ns < round_ns && n < most);
  };
  while (wants(samples.size())) {
    if (!take()) return false;
  }
  if (!samples.empty()) {
    const double of_a_sample = static_cast<double>(p.a_sample) * directions;
    in.longest_ns = static_cast<std::uint64_t>(*std::max_element(samples.begin(), samples.end()) * of_a_sample);
    in.usual_ns = static_cast<std::uint64_t>(tobi_tools::median(samples) * of_a_sample);
  }
  return true;
}

}  // namespace tobi_perf
