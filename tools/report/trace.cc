// SPDX-License-Identifier: Apache-2.0
#include "tools/report/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

namespace tobi_report {

namespace {

using json = nlohmann::json;

constexpr std::size_t most_workers = 1u << 20;
constexpr double longest_us = 1e15;  // 30 years: beyond that a number is no time
constexpr ns longest_ns = 1'000'000'000'000'000'000;

struct no_number {};

// NAME of OF, a whole number. A fraction, and what does not fit, is none; the library would cut it to something.
template <class T>
T whole(const json& of, const char* name) {
  const json& v = of.at(name);
  if (v.is_number_unsigned() && std::in_range<T>(v.get<std::uint64_t>())) return static_cast<T>(v.get<std::uint64_t>());
  if (v.is_number_integer() && !v.is_number_unsigned() && std::in_range<T>(v.get<std::int64_t>()))
    return static_cast<T>(v.get<std::int64_t>());
  throw no_number();
}

std::ifstream open_input(const std::string& file) {
  std::error_code why;
  if (std::filesystem::is_directory(file, why)) throw bad_input(file + " is a folder, not a file");
  std::ifstream in(file, std::ios::binary);
  if (!in) throw bad_input(file + " cannot be read; is the name right?");
  if (in.peek() == std::ifstream::traits_type::eof()) throw bad_input(file + " is empty");
  return in;
}

class reader {
 public:
  explicit reader(const std::string& file) { into_.file = file; }

