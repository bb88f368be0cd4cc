// SPDX-License-Identifier: Apache-2.0
#include "libcore/pool/giver.hpp"

#include <algorithm>
#include <atomic>

namespace tobi::pool {

giver::giver(net::fabric& net, mail& post, queue& own, collection_words& words, std::size_t number)
    : mail_(post), own_(own), words_(words), number_(static_cast<std::uint32_t>(number)), batch_(net) {}

bool giver::asked(int thief, const mail::request& what) {
  const queue::portion marked = own_.give(what.room);
  if (marked.count == 0) return false;
  under_way_.push_back({thief, what, marked.first, marked.count});
  return true;
}

// Two rings, so up to three pieces.
void giver::post(const transfer& what) {
  const std::uint64_t capacity = own_.capacity();
  const std::size_t each = own_.task_bytes();
  for (std::uint64_t done = 0; done < what.count;) {
    const std::uint64_t from = (what.first + done) % capacity;
    const std::uint64_t to = (what.to.place + done) % capacity;
    const std::uint64_t n = std::min({what.count - done, capacity - from, capacity - to});
    batch_.put(what.thief, what.to.words + ring_offset + to * each, own_.at_place(from), n * each);
    done += n;
  }
  batch_.post();
}

void giver::serve() {
  if (under_way_.empty()) [[likely]] {
    return;
  }
  std::erase_if(under_way_, [this](transfer& t) {
    if (!t.posted) {
      t.posted = true;
      post(t);
    }
    if (!t.arrived) {
      if (!batch_.is_done(t.thief)) return false;
      t.arrived = true;
      // One writer: no thief adds to it here. The places are written again by this rank, whose puts have read them.
      std::atomic_ref(words_.copied).store(words_.copied + t.count, std::memory_order_relaxed);
    }
    return mail_.send(t.thief, mail::delivery{number_, static_cast<std::uint32_t>(t.count)});
  });
}

}  // namespace tobi::pool
