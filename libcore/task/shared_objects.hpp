// SPDX-License-Identifier: Apache-2.0
// Objects of this worker's registered heap that other workers read and free: records, images, failures, large results.
#pragma once

#include <cstddef>

#include "alloc/remote_objects.hpp"
#include "libcore/net/fabric.hpp"
#include "libcore/net/incoming_frees.hpp"
#include "libcore/net/location.hpp"

namespace tobi::tasks {

class shared_objects {
 public:
  /// INCOMING: the queue of frees that local collection has replaced; null: there is none.
  void start(net::fabric& net, alloc::remote_objects& own, net::incoming_frees* incoming) noexcept {
    net_ = &net;
    own_ = &own;
    incoming_ = incoming;
  }

  /// BYTES. Ends the job where the heap is full; the message says that there is no room WHAT, "for a join record", and
  /// names SAID bytes unless that is 0.
  [[nodiscard]] void* need(std::size_t bytes, const char* what, std::size_t said = 0);
  /// BYTES, or null: see remote_objects.
  [[nodiscard]] void* try_allocate(std::size_t bytes) noexcept { return own_->try_allocate(bytes); }
  /// Frees an object of any worker.
  void free(net::location where) noexcept;
  /// Frees an object of this worker.
  void free_own(net::location where) noexcept { own_->free_local(net_->local(where)); }
  /// Frees what others have put into the queue.
  void collect() noexcept {
    if (incoming_ != nullptr) incoming_->collect();
  }

 private:
  net::fabric* net_ = nullptr;
  alloc::remote_objects* own_ = nullptr;
  net::incoming_frees* incoming_ = nullptr;
};

}  // namespace tobi::tasks
