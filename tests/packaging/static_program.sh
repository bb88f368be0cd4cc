#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 6 s
# A program that is linked statically as a whole, by what pkg-config --static and CMake name: hwloc's own libraries among it.
# Where one of these has no static library (libudev has none in Debian), one without devices stands in for it.
. "$(dirname "$0")/../harness.inc"
if ! pkg-config --exists hwloc; then skip "pkg-config does not know hwloc: its package is missing"; finish; fi
prefix=$folder/prefix
$MAKE -C "$ROOT" --no-print-directory install PREFIX="$prefix" >"$out" 2>&1; verdict $? "make install"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig TOBI_WORKERS=2

named=$(pkg-config --static --libs-only-l tobi)
for library in $(pkg-config --static --libs-only-l hwloc); do case " $named " in *" $library "*) ;; *) echo "$library" ;; esac; done >"$out"
[ ! -s "$out" ]; verdict $? "pkg-config --static names all that a static hwloc needs"
case " $(pkg-config --libs tobi) " in *hwloc*) false ;; esac; verdict $? "pkg-config without --static does not name hwloc"

# links WHAT: whether a program that uses nothing of it links with -static.
echo 'int main() {}' >"$folder/empty.cc"
links() { $CXX -static "$folder/empty.cc" -o "$folder/empty" -L"$folder" "$1" >/dev/null 2>&1; }
mkdir "$folder/stand-in"
if ! links -lhwloc; then skip "a static program: there is no libhwloc.a here"; finish; fi
for library in $(pkg-config --static --libs-only-l hwloc); do
  links "$library" && continue
  if [ "$library" != -ludev ]; then skip "a static program: there is no static $library here"; finish; fi
  cat >"$folder/udev.c" <<'END'
void* udev_new(void) { return 0; }
void* udev_unref(void* u) { return u; }
void* udev_device_new_from_subsystem_sysname(void* u, const char* s, const char* n) { return (void)u, (void)s, (void)n, (void*)0; }
void* udev_device_unref(void* d) { return d; }
const char* udev_device_get_property_value(void* d, const char* k) { return (void)d, (void)k, (const char*)0; }
END
  $CXX -x c -c "$folder/udev.c" -fPIC -o "$folder/udev.o" && ar crs "$folder/stand-in/libudev.a" "$folder/udev.o"
done

for how in -static -static-pie; do
  pie=; [ "$how" = -static ] || pie=-fPIE
  $CXX -std=c++20 -O2 $pie $how "$ROOT/tools/examples/fib.cc" -o "$folder/fib" $(pkg-config --static --cflags --libs tobi) -L"$folder/stand-in" >"$out" 2>&1; verdict $? "$how: builds"
  [ "$(limited "$folder/fib" 20 2>>"$out")" = 6765 ]; verdict $? "$how: runs"
  ! ldd "$folder/fib" >/dev/null 2>&1 || ldd "$folder/fib" 2>&1 | grep -q 'statically linked'; verdict $? "$how: needs no shared library"
done

if command -v cmake >/dev/null; then
  mkdir "$folder/cmake" && cp "$ROOT/tools/examples/fib.cc" "$folder/cmake/" && cat >"$folder/cmake/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(example CXX)
find_package(tobi 0.1 REQUIRED)
add_executable(fib fib.cc)
target_link_libraries(fib tobi::tobi_static)
END
  cmake -S "$folder/cmake" -B "$folder/cmake/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$CXX" "-DCMAKE_EXE_LINKER_FLAGS=-static -L$folder/stand-in" >"$out" 2>&1 &&
    cmake --build "$folder/cmake/build" >>"$out" 2>&1 && [ "$(limited "$folder/cmake/build/fib" 20 2>>"$out")" = 6765 ]
  verdict $? "CMake, -static: builds and runs"
else
  skip "cmake: not installed"
fi
finish
