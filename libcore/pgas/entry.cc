// SPDX-License-Identifier: Apache-2.0
// The C names: what the templates of the public headers call. A task that calls them twice may be in two processes, so
// each call looks for its own worker's memory.
#include "libcore/base/log.hpp"
#include "libcore/pgas/memory.hpp"
#include "libcore/task/door.hpp"
#include "tobi/detail/global.hpp"

namespace tobi::detail {

namespace {

pgas::memory& here() {
  pgas::memory* const now = pgas::current();
  if (now == nullptr) [[unlikely]] {
    base::fatal("global memory was used without a tobi::runtime alive; make one in main.", base::exit_usage);
  }
  return *now;
}
std::uintptr_t address(const void* at) noexcept { return reinterpret_cast<std::uintptr_t>(at); }

}  // namespace

extern "C" {

void tobi_checkout(const void* at, std::size_t bytes, std::uint32_t how) {
  const base::indoors now;
  here().checkout(address(at), bytes, static_cast<pgas::access>(how), true, __builtin_return_address(0));
}
void tobi_checkout_nb(const void* at, std::size_t bytes, std::uint32_t how) {
  const base::indoors now;
  here().checkout(address(at), bytes, static_cast<pgas::access>(how), false, __builtin_return_address(0));
}
void tobi_checkout_wait() {
  const base::indoors now;
  here().finish();
}
bool tobi_readable(const void* at, std::size_t bytes) {
  const base::indoors now;
  return here().readable(address(at), bytes);
}
void tobi_checkin(const void* at, std::size_t bytes, std::uint32_t how) {
  const base::indoors now;
  here().checkin(address(at), bytes, static_cast<pgas::access>(how));
}
void* tobi_global_allocate(std::size_t bytes) {
  const base::indoors now;
  return here().allocate(bytes);
}
void tobi_global_free(void* at, std::size_t bytes) {
  const base::indoors now;
  here().free(at, bytes);
}
void* tobi_global_allocate_all(std::size_t bytes, std::size_t chunk) {
  const base::indoors now;
  return here().allocate_all(bytes, chunk);
}
void tobi_global_free_all(void* at) {
  const base::indoors now;
  here().free_all(at);
}
std::size_t tobi_global_chunk_bytes() {
  const base::indoors now;
  return here().chunk_bytes();
}

}  // extern "C"

}  // namespace tobi::detail
