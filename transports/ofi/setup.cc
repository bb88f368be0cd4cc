// SPDX-License-Identifier: Apache-2.0
// ofi: opening, registering, exchanging. Every mr_mode bit that a provider may ask for is honoured here.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "arch/topology.hpp"
#include "libcore/base/left_files.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/secret.hpp"
#include "libcore/base/thread.hpp"
#include "transports/key_parts.hpp"
#include "transports/ofi/ofi.hpp"
#include "transports/ofi/settings.hpp"
#include "transports/ofi/shm_files.hpp"
#include "transports/ofi/sockets.hpp"
#include "transports/port.hpp"
#include "transports/soft/amo.hpp"

namespace tobi::transports::ofi {

namespace {

struct key_content {
  std::uint64_t start;  // address or 0, as the provider counts
  std::uint64_t key;    // the provider's
  std::uint64_t bytes;
  std::uint64_t number;  // among the owner's registrations, so that no two keys are equal
};

// FI_MR_ALLOCATED wants pages behind all of the memory before it is registered. Memory that is only read may be
// constant.
void back_by_pages(void* from, std::size_t bytes) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(from) & ~(page - 1);
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(from) + bytes;
  auto* const at = reinterpret_cast<std::byte*>(begin);
  if (madvise(at, end - begin, MADV_POPULATE_WRITE) == 0 || madvise(at, end - begin, MADV_POPULATE_READ) == 0) return;
  for (std::uintptr_t p = begin; p < end; p += page) {  // kernels before 5.14
    static_cast<void>(*reinterpret_cast<const volatile std::byte*>(p));
  }
}

constexpr std::uint64_t access_all = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;

std::string unusable(const context& where) {
  const choice c = choose_provider(where);
  if (c.info == nullptr) return c.error;
  if (!where.single_node() && std::string_view(c.info->fabric_attr->prov_name) == "shm" && where.settings.nodes == 0) {
    return "libfabric's provider shm serves one node, and this job has several";
  }
  return "";
}

std::unique_ptr<transport> create(const context& where) {
  choice c = choose_provider(where);
  if (c.info == nullptr) base::fatal_everywhere(where.rank, "ofi cannot be used: " + c.error + ".", base::exit_usage);
  if (c.atomics) {
    // Some providers claim FI_ATOMIC, and then refuse each operation when they are asked about it (fi_query_atomic).
    auto native = std::make_unique<ofi_transport>(where, std::move(c));
    if (native->caps().fetch_add && native->caps().compare_swap) return native;
  }
  const auto make = [](const context& of) -> std::unique_ptr<transport> {
    return std::make_unique<ofi_transport>(of, choose_provider(of));
  };
  return soft::with_amo_server(where, make);
}

}  // namespace

port entry() { return {.unusable = unusable, .create = create, .devices = devices}; }

void ofi_transport::cannot(const char* what, long error) const {
  const auto code = static_cast<int>(error < 0 ? -error : error);
  base::fatal(std::string("ofi: ") + what + " failed with provider " + info_->fabric_attr->prov_name + " (" +
              libfabric().strerror(code) + ")" + remedy(code) + ".");
}

ofi_transport::ofi_transport(const context& where, choice chosen)
    : rank_(where.rank), size_(where.size), nodes_(where.nodes), info_(std::move(chosen.info)) {
  open(where);
  caps_.pins_memory = info_->domain_attr->mr_mode & FI_MR_ALLOCATED;
  caps_.registers_any_memory = true;
  caps_.inline_max = small_bytes;
  caps_.put_max = std::min<std::uint64_t>(info_->ep_attr->max_msg_size, std::uint64_t{1} << 40);
  caps_.peer_errors = false;
  if (chosen.atomics) {
    const auto has = [&](fi_op what, std::uint64_t flags) {
      fi_atomic_attr attr{};
      return fi_query_atomic(domain_.get(), FI_UINT64, what, &attr, flags) == 0 && attr.count >= 1;
    };
    caps_.fetch_add = has(FI_SUM, FI_FETCH_ATOMIC);
    caps_.compare_swap = has(FI_CSWAP, FI_COMPARE_ATOMIC);
    caps_.scope = caps_.compare_swap ? amo_scope::domain : amo_scope::none;
  }
  progress_.wanted = where.settings.of<settings>().progress;
  progress_.says_automatic = info_->domain_attr->data_progress == FI_PROGRESS_AUTO;
  progress_.atomics = caps_.compare_swap;
  if (progress_.wanted == progress_mode::thread && !progress_.says_automatic) start_mover();
  claim();
  claim_notices();
  base::log(base::log_level::info, "ofi: " + describe() + ".");
}

