// SPDX-License-Identifier: Apache-2.0
// Files for tobi-report: a trace, or lines of --json. In a soak (PAGES) what is read is also drawn, and made a page.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tools/report/activity.hpp"
#include "tools/report/results.hpp"
#ifdef PAGES
#include "tools/report/figures.hpp"
#include "tools/report/print.hpp"
#endif

namespace {

using namespace tobi_report;

void report(const std::string& file) {
  std::vector<line> results;
  if (looks_like_trace(file)) {
    const trace read = read_trace(file);
    const activity seen = analyse(read);
    results.push_back(to_json(read, seen));
#ifdef PAGES
    for (const std::string_view name : figure_names) (void)figure(name, read, seen);
    (void)page({{read, seen}}, results, {});
#endif
  } else {
    std::vector<line> read;
    read_results(file, read);
    results = medians(read);
#ifdef PAGES
    (void)page({}, results, {});
#endif
  }
  for (const line& l : results) {
    (void)title_of(l);
    (void)setting_of(l);
    (void)l.dump(-1, ' ', false, line::error_handler_t::replace);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  static const int fd = memfd_create("input", MFD_CLOEXEC);
  static const std::string file = "/proc/self/fd/" + std::to_string(fd);
  if (ftruncate(fd, 0) != 0 || pwrite(fd, data, bytes, 0) != static_cast<ssize_t>(bytes)) return 0;
  try {
    report(file);
  } catch (const bad_input&) {
  } catch (const nlohmann::json::exception&) {  // as main() of the tool
  }
  return 0;
}
