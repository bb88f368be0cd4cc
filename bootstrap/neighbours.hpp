// SPDX-License-Identifier: Apache-2.0
// The clients of one node watch each other: a launcher may take seconds to notice a death, or tell nobody. They share
// one page, so that a death is told once and an end in good order is not taken for one.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "libcore/base/left_files.hpp"

namespace tobi::bootstrap {

struct node_page {
  std::atomic<std::uint32_t> reported;   // somebody has said why the job ends
  std::atomic<std::uint8_t> finished[];  // of each client of the job: it needs the others no more
};
/// What the CLIENTS' own processes would leave behind, base::left_files_per_process each.
[[nodiscard]] base::left_file* files_of(node_page& page, int clients) noexcept;

/// Another client of this node.
struct neighbour {
  int client = 0;
  pid_t pid = 0;
};

/// A page that a process offers to the others of its node, which open it through /proc.
struct page_offer {
  pid_t pid = 0;
  int fd = -1;  // none
  // Which file it is: the process may have ended, and another one have its id.
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
};
/// A new page for a job of CLIENTS; without a file where there is no memory. The caller closes it.
[[nodiscard]] page_offer offer_node_page(int clients);
/// The page that is OFFERED, or null. It stays mapped, also in processes that are forked later.
[[nodiscard]] node_page* map_node_page(const page_offer& offered, int clients);

/// A thread that sleeps until one of THOSE ends, and then calls GONE unless PAGE says that it had finished.
void watch_neighbours(const std::vector<neighbour>& those, node_page* page,
                      void (*gone)(int client, const char* how) noexcept);

}  // namespace tobi::bootstrap
