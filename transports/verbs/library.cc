#include "transports/verbs/library.hpp"

#include <dlfcn.h>

namespace tobi::transports::verbs {

namespace {

library load() {
  library lib;
  void* handle = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    lib.error = std::string("libibverbs is not installed (") + dlerror() + "); Debian's package is libibverbs1";
    return lib;
  }
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    if (function == nullptr) lib.error = std::string("this libibverbs has no ") + name;
  };
  find(lib.get_device_list, "ibv_get_device_list");
  find(lib.free_device_list, "ibv_free_device_list");
  find(lib.get_device_name, "ibv_get_device_name");
  find(lib.open_device, "ibv_open_device");
  find(lib.close_device, "ibv_close_device");
  find(lib.query_device, "ibv_query_device");
  find(lib.query_gid, "ibv_query_gid");
  find(lib.alloc_pd, "ibv_alloc_pd");
  find(lib.dealloc_pd, "ibv_dealloc_pd");
  find(lib.reg_mr, "ibv_reg_mr");
  find(lib.dereg_mr, "ibv_dereg_mr");
  find(lib.create_comp_channel, "ibv_create_comp_channel");
  find(lib.destroy_comp_channel, "ibv_destroy_comp_channel");
  find(lib.create_cq, "ibv_create_cq");
  find(lib.destroy_cq, "ibv_destroy_cq");
  find(lib.get_cq_event, "ibv_get_cq_event");
  find(lib.ack_cq_events, "ibv_ack_cq_events");
  find(lib.create_srq, "ibv_create_srq");
  find(lib.destroy_srq, "ibv_destroy_srq");
  find(lib.create_qp, "ibv_create_qp");
  find(lib.modify_qp, "ibv_modify_qp");
  find(lib.destroy_qp, "ibv_destroy_qp");
  find(lib.create_ah, "ibv_create_ah");
  find(lib.destroy_ah, "ibv_destroy_ah");
  find(lib.get_async_event, "ibv_get_async_event");
  find(lib.ack_async_event, "ibv_ack_async_event");
  find(lib.event_type_str, "ibv_event_type_str");
  find(lib.wc_status_str, "ibv_wc_status_str");
  return lib;
}

}  // namespace

const library& libibverbs() {
  static const library lib = load();
  return lib;
}

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