void ofi_transport::start_mover() {
  progress_.thread = true;
  mover_ = base::start_thread("moves the libfabric provider (TOBI_OFI_PROGRESS)", [this] {
    arch::bind_to_all_cores();  // on the worker's core alone it would wait until that is preempted
    // Reading no entries moves the provider and leaves the completions to the worker.
    while (!stop_mover_.load(std::memory_order_relaxed)) {
      fi_cq_read(cq_.get(), nullptr, 0);
      const timespec pause{0, 20'000};
      nanosleep(&pause, nullptr);
    }
  });
}

void ofi_transport::claim() {
  const progress_claims now = claims_of(progress_);
  caps_.passive_rma = now.passive_rma;
  caps_.passive_amo = now.passive_amo;
  caps_.needs_progress = now.needs_progress;
  caps_.amo_in_calls = progress_.atomics && executes_in_calls(progress_, info_->fabric_attr->prov_name);
}

// Providers that would use up a receive for such data ask for the mode FI_RX_CQ_DATA, which is not offered to them.
void ofi_transport::claim_notices() {
  const std::size_t bytes = info_->domain_attr->cq_data_size;
  caps_.put_notify = bytes > rank_bytes && static_cast<std::uint64_t>(size_) < nobody;
  caps_.msg_max = caps_.put_notify ? static_cast<std::uint32_t>(std::min<std::size_t>(bytes, 8) - rank_bytes) : 0;
}

std::string ofi_transport::describe() const {
  return std::string("provider ") + info_->fabric_attr->prov_name + ", domain " + info_->domain_attr->name + ", " +
         std::string(claims_of(progress_).words) + (caps_.compare_swap ? ", the provider's atomics" : "") +
         (mode(FI_MR_PROV_KEY) ? ", keys of memory that the provider counts" : "");
}

// Addresses and what an operation asks of its target are the provider's own.
std::string ofi_transport::dialect() const { return std::string("provider ") + info_->fabric_attr->prov_name; }

void ofi_transport::open(const context& where) {
  // Only FI_THREAD_SAFE lets a second thread read the completion queue.
  const bool thread = where.settings.of<settings>().progress == progress_mode::thread;
  info_->domain_attr->threading = thread ? FI_THREAD_SAFE : FI_THREAD_DOMAIN;
  const bool is_shm = std::string_view(info_->fabric_attr->prov_name) == "shm";
  if (is_shm) {
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);  // it copies between processes with process_vm_readv
    remove_what_the_dead_left();
  }
  const std::string_view provider = info_->fabric_attr->prov_name;
  const auto peers = static_cast<std::size_t>(size_);
  const std::size_t files = has_sockets(provider) ? make_room_for_files(files_for(peers)) : 0;
  if (has_sockets(provider) && mode(FI_MR_PROV_KEY)) {
    base::log_for_node(base::log_level::warn, "libfabric's provider " + std::string(provider) +
                                                  " counts its keys of memory here, so a host that reaches this "
                                                  "machine's ports can guess them; put a firewall in front of it.");
  }
  const auto need = [&](long status, const char* what) {
    if (status != 0) cannot(what, status);
  };
  fid_fabric* fabric = nullptr;
  need(libfabric().fabric(info_->fabric_attr, &fabric, nullptr), "opening the fabric");
  fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  need(fi_domain(fabric, info_.get(), &domain, nullptr), "opening the domain");
  domain_.reset(domain);
  fi_av_attr av_attr{};
  const fi_av_type only = info_->domain_attr->av_type;
  av_attr.type = only == FI_AV_UNSPEC ? FI_AV_TABLE : only;
  // A hint, of those that are used. Providers make room for so many at once, and touch all of it.
  av_attr.count = std::min<std::size_t>(static_cast<std::size_t>(size_), 64);
  fid_av* av = nullptr;
  need(fi_av_open(domain, &av_attr, &av, nullptr), "making the address vector");
  av_.reset(av);
  open_queue();
  name_endpoint(*info_);
  fid_ep* ep = nullptr;
  need(fi_endpoint(domain, info_.get(), &ep, nullptr), "making the endpoint");
  ep_.reset(ep);
  need(fi_ep_bind(ep, &av->fid, 0), "binding the address vector");
  need(fi_ep_bind(ep, &cq_->fid, FI_TRANSMIT | FI_RECV), "binding the completion queue");
  need(fi_enable(ep), "enabling the endpoint");
  if (has_sockets(provider)) {
    // A peer that connects, and that this process cannot accept, hears nothing, and would wait for an answer.
    if (const std::string why = no_first_sockets(provider, files, peers); !why.empty()) base::fatal(why);
    if (const std::string why = too_few_files(provider, files, peers); !why.empty()) {
      base::log_for_node(base::log_level::warn, why);
    }
  }
  if (is_shm) file_ = file_of(address());
  if (!file_.empty()) base::note_file(file_);

  requests_.resize(requests);
  for (request& r : requests_) {
    r.next_free = free_;
    free_ = &r;
  }
  if (mode(FI_MR_LOCAL)) {
    int error = 0;
    requests_mr_.reset(
        register_with_provider(requests_.data(), requests_.size() * sizeof(request), FI_READ | FI_WRITE, error));
    if (requests_mr_ == nullptr) cannot("registering the request buffers", error);
  }
}

