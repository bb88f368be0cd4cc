// SPDX-License-Identifier: Apache-2.0
#include "alloc/remote_objects.hpp"

#include <atomic>

namespace tobi::alloc {

remote_objects::remote_objects(heap& from, std::size_t limit_bytes) noexcept
    : from_(from), limit_bytes_(limit_bytes), collect_at_bytes_(limit_bytes) {}

remote_objects::~remote_objects() {
  for (header* h = list_.next; h != &list_;) {
    header* next = h->next;
    from_.deallocate(h);
    h = next;
  }
  for (header* h : kept_) {
    while (h != nullptr) {
      header* next = h->next;
      from_.deallocate(h);
      h = next;
    }
  }
}

remote_objects::header* remote_objects::fresh(std::size_t bytes) noexcept {
  const std::size_t size_class = (bytes - 1) / small_step;
  if (size_class < small_classes) {
    if (header* h = kept_[size_class]; h != nullptr) {
      kept_[size_class] = h->next;
      return h;
    }
    bytes = (size_class + 1) * small_step;
  }
  return static_cast<header*>(from_.allocate(sizeof(header) + bytes, 16));
}

void* remote_objects::allocate(std::size_t bytes) noexcept {
  if (bytes == 0) bytes = 1;
  if (held_bytes_ + bytes > collect_at_bytes_) {
    collect();
    // Where most of it is alive, the next walk waits until as much again has come: the cost stays constant per object.
    collect_at_bytes_ = held_bytes_ + bytes > limit_bytes_ / 2 ? 2 * (held_bytes_ + bytes) : limit_bytes_;
  }
  header* h = fresh(bytes);
  if (h == nullptr) {
    if (collect() != 0) h = fresh(bytes);
    if (h == nullptr) return nullptr;
  }
  return hold(h, bytes);
}

void* remote_objects::try_allocate(std::size_t bytes) noexcept {
  constexpr unsigned doublings = 10;
  if (bytes == 0) bytes = 1;
  if (skips_ != 0) {
    --skips_;
    header* h = fresh(bytes);  // something may have been freed here
    return h == nullptr ? nullptr : hold(h, bytes);
  }
  void* object = allocate(bytes);
  exhausted_ = object != nullptr ? 0 : exhausted_ + 1;
  if (object == nullptr) skips_ = 1u << (exhausted_ < doublings ? exhausted_ : doublings);
  return object;
}

void* remote_objects::hold(header* h, std::size_t bytes) noexcept {
  h->bytes = bytes;
  h->free_word = 0;
  h->previous = &list_;
  h->next = list_.next;
  list_.next->previous = h;
  list_.next = h;
  held_bytes_ += bytes;
  return h + 1;
}

void remote_objects::unlink_and_keep(header* h) noexcept {
  h->previous->next = h->next;
  h->next->previous = h->previous;
  h->free_word = freed;  // so that a second free of it is noticed
  held_bytes_ -= h->bytes;
  const std::size_t size_class = (h->bytes - 1) / small_step;
  if (size_class < small_classes) {
    h->next = kept_[size_class];
    kept_[size_class] = h;
  } else {
    from_.deallocate(h);
  }
}

void remote_objects::free_local(void* object) noexcept { unlink_and_keep(static_cast<header*>(object) - 1); }

std::size_t remote_objects::collect() noexcept {
  if (incoming_ != nullptr) return incoming_->collect();
  std::size_t count = 0;
  for (header* h = list_.next; h != &list_;) {
    header* next = h->next;
    // Acquire: what the freeing worker still read of the object lies before our reuse of it.
    if (std::atomic_ref(h->free_word).load(std::memory_order_acquire) != 0) {
      unlink_and_keep(h);
      ++count;
    }
    h = next;
  }
  return count;
}

}  // namespace tobi::alloc
