// SPDX-License-Identifier: Apache-2.0
#include "libcore/pgas/memory.hpp"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "arch/clock.hpp"
#include "libcore/base/log.hpp"
#include "libcore/net/location.hpp"
#include "libcore/pgas/letters.hpp"

constinit tobi::detail::plain_memory tobi::detail::tobi_plain_memory{};

namespace tobi::pgas {

namespace {

// At some 10 ns per checkin, a thief waits for less than a microsecond.
constexpr std::int32_t checkins_between_polls = 64;
// Some ten round trips over a slow fabric. A worker that makes checkins, or is idle and awake, keeps updates no longer.
constexpr std::uint64_t longest_wait_ns = 1'000'000;

// A ticket is {rank:20, epoch:44}; epochs begin at 1, so it is never 0.
constexpr int epoch_bits = net::location::offset_bits;
constexpr std::uint64_t epoch_mask = (std::uint64_t{1} << epoch_bits) - 1;

}  // namespace

memory* the_memory = nullptr;

std::string said_bytes(std::size_t bytes) {
  return bytes == ~std::size_t{0} ? "more bytes than can be counted" : std::to_string(bytes) + " bytes";
}

memory::memory(const memory_parts& parts)
    : parts_(parts),
      cache_([&] {
        if (parts_.measure) clock_ = std::make_unique<phase_clock>();
        parts_.caching.clock = clock_.get();
        parts_.caching.waited_ns = &waited_ns;
        if (parts_.note_sites) parts_.caching.sites = &sites_;
        return parts_.caching;
      }()),
      frees_(parts.caching.net->net(), [this](std::size_t bytes) { return parts_.take(bytes, 64); }) {
  if (parts_.letters != nullptr) reader_ = std::make_unique<letter_reader>(posting());
}

void memory::first_use() {
  if (!parts_.unusable.empty()) base::fatal("there is no global memory in this job: " + parts_.unusable);
  cache_.limit_maps(parts_.map_limit());
  parts_.caching.node->join();
  used = true;
  if (parts_.watch) {
    const auto at = reinterpret_cast<const std::byte*>(parts_.shown) - parts_.caching.own_region;
    watch_ = std::make_unique<checkout_watch>(*parts_.caching.net, parts_.caching.rank, parts_.size, *parts_.shown,
                                              static_cast<std::uint64_t>(at), parts_.name_of);
  }
  begin_plain();
  choose_ways();
}

void memory::begin_plain() noexcept {
  detail::plain_memory& here = detail::tobi_plain_memory;
  cache_.describe(here);
  here.until_poll = 1;
  here.bell = &tobi_hot.doorbell;
  here.rung_bell = &held_rings;
  here.usual_bell = tobi_hot.doorbell;
  // Both bells are bytes of one word.
  const auto release = reinterpret_cast<std::uintptr_t>(parts_.release_bell);
  const auto letter = reinterpret_cast<std::uintptr_t>(parts_.letter_bell);
  constexpr std::uintptr_t word = sizeof(std::uint64_t);
  here.asked = reinterpret_cast<const volatile std::uint64_t*>(release - release % word);
  std::uint8_t wanted[word]{};
  wanted[release % word] = wanted[letter % word] = 0xff;
  std::memcpy(&here.wanted, wanted, sizeof wanted);
}

letter_parts memory::posting() const {
  return {&parts_.caching.net->net(), parts_.letters, parts_.letter_bell, parts_.caching.own_region, parts_.locks};
}

void memory::checkout_watched(std::uintptr_t at, std::size_t bytes, access how, bool wait, const void* place) {
  if (!used) first_use();
  const entered now(*this, global_phase::checkout);
  send_updates_among(at, bytes);
  ring_held();
  sites_.at(place);
  cache_.checkout(at, bytes, how, wait);
  if (watch_ == nullptr || bytes == 0) return;
  check_writable(at, bytes, how);
  show("a checkout", {at, bytes, how}, place);
}

void memory::prefetch(std::uintptr_t at, std::size_t bytes, const void* place) {
  if (bytes == 0) return;
  if (!used) first_use();
  const entered now(*this, global_phase::checkout);
  sites_.at(place);
  cache_.prefetch(at, bytes);
}

void memory::checkin_watched(std::uintptr_t at, std::size_t bytes, access how) {
  if (!used) first_use();
  const entered now(*this, global_phase::checkin);
  if (watch_ != nullptr) watch_->ends({at, bytes, how});
  checkin_of(at, bytes, how);
  serve();
}

global_statistics memory::counted(bool ever) noexcept {
  count_plain();
  const cache_counts& c = cache_.counts();
  global_statistics all{c.checkouts,     c.checkouts - c.slow, c.fetched_bytes, c.copied_bytes,
                        c.written_bytes, c.evictions,          c.remaps,        {}};
  for (std::size_t i = 0; clock_ != nullptr && i < global_phases; ++i) {
    all.time_ns[i] = static_cast<std::uint64_t>(arch::cycles_to_ns(clock_->cycles(i)));
  }
  if (!ever) return all;
  all.checkouts += before_.checkouts;
  all.hits += before_.checkouts - before_.slow;
  all.fetched_bytes += before_.fetched_bytes;
  all.copied_bytes += before_.copied_bytes;
  all.written_bytes += before_.written_bytes;
  all.evictions += before_.evictions;
  all.remaps += before_.remaps;
  return all;
}

// Each is a checkout that found what it wanted.
void memory::count_plain() noexcept { cache_.counts().checkouts += std::exchange(detail::tobi_plain_memory.count, 0); }

void memory::reset_counts() noexcept {
  count_plain();
  cache_counts& now = cache_.counts();
  for (std::uint64_t cache_counts::*each :
       {&cache_counts::checkouts, &cache_counts::slow, &cache_counts::fetched_bytes, &cache_counts::copied_bytes,
        &cache_counts::written_bytes, &cache_counts::evictions, &cache_counts::remaps}) {
    before_.*each += now.*each;
  }
  now = {};
  told_written_ = 0;
  if (trace::tracing == nullptr) sites_.clear();  // a trace has all of the job
  if (clock_ != nullptr) clock_->clear();
}

// --- allocation -----------------------------------------------------------------------------------------

detail::home_layout memory::layout_of(std::uintptr_t at, std::size_t bytes) {
  if (!parts_.unusable.empty()) base::fatal("there is no global memory in this job: " + parts_.unusable);
  const std::uint64_t offset = at - reinterpret_cast<std::uintptr_t>(parts_.caching.addresses->base());
  const std::uint64_t all = parts_.caching.addresses->bytes();
  const homes& where = *parts_.caching.where;
  const bool is_global = offset < all && bytes <= all - offset;
  const home_run run = is_global ? where.find(offset) : home_run{};
  if (run.rank < 0 || where.find(offset + bytes - 1).rank < 0) {
    base::fatal("the owner of " + said_bytes(bytes) + " was asked " +
                    (is_global ? "that were freed, or never allocated." : "that are not global memory."),
                base::exit_usage);
  }
  return {run.bytes, offset - run.begin, run.rank, parts_.size};
}

void extremes::add(const extremes& other) noexcept {
  for (std::size_t i = 0; i < least.size(); ++i) {
    least[i] = std::min(least[i], other.least[i]);
    most[i] = std::max(most[i], other.most[i]);
  }
  first_home = std::min(first_home, other.first_home);
  last_home = std::max(last_home, other.last_home);
  first_full = std::min(first_full, other.first_full);
}

// All ranks make and free the same allocations in the same order, so they name the same slot.
std::uint32_t memory::free_slot() {
  const auto free = std::find(slots_.begin(), slots_.end(), false);
  const auto slot = static_cast<std::uint32_t>(free - slots_.begin());
  if (free == slots_.end()) slots_.push_back(false);
  return slot;
}

// The words of every rank are read only here, where the job ends.
void memory::refuse_different(const gathered_words& mine) {
  const std::vector<gathered_words> all = parts_.everybody();
  const auto other = std::find_if(all.begin(), all.end(), [&](const gathered_words& w) { return w != mine; });
  if (other == all.end()) return;  // cannot be: those of some rank differ
  base::fatal("the workers make different allocations together: rank " + std::to_string(other - all.begin()) +
                  " asks for " + std::to_string((*other)[1]) + " bytes, and this one for " + std::to_string(mine[1]) +
                  "; make the same calls with the same arguments on all.",
              base::exit_usage);
}

void* memory::allocate_all(std::size_t bytes, std::size_t chunk_asked) {
  if (!used) first_use();
  homes& where = *parts_.caching.where;
  // Before anything is rounded up: sizes near the largest number would wrap.
  const auto no_addresses = [&where, bytes] {
    base::fatal("out of global memory: " + base::format_size(where.collective_bytes()) +
                " of addresses have no room for " + said_bytes(bytes) + "; raise TOBI_GLOBAL_SIZE.");
  };
  if (bytes > where.collective_bytes()) no_addresses();
  const std::size_t block = parts_.caching.block_bytes;
  const std::uint64_t whole = (std::max<std::size_t>(bytes, 1) + block - 1) / block * block;
  const std::uint64_t chunk = where.chunk_for(whole, std::min<std::uint64_t>(chunk_asked, whole));
  const std::uint64_t share = where.share_of(parts_.caching.rank, whole, chunk);
  void* mine = share == 0 ? parts_.caching.own_region : parts_.take(share, block);
  const std::uint64_t home =
      mine == nullptr ? 0 : static_cast<std::uint64_t>(static_cast<std::byte*>(mine) - parts_.caching.own_region);
  const std::uint32_t slot = free_slot();
  if (share != 0 && mine != nullptr) parts_.keep_home(slot, home);
  constexpr std::uint64_t nobody = ~std::uint64_t{0};
  const gathered_words asks{++collectives_, bytes, chunk};
  const extremes all = parts_.agree({asks, asks, share != 0 ? home : nobody, share != 0 ? home : 0,
                                     mine == nullptr ? static_cast<std::uint64_t>(parts_.caching.rank) : nobody},
                                    collective::allocate);
  if (all.least != all.most) refuse_different(asks);
  if (all.first_full != nobody) {
    base::fatal("out of global memory: the heap of rank " + std::to_string(all.first_full) +
                " has no room for its share of " + std::to_string(bytes) + " bytes; raise TOBI_HEAP_SIZE.");
  }
  allocation made{where.place_for(whole), whole, chunk};
  made.home = all.first_home == all.last_home ? all.first_home : allocation::by_rank;
  made.slot = slot;
  made.own = home;
  if (made.begin == 0) no_addresses();
  slots_[slot] = true;
  shared_ = true;
  std::byte* at = parts_.caching.addresses->base() + made.begin;
  where.add(std::move(made));
  return at;
}

const allocation& memory::made_together(void* at, const char* call) const {
  const allocation* const known =
      parts_.caching.addresses->holds(at) ? parts_.caching.where->starting_at(offset_of(at)) : nullptr;
  if (known != nullptr) return *known;
  base::fatal(std::string(call) +
              " was called with an address that all workers have not allocated together, or have freed before; pass "
              "what tobi::allocate_all returned, and to tobi::free_all once.");
}

// A barrier, behind which what all have written is at home.
void memory::meet_about(std::uint64_t begin, collective which, const char* call) {
  release();
  const gathered_words mine{++collectives_, begin, 0};
  const extremes all = parts_.agree({mine, mine, 0, 0, ~std::uint64_t{0}}, which);
  if (all.least == all.most) return;
  base::fatal("the workers call " + std::string(call) +
                  " with different arrays; make the same calls with the same arguments on all.",
              base::exit_usage);
}

void memory::free_all(void* at) {
  if (at == nullptr) return;
  constexpr const char* call = "tobi::free_all";
  const allocation& known = made_together(at, call);
  const std::uint64_t begin = known.begin;
  meet_about(begin, collective::free, call);  // nobody uses it any more
  {
    const entered now(*this, global_phase::checkin);
    cache_.forget(begin, known.bytes, true);
  }
  homes& where = *parts_.caching.where;
  if (where.share_of(parts_.caching.rank, known.bytes, known.chunk) != 0) {
    parts_.give_back(parts_.caching.own_region + known.own);
  }
  slots_[known.slot] = false;
  where.remove(begin);
}

void memory::set_constant(void* at, bool constant) {
  if (at == nullptr) return;
  const char* const call = constant ? "tobi::set_read_only" : "tobi::set_writable";
  const allocation& known = made_together(at, call);
  meet_about(known.begin, constant ? collective::set_read_only : collective::set_writable, call);
  const entered now(*this, global_phase::checkin);
  parts_.caching.where->set_constant(known.begin, constant);
  cache_.set_constant(known.begin, known.bytes, constant);
}

// The end of a sentence about [AT, AT + BYTES), which is to be read or WRITTEN, or null. KNOWN: the run of homes that
// the last call has found, or nothing.
const char* memory::wrong_with(std::uintptr_t at, std::size_t bytes, bool written, home_run& known) const {
  const std::uint64_t offset = offset_of(reinterpret_cast<const void*>(at));
  const std::uint64_t view = parts_.caching.addresses->bytes();
  if (offset >= view || bytes > view - offset) return " names memory that is not global.";
  for (std::uint64_t a = offset; a < offset + bytes; a = known.begin + known.bytes) {
    if (a - known.begin < known.bytes) continue;
    known = parts_.caching.where->find(a);
    if (known.rank < 0) return " names memory that was freed, or never allocated.";
    if (known.constant && written) {
      return " is of an array that tobi::set_read_only was given; call tobi::set_writable before it is written.";
    }
  }
  return nullptr;
}

// The cache sees this of blocks of other nodes alone.
void memory::check_writable(std::uintptr_t at, std::size_t bytes, access how) const {
  if (how == access::read || bytes == 0) return;
  const std::uint64_t offset = offset_of(reinterpret_cast<const void*>(at));
  if (parts_.caching.where->find(offset).constant) cache_.refuse_writing(at, bytes, how);
}

// --- fences ---------------------------------------------------------------------------------------------

// Figure 6, RELEASELAZY. Which data was written before the fork and which after it is not recorded. The ticket names
// all of it.
std::uint64_t memory::release_lazily() noexcept {
  if (parts_.caching.policy != base::cache_policy::write_back_lazy) {
    release();
    return 0;
  }
  const entered now(*this, global_phase::release);
  settle_times();
  if (!cache_.dirty() && !updates_wait()) return 0;
  promised_ = epoch_ + 1;
  return static_cast<std::uint64_t>(parts_.caching.rank) << epoch_bits | (promised_ & epoch_mask);
}

void memory::release() noexcept {
  const entered now(*this, global_phase::release);
  const std::uint64_t begin_ns = cache_.dirty() ? arch::now_ns() : 0;
  write_back();
  if (begin_ns != 0) waited_ns += arch::now_ns() - begin_ns;
}

void memory::write_back() {
  const std::uint64_t begin_ns = trace::tracing == nullptr ? 0 : arch::now_ns();
  write_back_untold();
  const std::uint64_t written = cache_.counts().written_bytes;
  if (trace::tracing != nullptr && written != told_written_) {
    trace::tracing->wrote_back(written - std::exchange(told_written_, written), begin_ns);
  }
}

void memory::write_back_untold() {
  send_updates();
  frees_.send();
  cache_.settle();
  // Homes of this node are written by plain stores: they are visible before anything that says so.
  std::atomic_thread_fence(std::memory_order_release);
  settle_times();
  // What a ticket names may have gone home by an eviction, or have been freed; its thief waits for the epoch.
  if (!cache_.dirty() && promised_ <= epoch_) return;
  cache_.write_back();
  settle_times();
  ++epoch_;
  std::atomic_ref(*parts_.epoch).store(epoch_, std::memory_order_release);
}

// Figure 6, ACQUIRE.
void memory::acquire(std::uint64_t ticket, int from) noexcept {
  if (ticket != 0 && !used) first_use();
  const entered now(*this, global_phase::acquire);
  const auto rank = static_cast<int>(ticket >> epoch_bits);
  if (ticket != 0 && rank != parts_.caching.rank) await(rank, ticket & epoch_mask);
  std::atomic_thread_fence(std::memory_order_acquire);
  cache_.invalidate(from);
}

void memory::await(int rank, std::uint64_t epoch) noexcept {
  net::batch& net = *parts_.caching.net;
  const auto offset_in_region = [&](const void* at) {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - parts_.caching.own_region);
  };
  const std::uint64_t begin_ns = arch::now_ns();
  bool asked = false;
  const auto released = [&] {
    std::uint64_t word = 0;
    net.get(rank, offset_in_region(parts_.epoch), &word, sizeof word);
    net.post();
    net.wait();
    return word;
  };
  for (unsigned spins = 0; released() < epoch; net.net().wait(spins)) {
    if (!asked) net.put(rank, offset_in_region(parts_.release_bell), &rung, sizeof rung);
    asked = true;
    // Two workers may wait for each other's releases.
    serve();
  }
  waited_ns += arch::now_ns() - begin_ns;
  if (trace::tracing != nullptr) trace::tracing->awaited(rank, begin_ns);
}

