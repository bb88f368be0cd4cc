// SPDX-License-Identifier: Apache-2.0
// What a program's function throws leaves an algorithm as task_error, wherever it was thrown: in a task that was forked
// or in the caller. Not for users.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include "tobi/detail/standard.hpp"
#include "tobi/error.hpp"

#ifdef TOBI_ELIDE
#include <cxxabi.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <typeinfo>
#endif

namespace tobi {

#ifdef TOBI_ELIDE

inline namespace elided {
namespace pieces {
/// In a catch clause: throws what is being handled as task_error.
[[noreturn]] inline void rethrow() {
  std::string type_name;
  if (const std::type_info* type = abi::__cxa_current_exception_type()) {
    int ok = 0;
    const std::unique_ptr<char, void (*)(void*)> readable(abi::__cxa_demangle(type->name(), nullptr, nullptr, &ok),
                                                          std::free);
    type_name = ok == 0 ? readable.get() : type->name();
  }
  try {
    throw;
  } catch (const task_error&) {
    throw;
  } catch (const std::exception& e) {
    throw task_error(type_name, std::string(e.what()).substr(0, 199), 0);
  } catch (...) {
    throw task_error(type_name, "", 0);
  }
}
}  // namespace pieces
}  // namespace elided

#else

namespace detail {
extern "C" {
/// In a catch clause: throws what is being handled as task_error.
[[noreturn]] void tobi_rethrow();
}
}  // namespace detail

namespace pieces {
[[noreturn]] inline void rethrow() { detail::tobi_rethrow(); }
}  // namespace pieces

#endif

#ifdef TOBI_ELIDE
inline namespace elided {
#endif

namespace pieces {
/// CALL(), once for a whole algorithm: nothing is paid where nothing is thrown.
template <class Call>
decltype(auto) with_one_error(const Call& call) {
  try {
    return call();
  } catch (...) {
    rethrow();
  }
}
}  // namespace pieces

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
