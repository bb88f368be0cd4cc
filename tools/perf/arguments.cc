// SPDX-License-Identifier: Apache-2.0
#include "tools/perf/arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>

#include "bootstrap/bootstrap.hpp"
#include "libcore/base/settings.hpp"
#include "libcore/base/text.hpp"
#include "tools/command_line.hpp"
#include "tools/meet.hpp"
#include "tools/perf/open_loop.hpp"
#include "tools/provenance.hpp"
#include "transports/registry.hpp"

namespace tobi_perf {

namespace {

constexpr std::uint64_t largest_size = std::uint64_t{1} << 30;
constexpr std::uint64_t largest_of_all = std::uint64_t{8} << 20;  // as the tools of perftest

constexpr const char* sheet_sizes = "8:2M:x4";
constexpr std::array<std::uint64_t, 5> sheet_windows{1, 4, 16, 64, 256};
constexpr double sheet_row_s = 0.25;  // some 60 rows are measured within a minute
constexpr std::uint64_t most_sizes = 1024;
constexpr std::uint64_t largest_window = 1u << 20;

struct operation {
  std::string_view name;
  std::uint64_t default_size;
  bool sized;  // --size changes it
};
constexpr std::array<operation, 13> operations{{{"get", 8, true},
                                                {"get-fresh", 8, true},
                                                {"put", 8, true},
                                                {"amo-faa", 8, false},
                                                {"amo-cas", 8, false},
                                                {"put-notify", 8, true},
                                                {"wake", 8, false},
                                                {"chain", 8, true},
                                                {"rate", 8, false},
                                                {"bw", 64u << 10, true},
                                                {"steal", 0, false},
                                                {"barrier", 0, false},
                                                {sheet_op, 8, true}}};

const operation* find(std::string_view name) {
  const auto* at =
      std::find_if(operations.begin(), operations.end(), [&](const operation& o) { return o.name == name; });
  return at == operations.end() ? nullptr : at;
}

std::string operation_names() { return tobi::base::joined(operations, &operation::name); }

// "a,b" to its parts; an empty part is refused, since it is a slip of the hand.
std::vector<std::string> parts(const std::string& option, const std::string& list) {
  std::vector<std::string> found;
  for (const std::string_view part : tobi::base::split(list)) {
    if (part.empty()) refuse(option + " has an empty part: " + (list.empty() ? "\"\"" : list));
    found.emplace_back(part);
  }
  return found;
}

// The sizes of a range such as 1:1M, 1:1M:x4 or 64:256:+64.
bool add_range(arguments& a, const std::string& text) {
  const std::vector<std::string_view> ends = tobi::base::split(text, ':');
  if (ends.size() < 2 || ends.size() > 3) return false;
  const auto size = [](std::string_view from, std::uint64_t& bytes) {
    return tobi::base::parse_size(std::string(from), bytes) && bytes != 0 && bytes <= largest_size;
  };
  std::uint64_t first = 0, last = 0, step = 2;
  if (!size(ends[0], first) || !size(ends[1], last) || first > last) return false;
  bool adds = false;
  if (ends.size() == 3) {
    if (ends[2].empty() || (ends[2][0] != 'x' && ends[2][0] != '+') || !size(ends[2].substr(1), step)) return false;
    adds = ends[2][0] == '+';
    if (!adds && step == 1) return false;
  }
  if (adds && (last - first) / step >= most_sizes) return false;
  for (; first <= last; first = adds ? first + step : first * step) a.sizes.push_back(first);
  return true;
}

void take_sizes(arguments& a, const operation& o, const std::string& list) {
  if (list == "all" && o.sized) {
    for (std::uint64_t bytes = 1; bytes <= largest_of_all; bytes *= 2) a.sizes.push_back(bytes);
    return;
  }
  if (list.empty() && o.name == sheet_op) {
    (void)add_range(a, sheet_sizes);
    return;
  }
  if (list.empty()) {
    if (o.default_size != 0) a.sizes = {o.default_size};
    return;
  }
  if (!o.sized) {
    refuse("--size means nothing for " + a.op + (o.default_size != 0 ? ", which is always of 8 bytes" : ""));
  }
  for (const std::string& text : parts("--size", list)) {
    std::uint64_t bytes = 0;
    if (text.find(':') != std::string::npos) {
      if (!add_range(a, text)) refuse("--size: " + text + " is not a range such as 1:1M, 1:1M:x4 or 64:1K:+64");
      continue;
    }
    if (!tobi::base::parse_size(text, bytes) || bytes == 0 || bytes > largest_size) {
      refuse("--size: " + text + " is not a size from 1 to 1G, such as 64K");
    }
    a.sizes.push_back(bytes);
  }
}

void take_transports(arguments& a, std::string list) {
  if (list.empty()) {
    list = tobi::base::read_settings().transport;
    if (list == "auto" && !tobi::bootstrap::launched()) list = "shm";
    if (list == "auto") {
      a.transports = {list};
      return;
    }
  }
  const std::string names = tobi::base::joined(tobi::transports::registry(), &tobi::transports::registry_entry::name);
  for (const std::string& name : parts("--transport", list)) {
    if ((", " + names + ",").find(", " + name + ",") == std::string::npos) {
      refuse("the transport " + name + " is not one of " + names);
    }
    if (std::find(a.transports.begin(), a.transports.end(), name) != a.transports.end()) {
      refuse("--transport names " + name + " twice");
    }
    a.transports.push_back(name);
  }
}

// The numbers of LIST, from LEAST to MOST.
std::vector<std::uint64_t> take_numbers(const std::string& option, const std::string& list, std::uint64_t least,
                                        std::uint64_t most) {
  std::vector<std::uint64_t> all;
  for (const std::string& text : parts(option, list)) {
    std::uint64_t n = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (wrong != std::errc() || end != text.data() + text.size() || n < least || n > most) {
      refuse(option + ": " + text + " is not a number from " + std::to_string(least) + " to " + std::to_string(most));
    }
    all.push_back(n);
  }
  return all;
}

void check_sheet(const arguments& a) {
  const auto means_nothing = [](bool given, const char* option) {
    if (given) refuse(std::string(option) + " means nothing for all: the sheet has what it needs");
  };
  means_nothing(a.raw, "--raw");
  means_nothing(a.both_ways, "--bidirectional");
  means_nothing(a.responder_idle, "--responder-idle");
  means_nothing(a.histogram, "--histogram");
  means_nothing(!a.samples.empty(), "--samples");
  means_nothing(!a.plot.empty(), "--plot");
  means_nothing(a.pairs != 1, "--pairs");
  means_nothing(a.workers != 0, "--workers");
  means_nothing(!a.loads.empty(), "--load");
  means_nothing(a.with != crowd::none, "--incast and --all-to-all");
}

void check_crowd(const arguments& a) {
  if (a.with == crowd::none) return;
  const std::string name = a.with == crowd::incast ? "--incast" : "--all-to-all";
  if (a.op != "get" && a.op != "put" && a.op != "amo-faa" && a.op != "bw" && a.op != "rate") {
    refuse(name + " means nothing for " + a.op + ": it is for get, put, amo-faa, bw and rate");
  }
  const auto contradicts = [&](bool given, const char* option) {
    if (given) refuse(name + " and " + option + " contradict each other");
  };
  contradicts(a.raw, "--raw");
  contradicts(a.both_ways, "--bidirectional");
  contradicts(a.pairs != 1, "--pairs");
  contradicts(a.responder_idle, "--responder-idle");
  contradicts(!a.loads.empty(), "--load");
  if (a.meets) refuse(name + " is not for --listen and --connect, which are two processes; take a launcher");
}

void check_loads(const arguments& a) {
  for (const std::string& text : a.loads) {
    if (!parse_load(text))
      refuse("--load: " + text + " is not a share such as 50%, or operations per second such as 20k");
  }
  if (a.loads.empty()) return;
  if (a.op != "get" && a.op != "put" && a.op != "amo-faa") {
    refuse("--load means nothing for " + a.op + ": it is for get, put and amo-faa");
  }
  if (a.raw) refuse("--load and --raw contradict each other: there is no raw loop with a schedule");
  if (a.pairs != 1) refuse("--load and --pairs contradict each other: each pair would have its own schedule");
}

void check_together(const arguments& a) {
  if (a.op == sheet_op) return check_sheet(a);
  check_loads(a);
  check_crowd(a);
  if (!a.html.empty()) refuse("--html means nothing for " + a.op + ": it is for all");
  if (a.windows != std::vector<std::uint64_t>{0} && a.op != "bw" && a.op != "rate") {
    refuse("--window means nothing for " + a.op + ": it is for bw and rate");
  }
  if (uses_runtime(a.op)) {
    if (!a.cpus.empty()) refuse("--cpus means nothing for " + a.op + ": its workers are bound by TOBI_PIN");
    if (!a.samples.empty()) refuse("--samples means nothing for " + a.op);
    if (a.histogram) refuse("--histogram means nothing for " + a.op);
  }
  if (a.pairs > 1 && (a.histogram || !a.samples.empty())) {
    refuse("--pairs has no --samples and no --histogram: each pair has its own");
  }
  if (a.both_ways && a.op != "bw" && a.op != "rate") {
    refuse("--bidirectional means nothing for " + a.op + ": it is for bw and rate");
  }
  if (a.pairs > 1) {
    if (uses_runtime(a.op)) refuse("--pairs means nothing for " + a.op);
    if (a.raw) refuse("--pairs and --raw contradict each other: the library's own calls are measured by one pair");
    if (std::find(a.transports.begin(), a.transports.end(), "mpi") != a.transports.end()) {
      refuse("--pairs is not for mpi, whose ranks are those of the whole job");
    }
    if (a.meets) refuse("--pairs is not for --listen and --connect, which are one pair; take a launcher");
  }
  if (a.both_ways && a.responder_idle) refuse("--bidirectional and --responder-idle contradict each other");
  if (!uses_runtime(a.op)) {
    if (a.workers != 0) refuse("--workers means something for barrier only");
    return;
  }
  if (a.workers != 0 && a.op != "barrier") refuse("--workers means something for barrier only");
  if (a.responder_idle) refuse("--responder-idle means nothing for " + a.op + ": its workers all take part");
  if (a.raw) refuse("--raw means nothing for " + a.op + ": no library has a call for it");
  if (!a.plot.empty()) refuse("--plot means nothing for " + a.op + ": it has no size");
}

void check_launched(const arguments& a) {
  if (a.transports.size() > 1) refuse("--transport takes one in a job of several processes, and is given more");
  if (!a.plot.empty()) refuse("--plot is for one machine; take --json on several");
}

// What is understood when all of it is known.
struct given {
  std::string sizes;
  std::string transports;
  std::string windows;
  std::string cpus;
  std::string loads;
  std::string raw;
  int incast = 0;
  int all_to_all = 0;
};

void add_options(CLI::App& app, arguments& a, given& g) {
  app.add_option("operation", a.op, "one of " + operation_names());
  app.add_option("-s,--size", g.sizes,
                 "bytes of an operation, or several with commas: 8,64,64K, ranges: 1:1M, 1:1M:x4, 64:1K:+64, or all: "
                 "1 to 8M (default: 8; bw: 64K)");
  app.add_option("-n,--iters", a.iterations, "operations of a row (default: what some tenths of a second allow)")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000}));
  auto* const iterations = app.get_option("--iters");
  app.add_option("-D,--duration", a.duration_s, "seconds of a row, in place of a number of operations")
      ->check(CLI::Range(0.01, 86400.0))
      ->excludes(iterations);
  app.add_option("-w,--warmup", a.warmup, "operations before them that are not counted (default: 100)")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1'000'000'000}));
  app.add_option("--transport", g.transports, "which, or several with commas (default: TOBI_TRANSPORT, or shm)");
  app.add_option("--workers", a.workers, "barrier: how many take part (default: TOBI_WORKERS, or one per core)")
      ->check(CLI::Range(1, 65535));
  app.add_option(
      "--load", g.loads,
      "get, put and amo-faa: operations are due at a fixed rate: 10%,50%,90% of the most, or 20k per second");
  app.add_option("--window", g.windows, "bw and rate: operations posted at once, or several with commas: 1,8,64");
  app.add_option("--cpus", g.cpus, "the cores of a machine's ranks, in turn: 0,2 (default: its first ones)");
  app.add_flag("--responder-idle", a.responder_idle, "the target sleeps, in place of polling the transport");
  app.add_option("--pairs", a.pairs, "pairs of processes that measure at once")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  auto* const to_one = app.add_option("--incast", g.incast, "ranks that work with the memory of one more at once")
                           ->check(CLI::Range(2, 1023));
  app.add_option("--all-to-all", g.all_to_all, "ranks that work with the memory of all others, in turn, at once")
      ->check(CLI::Range(2, 1024))
      ->excludes(to_one);
  app.add_flag("--bidirectional", a.both_ways, "bw and rate: the target does the same to the initiator meanwhile");
  app.add_flag(
      "--raw{same}", g.raw,
      "also the library's own calls, in turn, and the ratio: same, those that the transport makes (default), or "
      "best, the quickest ones too");
  app.add_flag("--json", a.json, "one JSON object per row, behind one that says where and how they were measured");
  app.add_flag("--histogram", a.histogram, "how many samples of a row took how long, behind it");
  app.add_option("--samples", a.samples, "write each sample to this file, as CSV");
  app.add_option("--html", a.html, "all: write the cost sheet to this file, as a page");
  app.add_option("--plot", a.plot, "write median latency against size to this file, as SVG");
}

}  // namespace