void memory::serve_slowly() noexcept {
  if (const std::atomic_ref left(detail::tobi_plain_memory.until_poll); left.load(std::memory_order_relaxed) <= 0) {
    left.store(checkins_between_polls, std::memory_order_relaxed);
    if (parts_.must_poll) parts_.caching.net->net().transport().progress();
    if (frees_.waiting() && arch::now_ns() - freeing_since_ns_ > longest_wait_ns) frees_.send();
    if (updates_wait() && arch::now_ns() - waiting_since_ns_ > longest_wait_ns) {
      const entered now(*this, global_phase::lazy_release);
      send_updates();
    }
  }
  if (up(parts_.letter_bell) != 0 && reader_ != nullptr) reader_->serve();
  if (up(parts_.release_bell) == 0) return;
  const entered now(*this, global_phase::lazy_release);
  answer_request();
}

void memory::answer_request() noexcept {
  const std::atomic_ref asked(*parts_.release_bell);
  if (asked.load(std::memory_order_acquire) == 0) return;
  // Lowered first: a request that comes while we write back is seen the next time.
  asked.store(0, std::memory_order_relaxed);
  write_back();
}

void memory::usual_bell(const volatile std::uint64_t* bell) noexcept {
  detail::tobi_plain_memory.usual_bell = bell;
  detail::tobi_plain_memory.thread = detail::this_thread();  // a run begins or ends here
  rest_bell();
}

void memory::nothing_held(const char* where) noexcept {
  if (nothing_is_held()) return;
  const checkout_key one =
      cache_.held().empty() ? *in_place::find([](const checkout_key&) { return true; }) : cache_.held().newest();
  if (one.how == access::get || one.how == access::put) {
    base::fatal((one.how == access::get ? "tobi::get_nb of " : "tobi::put_nb of ") + std::to_string(one.bytes) +
                " bytes is under way across a " + where +
                ", where the task may move to another worker; wait for it before.");
  }
  base::fatal("a checkout of " + std::to_string(one.bytes) + " bytes" +
              (watch_ == nullptr ? "" : watch_->where_began(one)) + " is held across a " + where +
              ", where the task may move to another worker; check it in before.");
}

}  // namespace tobi::pgas
