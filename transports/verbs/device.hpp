// SPDX-License-Identifier: Apache-2.0
// Which RDMA device, port and address a worker uses.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transports/transport.hpp"
#include "transports/verbs/library.hpp"

namespace tobi::transports::verbs {

struct close_device {
  void operator()(ibv_context* c) const { libibverbs().close_device(c); }
};
using device_handle = std::unique_ptr<ibv_context, close_device>;

/// An open device, and the port and address index on it. Null device: `error` says why none can serve.
struct opened {
  device_handle device;
  std::string name;
  std::uint8_t port = 1;
  int gid_index = 0;
  std::uint16_t pkey_index = 0;
  std::uint8_t service_level = 0;
  std::uint8_t traffic_class = 0;
  ibv_port_attr port_attributes{};
  ibv_device_attr attributes{};
  union ibv_gid gid {};
  std::string error;
};
/// TOBI_VERBS_DEVICE, _PORT and _GID_INDEX where they are set, else the usable device that is nearest to this worker's
/// core. A list of devices is dealt to the ranks of a job in turn.
opened open_best(const context& where);
/// "" or which of the things that this transport is made of a device does not have: reliable connections and datagrams
/// without a connection manager, shared receive queues, reads. Atomics it may lack: then soft's stand in.
[[nodiscard]] std::string what_it_lacks(ibv_transport_type transport, const ibv_device_attr& has);
/// For tobi-info: every device with its first usable port, or why it has none.
std::vector<device> devices();

}  // namespace tobi::transports::verbs
