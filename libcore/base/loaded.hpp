// SPDX-License-Identifier: Apache-2.0
// Code that must not go before its process.
#pragma once

#include <dlfcn.h>
#include <link.h>

namespace tobi::base {

/// The shared library or plugin that CODE lies in stays when it is closed (dlclose): handlers of signals and of exit()
/// are in it, and threads that end with the process. Nothing happens where the code is the program's own.
inline void keep_loaded(const void* code) noexcept {
  Dl_info where{};
  link_map* module = nullptr;
  if (dladdr1(code, &where, reinterpret_cast<void**>(&module), RTLD_DL_LINKMAP) == 0 || module == nullptr) return;
  if (module->l_name[0] != '\0') (void)dlopen(module->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

}  // namespace tobi::base
