// SPDX-License-Identifier: Apache-2.0
// tobi-conform TRANSPORT: what a transport keeps of the contract, a line per rule.
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "arch/clock.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/tcp/meeting.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/text.hpp"
#include "libcore/base/text_line.hpp"
#include "tools/command_line.hpp"
#include "tools/conform/fabric.hpp"
#include "tools/conform/rules.hpp"
#include "tools/conform/work.hpp"
#include "tools/meet.hpp"
#include "tools/output.hpp"
#include "transports/registry.hpp"

namespace {

using namespace tobi;
using conformance::rule;
using conformance::stage;
using conformance::verdict;

// Oversubscribed on small machines on purpose: ranks are preempted in the middle of things.
constexpr int ranks_of_a_fabric = 4;

struct times {
  std::uint64_t trips_ns = 1;
  std::uint64_t fences_ns = 1;
};
constexpr std::uint64_t tries = 30;

times times_now(stage& s) {
  times took;
  s.fence();
  std::uint64_t begin = arch::now_ns();
  if (s.rank() == 0) {
    std::uint64_t value = 0;
    const bool atomic = s.fabric.caps().fetch_add;
    for (std::uint64_t i = 0; i < tries; ++i) {
      s.done(s.next(), atomic ? s.add(s.next(), 0, 0, &value) : s.get(s.next(), 0, &value, 8));
    }
    took.trips_ns += arch::now_ns() - begin;
  }
  s.fence();
  begin = arch::now_ns();
  for (std::uint64_t i = 0; i < tries; ++i) s.fence();
  took.fences_ns += arch::now_ns() - begin;
  return took;
}

// What this rank has to say of a rule.
struct opinion {
  std::string said;     // as of rule::run
  bool in_step = true;  // no wait was given up
  bool waited = false;  // for another rank, and that is all that was said: that one knows why
};

template <class Work>
void with_patience(stage& s, opinion& mine, Work work) {
  try {
    work();
  } catch (const conformance::out_of_patience& e) {
    if (mine.said.empty()) mine.said = s.seen;
    mine.waited = mine.said.empty() && !e.own;
    if (mine.said.empty()) mine.said = e.what();
    mine.in_step = false;
  }
}

/// A call of the transport that never returns would stop the job without a word. While one of these lives, for half as
/// long again as waits may last, it ends the job with one that names the rule.
class deadline {
 public:
  deadline(stage& s, const rule& r, int patience_s) {
    watched = &s;
    limit_ns = s.patience_ns / 2 * 3;
    (sentence.clear() << "tobi: rank ").number(static_cast<std::uint64_t>(s.rank()))
        << " has not come back from a call of the transport, in the rule " << r.name << "; no call may block.\n";
    struct sigaction late {};
    late.sa_handler = [](int) {
      constexpr unsigned later_s = 5;
      // It waits for the one that is to be named, or it was at a fence meanwhile.
      if (watched->meets || arch::now_ns() - watched->began_ns < limit_ns) {
        alarm(later_s);
        return;
      }
      sentence.write_to(STDERR_FILENO);
      watched->job.abort(base::exit_failure);
    };
    sigaction(SIGALRM, &late, nullptr);
    alarm(static_cast<unsigned>(patience_s + patience_s / 2 + 1));
  }
  ~deadline() { alarm(0); }
  deadline(const deadline&) = delete;
  deadline& operator=(const deadline&) = delete;

