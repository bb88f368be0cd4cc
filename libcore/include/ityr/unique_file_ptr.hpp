// SPDX-License-Identifier: Apache-2.0
// A file that all processes map at one address, to be read by tasks without a checkout.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ityr/task.hpp"

namespace ityr {
namespace internal {

inline constexpr std::size_t longest_path = 4096;
struct file_request {
  std::array<char, longest_path> path;
  bool locked;
};
struct file_mapping {
  void* at;
  std::size_t bytes;
};

/// Maps the file at AT, or anywhere where AT is null. Null: it could not.
inline void* map_file_at(int file, std::size_t bytes, void* at) {
#ifdef MAP_FIXED_NOREPLACE
  const int fixed = at == nullptr ? 0 : MAP_FIXED_NOREPLACE;
#else
  const int fixed = 0;
#endif
  void* const got = mmap(at, bytes, PROT_READ, MAP_SHARED | fixed, file, 0);
  if (got == MAP_FAILED) return nullptr;
  if (at == nullptr || got == at) return got;
  munmap(got, bytes);
  return nullptr;
}

/// All processes, outside of tasks. Throws std::runtime_error in all of them where one cannot.
inline file_mapping map_file(const file_request& what) {
  tobi::runtime& rt = tobi::detail::the_runtime();
  const auto all = [&rt](bool mine) { return rt.reduce(mine ? 1 : 0) == rt.size(); };
  const std::string path = what.path.data();
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat about {};
  const bool is_there = file >= 0 && fstat(file, &about) == 0 && about.st_size > 0;
  const auto bytes = static_cast<std::size_t>(about.st_size);
  const std::size_t of_master = rt.broadcast(bytes);
  file_mapping made{nullptr, bytes};
  const char* wrong = nullptr;
  if (!all(is_there && bytes == of_master)) {
    wrong = " cannot be read by all processes, is empty, or differs between them";
  } else {
    // Process 0 chooses a place. Those that were not free everywhere stay taken meanwhile, so that each is another one.
    constexpr int tries = 16;
    std::vector<void*> refused;
    for (int i = 0; i < tries && made.at == nullptr; ++i) {
      void* mine = rt.rank() == 0 ? map_file_at(file, bytes, nullptr) : nullptr;
      void* const place = rt.broadcast(mine);
      if (rt.rank() != 0 && place != nullptr) mine = map_file_at(file, bytes, place);
      if (all(mine != nullptr)) {
        made.at = mine;
      } else if (mine != nullptr) {
        refused.push_back(mine);
      }
    }
    for (void* const each : refused) munmap(each, bytes);
    if (made.at == nullptr) wrong = " finds no place at which all processes can map it";
  }
  if (file >= 0) close(file);
  if (wrong != nullptr) throw std::runtime_error("tobi: the file " + path + wrong);
  if (what.locked && !all(mlock(made.at, bytes) == 0)) {
    munmap(made.at, bytes);
    throw std::runtime_error("tobi: the file " + path + " cannot be locked in memory; see ulimit -l");
  }
  return made;
}

}  // namespace internal

/// Owns such a mapping. It is made and ended by all processes together in main, or by a task.
template <class T>
class unique_file_ptr {
 public:
  using element_type = T;
  using pointer = const T*;

  constexpr unique_file_ptr() noexcept = default;
  constexpr unique_file_ptr(std::nullptr_t) noexcept {}
  explicit unique_file_ptr(const std::string& path, bool locked = false) {
    internal::file_request what{{}, locked};
    if (path.size() >= what.path.size()) throw std::runtime_error("tobi: the path of a file is too long: " + path);
    std::memcpy(what.path.data(), path.c_str(), path.size() + 1);
    made_ = coll_exec([](const internal::file_request& wanted) { return internal::map_file(wanted); }, what);
  }
  unique_file_ptr(const unique_file_ptr&) = delete;
  unique_file_ptr& operator=(const unique_file_ptr&) = delete;
  unique_file_ptr(unique_file_ptr&& other) noexcept : made_(std::exchange(other.made_, {})) {}
  unique_file_ptr& operator=(unique_file_ptr&& other) noexcept {
    if (this == &other) return *this;
    reset();
    made_ = std::exchange(other.made_, {});
    return *this;
  }
  ~unique_file_ptr() { reset(); }

  [[nodiscard]] pointer get() const noexcept { return static_cast<pointer>(made_.at); }
  [[nodiscard]] std::size_t size() const noexcept { return made_.bytes / sizeof(T); }
  explicit operator bool() const noexcept { return made_.at != nullptr; }
  const T& operator*() const noexcept { return *get(); }
  pointer operator->() const noexcept { return get(); }
  const T& operator[](std::size_t i) const noexcept { return get()[i]; }
  pointer release() noexcept { return static_cast<pointer>(std::exchange(made_, {}).at); }
  void swap(unique_file_ptr& other) noexcept { std::swap(made_, other.made_); }
  friend bool operator==(const unique_file_ptr& a, const unique_file_ptr& b) noexcept { return a.get() == b.get(); }
  friend bool operator==(const unique_file_ptr& a, std::nullptr_t) noexcept { return a.get() == nullptr; }

 private:
  void reset() noexcept {
    if (made_.at == nullptr) return;
    coll_exec([](internal::file_mapping old) { munmap(old.at, old.bytes); }, std::exchange(made_, {}));
  }

  internal::file_mapping made_{nullptr, 0};
};

/// Maps the file at PATH, in memory that stays there if LOCKED.
template <class T>
unique_file_ptr<T> make_unique_file(const std::string& path, bool locked = false) {
  return unique_file_ptr<T>(path, locked);
}

}  // namespace ityr
