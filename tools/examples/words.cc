// SPDX-License-Identifier: Apache-2.0
// Parsing of a text: how often each request comes in the log of a web server. Each worker maps the file (mapped_file),
// and counts in a table of its own (per_worker). A body gets a range of bytes, and treats the lines that begin there
// (for_lines). The tables are brought to rank 0 (gather), and added up.
#include <algorithm>
#include <cstdio>
#include <string>
#include <tobi/tobi.hpp>
#include <unordered_map>
#include <vector>

using table = std::unordered_map<std::string_view, std::size_t>;

struct entry {
  std::size_t at, length, count;  // the key by its place in the file, which is the same on all workers
};

// Makes a file with the same contents on every worker, which each has for itself.
std::string make_log() {
  std::FILE* const log = std::tmpfile();
  if (log == nullptr) return "a temporary file";  // which mapped_file says
  for (unsigned i = 0, random = 1; i < 40'000; ++i, random = random * 1664525 + 1013904223)
    std::fprintf(log, "10.0.0.%u - - [01/Mar/2024:12:00:00 +0000] \"GET /page/%u HTTP/1.1\" %u 5120\n", i % 251,
                 (random >> 8) % (i % 100 + 1), (random >> 8) % 31 == 0 ? 404u : 200u);
  std::fflush(log);
  return "/proc/self/fd/" + std::to_string(fileno(log));
}

// The request and its status: from the first quote of a line to 5 characters behind the second one.
std::string_view key_of(std::string_view line) {
  const std::size_t from = line.find('"'), to = line.find('"', from + 1);
  return to == line.npos ? line : line.substr(from, to + 5 - from);
}

int main(int argc, char** argv) {
  tobi::runtime rt(argc, argv);
  tobi::mapped_file file(argc > 1 ? argv[1] : make_log());
  tobi::per_worker<table> counts;
  tobi::run([file = file.handle(), counts = counts.handle()] {
    tobi::parallel_for(std::size_t{0}, file.text().size(), [=](std::size_t first, std::size_t last) {
      table& mine = *counts;  // up to the next spawn or join
      tobi::for_lines(file.text(), first, last, [&](std::string_view line) { ++mine[key_of(line)]; });
    });
  });
  const char* const text = file.text().data();
  std::vector<entry> mine;
  for (const auto& [key, n] : *counts) mine.push_back({static_cast<std::size_t>(key.data() - text), key.size(), n});
  table all;
  std::size_t lines = 0;
  std::pair<std::size_t, std::string> most;
  for (const entry& e : rt.gather(mine)) {
    const std::string_view key(text + e.at, e.length);
    most = std::max(most, {all[key] += e.count, std::string(key)});
    lines += e.count;
  }
  if (rt.rank() == 0) std::printf("%zu of %zu lines: %s\n", most.first, lines, most.second.c_str());
  std::size_t wanted = 0;
  tobi::for_lines(file.text(), 0, file.text().size(), [&](std::string_view) { ++wanted; });
  return rt.rank() != 0 || lines == wanted ? 0 : 1;
}