 private:
  static inline stage* watched = nullptr;
  static inline std::uint64_t limit_ns = 0;
  static inline base::text_buffer<256> sentence;
};

// How many round trips rank 0 can make in SECONDS, with everybody waiting in the fabric, and how many fences all can
// make together; all ranks take rank 0's word. Before each rule, since another program may have come: an atomic that is
// a message waits for the target's turn. All meet in the bootstrap, also those that have given up a wait.
void measure(stage& s, const rule& before, opinion& mine, double seconds) {
  times took;
  with_patience(s, mine, [&] { took = times_now(s); });
  const std::string key = "round trips before " + std::string(before.name);
  s.job.put(key, std::as_bytes(std::span(&took, 1)));
  s.meet();
  std::memcpy(&took, s.job.get(0, key).data(), sizeof took);
  const double in_all_ns = static_cast<double>(tries) * seconds * 1e9;
  s.affordable =
      std::max<std::uint64_t>(100, static_cast<std::uint64_t>(in_all_ns / static_cast<double>(took.trips_ns)));
  s.affordable_turns =
      std::max<std::uint64_t>(100, static_cast<std::uint64_t>(in_all_ns / static_cast<double>(took.fences_ns)));
}

// What the ranks say of a rule, as one: the first failure, or the first reason to skip. Where one rank failed and
// others waited for it in vain, the failure.
opinion agree(stage& s, const rule& r, const opinion& mine) {
  bootstrap::bootstrap& job = s.job;
  const std::string key = "rule " + std::string(r.name);
  const std::string cut = (mine.in_step  ? "in step "
                           : mine.waited ? "waited  "
                                         : "failed  ") +
                          mine.said.substr(0, 120);
  job.put(key, std::as_bytes(std::span(cut.data(), cut.size())));
  // What a rank has given up waiting for may name buffers of a rule that has ended: it must not come any more.
  if (mine.in_step) {
    s.move_while_waiting();
  } else {
    job.while_waiting(nullptr);
  }
  while (!s.meet(true)) {
  }
  opinion all;
  std::string skipped;
  constexpr std::size_t state = 8;  // the first characters
  for (int rank = 0; rank < job.size(); ++rank) {
    const auto told = job.get(rank, key);
    const std::string card(reinterpret_cast<const char*>(told.data()), told.size());
    const std::string text = card.substr(state);
    const bool waited = card.starts_with("waited");
    all.in_step = all.in_step && card.starts_with("in step");
    if (text.starts_with("skip: ")) {
      if (skipped.empty()) skipped = text;
    } else if (!text.empty() && (all.said.empty() || (all.waited && !waited))) {
      all.said = "rank " + std::to_string(rank) + ": " + text;
      all.waited = waited;
    }
  }
  if (all.said.empty()) all.said = skipped;
  return all;
}

constexpr std::string_view last_rule = "peer-death";  // it ends the job that the others need

std::vector<rule> all_rules() {
  std::vector<rule> all;
  for (const auto& rules : {conformance::data_rules(), conformance::atomic_rules(), conformance::error_rules(),
                            conformance::flow_rules(), conformance::claim_rules()}) {
    all.insert(all.end(), rules.begin(), rules.end());
  }
  all.push_back({last_rule, conformance::a_dead_peer_is_reported});
  return all;
}

std::string not_asked(std::string_view behind) {
  return "skip: in " + std::string(behind) + " the ranks lost each other";
}

verdict kind_of(const std::string& said) {
  return said.empty() ? verdict::pass : said.starts_with("skip: ") ? verdict::skip : verdict::fail;
}

void print(const rule& r, const std::string& said, bool as_json) {
  const verdict kind = kind_of(said);
  const char* status = kind == verdict::pass ? "pass" : kind == verdict::skip ? "skip" : "fail";
  const std::string reason = kind == verdict::skip ? said.substr(6) : said;
  if (as_json) {
    std::printf("%s\n",
                nlohmann::ordered_json{{"rule", r.name}, {"status", status}, {"reason", reason}}.dump().c_str());
  } else {
    std::printf("%s %s%s%s\n", status, std::string(r.name).c_str(), reason.empty() ? "" : ": ", reason.c_str());
  }
  std::fflush(stdout);
}

struct arguments {
  const transports::registry_entry* transport = nullptr;
  std::vector<rule> rules = all_rules();
  int ranks = ranks_of_a_fabric;
  int patience_s = 120;
  double seconds = 1;
  bool json = false;
  bool all = true;  // no rule was named
};

const transports::registry_entry* find_transport(const std::string& name) {
  const auto all = transports::registry();
  const auto at = std::find_if(all.begin(), all.end(), [&](const auto& entry) { return entry.name == name; });
  return at == all.end() ? nullptr : &*at;
}

void keep_rules(arguments& a, const std::vector<std::string>& only) {
  a.all = only.empty();
  if (a.all) return;
  std::erase_if(a.rules, [&](const rule& r) { return std::find(only.begin(), only.end(), r.name) == only.end(); });
}

arguments parse(int argc, char** argv) {
  arguments a;
  std::string name;
  std::vector<std::string> only;
  std::vector<std::string> rule_names;
  for (const rule& r : a.rules) rule_names.emplace_back(r.name);
  CLI::App app("Whether a transport keeps the contract of transports/transport.hpp, a line per rule.", "tobi-conform");
  app.add_option("transport", name, "its name, as in tobi-info");
  app.add_flag("--json", a.json, "one JSON object per line: rule, status, reason");
  app.add_option("--ranks", a.ranks, "processes that take part")->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--patience", a.patience_s, "seconds after which a rule that waits has failed")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  app.add_option("--seconds", a.seconds, "a rule repeats what it tries for about so long at most")
      ->check(CLI::Range(0.001, 3600.0))
      ->capture_default_str();
  app.add_option("--rule", only, "only this rule; may be given several times")
      ->check(CLI::IsMember(rule_names))
      ->type_name("NAME");
  tobi_tools::meeting meeting;
  tobi_tools::add_meeting(app, meeting);
  tobi_tools::parse(app, argc, argv, [](const CLI::ParseError& e) { return std::string(e.what()); });
  tobi_tools::meet(meeting, "tobi-conform", argv, app.count("--ranks") == 0 ? 2 : a.ranks);
  bootstrap::tcp::set_manner({"tobi-conform", true});
  keep_rules(a, only);
  if (name.empty() && meeting.listen) return a;  // the other host says which
  if (name.empty()) tobi_tools::refuse("tobi-conform", "name a transport first, as in tobi-info");
  a.transport = find_transport(name);
  if (a.transport == nullptr) {
    std::fprintf(stderr, "tobi-conform: %s is not one of %s (tobi-info says more)\n", name.c_str(),
                 base::joined(transports::registry(), &transports::registry_entry::name).c_str());
    std::exit(2);
  }
  return a;
}

void print(const conformance::step_of_work& step, bool as_json) {
  if (as_json) {
    std::printf("%s\n",
                nlohmann::ordered_json{{"step", step.name}, {"state", step.state}, {"next", step.why}}.dump().c_str());
  } else {
    std::printf("  %-10s %s%s%s\n", std::string(step.name).c_str(), step.state.c_str(), step.why.empty() ? "" : ": ",
                step.why.c_str());
  }
}

/// The rules of one transport in one job, and what became of them.
class run {
 public:
  run(const arguments& a, bootstrap::bootstrap& job, transports::transport& fabric)
      : a_(a), s_{job, fabric, {}, {}, {}, {}}, caps_(fabric.caps()) {}

