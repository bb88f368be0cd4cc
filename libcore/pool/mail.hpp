// SPDX-License-Identifier: Apache-2.0
// The active messages by which ranks steal where the fabric's atomics are messages anyway: a thief asks, and hears of
// the tasks that have come, or that there are none. One for all collections of a job. It takes 2 KB per rank of the job
// on each rank, so it is made with the first collection that needs it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "libcore/net/fabric.hpp"
#include "libcore/pool/peers.hpp"
#include "transports/soft/active_messages.hpp"

namespace tobi::pool {

class mail {
 public:
  /// A thief asks for tasks.
  struct request {
    std::uint32_t collection;
    std::uint32_t room;   // tasks that it has places for
    std::uint64_t words;  // of its part of the collection: their offset in its heap region
    std::uint64_t place;  // the first of these places, as a count of tasks
  };
  /// Tasks lie in those places now; 0: none will come.
  struct delivery {
    std::uint32_t collection;
    std::uint32_t count;
  };
  /// What a collection does with its messages. Called in poll(): it does not wait, and sends nothing.
  class reader {
   public:
    virtual ~reader() = default;
    /// Returns whether tasks will come, of which a delivery then tells.
    [[nodiscard]] virtual bool asked(int thief, const request& what) = 0;
    virtual void delivered(std::uint64_t count) = 0;
  };

  explicit mail(net::fabric& net);

  /// What each other rank needs, for its connect().
  [[nodiscard]] const transports::region_key& key() const noexcept { return messages_.key(); }
  void connect(int rank, const transports::region_key& theirs) { messages_.connect(rank, theirs); }
  /// Messages of collection NUMBER are for READER. Null: there is none any more.
  void read_by(std::size_t number, reader* who) noexcept { readers_[number] = who; }

  /// Reads what has come.
  void poll() { messages_.poll(); }
  /// False: RANK has not read enough yet; poll(), and try again.
  [[nodiscard]] bool send(int rank, const request& what);
  [[nodiscard]] bool send(int rank, const delivery& what);

 private:
  template <class Message>
  bool send_as(int rank, std::uint8_t handler, const Message& what, const char* doing);
  [[nodiscard]] reader& reader_of(std::uint32_t collection, int from);

  const net::fabric& net_;
  transports::soft::active_messages messages_;
  std::array<reader*, collections_max> readers_{};
};

}  // namespace tobi::pool
