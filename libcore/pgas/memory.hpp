// SPDX-License-Identifier: Apache-2.0
// The global memory of one worker: the cache, the allocations, and the fences (SC'23, section 5).
//
// The lazy release (figure 6). Each worker has an epoch, the number of times that it has written back what was dirty. A
// continuation that is shown to thieves while something is dirty carries a ticket {rank, epoch + 1}; its thief reads
// the victim's epoch until it has come so far, and asks for it by a put of the doorbell's byte for releases. The
// paper's request is an atomic maximum of epochs. A byte is enough: a ticket never names more than the next epoch, and
// the victim lowers the byte before it writes back, so that a request which comes later leaves it raised. The epoch is
// put only when the dirty bytes are complete at their homes.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "alloc/remote_objects.hpp"
#include "alloc/small_objects.hpp"
#include "arch/context.hpp"
#include "libcore/net/small_frees.hpp"
#include "libcore/pgas/cache.hpp"
#include "libcore/pgas/profile.hpp"
#include "libcore/pgas/updates.hpp"
#include "libcore/pgas/watch.hpp"
#include "libcore/task/coherence.hpp"
#include "tobi/detail/global.hpp"

namespace tobi::pgas {

/// What forks look at while a checkout is held, so that each takes the slow path and is refused. Not a byte of the
/// doorbell: idle neighbours read that line again and again, and each store to it would miss.
inline constexpr std::uint64_t held_rings = 1;

/// What the workers say in a collective call: its number, bytes, the chunk. And, of all of them, each word's least and
/// most; so is the place of what they have taken for it, and of one that has no room for its share.
using gathered_words = std::array<std::uint64_t, 3>;
struct extremes {
  gathered_words least, most;
  std::uint64_t first_home, last_home;  // of those that have a share
  std::uint64_t first_full;             // rank; ~0: nobody

  void add(const extremes& other) noexcept;
};

/// What all workers do together.
enum class collective : std::uint8_t { allocate, free, set_read_only, set_writable };

struct memory_parts {
  cache_parts caching;
  int size = 1;
  std::uint64_t region_bytes = 0;
  alloc::remote_objects* objects = nullptr;                             // of this worker; for global memory alone
  alloc::small_objects* small = nullptr;                                // likewise
  std::function<void*(std::size_t bytes, std::size_t alignment)> take;  // from the registered heap; null: no room
  std::function<void(void*)> give_back;
  std::uint64_t* epoch = nullptr;        // in the heap region, at the same offset everywhere
  update_locks* locks = nullptr;         // likewise
  letter_box* letters = nullptr;         // likewise; null: none are sent in this job
  std::uint8_t* letter_bell = nullptr;   // likewise, rung or not
  std::uint8_t* release_bell = nullptr;  // likewise: set by thieves
  shown_checkouts* shown = nullptr;      // likewise: what is checked out here, when somebody watches
  bool must_poll = false;                // the fabric stands still unless it is polled
  bool measure = false;                  // TOBI_STATS: read clocks
  bool note_sites = false;               // TOBI_STATS, TOBI_TRACE: for which places bytes are fetched
  bool watch = false;                    // TOBI_DEBUG_GLOBAL
  namer name_of = name_of_place;         // for what a watch says; on a task's stack
  /// Collective: the extremes of what all say in WHICH.
  std::function<extremes(const extremes&, collective which)> agree;
  /// Collective, behind agree(): everybody's words, by rank.
  std::function<std::vector<gathered_words>()> everybody;
  /// Puts HOME into this rank's table for others to get.
  std::function<void(std::uint32_t slot, std::uint64_t home)> keep_home;
  std::function<std::size_t()> map_limit;  // how many mappings may be made; asked at the first use
  std::string unusable;                    // why there is no global memory in this job; "": there is
};

/// For messages. A product that did not fit a word comes as the largest one (tobi::detail::bytes_of).
std::string said_bytes(std::size_t bytes);

class memory final : public tasks::coherence {
 public:
  class copies;  // libcore/pgas/copies.hpp

  explicit memory(const memory_parts& parts);
  memory(const memory&) = delete;
  memory& operator=(const memory&) = delete;

  /// PLACE in the program asks for it. Nothing is held of 0 bytes.
  void checkout(std::uintptr_t at, std::size_t bytes, access how, bool wait, const void* place) {
    if (bytes == 0) [[unlikely]] {
      return;
    }
    if (!plain_) [[unlikely]] {
      checkout_watched(at, bytes, how, wait, place);
      return;
    }
    ring_held();
    cache_.checkout(at, bytes, how, wait);
  }
  /// Whether BYTES at AT can be read at once, without a checkout.
  bool readable(std::uintptr_t at, std::size_t bytes) noexcept {
    if (!loads_are_plain_ || !cache_.readable(at, bytes)) return false;
    serve();
    return true;
  }
  /// PLACE in the program asks for it. Nothing is fetched of 0 bytes.
  void prefetch(std::uintptr_t at, std::size_t bytes, const void* place);
  void finish() {
    const entered now(*this, global_phase::checkout);
    cache_.finish();
  }
  void checkin(std::uintptr_t at, std::size_t bytes, access how) {
    if (bytes == 0) [[unlikely]] {
      return;
    }
    if (!plain_) [[unlikely]] {
      checkin_watched(at, bytes, how);
      return;
    }
    checkin_of(at, bytes, how);
    serve();
  }

