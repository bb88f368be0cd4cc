// SPDX-License-Identifier: Apache-2.0
#include "libcore/task/failures.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "tobi/error.hpp"

namespace tobi::tasks {

namespace {

// The exception being handled.
failure describe_exception(int rank) {
  failure kept{};
  kept.rank = rank;
  if (const std::type_info* type = abi::__cxa_current_exception_type()) {
    int ok = 0;
    const std::unique_ptr<char, void (*)(void*)> readable(abi::__cxa_demangle(type->name(), nullptr, nullptr, &ok),
                                                          std::free);
    std::strncpy(kept.type_name, ok == 0 ? readable.get() : type->name(), sizeof kept.type_name - 1);
  }
  try {
    throw;
  } catch (const task_error& e) {
    // A failure that passes through several joins keeps its first name.
    std::strncpy(kept.type_name, e.type_name().c_str(), sizeof kept.type_name - 1);
    std::strncpy(kept.message, e.message().c_str(), sizeof kept.message - 1);
    kept.rank = e.rank();
  } catch (const std::exception& e) {
    std::strncpy(kept.message, e.what(), sizeof kept.message - 1);
  } catch (...) {
  }
  return kept;
}

}  // namespace

void throw_task_error(const failure& what) { throw task_error(what.type_name, what.message, what.rank); }

std::uint64_t failures::keep() noexcept {
  auto* kept = static_cast<failure*>(objects_.need(sizeof(failure), "for an exception"));
  *kept = describe_exception(net_->rank());
  return net_->here(kept).word;
}

failure failures::read(net::location where) {
  failure what;
  net_->get(where, &what, sizeof what);
  return what;
}

failure failures::take(net::location where) {
  const failure what = read(where);
  objects_.free(where);
  return what;
}

// Outside of tasks too, where an algorithm is small enough to fork none.
void failures::rethrow() const { throw_task_error(describe_exception(net_ == nullptr ? 0 : net_->rank())); }

}  // namespace tobi::tasks
