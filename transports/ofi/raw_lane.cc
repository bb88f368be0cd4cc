// SPDX-License-Identifier: Apache-2.0
// libfabric's own calls: one FI_EP_RDM endpoint, fi_read, fi_write and fi_fetch_atomic, and a loop on fi_cq_read. The
// provider is that of TOBI_OFI_PROVIDER, or the first that libfabric offers. The best loops inject small puts that
// nobody waits for one by one: of a window each 64th is waited for, behind which all before it are there where the
// provider keeps writes in order.
#include <fmt/format.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <array>
#include <cstring>

#include "libcore/base/log.hpp"
#include "tools/perf/lane.hpp"
#include "transports/ofi/settings.hpp"
#include "transports/ofi/shm_files.hpp"

namespace tobi_perf {

namespace {

namespace base = tobi::base;

constexpr std::uint64_t window_max = 256;  // outstanding at most, within what the provider's queue takes
constexpr std::size_t name_max = 256;
constexpr std::uint64_t injected = 63;  // between two that are waited for

// Closes what libfabric opened.
template <class T>
class handle {
 public:
  handle() = default;
  ~handle() {
    if (it_ != nullptr) fi_close(&it_->fid);
  }
  handle(const handle&) = delete;
  handle& operator=(const handle&) = delete;
  T** out() noexcept { return &it_; }
  T* get() const noexcept { return it_; }
  T* operator->() const noexcept { return it_; }

 private:
  T* it_ = nullptr;
};
struct free_info {
  void operator()(fi_info* i) const noexcept { fi_freeinfo(i); }
};
using info_ptr = std::unique_ptr<fi_info, free_info>;

// What the other rank must know.
struct card {
  std::uint32_t ok = 0;
  std::uint32_t name_bytes = 0;
  std::array<char, name_max> name{};
  std::uint64_t base = 0;  // of the region, as remote operations name it
  std::uint64_t key = 0;
};

info_ptr find_provider(const std::string& provider, bool atomics, bool ordered) {
  const info_ptr hints(fi_allocinfo());
  if (hints == nullptr) return nullptr;
  hints->caps = FI_RMA | (atomics ? FI_ATOMIC : 0);
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
  if (ordered) hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_WAW;
  if (!provider.empty()) hints->fabric_attr->prov_name = strdup(provider.c_str());
  fi_info* found = nullptr;
  if (fi_getinfo(FI_VERSION(1, 11), nullptr, nullptr, 0, hints.get(), &found) != 0) return nullptr;
  return info_ptr(found);
}

class raw_ofi_lane final : public lane {
 public:
  raw_ofi_lane(const scene& s, calls by) : s_(s), injects_(by == calls::best) {}

  /// "" or what failed.
  std::string open();
  [[nodiscard]] card self() const { return mine_; }
  std::string reach(const card& theirs);

  std::string describe() const override {
    const std::string library = fmt::format("libfabric {}.{}, provider {}", FI_MAJOR(fi_version()),
                                            FI_MINOR(fi_version()), info_->fabric_attr->prov_name);
    if (!injects_) return library;
    return library + fmt::format(", fi_inject_write for up to {} bytes where nobody waits{}",
                                 info_->tx_attr->inject_size,
                                 keeps_order_ ? "" : ", but in no window: it keeps no order of writes");
  }
  std::string unable(const work& w) const override;
  void start(const work& w) override {
    ping_ = 0;
    set_last_byte(s_.at(s_.where.data), w.bytes, 0);
  }
  bool initiate(const work& w, std::uint64_t count) override;
  void respond(const work& w, const stop_flag& stop) override;

