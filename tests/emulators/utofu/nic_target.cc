// SPDX-License-Identifier: Apache-2.0
// The device as a target: other processes' requests on this one's memory.
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "tests/emulators/utofu/nic.hpp"

namespace emulated {

std::uint64_t now_ns() noexcept;

namespace {

constexpr std::size_t word_bytes = sizeof(std::uint64_t);

bool is_write(const packet& p) noexcept { return p.kind != packet_kind::get; }

// Aligned words are whole. They are moved from a place on that the seed gives.
void move_words(std::byte* to, const std::byte* from, std::size_t bytes, std::uint64_t first) noexcept {
  std::size_t head = 0;
  while (head < bytes && reinterpret_cast<std::uintptr_t>(to + head) % word_bytes != 0) {
    std::atomic_ref(to[head]).store(from[head], std::memory_order_relaxed);
    ++head;
  }
  const std::size_t words = (bytes - head) / word_bytes;
  for (std::size_t i = 0; i < words; ++i) {
    const std::size_t at = head + (i + first) % words * word_bytes;
    std::uint64_t word = 0;
    std::memcpy(&word, from + at, word_bytes);
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(to + at)).store(word, std::memory_order_release);
  }
  for (std::size_t i = head + words * word_bytes; i < bytes; ++i) {
    std::atomic_ref(to[i]).store(from[i], std::memory_order_release);
  }
}

void read_words(std::byte* to, std::byte* from, std::size_t bytes) noexcept {
  std::size_t i = 0;
  for (; i < bytes && reinterpret_cast<std::uintptr_t>(from + i) % word_bytes != 0; ++i) {
    to[i] = std::atomic_ref(from[i]).load(std::memory_order_acquire);
  }
  for (; i + word_bytes <= bytes; i += word_bytes) {
    const std::uint64_t word =
        std::atomic_ref(*reinterpret_cast<std::uint64_t*>(from + i)).load(std::memory_order_acquire);
    std::memcpy(to + i, &word, word_bytes);
  }
  for (; i < bytes; ++i) to[i] = std::atomic_ref(from[i]).load(std::memory_order_acquire);
}

std::uint64_t result_of(armw_kind op, std::uint64_t was, std::uint64_t value, std::uint64_t expected) noexcept {
  switch (op) {
    case armw_kind::swap:
      return value;
    case armw_kind::add:
      return was + value;
    case armw_kind::exclusive_or:
      return was ^ value;
    case armw_kind::and_:
      return was & value;
    case armw_kind::or_:
      return was | value;
    case armw_kind::compare:
      return was == expected ? value : was;
  }
  return was;
}

// The pieces have no order: the last one takes the place of the one that is done.
template <class Piece>
Piece take_out(std::vector<Piece>& of, std::size_t which) {
  std::swap(of[which], of.back());
  Piece one = std::move(of.back());
  of.pop_back();
  return one;
}

// A load, sometimes a pause, and a store: atomic with what this device does, and not with a CPU's instruction.
template <class Word>
std::uint64_t read_modify_write(std::byte* at, const packet& p, bool pause, bool store) noexcept {
  const std::atomic_ref word(*reinterpret_cast<Word*>(at));
  const Word was = word.load(std::memory_order_acquire);
  if (pause) sched_yield();
  const auto is = static_cast<Word>(result_of(p.op, was, static_cast<Word>(p.value), static_cast<Word>(p.expected)));
  const bool changes = p.op != armw_kind::compare || was == static_cast<Word>(p.expected);
  if (store && changes) word.store(is, std::memory_order_release);
  return was;
}

}  // namespace

bool nic::accept_callers() {
  bool any = false;
  vcq_page& own = vcq_.page();
  for (; seen_callers_ < vcq_page::callers_most; ++seen_callers_) {
    const std::uint64_t id = own.caller[seen_callers_].load();
    if (id == 0) break;
    auto c = std::make_unique<caller>();
    c->id = id - 1;
    c->page = find_vcq(c->id);
    c->way = find_link(c->id, vcq_.id());
    if (c->page != nullptr && c->way != nullptr) callers_.push_back(std::move(c));
    any = true;
  }
  return any;
}

