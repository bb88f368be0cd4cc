// SPDX-License-Identifier: Apache-2.0
// What fi_getinfo returns, and the provider's entry: libfabric finds it in a file lib*-fi.so of FI_PROVIDER_PATH.
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_prov.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <limits>

#include "tests/emulators/fabric/objects.hpp"

namespace tobi::emulators::fabric {

namespace {

constexpr std::uint64_t transmits = FI_RMA | FI_ATOMIC | FI_READ | FI_WRITE;
constexpr std::uint64_t receives = FI_RMA | FI_ATOMIC | FI_REMOTE_READ | FI_REMOTE_WRITE;
constexpr std::uint64_t op_flags =
    FI_INJECT | FI_COMPLETION | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_REMOTE_CQ_DATA;

std::uint64_t granted(const profile& p) {
  return (transmits | receives | FI_LOCAL_COMM | FI_REMOTE_COMM) &
         ~(p.words() == atomics::none ? std::uint64_t{FI_ATOMIC} : 0);
}

// Whether an application that gives such hints can be served. What it does not offer and is needed ends it.
bool serves(const profile& p, std::uint64_t mode, const fi_info& hints) {
  if ((hints.caps & ~granted(p)) != 0 || (mode & ~hints.mode) != 0) return false;
  if (hints.ep_attr != nullptr && hints.ep_attr->type != FI_EP_UNSPEC && hints.ep_attr->type != FI_EP_RDM) return false;
  if (hints.tx_attr != nullptr && (hints.tx_attr->op_flags & ~op_flags) != 0) return false;
  if (hints.tx_attr != nullptr && hints.tx_attr->msg_order != 0 && p.shuffles != 0) return false;
  if (hints.domain_attr == nullptr) return true;
  const fi_domain_attr& d = *hints.domain_attr;
  if (d.av_type != FI_AV_UNSPEC && p.av_type != FI_AV_UNSPEC && p.av_type != static_cast<std::uint64_t>(d.av_type)) {
    return false;
  }
  if (d.resource_mgmt == FI_RM_ENABLED && p.manages == 0) return false;
  return (p.mr_mode & ~static_cast<std::uint64_t>(d.mr_mode)) == 0;
}

void fill_domain(fi_domain_attr& d, const profile& p, const fi_info* hints) {
  const std::uint64_t offered =
      hints == nullptr || hints->domain_attr == nullptr ? 0 : static_cast<std::uint64_t>(hints->domain_attr->mr_mode);
  d.name = strdup(("emulated-" + p.name).c_str());
  d.threading = FI_THREAD_SAFE;
  d.control_progress = d.data_progress = p.says_automatic != 0 ? FI_PROGRESS_AUTO : FI_PROGRESS_MANUAL;
  d.resource_mgmt = p.manages != 0 ? FI_RM_ENABLED : FI_RM_DISABLED;
  d.av_type = static_cast<fi_av_type>(p.av_type);
  d.mr_mode = static_cast<int>(p.mr_mode | (p.mr_mode_if & offered));
  d.mr_key_size = (p.mr_mode_if & offered & FI_MR_PROV_KEY) != 0 ? 8 : p.key_bytes;
  d.cq_data_size = p.cq_data_size;
  d.mr_iov_limit = 1;
  d.mr_cnt = p.mr_cnt;
  d.cq_cnt = d.ep_cnt = d.tx_ctx_cnt = d.rx_ctx_cnt = 64;
  d.max_ep_tx_ctx = d.max_ep_rx_ctx = 1;
  d.caps = FI_LOCAL_COMM | FI_REMOTE_COMM;
}

fi_info* one(const profile& p, std::uint64_t mode, const fi_info* hints) {
  fi_info* i = fi_allocinfo();
  if (i == nullptr) return nullptr;
  i->caps = hints == nullptr || hints->caps == 0 ? granted(p) : hints->caps | FI_LOCAL_COMM | FI_REMOTE_COMM;
  if ((i->caps & (FI_RMA | FI_ATOMIC)) != 0 &&
      (i->caps & (FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)) == 0) {
    i->caps |= FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;  // fi_getinfo(3): none of them means all
  }
  i->mode = mode;
  i->addr_format = FI_PROV_SPECIFIC | 0x5712;
  fi_tx_attr& tx = *i->tx_attr;
  tx.caps = i->caps & transmits;
  tx.mode = mode;
  tx.op_flags = hints == nullptr || hints->tx_attr == nullptr ? 0 : hints->tx_attr->op_flags;
  tx.msg_order = hints == nullptr || hints->tx_attr == nullptr ? 0 : hints->tx_attr->msg_order;
  tx.inject_size = p.inject_size;
  tx.size = p.tx_size;
  tx.iov_limit = p.iov_limit;
  tx.rma_iov_limit = p.rma_iov_limit;
  i->rx_attr->caps = i->caps & receives;
  i->rx_attr->size = p.tx_size;
  i->rx_attr->iov_limit = 1;
  i->ep_attr->type = FI_EP_RDM;
  i->ep_attr->protocol = FI_PROV_SPECIFIC | 0x5712;
  i->ep_attr->max_msg_size = p.max_msg_size;
  i->ep_attr->tx_ctx_cnt = i->ep_attr->rx_ctx_cnt = 1;
  fill_domain(*i->domain_attr, p, hints);
  i->fabric_attr->name = strdup("emulated");
  i->fabric_attr->prov_version = FI_VERSION(1, 0);
  return i;
}

int get_info(std::uint32_t, const char*, const char*, std::uint64_t, const fi_info* hints, fi_info** out) {
  profile p = in_force();
  fi_info** at = out;
  *out = nullptr;
  // Such as psm3's: an instance of tagged messages comes before the one that has data of completions.
  for (int instance = p.plain_instances != 0 ? 0 : 1; instance < 2; ++instance) {
    profile shown = p;
    if (instance == 0) shown.cq_data_size = 0;
    const std::uint64_t mode = p.mode | (instance == 0 ? FI_CONTEXT : 0);
    if (hints != nullptr && !serves(shown, mode, *hints)) continue;
    *at = one(shown, mode, hints);
    if (*at == nullptr) return -FI_ENOMEM;
    at = &(*at)->next;
  }
  return *out == nullptr ? -FI_ENODATA : 0;
}

int close_fabric(fid* f) {
  auto* const it = reinterpret_cast<fabric*>(f);
  if (it->children != 0) return broken("fi_fabric(3)", "a fabric is closed whose domains are open", -FI_EBUSY);
  delete it;
  return 0;
}

fi_ops fabric_basics{sizeof(fi_ops), close_fabric, no_bind, no_control, no_open, nullptr, nullptr};
fi_ops_fabric fabric_ops{sizeof(fi_ops_fabric), open_domain, nullptr, nullptr, nullptr, try_wait, nullptr};

int open_fabric(fi_fabric_attr*, fid_fabric** out, void* context) {
  auto* const it = new fabric;
  it->handle.fid = {FI_CLASS_FABRIC, context, &fabric_basics};
  it->handle.ops = &fabric_ops;
  *out = &it->handle;
  return 0;
}

void clean_up() {}

fi_provider provider{
    FI_VERSION(1, 0), FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), {}, "strict", get_info, open_fabric, clean_up};

}  // namespace

int no_bind(fid*, fid*, std::uint64_t) { return -FI_ENOSYS; }
int no_control(fid*, int, void*) { return -FI_ENOSYS; }
int no_open(fid*, const char*, std::uint64_t, void**, void*) { return -FI_ENOSYS; }

}  // namespace tobi::emulators::fabric

extern "C" __attribute__((visibility("default"))) fi_provider* fi_prov_ini() {
  return &tobi::emulators::fabric::provider;
}
