// SPDX-License-Identifier: Apache-2.0
// Three ranks over verbs, and one that is none of them: it has a queue pair of its own for datagrams, and sends to rank
// 0's what a peer would send, with the right Q_Key and a wrong secret, and of a wrong length. Then it sends what rank 2
// might have sent long ago: requests and closes of connections that are replaced. Rank 0 counts and drops all of it,
// and its peers reach it as before. Rank 1 plays the stranger, since it knows rank 0's address. See faults.sh.
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "ranks.hpp"
#include "transports/verbs/wireup.hpp"

namespace {

using namespace tobi;
using namespace tobi::transports::verbs;
using over_verbs::expect;

class sender {
 public:
  sender(const transports::context& where, const endpoint& to) : device_(open_best(where)), memory_(4096) {
    const library& lib = libibverbs();
    expect(device_.device != nullptr, "no device");
    pd_.reset(lib.alloc_pd(device_.device.get()));
    cq_.reset(lib.create_cq(device_.device.get(), 16, nullptr, nullptr, 0));
    mr_.reset(lib.reg_mr(pd_.get(), memory_.data(), memory_.size(), IBV_ACCESS_LOCAL_WRITE));
    ibv_qp_init_attr init{};
    init.qp_type = IBV_QPT_UD;
    init.send_cq = init.recv_cq = cq_.get();
    init.cap = {16, 1, 1, 1, 0};
    qp_.reset(lib.create_qp(pd_.get(), &init));
    expect(qp_ != nullptr && mr_ != nullptr, "no queue pair");
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = device_.port;
    a.qkey = datagram_q_key;
    expect(lib.modify_qp(qp_.get(), &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) == 0, "INIT");
    a = {};
    a.qp_state = IBV_QPS_RTR;
    expect(lib.modify_qp(qp_.get(), &a, IBV_QP_STATE) == 0, "RTR");
    a = {};
    a.qp_state = IBV_QPS_RTS;
    expect(lib.modify_qp(qp_.get(), &a, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0, "RTS");
    ibv_ah_attr way = route_to(device_, to);
    route_.reset(lib.create_ah(pd_.get(), &way));
    expect(route_ != nullptr, "no way to rank 0");
    qpn_ = to.datagram_qpn;
  }
  void send(const datagram& d, std::size_t length = sizeof(datagram)) {
    std::memcpy(memory_.data(), &d, sizeof d);
    ibv_sge part{reinterpret_cast<std::uint64_t>(memory_.data()), static_cast<std::uint32_t>(length), mr_->lkey};
    ibv_send_wr wr{};
    wr.sg_list = &part;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.ud = {route_.get(), qpn_, datagram_q_key};
    ibv_send_wr* bad = nullptr;
    expect(ibv_post_send(qp_.get(), &wr, &bad) == 0, "nothing can be sent");
    ibv_wc done;
    while (ibv_poll_cq(cq_.get(), 1, &done) == 0) {
    }
    usleep(20'000);  // one after the other
  }

 private:
  opened device_;
  pages memory_;
  owned<ibv_pd> pd_;
  owned<ibv_cq> cq_;
  owned<ibv_mr> mr_;
  owned<ibv_qp> qp_;
  owned<ibv_ah> route_;
  std::uint32_t qpn_ = 0;
};

}  // namespace

int main() {
  over_verbs::ranks all(3);
  const auto reads = [&](int peer) { expect(all.read(peer) == status::ok, "a peer cannot be read"); };
  if (all.rank() == 1) {
    reads(0);
    endpoint first{};
    expect(all.addresses[0].size() == sizeof first, "an address has another form");
    std::memcpy(&first, all.addresses[0].data(), sizeof first);
    sender out(all.where(), first);
    using kind = datagram::kind;
    // Each word of the secret counts. The tokens would be those of a new connection of rank 1.
    for (const std::uint64_t wrong : {std::uint64_t{1}, std::uint64_t{1} << 63, first.secret}) {
      for (const kind what : {kind::request, kind::close}) {
        out.send({datagram_magic, first.secret ^ wrong, what, 1, 77, 0, 0x7fffffff, 0});
      }
    }
    out.send({datagram_magic, first.secret, kind::request, 99, 77, 0, 1, 0});
    out.send({datagram_magic, first.secret, kind::request, 1, 77, 0, 1, 0}, 24);
    // A connection of rank 2, and what came before it.
    out.send({datagram_magic, first.secret, kind::request, 2, 77, 0, 1001, 0});
    out.send({datagram_magic, first.secret, kind::request, 2, 77, 0, 999, 0});
    out.send({datagram_magic, first.secret, kind::close, 2, 0, 0, 999, 0});
    reads(0);
  }
  all.job->fence();
  if (all.rank() == 2) reads(1);
  if (all.rank() == 0) reads(1);
  all.job->fence();
  if (all.rank() == 0) std::puts("all as it should be");
  all.job->finalize();
}
