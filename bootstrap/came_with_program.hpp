// SPDX-License-Identifier: Apache-2.0
// What a constructor of this library may take for granted. Linked into the program it runs before main. In a plugin, or
// in a module of an interpreter, it runs in the middle of a program that has read its input and opened its files.
#pragma once

namespace tobi::bootstrap {

/// Whether this code was loaded when the program was: it is the program's own, or of a library that the program, or
/// LD_PRELOAD, needs. False: dlopen has brought it. Allocates; takes the loader's lock.
[[nodiscard]] bool came_with_program();

/// Whether /proc/self/exe is the program that runs here. Under valgrind it is valgrind.
[[nodiscard]] bool is_exe_the_program();

}  // namespace tobi::bootstrap