std::string to_text(const arguments& a) {
  return nlohmann::json{a.op,
                        a.sizes,
                        a.transports.front(),
                        a.iterations,
                        a.warmup,
                        a.responder_idle,
                        a.raw,
                        a.duration_s,
                        a.both_ways,
                        a.pairs,
                        a.windows,
                        a.cpus,
                        a.loads,
                        static_cast<int>(a.with),
                        a.ranks,
                        a.best}
      .dump();
}
void from_text(const std::string& text, arguments& a) {
  const auto j = nlohmann::json::parse(text);
  a.op = j[0];
  a.sizes = j[1].get<std::vector<std::uint64_t>>();
  a.transports = {j[2].get<std::string>()};
  a.iterations = j[3];
  a.warmup = j[4];
  a.responder_idle = j[5];
  a.raw = j[6];
  a.duration_s = j[7];
  a.both_ways = j[8];
  a.pairs = j[9];
  a.windows = j[10].get<std::vector<std::uint64_t>>();
  a.cpus = j[11].get<std::vector<int>>();
  a.loads = j[12].get<std::vector<std::string>>();
  a.with = static_cast<crowd>(j[13].get<int>());
  a.ranks = j[14];
  a.best = j[15];
}

void refuse(const std::string& why) { tobi_tools::refuse("tobi-perf", why); }

