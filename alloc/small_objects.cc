// SPDX-License-Identifier: Apache-2.0
#include "alloc/small_objects.hpp"

#include <atomic>
#include <cstring>

namespace tobi::alloc {

small_objects::small_objects(heap& from, int owner, std::size_t limit_bytes) noexcept
    : from_(from), owner_(owner), limit_bytes_(limit_bytes), collect_at_bytes_(limit_bytes) {}

small_objects::~small_objects() {
  for (slab* first : chunks_) from_.deallocate(first);
}

small_objects::slab* small_objects::of(const void* object) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(object);
  return reinterpret_cast<slab*>(at - at % slab_bytes);
}

// Of 32 bits: a division of 64 takes several times as long.
std::uint32_t small_objects::number_of(const slab* s, std::uint32_t in_slab) noexcept {
  return (in_slab - static_cast<std::uint32_t>(first_object)) / (s->step * static_cast<std::uint32_t>(granule));
}

std::uint8_t& small_objects::byte_of(slab* s, std::uint32_t at) noexcept {
  return reinterpret_cast<std::uint8_t*>(s)[header_bytes + at];
}

std::byte* small_objects::object_at(slab* s, std::uint32_t at) noexcept {
  return reinterpret_cast<std::byte*>(s) + first_object + at * s->step * granule;
}

// The region begins at a multiple of slab_bytes where its owner has it, so slabs do in offsets.
bool small_objects::in_slab(int owner, const std::byte* region, std::uint64_t offset) noexcept {
  return reinterpret_cast<const head*>(region + (offset - offset % slab_bytes))->mark == mark_of(owner);
}

bool small_objects::is_held(int owner, const std::byte* region, std::uint64_t offset, std::size_t bytes) noexcept {
  const auto in_slab = static_cast<std::uint32_t>(offset % slab_bytes);
  auto* const s = reinterpret_cast<slab*>(const_cast<std::byte*>(region) + (offset - in_slab));
  if (s->mark != mark_of(owner) || steps_of(bytes) != s->step || in_slab < first_object) return false;
  const std::uint32_t at = number_of(s, in_slab);
  return at < s->capacity && reinterpret_cast<std::byte*>(s) + in_slab == object_at(s, at) &&
         std::atomic_ref(byte_of(s, at)).load(std::memory_order_relaxed) == held;
}

void small_objects::link(slab*& first, slab* s) noexcept {
  s->previous = nullptr;
  s->next = first;
  if (first != nullptr) first->previous = s;
  first = s;
}

void small_objects::unlink(slab*& first, slab* s) noexcept {
  (s->previous == nullptr ? first : s->previous->next) = s->next;
  if (s->next != nullptr) s->next->previous = s->previous;
}

bool small_objects::take_chunk(std::uint32_t together) noexcept {
  auto* const base = static_cast<std::byte*>(from_.allocate(together * slab_bytes, slab_bytes));
  if (base == nullptr) return false;
  auto* const first = reinterpret_cast<slab*>(base);
  chunks_.push_back(first);
  for (std::uint32_t i = together; i-- != 0;) {
    auto* const s = reinterpret_cast<slab*>(base + i * slab_bytes);
    *s = slab{};
    s->chunk = first;
    link(spare_, s);
  }
  first->number = static_cast<std::uint32_t>(chunks_.size() - 1);
  first->together = together;
  return true;
}

small_objects::slab* small_objects::slab_for(std::uint32_t step) noexcept {
  if (slab* const s = roomy(step); s != nullptr) return s;
  if (spare_ == nullptr && !take_chunk(chunk_slabs) && !take_chunk(1)) return nullptr;
  slab* const s = spare_;
  unlink(spare_, s);
  ++s->chunk->in_use;
  s->index = static_cast<std::uint32_t>(used_.size());
  s->mark = mark_of(owner_);
  s->step = step;
  s->capacity = static_cast<std::uint32_t>((slab_bytes - first_object) / (step * granule));
  s->vacancy = none;
  s->untouched = 0;
  std::memset(&byte_of(s, 0), vacant, s->capacity);
  used_.push_back(s);
  link(roomy(step), s);
  return s;
}

void* small_objects::allocate(std::size_t bytes) noexcept {
  const std::uint32_t step = steps_of(bytes);
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
  if (at != none) {
    std::memcpy(&s->vacancy, object_at(s, at), sizeof s->vacancy);
  } else {
    at = s->untouched++;
  }
  if (!has_room(s)) unlink(roomy(step), s);
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
  if (!had_room) link(roomy(s->step), s);
  // One stays, for objects that come and go.
  const bool last = s->previous == nullptr && s->next == nullptr;
  if (s->objects == 0 && !last) give_back(s);
}

void small_objects::give_back(slab* s) noexcept {
  unlink(roomy(s->step), s);
  slab* const moved = used_.back();
  used_[s->index] = moved;
  moved->index = s->index;
  used_.pop_back();
  s->mark = 0;
  link(spare_, s);
  slab* const first = s->chunk;
  if (--first->in_use != 0) return;
  for (std::uint32_t i = 0; i < first->together; ++i) {
    unlink(spare_, reinterpret_cast<slab*>(reinterpret_cast<std::byte*>(first) + i * slab_bytes));
  }
  chunks_.back()->number = first->number;
  chunks_[first->number] = chunks_.back();
  chunks_.pop_back();
  from_.deallocate(first);
}

bool small_objects::free_local(void* object, std::size_t bytes) noexcept {
  slab* const s = of(object);
  const auto in_slab = static_cast<std::uint32_t>(static_cast<std::byte*>(object) - reinterpret_cast<std::byte*>(s));
  if (!is_held(owner_, reinterpret_cast<std::byte*>(s), in_slab, bytes)) return false;
  take_back(s, number_of(s, in_slab));
  return true;
}

std::size_t small_objects::collect() noexcept {
  std::size_t count = 0;
  // Backwards: a slab that is given back takes the last one to its place, which has been looked at.
  for (std::size_t i = used_.size(); i-- != 0;) {
    slab* const s = used_[i];
    const std::uint32_t end = s->untouched;
    std::uint32_t left = s->objects;
    for (std::uint32_t at = 0; left != 0 && at < end; ++at) {
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
