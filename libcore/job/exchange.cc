// SPDX-License-Identifier: Apache-2.0
// What the ranks of a job settle before they can reach each other, by the bootstrap: which transport, whose cores,
// where everybody's memory is, and whether all have found the same.
//
// No rank reads a value of every other one for it. What all must have alike is asked with bootstrap::least(), whose
// result is some words. What only the ranks need that meet a rank lies in that rank's card, and is got when they meet
// (keys_of). The one exception is transport::connect(), whose contract wants all addresses: they have come with the
// fence, and each is looked up in 1 us (fork, Hydra) to 14 us (PMIx, 16 processes per core), once. A transport that has
// none gets empty ones.
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <set>

#include "arch/topology.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/per_rank.hpp"
#include "libcore/job/alike.hpp"
#include "libcore/job/card.hpp"
#include "libcore/job/job.hpp"
#include "transports/meeting.hpp"
#include "transports/registry.hpp"

namespace tobi::job {

namespace {

std::span<const std::byte> bytes_of(const auto& value) { return std::as_bytes(std::span(&value, 1)); }

template <class T>
T read_as(const std::vector<std::byte>& bytes) {
  TOBI_ASSERT(bytes.size() == sizeof(T), "all workers run the same program");
  T value{};
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

}  // namespace

// Which core this worker is to run on. Its neighbours are those of its node that may use the very same cores: all of
// them where this process forked them or a launcher bound nobody, and only itself where the launcher bound each to its
// own.
void job::take_core() {
  const arch::machine& machine = arch::this_machine();
  std::vector<std::int32_t> numbers;
  for (const arch::core& c : machine.cores) numbers.push_back(c.os_cpu);
  const std::vector<std::int32_t> mine = as_runs(numbers);
  bootstrap_->put("cores", std::as_bytes(std::span(mine)));
  bootstrap_->fence();
  std::set<std::int32_t> all(numbers.begin(), numbers.end());
  std::size_t neighbours = 0;
  std::size_t place = 0;
  for (const int peer : bootstrap_->local_peers()) {
    const std::vector<std::byte> bytes = bootstrap_->get(peer, "cores");
    std::vector<std::int32_t> theirs(bytes.size() / sizeof(std::int32_t));
    if (!bytes.empty()) std::memcpy(theirs.data(), bytes.data(), bytes.size());
    if (theirs != mine) {
      const std::vector<std::int32_t> others = from_runs(theirs);
      all.insert(others.begin(), others.end());
      continue;
    }
    if (peer == rank()) place = neighbours;
    ++neighbours;
  }
  std::size_t cores = all.size();
  if (machine.cpu_quota > 0) cores = std::min(cores, static_cast<std::size_t>(std::ceil(machine.cpu_quota)));
  cores_here_ = static_cast<int>(cores);
  crowded_ = bootstrap_->local_peers().size() > cores;
  workers_per_core_ = static_cast<unsigned>((bootstrap_->local_peers().size() + cores - 1) / cores);
  bootstrap_->share_cores(workers_per_core_);
  if (neighbours > machine.cores.size()) return;

  core_ = machine.cores[place];
  // A lone worker may share the machine with threads of its program: binding it would bind them too. One that may use a
  // single core has been bound on purpose.
  if (settings_.pin != base::pin_policy::automatic || size() == 1 || machine.cores.size() == 1) return;
  if (const std::string why = arch::bind_to_cpu(core_.os_cpu); !why.empty()) {
    const std::string sentence = "cannot bind this worker to cpu " + std::to_string(core_.os_cpu) + " (" + why +
                                 "); set TOBI_PIN=none to leave workers unbound.";
    // What a filter forbids it forbids to all; another reason may be this worker's own.
    const bool to_all = why == std::strerror(EPERM) || why == std::strerror(ENOSYS);
    to_all ? base::log_for_node(base::log_level::warn, sentence) : base::log(base::log_level::warn, sentence);
  }
}

// Rank 0's choice travels with what take_core() exchanges.
std::string job::choose_transport(const transports::context& where) {
  const transports::choice mine = transports::choose(settings_.transport, where);
  if (rank() != 0) return mine.name;
  if (mine.name.empty()) {
    base::fatal(mine.why_not, settings_.transport == "auto" ? base::exit_failure : base::exit_usage);
  }
  bootstrap_->put("transport", std::as_bytes(std::span(mine.name.data(), mine.name.size())));
  return mine.name;
}

std::string job::agreed_transport(const std::string& chosen_here, const transports::context& where) {
  const std::vector<std::byte> bytes = bootstrap_->get(0, "transport");
  std::string first(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const bool is_own_choice = first == chosen_here;
  const std::string why = is_own_choice ? "" : transports::why_not_here(first, where);
  // Where the others wait in create() nobody would hear a refusal. Where they do not, they hear it in exchange().
  if (!why.empty() || transports::is_created_together(first)) {
    (void)all_say(why.empty() ? answer::yes : answer::refuses,
                  "the transport " + first + ", which " + base::name_of_rank(0) +
                      " has chosen for all, cannot be used here: " + why +
                      "; mend that, or set TOBI_TRANSPORT to one that all ranks can use.");
  }
  if (!is_own_choice) base::log(base::log_level::info, "transport " + first + ": chosen by rank 0.");
  return first;
}

// One question to all. The first rank that refuses ends the job, with its reason, while nobody is in a fence any more:
// Open MPI's mpirun may hang where a job is aborted within one. Refusals are the least, and then those that say no.
bool job::all_say(answer mine, const std::string& reason) {
  const auto weight = mine == answer::refuses ? 0u : mine == answer::no ? 1u : 2u;
  std::uint64_t said = std::uint64_t{weight} << 32 | static_cast<std::uint32_t>(rank());
  bootstrap_->least({&said, 1});
  if (said >> 32 == 0) {
    const auto who = static_cast<int>(said & 0xffffffff);
    base::fatal_everywhere(
        who == rank() ? 0 : 1,
        who == rank() ? reason : base::name_of_rank(who) + " has refused this job, and says why itself.",
        base::exit_usage);
  }
  return said >> 32 == 2;
}

// Two words of a question tell whether all say the same: the least, and the least of the complements. A third brings
// rank 0's, and where they differ one more question the first rank that says otherwise.
std::array<int, 2> job::first_others(const std::array<std::uint64_t, 2>& mine) {
  constexpr std::uint64_t nothing = ~std::uint64_t{0};
  std::uint64_t said[6];
  for (std::size_t i = 0; i < 2; ++i) {
    said[3 * i] = mine[i];
    said[3 * i + 1] = ~mine[i];
    said[3 * i + 2] = rank() == 0 ? mine[i] : nothing;
  }
  bootstrap_->least(said);
  const bool same = said[0] == ~said[1] && said[3] == ~said[4];
  if (same) return {-1, -1};
  std::uint64_t odd[2];
  for (std::size_t i = 0; i < 2; ++i) {
    odd[i] = mine[i] == said[3 * i + 2] ? nothing : static_cast<std::uint64_t>(rank());
  }
  bootstrap_->least(odd);
  return {odd[0] == nothing ? -1 : static_cast<int>(odd[0]), odd[1] == nothing ? -1 : static_cast<int>(odd[1])};
}

// Nobody connects to what it would not understand. What differs is read where something does.
void job::refuse_what_differs(const alike& found, int other) {
  bootstrap_->put("alike", bytes_of(found));
  bootstrap_->fence();
  const auto first = read_as<alike>(bootstrap_->get(0, "alike"));
  const auto theirs = read_as<alike>(bootstrap_->get(other, "alike"));
  base::fatal_everywhere(rank(), difference(first, theirs, base::name_of_rank(0), base::name_of_rank(other)),
                         base::exit_usage);
}

void job::exchange() {
  rank_card mine{{}, core_};
  status s = transport_->register_memory(segment_.heap_memory(), mine.keys.heap);
  if (s == status::ok) s = transport_->register_memory(segment_.stack_memory(), mine.keys.stack);
  if (s != status::ok) {
    const std::string why = transport_->why_not_registered();
    base::fatal("cannot register this worker's memory with " + std::string(transport_->name()) + ": " +
                (why.empty() ? std::string(to_string(s)) : why) +
                "; a lower TOBI_HEAP_SIZE, or fewer workers, need less.");
  }
  const alike found = of_this_rank(*transport_, segment_);
  const std::string address = transport_->address();
  bootstrap_->put("card", to_bytes(mine));
  if (!address.empty()) bootstrap_->put("address", std::as_bytes(std::span(address.data(), address.size())));
  // Rank 0 says for all whether there is a trace: a launcher may have given the environment to some nodes only.
  if (rank() == 0) bootstrap_->put("trace", bytes_of(settings_.trace.empty() ? 0 : settings_.trace_bytes));
  const auto [unlike, elsewhere] = first_others({digest_of(found), reinterpret_cast<std::uintptr_t>(global_->base())});
  if (unlike >= 0) refuse_what_differs(found, unlike);
  view_elsewhere_ = global_->base() == nullptr && elsewhere < 0 ? 0 : elsewhere;
  trace_bytes_ = read_as<std::uint64_t>(bootstrap_->get(0, "trace"));

  // Of ranks that are alike all have addresses, or none.
  base::per_rank<std::string> addresses(size());
  for (int r = 0; r < size() && !address.empty(); ++r) {
    const std::vector<std::byte> where = bootstrap_->get(r, "address");
    addresses[r].assign(reinterpret_cast<const char*>(where.data()), where.size());
  }
  s = transport_->connect(addresses);
  if (s != status::ok) {
    const std::string why = transport_->why_not_reached();
    base::fatal("cannot connect to the other workers over " + std::string(transport_->name()) + ": " +
                (why.empty() ? std::string(to_string(s)) : why) + ".");
  }
  transports::meeting_over meet(*bootstrap_);
  transport_->measure(meet);
  const transports::memory region = segment_.heap_memory();
  net_ = std::make_unique<net::fabric>(
      *transport_, rank(), size(), segment_.control(),
      net::heap_layout{region.bytes, region.at_first, offsetof(control_block, heap_parts)},
      [this](int r) { return card_from(bootstrap_->get(r, "card")).keys; }, workers_per_core_);
}

// In levels: the cores' own on a node, where they are known, and beyond them all other nodes. Servers choose nobody.
std::vector<int> job::distances(bool servers_too) const {
  constexpr int nobody = -1;
  base::per_rank<int> levels(size());
  for (int r = 0; r < size(); ++r) {
    if (serves_only() || (!servers_too && transport_->serves_only(r))) {
      levels[r] = nobody;
    } else if (nodes_[r] != nodes_[rank()]) {
      levels[r] = sched::victims::far_level;
    } else if (core_.os_cpu >= 0) {
      const arch::core theirs = card_from(bootstrap_->get(r, "card")).core;
      if (theirs.os_cpu >= 0) levels[r] = arch::distance(core_, theirs);
    }
  }
  return levels;
}

}  // namespace tobi::job
