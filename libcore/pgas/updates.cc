// SPDX-License-Identifier: Apache-2.0
#include "libcore/pgas/updates.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <new>
#include <string>

#include "libcore/base/log.hpp"

namespace tobi::pgas {

using transports::op;

namespace {

constexpr std::size_t lots_most = 16;                       // of a round
constexpr std::size_t words_most = 1024;                    // noted before they are posted
constexpr std::size_t letter_least = 8;                     // numbers; fewer are sooner there without
constexpr std::size_t tile_least = 32;                      // numbers next to each other; fewer wait
constexpr std::size_t numbers_most = std::size_t{1} << 15;  // that wait

}  // namespace

// Registered memory of this worker for what is on the way.
struct updates::staging {
  std::uint64_t found[lots_most];  // what the locks were
  std::uint64_t unread;            // what nobody looks at
  std::uint64_t word;
  alignas(64) std::byte lots[lots_most][update_locks::lot_bytes];
};

updates::updates(const update_parts& parts) : parts_(parts), batch_(*parts.net) {
  if (parts_.posting.box == nullptr) return;
  letters_ = std::make_unique<letter_writer>(
      parts_.posting, [this](std::size_t bytes) { return take(bytes); }, parts_.serve);
}

updates::finder::place updates::finder::operator()(std::uint64_t at) {
  if (at - run_.begin >= run_.bytes) {
    run_ = of_.parts_.where->find(at);
    if (run_.rank < 0) {
      run_.bytes = 0;
      return {-1, 0, 0, nullptr};
    }
    region_ = of_.parts_.region_here(run_.rank);
  }
  const std::uint64_t into = at - run_.begin;
  return {run_.rank, run_.home + into, run_.bytes - into, region_};
}

std::byte* updates::take(std::size_t bytes) {
  std::byte* const at = parts_.take(bytes);
  if (at == nullptr) {
    base::fatal("out of global memory: the registered heap has no room for the " + std::to_string(bytes / 1024) +
                " KiB that updates of other workers' numbers need; raise TOBI_HEAP_SIZE.");
  }
  return at;
}

updates::staging& updates::staged() {
  if (staging_ == nullptr) staging_ = new (take(sizeof(staging))) staging;
  return *staging_;
}

bool updates::by_letter(int rank, const std::byte* region, std::size_t numbers) const noexcept {
  return letters_ != nullptr && numbers >= letter_least && (region == nullptr || !parts_.net->cpu_atomics(rank));
}

void updates::add(std::uint64_t at, const std::byte* from, std::size_t bytes, number_kind number) {
  finder find(*this);
  const std::size_t each = bytes_of(number);
  if (waiting_of_other_kind(number)) send();
  kind_ = number;
  const update what{update_kind::add, number};
  for (std::size_t done = 0; done < bytes;) {
    const finder::place p = find(at + done);
    const std::size_t n = std::min<std::uint64_t>(p.left, bytes - done) / each;
    if (n < tile_least && !by_cpu(p)) {
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t to = i * each;
        note({p.rank, p.home + to, p.left - to, p.region}, at + done + to, from + done + to);
      }
    } else if (!is_word(number)) {
      split(find, at + done, from + done, n * each, what);
    } else if (by_letter(p.rank, p.region, n)) {
      letters_->add(p.rank, number, p.home, from + done, n);
    } else {
      for (std::size_t i = 0; i < n; ++i) {
        std::uint64_t operand;
        std::memcpy(&operand, from + done + i * each, each);
        if (operand != 0) add_word({p.rank, p.home + i * each, each, p.region}, operand);
      }
    }
    done += n * each;
  }
  finish(what);
  if (numbers_.size() >= numbers_most) send();
}

void updates::add_at(std::uint64_t at, const std::size_t* places, const std::byte* values, std::size_t count,
                     number_kind number) {
  finder find(*this);
  const std::size_t each = bytes_of(number);
  const bool word = is_word(number);
  if (waiting_of_other_kind(number)) send();
  kind_ = number;
  // An atomic waits for its line, and the next one for it: so lines are asked for some atomics before.
  std::array<finder::place, 32> found;
  for (std::size_t begin = 0; begin < count; begin += found.size()) {
    const std::size_t n = std::min(found.size(), count - begin);
    for (std::size_t i = 0; i < n; ++i) {
      found[i] = find(at + places[begin + i] * each);
      if (word && by_cpu(found[i])) __builtin_prefetch(found[i].region + found[i].home, 1);
    }
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t where = at + places[begin + i] * each;
      const std::byte* const operand = values + (begin + i) * each;
      if (is_stored(number) && found[i].region != nullptr) {
        std::memcpy(found[i].region + found[i].home, operand, each);
      } else if (!by_cpu(found[i])) {
        note(found[i], where, operand);
      } else if (word) {
        std::uint64_t by;
        std::memcpy(&by, operand, each);
        add_word(found[i], by);
      } else {
        near_.push_back({where, found[i].rank, found[i].home, found[i].region, 0});
        std::memcpy(&near_.back().operand, operand, each);
      }
    }
    if (near_.size() >= numbers_most) send_near();
    if (numbers_.size() >= numbers_most) send();
  }
  send_near();
}

