// SPDX-License-Identifier: Apache-2.0
#include "libcore/pgas/watch.hpp"

#include <cxxabi.h>
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "libcore/base/log.hpp"

namespace tobi::pgas {

namespace {

constexpr std::uint64_t reads = static_cast<std::uint64_t>(access::read);
constexpr std::uint64_t updates_it = static_cast<std::uint64_t>(access::update);

bool is(const shown_checkout& s, const checkout_key& k) noexcept {
  return s.begin == k.at && s.end == k.at + k.bytes && s.how == static_cast<std::uint64_t>(k.how);
}

}  // namespace

std::string checkout_watch::described(const shown_checkout& c, int rank) const {
  return std::string(c.how == reads        ? "reads "
                     : c.how == updates_it ? "updates "
                                           : "writes ") +
         std::to_string(c.end - c.begin) + " bytes on rank " + std::to_string(rank) + " at " + name_of_(c.place);
}

std::string name_of_place(std::uintptr_t place) {
  Dl_info found{};
  char text[64];
  if (dladdr(reinterpret_cast<void*>(place), &found) == 0 || found.dli_fname == nullptr) {
    std::snprintf(text, sizeof text, "%#llx", static_cast<unsigned long long>(place));
    return text;
  }
  // What addr2line wants of a program that is loaded anywhere.
  std::snprintf(text, sizeof text, "+%#llx",
                static_cast<unsigned long long>(place - reinterpret_cast<std::uintptr_t>(found.dli_fbase)));
  std::string in = std::string(found.dli_fname) + text;
  if (found.dli_sname == nullptr) return in;
  int ok = 0;
  const std::unique_ptr<char, void (*)(void*)> readable(abi::__cxa_demangle(found.dli_sname, nullptr, nullptr, &ok),
                                                        std::free);
  return std::string(ok == 0 ? readable.get() : found.dli_sname) + " (" + in + ")";
}

void checkout_watch::begins(const checkout_key& k, const void* place) {
  const shown_checkout mine{k.at, k.at + k.bytes, static_cast<std::uint64_t>(k.how),
                            reinterpret_cast<std::uintptr_t>(place)};
  for (shown_checkout& s : shown_) {
    if (s.end != 0) continue;
    s.begin = mine.begin;
    s.how = mine.how;
    s.place = mine.place;
    std::atomic_ref(s.end).store(mine.end, std::memory_order_release);
    break;
  }
  // Dekker: what is shown here, before what is read there.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (int r = 0; r < size_; ++r) {
    if (r == rank_) continue;
    shown_checkouts theirs{};
    net_.get(r, offset_, theirs.data(), sizeof theirs);
    net_.post();
    net_.wait();
    for (const shown_checkout& t : theirs) {
      if (t.end <= mine.begin || mine.end <= t.begin) continue;
      if (t.how == mine.how && (mine.how == reads || mine.how == updates_it)) continue;  // made for each other
      // A slot is changed word by word: what was read may be of two checkouts. The second look is at one.
      shown_checkout again{};
      const auto slot = static_cast<std::uint64_t>(&t - theirs.data()) * sizeof t;
      net_.get(r, offset_ + slot, &again, sizeof again);
      net_.post();
      net_.wait();
      if (again.begin != t.begin || again.end != t.end || again.how != t.how || again.place != t.place) continue;
      base::fatal("a data race in global memory: one task " + described(mine, rank_) + ", while another " +
                  described(t, r) + "; order them by spawns and joins.");
    }
  }
}

void checkout_watch::ends(const checkout_key& k) noexcept {
  const auto shown = std::find_if(shown_.begin(), shown_.end(), [&](const shown_checkout& s) { return is(s, k); });
  if (shown != shown_.end()) std::atomic_ref(shown->end).store(0, std::memory_order_release);
}

std::string checkout_watch::where_began(const checkout_key& k) const {
  const auto shown = std::find_if(shown_.begin(), shown_.end(), [&](const shown_checkout& s) { return is(s, k); });
  return shown == shown_.end() ? "" : ", at " + name_of_(shown->place) + ",";
}

}  // namespace tobi::pgas
