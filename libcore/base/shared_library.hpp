// SPDX-License-Identifier: Apache-2.0
// A shared library that is loaded when it is needed: a program that never needs it does not need it installed, and one
// that does gets a sentence instead of the loader's.
#pragma once

#include <dlfcn.h>

#include <initializer_list>
#include <string>

namespace tobi::base {

/// A row of a table of functions: its name in the library, and the pointer that it goes to.
class function_row {
 public:
  template <class Function>
  function_row(const char* name, Function*& into) noexcept
      : name_(name),
        into_(&into),
        store_([](void* at, void* function) { *static_cast<Function**>(at) = reinterpret_cast<Function*>(function); }) {
  }

  [[nodiscard]] const char* name() const noexcept { return name_; }
  void take(void* function) const noexcept { store_(into_, function); }

 private:
  const char* name_;
  void* into_;
  void (*store_)(void* at, void* function);
};

/// Never closed: such a library has threads, handlers and memory of its own until the process ends.
class shared_library {
 public:
  shared_library() = default;
  explicit shared_library(const std::string& file, int mode = RTLD_NOW | RTLD_LOCAL)
      : handle_(dlopen(file.c_str(), mode)) {
    if (handle_ != nullptr) return;
    const char* why = dlerror();
    error_ = why == nullptr ? file : why;
  }

  [[nodiscard]] bool is_open() const noexcept { return handle_ != nullptr; }
  /// What the loader says where it is not open, or "".
  [[nodiscard]] const std::string& error() const noexcept { return error_; }
  /// A symbol of it, or null.
  [[nodiscard]] void* find(const char* name) const noexcept {
    return handle_ == nullptr ? nullptr : dlsym(handle_, name);
  }
  /// Looks all of TABLE up. Returns the last name that the library lacks, or null.
  [[nodiscard]] const char* resolve(std::initializer_list<function_row> table) const noexcept {
    const char* lacks = nullptr;
    for (const function_row& row : table) {
      void* const function = find(row.name());
      row.take(function);
      if (function == nullptr) lacks = row.name();
    }
    return lacks;
  }

 private:
  void* handle_ = nullptr;
  std::string error_;
};

}  // namespace tobi::base
