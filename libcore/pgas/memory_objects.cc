// SPDX-License-Identifier: Apache-2.0
// Objects that one worker allocates, and any worker frees. Those of at most 256 bytes lie in slabs
// (alloc/small_objects.hpp), larger ones have a header (alloc/remote_objects.hpp).
//
// With TOBI_DEBUG_GLOBAL whatever names such memory is compared with what lives there. A slab says of each of its bytes
// which object it is of and whether that was freed, to every worker. What the objects with headers are their owner
// alone knows.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <string>

#include "arch/clock.hpp"
#include "libcore/base/log.hpp"
#include "libcore/net/free_remote.hpp"
#include "libcore/net/location.hpp"
#include "libcore/pgas/memory.hpp"

namespace tobi::pgas {

using small = alloc::small_objects;

void* memory::allocate(std::size_t bytes) {
  if (!used) first_use();
  void* object = object_of(bytes);
  if (object == nullptr) {
    base::fatal("out of global memory: this worker's heap has no room for " + said_bytes(bytes) +
                "; raise TOBI_HEAP_SIZE.");
  }
  if (watch_ != nullptr && bytes > small::largest) note_large(object, bytes);
  const auto offset = static_cast<std::uint64_t>(static_cast<std::byte*>(object) - parts_.caching.own_region);
  return parts_.caching.addresses->base() + parts_.caching.where->of_object(parts_.caching.rank, offset);
}

void* memory::object_of(std::size_t bytes) {
  const bool is_small = bytes <= alloc::small_objects::largest;
  // Sizes near the largest number would wrap where headers and alignment are added.
  const auto take = [&]() -> void* {
    if (bytes >= parts_.region_bytes) return nullptr;
    return is_small ? parts_.small->allocate(bytes) : parts_.objects->allocate(bytes);
  };
  void* object = take();
  // Each kind has collected what others freed of it. What they freed of the other one may make room, too.
  if (object == nullptr && (is_small ? parts_.objects->collect() : parts_.small->collect()) != 0) object = take();
  return object;
}

// What lies where RANK's REGION is mapped is an object of BYTES that nobody has freed.
bool memory::is_held(int rank, const std::byte* region, std::uint64_t offset, std::size_t bytes) {
  if (bytes <= small::largest) return small::is_held(rank, region, offset, bytes);
  return !small::in_slab(rank, region, offset) && alloc::remote_objects::is_held(region + offset, bytes);
}

// Of memory that is not mapped a look is a round trip, which TOBI_DEBUG_GLOBAL spends.
bool memory::could_be(int rank, std::uint64_t offset, std::size_t bytes) {
  const bool is_small = bytes <= small::largest;
  if (watch_ == nullptr) return !is_small || small::could_be(offset, bytes);
  small::head slab{};
  parts_.caching.net->net().get({rank, offset - offset % small::slab_bytes}, &slab, sizeof slab);
  return is_small ? small::could_be(rank, slab, offset, bytes) : slab.mark != small::mark_of(rank);
}

void memory::free_at(int rank, std::uint64_t offset, std::size_t bytes) {
  const bool is_own = rank == parts_.caching.rank;
  std::byte* const region = is_own ? parts_.caching.own_region : parts_.caching.region_here(rank);
  if (region != nullptr ? !is_held(rank, region, offset, bytes) : !could_be(rank, offset, bytes)) {
    base::fatal("an object of " + std::to_string(bytes) +
                " bytes was freed that is not there: it was freed before, or has another size.");
  }
  if (is_own) {
    if (bytes <= small::largest) {
      parts_.small->free_local(region + offset, bytes);
    } else {
      large_.erase(offset);
      parts_.objects->free_local(region + offset);
    }
  } else if (bytes > small::largest) {
    net::free_remote(parts_.caching.net->net(), {rank, offset});
  } else if (region != nullptr) {
    // Release: what this worker still read of the object comes before.
    std::atomic_ref(reinterpret_cast<std::uint8_t&>(region[small::free_byte_offset(offset, bytes)]))
        .store(small::freed, std::memory_order_release);
  } else {
    if (!frees_.waiting()) freeing_since_ns_ = arch::now_ns();
    if (frees_.add({rank, offset}, bytes)) frees_.send();
    if (watch_ != nullptr) {  // a look that comes next finds it freed
      frees_.send();
      frees_.finish();
    }
  }
}

void memory::free(void* object, std::size_t bytes) {
  if (object == nullptr) return;
  if (!used) first_use();
  const std::uint64_t at = offset_of(object);
  const homes& where = *parts_.caching.where;
  const home_run run = where.in_heaps(at) ? where.find(at) : home_run{};
  if (run.rank < 0) {
    base::fatal("tobi::free_global was called with an address that no task has allocated (" + std::to_string(bytes) +
                " bytes)" +
                (parts_.caching.addresses->holds(object)
                     ? "; free what all workers allocated together with tobi::free_all."
                     : ": it is no global memory; pass what tobi::allocate_global returned."));
  }
  const std::uint64_t offset = run.home + (at - run.begin);
  send_updates();
  {
    // What is dirty here of the object must not reach its home when that is another object.
    const entered now(*this, global_phase::checkin);
    cache_.forget(at, std::clamp<std::uint64_t>(bytes, 1, run.bytes - (at - run.begin)), false);
  }
  free_at(run.rank, offset, bytes);
}

// The object of a slab of RANK that OFFSET of its region names.
memory::named_object memory::small_object(int rank, std::uint64_t offset) {
  const std::uint64_t slab = offset - offset % small::slab_bytes;
  const bool is_own = rank == parts_.caching.rank;
  const std::byte* const region = is_own ? parts_.caching.own_region : parts_.caching.region_here(rank);
  const auto read = [&](std::uint64_t from, void* to, std::size_t bytes) {
    if (region != nullptr) {
      std::memcpy(to, region + from, bytes);
    } else {
      parts_.caching.net->net().get({rank, from}, to, bytes);
    }
  };
  small::head head{};
  read(slab, &head, sizeof head);
  if (head.mark != small::mark_of(rank)) return {named_object::of_no_slab};
  const small::place at = small::place_of(head, offset);
  if (at.bytes == 0) return {named_object::none};
  std::uint8_t state = 0;
  read(at.byte, &state, sizeof state);
  return {state == small::held ? named_object::lives : named_object::none, at.begin, at.bytes};
}

// The object of this worker with a header that OFFSET of its region names.
memory::named_object memory::large_object(std::uint64_t offset) const {
  const auto after = large_.upper_bound(offset);
  if (after == large_.begin()) return {named_object::none};
  const auto [begin, bytes] = *std::prev(after);
  // What others have freed is kept until something else lies there.
  const bool lives = offset - begin < bytes && alloc::remote_objects::is_held(parts_.caching.own_region + begin, bytes);
  return {lives ? named_object::lives : named_object::none, begin, bytes};
}

void memory::note_large(const void* object, std::size_t bytes) {
  const auto begin = static_cast<std::uint64_t>(static_cast<const std::byte*>(object) - parts_.caching.own_region);
  auto old = large_.lower_bound(begin);
  while (old != large_.end() && old->first < begin + bytes) old = large_.erase(old);
  if (old != large_.begin() && std::prev(old)->first + std::prev(old)->second > begin) large_.erase(std::prev(old));
  large_.emplace(begin, bytes);
}

// K is global memory.
void memory::check_object(const char* what, const checkout_key& k, const void* place) {
  const std::uint64_t offset = offset_of(reinterpret_cast<const void*>(k.at));
  const homes& where = *parts_.caching.where;
  if (!where.in_heaps(offset)) return;
  const home_run run = where.find(offset);
  const std::uint64_t home = run.home + (offset - run.begin);
  named_object found = small_object(run.rank, home);
  if (found.is == named_object::of_no_slab) {
    if (run.rank != parts_.caching.rank) return;
    found = large_object(home);
  }
  if (found.is == named_object::lives && k.bytes <= found.begin + found.bytes - home) return;
  const std::string named = std::string(what) + " of " + std::to_string(k.bytes) + " bytes, at " +
                            parts_.name_of(reinterpret_cast<std::uintptr_t>(place)) + ", ";
  if (found.is == named_object::none) {
    base::fatal(named + "names an object of global memory that was freed, or never allocated.");
  }
  base::fatal(named + "goes beyond its object of global memory: it begins " + std::to_string(home - found.begin) +
              " bytes into one of " + std::to_string(found.bytes) + ".");
}

}  // namespace tobi::pgas
