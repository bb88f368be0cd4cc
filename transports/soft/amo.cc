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
  region_key requests;  // of a server
  region_key replies;
  region_key notices;
  memory_name directory;  // of a worker whose server is another rank
  std::uint32_t client_bytes;
};

}  // namespace

std::unique_ptr<transport> with_amo_server(const context& where, const factory& make) {
  return std::make_unique<amo_transport>(where, make);
}

amo_transport::amo_transport(const context& where, const factory& make)
    : rank_(where.rank),
      size_(where.size),
      place_(where),
      inner_(make(place_.for_worker(where))),
      memory_(rank_, table_),
      peers_(static_cast<std::size_t>(where.size)) {
  if (place_.by_thread()) server_inner_ = make(place_.for_thread(where));
  caps_ = inner_->caps();
  caps_.put_notify = true;
  caps_.notify_ordered = true;
  caps_.msg_max = sizeof(std::uint64_t);
  caps_.fetch_add = true;
  caps_.compare_swap = true;
  caps_.scope = amo_scope::host;
  caps_.passive_amo = place_.passive();
  caps_.reg_any_va = caps_.reg_any_va && !place_.by_node();  // another process is to map it
  caps_.chain = false;                                       // an operation underneath and a message are not ordered
  caps_.chain_max = 1;
  if (caps_.peers_max != 0) caps_.peers_max = std::max(1u, caps_.peers_max / 2);  // for what is asked, and for replies
  transport& servers = place_.by_thread() ? *server_inner_ : *inner_;
  if (place_.is_server(rank_)) server_ = std::make_unique<amo_server>(servers, rank_, size_, memory_);
  if (place_.by_node()) directory_ = std::make_unique<region_directory>();
  client_ = std::make_unique<amo_client>(*inner_, rank_, size_);
  notices_ = std::make_unique<mailbox<std::uint64_t>>(*inner_, rank_, size_);
}

amo_transport::~amo_transport() {
  stop_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
}

std::string amo_transport::describe() const {
  return inner_->describe() + "; atomics and notices are messages, atomics " + std::string(place_.words());
}

std::string amo_transport::address() const {
  const std::string client = inner_->address();
  address_head head{};
  if (server_ != nullptr) head.requests = server_->key();
  head.replies = client_->key();
  head.notices = notices_->key();
  if (directory_ != nullptr) head.directory = directory_->name();
  head.client_bytes = static_cast<std::uint32_t>(client.size());
  std::string text(reinterpret_cast<const char*>(&head), sizeof head);
  text += client;
  if (server_inner_ != nullptr) text += server_inner_->address();
  return text;
}

status amo_transport::connect(std::span<const std::string> addresses) {
  if (addresses.size() != peers_.size()) return status::invalid;
  std::vector<address_head> heads(addresses.size());
  std::vector<std::string> inner;
  std::vector<std::string> threads;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (addresses[i].size() < sizeof heads[i]) return status::invalid;
    std::memcpy(&heads[i], addresses[i].data(), sizeof heads[i]);
    inner.push_back(addresses[i].substr(sizeof heads[i], heads[i].client_bytes));
    threads.push_back(addresses[i].substr(sizeof heads[i] + heads[i].client_bytes));
  }
  if (place_.by_thread()) inner.insert(inner.end(), threads.begin(), threads.end());
  status s = inner_->connect(inner);
  if (s == status::ok && server_inner_ != nullptr) s = server_inner_->connect(inner);
  for (int r = 0; r < size_ && s == status::ok; ++r) {
    const address_head& head = heads[static_cast<std::size_t>(r)];
    s = notices_->connect(r, head.notices);
    if (s == status::ok && place_.is_server(r)) s = client_->connect(r, place_.endpoint_of(r), head.requests);
    if (s == status::ok && server_ != nullptr) s = server_->connect(r, r, head.replies);
    if (s == status::ok && r != rank_ && place_.server_of(r) == rank_) s = memory_.add(r, head.directory);
  }
  if (s == status::ok && place_.by_thread()) start_thread();
  return s;
}

void amo_transport::measure(meeting& with) {
  inner_->measure(with);
  caps_.passive_rma = inner_->caps().passive_rma;
  caps_.needs_progress = inner_->caps().needs_progress;
}

void amo_transport::start_thread() {
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

status amo_transport::register_memory(const memory& local, region_key& key) {
  memory_name name;
  if (directory_ != nullptr) {
    // Before anything is done: what nobody else can map cannot be served.
    if (const status s = name_memory(local, 0, name); s != status::ok) return s;
  }
  const status s = inner_->register_memory(local, key);
  if (s != status::ok) return s;
  const int number = table_.add(static_cast<std::byte*>(local.base), local.bytes);
  if (number < 0) {
    inner_->deregister_memory(key);
    return status::invalid;
  }
  if (directory_ != nullptr) directory_->publish(static_cast<std::size_t>(number), name);
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
  if (directory_ != nullptr) directory_->withdraw(found->number);
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
  if (r.number >= regions_max) return status::invalid;
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
  const int server = place_.server_of(rank);
  const amo_request request{o.remote,
                            o.operand,
                            o.expected,
                            static_cast<std::uint32_t>(rank),
                            static_cast<std::uint16_t>(r.number),
                            static_cast<std::uint16_t>(o.kind)};
  status s = client_->ask(server, request, o.local);
  if (s == status::again) {
    progress();  // the queue may have room now
    s = client_->ask(server, request, o.local);
  }
  if (s != status::ok) return s;
  peer& p = peer_of(rank);
  p.asked = client_->asked(server);
  keep_busy(rank, p);
  return status::ok;
}

void amo_transport::progress() noexcept {
  inner_->progress();
  if (server_ != nullptr && !place_.by_thread()) server_->serve();
  client_->take_replies();
  for (std::size_t i = 0; i < busy_.size();) {
    const int rank = busy_[i];
    peer& p = peer_of(rank);
    if (!p.to_notify.empty()) notify_pending(rank, p);
    if (!client_->answered(place_.server_of(rank), p.asked) || !p.to_notify.empty()) {
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
  const status way = client_->health(place_.server_of(rank));
  return way == status::ok ? status::again : way;
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
