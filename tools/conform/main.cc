// SPDX-License-Identifier: Apache-2.0
// tobi-conform TRANSPORT: what a transport keeps of the contract, a line per rule.
#include <sys/mman.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "arch/clock.hpp"
#include "bootstrap/bootstrap.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/text.hpp"
#include "tools/command_line.hpp"
#include "tools/conform/rules.hpp"
#include "transports/decorators/wrap.hpp"
#include "transports/meeting.hpp"
#include "transports/registry.hpp"

namespace {

using namespace tobi;
using conformance::rule;
using conformance::stage;

// Oversubscribed on small machines on purpose: ranks are preempted in the middle of things.
constexpr int ranks_of_a_fabric = 4;

transports::memory memory_file(std::size_t bytes) {
  const int fd = memfd_create("tobi-conform", MFD_CLOEXEC);
  void* base = MAP_FAILED;
  if (fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes)) == 0) {
    base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  if (base == MAP_FAILED) base::fatal("no memory for the region of the tests.");
  return {base, bytes, fd, 0};
}

stage set_up(bootstrap::bootstrap& job, transports::transport& fabric) {
  stage s{job, fabric, memory_file(stage::bytes), {}, {}, {}};
  if (fabric.register_memory(s.memory, s.key) != status::ok) base::fatal("registering memory failed.");
  const transports::memory sync_memory = memory_file(4096);
  s.arrived = static_cast<std::uint64_t*>(sync_memory.base);
  transports::region_key sync_key;
  if (fabric.register_memory(sync_memory, sync_key) != status::ok) base::fatal("registering memory failed.");
  const std::string address = fabric.address();
  job.put("key", std::as_bytes(std::span(&s.key, 1)));
  job.put("sync", std::as_bytes(std::span(&sync_key, 1)));
  job.put("address", std::as_bytes(std::span(address.data(), address.size())));
  job.fence();
  std::vector<std::string> addresses;
  for (int r = 0; r < job.size(); ++r) {
    const auto where = job.get(r, "address");
    addresses.emplace_back(reinterpret_cast<const char*>(where.data()), where.size());
    transports::region_key theirs;
    std::memcpy(&theirs, job.get(r, "key").data(), sizeof theirs);
    s.keys.push_back(theirs);
  }
  if (fabric.connect(addresses) != status::ok) base::fatal("connecting failed.");
  transports::meeting_over meet(job);
  fabric.measure(meet);
  s.move_while_waiting();
  for (int r = 0; r < job.size(); ++r) {
    transports::region_id id = 0;
    if (fabric.attach(r, s.keys[r], id) != status::ok) base::fatal("attaching a peer's memory failed.");
    s.regions.push_back(id);
    transports::region_key theirs;
    std::memcpy(&theirs, job.get(r, "sync").data(), sizeof theirs);
    if (fabric.attach(r, theirs, id) != status::ok) base::fatal("attaching a peer's memory failed.");
    s.sync.push_back(id);
  }
  return s;
}

// How many round trips rank 0 can make in a second, with everybody waiting in the fabric, and how many fences all can
// make together; all ranks take rank 0's word.
void measure(stage& s) {
  constexpr std::uint64_t tries = 30;
  constexpr std::uint64_t second_ns = 1'000'000'000;
  s.fence();
  struct {
    std::uint64_t trips_ns = 1;
    std::uint64_t fences_ns = 1;
  } took;
  std::uint64_t begin = arch::now_ns();
  if (s.rank() == 0) {
    std::uint64_t value = 0;
    for (std::uint64_t i = 0; i < tries; ++i) s.done(s.next(), s.get(s.next(), 0, &value, 8));
    took.trips_ns += arch::now_ns() - begin;
  }
  s.fence();
  begin = arch::now_ns();
  for (std::uint64_t i = 0; i < tries; ++i) s.fence();
  took.fences_ns += arch::now_ns() - begin;
  s.job.put("round trips", std::as_bytes(std::span(&took, 1)));
  s.job.fence();
  std::memcpy(&took, s.job.get(0, "round trips").data(), sizeof took);
  s.affordable = std::max<std::uint64_t>(100, tries * second_ns / took.trips_ns);
  s.affordable_turns = std::max<std::uint64_t>(100, tries * second_ns / took.fences_ns);
}

