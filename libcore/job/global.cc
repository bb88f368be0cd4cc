// SPDX-License-Identifier: Apache-2.0
#include "libcore/job/global.hpp"

#include <unistd.h>

#include <bit>
#include <type_traits>

#include "libcore/base/log.hpp"
#include "libcore/base/per_rank.hpp"
#include "libcore/job/debug_info.hpp"

namespace tobi::job {

void global::check(const base::settings& in_force) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (in_force.block_bytes < page) {
    base::fatal("TOBI_BLOCK_SIZE=" + base::format_size(in_force.block_bytes) +
                    " is less than a page of this machine (" + base::format_size(page) + ").",
                base::exit_usage);
  }
  if (in_force.sub_block_bytes > in_force.block_bytes) {
    base::fatal("TOBI_SUB_BLOCK_SIZE=" + base::format_size(in_force.sub_block_bytes) +
                    " is more than a block (TOBI_BLOCK_SIZE=" + base::format_size(in_force.block_bytes) + ").",
                base::exit_usage);
  }
  if (in_force.cache_bytes < in_force.block_bytes) {
    base::fatal("TOBI_CACHE_SIZE=" + base::format_size(in_force.cache_bytes) +
                    " is less than a block (TOBI_BLOCK_SIZE=" + base::format_size(in_force.block_bytes) + ").",
                base::exit_usage);
  }
}

global::global(const base::settings& in_force, int size, std::uint64_t region_bytes)
    : settings_(in_force),
      view_(pgas::homes::view_bytes(size, region_bytes, in_force.global_bytes, in_force.block_bytes)) {}

global::~global() { pgas::set_current(nullptr); }

void global::start(const alloc::segment& memory, alloc::heap& heap, net::fabric& net, global_words& words,
                   std::uint64_t objects_from, std::vector<int> node, deque::steal_window& window, assembly& together,
                   bool traced, std::function<void(call)> enter, std::string unusable) {
  words_ = &words;
  net_ = &net;
  heap_ = &heap;
  together_ = &together;
  enter_ = std::move(enter);
  const transports::memory region = memory.heap_memory();
  const transports::capabilities& caps = net.transport().caps();
  objects_ = std::make_unique<alloc::remote_objects>(heap);
  small_objects_ = std::make_unique<alloc::small_objects>(heap, net.rank());
  homes_ = std::make_unique<pgas::homes>(net.size(), region.bytes, objects_from, view_.bytes(), settings_.block_bytes,
                                         [this](int rank, std::uint32_t slot) { return home_of(rank, slot); });
  batch_ = std::make_unique<net::batch>(net);

  pgas::memory_parts parts;
  parts.caching.addresses = &view_;
  parts.caching.where = homes_.get();
  parts.caching.net = batch_.get();
  parts.caching.rank = net.rank();
  parts.caching.own_region = static_cast<std::byte*>(region.base);
  parts.caching.own_fd = region.fd;
  const bool again = pgas::maps_again();
  if (!again && net.rank() == 0) {
    base::log(base::log_level::info,
              "this system makes no second mapping of shared memory (mremap): blocks of neighbours are cached.");
  }
  parts.caching.region_here = [&net, again](int rank) { return again ? net.transport().map(net.heap(rank)) : nullptr; };
  const std::size_t block = settings_.block_bytes;
  parts.caching.take_pool = [&heap, block](std::size_t bytes) {
    return static_cast<std::byte*>(heap.allocate(bytes, block));
  };
  neighbours_ = std::make_unique<pgas::neighbours>(near_parts(parts.caching, std::move(node), words));
  parts.caching.node = neighbours_.get();
  parts.caching.policy = settings_.caching;
  parts.caching.block_bytes = block;
  parts.caching.sub_block_bytes = settings_.sub_block_bytes;
  parts.caching.cache_bytes = settings_.cache_bytes;
  parts.caching.ahead_bytes = settings_.read_ahead_bytes;
  parts.map_limit = [limit = settings_.map_limit] {
    // The rest of the process needs mappings too; where the kernel does not say, its usual limit.
    constexpr std::size_t usual = 65530;
    const std::size_t kernel = pgas::kernel_map_limit() != 0 ? pgas::kernel_map_limit() : usual;
    const std::size_t used = pgas::kernel_maps_in_use();
    const std::size_t left = kernel > used ? kernel - used : 0;
    return limit != 0 ? std::min(limit, left) : std::min(kernel / 2, left);
  };
  parts.size = net.size();
  parts.region_bytes = region.bytes;
  parts.objects = objects_.get();
  parts.small = small_objects_.get();
  parts.take = [&heap](std::size_t bytes, std::size_t alignment) { return heap.allocate(bytes, alignment); };
  parts.give_back = [&heap](void* at) { heap.deallocate(at); };
  parts.epoch = &words.epoch;
  parts.locks = &words.locks;
  // Where targets need not poll, one that computes would be slower than its fabric is.
  const bool targets_poll = !caps.passive_rma || !caps.passive_amo;
  const bool by_targets = targets_poll && net.size() > 1 && net.cpu_atomics(net.rank());
  parts.letters = by_targets ? &words.letters : nullptr;
  parts.letter_bell = window.bells.place(deque::bell::letters);
  parts.release_bell = window.bells.place(deque::bell::release);
  parts.shown = &words.shown;
  parts.measure = settings_.stats;
  parts.note_sites = settings_.stats || traced;
  parts.watch = settings_.debug_global;
  parts.name_of = line_of;
  parts.must_poll = tasks::poller::must_poll(caps);
  parts.agree = [this](const pgas::extremes& mine, pgas::collective which) { return agree(mine, which); };
  parts.everybody = [this] { return everybody(); };
  parts.keep_home = [this](std::uint32_t slot, std::uint64_t home) { keep_home(slot, home); };
  parts.unusable = std::move(unusable);
  memory_ = std::make_unique<pgas::memory>(parts);
  pgas::set_current(memory_.get());
}

