// SPDX-License-Identifier: Apache-2.0
#include "tests/emulators/utofu/options.hpp"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace emulated {

namespace {

[[noreturn]] void unknown(const std::string& item) {
  std::fprintf(stderr,
               "tofu emulator: TOFU_EMULATOR has \"%s\", which is not one of tofu1, lax, notices=always, order=writes, "
               "order=all, lines=ignore, lines=count, lines=report, lines=lose, seed=N, latency=NS, tnis=N, toq=N, "
               "mrq=N, desc=N.\n",
               item.c_str());
  std::exit(2);
}

struct number_row {
  std::string_view name;
  std::uint64_t options::*into;
  std::uint64_t low, high;
};
constexpr number_row numbers[] = {
    {"seed=", &options::seed, 0, ~std::uint64_t{0}},
    {"latency=", &options::latency_ns, 0, 1'000'000'000},
    {"tnis=", &options::tnis, 1, 6},
    {"toq=", &options::toq, 1, 1u << 20},
    {"mrq=", &options::mrq, 1, 1u << 20},
    {"desc=", &options::desc, 64, 1024},
};

void take(const std::string& item, options& o) {
  if (item == "tofu1") {
    o.tofu1 = true;
  } else if (item == "lax") {
    o.lax = true;
  } else if (item == "notices=always") {
    o.always_notices = true;
  } else if (item == "order=writes" || item == "order=all") {
    o.order = item == "order=all" ? ordering::all : ordering::writes;
  } else if (item == "lines=ignore" || item == "lines=count" || item == "lines=report" || item == "lines=lose") {
    const char c = item[6];
    o.lines = c == 'i'   ? shared_lines::ignore
              : c == 'c' ? shared_lines::count
              : c == 'r' ? shared_lines::report
                         : shared_lines::lose;
  } else {
    for (const number_row& row : numbers) {
      if (!item.starts_with(row.name)) continue;
      char* end = nullptr;
      const std::string digits = item.substr(row.name.size());
      const std::uint64_t n = std::strtoull(digits.c_str(), &end, 10);
      if (digits.empty() || *end != '\0' || n < row.low || n > row.high) break;
      o.*row.into = n;
      return;
    }
    unknown(item);
  }
}

options read() {
  options o;
  const char* list = std::getenv("TOFU_EMULATOR");
  std::string rest = list == nullptr ? "" : list;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    if (comma != 0) take(rest.substr(0, comma), o);
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
  }
  if (const char* machine = std::getenv("TOFU_EMULATOR_MACHINE"); machine != nullptr && *machine != '\0') {
    o.machine = machine;
  }
  if (const char* at = std::getenv("TOFU_EMULATOR_COORDS"); at != nullptr) {
    unsigned c[utofu::coordinates] = {};
    if (std::sscanf(at, "%u,%u,%u,%u,%u,%u", &c[0], &c[1], &c[2], &c[3], &c[4], &c[5]) != 6 || c[0] > 255 ||
        c[1] > 255 || c[2] > 255 || c[3] > 1 || c[4] > 2 || c[5] > 1) {
      std::fprintf(stderr, "tofu emulator: TOFU_EMULATOR_COORDS=%s is not X,Y,Z,A,B,C within 255,255,255,1,2,1.\n", at);
      std::exit(2);
    }
    for (std::size_t i = 0; i < utofu::coordinates; ++i) o.coords[i] = static_cast<std::uint8_t>(c[i]);
  }
  return o;
}

}  // namespace

const options& in_force() {
  static const options o = read();
  return o;
}

int breach(int code, const char* format, ...) {
  if (in_force().lax) return code;
  char text[512];
  va_list values;
  va_start(values, format);
  const int n = std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  char line[640];
  const int m = std::snprintf(line, sizeof line, "tofu emulator: %s (process %d; code %d).\n", n < 0 ? format : text,
                              static_cast<int>(getpid()), code);
  if (m > 0) static_cast<void>(!write(STDERR_FILENO, line, static_cast<std::size_t>(m)));
  std::abort();
}

}  // namespace emulated
