// SPDX-License-Identifier: Apache-2.0
// The interface but for its requests (prepare.cc): interfaces, queues, memory, polling.
#include "tests/emulators/utofu/calls.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <type_traits>

namespace emulated {

namespace {

// The VCQs of this process. What is not freed by its program goes with it; a forked child owns none.
class vcqs {
 public:
  ~vcqs() {
    if (getpid() == owner_) return;
    for (auto& [handle, v] : all_) static_cast<void>(v.release());
  }
  utofu::vcq_handle add(std::unique_ptr<vcq> v) {
    const std::lock_guard hold(lock_);
    owner_ = getpid();
    const auto handle = reinterpret_cast<utofu::vcq_handle>(v.get());
    all_[handle] = std::move(v);
    return handle;
  }
  vcq* find(utofu::vcq_handle h) {
    const std::lock_guard hold(lock_);
    const auto found = all_.find(h);
    return found == all_.end() || owner_ != getpid() ? nullptr : found->second.get();
  }
  std::unique_ptr<vcq> remove(utofu::vcq_handle h) {
    const std::lock_guard hold(lock_);
    std::unique_ptr<vcq> v = std::move(all_[h]);
    all_.erase(h);
    return v;
  }

 private:
  std::mutex lock_;
  pid_t owner_ = 0;
  std::map<utofu::vcq_handle, std::unique_ptr<vcq>> all_;
};
vcqs& all_vcqs() {
  static vcqs all;
  return all;
}

int no_handle(const char* call) { return breach(code::invalid_vcq_hdl, "%s has a VCQ handle that is none", call); }

}  // namespace

vcq* find(utofu::vcq_handle h) noexcept { return all_vcqs().find(h); }

// What the transport loads is what is here.
static_assert(std::is_same_v<decltype(&utofu_post_toq), decltype(utofu::calls::post_toq)>);
static_assert(std::is_same_v<decltype(&utofu_prepare_put), decltype(utofu::calls::prepare_put)>);
static_assert(std::is_same_v<decltype(&utofu_prepare_get), decltype(utofu::calls::prepare_get)>);
static_assert(std::is_same_v<decltype(&utofu_prepare_put_piggyback), decltype(utofu::calls::prepare_put_piggyback)>);
static_assert(std::is_same_v<decltype(&utofu_prepare_armw8), decltype(utofu::calls::prepare_armw8)>);
static_assert(std::is_same_v<decltype(&utofu_prepare_cswap8), decltype(utofu::calls::prepare_cswap8)>);
static_assert(std::is_same_v<decltype(&utofu_reg_mem), decltype(utofu::calls::reg_mem)>);
static_assert(std::is_same_v<decltype(&utofu_query_vcq_info), decltype(utofu::calls::query_vcq_info)>);

}  // namespace emulated

using namespace emulated;

void utofu_emulated() {}

int utofu_get_onesided_tnis(utofu::tni_id** ids, std::size_t* count) {
  *count = in_force().tnis;
  *ids = static_cast<utofu::tni_id*>(std::malloc(*count * sizeof(utofu::tni_id)));
  if (*ids == nullptr) return code::out_of_memory;
  for (std::size_t i = 0; i < *count; ++i) (*ids)[i] = static_cast<utofu::tni_id>(i);
  return code::success;
}

int utofu_query_onesided_caps(utofu::tni_id tni, utofu::onesided_caps** out) {
  if (tni >= in_force().tnis) return breach(code::invalid_tni_id, "there is no TNI %u", tni);
  static utofu::onesided_caps caps = [] {
    const bool old = in_force().tofu1;
    utofu::onesided_caps c{};
    c.flags = old ? 0 : flag::cap_armw;
    c.armw_ops = old ? 0 : 0x3f;
    c.num_cmp_ids = components;
    c.num_reserved_stags = reserved_stags;
    c.cache_line_size = line_bytes;
    c.stag_address_alignment = line_bytes;
    c.max_toq_desc_size = in_force().desc;
    c.max_putget_size = putget_most;
    c.max_piggyback_size = old ? 0 : 32;
    c.max_edata_size = 1;
    c.max_mtu = mtu;
    c.max_gap = 255;
    return c;
  }();
  *out = &caps;
  return code::success;
}

