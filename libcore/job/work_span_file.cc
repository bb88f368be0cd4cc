// SPDX-License-Identifier: Apache-2.0
#include "libcore/job/work_span_file.hpp"

#include <algorithm>
#include <cmath>

#include "arch/clock.hpp"

namespace tobi::job {

std::string work_span_line(const trace::measured_program& program, std::uint64_t job_ns) {
  const auto ns = [](std::int64_t cycles) {
    return static_cast<std::uint64_t>(
        std::llround(static_cast<double>(std::max<std::int64_t>(cycles, 0)) * arch::ns_per_cycle()));
  };
  std::string text = "{\"kind\":\"work_span\"";
  const auto field = [&text](const char* name, std::uint64_t n) {
    text.append(text.back() == '{' ? "\"" : ",\"").append(name).append("\":").append(std::to_string(n));
  };
  const auto one = [&](const trace::work_and_span& what) {
    field("forks", what.forks);
    field("work_ns", ns(what.work));
    field("span_ns", ns(what.path.span));
    field("forks_on_span", what.path.forks);
  };
  field("runs", program.runs);
  one(program.all);
  field("taken_off_ns", ns(program.all.taken_off));
  field("outside_ns", job_ns - std::min(job_ns, ns(program.in_runs)));
  field("interruptions", program.interruptions);
  text += ",\"burdened\":[";
  for (std::size_t i = 0; i < trace::burdens_ns.size(); ++i) {
    text += i == 0 ? "{" : ",{";
    field("steal_ns", trace::burdens_ns[i]);
    field("span_ns", ns(program.all.path.burdened[i]));
    text += '}';
  }
  text += "],\"each\":[";
  for (const trace::work_and_span& run : program.first) {
    text += &run == program.first.data() ? "{" : ",{";
    one(run);
    text += '}';
  }
  return text + "]}\n";
}

}  // namespace tobi::job
