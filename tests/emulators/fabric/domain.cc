// SPDX-License-Identifier: Apache-2.0
// Domains, their memory regions, and address vectors.
#include <rdma/fi_errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "tests/emulators/fabric/objects.hpp"

namespace tobi::emulators::fabric {

namespace {

// The bits of fi_mr(3) that say what a peer, or the owner itself, may do.
constexpr std::uint64_t any_access = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;

// "" or what is wrong with memory that must be backed by pages.
std::string not_backed(const void* from, std::size_t bytes) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(from) & ~(page - 1);
  const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(from) + bytes + page - 1) & ~(page - 1);
  std::vector<unsigned char> there((end - begin) / page);
  if (mincore(reinterpret_cast<void*>(begin), end - begin, there.data()) != 0) return "memory that is not mapped";
  const auto missing = std::count_if(there.begin(), there.end(), [](unsigned char c) { return (c & 1) == 0; });
  return missing == 0 ? "" : "memory of which " + std::to_string(missing) + " pages do not exist";
}

int close_region(fid* f) {
  auto* const it = reinterpret_cast<region*>(f);
  domain& d = *it->in;
  const std::lock_guard guard(d.lock);
  if (it->used != 0) {
    return broken("fi_mr(3)", "a region is closed that describes a buffer of an operation under way", -FI_EBUSY);
  }
  if (it->of != nullptr) --it->of->regions;
  d.by_key.erase(it->handle.key);
  d.regions.erase(it);
  --d.children;
  delete it;
  return 0;
}

int bind_region(fid* f, fid* to, std::uint64_t flags) {
  auto* const it = reinterpret_cast<region*>(f);
  const std::lock_guard guard(it->in->lock);
  if (to->fclass != FI_CLASS_EP) return -FI_ENOSYS;  // there are no counters here
  auto* const e = reinterpret_cast<endpoint*>(to);
  if (flags != 0) return broken("fi_mr(3)", "fi_mr_bind to an endpoint has flags");
  if (it->enabled) return broken("fi_mr(3)", "a region is bound after it was enabled");
  if (it->of != nullptr) return broken("fi_mr(3)", "a region is bound twice");
  if (e->in != it->in) return broken("fi_mr(3)", "a region is bound to an endpoint of another domain");
  if (!e->enabled) return broken("fi_mr(3)", "a region is bound to an endpoint that is not enabled");
  it->of = e;
  ++e->regions;
  return 0;
}

int control_region(fid* f, int command, void*) {
  auto* const it = reinterpret_cast<region*>(f);
  const std::lock_guard guard(it->in->lock);
  if (command != FI_ENABLE) return -FI_ENOSYS;
  if (has(it->in->mr_mode, FI_MR_ENDPOINT) && it->of == nullptr) {
    return broken("fi_mr(3)", "a region is enabled that is bound to no endpoint, and mr_mode has FI_MR_ENDPOINT");
  }
  it->enabled = true;
  return 0;
}

fi_ops region_basics{sizeof(fi_ops), close_region, bind_region, control_region, no_open, nullptr, nullptr};

int register_region(fid* f, const void* buffer, std::size_t bytes, std::uint64_t access, std::uint64_t offset,
                    std::uint64_t key, std::uint64_t flags, fid_mr** out, void* context) {
  auto& d = *reinterpret_cast<domain*>(f);
  const std::lock_guard guard(d.lock);
  const profile& p = in_force();
  if (bytes == 0) return broken("fi_mr(3)", "a region of no bytes is registered");
  if (offset != 0) return broken("fi_mr(3)", "a region is registered with an offset, which must be 0");
  if (access == 0 || (access & ~any_access) != 0)
    return broken("fi_mr(3)", "a region is registered for no such access");
  if (has(d.mr_mode, FI_MR_ALLOCATED)) {
    const std::string why = not_backed(buffer, bytes);
    if (!why.empty()) return broken("fi_mr(3)", "mr_mode has FI_MR_ALLOCATED, and " + why + " is registered");
  }
  const bool by_provider = has(d.mr_mode, FI_MR_PROV_KEY);
  const std::uint64_t key_bytes = std::min<std::uint64_t>(p.key_bytes, 8);
  if (!by_provider && key_bytes < 8 && key >> 8 * key_bytes != 0) {
    return broken("fi_domain(3)",
                  "a key is requested of more than the " + std::to_string(key_bytes) + " bytes of mr_key_size",
                  -FI_EKEYREJECTED);
  }
  if (by_provider) {
    do key = d.chance() >> (64 - 8 * key_bytes);
    while (d.by_key.contains(key));
  }
  if (d.by_key.contains(key)) return -FI_ENOKEY;  // in use, as fi_mr(3) says
  if (d.regions.size() >= p.mr_cnt) return -FI_ENOSPC;
  auto* const it = new region;
  it->handle.fid = {FI_CLASS_MR, context, &region_basics};
  it->handle.key = key;
  it->handle.mem_desc = it;
  it->in = &d;
  it->base = static_cast<std::byte*>(const_cast<void*>(buffer));
  it->bytes = bytes;
  it->access = access;
  it->enabled = !has(d.mr_mode, FI_MR_ENDPOINT) && !(has(d.mr_mode, FI_MR_RMA_EVENT) && has(flags, FI_RMA_EVENT));
  d.by_key.emplace(key, it);
  d.regions.insert(it);
  ++d.children;
  *out = &it->handle;
  return 0;
}

