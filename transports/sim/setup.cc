// SPDX-License-Identifier: Apache-2.0
// sim: the modes, what is claimed in each, and the page that each worker's simulated NIC shares with the others.
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "libcore/base/log.hpp"
#include "libcore/base/refusal.hpp"
#include "libcore/base/text.hpp"
#include "transports/port.hpp"
#include "transports/sim/settings.hpp"
#include "transports/sim/sim.hpp"

namespace tobi::transports::sim {

namespace {

struct mode_row {
  std::string_view name;  // with "=" at its end where a number follows
  std::uint64_t low, high;
  void (*apply)(modes& m, std::uint64_t n);
};
constexpr std::uint64_t any = ~std::uint64_t{0};
constexpr mode_row mode_table[] = {
    {"manual", 0, 0, [](modes& m, std::uint64_t) { m.manual_rma = m.manual_amo = true; }},
    {"manual-amo", 0, 0, [](modes& m, std::uint64_t) { m.manual_amo = true; }},
    {"nochain", 0, 0, [](modes& m, std::uint64_t) { m.chains = false; }},
    {"noamo", 0, 0, [](modes& m, std::uint64_t) { m.atomics = false; }},
    {"ordered-gets", 0, 0, [](modes& m, std::uint64_t) { m.ordered_gets = true; }},
    {"inorder", 0, 0, [](modes& m, std::uint64_t) { m.overtaking = false; }},
    {"depth1", 0, 0, [](modes& m, std::uint64_t) { m.depth = 1; }},
    {"depth=", 1, 1024, [](modes& m, std::uint64_t n) { m.depth = static_cast<std::uint32_t>(n); }},
    {"delay=", 0, 1'000'000, [](modes& m, std::uint64_t n) { m.delay = static_cast<std::uint32_t>(n); }},
    {"clog=", 0, 1'000'000, [](modes& m, std::uint64_t n) { m.clog = static_cast<std::uint32_t>(n); }},
    {"seed=", 0, any, [](modes& m, std::uint64_t n) { m.seed = n; }},
};

std::string good_modes() {
  return base::joined(mode_table,
                      [](const mode_row& r) { return std::string(r.name) + (r.name.ends_with('=') ? "N" : ""); });
}

bool apply_mode(std::string_view item, modes& into) {
  for (const mode_row& r : mode_table) {
    if (!r.name.ends_with('=')) {
      if (item != r.name) continue;
      r.apply(into, 0);
      return true;
    }
    if (!item.starts_with(r.name)) continue;
    const std::string_view number = item.substr(r.name.size());
    std::uint64_t n = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), n);
    if (error != std::errc{} || end != number.data() + number.size() || n < r.low || n > r.high) return false;
    r.apply(into, n);
    return true;
  }
  return false;
}

int open_process(std::int32_t pid) noexcept { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

// How to have the same decisions again.
std::string replay(const std::string& list, const modes& m) {
  return "TOBI_TRANSPORT=sim" + (list.empty() ? "" : " TOBI_SIM=" + list) + " TOBI_SIM_SEED=" + std::to_string(m.seed);
}

}  // namespace

std::string read_modes(const base::settings& in_force, modes& into) {
  into = modes{};
  const auto& wish = in_force.of<settings>();
  into.seed = wish.seed;
  for (const std::string_view item : base::items(wish.modes)) {
    if (!apply_mode(item, into)) {
      return "TOBI_SIM=" + wish.modes + " has \"" + std::string(item) +
             "\", which is not one of the modes of the simulated transport: " + good_modes();
    }
  }
  return "";
}

namespace {

std::string unusable(const context& where) {
  modes ignored;
  if (std::string wrong = read_modes(where.settings, ignored); !wrong.empty()) return wrong;
  // TOBI_NODES only pretends: the workers are still on one machine.
  if (!where.single_node() && where.settings.nodes == 0) {
    return "it simulates a fabric between the workers of one node, and this job has several nodes";
  }
  return "";
}

std::unique_ptr<transport> create(const context& where) {
  modes chosen;
  if (const std::string wrong = read_modes(where.settings, chosen); !wrong.empty()) {
    base::fatal(wrong + ".", base::exit_usage);
  }
  return std::make_unique<sim_transport>(where, chosen);
}

std::string check(const base::settings& in_force) {
  modes ignored;
  return read_modes(in_force, ignored);
}

}  // namespace

port entry() { return {.unusable = unusable, .create = create, .check = check, .automatic = false}; }

