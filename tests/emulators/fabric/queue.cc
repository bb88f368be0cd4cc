// SPDX-License-Identifier: Apache-2.0
// Completion queues. Entries come in any order where the profile says so; errors come before them.
#include <rdma/fi_errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstring>

#include "tests/emulators/fabric/objects.hpp"

namespace tobi::emulators::fabric {

namespace {

std::size_t entry_bytes(fi_cq_format f) {
  switch (f) {
    case FI_CQ_FORMAT_MSG:
      return sizeof(fi_cq_msg_entry);
    case FI_CQ_FORMAT_DATA:
      return sizeof(fi_cq_data_entry);
    case FI_CQ_FORMAT_TAGGED:
      return sizeof(fi_cq_tagged_entry);
    default:
      return sizeof(fi_cq_entry);
  }
}

void raise(const queue& q) {
  const std::uint64_t one = 1;
  if (q.event >= 0) (void)!write(q.event, &one, sizeof one);
}

void lower(const queue& q) {
  std::uint64_t some = 0;
  if (q.event >= 0 && q.entries.empty() && q.errors.empty()) (void)!read(q.event, &some, sizeof some);
}

// Reading is what moves a provider that does not move by itself.
void progress(const queue& q) {
  for (endpoint* e : q.in->endpoints) {
    if (e->transmits == &q || e->receives == &q) move(*e, true);
  }
}

ssize_t read_entries(fid_cq* f, void* out, std::size_t count) {
  auto& q = *reinterpret_cast<queue*>(f);
  const std::lock_guard guard(q.in->lock);
  progress(q);
  if (!q.errors.empty()) return -FI_EAVAIL;
  std::size_t taken = 0;
  const std::size_t bytes = entry_bytes(q.format);
  for (; taken < count && !q.entries.empty(); ++taken) {
    const std::size_t i = in_force().shuffles != 0 ? q.in->chance() % q.entries.size() : 0;
    std::memcpy(static_cast<std::byte*>(out) + taken * bytes, &q.entries[i], bytes);
    q.entries.erase(q.entries.begin() + static_cast<std::ptrdiff_t>(i));
  }
  lower(q);
  return taken == 0 ? -FI_EAGAIN : static_cast<ssize_t>(taken);
}

ssize_t read_entries_from(fid_cq* f, void* out, std::size_t count, fi_addr_t* sources) {
  const ssize_t n = read_entries(f, out, count);
  for (ssize_t i = 0; i < n; ++i) sources[i] = FI_ADDR_NOTAVAIL;
  return n;
}

ssize_t read_error(fid_cq* f, fi_cq_err_entry* out, std::uint64_t) {
  auto& q = *reinterpret_cast<queue*>(f);
  const std::lock_guard guard(q.in->lock);
  if (q.errors.empty()) return -FI_EAGAIN;
  *out = q.errors.front();
  q.errors.pop_front();
  lower(q);
  return 1;
}

const char* error_text(fid_cq*, int, const void*, char*, std::size_t) { return "the strict provider refused it"; }

int close_queue(fid* f) {
  auto* const it = reinterpret_cast<queue*>(f);
  if (it->bound != 0) return broken("fi_cq(3)", "a completion queue is closed whose endpoints are open", -FI_EBUSY);
  if (it->wait >= 0) close(it->wait);
  if (it->event >= 0) close(it->event);
  --it->in->children;
  delete it;
  return 0;
}

int control_queue(fid* f, int command, void* out) {
  const auto& q = *reinterpret_cast<queue*>(f);
  if (command != FI_GETWAIT || q.wait < 0) return -FI_ENODATA;
  *static_cast<int*>(out) = q.wait;
  return 0;
}

fi_ops basics{sizeof(fi_ops), close_queue, no_bind, control_queue, no_open, nullptr, nullptr};
fi_ops_cq ops{sizeof(fi_ops_cq), read_entries, read_entries_from, read_error, nullptr, nullptr, nullptr, error_text};

}  // namespace

void queue::add(const fi_cq_tagged_entry& e) {
  entries.push_back(e);
  raise(*this);
}

void queue::add(const fi_cq_err_entry& e) {
  errors.push_back(e);
  raise(*this);
}

int open_queue(fid_domain* in, fi_cq_attr* attr, fid_cq** out, void* context) {
  const bool sleeps = attr->wait_obj == FI_WAIT_FD || attr->wait_obj == FI_WAIT_UNSPEC;
  if (attr->wait_obj != FI_WAIT_NONE && (!sleeps || in_force().wait_fd == 0)) return -FI_ENOSYS;
  auto* const it = new queue;
  it->handle.fid = {FI_CLASS_CQ, context, &basics};
  it->handle.ops = &ops;
  it->in = reinterpret_cast<domain*>(in);
  it->format = attr->format;
  it->size = attr->size != 0 ? attr->size : 256;
  if (sleeps) {
    it->wait = epoll_create1(EPOLL_CLOEXEC);
    it->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    epoll_event wanted{.events = EPOLLIN, .data = {}};
    epoll_ctl(it->wait, EPOLL_CTL_ADD, it->event, &wanted);
  }
  ++it->in->children;
  *out = &it->handle;
  return 0;
}

// Whether a sleep on these queues misses nothing.
int try_wait(fid_fabric*, fid** fids, int count) {
  for (int i = 0; i < count; ++i) {
    const auto& q = *reinterpret_cast<queue*>(fids[i]);
    const std::lock_guard guard(q.in->lock);
    if (q.wait < 0) return broken("fi_poll(3)", "fi_trywait of a completion queue that has no wait object");
    if (!q.entries.empty() || !q.errors.empty()) return -FI_EAGAIN;
    for (const endpoint* e : q.in->endpoints) {
      if ((e->transmits == &q || e->receives == &q) && (!e->out.empty() || !e->waiting.empty())) return -FI_EAGAIN;
    }
  }
  return 0;
}

}  // namespace tobi::emulators::fabric