// NODE: its workers. Where nothing is cached there is nothing to share.
pgas::neighbour_parts global::near_parts(const pgas::cache_parts& caching, std::vector<int> node, global_words& words) {
  const bool is_all = static_cast<int>(node.size()) == net_->size();
  const bool shares = settings_.cache_shared && !is_all && settings_.caching != base::cache_policy::none;
  pgas::neighbour_parts near;
  near.rank = caching.rank;
  near.node = shares ? std::move(node) : std::vector<int>{caching.rank};
  near.own_region = caching.own_region;
  near.words = &words.neighbours;
  near.region_here = caching.region_here;
  near.take = [this](std::size_t bytes, std::size_t alignment) { return heap_->allocate(bytes, alignment); };
  near.give_back = [this](void* at) { heap_->deallocate(at); };
  near.block_bytes = settings_.block_bytes;
  near.sub_block_bytes = settings_.sub_block_bytes;
  near.cache_blocks = std::max<std::size_t>(settings_.cache_bytes / settings_.block_bytes, 1);
  return near;
}

// A place in the pieces that hold the homes of higher slots.
namespace {
struct home_place {
  std::uint32_t piece;
  std::uint32_t index;
};
home_place place_of_home(std::uint32_t slot) noexcept {
  const auto piece = static_cast<std::uint32_t>(std::bit_width(slot / global_words::first_homes)) - 1;
  return {piece, slot - (global_words::first_homes << piece)};
}
}  // namespace

namespace {
call call_of(pgas::collective which) noexcept {
  switch (which) {
    case pgas::collective::allocate:
      return call::allocate_all;
    case pgas::collective::free:
      return call::free_all;
    case pgas::collective::set_read_only:
      return call::set_read_only;
    case pgas::collective::set_writable:
      break;
  }
  return call::set_writable;
}
}  // namespace

pgas::extremes global::agree(const pgas::extremes& mine, pgas::collective which) {
  static_assert(sizeof mine <= combined_max && std::is_trivially_copyable_v<pgas::extremes>);
  enter_(call_of(which));
  words_->gathered = mine.least;
  pgas::extremes all = mine;
  together_->combine(&all, sizeof all, [](void* into, const void* from) {
    static_cast<pgas::extremes*>(into)->add(*static_cast<const pgas::extremes*>(from));
  });
  return all;
}

// Everybody's words lie at the same offset. The barrier: nobody ends the job while these are read.
std::vector<pgas::gathered_words> global::everybody() {
  const std::uint64_t at = net_->here(&words_->gathered).offset();
  base::per_rank<pgas::gathered_words> all(net_->size());
  for (int r = 0; r < net_->size(); ++r) net_->get({r, at}, &all[r], sizeof all[r]);
  together_->barrier();
  return all;
}

void global::keep_home(std::uint32_t slot, std::uint64_t home) {
  if (slot < global_words::first_homes) {
    words_->homes[slot] = home;
    return;
  }
  const home_place at = place_of_home(slot);
  if (at.piece >= global_words::more_homes) {
    base::fatal(
        "more than 67 million allocations of all workers together (tobi::allocate_all) are alive; free some with "
        "tobi::free_all, or make larger ones.");
  }
  std::uint64_t& piece = words_->homes_in[at.piece];
  if (piece == 0) {
    void* made =
        heap_->allocate(sizeof home * (std::size_t{global_words::first_homes} << at.piece), alignof(std::uint64_t));
    if (made == nullptr)
      base::fatal("the registered heap is full: no room to say where global memory is; raise TOBI_HEAP_SIZE.");
    piece = net_->here(made).offset();
  }
  static_cast<std::uint64_t*>(net_->local({net_->rank(), piece}))[at.index] = home;
}

// What a rank has kept is there as long as the allocation is: all have met between.
std::uint64_t global::home_of(int rank, std::uint32_t slot) {
  std::uint64_t home = 0;
  if (slot < global_words::first_homes) {
    net_->get({rank, net_->here(&words_->homes[slot]).offset()}, &home, sizeof home);
    return home;
  }
  const home_place at = place_of_home(slot);
  std::uint64_t piece = 0;
  net_->get({rank, net_->here(&words_->homes_in[at.piece]).offset()}, &piece, sizeof piece);
  net_->get({rank, piece + at.index * sizeof home}, &home, sizeof home);
  return home;
}

}  // namespace tobi::job
