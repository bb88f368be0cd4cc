// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <optional>
#include <set>

#include "libcore/base/agreement.hpp"
#include "libcore/base/setting_rules.hpp"

namespace tobi::base {

namespace {

constexpr std::size_t kib = 1024;
constexpr std::size_t mib = 1024 * kib;
constexpr std::size_t gib = 1024 * mib;
constexpr std::size_t stack_unit = 64 * kib;

constexpr value_names<deque_kind, 2> deque_names{{{"steal_word", deque_kind::steal_word}, {"the", deque_kind::the}}};
constexpr value_names<sched_kind, 5> sched_names{{{"continuation_greedy", sched_kind::continuation_greedy},
                                                  {"continuation_stalling", sched_kind::continuation_stalling},
                                                  {"child_full", sched_kind::child_full},
                                                  {"child_rtc", sched_kind::child_rtc},
                                                  {"adws", sched_kind::adws}}};
constexpr value_names<victim_policy, 2> victim_names{
    {{"near", victim_policy::near}, {"uniform", victim_policy::uniform}}};
constexpr value_names<cache_policy, 4> cache_names{{{"none", cache_policy::none},
                                                    {"write_through", cache_policy::write_through},
                                                    {"write_back", cache_policy::write_back},
                                                    {"write_back_lazy", cache_policy::write_back_lazy}}};
constexpr value_names<pin_policy, 2> pin_names{{{"auto", pin_policy::automatic}, {"none", pin_policy::none}}};
constexpr value_names<log_level, 5> level_names{{{"error", log_level::error},
                                                 {"warn", log_level::warn},
                                                 {"info", log_level::info},
                                                 {"debug", log_level::debug},
                                                 {"trace", log_level::trace}}};

// A setting that decides whether a task can run somewhere is given too (how deeply it may nest, how much it may check
// out): this must not depend on where the task runs. A setting that names a part of a machine is offered.
constexpr setting own_table[] = {
    {"TOBI_WORKERS", agreement::offered, number<int>{field<&settings::workers>, 1, 65535, "one per core"},
     "how many worker processes to run on this machine"},
    // The registry of transports knows the names, and checks this one when a job starts.
    {"TOBI_TRANSPORT", agreement::given,
     name{field<&settings::transport>, "auto or the name of a transport (tobi-info lists them)"},
     "what moves the bytes between workers"},
    {"TOBI_NODES", agreement::given, number<int>{field<&settings::nodes>, 1, 65535, "as they are"},
     "treat this machine's workers as this many nodes, with the network between them"},
    {"TOBI_BOOTSTRAP", agreement::own, one_of{field<&settings::bootstrap>, "auto|fork|tcp|pmix|mpi"},
     "what says which processes are in the job"},
    {"TOBI_LISTEN", agreement::own, number<int>{field<&settings::listen>, 2, 65535, "no"},
     "wait for others on a TCP port until so many processes, this one included, are one job"},
    {"TOBI_CONNECT", agreement::own, name{field<&settings::connect>, "HOST or HOST:PORT", "no"},
     "be of the job of the process that listens there"},
    {"TOBI_PEER_TIMEOUT", agreement::given, number<int>{field<&settings::peer_timeout_s>, 0, 86400},
     "how many seconds another host may be silent before the job ends; 0: nobody watches"},
    {"TOBI_PORTS", agreement::offered, ports{field<&settings::ports>},
     "TCP ports on which a host listens for the others of its job"},
    {"TOBI_MPI", agreement::given, one_of{field<&settings::mpi>, "auto|openmpi|mpich"},
     "which MPI library's launcher has started this program"},
    {"TOBI_SCHED", agreement::given, choice_of<&settings::sched, sched_names>,
     "what is stolen (continuations or children), and what a join does that must wait"},
    {"TOBI_DEQUE", agreement::given, choice_of<&settings::deque, deque_names>,
     "the protocol between victim and thieves"},
    {"TOBI_VICTIMS", agreement::offered, choice_of<&settings::victims, victim_names>,
     "which workers an idle one asks for work: near ones more often, or all alike"},
    {"TOBI_STACK_SIZE", agreement::given,
     size{field<&settings::stack_bytes>, stack_unit, 128 * mib, sized::bytes, field<&settings::stack_given>,
          stack_unit},
     "a worker's uni-address region, the stacks of its nested tasks; rounded up to 64K"},
    {"TOBI_TASK_STACK_SIZE", agreement::given, size{field<&settings::task_stack_bytes>, 16 * kib, gib},
     "stack of each task that has begun, with TOBI_SCHED=child_full"},
    {"TOBI_HEAP_SIZE", agreement::given,
     size{field<&settings::heap_bytes>, 16 * mib, 64 * gib, sized::bytes, field<&settings::heap_given>},
     "a worker's registered heap: address space, memory when it is used"},
    {"TOBI_DEQUE_SIZE", agreement::given, size{field<&settings::deque_entries>, 256, 16 * mib, sized::forks},
     "how many forks may be nested on one worker"},
    {"TOBI_LOCAL_COLLECTION", agreement::given, choice_of<&settings::local_collection, flag_names>,
     "the owner finds what others have freed; 0: they take a lock and put it into its queue"},
    {"TOBI_CACHE_POLICY", agreement::given, choice_of<&settings::caching, cache_names>,
     "when what a task wrote to global memory of other nodes goes there"},
    {"TOBI_CACHE_SIZE", agreement::given, size{field<&settings::cache_bytes>, 4 * kib, 64 * gib},
     "a worker's cache of global memory of other nodes"},
    {"TOBI_CACHE_SHARED", agreement::given, choice_of<&settings::cache_shared, flag_names>,
     "the workers of a node copy what one of them has fetched; 0: each fetches it"},
    {"TOBI_BLOCK_SIZE", agreement::given, size{field<&settings::block_bytes>, 4 * kib, gib, sized::blocks},
     "unit of global memory that is mapped and distributed; a power of two"},
    {"TOBI_SUB_BLOCK_SIZE", agreement::given, size{field<&settings::sub_block_bytes>, 8, gib, sized::blocks},
     "unit of global memory that is fetched, at most a block; a power of two"},
    {"TOBI_READ_AHEAD", agreement::given, size{field<&settings::read_ahead_bytes>, 0, gib},
     "how much of global memory is fetched before it is asked for, where an array is read; 0: nothing"},
    {"TOBI_GLOBAL_SIZE", agreement::given, size{field<&settings::global_bytes>, mib, 64 * 1024 * gib},
     "addresses for what all workers allocate together"},
    {"TOBI_MAP_LIMIT", agreement::offered,
     number<std::uint64_t>{field<&settings::map_limit>, 8, 1'000'000'000, "half of vm.max_map_count"},
     "kernel mappings that the global memory may make"},
    {"TOBI_DEBUG_GLOBAL", agreement::given, choice_of<&settings::debug_global, flag_names>,
     "report checkouts of global memory that overlap at the same time, one of them for writing"},
    {"TOBI_PIN", agreement::offered, choice_of<&settings::pin, pin_names>,
     "bind each worker to a core, where there are enough cores"},
    {"TOBI_LABEL", agreement::given, choice_of<&settings::label, flag_names>,
     "put the rank and its host before each line that a rank writes"},
    {"TOBI_STATS", agreement::given, choice_of<&settings::stats, flag_names>,
     "count forks too, and print the statistics at the end"},
    {"TOBI_TRACE", agreement::own, name{field<&settings::trace>, "the name of a file"},
     "write what each worker did, and when, to this file (Perfetto and tobi-report open it)"},
    {"TOBI_TRACE_SIZE", agreement::given, size{field<&settings::trace_bytes>, 4 * kib, 16 * gib},
     "memory of a worker for what TOBI_TRACE records; when it is full the oldest events are dropped"},
    {"TOBI_WORK_SPAN", agreement::own, name{field<&settings::work_span>, "the name of a file"},
     "measure the program's work and span on one worker, and write them to this file (for tobi-report)"},
    {"TOBI_DEBUG_MIGRATE", agreement::given, choice_of<&settings::debug_migrate, flag_names>,
     "move the continuation at every fork, to find pointers into other tasks' stacks"},
    {"TOBI_LOG", agreement::own, choice_of<&settings::log, level_names>, "how much is written to standard error"},
};

// All rows: those of this file and those of the folders above.
const std::vector<setting>& table() {
  static const std::vector<setting> all = [] {
    std::vector<setting> rows(std::begin(own_table), std::end(own_table));
    for (const std::span<const setting> above : settings_above()) rows.insert(rows.end(), above.begin(), above.end());
    return rows;
  }();
  return all;
}

const char* in_environment(const setting& r) { return std::getenv(std::string(r.name).c_str()); }

// What SAID, of said_settings(), has for R.
std::optional<std::string_view> value_in(std::string_view said, const setting& r) {
  while (!said.empty() && said.front() != '\0') {
    const std::size_t end = std::min(said.find('\0'), said.size());
    const std::string_view entry = said.substr(0, end);
    if (entry.substr(0, entry.find('=')) == r.name) return entry.substr(std::min(r.name.size() + 1, entry.size()));
    said.remove_prefix(std::min(end + 1, said.size()));
  }
  return std::nullopt;
}

// Nobody wants to read back a megabyte that a script has put there.
std::string quoted(std::string_view text) {
  constexpr std::size_t readable = 64;
  std::string shown(text.substr(0, readable));
  if (text.size() > readable) shown += "...";
  // Where nothing, or a blank at an end, would not be seen.
  const bool plain = !text.empty() && text.find_first_of(" \t\r\n") == std::string_view::npos;
  return plain ? shown : '"' + shown + '"';
}

// Insertions, deletions, changes and swaps of neighbours (Damerau's four ways to mistype).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + changed});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

std::string_view nearest_name(std::string_view name) {
  constexpr std::size_t readable = 64;  // of a name that is longer, the start decides
  const std::string_view start = name.substr(0, readable);
  return std::min_element(table().begin(), table().end(),
                          [&](const setting& a, const setting& b) {
                            return edit_distance(a.name, start) < edit_distance(b.name, start);
                          })
      ->name;
}

void warn_of_unknown_names() {
  static std::set<std::string, std::less<>> told;
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string_view entry = *e;
    const std::string_view name = entry.substr(0, entry.find('='));
    if (!name.starts_with("TOBI_")) continue;
    if (std::any_of(table().begin(), table().end(), [&](const setting& r) { return r.name == name; })) continue;
    if (!told.emplace(name).second) continue;
    log(log_level::warn, quoted(name) + " is no setting and has no effect; the nearest one is " +
                             std::string(nearest_name(name)) + " (tobi-info --settings lists all).");
  }
}

}  // namespace

settings read_settings() {
  settings in_force;
  for (const setting& r : table()) {
    const char* text = in_environment(r);
    if (text == nullptr) continue;
    const std::string wanted = r.read(text, in_force);
    if (!wanted.empty()) fatal(std::string(r.name) + "=" + quoted(text) + " is not " + wanted + ".", exit_usage);
  }
  set_log_level(in_force.log);
  warn_of_unknown_names();
  return in_force;
}

std::vector<setting_row> settings_table() {
  const settings in_force = read_settings();
  std::vector<setting_row> rows;
  for (const setting& r : table()) {
    rows.push_back({r.name, r.agrees, r.type(), r.choices(), r.help, r.write(settings{}), r.write(in_force),
                    in_environment(r) != nullptr ? "environment" : "default"});
  }
  return rows;
}

std::string said_settings() {
  std::string said;
  for (const setting& r : table()) {
    const char* text = in_environment(r);
    if (text == nullptr || r.agrees == agreement::own) continue;
    said.append(r.name).append("=").append(text).push_back('\0');
  }
  said.push_back('\0');
  return said;
}

std::string contradiction(std::string_view first, std::string_view theirs, const std::string& first_name,
                          const std::string& their_name) {
  settings at_first;
  settings there;
  for (const setting& r : table()) {
    const std::optional<std::string_view> said = value_in(theirs, r);
    const std::optional<std::string_view> given = value_in(first, r);
    if (r.agrees != agreement::given || !said) continue;
    // Values are compared as they are understood: 64M is 65536K.
    (void)r.read(*said, there);
    if (given) (void)r.read(*given, at_first);
    if (r.write(there) == r.write(at_first)) continue;
    return std::string(r.name) + " is " + r.write(there) + " on " + their_name + ", and on " + first_name + " it is " +
           r.write(at_first) + (given ? "" : ", the default") +
           "; all ranks need the same: set it for rank 0 alone, which gives it to the others, or alike on all nodes.";
  }
  return "";
}

std::string take_settings(std::string_view first, settings& mine) {
  for (const setting& r : table()) {
    const std::optional<std::string_view> said = value_in(first, r);
    if (!said || (r.agrees == agreement::offered && in_environment(r) != nullptr)) continue;
    if (!r.read(*said, mine).empty()) {
      return "rank 0 has said " + std::string(r.name) + "=" + quoted(*said) + ", which this rank does not understand";
    }
  }
  return "";
}

bool parse_size(std::string_view text, std::uint64_t& bytes) noexcept {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return false;
  std::string unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (unit.size() > 3) return false;
  for (char& c : unit) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  int shift = 0;
  if (constexpr std::string_view letters = "KMGT"; !unit.empty() && letters.find(unit[0]) != std::string_view::npos) {
    shift = 10 * (static_cast<int>(letters.find(unit[0])) + 1);
    unit.erase(0, 1);
    if (unit == "IB") unit.clear();
  }
  if (!unit.empty() && unit != "B") return false;
  if (number > std::numeric_limits<std::uint64_t>::max() >> shift) return false;
  bytes = number << shift;
  return true;
}

std::string format_hex(std::uint64_t n) {
  char digits[20];
  return "0x" + std::string(digits, std::to_chars(digits, digits + sizeof digits, n, 16).ptr);
}

std::string format_size(std::uint64_t bytes) {
  constexpr std::string_view letters = "KMGT";
  std::size_t unit = 0;
  while (unit < letters.size() && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + (unit == 0 ? "" : std::string(1, letters[unit - 1]));
}

std::string dealt(const std::string& list, int rank) {
  const std::vector<std::string_view> names = split(list);
  return std::string(names[static_cast<std::size_t>(rank) % names.size()]);
}

}  // namespace tobi::base