// Only a provider that must be polled has a use for a descriptor to sleep on: there a worker that waits serves the
// others too. One that moves by itself would pay for it at each completion.
void ofi_transport::open_queue() {
  fi_cq_attr attr{};
  attr.format = FI_CQ_FORMAT_DATA;
  attr.size = 2 * requests;
  attr.wait_obj = info_->domain_attr->data_progress == FI_PROGRESS_AUTO ? FI_WAIT_NONE : FI_WAIT_FD;
  fid_cq* queue = nullptr;
  long error = fi_cq_open(domain_.get(), &attr, &queue, nullptr);
  if (error != 0 && attr.wait_obj == FI_WAIT_FD) {
    attr.wait_obj = FI_WAIT_NONE;
    error = fi_cq_open(domain_.get(), &attr, &queue, nullptr);
  }
  if (error != 0) cannot("making the completion queue", error);
  cq_.reset(queue);
  if (attr.wait_obj == FI_WAIT_FD && fi_control(&queue->fid, FI_GETWAIT, &wait_fd_) != 0) wait_fd_ = -1;
  caps_.has_wait_fd = wait_fd_ >= 0;
}

ofi_transport::~ofi_transport() {
  stop_mover_.store(true, std::memory_order_relaxed);
  if (mover_.joinable()) mover_.join();
  own_.clear();
  requests_mr_.reset();
  ep_.reset();
  if (!file_.empty()) base::forget_file(file_);
}

std::string ofi_transport::address() const {
  std::size_t bytes = 0;
  fi_getname(&ep_->fid, nullptr, &bytes);
  std::string name(bytes, '\0');
  if (const int error = fi_getname(&ep_->fid, name.data(), &bytes); error != 0) cannot("asking for its address", error);
  return name;
}

status ofi_transport::connect(std::span<const std::string> addresses) {
  if (addresses.size() != static_cast<std::size_t>(size_)) return status::invalid;
  for (const std::string& a : addresses) name_bytes_ = std::max(name_bytes_, a.size());
  names_.assign(addresses.size() * name_bytes_, '\0');
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (addresses[i].empty()) return status::invalid;
    std::memcpy(names_.data() + i * name_bytes_, addresses[i].data(), addresses[i].size());
  }
  peers_.resize(addresses.size());
  return status::ok;
}

