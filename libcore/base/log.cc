#include "libcore/base/log.hpp"

#include <unistd.h>

#include <array>
#include <cstring>

namespace tobi::base {

namespace {

constexpr std::array<std::string_view, 5> level_names{"", "warning: ", "info: ", "debug: ", "trace: "};

log_level threshold = log_level::warn;
void (*fatal_hook)(int) = nullptr;
// A plain array, not a string: signal handlers read it.
std::array<char, 320> identity{};
std::size_t identity_bytes = 0;

void write_line(std::string_view line) noexcept {
  while (!line.empty()) {
    const ssize_t n = ::write(STDERR_FILENO, line.data(), line.size());
    if (n <= 0) return;
    line.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace

void set_log_level(log_level level) noexcept { threshold = level; }
bool log_enabled(log_level level) noexcept { return level <= threshold; }

void set_log_identity(int rank) {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) std::strcpy(host.data(), "unknown host");
  const std::string text = "rank " + std::to_string(rank) + " on " + host.data();
  identity_bytes = text.copy(identity.data(), identity.size());
}

std::string_view log_identity() noexcept { return {identity.data(), identity_bytes}; }

void log(log_level level, std::string_view message) {
  if (!log_enabled(level)) return;
  std::string line = "tobi: ";
  line += level_names[static_cast<std::size_t>(level)];
  if (identity_bytes != 0) line.append(log_identity()).append(": ");
  line.append(message).append("\n");
  write_line(line);
}

void set_fatal_hook(void (*hook)(int exit_status)) noexcept { fatal_hook = hook; }

void fatal(std::string_view message, int exit_status) {
  log(log_level::error, message);
  if (fatal_hook != nullptr) fatal_hook(exit_status);
  _exit(exit_status);
}

void assertion_failed(const char* condition, const char* why, const char* file, int line) {
  fatal(std::string("a promise is broken: ") + why + " (" + condition + " at " + file + ":" + std::to_string(line) +
        ").");
}

}  // namespace tobi::base
