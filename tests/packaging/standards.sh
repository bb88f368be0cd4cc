#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 12 s
# The language standard is the user's: neither pkg-config nor CMake chooses one that the user has not, and the headers compile
# without a word in each that there is, for large and over-aligned closures too. In a soak: clang++ too, and each standard.
. "$(dirname "$0")/../harness.inc"
prefix=$folder/prefix
$MAKE -C "$ROOT" --no-print-directory install PREFIX="$prefix" >"$out" 2>&1; verdict $? "make install"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig

cat >"$folder/program.cc" <<'END'
#include <tobi/tobi.hpp>
#ifdef WANTED
static_assert(__cplusplus > 202002L);
#endif
struct alignas(64) line { long v[8]; };
struct large { long v[64]; };
long first(const line& l, long more) { return l.v[0] + more; }
int main() {
  tobi::runtime rt;
  const line l{{1, 2, 3}};
  const large big{{4, 5, 6}};
  const long r = tobi::run([=] {
    auto one = tobi::spawn([=] { return l.v[1]; });
    auto two = tobi::spawn([=] { return big.v[2]; });
    auto three = tobi::spawn(first, l, 1);
    auto later = tobi::spawn_future([=] { return l.v[2]; });
    tobi::finish([=] { tobi::async([=] { (void)l.v[0]; }); });
    tobi::parallel_for(0, 10, 1, [=](int) { (void)l.v[0]; });
    const auto [a, b] = tobi::parallel_invoke([=] { return l.v[0]; }, [=] { return big.v[0]; });
    const long s = tobi::parallel_reduce(0, 4, 1, 0L, [=](int i) { return l.v[i]; }, [](long x, long y) { return x + y; });
    tobi::global_vector<long> v(100, 1L);
    tobi::for_each(v.span(), [=](long& x) { x += l.v[0]; });
    const long t = tobi::transform_reduce(v.span(), 0L, [](long x, long y) { return x + y; }, [=](long x) { return x + l.v[0]; });
    tobi::transform(v.span(), v.span(), [=](long x) { return x + l.v[1]; });
    tobi::count_if(v.span(), [=](long x) { return x > l.v[1]; });
    tobi::find_if(v.span(), [=](long x) { return x > l.v[1]; });
    return one.join() + two.join() + three.join() + later.join() + a + b + s + t;
  });
  return r == 2 + 6 + 2 + 3 + 1 + 4 + 6 + 300 ? 0 : 1;
}
END
compilers=$CXX
if ! in_soak; then :; elif command -v clang++ >/dev/null; then compilers="$CXX clang++"; else skip "clang++: not installed"; fi
for compiler in $compilers; do
  for standard in c++20 ${SOAK:+gnu++20 c++2b} gnu++2b; do
    $compiler -std=$standard -O2 -Wall -Wextra -Wconversion -Wshadow -Werror -DTOBI_HEADER_WARNINGS "$folder/program.cc" -o "$folder/program" $(pkg-config --cflags --libs tobi) -Wl,-rpath,"$prefix/lib" >"$out" 2>&1 &&
      [ ! -s "$out" ] && TOBI_WORKERS=2 limited "$folder/program" >>"$out" 2>&1
    verdict $? "$compiler -std=$standard compiles without a word, and runs"
    $compiler -std=$standard -DTOBI_ELIDE -O1 -Wall -Wextra -Wconversion -Wshadow -Werror -DTOBI_HEADER_WARNINGS -fsyntax-only $(pkg-config --cflags tobi) "$folder/program.cc" >"$out" 2>&1 && [ ! -s "$out" ]
    verdict $? "$compiler -std=$standard, the serial elision: compiles without a word"
  done
done
$CXX -std=c++2b -DWANTED -fsyntax-only "$folder/program.cc" $(pkg-config --cflags tobi) >"$out" 2>&1; verdict $? "pkg-config leaves the user's standard alone"

mkdir "$folder/cmake"
cat >"$folder/cmake/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.20)
project(example CXX)
find_package(tobi 0.1 REQUIRED)
add_executable(program ../program.cc)
target_link_libraries(program tobi::tobi_static)
END
cmake_builds() {  # NAME OPTION...
  rm -rf "$folder/build"
  cmake -S "$folder/cmake" -B "$folder/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$CXX" "${@:2}" >"$out" 2>&1 && cmake --build "$folder/build" >>"$out" 2>&1 &&
    TOBI_WORKERS=2 limited "$folder/build/program" >>"$out" 2>&1
  verdict $? "CMake: $1"
}
if command -v cmake >/dev/null; then
  cmake_builds "a project that names no standard gets one that serves"
  ! in_soak || cmake_builds "a project's CMAKE_CXX_STANDARD stays" -DCMAKE_CXX_STANDARD=23 -DCMAKE_CXX_FLAGS=-DWANTED
  cmake_builds "a -std among the flags stays" "-DCMAKE_CXX_FLAGS=-std=c++2b -DWANTED"
else
  skip "cmake: not installed"
fi
finish
