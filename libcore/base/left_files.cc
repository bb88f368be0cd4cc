// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/left_files.hpp"

#include <unistd.h>

#include <cerrno>

namespace tobi::base {

namespace {

left_file* noted_at[2] = {nullptr, nullptr};

}  // namespace

void note_files_at(left_file* a, left_file* b) noexcept {
  noted_at[0] = a;
  noted_at[1] = b;
}

void note_file(std::string_view path) noexcept {
  if (path.size() >= sizeof left_file::path) return;
  for (left_file* const files : noted_at) {
    for (std::size_t i = 0; files != nullptr && i < left_files_per_process; ++i) {
      left_file& f = files[i];
      if (f.noted.load(std::memory_order_relaxed) != 0) continue;
      f.path[path.copy(f.path, path.size())] = '\0';
      f.noted.store(1, std::memory_order_release);
      break;
    }
  }
}

void forget_file(std::string_view path) noexcept {
  for (left_file* const files : noted_at) {
    for (std::size_t i = 0; files != nullptr && i < left_files_per_process; ++i) {
      if (files[i].noted.load(std::memory_order_relaxed) != 0 && path == files[i].path) {
        files[i].noted.store(0, std::memory_order_relaxed);
      }
    }
  }
}

void remove_files(left_file* first, std::size_t n) noexcept {
  const int saved_errno = errno;
  for (left_file* f = first; f != first + n; ++f) {
    if (f->noted.exchange(0, std::memory_order_acquire) != 0) unlink(f->path);
  }
  errno = saved_errno;
}

}  // namespace tobi::base
