#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 17 s
# Random programs of forks: arguments, results and what lives across a fork are of all sizes, classes and alignments, for each
# compiler and several levels of optimization. Each prints what its serial elision prints.
#   tests/apps/fork_programs.sh [PROGRAMS [FUNCTIONS [SEED]]]     by hand: as many as one likes, from any seed
. "$(dirname "$0")/../harness.inc"
programs=${1:-1} functions=${2:-24} RANDOM=${3:-1}
lib="${LIB:-$ROOT/$OUT/lib/libtobi.a} -lhwloc -lpthread -ldl -lm"

types=(bool char short int word float double "long double" wide_int v2 v4 v8 "box<v2>" "box<v4>" "box<v8>" pair
  "blob<1, 1>" "blob<3, 1>" "blob<9, 1>" "blob<15, 1>" "blob<16, 16>" "blob<17, 1>" "blob<24, 8>" "blob<32, 8>" "blob<33, 1>"
  "blob<32, 32>" "blob<40, 8>" "blob<64, 64>" "blob<128, 128>" "blob<300, 4>" "blob<2000, 16>" "blob<4096, 64>")
any() { type=${types[RANDOM % ${#types[@]}]}; }
chance() { [ $((RANDOM % 100)) -lt "$1" ]; }

# Arguments go by reference: compilers do not agree on where an over-aligned one that goes by value is placed.
program() {  # writes one
  local i k kinds call
  result=() argument=()
  for ((i = 0; i < functions; ++i)); do any; result[i]=$type; any; argument[i]=$type; done
  echo '#include "tests/apps/fork_programs.hpp"'
  for ((i = 0; i < functions; ++i)); do echo "static ${result[i]} f$i(const ${argument[i]}& a, word s, int d);"; done
  for ((i = 0; i < functions; ++i)); do
    local child=$((RANDOM % functions)) other=$((RANDOM % functions)) locals=$((RANDOM % 5)) later=""
    echo "[[gnu::noinline]] static ${result[i]} f$i(const ${argument[i]}& a, word s, int d) {"
    echo "  word h = mix(s, hash(a));"
    for ((k = 0; k < locals; ++k)); do
      any
      case $((RANDOM % 5)) in
        0 | 1 | 2) echo "  $type l$k = make<$type>(h + $k);"; later+="  h = mix(h, hash(l$k));"$'\n' ;;
        3) echo "  alignas($((16 << RANDOM % 4))) unsigned char l$k[$((RANDOM % 200 + 1))]; fill(l$k, sizeof l$k, h + $k);"
           later+="  h = mix(h, hash_bytes(l$k, sizeof l$k));"$'\n' ;;
        4) echo "  const std::size_t n$k = h % 100 + 1; void* l$k = alloca(n$k); fill(l$k, n$k, h + $k);"
           later+="  h = mix(h, hash_bytes(l$k, n$k));"$'\n' ;;
      esac
    done
    echo "  if (d == 0) {"
    chance 30 && echo "    if (h % 4 == 0) throw std::runtime_error(\"thrown\");"
    echo "    return make<${result[i]}>(h);"
    echo "  }"
    any
    call="f$child(make<${argument[child]}>(h), mix(h), d - 1)"
    echo "  word x = 1, y = 2;"
    if chance 70; then  # something large or aligned is captured beside h and d
      echo "  const $type c = make<$type>(h + 9);"
      call="f$child(make<${argument[child]}>(h), hash(c), d - 1)"
    fi
    local how=spawn
    chance 25 && how=spawn_future
    echo "  try {"
    echo "    auto t = tobi::$how([=] { return $call; });"
    echo "    try { y = hash(f$other(make<${argument[other]}>(h + 3), h + 4, d - 1)); } catch (const std::runtime_error&) { y = 3; }"
    chance 30 && echo "    { auto u = tobi::spawn([=] { return make<$type>(h + 5); }); y = mix(y, hash(u.join())); }"
    echo "    x = hash(t.join());"
    echo "  } catch (const std::runtime_error&) { x = 4; y = 5; }"
    echo -n "$later"
    echo "  return make<${result[i]}>(mix(mix(h, x), y));"
    echo "}"
  done
  echo "int main(int argc, char** argv) {"
  echo "  tobi::runtime rt(argc, argv);"
  for ((i = 0; i < functions; ++i)); do
    echo "  { word r = 6; try { r = hash(tobi::run([] { return f$i(make<${argument[i]}>($i), $i, 5); })); } catch (const std::runtime_error&) {}"
    echo "    if (rt.rank() == 0) std::printf(\"f$i %016llx\\n\", static_cast<unsigned long long>(r)); }"
  done
  echo "}"
}

built() {  # compiler and flags, then the name of the program
  run "${@:2}" -std=gnu++20 -w -I"$ROOT" -I"$ROOT/libcore/include" "$folder/program.cc" -o "$folder/$1" $lib
}
ways=("$CXX -O0" "$CXX -O2")
! in_soak || ways+=("$CXX -Os -fno-omit-frame-pointer")
grep -qw avx2 /proc/cpuinfo && ways+=("$CXX -O3 -mavx2")
if command -v clang++ >/dev/null; then
  ways+=("clang++ -O2")
  ! in_soak || ways+=("clang++ -O0")
  [ "$programs" -eq 1 ] || ways+=("clang++ -O1 -mavx2" "clang++ -Os")
else
  skip "clang++: not installed"
fi
[ "$programs" -eq 1 ] || ways+=("$CXX -O1" "$CXX -O3 -march=native -funroll-all-loops -frename-registers" "$CXX -O2 -flto")
for ((p = 0; p < programs; ++p)); do
  program >"$folder/program.cc"
  # Once: what the elision prints does not depend on how it was compiled.
  if ! built serial $CXX -O1 -DTOBI_ELIDE; then verdict 1 "program $p: the serial elision builds"; continue; fi
  run TOBI_WORKERS=1 "$folder/serial"
  status=$?
  cp "$out" "$folder/expected"
  [ "$status" -eq 0 ] && [ "$(wc -l <"$folder/expected")" -eq "$functions" ] || verdict 1 "program $p: the serial elision runs"
  for way in "${ways[@]}"; do
    if ! built parallel $way; then verdict 1 "program $p, $way: builds"; continue; fi
    for setting in TOBI_WORKERS=1 TOBI_WORKERS=3 "TOBI_WORKERS=1 TOBI_DEBUG_MIGRATE=1"; do
      run $setting "$folder/parallel"
      status=$?
      cmp -s "$out" "$folder/expected" || { status=1; diff "$out" "$folder/expected" | head -4 >>"$err"; }
      verdict $status "program $p of $functions functions, $way, $setting: prints what its elision prints"
    done
  done
done
finish
