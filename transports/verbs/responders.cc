// SPDX-License-Identifier: Apache-2.0
// verbs: the connections that others have to this worker.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "arch/clock.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/secret.hpp"
#include "transports/verbs/wireup.hpp"

namespace tobi::transports::verbs {

namespace {
constexpr std::uint64_t leave_again_ns = 100'000'000;
}

// The queue pair of RANK's connection before that with TOKEN, if there is one; to be destroyed without the lock, since
// that waits for the device. Its initiator has nothing under way on it, so all its notices have come.
owned<ibv_qp> wireup::replaced(int rank, std::uint32_t token) noexcept {
  keeper_.keep_notices();
  const std::lock_guard hold(known_);
  responder& r = responders_[rank];
  if (r.token != 0 && static_cast<std::int32_t>(token - r.token) < 0) return nullptr;
  return std::move(r.qp);
}

// Of a connection that this one does not know, since the close has overtaken its request, no request gets a reply
// either.
void wireup::close_responder(const datagram& m) noexcept {
  const owned<ibv_qp> gone = replaced(m.rank, m.token);
  {
    const std::lock_guard hold(known_);
    responder& r = responders_[m.rank];
    const auto newer = static_cast<std::int32_t>(m.token - r.token);
    if (r.token == 0 || newer > 0) {
      r.token = m.token;
    } else if (newer < 0) {
      ++late_;
    }
  }
  send(m.rank, make(kind::closed, m.token));
}

void wireup::answer_request(const datagram& m) noexcept {
  datagram reply = make(kind::reply, m.token);
  const bool is_repeated = [&] {
    const std::lock_guard hold(known_);
    const responder& r = responders_[m.rank];
    return r.qp != nullptr && r.token == m.token;
  }();
  const owned<ibv_qp> gone = is_repeated ? nullptr : replaced(m.rank, m.token);
  {
    const std::lock_guard hold(known_);
    responder& r = responders_[m.rank];
    // Of a connection that has been closed or replaced since: the request was repeated, and its repetition came late.
    const auto newer = static_cast<std::int32_t>(m.token - r.token);
    if (r.token != 0 && (newer < 0 || (newer == 0 && r.qp == nullptr))) {
      ++late_;
      return;
    }
    if (r.qp == nullptr) {
      ibv_qp_init_attr init{};
      init.qp_type = IBV_QPT_RC;
      init.send_cq = send_cq_.get();  // a responder sends nothing of its own
      init.recv_cq = notices_;
      init.srq = srq_;
      init.cap = {1, 0, 1, 0, 0};
      r.qp.reset(libibverbs().create_qp(pd_, &init));
      r.token = m.token;
      r.asked_ns = 0;
      r.since = ++answered_requests_;
      r.psn = static_cast<std::uint32_t>(base::secret()) & 0xffffff;
      const endpoint& peer = (*peers_)[m.rank];
      if (r.qp == nullptr || !to_init(r.qp.get(), device_) ||
          !to_ready_to_receive(r.qp.get(), device_, self_, peer, m.qpn, m.psn)) {
        base::log(base::log_level::error, "verbs: a queue pair for rank " + std::to_string(m.rank) +
                                              " cannot be made on " + device_.name + " (" + std::strerror(errno) +
                                              "); lower TOBI_VERBS_CONNECTIONS.");
        r = {};
        return;
      }
    }
    reply.qpn = r.qp->qp_num;
    reply.psn = r.psn;
  }
  send(m.rank, reply);
}

// Where there are more than there should be, the owners of the oldest are asked to give theirs up. A rank that asks for
// a connection gets it at once all the same: a thief must not wait for a worker that computes. The next time others are
// asked, so that one that computes, and does not hear, keeps its own and nobody else's.
void wireup::thin_out() noexcept {
  const std::uint64_t now = arch::now_ns();
  std::vector<std::pair<int, std::uint32_t>> leave;
  {
    const std::lock_guard hold(known_);
    std::vector<std::pair<int, responder*>> alive;
    std::size_t count = 0;
    for (auto& [rank, r] : responders_) {
      if (r.qp == nullptr) continue;
      ++count;
      if (rank != rank_ && now - r.asked_ns >= leave_again_ns) alive.emplace_back(rank, &r);
    }
    too_many_ = count > most_responders_;
    if (!too_many_) return;
    const std::size_t excess = std::min(count - most_responders_, alive.size());
    std::partial_sort(alive.begin(), alive.begin() + static_cast<std::ptrdiff_t>(excess), alive.end(),
                      [](const auto& a, const auto& b) {
                        return std::pair(a.second->asked_ns, a.second->since) <
                               std::pair(b.second->asked_ns, b.second->since);
                      });
    for (std::size_t i = 0; i < excess; ++i) {
      alive[i].second->asked_ns = now;
      leave.emplace_back(alive[i].first, alive[i].second->token);
    }
  }
  for (const auto& [rank, token] : leave) send(rank, make(kind::leave, token));
}

std::map<int, std::uint32_t> wireup::take_leaves() noexcept {
  const std::lock_guard hold(known_);
  asked_to_leave_.store(false, std::memory_order_relaxed);
  return std::exchange(leaves_, {});
}

}  // namespace tobi::transports::verbs
