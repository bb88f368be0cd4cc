// SPDX-License-Identifier: Apache-2.0
// tobi-report: what traces and results say, for people, for programs, and as a page.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "tools/command_line.hpp"
#include "tools/output.hpp"
#include "tools/plot/svg.hpp"
#include "tools/report/figures.hpp"
#include "tools/report/print.hpp"
#include "tools/report/verdict.hpp"
#include "tools/report/work_span.hpp"

namespace {

using namespace tobi_report;

[[noreturn]] void refuse(const std::string& why) { tobi_tools::refuse("tobi-report", why); }

struct arguments {
  std::vector<std::string> files;
  std::string html, papers;
  std::vector<std::string> svg;      // names and files, in turn
  std::vector<std::string> compare;  // two files
  std::string fail_above;
  std::string work_span;  // a file of TOBI_WORK_SPAN
  std::string steal;
  std::vector<std::string> measured;
  bool json = false;
  bool complete = false;
};

arguments parse(int argc, char** argv) {
  arguments a;
  const std::string names = fmt::format("{}", fmt::join(figure_names, ", "));
  CLI::App app("What traces (TOBI_TRACE) and the lines of tobi-bench, tobi-perf and tobi-info --json say.",
               "tobi-report");
  app.add_option("files", a.files, "traces and files of --json lines");
  app.add_flag("--json", a.json, "one JSON object per trace, and one per run (the median of those that repeat)");
  app.add_option("--html", a.html, "write a page with all figures to this file");
  app.add_option("--svg", a.svg, "NAME FILE: write one figure of the first trace; NAME is one of " + names)
      ->type_name("NAME FILE")
      ->expected(2);
  app.add_option("--compare", a.compare,
                 "FIRST SECOND: two files of --json lines of the same rows, 7 repeats or more of each in turn: which "
                 "rows are worse in the second")
      ->type_name("FIRST SECOND")
      ->expected(2);
  app.add_option("--fail-above", a.fail_above,
                 "with --compare: fail where a row is worse by more than this, such as 5%")
      ->type_name("PERCENT");
  app.add_option("--work-span", a.work_span,
                 "a file of TOBI_WORK_SPAN: work, span, and how fast the program can be on any number of workers")
      ->type_name("FILE");
  app.add_option("--steal", a.steal, "with --work-span: what a steal costs, 2us unless said, at most 200us")
      ->type_name("TIME");
  app.add_option("--measured", a.measured, "with --work-span: times to compare with, such as 1=0.52 2=0.27")
      ->type_name("WORKERS=SECONDS");
  app.add_option("--papers", a.papers, "the papers' numbers (tools/report/papers.json), to compare ours with");
  app.add_flag("--complete", a.complete, "fail where a result that --papers asks for is in none of the files");
  tobi_tools::parse(app, argc, argv, [](const CLI::ParseError& e) { return std::string(e.what()); });
  if (a.work_span.empty() && !(a.steal.empty() && a.measured.empty())) {
    refuse("--steal and --measured mean nothing without --work-span");
  }
  if (a.compare.empty() && !a.fail_above.empty()) refuse("--fail-above means nothing without --compare");
  if (a.files.empty() && a.work_span.empty() && a.compare.empty())
    refuse("name a trace or a file of --json lines first");
  if (a.complete && a.papers.empty()) refuse("--complete means nothing without --papers");
  if (!a.svg.empty() && std::find(figure_names.begin(), figure_names.end(), a.svg[0]) == figure_names.end()) {
    refuse(a.svg[0] + " is not one of " + names);
  }
  return a;
}

void write_or_refuse(const std::string& file, const std::string& text) {
  if (!tobi_plot::write_file(file, text)) refuse(file + " cannot be written");
}

std::optional<prediction> predicted(const arguments& a) {
  if (a.work_span.empty()) return {};
  span_question asked;
  if (!a.steal.empty()) asked.steal_ns = parse_duration_ns(a.steal);
  for (const std::string& one : a.measured) asked.measured.push_back(parse_measured(one));
  std::vector<line> read;
  read_results(a.work_span, read);
  if (read.size() != 1 || !read[0].contains("kind") || read[0].at("kind") != "work_span") {
    throw bad_input(a.work_span + " is not a file of TOBI_WORK_SPAN");
  }
  try {
    return predict(read[0], asked);
  } catch (const nlohmann::json::exception&) {
    throw bad_input(a.work_span + " is not a whole file of TOBI_WORK_SPAN");
  }
}

// Returns the exit status.
int compared(const arguments& a) {
  constexpr double usual_margin = 0.05;
  const double margin = a.fail_above.empty() ? usual_margin : parse_percent(a.fail_above);
  const comparison_of_files found = compare_files(a.compare[0], a.compare[1], margin);
  if (a.json) {
    for (const difference& d : found.apart) {
      fmt::print("{}\n", to_json(d).dump(-1, ' ', false, line::error_handler_t::replace));
    }
    for (const compared_times& row : found.rows) fmt::print("{}\n", to_json(row).dump());
    for (const std::string& what : found.missing) std::fprintf(stderr, "tobi-report: %s.\n", what.c_str());
  } else {
    print_comparison(found);
  }
  return !a.fail_above.empty() && has_failed(found) ? 1 : 0;
}

int run(const arguments& a) {
  if (!a.compare.empty()) {
    if (!a.files.empty() || !a.work_span.empty()) refuse("--compare takes two files and no others");
    return compared(a);
  }
  std::vector<traced> traces;
  std::vector<line> read;
  for (const std::string& file : a.files) {
    if (!looks_like_trace(file)) {
      read_results(file, read);
      continue;
    }
    traced t{read_trace(file), {}};
    t.seen = analyse(t.read);
    traces.push_back(std::move(t));
  }
  std::vector<line> results = medians(read);
  const std::size_t measured = results.size();
  for (const traced& t : traces) results.push_back(to_json(t.read, t.seen));
  const std::optional<prediction> spans = predicted(a);

  std::vector<comparison> papers;
  if (!a.papers.empty()) papers = compare(a.papers, results);
  if (!a.svg.empty()) {
    if (traces.empty()) refuse("--svg needs a trace");
    write_or_refuse(a.svg[1], figure(a.svg[0], traces[0].read, traces[0].seen));
  }
  if (!a.html.empty()) {
    write_or_refuse(a.html, page(traces, results, papers, spans ? prediction_of(a.work_span, *spans) : ""));
  }
  int status = 0;
  if (a.complete) {
    for (const std::string& what : not_found(a.papers, results)) {
      std::fprintf(stderr, "tobi-report: %s: %s\n", a.papers.c_str(), what.c_str());
      status = 1;
    }
  }
  if (a.json) {
    if (spans) results.push_back(to_json(*spans));
    for (const line& l : results) fmt::print("{}\n", l.dump(-1, ' ', false, line::error_handler_t::replace));
    return status;
  }
  for (const traced& t : traces) print_trace(t);
  print_results({results.begin(), results.begin() + static_cast<std::ptrdiff_t>(measured)});
  print_operations(results);
  print_ramp(results);
  print_comparisons(papers);
  if (spans) print_prediction(a.work_span, *spans);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  tobi_tools::must_be_written("tobi-report");
  const arguments a = parse(argc, argv);
  try {
    return run(a);
  } catch (const bad_input& why) {
    refuse(why.what());
  } catch (const nlohmann::json::exception& why) {
    refuse(std::string("an input has a field of another type than expected: ") + why.what());
  } catch (const std::bad_alloc&) {
    refuse("an input is too large for the memory of this machine");
  }
}
