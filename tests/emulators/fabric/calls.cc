// SPDX-License-Identifier: Apache-2.0
// libfabric's calls for RMA and atomics, each as one posting.
#include <rdma/fi_errno.h>

#include <algorithm>

#include "tests/emulators/fabric/objects.hpp"

namespace tobi::emulators::fabric {

namespace {

endpoint& of(fid_ep* f) { return *reinterpret_cast<endpoint*>(f); }
iovec buffer(const void* at, std::size_t bytes) { return {const_cast<void*>(at), bytes}; }

// A context that no completion comes with is the endpoint's own address.
void* silent(fid_ep* f) { return &of(f); }

ssize_t message(fid_ep* f, verb what, const fi_msg_rma* m, std::uint64_t flags) {
  posting p{.what = what, .desc = m->desc, .peer = m->addr, .context = m->context, .data = m->data, .flags = flags};
  p.local.assign(m->msg_iov, m->msg_iov + m->iov_count);
  p.remote.assign(m->rma_iov, m->rma_iov + m->rma_iov_count);
  return post(of(f), p);
}
ssize_t read_message(fid_ep* f, const fi_msg_rma* m, std::uint64_t flags) { return message(f, verb::get, m, flags); }
ssize_t write_message(fid_ep* f, const fi_msg_rma* m, std::uint64_t flags) { return message(f, verb::put, m, flags); }

ssize_t simple(fid_ep* f, verb what, const iovec* iov, void** desc, std::size_t count, fi_addr_t peer,
               std::uint64_t address, std::uint64_t key, void* context, std::uint64_t data, std::uint64_t flags) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) bytes += iov[i].iov_len;
  const fi_rma_iov remote{address, bytes, key};
  const fi_msg_rma m{iov, desc, count, peer, &remote, 1, context, data};
  return message(f, what, &m, flags);
}

ssize_t read_vector(fid_ep* f, const iovec* iov, void** desc, std::size_t count, fi_addr_t peer, std::uint64_t address,
                    std::uint64_t key, void* context) {
  return simple(f, verb::get, iov, desc, count, peer, address, key, context, 0, of(f).op_flags & ~FI_INJECT);
}
ssize_t read_one(fid_ep* f, void* at, std::size_t bytes, void* desc, fi_addr_t peer, std::uint64_t address,
                 std::uint64_t key, void* context) {
  const iovec iov = buffer(at, bytes);
  return read_vector(f, &iov, &desc, 1, peer, address, key, context);
}
ssize_t write_vector(fid_ep* f, const iovec* iov, void** desc, std::size_t count, fi_addr_t peer, std::uint64_t address,
                     std::uint64_t key, void* context) {
  return simple(f, verb::put, iov, desc, count, peer, address, key, context, 0, of(f).op_flags);
}
ssize_t write_one(fid_ep* f, const void* at, std::size_t bytes, void* desc, fi_addr_t peer, std::uint64_t address,
                  std::uint64_t key, void* context) {
  const iovec iov = buffer(at, bytes);
  return write_vector(f, &iov, &desc, 1, peer, address, key, context);
}
ssize_t write_data(fid_ep* f, const void* at, std::size_t bytes, void* desc, std::uint64_t data, fi_addr_t peer,
                   std::uint64_t address, std::uint64_t key, void* context) {
  const iovec iov = buffer(at, bytes);
  return simple(f, verb::put, &iov, &desc, 1, peer, address, key, context, data, of(f).op_flags | FI_REMOTE_CQ_DATA);
}
ssize_t inject(fid_ep* f, const void* at, std::size_t bytes, fi_addr_t peer, std::uint64_t address, std::uint64_t key) {
  const iovec iov = buffer(at, bytes);
  return simple(f, verb::put, &iov, nullptr, 1, peer, address, key, silent(f), 0, FI_INJECT);
}
ssize_t inject_data(fid_ep* f, const void* at, std::size_t bytes, std::uint64_t data, fi_addr_t peer,
                    std::uint64_t address, std::uint64_t key) {
  const iovec iov = buffer(at, bytes);
  return simple(f, verb::put, &iov, nullptr, 1, peer, address, key, silent(f), data, FI_INJECT | FI_REMOTE_CQ_DATA);
}

fi_ops_rma rma{sizeof(fi_ops_rma), read_one,      read_vector, read_message, write_one,
               write_vector,       write_message, inject,      write_data,   inject_data};

// An atomic's words, in bytes.
iovec words(const fi_ioc& i, fi_datatype type) { return {i.addr, i.count * word_bytes(type)}; }

