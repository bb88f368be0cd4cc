// SPDX-License-Identifier: Apache-2.0
#include "libcore/pgas/homes.hpp"

#include <algorithm>
#include <utility>

namespace tobi::pgas {

namespace {
std::uint64_t rounded(std::uint64_t bytes, std::uint64_t unit) noexcept { return (bytes + unit - 1) / unit * unit; }
}  // namespace

std::uint64_t homes::view_bytes(int size, std::uint64_t region_bytes, std::uint64_t collective_bytes,
                                std::uint64_t block_bytes) noexcept {
  return static_cast<std::uint64_t>(size) * rounded(region_bytes, block_bytes) + rounded(collective_bytes, block_bytes);
}

homes::homes(int size, std::uint64_t region_bytes, std::uint64_t objects_from, std::uint64_t view_bytes,
             std::uint64_t block_bytes, asker ask)
    : size_(static_cast<std::uint64_t>(size)),
      region_bytes_(region_bytes),
      objects_from_(objects_from),
      block_(block_bytes),
      stride_(rounded(region_bytes, block_bytes)),
      heaps_bytes_(size_ * stride_),
      view_bytes_(view_bytes),
      ask_(std::move(ask)) {}

home_run homes::find(std::uint64_t at) const noexcept {
  if (at < heaps_bytes_) {
    const std::uint64_t rank = at / stride_;
    if (at % stride_ < objects_from_ || at % stride_ >= region_bytes_) return {};
    return {static_cast<int>(rank), rank * stride_, region_bytes_, 0, true};
  }
  auto behind = collective_.upper_bound(at);
  if (behind == collective_.begin()) return {};
  const allocation& a = std::prev(behind)->second;
  if (at >= a.begin + a.bytes) return {};
  const std::uint64_t number = (at - a.begin) / a.chunk;
  const std::uint64_t rank = number % size_;
  const std::uint64_t begin = a.begin + number * a.chunk;
  return {static_cast<int>(rank),
          begin,
          std::min(a.chunk, a.begin + a.bytes - begin),
          home_of(a, static_cast<int>(rank)) + number / size_ * a.chunk,
          (a.bytes + a.chunk - 1) / a.chunk <= size_,
          a.constant};
}

std::uint64_t homes::home_of(const allocation& a, int rank) const {
  if (a.home != allocation::by_rank) return a.home;
  const auto found = a.known.find(rank);
  if (found != a.known.end()) return found->second;
  return a.known.emplace(rank, ask_(rank, a.slot)).first->second;
}

std::uint64_t homes::chunk_for(std::uint64_t bytes, std::uint64_t chunk) const noexcept {
  return whole_blocks(std::max<std::uint64_t>(1, chunk != 0 ? chunk : (bytes + size_ - 1) / size_));
}

std::uint64_t homes::share_of(int rank, std::uint64_t bytes, std::uint64_t chunk) const noexcept {
  const std::uint64_t chunks = (whole_blocks(bytes) + chunk - 1) / chunk;
  const auto r = static_cast<std::uint64_t>(rank);
  return (chunks / size_ + (r < chunks % size_ ? 1 : 0)) * chunk;
}

std::uint64_t homes::place_for(std::uint64_t bytes) const noexcept {
  std::uint64_t at = heaps_bytes_;
  for (const auto& [begin, a] : collective_) {
    if (begin - at >= bytes) return at;
    at = begin + a.bytes;
  }
  return view_bytes_ - at >= bytes ? at : 0;
}

void homes::add(allocation a) {
  const std::uint64_t at = a.begin;
  collective_.emplace(at, std::move(a));
}

const allocation* homes::starting_at(std::uint64_t at) const noexcept {
  const auto found = collective_.find(at);
  return found == collective_.end() ? nullptr : &found->second;
}

}  // namespace tobi::pgas
