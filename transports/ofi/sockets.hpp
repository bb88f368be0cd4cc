// SPDX-License-Identifier: Apache-2.0
// Providers that have a socket for each peer need as many open files, and shells allow few.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tobi::transports::ofi {

/// Whether PROVIDER, such as "tcp;ofi_rxm", has a socket for each peer.
[[nodiscard]] bool has_sockets(std::string_view provider) noexcept;
/// Open files of a worker with PEERS, with room for the program's own.
[[nodiscard]] constexpr std::size_t files_for(std::size_t peers) noexcept {
  constexpr std::size_t of_others = 256;
  return 2 * peers + of_others;  // both ends may connect at the same time
}
/// "" or what is wrong where no more than MOST files can be open, and what to do: one sentence.
[[nodiscard]] std::string too_few_files(std::string_view provider, std::size_t most, std::size_t peers);
/// "" or why this process, which may open MOST files, has no room for the sockets of its first contacts with PEERS.
[[nodiscard]] std::string no_first_sockets(std::string_view provider, std::size_t most, std::size_t peers);
/// What to do where libfabric has refused something with ERROR: the end of a sentence, or "".
[[nodiscard]] std::string remedy(int error);
/// Raises this process's limit of open files (its soft one) to FILES, or as far as it may; returns the limit then.
std::size_t make_room_for_files(std::size_t files) noexcept;

}  // namespace tobi::transports::ofi