// It waits for send().
void updates::note(const finder::place& p, std::uint64_t at, const std::byte* operand) {
  const std::size_t each = bytes_of(kind_);
  first_ = waiting() ? std::min(first_, at) : at;
  last_ = std::max(waiting() ? last_ : 0, at + each);
  numbers_.push_back({at, p.rank, p.home, p.region, 0});
  std::memcpy(&numbers_.back().operand, operand, each);
}

void updates::send_near() {
  if (near_.empty()) return;
  const update what{update_kind::add, kind_};
  sort_and_merge(near_);
  send_sorted(near_);
  finish(what);
  near_.clear();
}

void updates::send() {
  if (numbers_.empty()) return;
  const update what{update_kind::add, kind_};
  sort_and_merge(numbers_);
  for (const scattered& one : numbers_) parts_.forget(one.at, bytes_of(kind_));
  send_sorted(numbers_);
  finish(what);
  numbers_.clear();
}

// By homes, and one for each: what it costs to send a number is more than a place in a sort. Which of the sums comes
// first is nobody's affair. Of what is stored the last one counts.
void updates::sort_and_merge(std::vector<scattered>& all) {
  const auto by_home = [](const scattered& a, const scattered& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.home < b.home;
  };
  if (is_stored(kind_)) {
    std::stable_sort(all.begin(), all.end(), by_home);
  } else {
    std::sort(all.begin(), all.end(), by_home);
  }
  const update sum{update_kind::add, kind_};
  std::size_t kept = 0;
  for (const scattered& one : all) {
    if (kept != 0 && all[kept - 1].rank == one.rank && all[kept - 1].home == one.home) {
      sum.apply(reinterpret_cast<std::byte*>(&all[kept - 1].operand), one.bytes(), bytes_of(kind_));
    } else {
      all[kept++] = one;
    }
  }
  all.resize(kept);
}

// Those of each worker by the way that is the best for so many.
void updates::send_sorted(std::span<const scattered> all) {
  const update what{update_kind::add, kind_};
  while (!all.empty()) {
    const scattered& first = all.front();
    const auto end =
        std::find_if(all.begin(), all.end(), [&first](const scattered& one) { return one.rank != first.rank; });
    const std::span<const scattered> some = all.first(static_cast<std::size_t>(end - all.begin()));
    all = all.subspan(some.size());
    if (by_letter(first.rank, first.region, some.size())) {
      for (const scattered& one : some) letters_->add(one.rank, kind_, one.home, one.bytes(), 1);
    } else if (is_stored(kind_)) {
      for (const scattered& one : some) store({one.rank, one.home, sizeof one.operand, one.region}, one.bytes());
    } else if (!is_word(kind_)) {
      gather(some, what);
    } else {
      for (const scattered& one : some) add_word({one.rank, one.home, sizeof one.operand, one.region}, one.operand);
    }
  }
}

void updates::finish(const update& what) {
  finish_words();
  finish_lots(what);
  if (letters_ != nullptr) letters_->finish();
}

void updates::one(std::uint64_t at, const update& what, const void* operand) {
  finder find(*this);
  if (!is_word(what.number)) {
    split(find, at, static_cast<const std::byte*>(operand), bytes_of(what.number), what);
    finish_lots(what);
    return;
  }
  std::uint64_t by;
  std::memcpy(&by, operand, sizeof by);
  const std::uint64_t old = change_word(find(at), what, by);
  std::memcpy(what.old, &old, sizeof old);
}

// --- words ----------------------------------------------------------------------------------------------

// Relaxed: an update orders nothing else. What says to others that it was made is a release of its own.
void updates::add_word(const finder::place& p, std::uint64_t operand) {
  if (by_cpu(p)) {
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(p.region + p.home)).fetch_add(operand, std::memory_order_relaxed);
    return;
  }
  batch_.fetch_add(p.rank, p.home, operand, &staged().unread);
  if (++noted_ < words_most) return;
  batch_.post();
  noted_ = 0;
}

