// SPDX-License-Identifier: Apache-2.0
// The states that a reliable queue pair goes through before it works.
#include <algorithm>

#include "transports/verbs/wireup.hpp"

namespace tobi::transports::verbs {

namespace {

constexpr std::uint8_t hop_limit = 64;
// 4.096 us times 2^17 is half a second, so a peer that is lost is known after four, or some times that on devices that
// wait longer than they were told. Much less, and a machine that is busy for a moment counts as lost.
constexpr std::uint8_t answer_timeout = 17;
constexpr std::uint8_t tries = 6;  // 7 would do in InfiniBand, and means "for ever" to Soft-RoCE
constexpr std::uint8_t wait_for_receives_for_ever = 7;
constexpr std::uint8_t not_ready_pause = 12;  // 0.64 ms

}  // namespace

ibv_ah_attr route_to(const opened& device, const endpoint& peer) noexcept {
  ibv_ah_attr a{};
  a.port_num = device.port;
  a.dlid = peer.lid;
  a.sl = device.service_level;
  if (peer.is_ethernet != 0 || peer.lid == 0 || (device.port_attributes.flags & IBV_QPF_GRH_REQUIRED) != 0) {
    a.is_global = 1;
    a.grh.traffic_class = device.traffic_class;
    a.grh.dgid = peer.gid;
    a.grh.sgid_index = static_cast<std::uint8_t>(device.gid_index);
    a.grh.hop_limit = hop_limit;
  }
  return a;
}

bool to_init(ibv_qp* qp, const opened& device) noexcept {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_INIT;
  a.port_num = device.port;
  a.pkey_index = device.pkey_index;
  a.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  return libibverbs().modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0;
}

bool to_ready_to_receive(ibv_qp* qp, const opened& device, const endpoint& self, const endpoint& peer,
                         std::uint32_t their_qpn, std::uint32_t their_psn) noexcept {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = static_cast<ibv_mtu>(std::min(self.mtu, peer.mtu));
  a.dest_qp_num = their_qpn;
  a.rq_psn = their_psn;
  a.max_dest_rd_atomic = static_cast<std::uint8_t>(std::min<std::uint32_t>(self.reads_answered, 255));
  a.min_rnr_timer = not_ready_pause;
  a.ah_attr = route_to(device, peer);
  return libibverbs().modify_qp(qp, &a,
                                IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0;
}

bool to_ready_to_send(ibv_qp* qp, std::uint32_t psn, std::uint32_t reads) noexcept {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_RTS;
  a.sq_psn = psn;
  a.timeout = answer_timeout;
  a.retry_cnt = tries;
  a.rnr_retry = wait_for_receives_for_ever;
  a.max_rd_atomic = static_cast<std::uint8_t>(std::min<std::uint32_t>(reads, 255));
  return libibverbs().modify_qp(qp, &a,
                                IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                                    IBV_QP_MAX_QP_RD_ATOMIC) == 0;
}

}  // namespace tobi::transports::verbs
