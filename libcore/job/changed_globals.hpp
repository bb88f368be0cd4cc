// SPDX-License-Identifier: Apache-2.0
// TOBI_DEBUG_MIGRATE: which of the program's global variables tasks have changed. Each process has its own, so that
// what one task counts there others do not see, and main sees what happened to run in its process.
//
// A variable may also be meant for its process alone, a cache say. So this warns, once a variable, and goes on.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tobi::job {

class changed_globals {
 public:
  changed_globals();
  /// Why nothing is compared; "" if something is.
  [[nodiscard]] const std::string& blind() const noexcept { return blind_; }
  /// A run begins: keeps what the variables hold.
  void keep();
  /// It is over: the names of the variables that hold something else by now, and have not been named before.
  [[nodiscard]] std::vector<std::string> compare();

 private:
  struct variable {
    std::byte* at;
    std::size_t bytes;
    std::string symbol;
    std::unique_ptr<std::byte[]> kept;
    bool named = false;
  };
  void add(std::byte* at, std::size_t bytes, std::string_view symbol);
  [[nodiscard]] bool has_changed(const variable& v) const noexcept;
  /// Whether V is a local of a function that was made in this run.
  [[nodiscard]] bool is_new(const variable& v) const;

  std::vector<variable> all_;  // by symbol
  std::string blind_;
};

/// Whether a change of SYMBOL tells nothing: the runtime's own, the C++ library's, or the linker's.
[[nodiscard]] bool is_nobodys_variable(std::string_view symbol) noexcept;

}  // namespace tobi::job
