#include "libcore/pgas/memory.hpp"

#include <time.h>

#include <algorithm>
#include <atomic>

#include "arch/clock.hpp"
#include "libcore/base/log.hpp"

namespace tobi::pgas {

namespace {

constexpr std::uint8_t rung = 1;
// At some 10 ns a checkin, a thief waits for less than a microsecond.
constexpr unsigned checkins_between_polls = 64;

// A ticket is {rank:16, epoch:48}; epochs begin at 1, so it is never 0.
constexpr int epoch_bits = 48;
constexpr std::uint64_t epoch_mask = (std::uint64_t{1} << epoch_bits) - 1;

}  // namespace

memory* the_memory = nullptr;

memory::memory(const memory_parts& parts)
    : parts_(parts), cache_([&] {
        if (parts_.measure) clock_ = std::make_unique<phase_clock>();
        parts_.caching.clock = clock_.get();
        return parts_.caching;
      }()) {}

void memory::first_use() {
  if (!parts_.unusable.empty()) base::fatal("there is no global memory in this job: " + parts_.unusable);
  cache_.limit_maps(parts_.map_limit());
  used = true;
  if (parts_.watch) {
    const auto at = reinterpret_cast<const std::byte*>(parts_.shown) - parts_.caching.own_region;
    watch_ = std::make_unique<checkout_watch>(*parts_.caching.net, parts_.caching.rank, parts_.size, *parts_.shown,
                                              static_cast<std::uint64_t>(at));
  }
  usual_bell_ = tobi_hot.doorbell;
  plain_ = clock_ == nullptr && watch_ == nullptr;
}

void memory::checkout_watched(std::uintptr_t at, std::size_t bytes, access how, bool wait, const void* place) {
  if (!used) first_use();
  const entered now(*this, global_phase::checkout);
  tobi_hot.doorbell = &held_rings;
  cache_.checkout(at, bytes, how, wait);
  if (watch_ != nullptr && bytes != 0) watch_->begins({at, bytes, how}, place);
}

void memory::checkin_watched(std::uintptr_t at, std::size_t bytes, access how) {
  if (!used) first_use();
  const entered now(*this, global_phase::checkin);
  if (watch_ != nullptr) watch_->ends({at, bytes, how});
  cache_.checkin(at, bytes, how);
  if (cache_.held().empty()) tobi_hot.doorbell = usual_bell_;
  serve();
}

global_statistics memory::counted() noexcept {
  const cache_counts& c = cache_.counts();
  global_statistics all{c.checkouts, c.checkouts - c.slow, c.fetched_bytes, c.written_bytes, c.evictions, c.remaps, {}};
  for (std::size_t i = 0; clock_ != nullptr && i < global_phases; ++i) {
    all.time_ns[i] = static_cast<std::uint64_t>(arch::cycles_to_ns(clock_->cycles(i)));
  }
  return all;
}

void memory::reset_counts() noexcept {
  cache_.counts() = {};
  if (clock_ != nullptr) clock_->clear();
}

// --- allocation -----------------------------------------------------------------------------------------

void* memory::allocate(std::size_t bytes) {
  if (!used) first_use();
  void* object = parts_.objects->allocate(bytes);
  if (object == nullptr) {
    base::fatal("out of global memory: this worker's heap has no room for " + std::to_string(bytes) +
                " bytes; raise TOBI_HEAP_SIZE.");
  }
  const auto offset = static_cast<std::uint64_t>(static_cast<std::byte*>(object) - parts_.caching.own_region);
  return parts_.caching.addresses->base() + parts_.caching.where->of_object(parts_.caching.rank, offset);
}

void memory::free(void* object, std::size_t bytes) {
  if (object == nullptr) return;
  if (!used) first_use();
  const std::uint64_t at = offset_of(object);
  const homes& where = *parts_.caching.where;
  const home_run run = where.in_heaps(at) ? where.find(at) : home_run{};
  if (run.rank < 0) {
    base::fatal("freed was " + std::to_string(bytes) + " bytes at an address that no task has allocated" +
                (parts_.caching.addresses->holds(object) ? "; what all workers allocated together they free together."
                                                         : ": it is not global."));
  }
  const std::uint64_t offset = run.home + (at - run.begin);
  {
    // What is dirty here of the object must not reach its home when that is another object.
    const entered now(*this, global_phase::checkin);
    cache_.forget(at, std::max<std::size_t>(bytes, 1), false);
  }
  if (run.rank == parts_.caching.rank) {
    std::byte* here = parts_.caching.own_region + offset;
    if (!parts_.objects->is_held(here, bytes)) {
      base::fatal("freed was an object of " + std::to_string(bytes) +
                  " bytes that is not there: it was freed before, or has another size.");
    }
    parts_.objects->free_local(here);
    return;
  }
  remote& net = *parts_.caching.net;
  for (unsigned spins = 0;; net.idle(spins)) {
    const status s = alloc::free_remote(net.transport(), run.rank, net.region(run.rank), offset);
    if (s == status::ok) return;
    if (s != status::again) {
      base::fatal("cannot free an object of rank " + std::to_string(run.rank) + " (" + std::string(to_string(s)) +
                  ").");
    }
  }
}

void* memory::allocate_all(std::size_t bytes, std::size_t chunk_asked) {
  if (!used) first_use();
  if (parts_.inside_task()) {
    base::fatal("an allocation by all workers was asked for inside a task; make it before tobi::run.",
                base::exit_usage);
  }
  homes& where = *parts_.caching.where;
  const std::size_t block = parts_.caching.block_bytes;
  const std::uint64_t whole = (std::max<std::size_t>(bytes, 1) + block - 1) / block * block;
  const std::uint64_t chunk = where.chunk_for(whole, chunk_asked);
  const std::uint64_t share = where.share_of(parts_.caching.rank, whole, chunk);
  void* mine = share == 0 ? parts_.caching.own_region : parts_.take(share, block);
  const std::uint64_t home =
      mine == nullptr ? 0 : static_cast<std::uint64_t>(static_cast<std::byte*>(mine) - parts_.caching.own_region);
  const std::vector<gathered_words> all = parts_.gather({++collectives_, bytes, chunk, mine == nullptr ? ~0ull : home});
  allocation made{where.place_for(whole), whole, chunk, {}};
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (all[r][0] != collectives_ || all[r][1] != bytes || all[r][2] != chunk) {
      base::fatal("the workers allocate together what is not the same: rank " + std::to_string(r) + " asks for " +
                      std::to_string(all[r][1]) + " bytes and this one for " + std::to_string(bytes) + ".",
                  base::exit_usage);
    }
    if (all[r][3] == ~0ull) {
      base::fatal("out of global memory: the heap of rank " + std::to_string(r) + " has no room for its share of " +
                  std::to_string(bytes) + " bytes; raise TOBI_HEAP_SIZE.");
    }
    made.home.push_back(all[r][3]);
  }
  if (made.begin == 0) {
    base::fatal("out of global memory: " + base::format_size(where.collective_bytes()) +
                " of addresses have no room for " + std::to_string(bytes) + " bytes; raise TOBI_GLOBAL_SIZE.");
  }
  shared_ = true;
  std::byte* at = parts_.caching.addresses->base() + made.begin;
  where.add(std::move(made));
  return at;
}