ssize_t compare_message(fid_ep* f, const fi_msg_atomic* m, const fi_ioc* compares, void** compare_desc,
                        std::size_t compare_count, fi_ioc* results, void** result_desc, std::size_t result_count,
                        std::uint64_t flags) {
  if (compare_count > 1 || result_count > 1) {
    return broken("fi_endpoint(3)", "an atomic has more buffers than iov_limit");
  }
  posting p{.what = verb::atomic, .desc = m->desc, .peer = m->addr, .context = m->context, .flags = flags};
  p.datatype = m->datatype;
  p.op = m->op;
  for (std::size_t i = 0; i < m->iov_count; ++i) p.local.push_back(words(m->msg_iov[i], m->datatype));
  for (std::size_t i = 0; i < m->rma_iov_count; ++i) {
    const fi_rma_ioc& r = m->rma_iov[i];
    p.remote.push_back({r.addr, r.count * word_bytes(m->datatype), r.key});
  }
  if (compare_count == 1) p.compare = words(*compares, m->datatype);
  if (result_count == 1) p.result = words(*results, m->datatype);
  p.compare_desc = compare_desc == nullptr ? nullptr : *compare_desc;
  p.result_desc = result_desc == nullptr ? nullptr : *result_desc;
  return post(of(f), p);
}
ssize_t fetch_message(fid_ep* f, const fi_msg_atomic* m, fi_ioc* results, void** desc, std::size_t count,
                      std::uint64_t flags) {
  return compare_message(f, m, nullptr, nullptr, 0, results, desc, count, flags);
}
ssize_t atomic_message(fid_ep* f, const fi_msg_atomic* m, std::uint64_t flags) {
  return compare_message(f, m, nullptr, nullptr, 0, nullptr, nullptr, 0, flags);
}

ssize_t fetch(fid_ep* f, const void* at, std::size_t count, void* desc, void* result, void* result_desc, fi_addr_t peer,
              std::uint64_t address, std::uint64_t key, fi_datatype type, fi_op op, void* context) {
  const fi_ioc local{const_cast<void*>(at), count};
  const fi_rma_ioc remote{address, count, key};
  fi_ioc to{result, count};
  const fi_msg_atomic m{&local, &desc, 1, peer, &remote, 1, type, op, context, 0};
  return fetch_message(f, &m, &to, &result_desc, 1, of(f).op_flags & ~FI_INJECT);
}

int valid(fi_datatype type, fi_op op, std::size_t* count, std::uint64_t flags) {
  *count = offers(type, op, flags) ? 1 : 0;
  return *count == 1 ? 0 : -FI_EOPNOTSUPP;
}
int plain_valid(fid_ep*, fi_datatype t, fi_op o, std::size_t* n) { return valid(t, o, n, 0); }
int fetch_valid(fid_ep*, fi_datatype t, fi_op o, std::size_t* n) { return valid(t, o, n, FI_FETCH_ATOMIC); }
int compare_valid(fid_ep*, fi_datatype t, fi_op o, std::size_t* n) { return valid(t, o, n, FI_COMPARE_ATOMIC); }

// Of the calls with single arguments only the fetching one is here: libfabric's headers call no others by themselves.
fi_ops_atomic atomic_ops{
    sizeof(fi_ops_atomic), nullptr, nullptr, atomic_message,  nullptr,     fetch,       nullptr,
    fetch_message,         nullptr, nullptr, compare_message, plain_valid, fetch_valid, compare_valid};

}  // namespace

fi_ops_rma* rma_operations() { return &rma; }
fi_ops_atomic* atomic_operations() { return &atomic_ops; }

int query_atomic(fid_domain*, fi_datatype type, fi_op op, fi_atomic_attr* attr, std::uint64_t flags) {
  if (!offers(type, op, flags)) return -FI_EOPNOTSUPP;
  attr->count = 1;
  attr->size = word_bytes(type);
  return 0;
}

std::size_t word_bytes(fi_datatype type) {
  switch (type) {
    case FI_INT8:
    case FI_UINT8:
      return 1;
    case FI_INT16:
    case FI_UINT16:
      return 2;
    case FI_INT32:
    case FI_UINT32:
      return 4;
    default:
      return 8;
  }
}

bool offers(fi_datatype type, fi_op op, std::uint64_t flags) {
  const bool wide = type == FI_UINT64 || type == FI_INT64;
  const bool whole = wide || type == FI_UINT32 || type == FI_INT32;
  const bool swaps = has(flags, FI_COMPARE_ATOMIC) && op == FI_CSWAP;
  switch (in_force().words()) {
    case atomics::none:
      return false;
    case atomics::add_and_swap:
      return wide && (swaps || (has(flags, FI_FETCH_ATOMIC) && op == FI_SUM));
    case atomics::all:
      break;
  }
  constexpr fi_op plain[] = {FI_SUM, FI_BOR, FI_BAND, FI_BXOR, FI_ATOMIC_WRITE};
  const bool reads = has(flags, FI_FETCH_ATOMIC) && op == FI_ATOMIC_READ;
  const bool changes =
      !has(flags, FI_COMPARE_ATOMIC) && std::find(std::begin(plain), std::end(plain), op) != std::end(plain);
  return whole && (swaps || reads || changes);
}

std::uint64_t changed(fi_datatype type, fi_op op, std::uint64_t old, std::uint64_t operand, std::uint64_t compare) {
  const std::uint64_t mask = word_bytes(type) == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 32) - 1;
  switch (op) {
    case FI_SUM:
      return (old + operand) & mask;
    case FI_BOR:
      return old | operand;
    case FI_BAND:
      return old & operand;
    case FI_BXOR:
      return old ^ operand;
    case FI_ATOMIC_WRITE:
      return operand;
    case FI_CSWAP:
      return old == compare ? operand : old;
    default:
      return old;
  }
}

}  // namespace tobi::emulators::fabric
