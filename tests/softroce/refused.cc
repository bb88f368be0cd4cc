// Three ranks over verbs. Rank 2 deregisters its memory, which the queue pairs to it do not survive. Then: an operation
// on it is answered peer_lost, so is every later one, and ranks 0 and 1 still reach each other, although each may have
// one connection at a time (TOBI_VERBS_CONNECTIONS=1). See faults.sh.
#include <sys/mman.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "libcore/base/log.hpp"
#include "transports/transport.hpp"

namespace {

using namespace tobi;
using transports::region_id;
using transports::region_key;

constexpr std::size_t bytes = 1u << 20;

void expect(bool right, const char* what) {
  if (!right) base::fatal(std::string("refused: ") + what + ".");
}

status complete(transports::transport& fabric, int peer, status posted) {
  while (posted == status::ok) {
    const status s = fabric.flush(peer);
    if (s != status::again) return s;
  }
  return posted;
}
status read_word(transports::transport& fabric, int peer, region_id region, std::uint64_t* to) {
  status s;
  while ((s = fabric.get(peer, region, 0, to, 8)) == status::again) fabric.progress();
  return complete(fabric, peer, s);
}

}  // namespace

int main() {
  const base::settings in_force = base::read_settings();
  const auto job = bootstrap::start(in_force, 3, 2);
  const int rank = job->rank();
  const auto fabric = transports::select("verbs", {rank, job->size(), {}, in_force});
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  expect(base != MAP_FAILED, "no memory");
  auto* words = static_cast<std::uint64_t*>(base);
  words[0] = 100 + static_cast<std::uint64_t>(rank);

  region_key key;
  expect(fabric->register_memory({base, bytes, -1, 0}, key) == status::ok, "registering failed");
  const std::string address = fabric->address();
  job->put("key", std::as_bytes(std::span(&key, 1)));
  job->put("address", std::as_bytes(std::span(address.data(), address.size())));
  job->fence();
  std::vector<std::string> addresses;
  for (int r = 0; r < job->size(); ++r) {
    const auto where = job->get(r, "address");
    addresses.emplace_back(reinterpret_cast<const char*>(where.data()), where.size());
  }
  expect(fabric->connect(addresses) == status::ok, "connecting failed");
  std::vector<region_id> regions(3);
  for (int r = 0; r < job->size(); ++r) {
    region_key theirs;
    std::memcpy(&theirs, job->get(r, "key").data(), sizeof theirs);
    expect(fabric->attach(r, theirs, regions[static_cast<std::size_t>(r)]) == status::ok, "attaching failed");
  }
  job->fence();

  const int other = 1 - rank;  // of ranks 0 and 1
  const auto reads = [&](int peer) {
    std::uint64_t found = 0;
    const status s = read_word(*fabric, peer, regions[static_cast<std::size_t>(peer)], &found);
    expect(s != status::ok || found == 100 + static_cast<std::uint64_t>(peer), "a word was read wrongly");
    return s;
  };
  if (rank != 2) expect(reads(2) == status::ok, "rank 2 cannot be read at first");
  job->fence();
  if (rank == 2) expect(fabric->deregister_memory(key) == status::ok, "deregistering failed");
  job->fence();
  if (rank != 2) {
    expect(reads(2) == status::peer_lost, "memory that is not registered could be read");
    expect(reads(other) == status::ok, "the other peer cannot be reached after a failure");
    expect(reads(2) == status::peer_lost, "a lost peer came back");
    expect(reads(other) == status::ok, "the other peer cannot be reached after a second failure");
  }
  job->fence();
  if (rank == 0) std::puts("all as it should be");
  job->finalize();
}
