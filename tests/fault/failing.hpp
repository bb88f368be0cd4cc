// SPDX-License-Identifier: Apache-2.0
// Which calls fail, for what is preloaded into a job. FAIL_CALL names the function and FAIL_AT the call, from 1 on,
// counted in each process by itself (a worker that is forked goes on from its parent's count); with FAIL_COUNT=job it
// is one count for all processes, so that one worker alone meets it. With FAIL_ON=all every call from that one on
// fails. FAIL_RATE=PERCENT fails so many of them instead, and FAIL_WITH is the error's number where another one is
// wanted.
#pragma once

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

namespace failing {

template <class F>
F real(F, const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

inline long number(const char* name) { return getenv(name) != nullptr ? atol(getenv(name)) : 0; }

struct plan {
  const char* call = getenv("FAIL_CALL");
  long at = number("FAIL_AT");
  long rate = number("FAIL_RATE");
  int with = static_cast<int>(number("FAIL_WITH"));
  bool all = getenv("FAIL_ON") != nullptr;
  long own = 0;
  long* count = &own;

  plan() {
    const char* of = getenv("FAIL_COUNT");
    if (of == nullptr || strcmp(of, "job") != 0) return;
    void* at_all =
        real(&::mmap, "mmap")(nullptr, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at_all != MAP_FAILED) count = static_cast<long*>(at_all);
  }
};
inline plan what;

/// Whether this call of the function fails; WITH is its error otherwise than FAIL_WITH says.
inline bool fails(const char* call, int& with) {
  plan& p = what;
  if (p.call == nullptr || strcmp(p.call, call) != 0) return false;
  const long n = __atomic_add_fetch(p.count, 1, __ATOMIC_RELAXED);
  if (p.with != 0) with = p.with;
  if (p.rate != 0) return n * 7919 % 100 < p.rate;
  return n == p.at || (p.all && n > p.at);
}

}  // namespace failing
