// SPDX-License-Identifier: Apache-2.0
// The command line of ramp.
#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <string>

#include "tools/bench/subcommands.hpp"

namespace tobi_bench {

namespace {

constexpr double longest_leaf_s = 60;

// "50ms" as seconds; what is no time between a microsecond and a minute is 0.
double seconds_in(const std::string& text) {
  double number = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, text.data() + text.size());
  const double scale = unit == "us" ? 1e-6 : unit == "ms" ? 1e-3 : unit == "s" ? 1 : 0;
  const double seconds = number * scale;
  if (wrong != std::errc{} || !std::isfinite(seconds)) return 0;
  return seconds >= 1e-6 && seconds <= longest_leaf_s ? seconds : 0;
}

}  // namespace

void add_ramp(CLI::App& app, arguments& a) {
  auto* ramp = app.add_subcommand("ramp", "time, in leaves, of programs of a few long leaves: how fast work spreads");
  ramp->add_option_function<std::string>(
          "--leaf", [&a](const std::string& text) { a.ramp.leaf_s = seconds_in(text); },
          "length of a leaf: a number and us, ms or s, at most 60s (default: 50ms)")
      ->check([](const std::string& text) {
        return seconds_in(text) > 0 ? std::string()
                                    : text +
                                          " is no length of a leaf: give a number and us, ms or s, such as 50ms, "
                                          "from 1us to 60s";
      });
  ramp->add_option("--leaves", a.ramp.leaves,
                   "leaves of a run, but for burst and pair, which have 2 (default: one per worker)")
      ->check(CLI::Range(1, 65535));
  auto* busy =
      ramp->add_flag("--busy", a.ramp.busy, "leaves spin until the wall clock ends them: a core for each worker");
  ramp->add_flag("--sleep")->description("leaves sleep (default)")->excludes(busy);
  ramp->add_option("--shape", a.ramp.shape, "one program alone (default: all)")
      ->check(CLI::IsMember({"tree", "parallel_for", "parallel_invoke", "finish", "promises", "burst", "pair",
                             "collection", "collection_even", "all"}));
  common_options(*ramp, a, "runs behind the first, which is shown apart (default: 5)", "shape");
}

}  // namespace tobi_bench