  /// What the others need. They are told of where one fails, or where all rules are asked.
  bool first_rules() {
    s_.patience_ns = static_cast<std::uint64_t>(a_.patience_s) * 1'000'000'000;
    std::string_view failed;
    for (const rule& r : conformance::first_rules()) {
      std::string said = "skip: first " + std::string(failed);
      if (failed.empty()) {
        opinion mine;
        {
          const deadline watched(s_, r, a_.patience_s);
          mine.said = r.run(s_);
        }
        said = agree(s_, r, mine).said;
      }
      if (kind_of(said) == verdict::fail) {
        failed = r.name;
        said += "; next: " + std::string(conformance::what_to_write(r.name));
      }
      note(r, said, a_.all || !failed.empty());
    }
    return failed.empty();
  }
  void other_rules() {
    s_.fence();  // the fabric says now what it found out of itself
    caps_ = s_.fabric.caps();
    const bool ends_badly = a_.rules.back().name == last_rule;
    std::string_view lost_step;  // behind this rule
    std::for_each(a_.rules.begin(), a_.rules.end() - (ends_badly ? 1 : 0), [&](const rule& r) {
      if (!lost_step.empty()) {
        note(r, not_asked(lost_step), true);
        return;
      }
      s_.began_ns = arch::now_ns();
      opinion mine;
      s_.seen.clear();
      {
        const deadline watched(s_, r, a_.patience_s);
        measure(s_, r, mine, a_.seconds);
        if (mine.in_step) with_patience(s_, mine, [&] { mine.said = r.run(s_); });
        if (mine.in_step) with_patience(s_, mine, [&] { s_.fence(); });
      }
      const opinion all = agree(s_, r, mine);
      if (!all.in_step) lost_step = r.name;
      note(r, all.said, true);
    });
    std::memset(s_.local(), 0, 4096);
    s_.job.finalize();
    // Rank 0 speaks for what it saw; the status of a rank that saw something else becomes the job's.
    s_.began_ns = 0;
    if (ends_badly) note(a_.rules.back(), lost_step.empty() ? a_.rules.back().run(s_) : not_asked(lost_step), true);
    ended_ = true;
  }
  /// The status of this process. The job's is that of any rank that saw something wrong.
  [[nodiscard]] int end() {
    if (!ended_) s_.job.finalize();
    if (s_.job.rank() == 0 && a_.all) {
      if (!a_.json) std::printf("\nthe work of a port, in its order (transports/PORTING.md):\n");
      for (const auto& step : conformance::checklist(verdicts_, caps_)) print(step, a_.json);
    }
    return failed_ ? 1 : 0;
  }

