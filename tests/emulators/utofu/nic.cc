// SPDX-License-Identifier: Apache-2.0
// The device as an initiator, and its loop.
#include "tests/emulators/utofu/nic.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace emulated {

namespace {

constexpr int poison = 0xa5;                         // what a get's memory holds until its data comes
constexpr std::uint64_t look_every_ns = 20'000'000;  // at whether a peer lives
constexpr std::uint64_t when_blocked_ns = 50'000;    // a ring is full, and nobody rings when it is not any more
constexpr std::uint64_t when_idle_ns = 1'000'000'000;

}  // namespace

std::uint64_t now_ns() noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

nic::nic(vcq& of) : vcq_(of), state_(of.seed()) {}

nic::~nic() {
  for (auto& [id, p] : peers_) {
    if (p->way != nullptr) unmap(p->way);
    if (p->page != nullptr) unmap(p->page);
  }
  for (auto& c : callers_) {
    if (c->way != nullptr) unmap(c->way);
    if (c->page != nullptr) unmap(c->page);
  }
  if (in_force().lines == shared_lines::count) {
    std::fprintf(stderr,
                 "tofu emulator: %llu of %llu writes came into a 256-byte line whose other bytes a CPU changed while "
                 "they were under way.\n",
                 static_cast<unsigned long long>(counts_.shared), static_cast<unsigned long long>(counts_.writes));
  }
}

std::uint64_t nic::random() noexcept {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

void nic::run(const std::atomic<bool>& stop) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  prctl(PR_SET_NAME, "emulated tofu");
  prctl(PR_SET_TIMERSLACK, 1);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (unsigned c = 0; c < CPU_SETSIZE; ++c) CPU_SET(c, &cores);  // a device needs no core of the program's
  sched_setaffinity(0, sizeof cores, &cores);
  while (!stop.load()) {
    const std::uint32_t seen = vcq_.page().bell.load();
    blocked_ = false;
    next_due_ns_ = 0;
    bool any = take_posted();
    for (auto& [id, p] : peers_) {
      any = send(*p) || any;
      any = receive(*p) || any;
    }
    any = accept_callers() || any;
    for (auto& c : callers_) {
      any = accept(*c) || any;
      any = execute(*c) || any;
    }
    const std::uint64_t now = now_ns();
    bool waits = false;
    if (now - looked_ns_ > look_every_ns) looked_ns_ = now;
    for (auto& [id, p] : peers_) {
      waits = waits || p->under_way != 0;
      if (looked_ns_ == now && p->under_way != 0) look_after(*p);
    }
    if (any) continue;
    std::uint64_t most = blocked_ ? when_blocked_ns : waits ? look_every_ns : when_idle_ns;
    if (next_due_ns_ != 0) most = std::min(most, next_due_ns_ > now ? next_due_ns_ - now : 0);
    if (most != 0) wait_for_bell(vcq_.page(), seen, most);
  }
}

nic::peer& nic::peer_of(utofu::vcq_id id) {
  std::unique_ptr<peer>& p = peers_[without_path(id)];
  if (p != nullptr && !p->gone) return *p;
  auto fresh = std::make_unique<peer>();
  fresh->id = without_path(id);
  fresh->page = find_vcq(fresh->id);
  fresh->gone =
      fresh->page == nullptr || fresh->page->open.load() == 0 || !alive(fresh->page->pid, fresh->page->started);
  if (p != nullptr && fresh->gone) {  // as it was
    if (fresh->page != nullptr) unmap(fresh->page);
    return *p;
  }
  if (!fresh->gone) {
    fresh->way = make_link(vcq_.id(), fresh->id);
    bool told = false;
    for (auto& place : fresh->page->caller) {
      std::uint64_t none = 0;
      if (fresh->way != nullptr && place.compare_exchange_strong(none, vcq_.id() + 1)) {
        told = true;
        break;
      }
    }
    fresh->gone = !told;
  }
  if (p != nullptr) {
    if (p->way != nullptr) unmap(p->way);
    if (p->page != nullptr) unmap(p->page);
  }
  p = std::move(fresh);
  return *p;
}

bool nic::take_posted() {
  bool any = false;
  for (vcq::posted one; vcq_.take_posted(one); any = true) {
    if (one.d.body == descriptor_body::nothing) {
      vcq_.left(one, code::success);
      continue;
    }
    peer& to = peer_of(one.d.to);
    const std::uint32_t number = next_number_++;
    request& r = requests_[number];
    r.posted = one;
    r.to = &to;
    ++to.under_way;
    if (to.gone) {
      vcq_.left(one, code::success);
      r.left = true;
      finish(number, r, code::mrq_peer, 0);
    } else {
      to.to_send.push_back(number);
    }
  }
  return any;
}

bool nic::send(peer& to) {
  bool any = false;
  while (!to.to_send.empty()) {
    const std::uint32_t number = to.to_send.front();
    request& r = requests_.at(number);
    if (!send_packet(to, number, r)) {
      blocked_ = true;
      break;
    }
    any = true;
    if (r.left) to.to_send.pop_front();
  }
  if (any) ring_bell(*to.page);
  return any;
}

