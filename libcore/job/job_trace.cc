// SPDX-License-Identifier: Apache-2.0
#include "libcore/job/job_trace.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>

#include "libcore/base/log.hpp"
#include "libcore/job/whole_file.hpp"
#include "libcore/trace/trace_file.hpp"

namespace tobi::job {

using transports::op;

namespace {

// The narrowest of so many round trips is rarely disturbed by anything.
constexpr std::uint64_t pings_per_measurement = 32;
constexpr std::uint64_t piece_events = 4096;

}  // namespace

job_trace::job_trace(std::string file, std::size_t ring_bytes, parts lent)
    : file_(std::move(file)), lent_(std::move(lent)), tracer_(ring_bytes) {
  begin_ns_ = trace::tracer::now();
  at_start_ = measure_clocks();
  trace::tracing = &tracer_;
}

job_trace::~job_trace() { trace::tracing = nullptr; }

// Of rank 0's node and of each other one, in terms of rank 0's. One worker speaks for the clock of its node, so that
// what happens inside a node keeps its order to the nanosecond. Only rank 0 learns the result.
base::per_rank<trace::clock_offset> job_trace::measure_clocks() {
  base::per_rank<trace::clock_offset> of(lent_.net->size());
  lent_.barrier();
  const int rank = lent_.net->rank();
  if (rank == 0) {
    for (int r = 1; r < lent_.net->size(); ++r) {
      const int speaker = lent_.clock_of[r];
      of[r] = speaker == r ? ping(r) : of[speaker];
    }
  } else if (lent_.clock_of[rank] == rank) {
    answer_pings();
  }
  lent_.barrier();
  return of;
}

trace::clock_offset job_trace::ping(int rank) {
  net::fabric& net = *lent_.net;
  std::vector<trace::clock_exchange> exchanges;
  const std::atomic_ref answered(lent_.words->answer[1]);
  for (std::uint64_t i = 0; i < pings_per_measurement; ++i) {
    const std::uint64_t number = ++pings_;
    const op tell = op::put(net.heap(rank), lent_.words_at + offsetof(trace_words, ping), &number, 8);
    const std::uint64_t sent = trace::tracer::now();
    net.post(rank, {&tell, 1});
    // Acquire: the stamp was put before the number.
    for (unsigned spins = 0; answered.load(std::memory_order_acquire) != number; ++spins) lent_.turn(spins);
    const std::uint64_t received = trace::tracer::now();
    net.complete(rank);
    exchanges.push_back({sent, std::atomic_ref(lent_.words->answer[0]).load(std::memory_order_relaxed), received});
  }
  return trace::estimate_offset(exchanges);
}

void job_trace::answer_pings() {
  net::fabric& net = *lent_.net;
  const std::atomic_ref asked(lent_.words->ping);
  constexpr std::uint64_t at = offsetof(trace_words, answer);
  std::uint64_t seen = pings_;
  for (std::uint64_t i = 0; i < pings_per_measurement; ++i) {
    for (unsigned spins = 0; asked.load(std::memory_order_acquire) == seen; ++spins) lent_.turn(spins);
    seen = asked.load(std::memory_order_relaxed);
    std::uint64_t answer[2] = {trace::tracer::now(), seen};
    const op both[] = {
        op::put(net.heap(0), lent_.words_at + at, &answer[0], 8),
        op::put(net.heap(0), lent_.words_at + at + 8, &answer[1], 8),
    };
    net.post(0, both);
    net.complete(0);
  }
  pings_ = seen;
}

void job_trace::write(trace::trace_facts facts, const global_statistics& memory) {
  const base::per_rank<trace::clock_offset> at_end = measure_clocks();
  const trace::event_ring& ring = tracer_.ring();
  net::fabric& net = *lent_.net;
  const int written = net.rank() == 0 ? net.size() : 0;  // ranks whose events this one writes
  const std::uint64_t piece = std::max<std::uint64_t>(
      1, std::min<std::uint64_t>(piece_events, net.transport().caps().put_max / sizeof(trace::event)));
  auto* buffer = static_cast<trace::event*>(lent_.objects->allocate(piece * sizeof(trace::event)));
  if (buffer == nullptr) base::fatal("the registered heap is full: no room to gather the trace; raise TOBI_HEAP_SIZE.");
  lent_.words->card = {ring.size(), ring.lost(), net.here(buffer).word, tracer_.totals(), memory};
  // Every rank must know how many rounds there are, and rank 0 which pieces to get.
  const std::uint64_t most = lent_.most_of_all(ring.size());
  base::per_rank<trace_card> cards(written);
  for (int r = 0; r < written; ++r) {
    net.get({r, lent_.words_at + offsetof(trace_words, card)}, &cards[r], sizeof cards[r]);
  }

  std::string text;
  facts.begin_ns = begin_ns_;
  for (int r = 0; r < written; ++r) {
    facts.ranks.push_back(
        {lent_.nodes[r], cards[r].events, cards[r].lost, cards[r].totals, cards[r].memory,
         lent_.clock_of[r] == lent_.clock_of[0] ? trace::clock_line() : trace::clock_line(at_start_[r], at_end[r])});
  }
  trace::trace_encoder encoder(text, facts);
  std::optional<whole_file> out;
  const auto flush = [&] {
    out->write(text);
    text.clear();
  };
  if (net.rank() == 0) {
    out.emplace("TOBI_TRACE", file_);
    encoder.begin();
    flush();
  }
  std::vector<trace::event> here(piece);
  for (std::uint64_t first = 0; first < most; first += piece) {
    for (std::uint64_t i = first; i < std::min(first + piece, ring.size()); ++i) buffer[i - first] = ring.at(i);
    lent_.barrier();
    for (int r = 0; r < written && out.has_value(); ++r) {
      if (cards[r].events <= first) continue;
      const std::uint64_t count = std::min(piece, cards[r].events - first);
      net.get(net::location{cards[r].piece}, here.data(), count * sizeof(trace::event));
      for (std::uint64_t i = 0; i < count; ++i) encoder.event(r, here[i]);
      flush();
    }
    lent_.barrier();
  }
  if (out.has_value()) {
    encoder.end();
    flush();
    out->finish();
  }
  lent_.barrier();
  lent_.objects->free_local(buffer);
}

}  // namespace tobi::job