 private:
  void note(const rule& r, const std::string& said, bool shown) {
    verdicts_[r.name] = kind_of(said);
    // What ranks have agreed on is rank 0's to say; of the last rule each knows what it saw itself.
    failed_ = failed_ || (kind_of(said) == verdict::fail && (s_.job.rank() == 0 || r.name == last_rule));
    if (shown && s_.job.rank() == 0) print(r, said, a_.json);
  }

  const arguments& a_;
  stage s_;
  transports::capabilities caps_;
  std::map<std::string_view, verdict> verdicts_;
  bool failed_ = false;
  bool ended_ = false;
};

// --- a job of a launcher's, or of hosts that met ---

void put_text(bootstrap::bootstrap& job, std::string_view key, const std::string& text) {
  job.put(key, std::as_bytes(std::span(text.data(), text.size())));
  job.fence();
}
std::string text_of(bootstrap::bootstrap& job, int rank, std::string_view key) {
  const auto bytes = job.get(rank, key);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What rank 0 was told is all ranks'.
void take_from_rank0(bootstrap::bootstrap& job, arguments& a) {
  std::vector<std::string> only;
  if (!a.all) {
    for (const rule& r : a.rules) only.emplace_back(r.name);
  }
  put_text(job, "arguments",
           nlohmann::json{a.transport == nullptr ? "" : a.transport->name, a.patience_s, only, a.seconds}.dump());
  const auto told = nlohmann::json::parse(text_of(job, 0, "arguments"));
  a.transport = find_transport(told[0]);
  a.patience_s = told[1];
  a.rules = all_rules();
  keep_rules(a, told[2]);
  a.seconds = told[3];
  if (a.transport == nullptr) {
    base::fatal_everywhere(job.rank(), "no transport was named on " + base::name_of_rank(0) + ".", base::exit_usage);
  }
}

// "" or what some rank cannot use.
std::string why_some_cannot(bootstrap::bootstrap& job, const arguments& a, const transports::context& where) {
  put_text(job, "why not", transports::why_not_here(std::string(a.transport->name), where));
  for (int r = 0; r < job.size(); ++r) {
    if (const std::string why = text_of(job, r, "why not"); !why.empty())
      return "by " + base::name_of_rank(r) + ": " + why;
  }
  return "";
}

int cannot_be_used(const arguments& a, bool by_this_rank, const std::string& why) {
  if (by_this_rank) {
    std::fprintf(stderr, "tobi-conform: %s cannot be used here: %s\n", std::string(a.transport->name).c_str(),
                 why.c_str());
  }
  return 2;
}

int ask(const arguments& a, bootstrap::bootstrap& job, const transports::context& where) {
  const auto fabric = conformance::make_fabric(*a.transport, where);
  run all(a, job, *fabric);
  if (all.first_rules()) all.other_rules();
  return all.end();
}

int ask_forked(const arguments& a, base::settings& in_force) {
  const int ranks = transports::unusable_apart(*a.transport, {0, a.ranks, {}, in_force}).empty() ? a.ranks : 1;
  if (const std::string why = transports::unusable_apart(*a.transport, {0, ranks, {}, in_force}); !why.empty())
    return cannot_be_used(a, true, why);
  const auto job = bootstrap::fork_workers(ranks);
  return ask(a, *job, {job->rank(), job->size(), {}, in_force});
}

int ask_launched(arguments& a, base::settings& in_force) {
  const auto job = bootstrap::start(in_force, 0, 1);
  take_from_rank0(*job, a);
  in_force.transport = a.transport->name;
  transports::context where{job->rank(), job->size(), {}, in_force};
  if (job->nodes().back() != 0) where.nodes.assign(job->nodes().begin(), job->nodes().end());
  if (const std::string why = why_some_cannot(*job, a, where); !why.empty()) {
    job->finalize();
    return cannot_be_used(a, job->rank() == 0, why);
  }
  return ask(a, *job, where);
}

}  // namespace

int main(int argc, char** argv) {
  tobi_tools::must_be_written("tobi-conform");
  arguments a = parse(argc, argv);
  bootstrap::before_joining();
  base::settings in_force = base::read_settings();
  if (a.transport != nullptr) in_force.transport = a.transport->name;
  transports::check_names(in_force);
  return bootstrap::launched() ? ask_launched(a, in_force) : ask_forked(a, in_force);
}