  trace read() {
    std::ifstream in = open_input(into_.file);
    std::string line;
    std::getline(in, line);
    head(line);
    bool whole = false;
    while (std::getline(in, line)) {
      ++line_;
      if (whole) refuse("goes on behind its end");
      if (line == "]}") {
        whole = true;
        continue;
      }
      if (line.ends_with(',')) line.pop_back();
      if (in.eof() || in.peek() == std::ifstream::traits_type::eof()) break;  // what is whole ends with another line
      event(line);
    }
    if (!whole) throw bad_input(into_.file + " ends in the middle: the copy or the job that wrote it was cut off");
    check();
    return std::move(into_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw bad_input(fmt::format("{}: line {} {}", into_.file, line_ + 1, what));
  }

  void head(const std::string& line) {
    // Cut off or foreign: the two are told apart by how the line begins.
    const bool ours = line.starts_with("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"format\":\"tobiuo-trace\"");
    const json all = json::parse(line + "]}", nullptr, false);
    if (!ours) throw bad_input(into_.file + " is no trace of TOBI_TRACE");
    if (all.is_discarded()) throw bad_input(into_.file + " ends in the middle of its first line");
    try {
      const json& facts = all.at("otherData");
      if (const json& version = facts.at("version"); version != 1 && version != 2 && version != 3 && version != 4)
        throw bad_input(into_.file + " has a version that this tobi-report does not know");
      into_.transport = facts.at("transport").get<std::string>();
      into_.sched = facts.at("sched").get<std::string>();
      into_.deque = facts.at("deque").get<std::string>();
      const json& ranks = facts.at("ranks");
      const auto workers = whole<std::size_t>(facts, "workers");
      if (workers < 1 || workers > most_workers || ranks.size() != workers)
        refuse("does not say how many workers there are");
      for (const json& r : ranks) {
        rank_facts f;
        f.node = whole<int>(r, "node");
        f.events = whole<std::uint64_t>(r, "events");
        f.lost = whole<std::uint64_t>(r, "lost");
        f.clock_offset_ns = whole<std::int64_t>(r, "clock_offset_ns");
        f.clock_error_ns = whole<std::uint64_t>(r, "clock_error_ns");
        f.steals_ok = whole<std::uint64_t>(r, "steals_ok");
        f.steals_failed = whole<std::uint64_t>(r, "steals_empty") + whole<std::uint64_t>(r, "steals_lost_race");
        f.contexts_stolen = r.contains("contexts_stolen") ? whole<std::uint64_t>(r, "contexts_stolen") : 0;
        f.outstanding_joins = whole<std::uint64_t>(r, "suspend");
        f.published = whole<std::uint64_t>(r, "publish");
        f.waits = whole<std::uint64_t>(r, "wait");
        const auto later = [&r](const char* name) {  // not in the older versions
          return r.contains(name) ? whole<std::uint64_t>(r, name) : 0;
        };
        f.checkouts = later("checkouts");
        f.hits = later("hits");
        f.fetched_bytes = later("fetched_bytes");
        f.written_bytes = later("written_bytes");
        into_.ranks.push_back(f);
      }
      for (const json& s : facts.value("fetched_at", json::array())) {
        into_.sites.push_back({s.at("place").get<std::string>(), whole<std::uint64_t>(s, "pieces"),
                               whole<std::uint64_t>(s, "bytes"), whole<std::uint64_t>(s, "waited_ns")});
      }
      into_.tasks.resize(workers);
      into_.runs.resize(workers);
      into_.time.resize(workers);
      named_.resize(workers);
      seen_.resize(workers);
      all_.resize(workers);
      last_end_.assign(workers, -1);
    } catch (const json::exception&) {
      refuse("lacks what a trace has to say of its workers");
    } catch (const no_number&) {
      refuse("says a number of its workers that is none");
    }
  }

  static ns time_of(const json& e, const char* name) {
    const double us = e.at(name).get<double>();
    if (!std::isfinite(us) || std::abs(us) > longest_us) throw bad_input("");
    return static_cast<ns>(std::llround(us * 1000));
  }

  void event(const std::string& line) {
    const json e = json::parse(line, nullptr, false);
    if (!e.is_object()) refuse("is no event");
    try {
      const auto rank = std::int64_t{whole<std::uint32_t>(e, "tid")} - 1;
      if (rank < 0 || rank >= static_cast<std::int64_t>(into_.ranks.size())) refuse("names a worker that there is not");
      const auto r = static_cast<std::size_t>(rank);
      const auto phase = e.at("ph").get<std::string>();
      const auto name = e.at("name").get<std::string>();
      if (phase == "M") {
        if (name == "thread_name") named_[r] = !e.at("args").at("name").get<std::string>().empty();
      } else if (phase == "X" || phase == "i") {
        const ns begin = time_of(e, "ts");
        const ns end = phase == "X" ? begin + time_of(e, "dur") : begin;
        if (end < begin) refuse("ends before it begins");
        ++seen_[r];
        if (phase == "X") all_[r].push_back({{begin, end}, doing_of(e, name)});
        // A worker writes an event when it is over, so its file is ordered by ends.
        if (end < last_end_[r]) refuse("is out of order");
        last_end_[r] = end;
        take(e, static_cast<int>(rank), name, begin, end);
      } else if (phase == "s" || phase == "f") {
        (void)time_of(e, "ts");  // an arrow, which says nothing that its events do not
      } else {
        refuse("is of a kind that a trace does not have");
      }
    } catch (const json::exception&) {
      refuse("lacks a part of its event");
    } catch (const no_number&) {
      refuse("has a number that is none");
    } catch (const bad_input& why) {
      if (*why.what() == '\0') refuse("has a time that is none");
      throw;
    }
  }

  static doing doing_of(const json& e, const std::string& name) {
    if (name == "task") return doing::computing;
    if (name == "fetch") return doing::fetching;
    if (name == "write_back") return doing::writing_back;
    if (name == "await_release") return doing::awaiting;
    if (name == "update") return doing::updating;
    if (name == "wait") return doing::other_wait;
    if (name == "suspend" || name == "resume") return doing::switching;
    const bool stolen =
        name == "steal" && (e.at("args").at("result") == "success" || e.at("args").at("result") == "context");
    return stolen ? doing::stealing : doing::idle;
  }

  void take(const json& e, int rank, const std::string& name, ns begin, ns end) {
    const auto r = static_cast<std::size_t>(rank);
    if (name == "task") into_.tasks[r].push_back({begin, end});
    if (name == "run") into_.runs[r].push_back({begin, end});
    if (name == "wait") into_.ranks[r].waited_ns += static_cast<double>(end - begin);
    if (name == "fetch" || name == "write_back") {
      into_.transfers.push_back({end, whole<std::uint64_t>(e.at("args"), "bytes"), name == "write_back"});
    }
    if (name == "update") {
      ++into_.updates;
      into_.updated_numbers += whole<std::uint64_t>(e.at("args"), "numbers");
    }
    if (name == "phase") into_.marks.push_back({begin, e.at("args").at("name").get<std::string>()});
    if (name == "ready" || name == "resume") {
      const auto text = e.at("args").at("join").get<std::string>();
      std::uint64_t join = 0;
      std::from_chars(text.data(), text.data() + text.size(), join);
      // Found out late: it could go on since then.
      const json& args = e.at("args");
      const ns late = name == "ready" && args.contains("for_ns") ? whole<ns>(args, "for_ns") : 0;
      if (late < 0 || late > longest_ns) refuse("has a time that is none");
      into_.joins.push_back({begin - late, join, name == "resume"});
    }
    if (name != "steal") return;
    const json& args = e.at("args");
    if (args.at("result") == "context") {
      ++into_.ranks[r].contexts_seen;
      return;
    }
    steal s{rank, whole<int>(args, "victim"), args.at("result") == "success", begin, end, 0, 1};
    if (s.victim < 0 || static_cast<std::size_t>(s.victim) >= into_.ranks.size())
      refuse("names a victim that there is not");
    if (s.ok) {
      s.bytes = whole<std::uint64_t>(args, "bytes");
      for (const auto& [key, value] : args.items()) {
        if (key.ends_with("_ns")) add_phase(key.substr(0, key.size() - 3), value.get<double>());
      }
    } else {
      s.attempts = whole<std::uint64_t>(args, "attempts");
    }
    into_.steals.push_back(s);
  }

  void add_phase(const std::string& name, double time) {
    auto at =
        std::find_if(into_.phases.begin(), into_.phases.end(), [&](const phase_sum& p) { return p.name == name; });
    if (at == into_.phases.end()) at = into_.phases.insert(into_.phases.end(), {name, 0, 0});
    at->ns += time;
    ++at->steals;
  }

  // What lies within another interval is a part of it: a wait for the fabric is fetching where bytes are fetched.
  static doing within(doing outer, doing inner) {
    return inner == doing::other_wait && outer != doing::computing ? outer : inner;
  }

  // Each moment belongs to the innermost interval around it. False where they do not nest.
  static bool divide(const std::vector<piece>& nest, std::vector<piece>& into) {
    std::vector<piece> open;
    ns at = 0;
    const auto until = [&](ns end) {
      if (end <= at) return;
      if (!into.empty() && into.back().what == open.back().what && into.back().when.end == at) {
        into.back().when.end = end;
      } else {
        into.push_back({{at, end}, open.back().what});
      }
      at = end;
    };
    const auto close = [&](ns begin) {
      for (; !open.empty() && open.back().when.end <= begin; open.pop_back()) until(open.back().when.end);
    };
    for (const piece& p : nest) {
      close(p.when.begin);
      if (open.empty()) {
        at = p.when.begin;
        open.push_back(p);
        continue;
      }
      if (p.when.end > open.back().when.end) return false;
      until(p.when.begin);
      open.push_back({p.when, within(open.back().what, p.what)});
    }
    close(longest_ns);
    return true;
  }

  // What a viewer relies on, and what the job counted itself.
  void check() {
    for (std::size_t r = 0; r < into_.ranks.size(); ++r) {
      const auto wrong = [&](const std::string& what) {
        throw bad_input(fmt::format("{} does not agree with itself: worker {} {}", into_.file, r, what));
      };
      if (!named_[r]) wrong("has no name");
      if (seen_[r] != into_.ranks[r].events) wrong("has another number of events than it says");
      std::vector<piece>& nest = all_[r];
      std::reverse(nest.begin(), nest.end());  // of two that are the same time, the one around the other was over later
      std::stable_sort(nest.begin(), nest.end(), [](const piece& a, const piece& b) {
        return a.when.begin != b.when.begin ? a.when.begin < b.when.begin : a.when.end > b.when.end;
      });
      if (!divide(nest, into_.time[r])) wrong("has intervals that do not nest");
    }
    std::vector<std::uint64_t> ok(into_.ranks.size());
    std::vector<std::uint64_t> failed(into_.ranks.size());
    for (const steal& s : into_.steals)
      (s.ok ? ok : failed)[static_cast<std::size_t>(s.thief)] += s.ok ? 1 : s.attempts;
    for (std::size_t r = 0; r < into_.ranks.size(); ++r) {
      const rank_facts& f = into_.ranks[r];
      const bool fits =
          f.lost == 0 ? ok[r] == f.steals_ok && failed[r] == f.steals_failed && f.contexts_seen == f.contexts_stolen
                      : ok[r] <= f.steals_ok && failed[r] <= f.steals_failed && f.contexts_seen <= f.contexts_stolen;
      if (!fits)
        throw bad_input(fmt::format("{} does not agree with itself: worker {} counted other steals", into_.file, r));
    }
    // In the order in which a steal does them, whatever the order of the fields.
    std::stable_sort(into_.phases.begin(), into_.phases.end(), [](const phase_sum& a, const phase_sum& b) {
      const auto place = [](const std::string& name) {
        return std::string_view("empty_check lock steal stack_transfer unlock resume").find(name);
      };
      return place(a.name) < place(b.name);
    });
    std::stable_sort(into_.transfers.begin(), into_.transfers.end(),
                     [](const transfer& a, const transfer& b) { return a.at < b.at; });
    std::stable_sort(into_.marks.begin(), into_.marks.end(),
                     [](const phase_mark& a, const phase_mark& b) { return a.at < b.at; });
    std::stable_sort(into_.joins.begin(), into_.joins.end(),
                     [](const join_event& a, const join_event& b) { return a.at < b.at; });
  }

  trace into_;
  std::size_t line_ = 0;
  std::vector<bool> named_;
  std::vector<std::uint64_t> seen_;
  std::vector<std::vector<piece>> all_;
  std::vector<ns> last_end_;
};

}  // namespace

bool looks_like_trace(const std::string& file) {
  std::ifstream in = open_input(file);
  std::string start(20, '\0');
  in.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(in.gcount()));
  return start.starts_with("{\"displayTimeUnit\"") || start.starts_with("{\"traceEvents\"");
}

trace read_trace(const std::string& file) { return reader(file).read(); }

}  // namespace tobi_report
