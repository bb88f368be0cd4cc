// SPDX-License-Identifier: Apache-2.0
// Three ranks over verbs. Rank 2 deregisters its memory, which the queue pairs to it do not survive. Then: an operation
// on it is answered peer_lost, so is every later one, and ranks 0 and 1 still reach each other, although each may have
// one connection at a time (TOBI_VERBS_CONNECTIONS=1). See faults.sh.
#include <cstdio>

#include "ranks.hpp"

int main() {
  using over_verbs::expect;
  using tobi::status;
  over_verbs::ranks all(3);
  const int other = 1 - all.rank();  // of ranks 0 and 1
  if (all.rank() != 2) expect(all.read(2) == status::ok, "rank 2 cannot be read at first");
  all.job->fence();
  if (all.rank() == 2) expect(all.fabric->deregister_memory(all.key) == status::ok, "deregistering failed");
  all.job->fence();
  if (all.rank() != 2) {
    expect(all.read(2) == status::peer_lost, "memory that is not registered could be read");
    expect(all.read(other) == status::ok, "the other peer cannot be reached after a failure");
    expect(all.read(2) == status::peer_lost, "a lost peer came back");
    expect(all.read(other) == status::ok, "the other peer cannot be reached after a second failure");
  }
  all.job->fence();
  if (all.rank() == 0) std::puts("all as it should be");
  all.job->finalize();
}