 private:
  [[noreturn]] static void give_up(const char* call, ssize_t code) {
    base::fatal(std::string("raw libfabric: ") + call + ": " + fi_strerror(static_cast<int>(-code)) + ".");
  }
  // Takes completions. Returns how many.
  std::uint64_t reap() noexcept {
    std::array<fi_cq_entry, 16> done;
    const ssize_t n = fi_cq_read(cq_.get(), done.data(), done.size());
    if (n >= 0) return static_cast<std::uint64_t>(n);
    if (n == -FI_EAGAIN) return 0;
    fi_cq_err_entry why{};
    if (n == -FI_EAVAIL && fi_cq_readerr(cq_.get(), &why, 0) == 1) give_up("an operation", -why.err);
    give_up("fi_cq_read", n);
  }
  // Posts until the provider takes it; CALL is one of libfabric's own.
  template <class Call>
  bool post(Call call) noexcept {
    patience p(s_.limit_ns);
    ssize_t code;
    while ((code = call()) == -FI_EAGAIN) {
      outstanding_ -= reap();
      if (p.over()) return false;
    }
    if (code != 0) give_up("posting", code);
    ++outstanding_;
    return true;
  }
  bool wait_until(std::uint64_t at_most) noexcept {
    patience p(s_.limit_ns);
    while (outstanding_ > at_most) {
      const std::uint64_t n = reap();
      outstanding_ -= n;
      if (n == 0 && p.over()) return false;
    }
    return true;
  }
  // Without the endpoint's FI_DELIVERY_COMPLETE, which says nothing of a read: the provider shm takes another way with
  // it, on which the target must poll (1.8 us for 8 bytes instead of 2.5, and five times the time for 64 KiB).
  ssize_t read(std::uint64_t place, std::uint64_t bytes) noexcept {
    const iovec local{s_.at(s_.where.local + place), bytes};
    const fi_rma_iov remote{remote_ + s_.where.data + place, bytes, key_};
    const fi_msg_rma m{&local, &descriptor_, 1, peer_, &remote, 1, context(), 0};
    return fi_readmsg(ep_.get(), &m, FI_COMPLETION);
  }
  ssize_t write(std::uint64_t place, std::uint64_t bytes) noexcept {
    return fi_write(ep_.get(), s_.at(s_.where.local + place), bytes, descriptor_, peer_,
                    remote_ + s_.where.data + place, key_, context());
  }
  // A put that nobody waits for: the provider has the bytes when it returns, and there is no completion.
  bool inject(std::uint64_t place, std::uint64_t bytes) noexcept {
    const bool posted = post([&] {
      return fi_inject_write(ep_.get(), s_.at(s_.where.local + place), bytes, peer_, remote_ + s_.where.data + place,
                             key_);
    });
    if (posted) --outstanding_;
    return posted;
  }
  [[nodiscard]] bool can_inject(std::uint64_t bytes) const noexcept {
    return injects_ && bytes <= info_->tx_attr->inject_size;
  }
  // FI_CONTEXT and FI_CONTEXT2: each outstanding operation lends the provider a context.
  void* context() noexcept { return &contexts_[next_context_++ % contexts_.size()]; }
  bool adds(std::uint64_t count) noexcept;
  bool swaps(std::uint64_t count) noexcept;
  bool window(const work& w, std::uint64_t count) noexcept;
  bool pings(std::uint64_t bytes, std::uint64_t count) noexcept;
  bool valid_atomic(bool compare) const noexcept;
  bool post_ping(std::uint64_t bytes) noexcept {
    return can_inject(bytes) ? inject(0, bytes) : post([&] { return write(0, bytes); });
  }