bool nic::accept(caller& from) {
  bool any = false;
  for (packet* p = from.way->requests.front(); p != nullptr; p = from.way->requests.front()) {
    any = true;
    if (p->first != 0) {
      auto fresh = std::make_unique<pending>();
      std::memcpy(static_cast<void*>(&fresh->head), p, offsetof(packet, data));
      fresh->turns = static_cast<std::uint32_t>(random() % 4);
      fresh->due_ns = in_force().latency_ns == 0 ? 0 : now_ns() + in_force().latency_ns;
      if (p->kind == packet_kind::get) {
        for (std::uint32_t at = 0; at < p->total;) {
          const auto most = static_cast<std::uint32_t>(mtu - (p->at + at) % word_bytes);
          const std::uint32_t bytes = std::min(p->total - at, most);
          fresh->pieces.push_back({at, bytes, {}});
          at += bytes;
        }
      } else if (in_force().lines != shared_lines::ignore) {
        const std::size_t bytes = p->kind == packet_kind::put ? p->total : p->width;
        vcq_.with_memory(p->at, bytes, true, [&](std::byte* at) { fresh->lines.begin(at, bytes); });
      }
      from.requests.push_back(std::move(fresh));
    }
    if (p->kind == packet_kind::put) {
      pending& of = *from.requests.back();  // a ring has one request's packets behind each other
      of.pieces.push_back({p->offset, p->bytes, std::vector<std::byte>(p->data, p->data + p->bytes)});
      of.arrived += p->bytes;
    }
    from.way->requests.pop();
  }
  return any;
}

bool nic::may_begin(const caller& from, std::size_t index) const noexcept {
  const packet& p = from.requests[index]->head;
  if ((p.flags & flag::strong_order) == 0) return true;
  const bool all = in_force().order == ordering::all;
  if (!all && !is_write(p)) return true;
  for (std::size_t i = 0; i < index; ++i) {
    const pending& before = *from.requests[i];
    if (before.executed || before.head.path != p.path) continue;
    if (all || is_write(before.head)) return false;
  }
  return true;
}

bool nic::execute(caller& from) {
  if (from.requests.empty()) return false;
  bool any = false;
  const std::uint64_t now = in_force().latency_ns == 0 ? 0 : now_ns();
  const std::size_t count = from.requests.size();
  const std::size_t begin = random() % count;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t index = (begin + i) % count;
    pending& p = *from.requests[index];
    if (p.due_ns > now) {
      next_due_ns_ = next_due_ns_ == 0 ? p.due_ns : std::min(next_due_ns_, p.due_ns);
      continue;
    }
    if (p.turns > 0 && !p.executed) {
      --p.turns;
      any = true;
      continue;
    }
    if (p.executed || may_begin(from, index)) any = step(from, p) || any;
  }
  bool answered = false;
  std::erase_if(from.requests, [&](const std::unique_ptr<pending>& p) {
    if (!p->executed || !respond(from, *p)) return false;
    return answered = true;
  });
  if (any || answered) ring_bell(*from.page);
  return any || answered;
}

// Some of a request. Whether anything was done.
bool nic::step(caller& from, pending& p) {
  if (p.executed) return false;
  bool done = false;
  if (p.head.kind == packet_kind::put) {
    if (!put_piece(p)) return false;
    done = p.pieces.empty() && p.arrived == p.head.total;
  } else if (p.head.kind == packet_kind::get) {
    if (!get_piece(from, p)) return false;
    done = p.pieces.empty();
  } else {
    change(p);
    done = true;
  }
  // All packets of a put have come, too: none may be taken for the next request's.
  p.executed = done || (p.status != code::success && p.head.kind != packet_kind::put);
  const bool tells =
      (p.head.flags & flag::remote_mrq_notice) != 0 || (in_force().always_notices && p.head.kind == packet_kind::put);
  if (p.executed && p.status == code::success && tells) {
    utofu::mrq_notice n{};
    n.type = static_cast<std::uint8_t>(p.head.kind == packet_kind::put   ? utofu::notice_type::rmt_put
                                       : p.head.kind == packet_kind::get ? utofu::notice_type::rmt_get
                                                                         : utofu::notice_type::rmt_armw);
    n.vcq = from.id;
    n.edata = p.head.edata;
    n.rmt_value = p.found;
    n.rmt_stadd = p.head.at + p.head.total;
    vcq_.notice(code::success, n);
  }
  return true;
}