bool uses_runtime(const std::string& op) { return op == "steal" || op == "barrier"; }

int processes_of(const arguments& a) {
  return a.with == crowd::none ? 2 * a.pairs : a.with == crowd::incast ? a.ranks + 1 : a.ranks;
}
bool has_sizes(const std::string& op) { return find(op)->sized; }

arguments parse(int argc, char** argv) {
  arguments a;
  CLI::App app("What the operations of a transport cost between two processes, compared with its library's own calls.",
               "tobi-perf");
  given g;
  add_options(app, a, g);
  tobi_tools::meeting meeting;
  tobi_tools::add_meeting(app, meeting);
  app.add_flag("--child", a.child)->group("");
  app.add_flag("--sheet", a.sheet)->group("");
  app.add_flag("--last-listens", a.last_listens)->group("");
  app.add_option("--place", a.place)->group("");
  tobi_tools::parse(app, argc, argv, tobi_tools::sentence_of);
  tobi_tools::meet(meeting, "tobi-perf", argv);
  a.meets = meeting.listen || !meeting.connect.empty();
  if (a.op.empty() && meeting.listen) a.op = "get";  // the other host's arguments are both's
  if (a.op.empty()) refuse("name an operation first: " + operation_names());
  const operation* o = find(a.op);
  if (o == nullptr) refuse(a.op + " is not one of " + operation_names());
  const auto given_empty = [&](const char* name, const std::string& value) {
    if (app.count(name) != 0 && value.empty()) refuse(std::string(name) + " takes a value that is not empty");
  };
  given_empty("--size", g.sizes);
  given_empty("--transport", g.transports);
  given_empty("--plot", a.plot);
  given_empty("--html", a.html);
  given_empty("--samples", a.samples);
  given_empty("--window", g.windows);
  given_empty("--cpus", g.cpus);
  given_empty("--load", g.loads);
  if (!g.raw.empty() && g.raw != "same" && g.raw != "best") refuse("--raw: " + g.raw + " is not same or best");
  a.raw = !g.raw.empty();
  a.best = g.raw == "best";
  if (!g.loads.empty()) a.loads = parts("--load", g.loads);
  if (!g.windows.empty()) a.windows = take_numbers("--window", g.windows, 1, largest_window);
  if (!g.cpus.empty()) {
    for (const std::uint64_t cpu : take_numbers("--cpus", g.cpus, 0, 65535)) a.cpus.push_back(static_cast<int>(cpu));
  }
  if (a.op == sheet_op && g.windows.empty()) a.windows.assign(sheet_windows.begin(), sheet_windows.end());
  if (a.op == sheet_op && a.iterations == 0 && a.duration_s == 0) a.duration_s = sheet_row_s;
  a.with = g.incast != 0 ? crowd::incast : g.all_to_all != 0 ? crowd::all_to_all : crowd::none;
  a.ranks = std::max(g.incast, g.all_to_all);
  take_sizes(a, *o, g.sizes);
  take_transports(a, g.transports);
  check_together(a);
  if (tobi::bootstrap::launched() && !a.child) check_launched(a);
  if ((a.json || !a.html.empty()) && !a.child) {
    const auto of_this = tobi_tools::provenance(argc, argv);
    a.provenance = of_this.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }
  return a;
}

}  // namespace tobi_perf
