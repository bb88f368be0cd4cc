// SPDX-License-Identifier: Apache-2.0
// Frees of other workers' small objects (alloc/small_objects.hpp). They wait for each other: objects that lie next to
// each other, as those of a list or of a subtree often do, are freed by one put.
//
// Nobody waits for a free, so what waits here delays nothing but the reuse of memory. The caller sends it now and then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "libcore/net/batch.hpp"

namespace tobi::net {

class small_frees {
 public:
  /// TAKE: registered memory; null: there is none.
  small_frees(fabric& net, std::function<void*(std::size_t)> take) : batch_(net), take_(std::move(take)) {}

  /// Notes the free of an object of BYTES, of another worker. Returns whether there are enough to be sent.
  bool add(location object, std::size_t bytes);
  [[nodiscard]] bool waiting() const noexcept { return !bytes_.empty(); }
  /// Sends what waits. Waits for what was sent before, and not for this.
  void send();
  /// Waits for what was sent.
  void finish() { batch_.wait(); }

 private:
  batch batch_;
  std::function<void*(std::size_t)> take_;
  std::vector<std::uint64_t> bytes_;         // locations of the objects' bytes
  const std::uint8_t* all_freed_ = nullptr;  // the source of the puts
};

}  // namespace tobi::net
