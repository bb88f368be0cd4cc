// SPDX-License-Identifier: Apache-2.0
#include "alloc/heap.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "alloc/tsd.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/refusal.hpp"

// The private copy of jemalloc (alloc/module.mk makes it): its own names, prefixed, and the hook table of its manual.
extern "C" {
struct extent_hooks_t;
using extent_alloc_t = void*(extent_hooks_t*, void*, std::size_t, std::size_t, bool*, bool*, unsigned);
using extent_dalloc_t = bool(extent_hooks_t*, void*, std::size_t, bool, unsigned);
using extent_destroy_t = void(extent_hooks_t*, void*, std::size_t, bool, unsigned);
using extent_commit_t = bool(extent_hooks_t*, void*, std::size_t, std::size_t, std::size_t, unsigned);
using extent_split_t = bool(extent_hooks_t*, void*, std::size_t, std::size_t, std::size_t, bool, unsigned);
using extent_merge_t = bool(extent_hooks_t*, void*, std::size_t, void*, std::size_t, bool, unsigned);
struct extent_hooks_t {
  extent_alloc_t* alloc;
  extent_dalloc_t* dalloc;
  extent_destroy_t* destroy;
  extent_commit_t* commit;
  extent_commit_t* decommit;
  extent_commit_t* purge_lazy;
  extent_commit_t* purge_forced;
  extent_split_t* split;
  extent_merge_t* merge;
};
void* tobi_je_mallocx(std::size_t size, int flags);
void tobi_je_dallocx(void* ptr, int flags);
int tobi_je_mallctl(const char* name, void* oldp, std::size_t* oldlenp, void* newp, std::size_t newlen);
// What it calls in place of mmap, and of what would read the site's MALLOC_CONF and /etc/malloc.conf.
[[gnu::visibility("hidden")]] void* tobi_je_mmap(void* at, std::size_t bytes, int prot, int flags, int fd, off_t from);
[[gnu::visibility("hidden")]] char* tobi_je_getenv(const char* name);
[[gnu::visibility("hidden")]] char* tobi_je_secure_getenv(const char* name);
[[gnu::visibility("hidden")]] ssize_t tobi_je_readlink(const char* path, char* into, std::size_t bytes);
}

namespace tobi::alloc {

namespace {

// The encodings of MALLOCX_ARENA and of MALLOCX_TCACHE_NONE in jemalloc's public header. Without the thread cache an
// object freed is at once free for every thread, and nothing of this range lingers in a cache that outlives it.
constexpr int in_arena(unsigned arena) noexcept { return static_cast<int>((arena + 1) << 20); }
constexpr int no_thread_cache = 1 << 8;

}  // namespace

// Its parts lie one behind the other. jemalloc_turn lets one thread at a time come here.
struct heap::range : extent_hooks_t {
  struct part {
    std::byte* next;  // what it has not given yet
    std::byte* end;
  };
  std::vector<part> parts;
  grower grow;
  bool has_refused = false;  // in this call of jemalloc

  range(std::byte* base, std::size_t bytes, grower how) : extent_hooks_t{}, grow(std::move(how)) {
    parts.push_back({base, base + bytes});
    alloc = &take;
    // jemalloc keeps what it has got: dalloc refuses, so that freed extents wait in the arena for the next use.
    dalloc = [](extent_hooks_t*, void*, std::size_t, bool, unsigned) { return true; };
    // Registered memory must stay what the device has pinned: a hole punched into it would leave the device writing to
    // pages that no process sees. So nothing is ever purged (null hooks refuse).
    split = [](extent_hooks_t*, void*, std::size_t, std::size_t, std::size_t, bool, unsigned) { return false; };
    // jemalloc 5.3 joins nothing that it was given by two calls. Older ones do.
    merge = [](extent_hooks_t* hooks, void* first, std::size_t, void* second, std::size_t, bool, unsigned) {
      return !static_cast<range*>(hooks)->are_of_one_part(first, second);
    };
  }

  [[nodiscard]] bool are_of_one_part(const void* first, const void* second) const noexcept {
    return std::none_of(parts.begin(), parts.end(), [&](const part& p) { return (first < p.end) != (second < p.end); });
  }