  // --- updates (libcore/pgas/memory_updates.cc); PLACE in the program asks for them -----------------------
  /// Adds COUNT numbers at FROM to those at AT.
  void accumulate(std::uintptr_t at, const std::byte* from, std::size_t count, number_kind number, const void* place);
  /// Adds value i to the number PLACES[i] from AT on.
  void accumulate_at(std::uintptr_t at, const std::size_t* places, const std::byte* values, std::size_t count,
                     number_kind number, const void* place);
  /// Updates one number; WHAT.old takes what it was.
  void update_one(std::uintptr_t at, const update& what, const void* operand, const void* place);

  // --- allocation; sizes in bytes -----------------------------------------------------------------------
  /// In this worker's heap. Fatal when it is full.
  void* allocate(std::size_t bytes);
  /// What allocate(BYTES) returned, on any worker.
  void free(void* object, std::size_t bytes);
  /// Collective, outside of tasks: chunks of CHUNK bytes dealt to the ranks in turn; 0: one each.
  void* allocate_all(std::size_t bytes, std::size_t chunk);
  void free_all(void* at);
  /// Collective, outside of tasks: nobody writes what allocate_all returned, or somebody does again.
  void set_constant(void* at, bool constant);

  // --- coherence --------------------------------------------------------------------------------------
  std::uint64_t release_lazily() noexcept override;
  void release() noexcept override;
  void acquire(std::uint64_t ticket, int from) noexcept override;
  void serve() noexcept override {
    if (detail::tobi_plain_memory.must_serve()) [[unlikely]] {
      serve_slowly();
    }
  }
  /// Whether serve() has something to do for others.
  [[nodiscard]] bool asked() const noexcept { return (up(parts_.release_bell) | up(parts_.letter_bell)) != 0; }
  void usual_bell(const volatile std::uint64_t* bell) noexcept override;
  void nothing_held(const char* where) noexcept override;

  /// How the BYTES at AT, at least 1, are dealt to the workers. Fatal where they are no global memory.
  [[nodiscard]] detail::home_layout layout_of(std::uintptr_t at, std::size_t bytes);
  /// A size of which some can be checked out at once, whatever the cache.
  [[nodiscard]] std::size_t chunk_bytes() const noexcept {
    return std::max(parts_.caching.block_bytes, parts_.caching.cache_bytes / 16);
  }
  /// EVER: since the job began, whatever was reset.
  [[nodiscard]] global_statistics counted(bool ever = false) noexcept;
  void reset_counts() noexcept;
  /// For which places in the program bytes were fetched since; nothing where nobody wants to know.
  [[nodiscard]] const std::vector<trace::call_site>& fetched_at() const noexcept { return sites_.all(); }
  /// Whether ADDRESS is in the global view. Callable in a signal handler.
  [[nodiscard]] bool holds(const void* address) const noexcept { return parts_.caching.addresses->holds(address); }
  /// Whether all workers have made a collective allocation: the SPMD parts of the program may share data.
  [[nodiscard]] bool shared() const noexcept { return shared_; }

 private:
  [[nodiscard]] std::uint32_t free_slot();
  [[nodiscard]] void* object_of(std::size_t bytes);
  [[nodiscard]] static bool is_held(int rank, const std::byte* region, std::uint64_t offset, std::size_t bytes);
  [[nodiscard]] bool could_be(int rank, std::uint64_t offset, std::size_t bytes);
  void free_at(int rank, std::uint64_t offset, std::size_t bytes);
  struct named_object {
    enum kind : std::uint8_t { lives, none, of_no_slab } is;
    std::uint64_t begin = 0;  // offset in its region
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] named_object small_object(int rank, std::uint64_t offset);
  [[nodiscard]] named_object large_object(std::uint64_t offset) const;
  void note_large(const void* object, std::size_t bytes);
  void check_object(const char* what, const checkout_key& k, const void* place);
  // TOBI_DEBUG_GLOBAL: WHAT begins to use K, at PLACE in the program.
  void show(const char* what, const checkout_key& k, const void* place) {
    check_object(what, k, place);
    watch_->begins(k, place);
  }
  void refuse_different(const gathered_words& mine);
  [[nodiscard]] const allocation& made_together(void* at, const char* call) const;
  void meet_about(std::uint64_t begin, collective which, const char* call);
  void check_writable(std::uintptr_t at, std::size_t bytes, access how) const;
  /// Around everything that touches the cache, on slow paths: the time is WHAT's.
  class shown_update;
  class entered {
   public:
    entered(memory& m, global_phase what) noexcept : m_(m) {
      if (m_.clock_) before_ = m_.clock_->change(static_cast<std::size_t>(what));
    }
    ~entered() {
      if (m_.clock_) m_.clock_->change(before_ < serial || m_.cache_.held().empty() ? outside(before_) : serial);
    }
    entered(const entered&) = delete;
    entered& operator=(const entered&) = delete;

