// SPDX-License-Identifier: Apache-2.0
#include "transports/verbs/device.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "arch/topology.hpp"
#include "libcore/base/plain_text.hpp"
#include "libcore/base/text.hpp"
#include "transports/verbs/settings.hpp"

namespace tobi::transports::verbs {

namespace {

std::string read_line(const std::string& path) {
  base::file_in file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string port_path(const std::string& name, int port) {
  return "/sys/class/infiniband/" + name + "/ports/" + std::to_string(port);
}

bool is_mapped_ipv4(const union ibv_gid& gid) {
  constexpr std::uint8_t prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::memcmp(gid.raw, prefix, sizeof prefix) == 0;
}

// How good an address is: RoCE v2 crosses routers, IPv4 is what people configure. Negative: no address.
int gid_worth(const opened& o, int index, union ibv_gid& gid) {
  if (libibverbs().query_gid(o.device.get(), o.port, index, &gid) != 0) return -1;
  if (std::all_of(std::begin(gid.raw), std::end(gid.raw), [](std::uint8_t b) { return b == 0; })) return -1;
  if (o.port_attributes.link_layer != IBV_LINK_LAYER_ETHERNET) return index == 0 ? 1 : 0;
  const std::string type = read_line(port_path(o.name, o.port) + "/gid_attrs/types/" + std::to_string(index));
  return (type == "RoCE v2" ? 2 : 0) + (is_mapped_ipv4(gid) ? 1 : 0);
}

std::string choose_gid(opened& o, int wanted) {
  if (wanted >= 0) {
    if (wanted >= o.port_attributes.gid_tbl_len) {
      return "port " + std::to_string(o.port) + " has " + std::to_string(o.port_attributes.gid_tbl_len) +
             " GIDs, and TOBI_VERBS_GID_INDEX=" + std::to_string(wanted) + " is not one of them";
    }
    o.gid_index = wanted;
    return gid_worth(o, wanted, o.gid) >= 0 ? "" : "its GID " + std::to_string(wanted) + " is empty";
  }
  int best = -1;
  for (int i = 0; i < o.port_attributes.gid_tbl_len; ++i) {
    union ibv_gid gid {};
    if (const int worth = gid_worth(o, i, gid); worth > best) {
      best = worth;
      o.gid_index = i;
      o.gid = gid;
    }
  }
  return best >= 0 ? "" : "port " + std::to_string(o.port) + " has no GID: its network interface has no address";
}

const char* state_name(ibv_port_state s) {
  constexpr const char* names[] = {"in no state", "down", "initialising", "armed", "active", "in deferred activation"};
  return static_cast<unsigned>(s) < std::size(names) ? names[s] : "in an unknown state";
}

// Fills in O from an open device; "" or why the device cannot serve.
std::string examine(opened& o, const settings& wish) {
  o.service_level = static_cast<std::uint8_t>(wish.sl);
  o.traffic_class = static_cast<std::uint8_t>(wish.traffic_class);
  o.pkey_index = static_cast<std::uint16_t>(wish.pkey_index);
  if (libibverbs().query_device(o.device.get(), &o.attributes) != 0) return "it does not respond";
  if (std::string lacks = what_it_lacks(o.device->device->transport_type, o.attributes); !lacks.empty()) return lacks;
  std::string why = "it has no ports";
  const int first = wish.port != 0 ? wish.port : 1;
  const int last = wish.port != 0 ? wish.port : o.attributes.phys_port_cnt;
  if (first > o.attributes.phys_port_cnt) {
    return "it has " + std::to_string(o.attributes.phys_port_cnt) +
           " ports, and TOBI_VERBS_PORT=" + std::to_string(first) + " is not one of them";
  }
  for (int port = first; port <= last; ++port) {
    o.port = static_cast<std::uint8_t>(port);
    if (!query_port(o.device.get(), o.port, o.port_attributes)) {
      why = "port " + std::to_string(port) + " does not respond";
      continue;
    }
    if (o.port_attributes.state != IBV_PORT_ACTIVE) {
      why = "port " + std::to_string(port) + " is " + state_name(o.port_attributes.state);
      continue;
    }
    if (o.pkey_index >= o.port_attributes.pkey_tbl_len) {
      why = "port " + std::to_string(port) + " has " + std::to_string(o.port_attributes.pkey_tbl_len) +
            " partition keys, and TOBI_VERBS_PKEY_INDEX=" + std::to_string(o.pkey_index) + " is not one of them";
      continue;
    }
    why = choose_gid(o, wish.gid_index);
    if (why.empty()) return "";
  }
  return why;
}

struct device_list {
  ibv_device** all = nullptr;
  int count = 0;
  device_list() {
    if (libibverbs().error.empty()) all = libibverbs().get_device_list(&count);
  }
  ~device_list() {
    if (all != nullptr) libibverbs().free_device_list(all);
  }
  device_list(const device_list&) = delete;
  device_list& operator=(const device_list&) = delete;
};

opened try_open(ibv_device* d, const settings& wish) {
  opened o;
  o.name = libibverbs().get_device_name(d);
  o.device.reset(libibverbs().open_device(d));
  o.error = o.device == nullptr ? std::string("it cannot be opened (") + std::strerror(errno) + ")" : examine(o, wish);
  if (!o.error.empty()) o.device.reset();
  return o;
}

// 0: on the NUMA node of the core that this worker runs on; 1: elsewhere; the machine may not say.
int distance_of(const std::string& name) {
  const std::string text = read_line("/sys/class/infiniband/" + name + "/device/numa_node");
  if (text.empty() || text == "-1") return 0;
  const int cpu = sched_getcpu();
  for (const arch::core& c : arch::this_machine().cores) {
    if (c.os_cpu == cpu) return c.numa < 0 || std::to_string(c.numa) == text ? 0 : 1;
  }
  return 0;
}

}  // namespace

std::string what_it_lacks(ibv_transport_type transport, const ibv_device_attr& has) {
  if (transport == IBV_TRANSPORT_IWARP) {
    return "it is an iWARP device, which has no datagrams and connects by rdma_cm alone";
  }
  if (transport != IBV_TRANSPORT_IB) {
    return "it is no InfiniBand or RoCE device, and has no reliable connections (its vendor's provider of libfabric "
           "may "
           "serve)";
  }
  if (has.max_srq < 1 || has.max_srq_wr < 1) return "it has no shared receive queues";
  if (has.max_qp_rd_atom < 1 || has.max_qp_init_rd_atom < 1) return "it has no RDMA reads";
  return "";
}

opened open_best(const context& where) {
  opened none;
  if (!libibverbs().error.empty()) {
    none.error = libibverbs().error;
    return none;
  }
  const device_list list;
  const auto& wish = where.settings.of<settings>();
  const std::string wanted = base::dealt(wish.device, where.rank);
  opened best;
  int best_distance = 2;
  std::string reasons;
  for (int i = 0; i < list.count; ++i) {
    const std::string name = libibverbs().get_device_name(list.all[i]);
    if (!wanted.empty() && name != wanted) continue;
    opened o = try_open(list.all[i], wish);
    if (o.device == nullptr) {
      base::add_item(reasons, name, "; ").append(": ").append(o.error);
    } else if (const int d = distance_of(name); d < best_distance) {
      best_distance = d;
      best = std::move(o);
    }
  }
  if (best.device != nullptr) return best;
  if (list.count == 0) {
    none.error = "this machine has no RDMA device (libibverbs finds none)";
  } else if (reasons.empty()) {
    std::string names;
    for (int i = 0; i < list.count; ++i) {
      base::add_item(names, libibverbs().get_device_name(list.all[i]));
    }
    none.error = "there is no RDMA device \"" + wanted + "\"; TOBI_VERBS_DEVICE may be one of " + names;
  } else {
    none.error = "no RDMA device is usable (" + reasons + ")";
  }
  return none;
}

std::vector<device> devices() {
  if (!libibverbs().error.empty()) return {{"libibverbs", "", libibverbs().error}};
  std::vector<device> rows;
  const device_list list;
  for (int i = 0; i < list.count; ++i) {
    const opened o = try_open(list.all[i], settings{});
    std::string facts;
    if (o.device != nullptr) {
      facts = "port " + std::to_string(o.port) + ", GID " + std::to_string(o.gid_index) + ", MTU " +
              std::to_string(128 << o.port_attributes.active_mtu) +
              (o.attributes.atomic_cap == IBV_ATOMIC_NONE ? ", no atomics" : "") +
              (distance_of(o.name) == 0 ? "" : ", far from this core");
    }
    rows.push_back({o.name, facts, o.error});
  }
  return rows;
}

}  // namespace tobi::transports::verbs
