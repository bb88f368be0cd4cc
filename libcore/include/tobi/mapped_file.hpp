// SPDX-License-Identifier: Apache-2.0
// Input that every worker has: a file that each of them maps for itself, for tasks to read where they run. Nothing is
// copied and nothing goes over the network but what the file system does.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "tobi/per_worker.hpp"

namespace tobi {

namespace detail {
extern "C" {
/// Maps the file at PATH for reading, and sets BYTES. Ends the job where it cannot. Null: the file is empty.
const char* tobi_file_map(const char* path, std::size_t* bytes);
void tobi_file_unmap(const char* at, std::size_t bytes) noexcept;
}

/// A mapping of this process.
class file_mapping {
 public:
  explicit file_mapping(const std::string& path) : at_(tobi_file_map(path.c_str(), &bytes_)) {}
  ~file_mapping() { tobi_file_unmap(at_, bytes_); }
  file_mapping(const file_mapping&) = delete;
  file_mapping& operator=(const file_mapping&) = delete;
  [[nodiscard]] std::string_view text() const noexcept { return {at_, bytes_}; }

 private:
  std::size_t bytes_ = 0;
  const char* at_;
};
}  // namespace detail

#ifdef TOBI_ELIDE
inline namespace elided {
#endif

/// line(text) for each line that begins in the bytes [BEGIN, END) of TEXT, in order, also where it ends behind END. So
/// each line of a text is that of one part, wherever the parts meet. A line is given without the NEWLINE at its end; a
/// carriage return before that is the line's. The last line may lack it, and nothing behind the last NEWLINE is no
/// line. LINE neither forks nor joins, where TEXT is a file's. Does not migrate the caller.
/// @code
/// tobi::mapped_file file("/proc/self/exe");
/// const auto longest = [](std::string_view text, std::size_t begin, std::size_t end) {
///   std::size_t most = 0;
///   tobi::for_lines(text, begin, end, [&](std::string_view line) { most = std::max(most, line.size()); });
///   return most;
/// };
/// const std::size_t found = tobi::run([=, file = file.handle()] {
///   const auto in_part = [=](std::size_t begin, std::size_t end) { return longest(file.text(), begin, end); };
///   const auto larger = [](std::size_t a, std::size_t b) { return std::max(a, b); };
///   return tobi::parallel_reduce(std::size_t{0}, file.text().size(), std::size_t{0}, in_part, larger);
/// });
/// if (rt.rank() == 0) std::printf("%d\n", found == longest(file.text(), 0, file.text().size()));  // prints 1
/// @endcode
template <class Line>
void for_lines(std::string_view text, std::size_t begin, std::size_t end, Line&& line, char newline = '\n') {
  if (begin >= end) return;
  // Where the part's first byte is in a line that has begun before it, that line ends first.
  std::size_t at = begin == 0 ? 0 : text.find(newline, begin - 1) + 1;
  if (begin != 0 && at == 0) return;
  while (at < end && at < text.size()) {
    const std::size_t stop = std::min(text.find(newline, at), text.size());
    line(text.substr(at, stop - at));
    at = stop + 1;
  }
}

/// A mapped_file as tasks name it. It is trivially copyable, and captured by value.
class mapped_file_handle {
 public:
  /// Made by mapped_file::handle().
  explicit mapped_file_handle(per_worker_handle<detail::file_mapping> file) noexcept : file_(file) {}
  /// Returns the file's bytes. The pointer is this worker's: a task uses it up to its next spawn or join. Lines of a
  /// part are those of for_lines().
  [[nodiscard]] std::string_view text() const noexcept { return file_->text(); }

 private:
  per_worker_handle<detail::file_mapping> file_;
};

/// A file that every worker maps, in main, for reading. It must be in reach of all hosts under the same name, and must
/// not change meanwhile. Ends the job with a sentence where it cannot be read.
/// @code
/// long lines(std::string_view text) { return std::count(text.begin(), text.end(), '\n'); }
///
/// tobi::mapped_file file("/proc/self/exe");
/// const std::size_t parts = file.text().size() / 4096 + 1;
/// const long found = tobi::run([=, file = file.handle()] {
///   const auto in_part = [=](std::size_t k) { return lines(file.text().substr(4096 * k, 4096)); };
///   return tobi::parallel_reduce(std::size_t{0}, parts, 1, 0L, in_part, std::plus<>());
/// });
/// if (rt.rank() == 0) std::printf("%d\n", found == lines(file.text()));  // prints 1
/// @endcode
class mapped_file {
 public:
  /// The type of handle(), for parameters and members of what tasks capture.
  using handle_type = mapped_file_handle;

  /// Maps the file at PATH.
  explicit mapped_file(const std::string& path) : file_(path) {}
  /// Returns what tasks capture.
  [[nodiscard]] handle_type handle() const noexcept { return handle_type(file_.handle()); }
  /// In main: the file's bytes.
  [[nodiscard]] std::string_view text() const noexcept { return file_->text(); }

 private:
  per_worker<detail::file_mapping> file_;
};

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
