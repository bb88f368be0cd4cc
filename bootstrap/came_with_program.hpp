// SPDX-License-Identifier: Apache-2.0
// What was loaded with the program, and what dlopen has brought.
//
// Linked into the program, a constructor of this library runs before main. In a plugin, or in a module of an
// interpreter, it runs in the middle of a program that has read its input and opened its files.
#pragma once

#include <link.h>

#include <vector>

namespace tobi::bootstrap {

/// Whether this code was loaded when the program was: it is the program's own, or of a library that the program, or
/// LD_PRELOAD, needs. False: dlopen has brought it. Allocates; takes the loader's lock.
[[nodiscard]] bool came_with_program();

/// Where the objects lie (dlpi_addr) in which a task can have a frame, or code that it has a pointer to, in the
/// loader's order, the program first. They are all that are loaded now, but for the kernel's, the components that MPI's
/// libraries have opened, and what only these need: each process has them where its own allocations left room. Takes
/// the loader's lock.
[[nodiscard]] std::vector<ElfW(Addr)> places_of_task_code();

/// Whether /proc/self/exe is the program that runs here. Under valgrind it is valgrind.
[[nodiscard]] bool is_exe_the_program();

}  // namespace tobi::bootstrap
