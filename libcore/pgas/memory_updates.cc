// SPDX-License-Identifier: Apache-2.0
// Updates, as the cache and the program see them: what this worker has of the numbers goes home before, and it keeps
// nothing that they make old. So a dirty byte never comes home behind an update that was made after it here. That none
// does of another worker follows from the fences: a task that may update has acquired what the other one has released.
#include <cstdio>
#include <string>

#include "arch/clock.hpp"
#include "libcore/base/log.hpp"
#include "libcore/pgas/memory.hpp"
#include "libcore/trace/trace.hpp"

namespace tobi::pgas {

namespace {

const char* name_of(update_kind how) noexcept {
  switch (how) {
    case update_kind::add:
      return "tobi::fetch_add";
    case update_kind::min:
      return "tobi::fetch_min";
    case update_kind::max:
      return "tobi::fetch_max";
    case update_kind::compare_swap:
      break;
  }
  return "tobi::compare_and_swap";
}

std::string described(const char* call, std::uintptr_t at, std::size_t bytes) {
  char address[32];
  std::snprintf(address, sizeof address, "%#zx", static_cast<std::size_t>(at));
  return std::string(call) + " of " + std::to_string(bytes) + " bytes at " + address;
}

}  // namespace

// An event of the trace, if the fabric was waited for meanwhile.
class memory::shown_update {
 public:
  shown_update(const memory& of, std::size_t numbers) noexcept : of_(of), numbers_(numbers) {
    if (trace::tracing == nullptr) return;
    begin_ns_ = arch::now_ns();
    waits_ = of_.parts_.caching.net->net().waits();
  }
  ~shown_update() {
    if (trace::tracing == nullptr || of_.parts_.caching.net->net().waits() == waits_) return;
    trace::tracing->updated(numbers_, begin_ns_);
  }
  shown_update(const shown_update&) = delete;
  shown_update& operator=(const shown_update&) = delete;

 private:
  const memory& of_;
  std::size_t numbers_;
  std::uint64_t begin_ns_ = 0;
  std::uint64_t waits_ = 0;
};

updates& memory::at_homes() {
  if (updates_ == nullptr) {
    update_parts parts;
    parts.net = &parts_.caching.net->net();
    parts.where = parts_.caching.where;
    parts.locks = static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(parts_.locks) - parts_.caching.own_region);
    parts.region_here = [this](int rank) {
      return rank == parts_.caching.rank ? parts_.caching.own_region : parts_.caching.region_here(rank);
    };
    if (parts_.letters != nullptr) parts.posting = posting();
    // Nothing else: what a ticket of this worker names may be in the letters that are on their way.
    parts.serve = [this] {
      if (reader_ != nullptr && up(parts_.letter_bell) != 0) reader_->serve();
    };
    parts.forget = [this](std::uint64_t at, std::uint64_t bytes) { cache_.send_home(at, bytes); };
    parts.take = [this](std::size_t bytes) { return static_cast<std::byte*>(parts_.take(bytes, 64)); };
    updates_ = std::make_unique<updates>(parts);
  }
  return *updates_;
}

// They wait only where what is written waits, too. While they do, a checkout looks whether it is of such numbers.
void memory::updates_were_made() {
  parts_.caching.node->changed();
  const base::cache_policy policy = parts_.caching.policy;
  const bool may_wait = policy == base::cache_policy::write_back || policy == base::cache_policy::write_back_lazy;
  if (updates_wait() && (!may_wait || watch_ != nullptr)) {
    const shown_update in_the_trace(*this, updates_->how_many_wait());
    updates_->send();
  }
  const bool wait = updates_wait();
  if (!wait || waiting_since_ns_ == 0) waiting_since_ns_ = wait ? arch::now_ns() : 0;
  choose_ways();
}

void memory::send_updates() {
  if (!updates_wait()) return;
  {
    const shown_update in_the_trace(*this, updates_->how_many_wait());
    updates_->send();
  }
  updates_were_made();
}