// The bytes stay where they are until finish_words().
void updates::store(const finder::place& p, const std::byte* bytes) {
  batch_.put(p.rank, p.home, bytes, bytes_of(kind_));
  if (++noted_ < words_most) return;
  batch_.post();
  noted_ = 0;
}

void updates::finish_words() {
  if (noted_ != 0) batch_.post();
  noted_ = 0;
  batch_.wait();
}

std::uint64_t updates::change_word(const finder::place& p, const update& what, std::uint64_t operand) {
  std::uint64_t* const here = by_cpu(p) ? reinterpret_cast<std::uint64_t*>(p.region + p.home) : nullptr;
  std::uint64_t& word = here != nullptr ? *here : staged().word;
  const auto add = [&](std::uint64_t by) {
    if (here != nullptr) return std::atomic_ref(word).fetch_add(by, std::memory_order_relaxed);
    batch_.fetch_add(p.rank, p.home, by, &word);
    batch_.post();
    batch_.wait();
    return word;
  };
  // What the word was, EXPECTED where it has become DESIRED.
  const auto swap = [&](std::uint64_t expected, std::uint64_t desired) {
    if (here != nullptr) {
      std::atomic_ref(word).compare_exchange_strong(expected, desired, std::memory_order_relaxed);
      return expected;
    }
    batch_.compare_swap(p.rank, p.home, expected, desired, &word);
    batch_.post();
    batch_.wait();
    return word;
  };
  if (what.how == update_kind::add) return add(operand);
  if (what.how == update_kind::compare_swap) return swap(what.expected, operand);
  // An atomic tells what the word is, not a get: some fabrics have the two pass each other.
  for (std::uint64_t old = add(0);;) {
    std::uint64_t next = old;
    update{what.how, what.number}.apply(reinterpret_cast<std::byte*>(&next), reinterpret_cast<std::byte*>(&operand),
                                        sizeof next);
    if (next == old) return old;
    const std::uint64_t found = swap(old, next);
    if (found == old) return old;
    old = found;
  }
}

// --- lots under locks -----------------------------------------------------------------------------------

void updates::split(finder& find, std::uint64_t at, const std::byte* from, std::size_t bytes, const update& what) {
  const std::uint64_t put_max = parts_.net->transport().caps().put_max;
  while (bytes != 0) {
    const finder::place p = find(at);
    std::uint64_t most = std::min(p.left, update_locks::lot_bytes - p.home % update_locks::lot_bytes);
    if (put_max != 0) most = std::min(most, put_max / sizeof(double) * sizeof(double));
    const std::size_t n = std::min<std::size_t>(bytes, most);
    change(p.region, {p.rank, p.home, nullptr, from, n, {}, nullptr, nullptr}, what);
    at += n;
    from += n;
    bytes -= n;
  }
}

// A lot for those of SOME, of one worker, that have one lock.
void updates::gather(std::span<const scattered> some, const update& what) {
  const std::size_t each = bytes_of(what.number);
  const std::uint64_t put_max = parts_.net->transport().caps().put_max;
  while (!some.empty()) {
    const scattered& first = some.front();
    std::uint64_t end = first.home / update_locks::lot_bytes * update_locks::lot_bytes + update_locks::lot_bytes;
    if (put_max != 0) end = std::min(end, first.home + put_max);
    std::size_t n = 1;
    while (n < some.size() && some[n].home + each <= end) ++n;
    const std::size_t bytes = some[n - 1].home + each - first.home;
    change(first.region, {first.rank, first.home, nullptr, first.bytes(), bytes, some.first(n), nullptr, nullptr},
           what);
    some = some.subspan(n);
  }
}

// At once, or in the next round. REGION: where the memory of its rank is mapped, or null.
void updates::change(std::byte* region, lot l, const update& what) {
  if (region != nullptr) l.here = region + l.home;
  if (region != nullptr && parts_.net->cpu_atomics(l.rank)) {
    under_lock(region, l, what);
    return;
  }
  l.staged = staged().lots[lots_.size()];
  l.found = &staged().found[lots_.size()];
  lots_.push_back(l);
  if (lots_.size() == lots_most) finish_lots(what);
}

namespace {

// The numbers of a lot, of which AT is the first byte.
template <class Lot>
void apply(const Lot& l, std::byte* at, const update& what) {
  if (l.some.empty()) {
    what.apply(at, l.from, l.bytes);
    return;
  }
  for (const auto& one : l.some) what.apply(at + (one.home - l.home), one.bytes(), bytes_of(what.number));
}

}  // namespace

