// SPDX-License-Identifier: Apache-2.0
#include "transports/soft/regions.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "libcore/base/log.hpp"

namespace tobi::transports::soft {

namespace {

constexpr std::size_t directory_bytes = regions_max * sizeof(region_directory::entry);

}  // namespace

// --- a worker's own ----------------------------------------------------------------------------------------------

int region_table::add(std::byte* base, std::size_t bytes) noexcept {
  if (used_ == regions_max) return -1;
  entries_[used_].base = base;
  entries_[used_].bytes.store(bytes, std::memory_order_release);
  return static_cast<int>(used_++);
}

void region_table::remove(std::size_t number) noexcept {
  if (number < regions_max) entries_[number].bytes.store(0, std::memory_order_release);
}

std::byte* region_table::at(std::size_t number, std::uint64_t offset, std::uint64_t count) const noexcept {
  if (number >= regions_max) return nullptr;
  if (!has_bytes(entries_[number].bytes.load(std::memory_order_acquire), offset, count)) return nullptr;
  return entries_[number].base + offset;
}

memory_name region_directory::name() const {
  memory_name name;
  if (name_memory(file_.whole(), 0, name) != status::ok) {
    base::fatal("the directory of this worker's registrations has no name for others; this is a defect of Tobiuo.");
  }
  return name;
}

void region_directory::publish(std::size_t number, const memory_name& region) noexcept {
  auto* e = reinterpret_cast<entry*>(file_.at(number * sizeof(entry)));
  e->region = region;
  // Release: a thread that finds it registered reads where.
  std::atomic_ref(e->registered).store(1, std::memory_order_release);
}

void region_directory::withdraw(std::size_t number) noexcept {
  auto* e = reinterpret_cast<entry*>(file_.at(number * sizeof(entry)));
  std::atomic_ref(e->registered).store(0, std::memory_order_release);
}

// --- what a server reaches -----------------------------------------------------------------------------------------

served_memory::~served_memory() {
  for (const auto& n : by_rank_) {
    if (n == nullptr) continue;
    for (mapping& m : n->mapped) unmap(m);
    munmap(n->directory, directory_bytes);
  }
}

status served_memory::add(int rank, const memory_name& directory) {
  // It came from outside: one that is smaller than all of its entries would be read behind its end.
  if (rank < 0 || directory.bytes < directory_bytes) return status::invalid;
  std::byte* at = nullptr;
  if (const status s = map_memory(directory, rank, at, why_not_added_); s != status::ok) return s;
  const auto r = static_cast<std::size_t>(rank);
  if (by_rank_.size() <= r) by_rank_.resize(r + 1);
  by_rank_[r] = std::make_unique<neighbour>(neighbour{rank, reinterpret_cast<region_directory::entry*>(at)});
  return status::ok;
}

std::byte* served_memory::at(int rank, std::size_t number, std::uint64_t offset, std::uint64_t count) noexcept {
  if (rank == rank_) return own_.at(number, offset, count);
  const auto r = static_cast<std::size_t>(rank);
  if (rank < 0 || r >= by_rank_.size() || by_rank_[r] == nullptr || number >= regions_max) return nullptr;
  neighbour& n = *by_rank_[r];
  mapping& m = n.mapped[number];
  // Acquire: the name was written before. A registration that has ended is not touched, though it is still mapped.
  if (std::atomic_ref(n.directory[number].registered).load(std::memory_order_acquire) == 0) {
    unmap(m);
    return nullptr;
  }
  if (m.base == nullptr) [[unlikely]] {
    map(n, number);
  }
  return has_bytes(m.bytes, offset, count) ? m.base + offset : nullptr;
}

void served_memory::map(neighbour& of, std::size_t number) noexcept {
  // Those that have ended meanwhile, and of which nobody has asked since, give their address space back.
  for (std::size_t i = 0; i < regions_max; ++i) {
    if (std::atomic_ref(of.directory[i].registered).load(std::memory_order_relaxed) == 0) unmap(of.mapped[i]);
  }
  // A region may begin anywhere in its file, a mapping only with a page.
  memory_name pages = of.directory[number].region;
  const std::uint64_t bytes = pages.bytes;
  const std::uint64_t within = pages.offset % static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  pages.offset -= within;
  pages.bytes += within;
  mapping m{nullptr, nullptr, pages.bytes, bytes};
  std::string why;
  const status s = map_memory(pages, of.rank, m.pages, why);
  // A process that is gone has no memory to execute anything on; the job's own watch says of what it died. And a
  // registration that ended meanwhile needs none.
  if (s == status::peer_lost) return;
  if (s != status::ok) {
    if (std::atomic_ref(of.directory[number].registered).load(std::memory_order_acquire) == 0) return;
    base::fatal("this worker executes the atomics of its node and cannot map the memory of " +
                base::name_of_rank(of.rank) + ": " + (why.empty() ? "it is not what its owner has named" : why) +
                "; or use TOBI_AMO_SERVER=thread, which needs no other process.");
  }
  m.base = m.pages + within;
  of.mapped[number] = m;
}

void served_memory::unmap(mapping& m) noexcept {
  if (m.pages != nullptr) munmap(m.pages, m.page_bytes);
  m = mapping{};
}

}  // namespace tobi::transports::soft
