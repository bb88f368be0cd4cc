#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 6 s
# Installs to a temporary prefix and builds an example there as a user would: with pkg-config, and with CMake.
. "$(dirname "$0")/../harness.inc"
prefix=$folder/prefix
$MAKE -C "$ROOT" --no-print-directory install PREFIX="$prefix" >"$out" 2>&1; verdict $? "make install"

export PKG_CONFIG_PATH=$prefix/lib/pkgconfig TOBI_WORKERS=2
runs() { [ "$("$@" 20 2>>"$out")" = 6765 ]; }
$CXX -std=c++20 -O2 "$ROOT/tools/examples/fib.cc" -o "$folder/shared" $(pkg-config --cflags --libs tobi) -Wl,-rpath,"$prefix/lib" >"$out" 2>&1; verdict $? "pkg-config, shared: builds"
runs "$folder/shared"; verdict $? "pkg-config, shared: runs"
ldd "$folder/shared" | grep -q 'libtobi.so.0 => '"$prefix"; verdict $? "pkg-config, shared: uses the library by its soname"
$CXX -std=c++20 -O2 "$ROOT/tools/examples/fib.cc" -o "$folder/static" $(pkg-config --cflags tobi) "$prefix/lib/libtobi.a" -lhwloc -lpthread -ldl -lm >"$out" 2>&1; verdict $? "pkg-config, the static library: builds"
runs "$folder/static"; verdict $? "pkg-config, the static library: runs"
# The stack protector and no optimization are what a user's debug build has.
$CXX -std=c++20 -O0 -g -fstack-protector-all "$ROOT/tools/examples/fib.cc" -o "$folder/debug" $(pkg-config --cflags --libs tobi) -Wl,-rpath,"$prefix/lib" >"$out" 2>&1 && runs "$folder/debug"; verdict $? "an unoptimized program with stack protector runs"

mkdir "$folder/cmake" && cp "$ROOT/tools/examples/fib.cc" "$folder/cmake/" && cat >"$folder/cmake/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(example CXX)
find_package(tobi 0.1 REQUIRED)
add_executable(with_shared fib.cc)
target_link_libraries(with_shared tobi::tobi)
add_executable(with_static fib.cc)
target_link_libraries(with_static tobi::tobi_static)
END
cmake -S "$folder/cmake" -B "$folder/cmake/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$CXX" >"$out" 2>&1 && cmake --build "$folder/cmake/build" >>"$out" 2>&1; verdict $? "CMake: builds"
runs "$folder/cmake/build/with_shared"; verdict $? "CMake, shared: runs"
runs "$folder/cmake/build/with_static"; verdict $? "CMake, static: runs"

# The library shows its own names only: a program that links it keeps its own malloc.
nm -D --defined-only "$prefix/lib/libtobi.so" | awk '{print $3}' | grep -vE '^(tobi_|TOBI_0|_ZN4tobi|_ZNK4tobi|_ZT[ISV]N4tobi)' >"$out"
[ ! -s "$out" ]; verdict $? "the shared library exports nothing but tobi's names"
! nm -g --defined-only "$prefix/lib/libtobi.a" 2>/dev/null | awk '{print $3}' | grep -xE 'malloc|free|calloc|realloc|mallocx|_Znwm' >"$out"; verdict $? "the static library defines no malloc"
readelf -d "$prefix/lib/libtobi.so" | grep -q 'SONAME.*\[libtobi.so.0\]'; verdict $? "the soname is libtobi.so.0"
finish
