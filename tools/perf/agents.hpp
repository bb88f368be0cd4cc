// SPDX-License-Identifier: Apache-2.0
// A measurement in parts between the processes of a launcher, or of two hosts that have met. Each of them is an agent:
// for each part it starts a process, as tobi-perf does on one machine, and sleeps meanwhile. So a part may be of any
// two of them, or of some, and a runtime, whose library a process can start only once. The processes of a part meet
// over TCP: at that of the first agent, or, where two hosts met without a launcher, where these did.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "tools/perf/parts.hpp"

namespace tobi_perf {

class agents final : public starter {
 public:
  /// Collective over JOB, which outlives this.
  agents(tobi::bootstrap::bootstrap& job, const tobi::base::settings& in_force);

  /// Rank 0 of the job: the starter of run_sheets().
  [[nodiscard]] std::string why_not(int processes) const override;
  [[nodiscard]] int most() const override { return job_.size(); }
  [[nodiscard]] std::string begin(const part& p) override;
  void end() override { meet("end", ""); }
  /// There are no more parts.
  void quit() { meet("part", ""); }
  /// The other ranks, until then.
  void serve();

 private:
  /// Ranks of the job in the order in which they take part: the second one is on another node, if there is one.
  [[nodiscard]] std::vector<int> order() const;
  /// This one's in that order: its rank in a part.
  [[nodiscard]] std::ptrdiff_t place() const {
    return std::find(order_.begin(), order_.end(), job_.rank()) - order_.begin();
  }
  /// Where the first agent's processes can be reached from here. Collective.
  [[nodiscard]] std::string find_way() const;
  /// What rank 0 says, where all say WORD for the same time.
  std::string meet(const char* word, const std::string& text);
  [[nodiscard]] std::string command_here(const part& p, int processes, int port) const;

  tobi::bootstrap::bootstrap& job_;
  const tobi::base::settings& settings_;
  const bool met_;          // two processes without a launcher
  std::string way_;         // to the first agent; "": it cannot be reached
  std::vector<int> order_;  // see order()
  std::vector<int> cores_;  // of the node of each rank
  int meetings_ = 0;
};

}  // namespace tobi_perf
