// SPDX-License-Identifier: Apache-2.0
// What a user may say of the RDMA device and of the packets.
#pragma once

#include <string>

#include "libcore/base/setting_rules.hpp"

namespace tobi::transports::verbs {

struct settings {
  std::string device;     // "": the usable one that is nearest to this worker
  int port = 0;           // 0: the first active one
  int gid_index = -1;     // -1: RoCE v2, IPv4 if there is one
  int sl = 0;             // service level, of InfiniBand; 0..15
  int traffic_class = 0;  // of packets with a global header: DSCP and ECN over RoCE
  int pkey_index = 0;     // in the port's table of partition keys
  int connections = 256;  // queue pairs that one worker opens before it closes old ones
};

inline constexpr base::setting setting_rows[] = {
    {"TOBI_VERBS_DEVICE", base::agreement::offered,
     base::name{base::field<&settings::device>, "", "the nearest usable one"},
     "RDMA device, such as mlx5_0 (tobi-info lists them)"},
    {"TOBI_VERBS_PORT", base::agreement::offered,
     base::number<int>{base::field<&settings::port>, 1, 255, "the first active one"}, "port of the RDMA device"},
    {"TOBI_VERBS_GID_INDEX", base::agreement::offered,
     base::number<int>{base::field<&settings::gid_index>, 0, 255, "RoCE v2, IPv4 first"},
     "index in the port's table of addresses (GIDs)"},
    {"TOBI_VERBS_SL", base::agreement::offered, base::number<int>{base::field<&settings::sl>, 0, 15},
     "InfiniBand service level of the packets, where the fabric's routing wants one"},
    {"TOBI_VERBS_TRAFFIC_CLASS", base::agreement::offered,
     base::number<int>{base::field<&settings::traffic_class>, 0, 255},
     "traffic class of packets with a global header (RoCE): 4 x DSCP"},
    {"TOBI_VERBS_PKEY_INDEX", base::agreement::offered, base::number<int>{base::field<&settings::pkey_index>, 0, 65535},
     "index in the port's table of partition keys"},
    {"TOBI_VERBS_CONNECTIONS", base::agreement::offered,
     base::number<int>{base::field<&settings::connections>, 1, 65535},
     "queue pairs that a worker opens before it closes old ones"},
};

}  // namespace tobi::transports::verbs