   private:
    static constexpr auto serial = static_cast<std::size_t>(global_phase::serial);
    // Serial time ends with the last checkin.
    static constexpr std::size_t outside(std::size_t before) noexcept {
      return before == serial ? phase_clock::others : before;
    }
    memory& m_;
    std::size_t before_ = phase_clock::others;
  };

  static std::uint8_t up(const volatile std::uint8_t* bell) noexcept { return *bell; }
  void first_use();
  [[nodiscard]] bool updates_wait() const noexcept { return updates_ != nullptr && updates_->waiting(); }
  void updates_were_made();
  /// Which checkouts and loads need more than the cache, from now on.
  void choose_ways() noexcept {
    loads_are_plain_ = !updates_wait() && clock_ == nullptr && watch_ == nullptr;
    plain_ = loads_are_plain_ && parts_.caching.sites == nullptr;
    // Release: of the attendant, behind the updates that it has sent home (tobi/detail/global.hpp).
    std::atomic_ref(detail::tobi_plain_memory.bytes)
        .store(loads_are_plain_ ? parts_.caching.addresses->bytes() : 0, std::memory_order_release);
  }
  void begin_plain() noexcept;
  void count_plain() noexcept;
  // --- what is held: here, and in place (tobi/detail/global.hpp) ---
  [[nodiscard]] bool nothing_is_held() const noexcept { return cache_.held().empty() && in_place::none(); }
  template <class F>
  [[nodiscard]] std::optional<checkout_key> held_that(F is_it) const {
    const std::optional<checkout_key> here = cache_.held().find(is_it);
    return here ? here : in_place::find(is_it);
  }
  static void ring_held() noexcept {
    detail::tobi_plain_memory.others = true;
    tobi_hot.doorbell = &held_rings;
  }
  void rest_bell() noexcept {
    detail::tobi_plain_memory.others = !cache_.held().empty();
    if (nothing_is_held()) tobi_hot.doorbell = detail::tobi_plain_memory.usual_bell;
  }
  // What was checked out in place, and is not the newest of these, is checked in here, too.
  void checkin_of(std::uintptr_t at, std::size_t bytes, access how) {
    if (in_place::none() || !in_place::remove({at, bytes, how})) cache_.checkin(at, bytes, how);
    rest_bell();
  }
  void send_updates();
  void send_updates_among(std::uintptr_t at, std::size_t bytes);
  [[nodiscard]] letter_parts posting() const;
  void checkout_watched(std::uintptr_t at, std::size_t bytes, access how, bool wait, const void* place);
  void checkin_watched(std::uintptr_t at, std::size_t bytes, access how);
  [[nodiscard]] const char* wrong_with(std::uintptr_t at, std::size_t bytes, bool written, home_run& known) const;
  void prepare_update(std::uintptr_t at, std::size_t bytes, std::size_t each, const char* call, home_run& known);
  [[nodiscard]] updates& at_homes();
  void settle_times() noexcept { parts_.caching.node->settle(); }
  void write_back();
  void write_back_untold();
  void answer_request() noexcept;
  void serve_slowly() noexcept;
  void await(int rank, std::uint64_t epoch) noexcept;
  [[nodiscard]] std::uint64_t offset_of(const void* at) const noexcept {
    return reinterpret_cast<std::uintptr_t>(at) - reinterpret_cast<std::uintptr_t>(parts_.caching.addresses->base());
  }

  memory_parts parts_;
  std::unique_ptr<phase_clock> clock_;
  call_sites sites_;
  cache cache_;
  std::unique_ptr<updates> updates_;       // made by the first one
  std::unique_ptr<letter_reader> reader_;  // null: no letters are sent in this job
  net::small_frees frees_;
  std::uint64_t freeing_since_ns_ = 0;  // frees wait
  std::uint64_t epoch_ = 0;
  std::uint64_t promised_ = 0;  // the latest epoch that a ticket names
  std::vector<bool> slots_;     // of collective allocations; true: taken
  std::uint64_t collectives_ = 0;
  bool shared_ = false;
  bool plain_ = false;                  // checkouts and checkins need nothing but the cache
  bool loads_are_plain_ = false;        // loads do, of which the call sites are of no interest
  std::uint64_t waiting_since_ns_ = 0;  // updates do
  std::uint64_t told_written_ = 0;      // bytes of write-backs that the trace has
  cache_counts before_;                 // what was counted before the last reset
  std::unique_ptr<checkout_watch> watch_;
  std::map<std::uint64_t, std::uint64_t> large_;  // with a watch: this worker's objects with headers, offset and bytes
};

/// The global memory of this process's job, or null.
extern memory* the_memory;
inline memory* current() noexcept { return the_memory; }
inline void set_current(memory* now) noexcept {
  detail::tobi_plain_memory = {};
  if (now != nullptr) detail::tobi_plain_memory.thread = detail::this_thread();
  the_memory = now;
}

}  // namespace tobi::pgas