// What the ranks say of a rule, as one: the first failure, or the first reason to skip.
std::string agree(stage& s, const rule& r, const std::string& mine) {
  bootstrap::bootstrap& job = s.job;
  s.fence();
  // Everybody is there before anybody sleeps in the bootstrap, where a target that must poll would not.
  const std::string key = "rule " + std::string(r.name);
  const std::string cut = mine.substr(0, 120);
  job.put(key, std::as_bytes(std::span(cut.data(), cut.size())));
  job.fence();
  std::string skipped;
  for (int rank = 0; rank < job.size(); ++rank) {
    const auto said = job.get(rank, key);
    const std::string text(reinterpret_cast<const char*>(said.data()), said.size());
    if (text.starts_with("skip: ")) {
      if (skipped.empty()) skipped = text;
    } else if (!text.empty()) {
      return "rank " + std::to_string(rank) + ": " + text;
    }
  }
  return skipped;
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

void print(const rule& r, const std::string& verdict, bool as_json) {
  const bool skipped = verdict.starts_with("skip: ");
  const char* status = verdict.empty() ? "pass" : skipped ? "skip" : "fail";
  const std::string reason = skipped ? verdict.substr(6) : verdict;
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
  bool json = false;
};

arguments parse(int argc, char** argv) {
  arguments a;
  std::string name;
  std::vector<std::string> only;
  std::vector<std::string> rule_names;
  for (const rule& r : a.rules) rule_names.emplace_back(r.name);
  CLI::App app("Whether a transport keeps the contract of transports/transport.hpp, a line per rule.", "tobi-conform");
  app.add_option("transport", name, "its name, as in tobi-info")->required();
  app.add_flag("--json", a.json, "one JSON object per line: rule, status, reason");
  app.add_option("--ranks", a.ranks, "processes that take part")->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--rule", only, "only this rule; may be given several times")
      ->check(CLI::IsMember(rule_names))
      ->type_name("NAME");
  tobi_tools::parse(app, argc, argv, [](const CLI::ParseError& e) { return std::string(e.what()); });
  if (!only.empty()) {
    std::erase_if(a.rules, [&](const rule& r) { return std::find(only.begin(), only.end(), r.name) == only.end(); });
  }
  for (const auto& entry : transports::registry()) {
    if (entry.name == name) a.transport = &entry;
  }
  if (a.transport == nullptr) {
    std::fprintf(stderr, "tobi-conform: %s is not one of %s (tobi-info says more)\n", name.c_str(),
                 base::joined(transports::registry(), &transports::registry_entry::name).c_str());
    std::exit(2);
  }
  return a;
}

}  // namespace

int main(int argc, char** argv) {
  const arguments a = parse(argc, argv);
  const std::string name(a.transport->name);
  base::settings in_force = base::read_settings();
  in_force.transport = name;
  transports::check_names(in_force);
  const int ranks = transports::unusable_apart(*a.transport, {0, a.ranks, {}, in_force}).empty() ? a.ranks : 1;
  if (const std::string why = transports::unusable_apart(*a.transport, {0, ranks, {}, in_force}); !why.empty()) {
    std::fprintf(stderr, "tobi-conform: %s cannot be used here: %s\n", name.c_str(), why.c_str());
    return 2;
  }

  const auto job = bootstrap::launched() ? bootstrap::start(in_force, 0, ranks) : bootstrap::fork_workers(ranks);
  in_force.transport = name;  // rank 0 has given its settings
  const transports::context where{job->rank(), job->size(), {}, in_force};
  const auto fabric = transports::wrap(a.transport->create(where), where);
  stage s = set_up(*job, *fabric);
  measure(s);
  bool failed = false;
  const auto run = [&](const rule& r) {
    const std::string verdict = agree(s, r, r.run(s));
    failed = failed || (!verdict.empty() && !verdict.starts_with("skip: "));
    if (job->rank() == 0) print(r, verdict, a.json);
  };
  const bool ends_badly = a.rules.back().name == last_rule;
  std::for_each(a.rules.begin(), a.rules.end() - (ends_badly ? 1 : 0), run);
  std::memset(s.local(), 0, 4096);
  job->finalize();
  if (!ends_badly) return job->rank() == 0 && failed ? 1 : 0;
  // Rank 0 speaks for what it saw; the status of a rank that saw something else becomes the job's.
  const std::string verdict = a.rules.back().run(s);
  const bool wrong = !verdict.empty() && !verdict.starts_with("skip: ");
  if (job->rank() == 0) print(a.rules.back(), verdict, a.json);
  return wrong || (job->rank() == 0 && failed) ? 1 : 0;
}
