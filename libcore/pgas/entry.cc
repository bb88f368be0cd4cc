// SPDX-License-Identifier: Apache-2.0
// The C names: what the templates of the public headers call. A task that calls them twice may be in two processes, so
// each call looks for its own worker's memory.
#include <cstring>

#include "libcore/base/log.hpp"
#include "libcore/pgas/copies.hpp"
#include "libcore/pgas/memory.hpp"
#include "libcore/task/door.hpp"
#include "tobi/detail/global.hpp"
#include "tobi/detail/update.hpp"

namespace tobi::detail {

namespace {

pgas::memory& here() {
  pgas::memory* const now = pgas::current();
  if (now == nullptr) [[unlikely]] {
    base::fatal("global memory was used without a tobi::runtime alive; make one in main.", base::exit_usage);
  }
  if (const std::uintptr_t thread = tobi_plain_memory.thread; thread != 0 && thread != this_thread()) [[unlikely]] {
    base::fatal(
        "global memory was used by a thread that the program has made: only the thread that called tobi::run, and that "
        "made the runtime, may.",
        base::exit_usage);
  }
  return *now;
}
std::uintptr_t address(const void* at) noexcept { return reinterpret_cast<std::uintptr_t>(at); }

}  // namespace

extern "C" {

void tobi_checkout(const void* at, std::size_t bytes, std::uint32_t how) {
  const tasks::indoors now;
  here().checkout(address(at), bytes, static_cast<pgas::access>(how), true, __builtin_return_address(0));
}
void tobi_checkout_nb(const void* at, std::size_t bytes, std::uint32_t how) {
  const tasks::indoors now;
  here().checkout(address(at), bytes, static_cast<pgas::access>(how), false, __builtin_return_address(0));
}
void tobi_checkout_wait() {
  const tasks::indoors now;
  here().finish();
}
void tobi_prefetch(const void* at, std::size_t bytes) {
  const tasks::indoors now;
  here().prefetch(address(at), bytes, __builtin_return_address(0));
}
bool tobi_readable(const void* at, std::size_t bytes) {
  const tasks::indoors now;
  return here().readable(address(at), bytes);
}
void tobi_checkin(const void* at, std::size_t bytes, std::uint32_t how) {
  const tasks::indoors now;
  here().checkin(address(at), bytes, static_cast<pgas::access>(how));
}
void tobi_global_serve() {
  const tasks::indoors now;
  here().serve();
}
void tobi_global_copy(const void* at, std::size_t bytes, void* local, std::uint32_t how, bool wait) {
  const tasks::indoors now;
  pgas::memory::copies(here()).begin(address(at), bytes, local, static_cast<pgas::access>(how), wait,
                                     __builtin_return_address(0));
}
void tobi_global_copied(const void* at, std::size_t bytes, std::uint32_t how) {
  const tasks::indoors now;
  pgas::memory::copies(here()).land(address(at), bytes, static_cast<pgas::access>(how));
}
void tobi_accumulate(void* to, const void* from, std::size_t count, std::uint32_t number) {
  const tasks::indoors now;
  here().accumulate(address(to), static_cast<const std::byte*>(from), count, static_cast<number_kind>(number),
                    __builtin_return_address(0));
}
void tobi_accumulate_at(void* to, const std::size_t* places, const void* values, std::size_t count,
                        std::uint32_t number) {
  const tasks::indoors now;
  here().accumulate_at(address(to), places, static_cast<const std::byte*>(values), count,
                       static_cast<number_kind>(number), __builtin_return_address(0));
}
void tobi_update(void* at, std::uint32_t number, std::uint32_t how, const void* operand, const void* expected,
                 void* old) {
  const tasks::indoors now;
  pgas::update what{static_cast<update_kind>(how), static_cast<number_kind>(number), 0, old};
  std::memcpy(&what.expected, expected, pgas::bytes_of(what.number));
  here().update_one(address(at), what, operand, __builtin_return_address(0));
}
void* tobi_global_allocate(std::size_t bytes) {
  const tasks::indoors now;
  return here().allocate(bytes);
}
void tobi_global_free(void* at, std::size_t bytes) {
  const tasks::indoors now;
  here().free(at, bytes);
}
void* tobi_global_allocate_all(std::size_t bytes, std::size_t chunk) {
  const tasks::indoors now;
  return here().allocate_all(bytes, chunk);
}
void tobi_global_free_all(void* at) {
  const tasks::indoors now;
  here().free_all(at);
}
void tobi_global_set_constant(void* at, int constant) {
  const tasks::indoors now;
  here().set_constant(at, constant != 0);
}
void tobi_global_release() {
  const tasks::indoors now;
  if (here().used) here().release();
}
void tobi_global_acquire() {
  const tasks::indoors now;
  if (here().used) here().acquire(0, -1);
}
home_layout tobi_global_layout(const void* at, std::size_t bytes) {
  const tasks::indoors now;
  return here().layout_of(address(at), bytes);
}
std::size_t tobi_global_chunk_bytes() {
  const tasks::indoors now;
  return here().chunk_bytes();
}

}  // extern "C"

}  // namespace tobi::detail