  const scene& s_;
  bool injects_;
  bool keeps_order_ = false;  // of writes
  info_ptr info_;
  handle<fid_fabric> fabric_;
  handle<fid_domain> domain_;
  handle<fid_cq> cq_;
  handle<fid_av> av_;
  handle<fid_mr> mr_;
  handle<fid_ep> ep_;  // last: an endpoint goes before what is bound to it
  card mine_;
  void* descriptor_ = nullptr;
  bool atomics_ = false;
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  std::uint64_t remote_ = 0;
  std::uint64_t key_ = 0;
  std::uint64_t outstanding_ = 0;
  std::uint64_t window_ = 1;
  std::uint64_t next_context_ = 0;
  std::uint64_t operand_ = 1;
  std::uint64_t expected_ = 0;
  std::uint8_t ping_ = 0;
  std::array<fi_context2, 2 * window_max> contexts_{};
};

std::string raw_ofi_lane::open() {
  const auto failed = [](const char* call, int code) { return std::string(call) + ": " + fi_strerror(-code); };
  const std::string& provider = s_.settings.of<tobi::transports::ofi::settings>().provider;
  for (const bool ordered : {injects_, false}) {
    for (const bool atomics : {true, false}) {
      if (info_ != nullptr) continue;
      info_ = find_provider(provider, atomics, ordered);
      atomics_ = atomics;
      keeps_order_ = ordered && info_ != nullptr && info_->ep_attr->max_order_waw_size >= info_->tx_attr->inject_size;
    }
  }
  if (info_ == nullptr) {
    return provider.empty() ? "libfabric has no provider with FI_EP_RDM and FI_RMA"
                            : "libfabric has no provider " + provider + " with FI_EP_RDM and FI_RMA";
  }
  if (int code = fi_fabric(info_->fabric_attr, fabric_.out(), nullptr)) return failed("fi_fabric", code);
  if (int code = fi_domain(fabric_.get(), info_.get(), domain_.out(), nullptr)) return failed("fi_domain", code);
  fi_cq_attr cq{};
  cq.format = FI_CQ_FORMAT_CONTEXT;
  cq.size = 4 * window_max;
  if (int code = fi_cq_open(domain_.get(), &cq, cq_.out(), nullptr)) return failed("fi_cq_open", code);
  fi_av_attr av{};
  av.type = FI_AV_TABLE;
  if (int code = fi_av_open(domain_.get(), &av, av_.out(), nullptr)) return failed("fi_av_open", code);
  tobi::transports::ofi::name_endpoint(*info_);
  if (int code = fi_endpoint(domain_.get(), info_.get(), ep_.out(), nullptr)) return failed("fi_endpoint", code);
  if (int code = fi_ep_bind(ep_.get(), &cq_->fid, FI_TRANSMIT | FI_RECV)) return failed("fi_ep_bind", code);
  if (int code = fi_ep_bind(ep_.get(), &av_->fid, 0)) return failed("fi_ep_bind", code);
  if (int code = fi_enable(ep_.get())) return failed("fi_enable", code);
  const std::uint64_t access = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
  if (int code = fi_mr_reg(domain_.get(), s_.own.base, s_.own.bytes, access, 0, 1, 0, mr_.out(), nullptr)) {
    return failed("fi_mr_reg", code);
  }
  const int mode = info_->domain_attr->mr_mode;
  if (mode & FI_MR_ENDPOINT) {
    if (int code = fi_mr_bind(mr_.get(), &ep_->fid, 0)) return failed("fi_mr_bind", code);
    if (int code = fi_mr_enable(mr_.get())) return failed("fi_mr_enable", code);
  }
  descriptor_ = fi_mr_desc(mr_.get());
  mine_.key = fi_mr_key(mr_.get());
  mine_.base = mode & FI_MR_VIRT_ADDR ? reinterpret_cast<std::uint64_t>(s_.own.base) : 0;
  std::size_t bytes = mine_.name.size();
  if (int code = fi_getname(&ep_->fid, mine_.name.data(), &bytes)) return failed("fi_getname", code);
  mine_.name_bytes = static_cast<std::uint32_t>(bytes);
  mine_.ok = 1;
  window_ = std::min<std::uint64_t>(window_max, info_->tx_attr->size);
  return "";
}

std::string raw_ofi_lane::reach(const card& theirs) {
  if (fi_av_insert(av_.get(), theirs.name.data(), 1, &peer_, 0, nullptr) != 1) return "fi_av_insert";
  remote_ = theirs.base;
  key_ = theirs.key;
  return "";
}

bool raw_ofi_lane::valid_atomic(bool compare) const noexcept {
  std::size_t count = 0;
  return compare ? fi_compare_atomicvalid(ep_.get(), FI_UINT64, FI_CSWAP, &count) == 0 && count > 0
                 : fi_fetch_atomicvalid(ep_.get(), FI_UINT64, FI_SUM, &count) == 0 && count > 0;
}

std::string raw_ofi_lane::unable(const work& w) const {
  switch (w.what) {
    case step::fresh:
    case step::notify:
    case step::wake:
      return no_raw_loop;
    case step::chain:
      return "libfabric has no order between a read and an atomic, so there is no chain of its own calls";
    case step::fetch_add:
    case step::compare_swap:
      return atomics_ && valid_atomic(w.what == step::compare_swap) ? "" : "the provider has no such atomic";
    default:
      return w.bytes > info_->ep_attr->max_msg_size ? "the provider's largest message is smaller" : "";
  }
}

bool raw_ofi_lane::adds(std::uint64_t count) noexcept {
  void* const result = s_.at(layout::result);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::memcpy(s_.at(s_.where.local), &operand_, sizeof operand_);
    const bool posted = post([&] {
      return fi_fetch_atomic(ep_.get(), s_.at(s_.where.local), 1, descriptor_, result, descriptor_, peer_,
                             remote_ + layout::word, key_, FI_UINT64, FI_SUM, context());
    });
    if (!posted || !wait_until(0)) return false;
  }
  return true;
}

bool raw_ofi_lane::swaps(std::uint64_t count) noexcept {
  std::uint64_t* const operand = s_.word_at(s_.where.local);
  std::uint64_t* const compare = operand + 1;
  std::uint64_t* const result = s_.word_at(layout::result);
  for (std::uint64_t i = 0; i < count; ++i) {
    *compare = expected_;
    *operand = expected_ + 1;
    const bool posted = post([&] {
      return fi_compare_atomic(ep_.get(), operand, 1, descriptor_, compare, descriptor_, result, descriptor_, peer_,
                               remote_ + layout::word, key_, FI_UINT64, FI_CSWAP, context());
    });
    if (!posted || !wait_until(0)) return false;
    expected_ = *result == expected_ ? expected_ + 1 : *result;
  }
  return true;
}

bool raw_ofi_lane::window(const work& w, std::uint64_t count) noexcept {
  const bool get = w.what == step::get_window;
  const bool injects = !get && keeps_order_ && can_inject(w.bytes);
  const std::uint64_t places = layout::places(w.bytes);
  const std::uint64_t stride = layout::stride(w.bytes);
  std::uint64_t place = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (injects && i % (injected + 1) != injected && i + 1 != count) {
      if (!inject(place * stride, w.bytes)) return false;
      if (++place == places) place = 0;
      continue;
    }
    if (outstanding_ >= window_ && !wait_until(window_ - 1)) return false;
    if (!post([&] { return get ? read(place * stride, w.bytes) : write(place * stride, w.bytes); })) return false;
    if (++place == places) place = 0;
  }
  return wait_until(0);
}

