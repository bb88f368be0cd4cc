// SPDX-License-Identifier: Apache-2.0
// A remote object is freed by one unwaited put (alloc/remote_objects.hpp, local collection).
#pragma once

#include "alloc/remote_objects.hpp"
#include "libcore/net/fabric.hpp"

namespace tobi::net {

/// Frees an object of another worker. Nobody waits: its owner finds it when it collects.
inline void free_remote(fabric& net, location object) {
  using objects = alloc::remote_objects;
  static std::uint64_t freed = objects::freed;
  const transports::op mark =
      transports::op::put(net.heap(object.rank()), objects::free_word_offset(object.offset()), &freed, sizeof freed);
  net.post(object.rank(), {&mark, 1});
}

}  // namespace tobi::net