// The next packet of a request. False: the ring is full.
bool nic::send_packet(peer& to, std::uint32_t number, request& r) {
  packet* p = to.way->requests.room();
  if (p == nullptr) return false;
  const descriptor& d = r.posted.d;
  std::memset(static_cast<void*>(p), 0, offsetof(packet, data));
  p->kind = d.kind;
  p->op = d.op;
  p->edata = d.edata;
  p->path = d.path;
  p->width = d.width;
  p->first = r.sent == 0;
  p->flags = d.flags;
  p->request = number;
  p->total = d.bytes;
  p->offset = r.sent;
  p->at = d.remote;
  p->value = d.operand.value;
  p->expected = d.operand.expected;
  bool sound = true;
  if (d.kind == packet_kind::put) {
    // Words that are aligned at the target are in one packet.
    const auto most = static_cast<std::uint32_t>(mtu - (d.remote + r.sent) % sizeof(std::uint64_t));
    p->bytes = static_cast<std::uint16_t>(std::min(d.bytes - r.sent, most));
    if (d.body == descriptor_body::piggyback) {
      std::memcpy(p->data, d.data, p->bytes);
    } else {
      sound = vcq_.with_memory(d.local + r.sent, p->bytes, false,
                               [&](const std::byte* at) { std::memcpy(p->data, at, p->bytes); });
    }
    r.sent += p->bytes;
  } else if (d.kind == packet_kind::get) {
    sound = vcq_.with_memory(d.local, d.bytes, true, [&](std::byte* at) { std::memset(at, poison, d.bytes); });
    r.sent = d.bytes;
  } else {
    r.sent = d.bytes;
  }
  if (!sound) {
    breach(code::tcq_stadd, "memory of a request was deregistered while the request was under way");
    vcq_.left(r.posted, code::tcq_stadd);
    --to.under_way;
    to.to_send.pop_front();
    requests_.erase(number);
    return true;
  }
  to.way->requests.push();
  if (r.sent == d.bytes) {
    r.left = true;
    vcq_.left(r.posted, code::success);
  }
  return true;
}

bool nic::receive(peer& from) {
  bool any = false;
  if (from.way == nullptr) return false;
  for (packet* p = from.way->responses.front(); p != nullptr; p = from.way->responses.front()) {
    any = true;
    const auto found = requests_.find(p->request);
    if (found != requests_.end() && p->kind == packet_kind::data) {
      const descriptor& d = found->second.posted.d;
      const bool there = vcq_.with_memory(d.local + p->offset, p->bytes, true, [&](std::byte* at) {
        std::memcpy(at, p->data, p->bytes);
        written(at, p->bytes);
      });
      if (!there) breach(code::mrq_lcl_stadd, "memory of a get was deregistered while the get was under way");
    } else if (found != requests_.end()) {
      finish(p->request, found->second, p->status, p->value);
    }
    from.way->responses.pop();
  }
  return any;
}

// The end of a request, by its target's word or because the target is no more.
void nic::finish(std::uint32_t number, request& r, int status, std::uint64_t found) {
  const descriptor& d = r.posted.d;
  --r.to->under_way;
  if (status == code::mrq_rmt_stadd) {
    breach(status, "a %s names memory that is not registered at its target: STADD %llx of VCQ %016llx, %u bytes",
           d.kind == packet_kind::put   ? "put"
           : d.kind == packet_kind::get ? "get"
                                        : "ARMW",
           static_cast<unsigned long long>(d.remote), static_cast<unsigned long long>(d.to), d.bytes);
  }
  if (status != code::success || (d.flags & flag::local_mrq_notice) != 0) {
    utofu::mrq_notice n{};
    const auto type = d.kind == packet_kind::put   ? utofu::notice_type::lcl_put
                      : d.kind == packet_kind::get ? utofu::notice_type::lcl_get
                                                   : utofu::notice_type::lcl_armw;
    n.type = static_cast<std::uint8_t>(type);
    n.vcq = d.to;
    n.edata = d.edata;
    n.rmt_value = found;
    n.lcl_stadd = d.kind == packet_kind::get ? d.local + d.bytes : 0;
    n.rmt_stadd = d.remote + d.bytes;
    vcq_.notice(status, n);
  }
  requests_.erase(number);
}

void nic::look_after(peer& of) {
  if (!of.gone && of.page->open.load() != 0 && alive(of.page->pid, of.page->started)) return;
  receive(of);  // what it has said before it ended
  of.gone = true;
  of.to_send.clear();
  std::vector<std::uint32_t> lost;
  for (const auto& [number, r] : requests_) {
    if (r.to == &of) lost.push_back(number);
  }
  std::sort(lost.begin(), lost.end());
  for (const std::uint32_t number : lost) {
    request& r = requests_.at(number);
    if (!r.left) vcq_.left(r.posted, code::success);
    finish(number, r, code::mrq_peer, 0);
  }
}

}  // namespace emulated
