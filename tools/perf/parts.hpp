// SPDX-License-Identifier: Apache-2.0
// A measurement in parts, each by processes of its own, so that none inherits what another opened, started or bound.
#pragma once

#include <string>
#include <vector>

#include "tools/perf/arguments.hpp"
#include "tools/perf/sheet.hpp"
#include "tools/perf/work.hpp"

namespace tobi_perf {

/// One of them.
struct part {
  arguments of;
  std::string transport;
  std::string deque = {};  // TOBI_DEQUE; "": as it is
};
/// For the shell: this program, which measures PART and prints rows. SETTINGS are for env, which is before it.
[[nodiscard]] std::string command_of(const part& p, const std::string& settings, const std::string& flags = "");

/// Where the processes of a part run. This process gathers the rows of rank 0, which is its child.
class starter {
 public:
  starter() = default;
  starter(const starter&) = delete;
  starter& operator=(const starter&) = delete;
  virtual ~starter() = default;

  /// "" or why so many processes cannot measure at once.
  [[nodiscard]] virtual std::string why_not(int processes) const = 0;
  /// How many can, at least two.
  [[nodiscard]] virtual int most() const = 0;
  /// P begins, elsewhere too. Returns the command of its rank 0.
  [[nodiscard]] virtual std::string begin(const part& p) = 0;
  /// Rank 0 of it has ended. Returns when all have.
  virtual void end() = 0;
};
/// Rank 0 forks the others.
class on_this_machine final : public starter {
 public:
  [[nodiscard]] std::string why_not(int processes) const override;
  [[nodiscard]] int most() const override;
  [[nodiscard]] std::string begin(const part& p) override;
  void end() override {}
};

/// What a part's rank 0 has said.
struct gathered {
  std::vector<row> rows;
  std::vector<std::string> notes;
};
/// Runs P, and prints and keeps its rows; those of a sheet are printed at its end. Returns the exit status.
int gather(starter& where, const part& p, gathered& into);
/// The same with each deque.
int gather_deques(starter& where, const part& p, gathered& into);

/// False where A names a file for the page that cannot be made.
[[nodiscard]] bool can_write_page(const arguments& a);
/// tobi-perf all: the sheets of the transports that A names. Returns the exit status.
int run_sheets(starter& where, const arguments& a);
/// Writes SHEETS to the file that A names, if it names one. STATUS, or 1 where that cannot be.
int keep_sheets(const arguments& a, const std::vector<sheet>& sheets, int status);

}  // namespace tobi_perf
