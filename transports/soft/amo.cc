// SPDX-License-Identifier: Apache-2.0
#include "transports/soft/amo.hpp"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "arch/topology.hpp"
#include "libcore/base/thread.hpp"
#include "transports/cpu_ops.hpp"
#include "transports/decorators/mask.hpp"
#include "transports/key_parts.hpp"

namespace tobi::transports::soft {

namespace {

// A key is the inner transport's, and behind it what the server needs.
struct key_tail {
  std::uint64_t bytes;
  std::uint64_t number_plus_one;  // 0: not one of ours
};
static_assert(own_key_bytes_max + sizeof(key_tail) <= soft_key_bytes_max,
              "routing keeps the rest for the other transport");

region_key without_tail(region_key key) {
  std::memset(key.bytes.data() + own_key_bytes_max, 0, sizeof(key_tail));
  return key;
}

// What a peer says of itself: this, then its keys without the zeros at their ends, then its addresses.
struct address_head {
  std::uint32_t client_bytes;
  std::uint16_t board_bytes;
  std::uint16_t thread_board_bytes;  // 0: it has no thread
  std::uint32_t directory_bytes;     // of a worker whose server is another rank
};

// The parts of the workers' boards. Ranks that do not serve have room for requests too: nobody touches it.
struct parts {
  amo_places places;
  std::size_t notices;
  std::size_t worker_bytes;
  std::size_t thread_bytes;

