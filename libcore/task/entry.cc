// The C names: what the assembly and the templates of the public headers call.
#include "libcore/task/worker.hpp"
#include "tobi/future.hpp"
#include "tobi/task.hpp"

using tobi::tasks::this_worker;

extern "C" {

void tobi_on_fork(std::uintptr_t sp, std::uint64_t* words) noexcept { this_worker().on_fork(sp, words); }
void tobi_on_return(std::uintptr_t sp, std::uint64_t a, std::uint64_t b) noexcept { this_worker().on_return(sp, a, b); }

}  // extern "C"

namespace tobi::detail {

extern "C" {

void* tobi_result_slot(void* cfa, std::uint32_t bytes, std::uint32_t offset) noexcept {
  return this_worker().result_slot(reinterpret_cast<std::uintptr_t>(cfa), bytes, offset);
}
void tobi_task_failed(void* cfa) noexcept { this_worker().task_failed(reinterpret_cast<std::uintptr_t>(cfa)); }
void tobi_join(handle* h, void* result, std::uint32_t bytes) { this_worker().join(h->record, result, bytes); }
void tobi_abandon(handle* h) noexcept { this_worker().abandon(h->record); }

std::uint64_t tobi_future_create(std::uint32_t consumers) noexcept { return this_worker().future_create(consumers); }
void tobi_future_set(std::uint64_t record, const void* value, std::uint32_t bytes) noexcept {
  this_worker().future_set(record, value, bytes);
}
void tobi_future_fail(std::uint64_t record) noexcept { this_worker().future_fail(record); }
void tobi_future_join(std::uint64_t record, void* value, std::uint32_t bytes) {
  this_worker().future_join(record, value, bytes);
}

}  // extern "C"

}  // namespace tobi::detail

namespace tobi {
void poll() noexcept { this_worker().poll(); }
}  // namespace tobi