// Reports, counts or carries out the hazard of lines.hpp. True: this write is lost.
bool lost_to_a_line(watched_lines& lines, shared_line_counts& counts, const std::byte* at, std::size_t bytes,
                    std::uint64_t chance) {
  const shared_lines mode = in_force().lines;
  if (mode == shared_lines::ignore) return false;
  if (!lines.asked()) {
    ++counts.writes;
    if (lines.changed()) {
      ++counts.shared;
      if (mode == shared_lines::report) {
        breach(code::mrq_rmt_memory,
               "a remote write of %zu bytes at %p came while a CPU wrote other bytes of that 256-byte line", bytes,
               static_cast<const void*>(at));
      }
    }
  }
  return mode == shared_lines::lose && chance % 2 == 0 && lines.hurts(at, bytes);
}

bool nic::put_piece(pending& p) {
  if (p.pieces.empty()) return false;  // the rest is on its way
  const std::size_t which = random() % p.pieces.size();
  piece& one = p.pieces[which];
  const bool there = vcq_.with_memory(p.head.at + one.offset, one.bytes, true, [&](std::byte* at) {
    if (lost_to_a_line(p.lines, counts_, at, one.bytes, random())) return;
    move_words(at, one.data.data(), one.bytes, random());
    written(at, one.bytes);
  });
  if (!there) p.status = code::mrq_rmt_stadd;
  take_out(p.pieces, which);
  return true;
}

bool nic::get_piece(caller& from, pending& p) {
  packet* out = from.way->responses.room();
  if (out == nullptr) {
    blocked_ = true;
    return false;
  }
  const std::size_t which = random() % p.pieces.size();
  const piece one = take_out(p.pieces, which);
  if (!vcq_.with_memory(p.head.at + one.offset, one.bytes, false,
                        [&](std::byte* at) { read_words(out->data, at, one.bytes); })) {
    p.status = code::mrq_rmt_stadd;
    return true;
  }
  out->kind = packet_kind::data;
  out->request = p.head.request;
  out->offset = one.offset;
  out->bytes = static_cast<std::uint16_t>(one.bytes);
  from.way->responses.push();
  return true;
}

void nic::change(pending& p) {
  const bool there = vcq_.with_memory(p.head.at, p.head.width, true, [&](std::byte* at) {
    const bool store = !lost_to_a_line(p.lines, counts_, at, p.head.width, random());
    const bool pause = random() % 8 == 0;
    p.found = p.head.width == 8 ? read_modify_write<std::uint64_t>(at, p.head, pause, store)
                                : read_modify_write<std::uint32_t>(at, p.head, pause, store);
    written(at, p.head.width);
  });
  if (!there) p.status = code::mrq_rmt_stadd;
}

bool nic::respond(caller& to, pending& p) {
  packet* out = to.way->responses.room();
  if (out == nullptr) {
    blocked_ = true;
    return false;
  }
  out->kind = packet_kind::done;
  out->request = p.head.request;
  out->status = p.status;
  out->value = p.found;
  out->bytes = 0;
  to.way->responses.push();
  return true;
}

// The device itself has written: of what waits, that is no CPU's doing.
void nic::written(const std::byte* at, std::size_t bytes) noexcept {
  if (in_force().lines == shared_lines::ignore) return;
  for (auto& c : callers_) {
    for (auto& p : c->requests) p->lines.written(at, bytes);
  }
}

}  // namespace emulated
