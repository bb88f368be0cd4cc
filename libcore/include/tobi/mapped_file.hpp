// SPDX-License-Identifier: Apache-2.0
// Input that every worker has: a file that each of them maps for itself, for tasks to read where they run. Nothing is
// copied and nothing goes over the network but what the file system does.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

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

/// A mapped_file as tasks name it. It is trivially copyable, and captured by value.
class mapped_file_handle {
 public:
  /// Made by mapped_file::handle().
  explicit mapped_file_handle(per_worker_handle<detail::file_mapping> file) noexcept : file_(file) {}
  /// Returns the file's bytes. The pointer is this worker's: a task uses it up to its next spawn or join.
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
  /// Maps the file at PATH.
  explicit mapped_file(const std::string& path) : file_(path) {}
  /// Returns what tasks capture.
  [[nodiscard]] mapped_file_handle handle() noexcept { return mapped_file_handle(file_.handle()); }
  /// In main: the file's bytes.
  [[nodiscard]] std::string_view text() noexcept { return file_->text(); }

 private:
  per_worker<detail::file_mapping> file_;
};

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
