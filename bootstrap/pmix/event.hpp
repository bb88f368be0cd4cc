// SPDX-License-Identifier: Apache-2.0
// Which client an event of PMIx is about. A server that runs several jobs may deliver what happened in one to the
// processes of another.
#pragma once

#include <cstdint>
#include <string_view>

namespace tobi::bootstrap::pmix {

struct process {
  std::string_view space;  // the namespace: which job; "": not said
  std::int64_t rank = -1;  // -1: none in particular
};

inline constexpr int the_server = -1;
inline constexpr int nobody_here = -2;

/// The client that is lost, of the job SPACE with CLIENTS of them: the one that is AFFECTED, or where that is not said,
/// the SOURCE of the event. the_server where it is the connection to it, or this job as a whole.
[[nodiscard]] constexpr int lost_client(std::string_view space, int clients, bool connection, process source,
                                        process affected) noexcept {
  if (connection) return the_server;
  const process& who = affected.space.empty() ? source : affected;
  if (who.space != space) return nobody_here;
  if (who.rank < 0) return the_server;
  return who.rank < clients ? static_cast<int>(who.rank) : nobody_here;
}

}  // namespace tobi::bootstrap::pmix
