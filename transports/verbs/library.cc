// SPDX-License-Identifier: Apache-2.0
#include "transports/verbs/library.hpp"

#include "libcore/base/shared_library.hpp"

namespace tobi::transports::verbs {

namespace {

library load() {
  library lib;
  const base::shared_library so("libibverbs.so.1");
  if (!so.is_open()) {
    lib.error = "libibverbs is not installed (" + so.error() + "); Debian's package is libibverbs1";
    return lib;
  }
  const char* lacks = so.resolve({{"ibv_fork_init", lib.fork_init},
                                  {"ibv_get_device_list", lib.get_device_list},
                                  {"ibv_free_device_list", lib.free_device_list},
                                  {"ibv_get_device_name", lib.get_device_name},
                                  {"ibv_open_device", lib.open_device},
                                  {"ibv_close_device", lib.close_device},
                                  {"ibv_query_device", lib.query_device},
                                  {"ibv_query_gid", lib.query_gid},
                                  {"ibv_alloc_pd", lib.alloc_pd},
                                  {"ibv_dealloc_pd", lib.dealloc_pd},
                                  {"ibv_reg_mr", lib.reg_mr},
                                  {"ibv_dereg_mr", lib.dereg_mr},
                                  {"ibv_create_comp_channel", lib.create_comp_channel},
                                  {"ibv_destroy_comp_channel", lib.destroy_comp_channel},
                                  {"ibv_create_cq", lib.create_cq},
                                  {"ibv_destroy_cq", lib.destroy_cq},
                                  {"ibv_get_cq_event", lib.get_cq_event},
                                  {"ibv_ack_cq_events", lib.ack_cq_events},
                                  {"ibv_create_srq", lib.create_srq},
                                  {"ibv_destroy_srq", lib.destroy_srq},
                                  {"ibv_create_qp", lib.create_qp},
                                  {"ibv_modify_qp", lib.modify_qp},
                                  {"ibv_destroy_qp", lib.destroy_qp},
                                  {"ibv_create_ah", lib.create_ah},
                                  {"ibv_destroy_ah", lib.destroy_ah},
                                  {"ibv_get_async_event", lib.get_async_event},
                                  {"ibv_ack_async_event", lib.ack_async_event},
                                  {"ibv_event_type_str", lib.event_type_str},
                                  {"ibv_wc_status_str", lib.wc_status_str}});
  if (lacks != nullptr) lib.error = std::string("this libibverbs has no ") + lacks;
  // Before anything is registered. Where the kernel copies pinned pages for the child (Linux 5.12) it does nothing;
  // before that, a fork() of the program would leave the device with pages that are nobody's.
  if (lib.error.empty()) static_cast<void>(lib.fork_init());
  return lib;
}

library& in_use() {
  static library lib = load();
  return lib;
}

}  // namespace

const library& libibverbs() { return in_use(); }

void play(const library& instead) { in_use() = instead; }

bool query_port(ibv_context* device, std::uint8_t port, ibv_port_attr& attributes) noexcept {
  attributes = {};
  const verbs_context* driver = verbs_get_ctx_op(device, query_port);
  return driver != nullptr && driver->query_port(device, port, &attributes, sizeof attributes) == 0;
}

bool atomics_reach_the_cpu(ibv_context* device, const ibv_device_attr& attributes) noexcept {
  if (attributes.atomic_cap == IBV_ATOMIC_GLOB) return true;
  const verbs_context* driver = verbs_get_ctx_op(device, query_device_ex);
  ibv_device_attr_ex more{};
  if (driver == nullptr || driver->query_device_ex(device, nullptr, &more, sizeof more) != 0) return false;
  constexpr auto eight = static_cast<std::uint16_t>(IBV_PCI_ATOMIC_OPERATION_8_BYTE_SIZE_SUP);
  return (more.pci_atomic_caps.fetch_add & eight) != 0 && (more.pci_atomic_caps.compare_swap & eight) != 0;
}

}  // namespace tobi::transports::verbs