  static std::byte* take_from(part& p, std::size_t size, std::size_t alignment) noexcept {
    const std::size_t skip = (alignment - reinterpret_cast<std::uintptr_t>(p.next) % alignment) % alignment;
    const auto room = static_cast<std::size_t>(p.end - p.next);
    if (skip > room || size > room - skip) return nullptr;
    std::byte* const at = p.next + skip;
    p.next = at + size;
    return at;
  }

  static void* take(extent_hooks_t* hooks, void* wanted, std::size_t size, std::size_t alignment, bool* zero,
                    bool* commit, unsigned) {
    auto& self = *static_cast<range*>(hooks);
    if (wanted != nullptr) return nullptr;
    std::byte* at = nullptr;
    for (part& p : self.parts) {
      if (at = take_from(p, size, alignment); at != nullptr) break;
    }
    // jemalloc asks for more than it needs, each time for more than before. Refused, it asks for what it needs, and the
    // rest of a part is used to its end. A second request is an earnest one.
    if (at == nullptr && self.grow != nullptr && std::exchange(self.has_refused, true)) {
      // What is added may begin anywhere.
      if (const std::size_t more = self.grow(size + alignment); more != 0) {
        self.parts.push_back({self.parts.back().end, self.parts.back().end + more});
        at = take_from(self.parts.back(), size, alignment);
      }
    }
    *zero = *commit = at != nullptr;  // fresh pages of a memfd
    return at;
  }
};

heap::heap(std::byte* base, std::size_t bytes) : heap(base, bytes, nullptr) {}

heap::heap(std::byte* base, std::size_t bytes, grower grow)
    : range_(std::make_unique<range>(base, bytes, std::move(grow))) {
  extent_hooks_t* hooks = range_.get();
  std::size_t length = sizeof arena_;
  const jemalloc_turn now;
  const int failed = tobi_je_mallctl("arenas.create", &arena_, &length, &hooks, sizeof hooks);
  if (failed != 0) {
    base::fatal("jemalloc could not make an arena on the registered heap (error " + std::to_string(failed) +
                "); raise TOBI_HEAP_SIZE.");
  }
  flags_ = in_arena(arena_) | no_thread_cache;
  purge_ = "arena." + std::to_string(arena_) + ".purge";
}

heap::~heap() {
  // After this jemalloc may reuse nothing of the range. Destroying calls the hooks one last time.
  const std::string name = "arena." + std::to_string(arena_) + ".destroy";
  const jemalloc_turn now;
  tobi_je_mallctl(name.c_str(), nullptr, nullptr, nullptr, 0);
  // The arena's own metadata lives in the range and dies with it; the hooks must outlive the arena's number.
}

void* heap::allocate(std::size_t bytes, std::size_t alignment) noexcept {
  const int flags = flags_ | std::countr_zero(alignment);  // the low six bits
  const jemalloc_turn now;
  range_->has_refused = false;
  if (bytes == 0) bytes = 1;
  if (void* const object = tobi_je_mallocx(bytes, flags); object != nullptr) return object;
  // What was freed of late waits in pieces, as it was freed, and jemalloc asks for more of the range rather than join
  // them: 16M have refused 2.3M with 144K in use. To purge joins them; no page goes back, since the hooks refuse that.
  tobi_je_mallctl(purge_.c_str(), nullptr, nullptr, nullptr, 0);
  return tobi_je_mallocx(bytes, flags);
}

void heap::deallocate(void* object) noexcept {
  const jemalloc_turn now;
  tobi_je_dallocx(object, flags_);
}

}  // namespace tobi::alloc

char* tobi_je_getenv(const char*) { return nullptr; }
char* tobi_je_secure_getenv(const char*) { return nullptr; }
ssize_t tobi_je_readlink(const char*, char*, std::size_t) {
  errno = ENOENT;
  return -1;
}

// Its own notes lie outside of the range. At its start jemalloc 5.3 tries out madvise on a page, and does not ask
// whether it has got the page; later a refusal would look as if the range were full.
void* tobi_je_mmap(void* at, std::size_t bytes, int prot, int flags, int fd, off_t from) {
  void* const got = mmap(at, bytes, prot, flags, fd, from);
  if (got == MAP_FAILED) {
    tobi::base::fatal("the allocator of the registered heap could not map " + std::to_string(bytes) +
                      " bytes for itself" +
                      tobi::base::refusal(errno, "mmap", "free some memory, or raise the limit (ulimit -v)"));
  }
  return got;
}