void updates::under_lock(std::byte* region, const lot& l, const update& what) {
  const std::atomic_ref lock(*reinterpret_cast<std::uint64_t*>(region + lock_of(l)));
  for (unsigned spins = 0;; parts_.net->wait(spins)) {
    // A look first: a swap that fails takes the line from the one that holds the lock.
    if (lock.load(std::memory_order_relaxed) != 0) continue;
    std::uint64_t free = 0;
    // Acquire: the numbers as the last one has left them.
    if (lock.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed)) break;
  }
  apply(l, l.here, what);
  // Not a store: a swap of a device that fails may write what it has read.
  lock.fetch_sub(1, std::memory_order_release);
}

// Rounds, until all lots are done (U3).
void updates::finish_lots(const update& what) {
  for (unsigned spins = 0; !lots_.empty();) {
    const std::size_t before = lots_.size();
    try_locks();
    move(what);
    if (lots_.size() == before) {
      parts_.net->wait(spins);
    } else {
      spins = 0;
    }
  }
  batch_.wait();
}

// Each lot's lock is asked for, and behind it, in the same chain, what is to be changed.
void updates::try_locks() {
  net::fabric& net = *parts_.net;
  const bool chains = net.chains(2);
  for (const lot& l : lots_) {
    const op lock = op::cas(net.heap(l.rank), lock_of(l), 0, 1, l.found);
    if (chains && l.here == nullptr) {
      batch_.post_in_order(l.rank, std::array{lock.guarding(), op::get(net.heap(l.rank), l.home, l.staged, l.bytes)});
    } else {
      batch_.compare_swap(l.rank, lock_of(l), 0, 1, l.found);
    }
  }
  batch_.post();
  batch_.wait();
  if (chains) return;
  for (const lot& l : lots_) {
    if (*l.found == 0 && l.here == nullptr) batch_.get(l.rank, l.home, l.staged, l.bytes);
  }
  batch_.post();
  batch_.wait();
}

// Whether all bytes of a lot go home.
bool updates::in_one_put(const lot& l, std::size_t each) const noexcept {
  for (std::size_t i = 1; i < l.some.size(); ++i) {
    if (l.some[i].home > l.some[i - 1].home + each) return false;
  }
  return true;
}

// What was changed, and nothing of what lies between it (U4).
void updates::put_home(const lot& l, std::size_t each) {
  for (std::size_t i = 0; i < l.some.size();) {
    const std::uint64_t begin = l.some[i].home;
    std::uint64_t end = begin + each;
    for (; i < l.some.size() && l.some[i].home <= end; ++i) end = l.some[i].home + each;
    batch_.put(l.rank, begin, l.staged + (begin - l.home), end - begin);
  }
}

// Those whose locks were free are changed, sent home, and given up.
void updates::move(const update& what) {
  net::fabric& net = *parts_.net;
  const bool chains = net.chains(2);
  const std::size_t each = bytes_of(what.number);
  std::uint64_t* const unread = &staged().unread;
  const auto give_up = [&](const lot& l) { return op::add(net.heap(l.rank), lock_of(l), ~std::uint64_t{0}, unread); };
  const auto in_one_chain = [&](const lot& l) { return chains && l.here == nullptr && in_one_put(l, each); };
  const auto mine = std::partition(lots_.begin(), lots_.end(), [](const lot& l) { return *l.found != 0; });
  // Mapped numbers are loaded behind the lock that the fabric has brought, and stored before it takes it away.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (auto l = mine; l != lots_.end(); ++l) {
    apply(*l, l->here != nullptr ? l->here : l->staged, what);
    if (l->here != nullptr) continue;
    const op put = op::put(net.heap(l->rank), l->home, l->staged, l->bytes);
    if (in_one_chain(*l)) {
      batch_.post_in_order(l->rank, std::array{put, give_up(*l)});
    } else if (l->some.empty()) {
      batch_.put(l->rank, l->home, l->staged, l->bytes);
    } else {
      put_home(*l, each);
    }
  }
  batch_.post();
  batch_.wait();
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (auto l = mine; l != lots_.end(); ++l) {
    if (in_one_chain(*l)) continue;
    const op one = give_up(*l);
    batch_.post_in_order(l->rank, {&one, 1});
  }
  lots_.erase(mine, lots_.end());
}

}  // namespace tobi::pgas
