#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 14 s
# What compilers do with frames and registers around forks (fork_abi.cc), for each compiler and several levels of optimization;
# those in the middle in a soak. Of AVX-512 only the code is looked at: not every machine has it.
. "$(dirname "$0")/../harness.inc"
lib="${LIB:-$ROOT/$OUT/lib/libtobi.a} -lhwloc -lpthread -ldl -lm"
compilers=$CXX
if command -v clang++ >/dev/null; then compilers="$CXX clang++"; else skip "clang++: not installed"; fi
avx2=
grep -qw avx2 /proc/cpuinfo && avx2=-mavx2

for compiler in $compilers; do
  for flags in "-std=c++20 -O0" ${SOAK:+"-std=gnu++20 -O1" "-std=c++20 -O2"} "-std=gnu++20 -O3 $avx2 -flto"; do
    # The linker has no plugin for clang's own intermediate code.
    [ "$compiler" = clang++ ] && flags=${flags/ -flto/ -fno-omit-frame-pointer}
    # -w: GCC notes that an ABI for over-aligned parameters changed once.
    if ! run $compiler $flags -w -I"$ROOT/libcore/include" "$ROOT/tests/apps/fork_abi.cc" -o "$folder/program" $lib; then
      verdict 1 "$compiler $flags: builds"
      continue
    fi
    for setting in TOBI_WORKERS=1 TOBI_WORKERS=3 "TOBI_WORKERS=1 TOBI_DEBUG_MIGRATE=1" "TOBI_WORKERS=2 TOBI_DEQUE=the" "TOBI_WORKERS=2 TOBI_SCHED=child_full"; do
      run $setting "$folder/program"
      verdict $? "$compiler $flags, $setting"
    done
  done
done

# Registers that only AVX-512 has, in functions that have it by an attribute or a pragma behind the header: whatever is read
# behind the fork must have been written there.
cat >"$folder/mask.inc" <<'END'
double f(const double* p, double n) {
  __m512d a = _mm512_loadu_pd(p), b = a * a, c = a + n;
  const __mmask8 m = _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ);
  auto t = tobi::spawn([=] { return n + 1; });
  b = _mm512_mask_add_pd(b, m, c, a);
  b = b + c * a;
  const double y = t.join();
  return y + b[3] + c[1];
}
END
printf '#include <immintrin.h>\n#include <tobi/tobi.hpp>\n__attribute__((target("avx512f"))) ' | cat - "$folder/mask.inc" >"$folder/attribute.cc"
printf '#include <immintrin.h>\n#include <tobi/tobi.hpp>\n#pragma GCC target("avx512f")\n' | cat - "$folder/mask.inc" >"$folder/pragma.cc"
read_before_written() {
  awk '/^_Z1fPKdd:/ { inside = 1 }
    inside && /call.*(tobi_fork|tobi5spawn)/ && !behind { behind = 1; next }
    behind && /^[^ \t.]*:/ { exit }
    behind && /(%zmm|%k[0-7])/ {
      n = split($0, operand, ",")
      for (i = 1; i <= n; ++i) {
        rest = operand[i]
        while (match(rest, /%(zmm[0-9]+|k[0-7])/)) {
          name = substr(rest, RSTART, RLENGTH)
          destination = i == n && substr(rest, RSTART - 1, 1) != "{"
          if (!destination && !(name in written)) { print; bad = 1 }
          if (destination) written[name] = 1
          rest = substr(rest, RSTART + RLENGTH)
        }
      }
      any = 1
    }
    END { if (!behind || !any) print "no fork, or no vectors behind it" }' "$1"
}
if [ "$(uname -m)" = x86_64 ]; then
  for compiler in $compilers; do
    for form in attribute pragma; do
      [ "$compiler $form" = "clang++ pragma" ] && continue  # which clang does not know
      run $compiler -std=c++20 -O2 -w -I"$ROOT/libcore/include" -S "$folder/$form.cc" -o "$folder/code.s"
      status=$?
      read_before_written "$folder/code.s" >"$out"
      all "$compiler, AVX-512 by $form: no register lives across a fork" '[ $status -eq 0 ]' '[ ! -s "$out" ]'
    done
  done
else
  skip "AVX-512: not this architecture"
fi
finish
