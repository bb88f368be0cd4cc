#include "libcore/base/settings.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <set>

extern char** environ;

namespace tobi::base {

namespace {

constexpr std::size_t kib = 1024;
constexpr std::size_t mib = 1024 * kib;
constexpr std::size_t gib = 1024 * mib;
constexpr std::size_t stack_unit = 64 * kib;

template <class T, std::size_t N>
using names = std::array<std::pair<std::string_view, T>, N>;

constexpr names<deque_kind, 2> deque_names{{{"steal_word", deque_kind::steal_word}, {"the", deque_kind::the}}};
constexpr names<sched_kind, 4> sched_names{{{"continuation_greedy", sched_kind::continuation_greedy},
                                            {"continuation_stalling", sched_kind::continuation_stalling},
                                            {"child_full", sched_kind::child_full},
                                            {"child_rtc", sched_kind::child_rtc}}};
constexpr names<victim_policy, 2> victim_names{{{"near", victim_policy::near}, {"uniform", victim_policy::uniform}}};
constexpr names<cache_policy, 4> cache_names{{{"none", cache_policy::none},
                                              {"write_through", cache_policy::write_through},
                                              {"write_back", cache_policy::write_back},
                                              {"write_back_lazy", cache_policy::write_back_lazy}}};
constexpr names<pin_policy, 2> pin_names{{{"auto", pin_policy::automatic}, {"none", pin_policy::none}}};
constexpr names<progress_mode, 3> progress_names{
    {{"auto", progress_mode::automatic}, {"manual", progress_mode::manual}, {"thread", progress_mode::thread}}};
constexpr names<amo_place, 5> amo_names{{{"auto", amo_place::automatic},
                                         {"native", amo_place::native},
                                         {"inline", amo_place::inline_},
                                         {"thread", amo_place::thread},
                                         {"worker", amo_place::worker}}};
constexpr names<bool, 6> flag_names{
    {{"0", false}, {"1", true}, {"off", false}, {"on", true}, {"false", false}, {"true", true}}};
constexpr names<log_level, 5> level_names{{{"error", log_level::error},
                                           {"warn", log_level::warn},
                                           {"info", log_level::info},
                                           {"debug", log_level::debug},
                                           {"trace", log_level::trace}}};

// --- from text: each answers "" or what a good value is -----------------------------------------------

template <class T, std::size_t N>
std::string read_choice(std::string_view text, const names<T, N>& choices, T& into) {
  std::string good;
  for (const auto& [name, value] : choices) {
    if (text == name) {
      into = value;
      return "";
    }
    good.append(good.empty() ? "one of " : ", ").append(name);
  }
  return good;
}

std::string read_size(std::string_view text, std::size_t low, std::size_t high, std::size_t& into) {
  std::uint64_t bytes = 0;
  if (!parse_size(text, bytes) || bytes < low || bytes > high) {
    return "a size from " + format_size(low) + " to " + format_size(high) + ", such as " + format_size(low * 4);
  }
  into = bytes;
  return "";
}

// Blocks are found by shifts and masks: another size would be a wrong result, so it is refused.
std::string read_power_of_two(std::string_view text, std::size_t low, std::size_t high, std::size_t& into) {
  std::uint64_t bytes = 0;
  if (!parse_size(text, bytes) || bytes < low || bytes > high || (bytes & (bytes - 1)) != 0) {
    return "a power of two from " + format_size(low) + " to " + format_size(high);
  }
  into = bytes;
  return "";
}

template <class T>
std::string read_number(std::string_view text, T low, T high, T& into) {
  T n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end != text.data() + text.size() || n < low || n > high) {
    return "a number from " + std::to_string(low) + " to " + std::to_string(high);
  }
  into = n;
  return "";
}

std::string read_deque_size(std::string_view text, std::size_t& into) {
  std::uint64_t n = 0;
  if (!parse_size(text, n) || n < 256 || n > 16 * mib) return "a number of nested forks from 256 to 16M";
  into = n;
  return "";
}

// --- to text: as a user would type it -----------------------------------------------------------------

template <class T, std::size_t N>
std::string name_of(const names<T, N>& choices, T value) {
  for (const auto& [name, candidate] : choices) {
    if (candidate == value) return std::string(name);
  }
  return "";
}

// --- the table ----------------------------------------------------------------------------------------

struct row {
  std::string_view name, type, choices, help;
  std::string (*read)(std::string_view text, settings& into);
  std::string (*write)(const settings& from);
};

constexpr row table[] = {
    {"TOBI_WORKERS", "integer", "1..65535", "how many worker processes to run on this machine",
     [](std::string_view t, settings& s) { return read_number(t, 1, 65535, s.workers); },
     [](const settings& s) { return s.workers == 0 ? "one a core" : std::to_string(s.workers); }},
    // The registry of transports knows the names, and checks this one when a job starts.
    {"TOBI_TRANSPORT", "name", "", "what moves the bytes between workers",
     [](std::string_view t, settings& s) -> std::string {
       if (t.empty()) return "auto or the name of a transport (tobi-info lists them)";
       s.transport = t;
       return "";
     },
     [](const settings& s) { return s.transport; }},
    {"TOBI_NODES", "integer", "1..65535",
     "treat this machine's workers as so many nodes, with the network between them",
     [](std::string_view t, settings& s) { return read_number(t, 1, 65535, s.nodes); },
     [](const settings& s) { return s.nodes == 0 ? "as they are" : std::to_string(s.nodes); }},
    {"TOBI_BOOTSTRAP", "choice", "auto|fork|pmix|mpi", "who says which processes are in the job",
     [](std::string_view t, settings& s) -> std::string {
       if (t != "auto" && t != "fork" && t != "pmix" && t != "mpi") return "one of auto, fork, pmix, mpi";
       s.bootstrap = t;
       return "";
     },
     [](const settings& s) { return s.bootstrap; }},
    {"TOBI_WRAP", "name", "", "decorators around the transport: stats, trace, fault, with commas between",
     [](std::string_view t, settings& s) -> std::string {
       s.wrap = t;
       return "";
     },
     [](const settings& s) { return s.wrap; }},
    {"TOBI_FAULT", "name", "",
     "what the decorator fault does, such as again=N, delay=US, lose=RANK@N, with commas between",
     [](std::string_view t, settings& s) -> std::string {
       s.fault = t;
       return "";
     },
     [](const settings& s) { return s.fault; }},
    {"TOBI_OFI_PROVIDER", "name", "", "libfabric provider, such as tcp or verbs;ofi_rxm (tobi-info lists them)",
     [](std::string_view t, settings& s) -> std::string {
       s.ofi_provider = t;
       return "";
     },
     [](const settings& s) { return s.ofi_provider.empty() ? "the best that can serve" : s.ofi_provider; }},
    {"TOBI_OFI_DOMAIN", "name", "",
     "the provider's domain, such as eth0 or mlx5_0; a list is dealt to the ranks in turn",
     [](std::string_view t, settings& s) -> std::string {
       s.ofi_domain = t;
       return "";
     },
     [](const settings& s) { return s.ofi_domain.empty() ? "the provider's first" : s.ofi_domain; }},
    {"TOBI_OFI_PROGRESS", "choice", "auto|manual|thread",
     "who moves a provider that was measured not to move by itself; manual: workers, without a measurement",
     [](std::string_view t, settings& s) { return read_choice(t, progress_names, s.ofi_progress); },
     [](const settings& s) { return name_of(progress_names, s.ofi_progress); }},
    {"TOBI_AMO_SERVER", "choice", "auto|native|inline|thread|worker",
     "who executes atomics: the fabric (native), the target's worker, a thread of it, or one worker of each node",
     [](std::string_view t, settings& s) { return read_choice(t, amo_names, s.amo_server); },
     [](const settings& s) { return name_of(amo_names, s.amo_server); }},
    {"TOBI_VERBS_DEVICE", "name", "", "RDMA device, such as mlx5_0 (tobi-info lists them)",
     [](std::string_view t, settings& s) -> std::string {
       s.verbs_device = t;
       return "";
     },
     [](const settings& s) { return s.verbs_device.empty() ? "the nearest usable one" : s.verbs_device; }},
    {"TOBI_VERBS_PORT", "integer", "1..255", "port of the RDMA device",
     [](std::string_view t, settings& s) { return read_number(t, 1, 255, s.verbs_port); },
     [](const settings& s) { return s.verbs_port == 0 ? "the first active one" : std::to_string(s.verbs_port); }},
    {"TOBI_VERBS_GID_INDEX", "integer", "0..255", "index in the port's table of addresses (GIDs)",
     [](std::string_view t, settings& s) { return read_number(t, 0, 255, s.verbs_gid_index); },
     [](const settings& s) {
       return s.verbs_gid_index < 0 ? "RoCE v2, IPv4 first" : std::to_string(s.verbs_gid_index);
     }},
    {"TOBI_VERBS_CONNECTIONS", "integer", "1..65535", "queue pairs that a worker opens before it closes old ones",
     [](std::string_view t, settings& s) { return read_number(t, 1, 65535, s.verbs_connections); },
     [](const settings& s) { return std::to_string(s.verbs_connections); }},
    {"TOBI_MPI", "choice", "auto|openmpi|mpich", "which MPI library's launcher has started this program",
     [](std::string_view t, settings& s) -> std::string {
       if (t != "auto" && t != "openmpi" && t != "mpich") return "one of auto, openmpi, mpich";
       s.mpi = t;
       return "";
     },
     [](const settings& s) { return s.mpi; }},
    {"TOBI_SIM", "name", "", "modes of the simulated transport, such as manual,depth1,nochain (sim.hpp has them)",
     [](std::string_view t, settings& s) -> std::string {
       s.sim = t;
       return "";
     },
     [](const settings& s) { return s.sim; }},
    {"TOBI_SIM_SEED", "integer", "0..18446744073709551615", "seed of the simulated transport",
     [](std::string_view t, settings& s) {
       return read_number(t, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(), s.sim_seed);
     },
     [](const settings& s) { return std::to_string(s.sim_seed); }},
    {"TOBI_SCHED", "choice", "continuation_greedy|continuation_stalling|child_full|child_rtc",
     "what is stolen (continuations or children), and what a join does that must wait",
     [](std::string_view t, settings& s) { return read_choice(t, sched_names, s.sched); },
     [](const settings& s) { return name_of(sched_names, s.sched); }},
    {"TOBI_DEQUE", "choice", "steal_word|the", "the protocol between victim and thieves",
     [](std::string_view t, settings& s) { return read_choice(t, deque_names, s.deque); },
     [](const settings& s) { return name_of(deque_names, s.deque); }},
    {"TOBI_VICTIMS", "choice", "near|uniform",
     "whom an idle worker asks for work: near workers more often, or all alike",
     [](std::string_view t, settings& s) { return read_choice(t, victim_names, s.victims); },
     [](const settings& s) { return name_of(victim_names, s.victims); }},
    {"TOBI_STACK_SIZE", "size", "64K..128M",
     "a worker's uni-address region, the stacks of its nested tasks; rounded up to 64K",
     [](std::string_view t, settings& s) {
       s.stack_given = true;
       std::string good = read_size(t, stack_unit, 128 * mib, s.stack_bytes);
       s.stack_bytes = (s.stack_bytes + stack_unit - 1) / stack_unit * stack_unit;
       return good;
     },
     [](const settings& s) { return format_size(s.stack_bytes); }},
    {"TOBI_TASK_STACK_SIZE", "size", "16K..1G", "stack of each task that has begun, with TOBI_SCHED=child_full",
     [](std::string_view t, settings& s) { return read_size(t, 16 * kib, gib, s.task_stack_bytes); },
     [](const settings& s) { return format_size(s.task_stack_bytes); }},
    {"TOBI_HEAP_SIZE", "size", "16M..64G", "a worker's registered heap: address space, memory when it is used",
     [](std::string_view t, settings& s) {
       s.heap_given = true;
       return read_size(t, 16 * mib, 64 * gib, s.heap_bytes);
     },
     [](const settings& s) { return format_size(s.heap_bytes); }},
    {"TOBI_DEQUE_SIZE", "integer", "256..16M", "how many forks may be nested on one worker",
     [](std::string_view t, settings& s) { return read_deque_size(t, s.deque_entries); },
     [](const settings& s) { return format_size(s.deque_entries); }},
    {"TOBI_LOCAL_COLLECTION", "flag", "0|1|off|on|false|true",
     "the owner finds what others have freed; 0: they take a lock and put it into its queue",
     [](std::string_view t, settings& s) { return read_choice(t, flag_names, s.local_collection); },
     [](const settings& s) { return name_of(flag_names, s.local_collection); }},
    {"TOBI_CACHE_POLICY", "choice", "none|write_through|write_back|write_back_lazy",
     "when what a task wrote to global memory of other nodes goes there",
     [](std::string_view t, settings& s) { return read_choice(t, cache_names, s.caching); },
     [](const settings& s) { return name_of(cache_names, s.caching); }},
    {"TOBI_CACHE_SIZE", "size", "4K..64G", "a worker's cache of global memory of other nodes",
     [](std::string_view t, settings& s) { return read_size(t, 4 * kib, 64 * gib, s.cache_bytes); },
     [](const settings& s) { return format_size(s.cache_bytes); }},
    {"TOBI_BLOCK_SIZE", "size", "4K..1G", "unit of global memory that is mapped and distributed; a power of two",
     [](std::string_view t, settings& s) { return read_power_of_two(t, 4 * kib, gib, s.block_bytes); },
     [](const settings& s) { return format_size(s.block_bytes); }},
    {"TOBI_SUB_BLOCK_SIZE", "size", "8..1G", "unit of global memory that is fetched, at most a block; a power of two",
     [](std::string_view t, settings& s) { return read_power_of_two(t, 8, gib, s.sub_block_bytes); },
     [](const settings& s) { return format_size(s.sub_block_bytes); }},
    {"TOBI_GLOBAL_SIZE", "size", "1M..64T", "addresses for what all workers allocate together",
     [](std::string_view t, settings& s) { return read_size(t, mib, 64 * 1024 * gib, s.global_bytes); },
     [](const settings& s) { return format_size(s.global_bytes); }},
    {"TOBI_MAP_LIMIT", "integer", "8..1000000000", "kernel mappings that the global memory may make",
     [](std::string_view t, settings& s) { return read_number<std::size_t>(t, 8, 1'000'000'000, s.map_limit); },
     [](const settings& s) { return s.map_limit == 0 ? "half of vm.max_map_count" : std::to_string(s.map_limit); }},
    {"TOBI_DEBUG_GLOBAL", "flag", "0|1|off|on|false|true",
     "report checkouts of global memory that overlap at the same time, one of them for writing",
     [](std::string_view t, settings& s) { return read_choice(t, flag_names, s.debug_global); },
     [](const settings& s) { return name_of(flag_names, s.debug_global); }},
    {"TOBI_PIN", "choice", "auto|none", "bind each worker to a core, where there are enough cores",
     [](std::string_view t, settings& s) { return read_choice(t, pin_names, s.pin); },
     [](const settings& s) { return name_of(pin_names, s.pin); }},
    {"TOBI_STATS", "flag", "0|1|off|on|false|true", "count forks too, and print the statistics at the end",
     [](std::string_view t, settings& s) { return read_choice(t, flag_names, s.stats); },
     [](const settings& s) { return name_of(flag_names, s.stats); }},
    {"TOBI_TRACE", "name", "", "write what each worker did, and when, to this file (Perfetto and tobi-report open it)",
     [](std::string_view t, settings& s) -> std::string {
       if (t.empty()) return "the name of a file";
       s.trace = t;
       return "";
     },
     [](const settings& s) { return s.trace; }},
    {"TOBI_TRACE_SIZE", "size", "4K..16G",
     "memory of a worker for what TOBI_TRACE records; when it is full the oldest goes",
     [](std::string_view t, settings& s) { return read_size(t, 4 * kib, 16 * gib, s.trace_bytes); },
     [](const settings& s) { return format_size(s.trace_bytes); }},
    {"TOBI_DEBUG_MIGRATE", "flag", "0|1|off|on|false|true",
     "move the continuation at every fork, to find pointers into other tasks' stacks",
     [](std::string_view t, settings& s) { return read_choice(t, flag_names, s.debug_migrate); },
     [](const settings& s) { return name_of(flag_names, s.debug_migrate); }},
    {"TOBI_LOG", "choice", "error|warn|info|debug|trace", "what is said on standard error",
     [](std::string_view t, settings& s) { return read_choice(t, level_names, s.log); },
     [](const settings& s) { return name_of(level_names, s.log); }},
};

const char* in_environment(const row& r) { return std::getenv(std::string(r.name).c_str()); }

// Nobody wants to read back a megabyte that a script has put there.
std::string quoted(std::string_view text) {
  constexpr std::size_t readable = 64;
  if (text.empty()) return "\"\"";
  return std::string(text.substr(0, readable)) + (text.size() > readable ? "..." : "");
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
  return std::min_element(
             std::begin(table), std::end(table),
             [&](const row& a, const row& b) { return edit_distance(a.name, start) < edit_distance(b.name, start); })
      ->name;
}

void warn_of_unknown_names() {
  static std::set<std::string, std::less<>> told;
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string_view entry = *e;
    const std::string_view name = entry.substr(0, entry.find('='));
    if (!name.starts_with("TOBI_")) continue;
    if (std::any_of(std::begin(table), std::end(table), [&](const row& r) { return r.name == name; })) continue;
    if (!told.emplace(name).second) continue;
    log(log_level::warn, quoted(name) + " is no setting and has no effect; the nearest one is " +
                             std::string(nearest_name(name)) + " (tobi-info --settings lists all).");
  }
}

}  // namespace

settings read_settings() {
  settings in_force;
  for (const row& r : table) {
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
  for (const row& r : table) {
    rows.push_back({r.name, r.type, r.choices, r.help, r.write(settings{}), r.write(in_force),
                    in_environment(r) != nullptr ? "environment" : "default"});
  }
  return rows;
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
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    names.push_back(list.substr(at, comma - at));
    at = comma + 1;
  }
  return names[static_cast<std::size_t>(rank) % names.size()];
}

}  // namespace tobi::base
