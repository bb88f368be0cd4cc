#include "transports/soft/amo.hpp"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "transports/cpu_ops.hpp"

namespace tobi::transports::soft {

namespace {

// A key is the inner transport's, and behind it what the server needs.
constexpr std::size_t own_part = 64;
struct key_tail {
  std::uint64_t bytes;
  std::uint64_t number_plus_one;  // 0: not one of ours
};
static_assert(own_part + sizeof(key_tail) <= 80, "routing keeps the rest for the other transport");

region_key without_tail(region_key key) {
  std::memset(key.bytes.data() + own_part, 0, sizeof(key_tail));
  return key;
}

// What a peer says of itself: fixed parts first, then the two addresses.
struct address_head {
  region_key requests;
  region_key replies;
  region_key notices;
  std::uint32_t client_bytes;
};

// With a thread, ranks size .. 2*size-1 of the transport underneath are the servers.
context doubled(const context& where, bool server) {
  context c = where;
  c.size = 2 * where.size;
  if (server) c.rank = where.size + where.rank;
  c.nodes.insert(c.nodes.end(), where.nodes.begin(), where.nodes.end());
  return c;
}

}  // namespace

std::unique_ptr<transport> with_amo_server(const context& where, const factory& make) {
  return std::make_unique<amo_transport>(where, make);
}

amo_transport::amo_transport(const context& where, const factory& make)
    : rank_(where.rank),
      size_(where.size),
      threaded_(where.settings.amo_server == base::amo_place::thread),
      inner_(make(threaded_ ? doubled(where, false) : where)),
      peers_(static_cast<std::size_t>(where.size)) {
  if (threaded_) server_inner_ = make(doubled(where, true));
  caps_ = inner_->caps();
  caps_.put_notify = true;
  caps_.notify_ordered = true;
  caps_.msg_max = sizeof(std::uint64_t);
  caps_.fetch_add = true;
  caps_.compare_swap = true;
  caps_.scope = amo_scope::host;
  caps_.passive_amo = threaded_;
  caps_.chain = false;  // an operation underneath and a message are not ordered
  caps_.chain_max = 1;
  server_ = std::make_unique<amo_server>(threaded_ ? *server_inner_ : *inner_, rank_, size_, table_);
  replies_ = std::make_unique<board>(*inner_, static_cast<std::size_t>(size_) * reply_bytes_a_peer);
  notices_ = std::make_unique<mailbox<std::uint64_t>>(*inner_, rank_, size_);
}

amo_transport::~amo_transport() {
  stop_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
}

std::string amo_transport::describe() const {
  return inner_->describe() + "; atomics and notices are messages, atomics executed " +
         (threaded_ ? "by a thread of the target" : "when the target polls");
}

std::string amo_transport::address() const {
  const std::string client = inner_->address();
  address_head head{server_->key(), replies_->key(), notices_->key(), static_cast<std::uint32_t>(client.size())};
  std::string text(reinterpret_cast<const char*>(&head), sizeof head);
  text += client;
  if (threaded_) text += server_inner_->address();
  return text;
}

status amo_transport::connect(std::span<const std::string> addresses) {
  if (addresses.size() != peers_.size()) return status::invalid;
  std::vector<address_head> heads(addresses.size());
  std::vector<std::string> inner;
  std::vector<std::string> servers;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (addresses[i].size() < sizeof heads[i]) return status::invalid;
    std::memcpy(&heads[i], addresses[i].data(), sizeof heads[i]);
    inner.push_back(addresses[i].substr(sizeof heads[i], heads[i].client_bytes));
    servers.push_back(addresses[i].substr(sizeof heads[i] + heads[i].client_bytes));
  }
  if (threaded_) inner.insert(inner.end(), servers.begin(), servers.end());
  status s = inner_->connect(inner);
  if (s == status::ok && threaded_) s = server_inner_->connect(inner);
  for (int r = 0; r < size_ && s == status::ok; ++r) {
    const address_head& head = heads[static_cast<std::size_t>(r)];
    peer& p = peer_of(r);
    p.server = threaded_ ? size_ + r : r;
    s = inner_->attach(p.server, head.requests, p.requests);
    if (s == status::ok) s = server_->connect(r, r, head.replies);
    if (s == status::ok) s = notices_->connect(r, head.notices);
  }
  if (s == status::ok && threaded_) {
    thread_ = std::thread([this] {
      unsigned idle = 0;
      while (!stop_.load(std::memory_order_relaxed)) {
        server_inner_->progress();
        idle = server_->serve() ? 0 : idle + 1;
        if (idle < 64) continue;  // requests come in bursts: a steal is several
        const timespec pause{0, 20'000};
        nanosleep(&pause, nullptr);
      }
    });
  }
  return s;
}

status amo_transport::register_memory(const memory& local, region_key& key) {
  const status s = inner_->register_memory(local, key);
  if (s != status::ok) return s;
  const int number = table_.add(static_cast<std::byte*>(local.base), local.bytes);
  if (number < 0) {
    inner_->deregister_memory(key);
    return status::invalid;
  }
  const key_tail tail{local.bytes, static_cast<std::uint64_t>(number) + 1};
  std::memcpy(key.bytes.data() + own_part, &tail, sizeof tail);
  own_.push_back({key, static_cast<std::uint32_t>(number)});
  return status::ok;
}

status amo_transport::deregister_memory(const region_key& key) {
  const auto found =
      std::find_if(own_.begin(), own_.end(), [&](const own_region& o) { return o.key.bytes == key.bytes; });
  if (found == own_.end()) return status::invalid;
  table_.remove(found->number);
  own_.erase(found);
  return inner_->deregister_memory(without_tail(key));
}

status amo_transport::attach(int rank, const region_key& key, region_id& id) {
  if (rank < 0 || rank >= size_) return status::invalid;
  key_tail tail;
  std::memcpy(&tail, key.bytes.data() + own_part, sizeof tail);
  if (tail.number_plus_one == 0) return status::invalid;
  region r{rank, 0, tail.bytes, static_cast<std::uint32_t>(tail.number_plus_one - 1)};
  if (const status s = inner_->attach(rank, without_tail(key), r.inner); s != status::ok) return s;
  if (rank == rank_ && table_.word(r.number, 0) == nullptr) return status::invalid;
  regions_.push_back(r);
  id = static_cast<region_id>(regions_.size() - 1);
  return status::ok;
}

std::byte* amo_transport::map(region_id id) noexcept {
  return id < regions_.size() ? inner_->map(regions_[id].inner) : nullptr;
}

status amo_transport::post(int rank, std::span<const op> ops) noexcept {
  if (ops.size() != 1 || rank < 0 || rank >= size_) return status::invalid;
  op o = ops[0];
  if (o.region >= regions_.size() || regions_[o.region].rank != rank) return status::invalid;
  const region& r = regions_[o.region];
  if (o.kind == op_kind::put || o.kind == op_kind::get) {
    o.region = r.inner;
    return inner_->post(rank, {&o, 1});
  }
  if (!in_range(o, r.bytes, caps_.put_max)) return status::invalid;
  if (rank != rank_) return ask(rank, o, r);
  std::uint64_t* word = table_.word(r.number, o.remote);
  if (word == nullptr) return status::invalid;
  o.remote = 0;
  execute({&o, 1}, [&](region_id) { return reinterpret_cast<std::byte*>(word); });
  return status::ok;
}

status amo_transport::ask(int rank, const op& o, const region& r) noexcept {
  peer& p = peer_of(rank);
  if (p.asked - p.answered >= amo_slots) {
    progress();
    if (p.asked - p.answered >= amo_slots) return status::again;
  }
  const amo_request request{o.remote, o.operand, o.expected, r.number, static_cast<std::uint32_t>(o.kind)};
  const auto packed = request_cell::pack(request, turn_of(p.asked, amo_slots));
  const std::uint64_t slot = p.asked % amo_slots;
  const std::uint64_t at = static_cast<std::size_t>(rank_) * request_bytes_a_peer + slot * sizeof packed;
  const status s = inner_->put(p.server, p.requests, at, &packed, sizeof packed);
  if (s != status::ok) return s;
  p.found[slot] = o.local;
  keep_busy(rank, p);
  ++p.asked;
  return status::ok;
}

void amo_transport::take_replies(peer& p, std::size_t index) noexcept {
  while (p.answered != p.asked) {
    const std::uint64_t slot = p.answered % amo_slots;
    auto* c = reinterpret_cast<reply_cell*>(replies_->at(index * reply_bytes_a_peer + slot * sizeof(reply_cell)));
    std::uint64_t value = 0;
    if (!c->unpack(turn_of(p.answered, amo_slots), value)) return;
    std::memcpy(p.found[slot], &value, sizeof value);
    ++p.answered;
  }
}

void amo_transport::progress() noexcept {
  inner_->progress();
  if (!threaded_) server_->serve();
  for (std::size_t i = 0; i < busy_.size();) {
    peer& p = peer_of(busy_[i]);
    take_replies(p, static_cast<std::size_t>(busy_[i]));
    if (!p.to_notify.empty()) notify_pending(busy_[i], p);
    if (p.asked != p.answered || !p.to_notify.empty()) {
      ++i;
      continue;
    }
    p.busy = false;
    busy_[i] = busy_.back();
    busy_.pop_back();
  }
}

status amo_transport::flush(int rank) noexcept {
  if (rank < 0 || rank >= size_) return status::invalid;
  peer& p = peer_of(rank);
  const status s = inner_->flush(rank);
  if (s == status::ok && !p.busy) return status::ok;  // others are served where this worker waits or polls
  progress();
  if (s != status::ok) return s;
  if (!p.busy) return status::ok;
  // A reply or a notice is outstanding. A server that cannot be reached will send none.
  const status server = threaded_ ? inner_->flush(p.server) : status::again;
  return server == status::ok ? status::again : server;
}

status amo_transport::put_notify(int rank, const op& o, std::uint64_t data) noexcept {
  if (rank < 0 || rank >= size_ || o.kind != op_kind::put) return status::invalid;
  if (const status s = post(rank, {&o, 1}); s != status::ok) return s;
  peer& p = peer_of(rank);
  keep_busy(rank, p);
  p.to_notify.push_back(data);
  return status::ok;
}

void amo_transport::keep_busy(int rank, peer& p) noexcept {
  if (std::exchange(p.busy, true)) return;
  busy_.push_back(rank);
}

// The puts before a notice must be visible before it: the notice waits for their completion.
void amo_transport::notify_pending(int rank, peer& p) noexcept {
  status s = inner_->flush(rank);
  std::size_t sent = 0;
  while (s == status::ok && sent < p.to_notify.size()) {
    s = notices_->send(rank, p.to_notify[sent]);
    if (s == status::ok) ++sent;
  }
  p.to_notify.erase(p.to_notify.begin(), p.to_notify.begin() + static_cast<std::ptrdiff_t>(sent));
  if (s != status::ok && s != status::again) p.to_notify.clear();  // flush() will say what happened to the peer
}

status amo_transport::poll_notice(notice& n) noexcept {
  progress();
  return notices_->receive(n.rank, n.data);
}

}  // namespace tobi::transports::soft