bool raw_ofi_lane::pings(std::uint64_t bytes, std::uint64_t count) noexcept {
  for (std::uint64_t i = 0; i < count; ++i) {
    ping_ = after(ping_);
    set_last_byte(s_.at(s_.where.local), bytes, ping_);
    if (!post_ping(bytes)) return false;
    patience p(s_.limit_ns);
    while (last_byte(s_.at(layout::data), bytes) != ping_) {
      outstanding_ -= reap();
      if (p.over()) return false;
    }
    if (!wait_until(0)) return false;
  }
  return true;
}

bool raw_ofi_lane::initiate(const work& w, std::uint64_t count) {
  switch (w.what) {
    case step::get:
    case step::put:
      for (std::uint64_t i = 0; i < count; ++i) {
        const bool posted =
            w.what == step::get ? post([&] { return read(0, w.bytes); }) : post([&] { return write(0, w.bytes); });
        if (!posted || !wait_until(0)) return false;
      }
      return true;
    case step::fetch_add:
      return adds(count);
    case step::compare_swap:
      return swaps(count);
    case step::get_window:
    case step::put_window:
      return window(w, count);
    case step::ping_pong:
      return pings(w.bytes, count);
    case step::fresh:
    case step::notify:
    case step::wake:
    case step::chain:
      break;
  }
  return false;
}

void raw_ofi_lane::respond(const work& w, const stop_flag& stop) {
  if (w.what != step::ping_pong) {
    while (stop.load(std::memory_order_relaxed) == 0) outstanding_ -= reap();
    return;
  }
  for (std::uint8_t ping = 1;; ping = after(ping)) {
    while (last_byte(s_.at(layout::data), w.bytes) != ping) {
      outstanding_ -= reap();
      if (stop.load(std::memory_order_relaxed) != 0) return;
    }
    set_last_byte(s_.at(s_.where.local), w.bytes, ping);
    if (!post_ping(w.bytes) || !wait_until(0)) {
      base::fatal("raw libfabric: a reply was not completed in time.");
    }
  }
}

const raw_loop here("ofi", [](const scene& s, calls by, std::string& why_not) {
  return connected<raw_ofi_lane>(s, by, "libfabric", why_not);
});

}  // namespace

}  // namespace tobi_perf
