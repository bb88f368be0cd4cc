// SPDX-License-Identifier: Apache-2.0
// libibverbs, found when it is needed: see transports/ofi/library.hpp for why. What is on the data path (posting,
// polling) is inline in its header and calls the driver directly.
#pragma once

#include <infiniband/verbs.h>

#include <string>

namespace tobi::transports::verbs {

struct library {
  decltype(&::ibv_fork_init) fork_init = nullptr;
  decltype(&::ibv_get_device_list) get_device_list = nullptr;
  decltype(&::ibv_free_device_list) free_device_list = nullptr;
  decltype(&::ibv_get_device_name) get_device_name = nullptr;
  decltype(&::ibv_open_device) open_device = nullptr;
  decltype(&::ibv_close_device) close_device = nullptr;
  decltype(&::ibv_query_device) query_device = nullptr;
  decltype(&::ibv_query_gid) query_gid = nullptr;
  decltype(&::ibv_alloc_pd) alloc_pd = nullptr;
  decltype(&::ibv_dealloc_pd) dealloc_pd = nullptr;
  ibv_mr* (*reg_mr)(ibv_pd*, void*, std::size_t, int) = nullptr;  // a macro in the header
  decltype(&::ibv_dereg_mr) dereg_mr = nullptr;
  decltype(&::ibv_create_comp_channel) create_comp_channel = nullptr;
  decltype(&::ibv_destroy_comp_channel) destroy_comp_channel = nullptr;
  decltype(&::ibv_create_cq) create_cq = nullptr;
  decltype(&::ibv_destroy_cq) destroy_cq = nullptr;
  decltype(&::ibv_get_cq_event) get_cq_event = nullptr;
  decltype(&::ibv_ack_cq_events) ack_cq_events = nullptr;
  decltype(&::ibv_create_srq) create_srq = nullptr;
  decltype(&::ibv_destroy_srq) destroy_srq = nullptr;
  decltype(&::ibv_create_qp) create_qp = nullptr;
  decltype(&::ibv_modify_qp) modify_qp = nullptr;
  decltype(&::ibv_destroy_qp) destroy_qp = nullptr;
  decltype(&::ibv_create_ah) create_ah = nullptr;
  decltype(&::ibv_destroy_ah) destroy_ah = nullptr;
  decltype(&::ibv_get_async_event) get_async_event = nullptr;
  decltype(&::ibv_ack_async_event) ack_async_event = nullptr;
  decltype(&::ibv_event_type_str) event_type_str = nullptr;
  decltype(&::ibv_wc_status_str) wc_status_str = nullptr;
  std::string error;  // why it is not there, or ""
};
/// Loads it on the first call.
const library& libibverbs();
/// For tests: a library whose devices are played, whether the real one is installed or not.
void play(const library& instead);

/// The port's attributes, by the driver's own function.
bool query_port(ibv_context* device, std::uint8_t port, ibv_port_attr& attributes) noexcept;
/// The CPU's and the device's 8-byte atomics exclude each other: the device uses PCIe atomics, or says IBV_ATOMIC_GLOB.
bool atomics_reach_the_cpu(ibv_context* device, const ibv_device_attr& attributes) noexcept;

}  // namespace tobi::transports::verbs