int register_vector(fid* f, const iovec* iov, std::size_t count, std::uint64_t access, std::uint64_t offset,
                    std::uint64_t key, std::uint64_t flags, fid_mr** out, void* context) {
  if (count != 1) return broken("fi_mr(3)", "a region of more buffers than mr_iov_limit is registered");
  return register_region(f, iov->iov_base, iov->iov_len, access, offset, key, flags, out, context);
}

int register_attributes(fid* f, const fi_mr_attr* a, std::uint64_t flags, fid_mr** out) {
  return register_vector(f, a->mr_iov, a->iov_count, a->access, a->offset, a->requested_key, flags, out, a->context);
}

fi_ops_mr memory_ops{sizeof(fi_ops_mr), register_region, register_vector, register_attributes};

int close_addresses(fid* f) {
  auto* const it = reinterpret_cast<address_vector*>(f);
  if (it->bound != 0) return broken("fi_av(3)", "an address vector is closed whose endpoints are open", -FI_EBUSY);
  --it->in->children;
  delete it;
  return 0;
}

// A map's addresses are no small numbers: a program that takes them for indices fails.
fi_addr_t addr_of(const address_vector& v, std::size_t i) { return v.type == FI_AV_MAP ? (i + 1) << 32 | 0x5712 : i; }

int insert_addresses(fid_av* f, const void* names, std::size_t count, fi_addr_t* out, std::uint64_t, void*) {
  auto& v = *reinterpret_cast<address_vector*>(f);
  const std::lock_guard guard(v.in->lock);
  for (std::size_t i = 0; i < count; ++i) {
    name n;
    std::memcpy(&n, static_cast<const char*>(names) + i * sizeof n, sizeof n);
    if (n.magic != name_magic) return broken("fi_av(3)", "an address is inserted that no fi_getname has returned");
    v.names.push_back(n);
    if (out != nullptr) out[i] = addr_of(v, v.names.size() - 1);
  }
  return static_cast<int>(count);
}

fi_ops av_basics{sizeof(fi_ops), close_addresses, no_bind, no_control, no_open, nullptr, nullptr};
fi_ops_av av_ops{sizeof(fi_ops_av), insert_addresses, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};

int close_domain(fid* f) {
  auto* const it = reinterpret_cast<domain*>(f);
  if (it->children != 0) {
    return broken("fi_domain(3)", "a domain is closed of which " + std::to_string(it->children) + " parts are open",
                  -FI_EBUSY);
  }
  --it->in->children;
  delete it;
  return 0;
}

fi_ops domain_basics{sizeof(fi_ops), close_domain, no_bind, no_control, no_open, nullptr, nullptr};
fi_ops_domain domain_ops{
    sizeof(fi_ops_domain), open_addresses, open_queue, open_endpoint, nullptr, nullptr, nullptr, nullptr, nullptr,
    query_atomic,          nullptr,        nullptr};

}  // namespace

int open_addresses(fid_domain* in, fi_av_attr* attr, fid_av** out, void* context) {
  const std::uint64_t only = in_force().av_type;
  if (only != FI_AV_UNSPEC && attr->type != FI_AV_UNSPEC && static_cast<std::uint64_t>(attr->type) != only) {
    return broken("fi_domain(3)", "an address vector is opened of a type that av_type does not name");
  }
  auto* const it = new address_vector;
  it->handle.fid = {FI_CLASS_AV, context, &av_basics};
  it->handle.ops = &av_ops;
  it->in = reinterpret_cast<domain*>(in);
  it->type = attr->type != FI_AV_UNSPEC ? attr->type
             : only != FI_AV_UNSPEC     ? static_cast<fi_av_type>(only)
                                        : FI_AV_TABLE;
  attr->type = it->type;
  ++it->in->children;
  *out = &it->handle;
  return 0;
}

int open_domain(fid_fabric* in, fi_info* info, fid_domain** out, void* context) {
  auto* const it = new domain;
  it->handle.fid = {FI_CLASS_DOMAIN, context, &domain_basics};
  it->handle.ops = &domain_ops;
  it->handle.mr = &memory_ops;
  it->in = reinterpret_cast<fabric*>(in);
  it->mr_mode = static_cast<std::uint64_t>(info->domain_attr->mr_mode);
  it->mode = info->mode;
  it->manages = in_force().manages != 0;
  it->chance.seed(in_force().seed * 1000003 + static_cast<std::uint64_t>(getpid()));
  ++it->in->children;
  *out = &it->handle;
  return 0;
}

/// The name of ADDRESS, or null.
const name* name_of(const address_vector& v, fi_addr_t address) {
  if (v.type == FI_AV_MAP && ((address & 0xffffffff) != 0x5712 || address >> 32 == 0)) return nullptr;
  const std::uint64_t i = v.type == FI_AV_MAP ? (address >> 32) - 1 : address;
  return i < v.names.size() ? &v.names[i] : nullptr;
}

}  // namespace tobi::emulators::fabric
