#include "libcore/job/global.hpp"

#include <unistd.h>

#include "libcore/base/log.hpp"
#include "libcore/task/worker.hpp"

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

void global::start(const alloc::segment& memory, alloc::heap& heap, tasks::fabric& net, global_words& words,
                   std::uint64_t objects_from, tasks::steal_window& window, std::function<void()> barrier,
                   std::string unusable) {
  words_ = &words;
  net_ = &net;
  barrier_ = std::move(barrier);
  const transports::memory region = memory.heap_memory();
  const transports::capabilities& caps = net.transport().caps();
  if (caps.alignment > 1 && unusable.empty()) {
    unusable = std::string(net.transport().name()) + " moves whole words only, and the cache writes bytes.";
  }
  objects_ = std::make_unique<alloc::remote_objects>(heap);
  homes_ = std::make_unique<pgas::homes>(net.size(), region.bytes, objects_from, view_.bytes(), settings_.block_bytes);
  remote_ = std::make_unique<pgas::remote>(net.transport(), net.size(), [&net](int rank) { return net.heap(rank); });

  pgas::memory_parts parts;
  parts.caching.addresses = &view_;
  parts.caching.where = homes_.get();
  parts.caching.net = remote_.get();
  parts.caching.rank = net.rank();
  parts.caching.own_region = static_cast<std::byte*>(region.base);
  parts.caching.own_fd = region.fd;
  parts.caching.region_here = [this, &net](int rank) { return net.transport().map(remote_->region(rank)); };
  const std::size_t block = settings_.block_bytes;
  parts.caching.take_pool = [&heap, block](std::size_t bytes) {
    return static_cast<std::byte*>(heap.allocate(bytes, block));
  };
  parts.caching.policy = settings_.caching;
  parts.caching.block_bytes = block;
  parts.caching.sub_block_bytes = settings_.sub_block_bytes;
  parts.caching.cache_bytes = settings_.cache_bytes;
  parts.map_limit = [limit = settings_.map_limit] {
    // The rest of the process needs mappings too; where the kernel does not say, its usual limit.
    constexpr std::size_t usual = 65530;
    const std::size_t kernel = pgas::kernel_map_limit() != 0 ? pgas::kernel_map_limit() : usual;
    const std::size_t used = pgas::kernel_maps_in_use();
    const std::size_t left = kernel > used ? kernel - used : 0;
    return limit != 0 ? std::min(limit, left) : std::min(kernel / 2, left);
  };
  parts.size = net.size();
  parts.objects = objects_.get();
  parts.take = [&heap](std::size_t bytes, std::size_t alignment) { return heap.allocate(bytes, alignment); };
  parts.give_back = [&heap](void* at) { heap.deallocate(at); };
  parts.epoch = &words.epoch;
  auto* bells = reinterpret_cast<std::uint8_t*>(&window.doorbell);
  parts.release_bell = bells + static_cast<int>(tasks::bell::release);
  parts.shown = &words.shown;
  parts.measure = settings_.stats;
  parts.watch = settings_.debug_global;
  parts.must_poll = tasks::worker::must_poll(caps);
  parts.gather = [this](const pgas::gathered_words& mine) { return gather(mine); };
  parts.inside_task = [] { return tasks::this_worker().inside_task(); };
  parts.unusable = std::move(unusable);
  memory_ = std::make_unique<pgas::memory>(parts);
  pgas::set_current(memory_.get());
}

// Everybody's words lie at the same offset. The second barrier: nobody writes the next ones while these are read.
std::vector<pgas::gathered_words> global::gather(const pgas::gathered_words& mine) {
  words_->gathered = mine;
  const std::uint64_t at = net_->here(&words_->gathered).offset();
  barrier_();
  std::vector<pgas::gathered_words> all(static_cast<std::size_t>(net_->size()));
  for (int r = 0; r < net_->size(); ++r) net_->get({r, at}, &all[static_cast<std::size_t>(r)], sizeof mine);
  barrier_();
  return all;
}

}  // namespace tobi::job
