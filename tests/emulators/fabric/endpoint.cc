// SPDX-License-Identifier: Apache-2.0
// Endpoints: what is bound to them, when they may be used, and their end.
#include <rdma/fi_errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "tests/emulators/fabric/objects.hpp"

namespace tobi::emulators::fabric {

namespace {

int bind_endpoint(fid* f, fid* to, std::uint64_t flags) {
  auto& e = *reinterpret_cast<endpoint*>(f);
  const std::lock_guard guard(e.in->lock);
  if (e.enabled) return broken("fi_endpoint(3)", "something is bound to an endpoint that is enabled");
  if (to->fclass == FI_CLASS_AV) {
    if (e.peers != nullptr) return broken("fi_endpoint(3)", "a second address vector is bound to an endpoint");
    e.peers = reinterpret_cast<address_vector*>(to);
    ++e.peers->bound;
    return 0;
  }
  if (to->fclass != FI_CLASS_CQ) return -FI_ENOSYS;
  auto* const q = reinterpret_cast<queue*>(to);
  if ((flags & (FI_TRANSMIT | FI_RECV)) == 0) {
    return broken("fi_endpoint(3)", "a completion queue is bound for neither FI_TRANSMIT nor FI_RECV");
  }
  if (has(flags, FI_TRANSMIT)) {
    e.transmits = q;
    e.selective = has(flags, FI_SELECTIVE_COMPLETION);
    ++q->bound;
  }
  if (has(flags, FI_RECV)) {
    e.receives = q;
    ++q->bound;
  }
  return 0;
}

int open_socket(endpoint& e) {
  e.own.magic = name_magic;
  if (getrandom(e.own.bits.data(), sizeof e.own.bits, 0) != sizeof e.own.bits) return -FI_EOTHER;
  e.socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  e.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (e.socket < 0 || e.event < 0) return -errno;
  sockaddr_un at{};
  const socklen_t bytes = socket_address(e.own, at);
  return bind(e.socket, reinterpret_cast<sockaddr*>(&at), bytes) == 0 ? 0 : -errno;
}

int enable(endpoint& e) {
  if (e.enabled) return 0;
  if (e.peers == nullptr)
    return broken("fi_endpoint(3)", "an endpoint is enabled without an address vector", -FI_ENOAV);
  if (e.transmits == nullptr || e.receives == nullptr) {
    return broken("fi_endpoint(3)", "an endpoint is enabled without completion queues for both ways", -FI_ENOCQ);
  }
  if (const int error = open_socket(e); error != 0) return error;
  for (const queue* q : {e.transmits, e.receives}) {
    epoll_event wanted{.events = EPOLLIN, .data = {}};
    if (q->wait >= 0 && !in_force().has_device()) epoll_ctl(q->wait, EPOLL_CTL_ADD, e.socket, &wanted);
  }
  e.enabled = true;
  e.in->endpoints.insert(&e);
  if (!in_force().has_device()) return 0;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);  // signals are the program's
  pthread_sigmask(SIG_SETMASK, &all, &before);
  e.device = std::thread(run_device, std::ref(e));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return 0;
}

int control_endpoint(fid* f, int command, void*) {
  auto& e = *reinterpret_cast<endpoint*>(f);
  const std::lock_guard guard(e.in->lock);
  return command == FI_ENABLE ? enable(e) : -FI_ENOSYS;
}

// Operations under way are dropped, as fi_endpoint(3) says.
int close_endpoint(fid* f) {
  auto* const e = reinterpret_cast<endpoint*>(f);
  domain& d = *e->in;
  {
    const std::lock_guard guard(d.lock);
    if (e->regions != 0) {
      return broken("fi_cxi(7)", "an endpoint is closed to which " + std::to_string(e->regions) + " regions are bound",
                    -FI_EBUSY);
    }
    e->closing = true;
    const std::uint64_t one = 1;
    if (e->event >= 0) (void)!write(e->event, &one, sizeof one);
  }
  if (e->device.joinable()) e->device.join();
  const std::lock_guard guard(d.lock);
  for (auto& [number, o] : e->under_way) {
    for (region* r : o.described) --r->used;
    if (o.completes && !o.told) --e->transmits->promised;
  }
  d.endpoints.erase(e);
  if (e->peers != nullptr) --e->peers->bound;
  if (e->transmits != nullptr) --e->transmits->bound;
  if (e->receives != nullptr) --e->receives->bound;
  if (e->socket >= 0) close(e->socket);
  if (e->event >= 0) close(e->event);
  --d.children;
  delete e;
  return 0;
}

int get_name(fid_t f, void* out, std::size_t* bytes) {
  const auto& e = *reinterpret_cast<endpoint*>(f);
  const std::size_t room = std::exchange(*bytes, sizeof e.own);
  if (!e.enabled) return broken("fi_cm(3)", "the address is asked for of an endpoint that is not enabled");
  if (out == nullptr || room < sizeof e.own) return -FI_ETOOSMALL;
  std::memcpy(out, &e.own, sizeof e.own);
  return 0;
}

fi_ops basics{sizeof(fi_ops), close_endpoint, bind_endpoint, control_endpoint, no_open, nullptr, nullptr};
fi_ops_ep ops{sizeof(fi_ops_ep), nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};
fi_ops_cm names{sizeof(fi_ops_cm), nullptr, get_name, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};

}  // namespace

int open_endpoint(fid_domain* in, fi_info* info, fid_ep** out, void* context) {
  auto* const it = new endpoint;
  it->handle.fid = {FI_CLASS_EP, context, &basics};
  it->handle.ops = &ops;
  it->handle.cm = &names;
  it->handle.rma = rma_operations();
  it->handle.atomic = atomic_operations();
  it->in = reinterpret_cast<domain*>(in);
  it->caps = info->caps;
  it->op_flags = info->tx_attr->op_flags;
  ++it->in->children;
  *out = &it->handle;
  return 0;
}

}  // namespace tobi::emulators::fabric