void memory::free_all(void* at) {
  if (at == nullptr) return;
  if (parts_.inside_task()) {
    base::fatal("what all workers allocated together was freed inside a task; free it after tobi::run.",
                base::exit_usage);
  }
  homes& where = *parts_.caching.where;
  const std::uint64_t begin = offset_of(at);
  const allocation* known = parts_.caching.addresses->holds(at) ? where.starting_at(begin) : nullptr;
  if (known == nullptr) {
    base::fatal("freed was an address that all workers have not allocated together, or have freed before.");
  }
  release();
  parts_.gather({++collectives_, begin, 0, 0});  // nobody uses it any more
  {
    const entered now(*this, global_phase::checkin);
    cache_.forget(begin, known->bytes, true);
  }
  if (where.share_of(parts_.caching.rank, known->bytes, known->chunk) != 0) {
    parts_.give_back(parts_.caching.own_region + known->home[static_cast<std::size_t>(parts_.caching.rank)]);
  }
  where.remove(begin);
}

// --- fences ---------------------------------------------------------------------------------------------

// Figure 6, RELEASELAZY. Which data was written before the fork and which after it, nobody remembers; the ticket names
// all of it.
std::uint64_t memory::release_lazily() noexcept {
  if (parts_.caching.policy != base::cache_policy::write_back_lazy) {
    release();
    return 0;
  }
  const entered now(*this, global_phase::release);
  if (!cache_.dirty()) return 0;
  promised_ = epoch_ + 1;
  return static_cast<std::uint64_t>(parts_.caching.rank) << epoch_bits | (promised_ & epoch_mask);
}

void memory::release() noexcept {
  const entered now(*this, global_phase::release);
  write_back();
}

void memory::write_back() {
  cache_.settle();
  // Homes of this node are written by plain stores: they are visible before anything that says so.
  std::atomic_thread_fence(std::memory_order_release);
  // What a ticket names may have gone home by an eviction, or have been freed; its thief waits for the epoch.
  if (!cache_.dirty() && promised_ <= epoch_) return;
  cache_.write_back();
  ++epoch_;
  std::atomic_ref(*parts_.epoch).store(epoch_, std::memory_order_release);
}

// Figure 6, ACQUIRE.
void memory::acquire(std::uint64_t ticket) noexcept {
  if (ticket != 0 && !used) first_use();
  const entered now(*this, global_phase::acquire);
  const auto rank = static_cast<int>(ticket >> epoch_bits);
  if (ticket != 0 && rank != parts_.caching.rank) await(rank, ticket & epoch_mask);
  std::atomic_thread_fence(std::memory_order_acquire);
  cache_.invalidate();
}

void memory::await(int rank, std::uint64_t epoch) noexcept {
  remote& net = *parts_.caching.net;
  const auto offset_in_region = [&](const void* at) {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - parts_.caching.own_region);
  };
  bool asked = false;
  for (unsigned spins = 0; net.read_word(rank, offset_in_region(parts_.epoch)) < epoch; net.idle(spins)) {
    if (!asked) net.put(rank, offset_in_region(parts_.release_bell), &rung, sizeof rung);
    asked = true;
    // Two workers may wait for each other's releases.
    serve();
  }
}

void memory::serve_slowly() noexcept {
  if (until_poll_ == 0) {
    until_poll_ = checkins_between_polls;
    if (parts_.must_poll) parts_.caching.net->transport().progress();
  }
  if (std::atomic_ref(*parts_.release_bell).load(std::memory_order_relaxed) == 0) return;
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

void memory::nothing_held(const char* where) noexcept {
  if (cache_.held().empty()) return;
  const checkout_key& one = cache_.held().newest();
  base::fatal("a checkout of " + std::to_string(one.bytes) + " bytes is held across a " + where +
              ", where the task may move to another worker; check it in before.");
}

}  // namespace tobi::pgas
