// SPDX-License-Identifier: Apache-2.0
// The hosts of a job watch each other. A launcher may tell nobody that a host is lost, or be lost with it; and the
// fabric waits for a peer as long as that takes. So the first client of each node has a TCP connection to that of the
// next one, in a circle: two connections per host, whatever the size of the job, and a thread that sleeps.
//
//   the other end closes   its processes are gone. Their launcher gets two seconds to end this job itself.
//   the other end is silent for as long as TOBI_PEER_TIMEOUT says: power, kernel or network is lost. The kernel asks
//                          (keepalive), so a stopped process is not silent.
//   the other end says END its part of the job ends, and somebody has said why: this one ends too, and says END to the
//                          host on its other side.
//
// Invariants: a loss is reported by the node before the lost one, which is connected to it; the node behind it waits
// for END a second longer, and reports where none comes (the other one is lost as well). What a node has been told it
// hands on before it ends, so END reaches all nodes that are connected, in both directions. A ring is left when all
// nodes need the others no more: what closes then is no loss.
#pragma once

#include <memory>
#include <string>

#include "libcore/base/settings.hpp"

namespace tobi::bootstrap::ring {

/// How the end of another node is told, on the ring's thread. Each ends this process, or returns where the job is over.
struct handlers {
  /// The processes of NODE are gone, or, where it is SILENT, it has not been heard of for the time of
  /// TOBI_PEER_TIMEOUT.
  void (*lost)(int node, bool silent) noexcept;
  /// Another node ends the job with STATUS, and has said why.
  void (*told)(int status) noexcept;
};

/// A node's place in the ring.
struct seat {
  int previous = 0;
  int next = 0;
  std::string next_host;
  bool speaks = false;  // says where the next one cannot be reached: one node of the job is enough
};

class member {
 public:
  /// Opens the door through which the previous node's member comes in.
  explicit member(base::port_range range);
  member(const member&) = delete;
  member& operator=(const member&) = delete;

  /// What the previous node needs to come in; "" where the door cannot be opened.
  [[nodiscard]] std::string door_text() const;
  /// NEXT_DOOR is the next node's text. Returns at once: a thread connects and watches. A node that cannot be reached
  /// within TIMEOUT_S is not watched, which is said.
  void sit_down(const seat& at, const std::string& next_door, int timeout_s, const handlers& call);
  /// Both neighbours are connected.
  [[nodiscard]] bool is_seated() const noexcept;
  /// This process ends with STATUS, and somebody has said why: the neighbours are told. Callable from a signal handler.
  void say_end(int status) noexcept;
  /// The nodes need each other no more.
  void leave() noexcept;

 private:
  struct state;
  std::shared_ptr<state> state_;  // the thread's too
};

}  // namespace tobi::bootstrap::ring
