// SPDX-License-Identifier: Apache-2.0
// The image of a suspended task on its way here, head and frames in one round trip.
//
// How long the frames are is said in the head; a worker that gets the head first waits twice. So the first get guesses:
// it brings as much as most images have, into a buffer of registered memory, and only what lies beyond is got by a
// second one. What follows a shorter image in the buffer belongs to another, and is not looked at. Where the memory is
// mapped here nobody waits for a get, and head and frames are copied to where they belong, once.
//
// A thief may ask for the image in the very chain in which it claims the task (ready.hpp). The buffer is believed only
// when that claim has been won.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libcore/deque/image.hpp"
#include "libcore/net/fabric.hpp"

namespace tobi::deque {

/// What the first get may bring.
struct alignas(64) image_room {
  std::byte bytes[2048];
};

class incoming_image {
 public:
  void start(net::fabric& net, image_room& room) noexcept;

  /// False where the image can be read without waiting.
  [[nodiscard]] bool is_worth_asking(net::location where);
  /// The operation that brings the image at WHERE.
  [[nodiscard]] transports::op ask(net::location where);
  /// That is complete, and nobody else can take or free the image.
  void came(net::location where) noexcept { here_ = where; }

  /// The head of the image at WHERE, which is this worker's alone.
  [[nodiscard]] image head(net::location where);
  /// Then its frames, to the addresses at which they were saved.
  void frames(net::location where, const image& head);

 private:
  [[nodiscard]] std::uint64_t guess(net::location where);

  net::fabric* net_ = nullptr;
  image_room* room_ = nullptr;
  net::location here_;  // whose image the buffer holds; 0: nobody's
};

}  // namespace tobi::deque
