// SPDX-License-Identifier: Apache-2.0
#include "tests/emulators/utofu/vcq.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tests/emulators/utofu/nic.hpp"

namespace emulated {

vcq::vcq(utofu::vcq_id id, vcq_page* page, unsigned long flags)
    : id_(id), page_(page), thread_safe_((flags & flag::vcq_thread_safe) != 0), next_stag_(reserved_stags) {
  nic_ = std::make_unique<nic>(*this);
  device_ = std::thread([this] { nic_->run(stop_); });
}

vcq::~vcq() {
  stop_.store(true);
  ring_bell(*page_);
  device_.join();
  nic_.reset();
  release_vcq(id_, page_);
}

vcq::call::call(vcq& of, const char* name) : of_(of) {
  if (of_.inside_.fetch_add(1) != 0 && !of_.thread_safe_) {
    breach(code::fatal,
           "two threads are in one VCQ at once, the second in %s, and it was made without "
           "UTOFU_VCQ_FLAG_THREAD_SAFE",
           name);
  }
}
vcq::call::~call() { of_.inside_.fetch_sub(1); }

int vcq::post(const descriptor* all, std::size_t count, void* cbdata) {
  {
    const std::lock_guard hold(queues_lock_);
    if (toq_used_ + count > in_force().toq) return code::busy;
    for (std::size_t i = 0; i < count; ++i) toq_.push_back({all[i], cbdata});
    toq_used_ += count;
  }
  ring_bell(*page_);
  return code::success;
}

bool vcq::take_posted(posted& into) {
  const std::lock_guard hold(queues_lock_);
  if (toq_.empty()) return false;
  into = toq_.front();
  toq_.pop_front();
  return true;
}

void vcq::left(const posted& p, int status) {
  const std::lock_guard hold(queues_lock_);
  if (status == code::success && (p.d.flags & flag::tcq_notice) == 0) {
    --toq_used_;
    return;
  }
  tcq_.push_back({status, p.cbdata});
  tcq_count_.store(tcq_.size(), std::memory_order_release);
}

void vcq::notice(int status, const utofu::mrq_notice& n) {
  const std::lock_guard hold(queues_lock_);
  if (mrq_.size() >= in_force().mrq) {
    breach(code::fatal, "the MRQ of %016llx overflows: %zu notices were not polled, and the device stops",
           static_cast<unsigned long long>(id_), mrq_.size());
    return;  // lost, as on a device that has stopped
  }
  mrq_.push_back({status, n});
  mrq_count_.store(mrq_.size(), std::memory_order_release);
}

int vcq::poll_tcq(void** cbdata) {
  if (tcq_count_.load(std::memory_order_acquire) == 0) return code::not_found;
  const std::lock_guard hold(queues_lock_);
  const tcq_entry e = tcq_.front();
  tcq_.pop_front();
  tcq_count_.store(tcq_.size(), std::memory_order_release);
  --toq_used_;
  if (cbdata != nullptr) *cbdata = e.cbdata;
  return e.status;
}

int vcq::poll_mrq(utofu::mrq_notice* notice) {
  if (mrq_count_.load(std::memory_order_acquire) == 0) return code::not_found;
  const std::lock_guard hold(queues_lock_);
  const mrq_entry e = mrq_.front();
  mrq_.pop_front();
  mrq_count_.store(mrq_.size(), std::memory_order_release);
  *notice = e.notice;
  return e.status;
}

std::size_t vcq::unread_tcq() { return tcq_count_.load(); }
std::size_t vcq::unread_mrq() { return mrq_count_.load(); }

int vcq::register_memory(void* at, std::size_t bytes, int stag, unsigned long flags, utofu::stadd* out) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  if (bytes == 0 || bytes >> (stag_at - 1) != 0)
    return breach(code::invalid_size, "%zu bytes cannot be registered", bytes);
  if (stag >= static_cast<int>(reserved_stags)) return breach(code::invalid_stag, "STAG %d is not below 256", stag);
  if (stag >= 0 && address % line_bytes != 0) {
    return breach(code::invalid_address, "memory at %p is registered with a STAG and is not aligned to 256 bytes", at);
  }
  // The device reaches physical pages, which exist from now on.
  const std::uintptr_t from = address / page * page;
  const std::uintptr_t to = (address + bytes + page - 1) / page * page;
  const bool read_only = (flags & flag::reg_read_only) != 0;
  if (madvise(reinterpret_cast<void*>(from), to - from, read_only ? MADV_POPULATE_READ : MADV_POPULATE_WRITE) != 0) {
    if (errno == ENOMEM || errno == EFAULT) {
      return breach(code::invalid_address, "%zu bytes at %p are registered and not all of them are mapped", bytes, at);
    }
  }
  const std::lock_guard hold(regions_lock_);
  const std::uint64_t tag = stag >= 0 ? static_cast<std::uint64_t>(stag) : next_stag_++;
  if (regions_.contains(tag)) return breach(code::used, "STAG %d is registered twice", stag);
  regions_[tag] = {static_cast<std::byte*>(at), bytes, read_only};
  *out = (tag + 1) << stag_at | address % line_bytes;
  return code::success;
}

int vcq::deregister_memory(utofu::stadd at) {
  const std::lock_guard hold(regions_lock_);
  const auto found = regions_.find((at >> stag_at) - 1);
  if (found == regions_.end()) {
    return breach(code::invalid_stadd, "STADD %llx is deregistered and is not registered",
                  static_cast<unsigned long long>(at));
  }
  regions_.erase(found);
  return code::success;
}

std::byte* vcq::find(utofu::stadd at, std::size_t bytes, bool writes) const noexcept {
  const auto found = regions_.find((at >> stag_at) - 1);
  if (found == regions_.end() || (writes && found->second.read_only)) return nullptr;
  const region& r = found->second;
  const std::uint64_t begin = reinterpret_cast<std::uintptr_t>(r.base) % line_bytes;
  const std::uint64_t offset = (at & ((std::uint64_t{1} << stag_at) - 1)) - begin;
  if (offset > r.bytes || bytes > r.bytes - offset) return nullptr;
  return r.base + offset;
}

bool vcq::registered(utofu::stadd at, std::size_t bytes) {
  return with_memory(at, bytes, false, [](std::byte*) {});
}

}  // namespace emulated
