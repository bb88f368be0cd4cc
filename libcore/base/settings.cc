#include "libcore/base/settings.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <vector>

extern char** environ;

namespace tobi::base {

namespace {

constexpr std::size_t kib = 1024;
constexpr std::size_t mib = 1024 * kib;
constexpr std::size_t gib = 1024 * mib;

// A row of the table: how its text becomes a field of settings. `read` answers "" or what a good value is.
struct row {
  std::string_view name, type, choices, default_value, help;
  std::string (*read)(std::string_view text, settings& into);
};

bool parse_integer(std::string_view text, std::int64_t& value) noexcept {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

std::string read_size(std::string_view text, std::size_t low, std::size_t high, std::size_t& into) {
  std::uint64_t bytes = 0;
  if (!parse_size(text, bytes) || bytes < low || bytes > high) {
    return "a size from " + format_size(low) + " to " + format_size(high) + ", such as " + format_size(low * 4);
  }
  into = bytes;
  return "";
}

template <class T, std::size_t N>
std::string read_choice(std::string_view text, const std::array<std::pair<std::string_view, T>, N>& choices, T& into) {
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

constexpr std::array<std::pair<std::string_view, bool>, 6> flag_values{
    {{"0", false}, {"1", true}, {"off", false}, {"on", true}, {"false", false}, {"true", true}}};

std::string read_workers(std::string_view text, settings& into) {
  std::int64_t n = 0;
  if (!parse_integer(text, n) || n < 1 || n > 65535) return "a number of processes from 1 to 65535";
  into.workers = static_cast<int>(n);
  return "";
}
std::string read_transport(std::string_view text, settings& into) {
  if (text.empty()) return "auto or the name of a transport (tobi-info lists them)";
  into.transport = text;
  return "";
}
std::string read_deque(std::string_view text, settings& into) {
  constexpr std::array<std::pair<std::string_view, deque_kind>, 2> kinds{
      {{"steal_word", deque_kind::steal_word}, {"the", deque_kind::the}}};
  return read_choice(text, kinds, into.deque);
}
std::string read_stack(std::string_view text, settings& into) {
  return read_size(text, 64 * kib, 128 * mib, into.stack_bytes);
}
std::string read_heap(std::string_view text, settings& into) {
  return read_size(text, 16 * mib, 64 * gib, into.heap_bytes);
}
std::string read_deque_size(std::string_view text, settings& into) {
  std::uint64_t n = 0;
  if (!parse_size(text, n) || n < 256 || n > 16 * mib) return "a number of nested forks from 256 to 16M";
  into.deque_entries = n;
  return "";
}
std::string read_pin(std::string_view text, settings& into) {
  constexpr std::array<std::pair<std::string_view, pin_policy>, 2> kinds{
      {{"auto", pin_policy::automatic}, {"none", pin_policy::none}}};
  return read_choice(text, kinds, into.pin);
}
std::string read_stats(std::string_view text, settings& into) { return read_choice(text, flag_values, into.stats); }
std::string read_migrate(std::string_view text, settings& into) {
  return read_choice(text, flag_values, into.debug_migrate);
}
std::string read_log(std::string_view text, settings& into) {
  constexpr std::array<std::pair<std::string_view, log_level>, 5> levels{{{"error", log_level::error},
                                                                          {"warn", log_level::warn},
                                                                          {"info", log_level::info},
                                                                          {"debug", log_level::debug},
                                                                          {"trace", log_level::trace}}};
  return read_choice(text, levels, into.log);
}

constexpr row table[] = {
    {"TOBI_WORKERS", "integer", "1..65535", "a core each", "how many worker processes to run on this machine",
     read_workers},
    {"TOBI_TRANSPORT", "name", "auto|self|shm", "auto", "what moves the bytes between workers", read_transport},
    {"TOBI_DEQUE", "choice", "steal_word|the", "steal_word", "the protocol between victim and thieves", read_deque},
    {"TOBI_STACK_SIZE", "size", "64K..128M", "64M", "a worker's uni-address region: the stacks of its nested tasks",
     read_stack},
    {"TOBI_HEAP_SIZE", "size", "16M..64G", "1G", "a worker's registered heap: address space, used when needed",
     read_heap},
    {"TOBI_DEQUE_SIZE", "integer", "256..16M", "1M", "how many forks may be nested on one worker", read_deque_size},
    {"TOBI_PIN", "choice", "auto|none", "auto", "bind each worker to a core, where there are enough cores", read_pin},
    {"TOBI_STATS", "flag", "0|1", "0", "count forks too, and print the statistics at the end", read_stats},
    {"TOBI_DEBUG_MIGRATE", "flag", "0|1", "0",
     "move the continuation at every fork, to find pointers into other tasks' stacks", read_migrate},
    {"TOBI_LOG", "choice", "error|warn|info|debug|trace", "warn", "what is said on standard error", read_log},
};

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> here(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    here[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      here[j] = std::min({above[j] + 1, here[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
    }
    std::swap(above, here);
  }
  return above[b.size()];
}

void warn_of_unknown_names() {
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string_view entry = *e;
    const std::string_view name = entry.substr(0, entry.find('='));
    if (!name.starts_with("TOBI_")) continue;
    if (std::any_of(std::begin(table), std::end(table), [&](const row& r) { return r.name == name; })) continue;
    const row* nearest = std::min_element(std::begin(table), std::end(table), [&](const row& a, const row& b) {
      return edit_distance(a.name, name) < edit_distance(b.name, name);
    });
    log(log_level::warn, std::string(name) + " is no setting and has no effect; the nearest one is " +
                             std::string(nearest->name) + " (tobi-info --settings lists all).");
  }
}

}  // namespace

settings read_settings() {
  settings in_force;
  for (const row& r : table) {
    const char* text = std::getenv(std::string(r.name).c_str());
    if (text == nullptr) continue;
    const std::string wanted = r.read(text, in_force);
    if (!wanted.empty()) fatal(std::string(r.name) + "=" + text + " is not " + wanted + ".", exit_usage);
  }
  set_log_level(in_force.log);
  warn_of_unknown_names();
  return in_force;
}

std::span<const setting_row> settings_table() {
  static const std::vector<setting_row> rows = [] {
    (void)read_settings();
    std::vector<setting_row> made;
    for (const row& r : table) {
      const char* text = std::getenv(std::string(r.name).c_str());
      made.push_back({r.name, r.type, r.choices, r.default_value, r.help,
                      text != nullptr ? text : std::string(r.default_value),
                      text != nullptr ? "environment" : "default"});
    }
    return made;
  }();
  return rows;
}

bool parse_size(std::string_view text, std::uint64_t& bytes) noexcept {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end == text.data()) return false;
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  int shift = 0;
  if (!unit.empty()) {
    constexpr std::string_view letters = "KMGT";
    const auto upper = [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; };
    if (const std::size_t at = letters.find(upper(unit[0])); at != std::string_view::npos) {
      shift = 10 * (static_cast<int>(at) + 1);
      unit.remove_prefix(1);
      if (!unit.empty() && upper(unit[0]) == 'I') {
        unit.remove_prefix(1);
        if (unit.empty()) return false;
      }
    }
    if (!unit.empty() && upper(unit[0]) == 'B') unit.remove_prefix(1);
    if (!unit.empty()) return false;
  }
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

}  // namespace tobi::base