  parts(int size, bool by_thread) {
    const auto n = static_cast<std::size_t>(size);
    const std::size_t requests = n * request_bytes_per_peer;
    notices = n * reply_bytes_per_peer;
    const std::size_t behind = notices + mailbox<std::uint64_t>::bytes(size);
    places = {by_thread ? 0 : behind, 0};
    worker_bytes = by_thread ? behind : behind + requests;
    thread_bytes = by_thread ? requests : 0;
  }
};

void append(std::string& text, const void* from, std::size_t bytes) {
  text.append(static_cast<const char*>(from), bytes);
}

// Notices of the transport underneath that one poll takes.
constexpr int most_per_poll = 256;

}  // namespace

std::unique_ptr<transport> with_amo_server(const context& where, const factory& make, int seen_at_once) {
  return std::make_unique<amo_transport>(where, make, seen_at_once);
}

amo_transport::amo_transport(const context& where, const factory& make, int seen_at_once)
    : rank_(where.rank),
      size_(where.size),
      seen_at_once_(seen_at_once),
      place_(where),
      inner_(decorators::masked(make(place_.for_worker(where)), where.settings)),
      memory_(rank_, table_),
      keys_(endpoints()),
      peers_(static_cast<std::size_t>(where.size)) {
  if (place_.by_thread()) server_inner_ = decorators::masked(make(place_.for_thread(where)), where.settings);
  caps_ = inner_->caps();
  caps_.put_notify = true;
  caps_.msg_max = sizeof(std::uint64_t);
  caps_.fetch_add = true;
  caps_.compare_swap = true;
  caps_.scope = amo_scope::host;
  caps_.amo_in_calls = false;
  caps_.passive_amo = place_.passive();
  caps_.registers_any_memory = caps_.registers_any_memory && !place_.by_node();  // another process is to map it
  caps_.chain_max = 1;  // an operation underneath and a message are not ordered
  caps_.ordered_gets = false;
  granule_ = std::exchange(caps_.put_granule, 1u);
  caps_.passive_rma = caps_.passive_rma && (granule_ == 1 || place_.passive());
  if (caps_.peers_max != 0) caps_.peers_max = std::max(1u, caps_.peers_max / 2);  // for what is asked, and for replies
  const parts has(size_, place_.by_thread());
  board_ = std::make_unique<board>(*inner_, has.worker_bytes, keys_, endpoints());
  if (place_.by_thread()) {
    server_board_ = std::make_unique<board>(*server_inner_, has.thread_bytes, keys_, endpoints());
  }
  if (place_.is_server(rank_)) {
    board& requests = place_.by_thread() ? *server_board_ : *board_;
    server_ = std::make_unique<amo_server>(requests, has.places, rank_, size_, memory_);
  }
  if (place_.by_node()) directory_ = std::make_unique<region_directory>();
  client_ = std::make_unique<amo_client>(*board_, has.places, rank_, size_);
  notices_ = std::make_unique<mailbox<std::uint64_t>>(*board_, has.notices, rank_, size_);
  announce();
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
  head.client_bytes = static_cast<std::uint32_t>(client.size());
  head.board_bytes = static_cast<std::uint16_t>(key_list::used(board_->key()));
  if (server_board_ != nullptr) {
    head.thread_board_bytes = static_cast<std::uint16_t>(key_list::used(server_board_->key()));
  }
  const memory_name directory = directory_ == nullptr ? memory_name{} : directory_->name();
  if (directory_ != nullptr) head.directory_bytes = sizeof directory;
  std::string text;
  append(text, &head, sizeof head);
  append(text, board_->key().bytes.data(), head.board_bytes);
  if (server_board_ != nullptr) append(text, server_board_->key().bytes.data(), head.thread_board_bytes);
  append(text, &directory, head.directory_bytes);
  text += client;
  if (server_inner_ != nullptr) text += server_inner_->address();
  return text;
}

status amo_transport::connect(std::span<const std::string> addresses) {
  if (addresses.size() != static_cast<std::size_t>(size_)) return status::invalid;
  std::vector<std::string> inner(endpoints());
  for (std::size_t r = 0; r < addresses.size(); ++r) {
    std::string_view rest = addresses[r];
    const auto take = [&](void* to, std::size_t bytes) {
      if (rest.size() < bytes) return false;
      std::memcpy(to, rest.data(), bytes);
      rest.remove_prefix(bytes);
      return true;
    };
    address_head head;
    region_key worker_board;
    region_key thread_board;
    memory_name directory;
    const bool whole = take(&head, sizeof head) && head.board_bytes <= sizeof worker_board &&
                       head.thread_board_bytes <= sizeof thread_board && head.directory_bytes <= sizeof directory &&
                       take(&worker_board, head.board_bytes) && take(&thread_board, head.thread_board_bytes) &&
                       take(&directory, head.directory_bytes) && rest.size() >= head.client_bytes;
    if (!whole || place_.by_thread() != (head.thread_board_bytes != 0)) return status::invalid;
    keys_.set(r, worker_board);
    inner[r] = rest.substr(0, head.client_bytes);
    if (place_.by_thread()) {
      keys_.set(addresses.size() + r, thread_board);
      inner[addresses.size() + r] = rest.substr(head.client_bytes);
    }
    const auto rank = static_cast<int>(r);
    if (rank == rank_ || place_.server_of(rank) != rank_) continue;
    if (const status s = memory_.add(rank, directory); s != status::ok) return s;
  }
  status s = inner_->connect(inner);
  if (s == status::ok && server_inner_ != nullptr) s = server_inner_->connect(inner);
  if (s == status::ok && place_.by_thread()) start_thread();
  return s;
}

void amo_transport::measure(meeting& with) {
  inner_->measure(with);
  caps_.passive_rma = inner_->caps().passive_rma && (granule_ == 1 || place_.passive());
  caps_.needs_progress = inner_->caps().needs_progress;
  announce();  // notices too may have been promised only
}

void amo_transport::announce() noexcept {
  const bool on = size_ > seen_at_once_ && board::can_announce(*inner_);
  board_->announce(on);
  // Replies come as puts. One that needs this worker's poll wakes it; one that does not comes without a sign. And a
  // look must find each rank that has written.
  caps_.has_wait_fd = (on || size_ <= looks_per_poll) && inner_->caps().has_wait_fd && !inner_->caps().passive_rma;
  // Relaxed: no request is under way yet.
  announced_.store(on, std::memory_order_relaxed);
}

// One look at what has come for the thread. True if there was anything.
bool amo_transport::serve_by_thread() noexcept {
  bool any = false;
  if (announced_.load(std::memory_order_relaxed)) {
    server_board_->announce(true);
    notice n;
    status heard = status::ok;
    for (int i = 0; i < most_per_poll && (heard = server_inner_->poll_notice(n)) == status::ok; ++i) {
      if (n.rank >= 0 && n.rank < size_) any = server_->look(n.rank) || any;
    }
    if (heard == status::domain_lost) amo_server::fabric_is_gone("it cannot receive requests");
  } else {
    server_board_->announce(false);
    server_inner_->progress();
  }
  return server_->serve() || any;
}

// One look at what has come for the worker.
void amo_transport::hear() noexcept {
  if (!board_->announces()) return inner_->progress();
  notice n;
  for (int i = 0; i < most_per_poll && inner_->poll_notice(n) == status::ok; ++i) {
    if (n.rank < 0 || n.rank >= size_) continue;
    if (n.data == static_cast<std::uint64_t>(announced::message)) {
      notices_->look(n.rank);
    } else if (server_ != nullptr && !place_.by_thread()) {
      server_->look(n.rank);
    }
  }
}

void amo_transport::start_thread() {
  thread_ = base::start_thread("executes atomics (TOBI_AMO_SERVER)", [this] {
    arch::bind_to_all_cores();  // on the worker's core alone it would wait until that is preempted
    unsigned idle = 0;
    while (!stop_.load(std::memory_order_relaxed)) {
      idle = serve_by_thread() ? 0 : idle + 1;
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
  must_keep_to(own_key_bytes_max, key, *inner_);
  const std::size_t bytes = caps_.pins_memory ? local.bytes_at_first() : local.bytes;
  const int number = table_.add(static_cast<std::byte*>(local.base), bytes);
  if (number < 0) {
    inner_->deregister_memory(key);
    return status::invalid;
  }
  if (directory_ != nullptr) directory_->publish(static_cast<std::size_t>(number), name);
  const key_tail tail{bytes, static_cast<std::uint64_t>(number) + 1};
  std::memcpy(key.bytes.data() + own_key_bytes_max, &tail, sizeof tail);
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
  std::memcpy(&tail, key.bytes.data() + own_key_bytes_max, sizeof tail);
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
  if (o.kind == op_kind::put && rank != rank_ && (o.remote % granule_ != 0 || o.bytes % granule_ != 0)) [[unlikely]] {
    return put_odd(rank, o, r);
  }
  if (o.kind == op_kind::put || o.kind == op_kind::get) {
    o.region = r.inner;
    return inner_->post(rank, {&o, 1});
  }
  if (!in_range(o, r.bytes, caps_.put_max)) return status::invalid;
  if (rank != rank_) return ask(rank, o, r);
  std::uint64_t* word = table_.word(r.number, o.remote);
  if (word == nullptr) return status::invalid;
  o.remote = 0;
  execute_whole({&o, 1}, [&](region_id) { return reinterpret_cast<std::byte*>(word); });
  return status::ok;
}

status amo_transport::ask(int rank, const op& o, const region& r) noexcept {
  const amo_request request{o.remote,
                            o.operand,
                            o.expected,
                            static_cast<std::uint32_t>(rank),
                            static_cast<std::uint16_t>(r.number),
                            static_cast<std::uint16_t>(o.kind)};
  const status s = ask(rank, request, o.local);
  if (s != status::again) return s;
  progress();  // the queue may have room now
  return ask(rank, request, o.local);
}

status amo_transport::ask(int rank, const amo_request& request, void* found) noexcept {
  const int server = place_.server_of(rank);
  if (const status s = client_->ask(server, place_.endpoint_of(server), request, found); s != status::ok) return s;
  peer& p = peers_.of(rank);
  p.asked = client_->asked(server);
  keep_busy(rank, p);
  return status::ok;
}

// A put whose ends are no whole granules: the server stores those, and the fabric puts what lies between. Nothing is
// begun unless all of it can be asked for, now or by progress().
status amo_transport::put_odd(int rank, const op& o, const region& r) noexcept {
  if (!in_range(o, r.bytes, caps_.put_max)) return status::invalid;
  const std::uint64_t head = o.bytes <= word_bytes ? o.bytes : (granule_ - o.remote % granule_) % granule_;
  const std::uint64_t tail = (o.remote + o.bytes) % granule_ * (o.bytes <= word_bytes ? 0 : 1);
  if (!edges_.empty() || !client_->has_room(place_.server_of(rank), 2)) {
    progress();
    if (!edges_.empty() || !client_->has_room(place_.server_of(rank), 2)) return status::again;
  }
  auto* from = static_cast<std::byte*>(o.local);
  if (o.bytes > head + tail) {
    const op middle = op::put(r.inner, o.remote + head, from + head, o.bytes - head - tail);
    if (const status s = inner_->post(rank, {&middle, 1}); s != status::ok) return s;
  }
  const auto owe = [&](std::uint64_t at, std::uint64_t count) {
    if (count == 0) return;
    amo_request request{o.remote + at, 0, count, static_cast<std::uint32_t>(rank), static_cast<std::uint16_t>(r.number),
                        stores_bytes};
    std::memcpy(&request.operand, from + at, count);
    edges_.push_back({rank, request});
    ++peers_.of(rank).edges;
  };
  owe(0, head);
  owe(o.bytes - tail, tail);
  keep_busy(rank, peers_.of(rank));
  ask_for_edges();
  return status::ok;
}

void amo_transport::ask_for_edges() noexcept {
  std::erase_if(edges_, [this](const edge& e) {
    const status s = ask(e.rank, e.request, &stored_);
    if (s == status::again) return false;
    --peers_.of(e.rank).edges;  // where the peer is lost, flush() says so
    return true;
  });
}

void amo_transport::progress() noexcept {
  hear();
  if (!edges_.empty()) ask_for_edges();
  if (server_ != nullptr && !place_.by_thread()) server_->serve();
  client_->take_replies();
  for (std::size_t i = 0; i < busy_.size();) {
    const int rank = busy_[i];
    peer& p = peers_.of(rank);
    if (!p.to_notify.empty()) notify_pending(rank, p);
    if (!client_->answered(place_.server_of(rank), p.asked) || !p.to_notify.empty() || p.edges != 0) {
      ++i;
      continue;
    }
    p.busy = false;
    busy_[i] = busy_.back();
    busy_.pop_back();
  }
}

bool amo_transport::may_sleep() noexcept {
  // First the transport underneath: its own look may let puts in, and these show at no descriptor afterwards.
  if (!inner_->may_sleep()) return false;
  if (client_->take_replies()) return false;
  if (server_ != nullptr && !place_.by_thread() && (server_->serve() || server_->owes())) return false;
  return !(listens_ && notices_->has_come());
}

status amo_transport::flush(int rank) noexcept {
  if (rank < 0 || rank >= size_) return status::invalid;
  const peer* p = peers_.find(rank);
  const status s = inner_->flush(rank);
  if (s == status::ok && (p == nullptr || !p->busy)) return status::ok;  // others are served where this worker waits
  progress();
  if (s != status::ok) return s;
  if (!p->busy) return status::ok;
  // A reply or a notice is outstanding. A server that cannot be reached will send none.
  const status way = inner_->flush(place_.endpoint_of(place_.server_of(rank)));
  return way == status::ok ? status::again : way;
}

status amo_transport::put_notify(int rank, const op& o, std::uint64_t data) noexcept {
  if (rank < 0 || rank >= size_ || o.kind != op_kind::put) return status::invalid;
  if (const status s = post(rank, {&o, 1}); s != status::ok) return s;
  peer& p = peers_.of(rank);
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
  listens_ = true;
  progress();
  return notices_->receive(n.rank, n.data);
}

}  // namespace tobi::transports::soft
