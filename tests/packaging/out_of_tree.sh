#!/usr/bin/env bash
# Installs to a temporary prefix and builds an example there as a user would: with pkg-config, and with CMake.
set -u
: "${ROOT:=$PWD}" "${MAKE:=make}" "${CXX:=g++}"
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
failed=0
say() { if [ "$1" -eq 0 ]; then echo "ok - $2"; else echo "not ok - $2"; tail -n 15 "$work/log"; failed=1; fi; }
prefix=$work/prefix
$MAKE -C "$ROOT" --no-print-directory install PREFIX="$prefix" >"$work/log" 2>&1; say $? "make install"

export PKG_CONFIG_PATH=$prefix/lib/pkgconfig TOBI_WORKERS=2
runs() { [ "$("$@" 20 2>>"$work/log")" = 6765 ]; }
$CXX -O2 "$ROOT/tools/examples/fib.cc" -o "$work/shared" $(pkg-config --cflags --libs tobi) -Wl,-rpath,"$prefix/lib" >"$work/log" 2>&1; say $? "pkg-config, shared: builds"
runs "$work/shared"; say $? "pkg-config, shared: runs"
ldd "$work/shared" | grep -q 'libtobi.so.0 => '"$prefix"; say $? "pkg-config, shared: uses the library by its soname"
$CXX -O2 "$ROOT/tools/examples/fib.cc" -o "$work/static" $(pkg-config --cflags tobi) "$prefix/lib/libtobi.a" $(pkg-config --static --libs-only-l tobi | sed 's/-ltobi//') >"$work/log" 2>&1; say $? "pkg-config, static: builds"
runs "$work/static"; say $? "pkg-config, static: runs"
# The stack protector and no optimization are what a user's debug build has.
$CXX -O0 -g -fstack-protector-all "$ROOT/tools/examples/fib.cc" -o "$work/debug" $(pkg-config --cflags --libs tobi) -Wl,-rpath,"$prefix/lib" >"$work/log" 2>&1 && runs "$work/debug"; say $? "an unoptimized program with stack protector runs"

mkdir "$work/cmake" && cp "$ROOT/tools/examples/fib.cc" "$work/cmake/" && cat >"$work/cmake/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(example CXX)
find_package(tobi 0.1 REQUIRED)
add_executable(with_shared fib.cc)
target_link_libraries(with_shared tobi::tobi)
add_executable(with_static fib.cc)
target_link_libraries(with_static tobi::tobi_static)
END
cmake -S "$work/cmake" -B "$work/cmake/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$CXX" >"$work/log" 2>&1 && cmake --build "$work/cmake/build" >>"$work/log" 2>&1; say $? "CMake: builds"
runs "$work/cmake/build/with_shared"; say $? "CMake, shared: runs"
runs "$work/cmake/build/with_static"; say $? "CMake, static: runs"

# The library shows its own names only: a program that links it keeps its own malloc.
nm -D --defined-only "$prefix/lib/libtobi.so" | awk '{print $3}' | grep -vE '^(tobi_|TOBI_0|_ZN4tobi|_ZNK4tobi|_ZT[ISV]N4tobi)' >"$work/log"
[ ! -s "$work/log" ]; say $? "the shared library exports nothing but tobi's names"
! nm -g --defined-only "$prefix/lib/libtobi.a" 2>/dev/null | awk '{print $3}' | grep -xE 'malloc|free|calloc|realloc|mallocx|_Znwm' >"$work/log"; say $? "the static library defines no malloc"
readelf -d "$prefix/lib/libtobi.so" | grep -q 'SONAME.*\[libtobi.so.0\]'; say $? "the soname is libtobi.so.0"
exit $failed
