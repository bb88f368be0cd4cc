// SPDX-License-Identifier: Apache-2.0
// Preloaded: a call of libfabric or libibverbs fails. See failing.hpp for which. Tobiuo finds these libraries'
// functions by dlsym, which is replaced here; what is inline in their headers goes through tables of functions, which
// are copied.
#include <initializer_list>

#include "failing.hpp"

#ifdef HAVE_OFI
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#endif
#ifdef HAVE_VERBS
#include <infiniband/verbs.h>
#endif

namespace {

using symbol_finder = void* (*)(void*, const char*);

symbol_finder real_dlsym() {
  static const symbol_finder go = [] {
    for (const char* version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"}) {
      if (void* at = dlvsym(RTLD_NEXT, "dlsym", version); at != nullptr) return reinterpret_cast<symbol_finder>(at);
    }
    abort();
  }();
  return go;
}

// A table of functions of the library's, which others of its objects share: this object gets a copy.
template <class Table>
Table& own(Table*& table) {
  auto* copy = static_cast<Table*>(malloc(sizeof(Table)));
  memcpy(copy, table, sizeof(Table));
  table = copy;
  return *copy;
}

// Replaces the function AT by one that may fail. Objects of one class have the same functions.
template <class F>
void replace(F& at, F by, F& before) {
  before = at;
  at = by;
}

#ifdef HAVE_OFI

int negative(const char* call, int with) { return failing::fails(call, with) ? -with : 0; }

decltype(&fi_getinfo) go_getinfo;
int my_getinfo(uint32_t version, const char* node, const char* service, uint64_t flags, const fi_info* hints,
               fi_info** info) {
  if (const int e = negative("fi_getinfo", FI_ENODATA)) return e;
  return go_getinfo(version, node, service, flags, hints, info);
}

decltype(fi_ops_rma::readmsg) go_readmsg;
ssize_t my_readmsg(fid_ep* ep, const fi_msg_rma* m, uint64_t flags) {
  if (const int e = negative("fi_readmsg", FI_EIO)) return e;
  return go_readmsg(ep, m, flags);
}
decltype(fi_ops_rma::writemsg) go_writemsg;
ssize_t my_writemsg(fid_ep* ep, const fi_msg_rma* m, uint64_t flags) {
  if (const int e = negative("fi_writemsg", FI_EIO)) return e;
  return go_writemsg(ep, m, flags);
}
decltype(fi_ops_atomic::readwritemsg) go_fetch;
ssize_t my_fetch(fid_ep* ep, const fi_msg_atomic* m, fi_ioc* result, void** desc, size_t n, uint64_t flags) {
  if (const int e = negative("fi_fetch_atomicmsg", FI_EIO)) return e;
  return go_fetch(ep, m, result, desc, n, flags);
}
decltype(fi_ops_atomic::compwritemsg) go_swap;
ssize_t my_swap(fid_ep* ep, const fi_msg_atomic* m, const fi_ioc* compare, void** compare_desc, size_t n,
                fi_ioc* result, void** desc, size_t results, uint64_t flags) {
  if (const int e = negative("fi_compare_atomicmsg", FI_EIO)) return e;
  return go_swap(ep, m, compare, compare_desc, n, result, desc, results, flags);
}
decltype(fi_ops_cq::read) go_cq_read;
ssize_t my_cq_read(fid_cq* cq, void* to, size_t n) {
  if (const int e = negative("fi_cq_read", FI_EIO)) return e;
  return go_cq_read(cq, to, n);
}
decltype(fi_ops_av::insert) go_insert;
int my_insert(fid_av* av, const void* at, size_t n, fi_addr_t* to, uint64_t flags, void* context) {
  if (negative("fi_av_insert", FI_ENOMEM) != 0) return 0;
  return go_insert(av, at, n, to, flags, context);
}
decltype(fi_ops_cm::getname) go_getname;
int my_getname(fid* f, void* to, size_t* n) {
  if (const int e = negative("fi_getname", FI_ENOMEM)) return e;
  return go_getname(f, to, n);
}
decltype(fi_ops::bind) go_bind;
int my_bind(fid* f, fid* to, uint64_t flags) {
  if (const int e = negative("fi_ep_bind", FI_ENOMEM)) return e;
  return go_bind(f, to, flags);
}
decltype(fi_ops::control) go_control;
int my_control(fid* f, int command, void* argument) {
  if (command == FI_ENABLE) {
    if (const int e = negative("fi_enable", FI_ENOMEM)) return e;
  }
  return go_control(f, command, argument);
}
decltype(fi_ops_mr::reg) go_reg;
int my_reg(fid* f, const void* at, size_t n, uint64_t access, uint64_t offset, uint64_t key, uint64_t flags,
           fid_mr** mr, void* context) {
  if (const int e = negative("fi_mr_reg", FI_ENOMEM)) return e;
  return go_reg(f, at, n, access, offset, key, flags, mr, context);
}
decltype(fi_ops_domain::av_open) go_av_open;
int my_av_open(fid_domain* domain, fi_av_attr* how, fid_av** av, void* context) {
  if (const int e = negative("fi_av_open", FI_ENOMEM)) return e;
  const int error = go_av_open(domain, how, av, context);
  if (error == 0) replace(own((*av)->ops).insert, my_insert, go_insert);
  return error;
}
decltype(fi_ops_domain::cq_open) go_cq_open;
int my_cq_open(fid_domain* domain, fi_cq_attr* how, fid_cq** cq, void* context) {
  if (const int e = negative("fi_cq_open", FI_ENOMEM)) return e;
  const int error = go_cq_open(domain, how, cq, context);
  if (error == 0) replace(own((*cq)->ops).read, my_cq_read, go_cq_read);
  return error;
}
decltype(fi_ops_domain::endpoint) go_endpoint;
int my_endpoint(fid_domain* domain, fi_info* info, fid_ep** ep, void* context) {
  if (const int e = negative("fi_endpoint", FI_ENOMEM)) return e;
  const int error = go_endpoint(domain, info, ep, context);
  if (error != 0) return error;
  fi_ops& ops = own((*ep)->fid.ops);
  replace(ops.bind, my_bind, go_bind);
  replace(ops.control, my_control, go_control);
  replace(own((*ep)->cm).getname, my_getname, go_getname);
  fi_ops_rma& rma = own((*ep)->rma);
  replace(rma.readmsg, my_readmsg, go_readmsg);
  replace(rma.writemsg, my_writemsg, go_writemsg);
  if ((*ep)->atomic != nullptr) {
    fi_ops_atomic& atomic = own((*ep)->atomic);
    replace(atomic.readwritemsg, my_fetch, go_fetch);
    replace(atomic.compwritemsg, my_swap, go_swap);
  }
  return 0;
}
decltype(fi_ops_fabric::domain) go_domain;
int my_domain(fid_fabric* fabric, fi_info* info, fid_domain** domain, void* context) {
  if (const int e = negative("fi_domain", FI_ENOMEM)) return e;
  const int error = go_domain(fabric, info, domain, context);
  if (error != 0) return error;
  fi_ops_domain& ops = own((*domain)->ops);
  replace(ops.av_open, my_av_open, go_av_open);
  replace(ops.cq_open, my_cq_open, go_cq_open);
  replace(ops.endpoint, my_endpoint, go_endpoint);
  replace(own((*domain)->mr).reg, my_reg, go_reg);
  return 0;
}
decltype(&fi_fabric) go_fabric;
int my_fabric(fi_fabric_attr* how, fid_fabric** fabric, void* context) {
  if (const int e = negative("fi_fabric", FI_ENOMEM)) return e;
  const int error = go_fabric(how, fabric, context);
  if (error == 0) replace(own((*fabric)->ops).domain, my_domain, go_domain);
  return error;
}

#endif

#ifdef HAVE_VERBS

bool sets_errno(const char* call, int with) {
  if (!failing::fails(call, with)) return false;
  errno = with;
  return true;
}

// Functions of libibverbs that answer a null pointer and errno.
#define MAKES(result, name, parameters, arguments)        \
  result(*go_##name) parameters;                          \
  result my_##name parameters {                           \
    if (sets_errno("ibv_" #name, ENOMEM)) return nullptr; \
    return go_##name arguments;                           \
  }
MAKES(ibv_pd*, alloc_pd, (ibv_context * of), (of))
MAKES(ibv_comp_channel*, create_comp_channel, (ibv_context * of), (of))
MAKES(ibv_cq*, create_cq, (ibv_context * of, int n, void* with, ibv_comp_channel* to, int vector),
      (of, n, with, to, vector))
MAKES(ibv_srq*, create_srq, (ibv_pd * of, ibv_srq_init_attr* how), (of, how))
MAKES(ibv_qp*, create_qp, (ibv_pd * of, ibv_qp_init_attr* how), (of, how))
MAKES(ibv_mr*, reg_mr, (ibv_pd * of, void* at, size_t n, int access), (of, at, n, access))
MAKES(ibv_ah*, create_ah, (ibv_pd * of, ibv_ah_attr* to), (of, to))
MAKES(ibv_device**, get_device_list, (int* n), (n))

int (*go_modify_qp)(ibv_qp*, ibv_qp_attr*, int);
int my_modify_qp(ibv_qp* qp, ibv_qp_attr* how, int what) {
  return sets_errno("ibv_modify_qp", ENOMEM) ? errno : go_modify_qp(qp, how, what);
}
int (*go_query_device)(ibv_context*, ibv_device_attr*);
int my_query_device(ibv_context* of, ibv_device_attr* to) {
  return sets_errno("ibv_query_device", EIO) ? errno : go_query_device(of, to);
}
int (*go_query_gid)(ibv_context*, uint8_t, int, ibv_gid*);
int my_query_gid(ibv_context* of, uint8_t port, int index, ibv_gid* to) {
  return sets_errno("ibv_query_gid", EIO) ? -1 : go_query_gid(of, port, index, to);
}

// A full queue is ENOMEM to who posts.
int (*go_post_send)(ibv_qp*, ibv_send_wr*, ibv_send_wr**);
int my_post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
  if (sets_errno("ibv_post_send", EIO)) {
    *bad = wr;
    return errno;
  }
  return go_post_send(qp, wr, bad);
}
int (*go_post_recv)(ibv_qp*, ibv_recv_wr*, ibv_recv_wr**);
int my_post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  if (sets_errno("ibv_post_recv", ENOMEM)) {
    *bad = wr;
    return errno;
  }
  return go_post_recv(qp, wr, bad);
}
int (*go_poll_cq)(ibv_cq*, int, ibv_wc*);
int my_poll_cq(ibv_cq* cq, int n, ibv_wc* to) { return sets_errno("ibv_poll_cq", EIO) ? -1 : go_poll_cq(cq, n, to); }
ibv_context* (*go_open_device)(ibv_device*);
ibv_context* my_open_device(ibv_device* device) {
  if (sets_errno("ibv_open_device", EMFILE)) return nullptr;
  ibv_context* const opened = go_open_device(device);
  if (opened == nullptr) return nullptr;
  replace(opened->ops.post_send, my_post_send, go_post_send);
  replace(opened->ops.post_recv, my_post_recv, go_post_recv);
  replace(opened->ops.poll_cq, my_poll_cq, go_poll_cq);
  return opened;
}

#endif

struct replaced {
  const char* name;
  void* by;
  void** go;
};
#define REPLACES(prefix, name) \
  { #prefix #name, reinterpret_cast < void*>(&my_##name), reinterpret_cast < void**>(&go_##name) }
const replaced functions[] = {
#ifdef HAVE_OFI
    REPLACES(fi_, getinfo),     REPLACES(fi_, fabric),
#endif
#ifdef HAVE_VERBS
    REPLACES(ibv_, alloc_pd),   REPLACES(ibv_, create_comp_channel),
    REPLACES(ibv_, create_cq),  REPLACES(ibv_, create_srq),
    REPLACES(ibv_, create_qp),  REPLACES(ibv_, reg_mr),
    REPLACES(ibv_, create_ah),  REPLACES(ibv_, get_device_list),
    REPLACES(ibv_, modify_qp),  REPLACES(ibv_, query_device),
    REPLACES(ibv_, query_gid),  REPLACES(ibv_, open_device),
#endif
    {nullptr, nullptr, nullptr}};

}  // namespace

// The last call leaves this function's frame: RTLD_NEXT means the caller's library.
extern "C" void* dlsym(void* handle, const char* name) noexcept {
  const symbol_finder go = real_dlsym();
  if (handle != RTLD_NEXT && handle != RTLD_DEFAULT && name != nullptr) {
    for (const replaced* r = functions; r->name != nullptr; ++r) {
      if (strcmp(r->name, name) != 0) continue;
      *r->go = go(handle, name);
      return *r->go == nullptr ? nullptr : r->by;
    }
  }
  return go(handle, name);
}
