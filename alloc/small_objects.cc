// SPDX-License-Identifier: Apache-2.0
#include "alloc/small_objects.hpp"

#include <atomic>
#include <cstring>

namespace tobi::alloc {

small_objects::small_objects(heap& from, std::size_t limit_bytes) noexcept
    : from_(from), limit_bytes_(limit_bytes), collect_at_bytes_(limit_bytes) {}

small_objects::~small_objects() {
  for (slab* s : all_) from_.deallocate(s);
}

small_objects::slab* small_objects::of(const void* object) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(object);
  return reinterpret_cast<slab*>(at - at % slab_bytes);
}

std::uint32_t small_objects::granule_of(const void* object) noexcept {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(object) % slab_bytes / granule);
}

std::uint8_t& small_objects::byte_of(slab* s, std::uint32_t at) noexcept {
  return reinterpret_cast<std::uint8_t*>(s)[at];
}

std::byte* small_objects::object_at(slab* s, std::uint32_t at) noexcept {
  return reinterpret_cast<std::byte*>(s) + at * granule;
}

bool small_objects::in_slab(const void* object) const noexcept {
  const slab* const s = of(object);
  // S is in the heap, or is the start of the region that the heap lies in: readable, whatever it is.
  return s->index < all_.size() && all_[s->index] == s;
}

bool small_objects::is_held(const void* object, std::size_t bytes) noexcept {
  slab* const s = of(object);
  const std::uint32_t at = granule_of(object);
  const bool is_first = reinterpret_cast<std::uintptr_t>(object) % granule == 0 && at >= first_granule &&
                        (at - first_granule) % s->step == 0;
  const std::size_t steps = bytes == 0 ? 1 : (bytes + granule - 1) / granule;
  return is_first && steps == s->step && std::atomic_ref(byte_of(s, at)).load(std::memory_order_relaxed) == held;
}

void small_objects::link(slab* s) noexcept {
  slab*& first = roomy(s->step);
  s->previous = nullptr;
  s->next = first;
  if (first != nullptr) first->previous = s;
  first = s;
}

void small_objects::unlink(slab* s) noexcept {
  (s->previous == nullptr ? roomy(s->step) : s->previous->next) = s->next;
  if (s->next != nullptr) s->next->previous = s->previous;
}

small_objects::slab* small_objects::new_slab(std::uint32_t step) noexcept {
  auto* const s = static_cast<slab*>(from_.allocate(slab_bytes, slab_bytes));
  if (s == nullptr) return nullptr;
  std::memset(static_cast<void*>(s), 0, granules);
  s->index = static_cast<std::uint32_t>(all_.size());
  s->step = step;
  s->untouched = first_granule;
  all_.push_back(s);
  link(s);
  return s;
}

small_objects::slab* small_objects::slab_for(std::uint32_t step) noexcept {
  if (slab* const s = roomy(step); s != nullptr) return s;
  return new_slab(step);
}

void* small_objects::allocate(std::size_t bytes) noexcept {
  const auto step = static_cast<std::uint32_t>(bytes == 0 ? 1 : (bytes + granule - 1) / granule);
  const std::size_t taken = step * granule;
  if (held_bytes_ + taken > collect_at_bytes_) {
    collect();
    // As remote_objects does: the cost of the looks stays constant per object.
    collect_at_bytes_ = held_bytes_ + taken > limit_bytes_ / 2 ? 2 * (held_bytes_ + taken) : limit_bytes_;
  }
  slab* s = slab_for(step);
  if (s == nullptr) {
    if (collect() != 0) s = slab_for(step);
    if (s == nullptr) return nullptr;
  }
  std::uint32_t at = s->vacancy;
  if (at != 0) {
    std::memcpy(&s->vacancy, object_at(s, at), sizeof s->vacancy);
  } else {
    at = s->untouched;
    s->untouched += step;
  }
  if (!has_room(s)) unlink(s);
  ++s->objects;
  held_bytes_ += taken;
  // Another worker learns of the object behind this, by a store that releases it or an operation of the fabric.
  std::atomic_ref(byte_of(s, at)).store(held, std::memory_order_relaxed);
  return object_at(s, at);
}

void small_objects::take_back(slab* s, std::uint32_t at) noexcept {
  const bool had_room = has_room(s);
  std::atomic_ref(byte_of(s, at)).store(vacant, std::memory_order_relaxed);
  std::memcpy(object_at(s, at), &s->vacancy, sizeof s->vacancy);
  s->vacancy = at;
  --s->objects;
  held_bytes_ -= s->step * granule;
  if (!had_room) link(s);
  // One stays, for objects that come and go.
  const bool last = s->previous == nullptr && s->next == nullptr;
  if (s->objects == 0 && !last) give_back(s);
}

void small_objects::give_back(slab* s) noexcept {
  unlink(s);
  slab* const moved = all_.back();
  all_[s->index] = moved;
  moved->index = s->index;
  all_.pop_back();
  from_.deallocate(s);
}

void small_objects::free_local(void* object) noexcept { take_back(of(object), granule_of(object)); }

std::size_t small_objects::collect() noexcept {
  std::size_t count = 0;
  // Backwards: a slab that is given back takes the last one to its place, which has been looked at.
  for (std::size_t i = all_.size(); i-- != 0;) {
    slab* const s = all_[i];
    const std::uint32_t end = s->untouched;
    std::uint32_t left = s->objects;
    for (std::uint32_t at = first_granule; left != 0 && at < end; at += s->step) {
      // Acquire: what the freeing worker still read of the object lies before our reuse of it.
      const std::uint8_t state = std::atomic_ref(byte_of(s, at)).load(std::memory_order_acquire);
      if (state == vacant) continue;
      --left;
      if (state != freed) continue;
      ++count;
      const bool gone = s->objects == 1;  // S may go back with it
      take_back(s, at);
      if (gone) break;
    }
  }
  return count;
}

}  // namespace tobi::alloc