sim_transport::sim_transport(const context& where, const modes& chosen)
    : rank_(where.rank),
      size_(where.size),
      modes_(chosen),
      // Ranks must not make the same decisions; multiplied, so that no seed's rank 1 is the next seed's rank 0.
      rng_((chosen.seed + 1) * 0x9e3779b97f4a7c15 + static_cast<std::uint64_t>(where.rank) * 0xd1342543de82ef95),
      replay_(replay(where.settings.of<settings>().modes, chosen)),
      memory_(where.rank, where.size),
      links_(where.size) {
  caps_.put_notify = true;
  caps_.msg_max = sizeof(std::uint64_t);
  caps_.fetch_add = caps_.compare_swap = modes_.atomics;
  caps_.scope = modes_.atomics ? amo_scope::domain : amo_scope::none;
  caps_.passive_rma = !modes_.manual_rma;
  caps_.passive_amo = modes_.atomics && !modes_.manual_amo;
  caps_.needs_progress = true;
  caps_.chain_max = modes_.chains ? chain_limit : 1;
  caps_.ordered_gets = modes_.chains && modes_.ordered_gets;
  caps_.inline_max = inline_limit;
  caps_.put_max = std::uint64_t{1} << 40;

  nic_fd_ = memfd_create("tobi-sim", MFD_CLOEXEC);
  void* at = MAP_FAILED;
  if (nic_fd_ >= 0 && ftruncate(nic_fd_, sizeof(nic_page)) == 0) {
    at = mmap(nullptr, sizeof(nic_page), PROT_READ | PROT_WRITE, MAP_SHARED, nic_fd_, 0);
  }
  if (at == MAP_FAILED) {
    base::fatal("sim has no memory for its simulated NIC" + base::refusal(errno, "memfd_create", "lower TOBI_WORKERS"));
  }
  nic_ = new (at) nic_page{};
  to(rank_).nic = nic_;
  const int myself = open_process(getpid());  // Linux 5.3 and later
  caps_.peer_errors = myself >= 0;
  if (myself >= 0) close(myself);
}

sim_transport::~sim_transport() {
  base::set_fatal_note("");
  for (int r = 0; r < size_; ++r) {
    if (links_[r].process >= 0) close(links_[r].process);
    if (links_[r].nic != nullptr && r != rank_) munmap(links_[r].nic, sizeof(nic_page));
  }
  munmap(nic_, sizeof(nic_page));
  close(nic_fd_);
}

std::string sim_transport::describe() const {
  return "simulated, seed " + std::to_string(modes_.seed) + (modes_.manual_rma ? ", targets must poll" : "");
}

status sim_transport::connect(std::span<const std::string> addresses) {
  if (addresses.size() != links_.size()) return status::invalid;
  // Now it is certain that a job runs over this.
  if (rank_ == 0) {
    base::log(base::log_level::info, "sim has the seed " + std::to_string(modes_.seed) + ": " + replay_ + ".");
  }
  base::set_fatal_note("this job ran over the simulated transport; to replay its decisions: " + replay_);
  return status::ok;
}

// A key names memory of a process, and behind it that process's NIC, whose page is mapped when it is first attached to:
// else each of many workers would map the pages of all. 60 bytes of the 64.
namespace {

constexpr std::size_t nic_part = sizeof(memory_name);
struct nic_name {
  std::int32_t fd;
  std::uint32_t inode[2];  // in halves: no room for padding
};
static_assert(nic_part + sizeof(nic_name) <= own_key_bytes_max);

region_key without_nic(region_key key) {
  std::memset(key.bytes.data() + nic_part, 0, sizeof(nic_name));
  return key;
}

}  // namespace

status sim_transport::register_memory(const memory& local, region_key& key) {
  memory_name page;
  if (const status s = name_memory({nic_, sizeof(nic_page), nic_fd_, 0}, 0, page); s != status::ok) return s;
  if (const status s = memory_.add(local, key); s != status::ok) return s;
  const nic_name nic{page.fd, {static_cast<std::uint32_t>(page.inode), static_cast<std::uint32_t>(page.inode >> 32)}};
  std::memcpy(key.bytes.data() + nic_part, &nic, sizeof nic);
  return status::ok;
}

status sim_transport::deregister_memory(const region_key& key) { return memory_.remove(without_nic(key)); }

status sim_transport::attach(int rank, const region_key& key, region_id& id) {
  if (const status s = memory_.attach(rank, without_nic(key), id); s != status::ok) return s;
  return meet(rank, key);
}

status sim_transport::meet(int rank, const region_key& key) {
  if (to(rank).nic != nullptr) return status::ok;
  memory_name name;
  nic_name nic;
  std::memcpy(&name, key.bytes.data(), sizeof name);
  std::memcpy(&nic, key.bytes.data() + nic_part, sizeof nic);
  name.fd = nic.fd;
  name.inode = nic.inode[0] | std::uint64_t{nic.inode[1]} << 32;
  name.offset = 0;
  name.bytes = sizeof(nic_page);
  std::byte* at = nullptr;
  if (const status s = map_memory(name, rank, at, why_not_met_); s != status::ok) return s;
  to(rank).nic = reinterpret_cast<nic_page*>(at);
  if (caps_.peer_errors) to(rank).process = open_process(name.pid);
  return status::ok;
}

bool sim_transport::alive(link& l) noexcept {
  l.looked_at = now_;
  pollfd ended{l.process, POLLIN, 0};
  if (l.process >= 0 &&
      ::poll(&ended, 1, 0) > 0) {  // readable: the process has ended, whether or not it was waited for
    l.lost = true;
  }
  return !l.lost;
}

}  // namespace tobi::transports::sim
