// SPDX-License-Identifier: Apache-2.0
// verbs: opening, registering, connecting.
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "arch/clock.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/secret.hpp"
#include "transports/host_atomics.hpp"
#include "transports/key_parts.hpp"
#include "transports/meeting.hpp"
#include "transports/port.hpp"
#include "transports/soft/amo.hpp"
#include "transports/soft/settings.hpp"
#include "transports/verbs/settings.hpp"
#include "transports/verbs/verbs.hpp"

namespace tobi::transports::verbs {

namespace {

struct key_content {
  std::uint64_t base;
  std::uint64_t bytes;
  std::uint64_t rkey;  // 32 bits
};

constexpr int access_all =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

constexpr std::uint64_t ask_again_ns = 100'000'000;
constexpr std::uint64_t warn_after_ns = 3'000'000'000;
constexpr std::uint64_t lost_after_ns = 10'000'000'000;

std::string registration_failed(std::size_t bytes, int error) {
  rlimit locked{};
  getrlimit(RLIMIT_MEMLOCK, &locked);
  std::string text = std::strerror(error);
  if (error != ENOMEM && error != EAGAIN && error != EPERM) return text;
  if (locked.rlim_cur == RLIM_INFINITY) return text;
  return text + ": the limit of locked memory is " + base::format_size(locked.rlim_cur) + ", and this worker needs " +
         base::format_size(bytes) +
         " and a little more; type \"ulimit -l unlimited\" before the program (or raise memlock in "
         "/etc/security/limits.conf)";
}

std::string unusable(const context& where) { return open_best(where).error; }

std::unique_ptr<transport> create(const context& where) {
  opened device = open_best(where);
  if (device.device == nullptr) base::fatal("verbs cannot be used: " + device.error + ".", base::exit_usage);
  if (device.attributes.atomic_cap != IBV_ATOMIC_NONE &&
      where.settings.of<soft::settings>().amo_server <= soft::amo_place::native) {
    return std::make_unique<verbs_transport>(where, std::move(device));
  }
  device.device.reset();
  return soft::with_amo_server(where, [](const context& of) -> std::unique_ptr<transport> {
    return std::make_unique<verbs_transport>(of, open_best(of));
  });
}

}  // namespace

port entry() { return {.unusable = unusable, .create = create, .devices = devices}; }

verbs_transport::verbs_transport(const context& where, opened device)
    : rank_(where.rank),
      size_(where.size),
      most_links_(static_cast<std::size_t>(where.settings.of<settings>().connections)),
      device_(std::move(device)),
      slot_memory_(chains * chain_most * slot_bytes),
      links_(static_cast<std::size_t>(where.size)),
      next_token_(static_cast<std::uint32_t>(base::secret()) | 1u) {
  const auto need = [&](const void* made, const char* what) {
    if (made == nullptr) {
      base::fatal(std::string("verbs: ") + what + " failed on " + device_.name + " (" + std::strerror(errno) + ").");
    }
  };
  const library& lib = libibverbs();
  ibv_context* context = device_.device.get();
  pd_.reset(lib.alloc_pd(context));
  need(pd_.get(), "allocating a protection domain");
  send_cq_.reset(lib.create_cq(context, std::min<int>(4096, device_.attributes.max_cqe), nullptr, nullptr, 0));
  need(send_cq_.get(), "making a completion queue");
  notice_cq_.reset(lib.create_cq(context, notice_receives, nullptr, nullptr, 0));
  need(notice_cq_.get(), "making a completion queue");
  ibv_srq_init_attr srq{};
  srq.attr = {notice_receives, 1, 0};
  srq_.reset(lib.create_srq(pd_.get(), &srq));
  need(srq_.get(), "making a shared receive queue");
  for (std::uint32_t i = 0; i < notice_receives; ++i) need(receive_notice() ? this : nullptr, "posting a receive");
  slot_mr_.reset(lib.reg_mr(pd_.get(), slot_memory_.data(), slot_memory_.size(), IBV_ACCESS_LOCAL_WRITE));
  if (slot_mr_ == nullptr)
    base::fatal("verbs: its own buffers cannot be registered: " + registration_failed(slot_memory_.size(), errno) +
                ".");
  chains_.resize(chains);
  for (std::size_t i = 0; i < chains_.size(); ++i) {
    chains_[i].slots = slot_memory_.data() + i * chain_most * slot_bytes;
    chains_[i].next_free = free_;
    free_ = &chains_[i];
  }
  wireup_ = std::make_unique<wireup>(device_, pd_.get(), notice_cq_.get(), srq_.get(), rank_,
                                     responders_per_connection * most_links_, *this);

  const bool atomics = device_.attributes.atomic_cap != IBV_ATOMIC_NONE;
  caps_.put_notify = true;
  caps_.msg_max = sizeof(std::uint32_t);
  caps_.fetch_add = atomics;
  caps_.compare_swap = atomics;
  caps_.scope = atomics ? amo_scope::domain : amo_scope::none;
  may_reach_the_cpu_ = atomics && atomics_reach_the_cpu(context, device_.attributes);
  caps_.passive_rma = true;
  caps_.passive_amo = atomics;
  caps_.registers_any_memory = true;
  caps_.chain_max = chain_most;
  caps_.peer_errors = true;
  caps_.pins_memory = true;
  caps_.inline_max = small_bytes;
  caps_.put_max = device_.port_attributes.max_msg_sz;
  // One connection is to itself where a worker's own words change through the device.
  caps_.peers_max = static_cast<std::uint32_t>(std::max<std::size_t>(1, most_links_ - (atomics ? 1 : 0)));
  base::log(base::log_level::info, "verbs: " + describe() + ".");
}

std::string verbs_transport::dialect() const {
  return device_.port_attributes.link_layer == IBV_LINK_LAYER_ETHERNET ? "RoCE" : "InfiniBand";
}

std::string verbs_transport::describe() const {
  const char* scope = caps_.scope == amo_scope::host     ? "with the CPU's"
                      : caps_.scope == amo_scope::domain ? "among operations of this device"
                                                         : "not available";
  return "device " + device_.name + " port " + std::to_string(device_.port) + " GID " +
         std::to_string(device_.gid_index) + " MTU " + std::to_string(128 << device_.port_attributes.active_mtu) +
         ", atomic " + scope + ", at most " + std::to_string(most_links_) + " connections";
}

verbs_transport::~verbs_transport() {
  base::log(base::log_level::debug, "verbs: made " + std::to_string(opened_) + " connections.");
  wireup_.reset();
  links_.resize(0);
}

std::string verbs_transport::address() const {
  const endpoint& self = wireup_->self();
  return {reinterpret_cast<const char*>(&self), sizeof self};
}

status verbs_transport::connect(std::span<const std::string> addresses) {
  if (addresses.size() != static_cast<std::size_t>(size_)) return status::invalid;
  for (const std::string& a : addresses) {
    endpoint e;
    if (a.size() != sizeof e) return status::invalid;
    std::memcpy(&e, a.data(), sizeof e);
    peers_.push_back(e);
  }
  wireup_->start(peers_);
  return status::ok;
}

// Scope `host` is claimed where it has been tried, by every rank on its own words: a peer's device executes the atomics
// that come to it, and neighbours' CPUs change its words too.
void verbs_transport::measure(meeting& with) {
  const bool holds = may_reach_the_cpu_ && excludes_the_cpu();
  if (may_reach_the_cpu_ && !holds) {
    base::log(base::log_level::info, "verbs: " + device_.name +
                                         " says that its atomics exclude the CPU's, and they do not; a worker's own "
                                         "words are changed through the device.");
  }
  if (with.common(holds ? 1 : 0) == 0) return;
  caps_.scope = amo_scope::host;
  caps_.peers_max = static_cast<std::uint32_t>(most_links_);
  base::log(base::log_level::info, "verbs: " + describe() + ", as tried.");
}

bool verbs_transport::excludes_the_cpu() {
  const pages room(sizeof(std::uint64_t));
  region_key key{};
  region_id word = 0;
  if (register_memory({room.data(), sizeof(std::uint64_t), -1, 0}, key) != status::ok) return false;
  const bool holds =
      attach(rank_, key, word) == status::ok &&
      cpu_and_fabric_exclude_each_other(*this, rank_, word, 0, *reinterpret_cast<std::uint64_t*>(room.data()));
  // Nothing may be under way when the memory goes.
  while (flush(rank_) == status::again) {
  }
  deregister_memory(key);
  return holds;
}

// --- connections: opened by the first post, closed when there are too many ------------------------------

status verbs_transport::need_link(int rank, link& l) noexcept {
  if (l.health != status::ok) return l.health;
  l.last_use = ++uses_;
  if (l.ready) return status::ok;
  if (l.qp == nullptr) {
    if (open_links_.size() >= most_links_ && !close_idle_link()) {
      take_completions();
      return status::again;
    }
    return open_link(rank, l);
  }
  return advance(rank, l);
}

// A connection that was asked for: has the peer replied? Else asks again, and in the end gives the peer up.
status verbs_transport::advance(int rank, link& l) noexcept {
  if (const answer a = wireup_->answered(rank); a.token == l.token) return finish_link(rank, l, a);
  const std::uint64_t now = arch::now_ns();
  const std::uint64_t waited = now - l.first_asked_ns;
  if (waited > lost_after_ns) {
    return lose(rank, base::name_of_rank(rank) + " has not replied to a request to connect of " + device_.name +
                          " port " + std::to_string(device_.port) + " for " +
                          std::to_string(lost_after_ns / 1'000'000'000) +
                          " seconds: it has ended or is stopped, or the network between is cut.");
  }
  if (now - l.asked_ns > ask_again_ns) {
    l.asked_ns = now;
    wireup_->request(rank, l.qp->qp_num, l.psn, l.token);
    if (!l.warned && waited > warn_after_ns) {
      l.warned = true;
      base::log(base::log_level::warn, "verbs: rank " + std::to_string(rank) +
                                           " has not replied to a request to connect for 3 seconds; still trying.");
    }
  }
  return status::again;
}

status verbs_transport::open_link(int rank, link& l) noexcept {
  ibv_qp_init_attr init{};
  init.qp_type = IBV_QPT_RC;
  init.send_cq = send_cq_.get();
  init.recv_cq = notice_cq_.get();
  init.srq = srq_.get();
  init.cap = {queue_depth, 0, 1, 0, small_bytes};
  l.qp.reset(libibverbs().create_qp(pd_.get(), &init));
  if (l.qp == nullptr) {  // a device that has no inline data
    init.cap = {queue_depth, 0, 1, 0, 0};
    l.qp.reset(libibverbs().create_qp(pd_.get(), &init));
  }
  if (l.qp == nullptr || !to_init(l.qp.get(), device_)) {
    base::log(base::log_level::error, "verbs: a queue pair to rank " + std::to_string(rank) + " cannot be made on " +
                                          device_.name + " (" + std::strerror(errno) +
                                          "); lower TOBI_VERBS_CONNECTIONS.");
    l.qp.reset();
    return l.health = status::peer_lost;
  }
  inline_bytes_ = std::min<std::uint32_t>(init.cap.max_inline_data, small_bytes);
  open_links_.push_back(rank);
  ++opened_;
  l.token = next_token_;
  next_token_ += 2;  // stays odd: 0 is no token
  l.psn = static_cast<std::uint32_t>(base::secret()) & 0xffffff;
  l.asked_ns = l.first_asked_ns = arch::now_ns();
  wireup_->request(rank, l.qp->qp_num, l.psn, l.token);
  return status::again;
}

status verbs_transport::finish_link(int rank, link& l, const answer& a) noexcept {
  const endpoint& peer = peers_[rank];
  const auto reads =
      std::min(static_cast<std::uint32_t>(std::max(device_.attributes.max_qp_init_rd_atom, 1)), peer.reads_answered);
  if (!to_ready_to_receive(l.qp.get(), device_, wireup_->self(), peer, a.qpn, a.psn) ||
      !to_ready_to_send(l.qp.get(), l.psn, reads)) {
    return lose(rank, "the connection to rank " + std::to_string(rank) + " cannot be started on " + device_.name +
                          " (" + std::strerror(errno) + ").");
  }
  l.ready = true;
  return status::ok;
}

// Makes room for one more. A connection that waits for its peer's answer is looked after here too: nobody else may be
// posting to that peer any more. One that has become ready is not closed before its first use, or two posts in turn
// could close each other's for ever.
bool verbs_transport::close_idle_link() noexcept {
  int oldest = -1;
  for (std::size_t i = open_links_.size(); i > 0; --i) {
    const int r = open_links_[i - 1];
    link& l = link_of(r);
    if (!l.ready) advance(r, l);  // gives it up, perhaps: then the last one has its place, and was looked at
    if (!l.ready || l.pending_chains != 0) continue;
    if (!l.used && arch::now_ns() - l.first_asked_ns < ask_again_ns) continue;
    if (oldest < 0 || l.last_use < link_of(oldest).last_use) oldest = r;
  }
  if (open_links_.size() < most_links_) return true;  // one was given up
  if (oldest < 0) return false;
  close_qp(oldest, link_of(oldest));
  return true;
}

// Not where something is under way, nor before a first use, as above: the rank that asked will ask again. It does so
// too where this worker has closed the connection and was not heard, also when it repeats that no more. Called between
// two operations of this worker, so nobody holds a link.
void verbs_transport::leave_where_asked() noexcept {
  for (const auto& [rank, token] : wireup_->take_leaves()) {
    link& l = link_of(rank);
    if (l.qp == nullptr || l.token != token) {
      wireup_->close_again(rank, token);
    } else if (l.ready && l.used && l.pending_chains == 0) {
      close_qp(rank, l);
    }
  }
}

void verbs_transport::close_qp(int rank, link& l) noexcept {
  if (l.qp == nullptr) return;
  wireup_->close(rank, l.token);
  const status health = l.health;
  l = link{};
  l.health = health;
  *std::find(open_links_.begin(), open_links_.end(), rank) = open_links_.back();
  open_links_.pop_back();
}

// --- memory ----------------------------------------------------------------------------------------------

status verbs_transport::register_memory(const memory& local, region_key& key) {
  if (local.base == nullptr || local.bytes == 0) return status::invalid;
  const std::size_t bytes = local.bytes_at_first();
  owned<ibv_mr> mr(libibverbs().reg_mr(pd_.get(), local.base, bytes, access_all));
  if (mr == nullptr) {
    why_not_registered_ = registration_failed(bytes, errno);
    return status::invalid;
  }
  key = sealed(key_content{reinterpret_cast<std::uint64_t>(local.base), bytes, mr->rkey});
  own_.push_back({std::move(mr), static_cast<std::byte*>(local.base), bytes, key});
  return status::ok;
}

status verbs_transport::deregister_memory(const region_key& key) {
  const auto found =
      std::find_if(own_.begin(), own_.end(), [&](const own_region& o) { return o.key.bytes == key.bytes; });
  if (found == own_.end()) return status::invalid;
  for (region& r : regions_) {
    if (r.own && r.rkey == found->mr->rkey) r.bytes = 0;
  }
  own_.erase(found);
  return status::ok;
}

status verbs_transport::attach(int rank, const region_key& key, region_id& id) {
  if (rank < 0 || rank >= size_) return status::invalid;
  const auto c = unsealed<key_content>(key);
  if (!c || c->bytes == 0) return status::invalid;
  const auto rkey = static_cast<std::uint32_t>(c->rkey);
  if (rank == rank_ &&
      std::none_of(own_.begin(), own_.end(), [&](const own_region& o) { return o.mr->rkey == rkey; })) {
    return status::invalid;
  }
  regions_.push_back({rank, rkey, c->base, c->bytes, rank == rank_});
  id = static_cast<region_id>(regions_.size() - 1);
  return status::ok;
}

}  // namespace tobi::transports::verbs