void memory::send_updates_among(std::uintptr_t at, std::size_t bytes) {
  if (updates_wait() && updates_->waiting_among(offset_of(reinterpret_cast<const void*>(at)), bytes)) send_updates();
}

// Fatal where [AT, AT + BYTES) is no global memory that may be updated as numbers of EACH bytes. KNOWN: the run of
// homes that the last call has found, or nothing.
void memory::prepare_update(std::uintptr_t at, std::size_t bytes, std::size_t each, const char* call, home_run& known) {
  if (const char* wrong = wrong_with(at, bytes, true, known); wrong != nullptr) {
    base::fatal(described(call, at, bytes) + wrong);
  }
  if (at % each != 0) {
    base::fatal(described(call, at, bytes) +
                " names numbers that are not aligned to their size; give it an address that is a multiple of " +
                std::to_string(each) + ".");
  }
  const auto held = held_that([=](const checkout_key& k) { return k.at < at + bytes && at < k.at + k.bytes; });
  if (held) {
    base::fatal(described(call, at, bytes) + " overlaps a checkout of " + std::to_string(held->bytes) +
                " bytes that this task holds; check it in before.");
  }
  cache_.send_home(offset_of(reinterpret_cast<const void*>(at)), bytes);
}

void memory::accumulate(std::uintptr_t at, const std::byte* from, std::size_t count, number_kind number,
                        const void* place) {
  if (!used) first_use();
  const entered now(*this, global_phase::checkin);
  const std::size_t each = bytes_of(number);
  // A product that no word holds is more than there is.
  const std::size_t bytes = count > ~std::size_t{0} / each ? ~std::size_t{0} : count * each;
  home_run known;
  prepare_update(at, bytes, each, "tobi::accumulate", known);
  const checkout_key shown{at, bytes, access::update};
  if (watch_ != nullptr) show("tobi::accumulate", shown, place);
  {
    const shown_update in_the_trace(*this, count);
    at_homes().add(offset_of(reinterpret_cast<const void*>(at)), from, bytes, number);
  }
  updates_were_made();
  if (watch_ != nullptr) watch_->ends(shown);
  serve();
}

void memory::accumulate_at(std::uintptr_t at, const std::size_t* places, const std::byte* values, std::size_t count,
                           number_kind number, const void* place) {
  if (!used) first_use();
  const entered now(*this, global_phase::checkin);
  const std::size_t each = bytes_of(number);
  home_run known;
  const char* const call = is_stored(number) ? "tobi::store_at" : "tobi::accumulate_at";
  for (std::size_t i = 0; i < count; ++i) prepare_update(at + places[i] * each, each, each, call, known);
  const std::uint64_t first = offset_of(reinterpret_cast<const void*>(at));
  if (watch_ == nullptr) {
    {
      const shown_update in_the_trace(*this, count);
      at_homes().add_at(first, places, values, count, number);
    }
    updates_were_made();
  } else {
    // One by one: what lies between the places is nobody's affair here.
    for (std::size_t i = 0; i < count; ++i) {
      const checkout_key shown{at + places[i] * each, each, is_stored(number) ? access::write : access::update};
      show(is_stored(number) ? "tobi::store_at" : "tobi::accumulate_at", shown, place);
      at_homes().add_at(first, places + i, values + i * each, 1, number);
      updates_were_made();
      watch_->ends(shown);
    }
  }
  serve();
}

void memory::update_one(std::uintptr_t at, const update& what, const void* operand, const void* place) {
  if (!used) first_use();
  const entered now(*this, global_phase::checkin);
  const std::size_t each = bytes_of(what.number);
  home_run known;
  prepare_update(at, each, each, name_of(what.how), known);
  send_updates_among(at, each);
  const checkout_key shown{at, each, access::update};
  if (watch_ != nullptr) show(name_of(what.how), shown, place);
  {
    const shown_update in_the_trace(*this, 1);
    at_homes().one(offset_of(reinterpret_cast<const void*>(at)), what, operand);
  }
  parts_.caching.node->changed();
  if (watch_ != nullptr) watch_->ends(shown);
  serve();
}

}  // namespace tobi::pgas