int utofu_create_vcq_with_cmp_id(utofu::tni_id tni, utofu::cmp_id component, unsigned long flags,
                                 utofu::vcq_handle* h) {
  if (tni >= in_force().tnis) return breach(code::invalid_tni_id, "a VCQ is made of TNI %u, which is none", tni);
  if (component >= components) return breach(code::invalid_cmp_id, "component %u is not below 8", component);
  if ((flags & ~(flag::vcq_thread_safe | flag::vcq_exclusive | flag::vcq_session_mode)) != 0) {
    return breach(code::invalid_flags, "a VCQ is made with flags %lx, not all of which are known", flags);
  }
  if ((flags & flag::vcq_session_mode) != 0) return code::not_supported;  // as its capabilities say
  utofu::vcq_id id = 0;
  vcq_page* page = nullptr;
  if (const int c = claim_vcq(tni, component, id, page); c != code::success) return c;
  *h = all_vcqs().add(std::make_unique<vcq>(id, page, flags));
  return code::success;
}
int utofu_create_vcq(utofu::tni_id tni, unsigned long flags, utofu::vcq_handle* h) {
  return utofu_create_vcq_with_cmp_id(tni, 0, flags, h);
}

int utofu_free_vcq(utofu::vcq_handle h) {
  if (find(h) == nullptr) return no_handle("utofu_free_vcq");
  all_vcqs().remove(h).reset();
  return code::success;
}

int utofu_query_vcq_id(utofu::vcq_handle h, utofu::vcq_id* id) {
  const vcq* v = find(h);
  if (v == nullptr) return no_handle("utofu_query_vcq_id");
  *id = v->id();
  return code::success;
}

int utofu_construct_vcq_id(std::uint8_t coords[], utofu::tni_id tni, utofu::cq_id cq, utofu::cmp_id component,
                           utofu::vcq_id* id) {
  if (tni >= in_force().tnis) return breach(code::invalid_tni_id, "a VCQ id is made with TNI %u, which is none", tni);
  if (cq >= cqs_per_tni) return breach(code::invalid_cq_id, "a VCQ id is made with CQ %u, which is none", cq);
  if (component >= components) return breach(code::invalid_cmp_id, "component %u is not below 8", component);
  vcq_name name;
  std::memcpy(name.coords, coords, sizeof name.coords);
  name.tni = tni;
  name.cq = cq;
  name.component = component;
  *id = name.pack();
  return code::success;
}

int utofu_query_vcq_info(utofu::vcq_id id, std::uint8_t coords[], utofu::tni_id* tni, utofu::cq_id* cq,
                         std::uint16_t* extra) {
  const vcq_name name = vcq_name::unpack(id);
  std::memcpy(coords, name.coords, sizeof name.coords);
  *tni = static_cast<utofu::tni_id>(name.tni);
  *cq = static_cast<utofu::cq_id>(name.cq);
  *extra = static_cast<std::uint16_t>(name.component);
  return code::success;
}

int utofu_set_vcq_id_path(utofu::vcq_id* id, std::uint8_t coords[]) {
  vcq_name name = vcq_name::unpack(*id);
  name.path = coords == nullptr ? 0 : 1u + coords[0] % 2u + 2u * (coords[1] % 3u) + 6u * (coords[2] % 2u);
  *id = name.pack();
  return code::success;
}

