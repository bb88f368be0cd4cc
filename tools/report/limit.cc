// SPDX-License-Identifier: Apache-2.0
#include "tools/report/limit.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tobi_report {

namespace {

// Less than this is never worth a sentence about anything but the computation.
constexpr double few_numbers = 16;  // of an update: a round trip for so many is dear
constexpr double worth_a_sentence = 0.1;
// Below this a fetch takes about as long as a round trip, whatever its size.
constexpr double small_piece = 4096;

std::string percent(double part) { return fmt::format("{:.0f} %", part * 100); }

std::uint64_t fetched(const trace& t) {
  std::uint64_t sum = 0;
  for (const rank_facts& r : t.ranks) sum += r.fetched_bytes;
  return sum;
}

std::string where_fetched(const trace& t) {
  const auto all = static_cast<double>(fetched(t));
  if (t.sites.empty() || all == 0) return "";
  const fetch_site& most = t.sites[0];
  const double each = static_cast<double>(most.bytes) / static_cast<double>(std::max<std::uint64_t>(1, most.pieces));
  return fmt::format(" {} of {} were fetched for {}, {} at a time.",
                     percent(std::min(1.0, static_cast<double>(most.bytes) / all)), bytes_text(all), most.place,
                     bytes_text(each)) +
         (each < small_piece ? " Check out larger ranges there." : "");
}

// Of the limit's time, in one phase of several.
std::string where_most(const where_time_went& w) {
  const auto at = static_cast<std::size_t>(w.limit);
  const auto most = std::max_element(w.phases.begin(), w.phases.end(),
                                     [at](const phase& a, const phase& b) { return a.time[at] < b.time[at]; });
  if (w.phases.size() < 2 || most->time[at] < w.all[at] / 2) return "";
  return fmt::format(" {} of it in phase {}.", percent(std::min(1.0, most->time[at] / w.all[at])), most->name);
}

std::string idle_sentence(const where_time_went& w, std::size_t workers) {
  const double idle = share(w.all, doing::idle);
  // What all workers but one lose while one is alone.
  const double alone = w.one_busy * static_cast<double>(workers - 1) / static_cast<double>(workers);
  const std::string text = fmt::format("Workers without a task: {} of all time.", percent(idle)) + where_most(w);
  if (alone >= idle / 2) {
    return text + fmt::format(
                      " In {} of the time by the clock, one worker at most had a task: divide that part, or make its "
                      "tasks smaller.",
                      percent(w.one_busy));
  }
  return text + " With a task, the others had no more to give away: make more and smaller tasks, or name no grain.";
}

}  // namespace

std::string bytes_text(double bytes) {
  constexpr std::array<const char*, 5> units{"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < units.size(); ++unit) bytes /= 1000;
  return fmt::format("{:.3g} {}", bytes, units[unit]);
}

void find_limit(const trace& t, where_time_went& w) {
  doing most = doing::fetching;
  for (std::size_t i = 0; i < doings; ++i) {
    const auto what = static_cast<doing>(i);
    if (what != doing::computing && share(w.all, what) > share(w.all, most)) most = what;
  }
  const double lost = share(w.all, most);
  w.limit = lost < worth_a_sentence ? doing::computing : most;
  switch (w.limit) {
    case doing::computing:
      w.sentence = fmt::format("The computation itself: {} of all time was spent in it.",
                               percent(share(w.all, doing::computing)));
      break;
    case doing::fetching:
      w.sentence = fmt::format("Waiting for bytes of other nodes: {} of all time.", percent(lost)) + where_most(w) +
                   where_fetched(t) +
                   " Begin tasks where their data are: the algorithms on spans, for_chunks, tobi::on.";
      break;
    case doing::writing_back:
      w.sentence = fmt::format("Writing back to other nodes: {} of all time.", percent(lost)) + where_most(w) +
                   " Collect small stores (store_at), or store at the owner of the memory (tobi::on).";
      break;
    case doing::awaiting:
      w.sentence = fmt::format("Waiting until others have released what they wrote: {} of all time.", percent(lost)) +
                   where_most(w) + " Fork less where much is written, or let tasks return values.";
      break;
    case doing::updating: {
      const double each = static_cast<double>(t.updated_numbers) / static_cast<double>(t.updates);
      w.sentence =
          fmt::format("Updates of numbers of other nodes: {} of all time, of {} numbers at a time.", percent(lost),
                      each < 1000 ? fmt::format("{:.3g}", each) : fmt::format("{:.0f}", each)) +
          where_most(w) +
          (each < few_numbers ? " Use accumulate, per_worker or shared_min in place of fetch_add."
                              : " Add up in per_worker first, or begin tasks where the numbers are (tobi::on).");
      break;
    }
    case doing::other_wait:
      w.sentence = fmt::format("Single operations on memory of other nodes: {} of all time.", percent(lost)) +
                   where_most(w) + " Free memory where it was allocated.";
      break;
    case doing::switching:
    case doing::stealing:
      w.sentence = fmt::format("Moving tasks between workers: {} of all time.", percent(lost)) + where_most(w) +
                   " Make tasks larger, or name no grain.";
      break;
    case doing::idle:
      w.sentence = idle_sentence(w, t.ranks.size());
      break;
  }
}

}  // namespace tobi_report
