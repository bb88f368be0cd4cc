// SPDX-License-Identifier: Apache-2.0
#include "libcore/pgas/copies.hpp"

#include <string>

#include "libcore/base/log.hpp"

namespace tobi::pgas {

namespace {

std::string described(access how, std::size_t bytes) {
  return (how == access::put ? "tobi::put of " : "tobi::get of ") + std::to_string(bytes) + " bytes";
}
// As a watch is shown it.
checkout_key as_checkout(std::uintptr_t at, std::size_t bytes, access how) noexcept {
  return {at, bytes, how == access::put ? access::write : access::read};
}

}  // namespace

// What is not global, not there or not to be written ends the job, and what this task has checked out for writing, or
// copies at this moment: which of the two counts would be chance.
void memory::copies::check(std::uintptr_t at, std::size_t bytes, access how) const {
  home_run known;
  if (const char* wrong = m_.wrong_with(at, bytes, how == access::put, known); wrong != nullptr) {
    base::fatal(described(how, bytes) + wrong, base::exit_usage);
  }
  const std::optional<checkout_key> k = m_.held_that([=](const checkout_key& held) {
    const bool both_read = how == access::get && (held.how == access::read || held.how == access::get);
    return !both_read && held.at < at + bytes && at < held.at + held.bytes;
  });
  if (!k) return;
  const bool is_copy = k->how == access::get || k->how == access::put;
  base::fatal(
      described(how, bytes) + " overlaps " +
          (is_copy ? described(k->how, k->bytes) + ", which is under way; wait for it before."
                   : "a checkout of " + std::to_string(k->bytes) + " bytes that this task holds; check it in before."),
      base::exit_usage);
}

void memory::copies::begin(std::uintptr_t at, std::size_t bytes, void* local, access how, bool wait,
                           const void* place) {
  if (bytes == 0) return;
  if (!m_.used) m_.first_use();
  const entered now(m_, global_phase::checkout);
  check(at, bytes, how);
  m_.send_updates_among(at, bytes);
  m_.sites_.at(place);
  if (m_.watch_ != nullptr) {
    m_.show(how == access::put ? "tobi::put" : "tobi::get", as_checkout(at, bytes, how), place);
  }
  m_.cache_.hold({at, bytes, how});
  ring_held();
  const std::uint64_t offset = m_.offset_of(reinterpret_cast<const void*>(at));
  if (how == access::get) {
    m_.cache_.read_around(offset, bytes, static_cast<std::byte*>(local));
  } else {
    m_.cache_.write_around(offset, bytes, static_cast<const std::byte*>(local));
  }
  if (wait) land(at, bytes, how);
}

void memory::copies::land(std::uintptr_t at, std::size_t bytes, access how) {
  if (bytes == 0) return;
  const entered now(m_, global_phase::checkin);
  m_.cache_.land_around();
  if (how == access::put) {
    // A block around the range may have been fetched before the bytes came home.
    m_.cache_.send_home(m_.offset_of(reinterpret_cast<const void*>(at)), bytes);
    m_.parts_.caching.node->changed();
  }
  if (!m_.cache_.let_go({at, bytes, how})) {
    base::fatal(described(how, bytes) + " was waited for in another task than began it.", base::exit_usage);
  }
  if (m_.watch_ != nullptr) m_.watch_->ends(as_checkout(at, bytes, how));
  m_.rest_bell();
  m_.serve();
}

}  // namespace tobi::pgas