int utofu_reg_mem(utofu::vcq_handle h, void* at, std::size_t bytes, unsigned long flags, utofu::stadd* out) {
  vcq* v = find(h);
  if (v == nullptr) return no_handle("utofu_reg_mem");
  const vcq::call now(*v, "utofu_reg_mem");
  return v->register_memory(at, bytes, -1, flags, out);
}
int utofu_reg_mem_with_stag(utofu::vcq_handle h, void* at, std::size_t bytes, unsigned stag, unsigned long flags,
                            utofu::stadd* out) {
  vcq* v = find(h);
  if (v == nullptr) return no_handle("utofu_reg_mem_with_stag");
  const vcq::call now(*v, "utofu_reg_mem_with_stag");
  return v->register_memory(at, bytes, static_cast<int>(stag), flags, out);
}
int utofu_query_stadd(utofu::vcq_id, unsigned stag, utofu::stadd* out) {
  if (stag >= reserved_stags) return breach(code::invalid_stag, "STAG %u is not below 256", stag);
  *out = (std::uint64_t{stag} + 1) << stag_at;
  return code::success;
}
int utofu_dereg_mem(utofu::vcq_handle h, utofu::stadd at, unsigned long) {
  vcq* v = find(h);
  if (v == nullptr) return no_handle("utofu_dereg_mem");
  const vcq::call now(*v, "utofu_dereg_mem");
  return v->deregister_memory(at);
}

int utofu_post_toq(utofu::vcq_handle h, void* desc, std::size_t desc_bytes, void* cbdata) {
  vcq* v = find(h);
  if (v == nullptr) return no_handle("utofu_post_toq");
  const vcq::call now(*v, "utofu_post_toq");
  const std::size_t count = desc_bytes / sizeof(descriptor);
  bool sound = count != 0 && desc_bytes % sizeof(descriptor) == 0;
  std::vector<descriptor> all(count);
  if (sound) std::memcpy(static_cast<void*>(all.data()), desc, desc_bytes);
  for (const descriptor& d : all) sound = sound && d.mark == descriptor::sound;
  if (!sound)
    return breach(code::invalid_desc, "utofu_post_toq has %zu bytes that no utofu_prepare_*() has made", desc_bytes);
  return v->post(all.data(), count, cbdata);
}

int utofu_poll_tcq(utofu::vcq_handle h, unsigned long flags, void** cbdata) {
  vcq* v = find(h);
  if (v == nullptr) return no_handle("utofu_poll_tcq");
  const vcq::call now(*v, "utofu_poll_tcq");
  return flags == 0 ? v->poll_tcq(cbdata) : breach(code::invalid_flags, "utofu_poll_tcq has flags %lx", flags);
}
int utofu_poll_mrq(utofu::vcq_handle h, unsigned long flags, utofu::mrq_notice* notice) {
  vcq* v = find(h);
  if (v == nullptr) return no_handle("utofu_poll_mrq");
  const vcq::call now(*v, "utofu_poll_mrq");
  return flags == 0 ? v->poll_mrq(notice) : breach(code::invalid_flags, "utofu_poll_mrq has flags %lx", flags);
}
int utofu_query_num_unread_tcq(utofu::vcq_handle h, std::size_t* count) {
  vcq* v = find(h);
  if (v == nullptr) return no_handle("utofu_query_num_unread_tcq");
  *count = v->unread_tcq();
  return code::success;
}
int utofu_query_num_unread_mrq(utofu::vcq_handle h, std::size_t* count) {
  vcq* v = find(h);
  if (v == nullptr) return no_handle("utofu_query_num_unread_mrq");
  *count = v->unread_mrq();
  return code::success;
}

void utofu_query_tofu_version(int* major, int* minor) {
  *major = in_force().tofu1 ? 1 : 3;
  *minor = 0;
}
void utofu_query_utofu_version(int* major, int* minor) {
  *major = 1;
  *minor = 0;
}
int utofu_query_my_coords(std::uint8_t coords[]) {
  std::memcpy(coords, in_force().coords, sizeof in_force().coords);
  return code::success;
}