// The key is a secret that the ranks tell each other through the launcher: it is all that keeps others from this
// memory. What arrives as messages lies in registered memory too. Where a provider takes shorter keys than secrets, one
// may be in use already.
fid_mr* ofi_transport::register_with_provider(void* from, std::size_t bytes, std::uint64_t access, int& error) {
  if (mode(FI_MR_ALLOCATED)) back_by_pages(from, bytes);
  const std::size_t key_bytes = info_->domain_attr->mr_key_size;  // of the keys that it lets us choose
  const std::size_t unused_bits = key_bytes == 0 || key_bytes > 8 ? 0 : 64 - 8 * key_bytes;
  fid_mr* mr = nullptr;
  error = -FI_ENOKEY;
  for (int tries = 0; tries < 64 && error == -FI_ENOKEY; ++tries) {
    const std::uint64_t key = mode(FI_MR_PROV_KEY) ? 0 : base::secret() >> unused_bits;
    error = fi_mr_reg(domain_.get(), from, bytes, access, 0, key, 0, &mr, nullptr);
  }
  if (error != 0) return nullptr;
  if (mode(FI_MR_ENDPOINT)) {
    error = fi_mr_bind(mr, &ep_->fid, 0);
    if (error == 0) error = fi_mr_enable(mr);
    if (error != 0) {
      fi_close(&mr->fid);
      return nullptr;
    }
  }
  return mr;
}

status ofi_transport::register_memory(const memory& local, region_key& key) {
  if (local.base == nullptr || local.bytes == 0) return status::invalid;
  auto* const base = static_cast<std::byte*>(local.base);
  const std::size_t bytes = caps_.pins_memory ? local.bytes_at_first() : local.bytes;
  // A part of a region shares its registration. libfabric's cache would answer with the region's own key, which rxm
  // forgets with the part: all later atomics on the region would fail.
  const auto around = std::find_if(own_.begin(), own_.end(), [&](const own_region& o) {
    return base >= o.registered && base + bytes <= o.registered + o.registered_bytes;
  });
  own_region mine{around == own_.end() ? nullptr : around->mr, base, bytes, base, bytes, ++registrations_, {}};
  int error = 0;
  if (around == own_.end()) {
    mine.mr = handle<fid_mr>(register_with_provider(base, bytes, access_all, error));
  } else {
    mine.registered = around->registered;
    mine.registered_bytes = around->registered_bytes;
  }
  if (mine.mr == nullptr) {
    why_not_registered_ =
        std::string(libfabric().strerror(-error)) + "; raise the limit of locked memory (ulimit -l unlimited)";
    return status::invalid;
  }
  const auto start = mode(FI_MR_VIRT_ADDR) ? reinterpret_cast<std::uint64_t>(base)
                                           : static_cast<std::uint64_t>(base - mine.registered);
  key = mine.key = sealed(key_content{start, fi_mr_key(mine.mr.get()), bytes, mine.number});
  own_.push_back(std::move(mine));
  return status::ok;
}

status ofi_transport::deregister_memory(const region_key& key) {
  const auto found =
      std::find_if(own_.begin(), own_.end(), [&](const own_region& o) { return o.key.bytes == key.bytes; });
  if (found == own_.end()) return status::invalid;
  for (region& r : regions_) {
    if (r.own == found->number) r.bytes = 0;
  }
  own_.erase(found);
  return status::ok;
}

status ofi_transport::attach(int rank, const region_key& key, region_id& id) {
  if (rank < 0 || rank >= size_) return status::invalid;
  const auto c = unsealed<key_content>(key);
  if (!c || c->bytes == 0) return status::invalid;
  std::byte* here = nullptr;
  std::uint64_t own = 0;
  if (rank == rank_) {
    const auto mine =
        std::find_if(own_.begin(), own_.end(), [&](const own_region& o) { return o.number == c->number; });
    if (mine == own_.end()) return status::invalid;
    here = mine->base;
    own = mine->number;
  }
  regions_.push_back({rank, c->start, c->key, c->bytes, here, own});
  id = static_cast<region_id>(regions_.size() - 1);
  return status::ok;
}

}  // namespace tobi::transports::ofi
