// The exceptions under way, which the C++ runtime counts for a thread, here of a task: whoever leaves a task in the
// middle takes them, and gives them back when it goes on in the same process. They are memory of that process.
#pragma once

#include <cxxabi.h>

#include <cstring>

namespace tobi::tasks {

/// What the Itanium C++ ABI keeps of them (section 2.2.2 of its chapter on exceptions).
struct exceptions_under_way {
  void* caught;
  unsigned uncaught;
};

inline exceptions_under_way take_exceptions() noexcept {
  exceptions_under_way taken;
  auto* at = __cxxabiv1::__cxa_get_globals();
  std::memcpy(&taken, at, sizeof taken);
  const exceptions_under_way none{};
  std::memcpy(at, &none, sizeof none);
  return taken;
}

inline void give_exceptions(const exceptions_under_way& back) noexcept {
  std::memcpy(__cxxabiv1::__cxa_get_globals(), &back, sizeof back);
}

}  // namespace tobi::tasks
