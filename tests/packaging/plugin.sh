#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program that was started without Tobiuo opens a plugin that uses it, as Python does with modules: linked with the
# shared library, and with the static one inside.
. "$(dirname "$0")/../harness.inc"
lib=$ROOT/$OUT/lib
cat >"$folder/plugin.cc" <<'END'
#include <cstdio>
#include <stdexcept>
#include <tobi/tobi.hpp>
static long fib(long n) {
  if (n < 2) return n;
  auto x = tobi::spawn([=] { return fib(n - 1); });
  const long y = fib(n - 2);
  return x.join() + y;
}
extern "C" int plugin_main(int argc, char** argv) {
  tobi::runtime rt(argc, argv);
  const long r = tobi::run([] { return fib(25); });
  bool thrown = false;
  try {
    tobi::run([] { tobi::spawn([] { throw std::runtime_error("on purpose"); }).join(); });
  } catch (const tobi::task_error&) {
    thrown = true;
  }
  const auto all = tobi::allocate_all<int>(50000);
  const long sum = tobi::run([=] {
    tobi::fill(all, 2);
    return static_cast<long>(tobi::reduce(all));
  });
  tobi::free_all(all);
  if (rt.rank() == 0) std::printf("%d workers: %ld %ld %d\n", rt.size(), r, sum, thrown);
  return 0;
}
END
cat >"$folder/host.cc" <<'END'
#include <dlfcn.h>
#include <cstdio>
int main(int argc, char** argv) {
  void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const int status = reinterpret_cast<int (*)(int, char**)>(dlsym(plugin, "plugin_main"))(argc, argv);
  if (argc > 2) dlclose(plugin);
  return status;
}
END
flags="-std=c++20 -O2 -I$ROOT/libcore/include -fPIC"
{ $CXX -O2 "$folder/host.cc" -o "$folder/host" -ldl && $CXX $flags -c "$folder/plugin.cc" -o "$folder/plugin.o"; } >"$out" 2>&1; verdict $? "the host and the plugin build"
$CXX -shared "$folder/plugin.o" -o "$folder/shared.so" -L"$lib" -ltobi -Wl,-rpath,"$lib" >"$out" 2>&1; verdict $? "with libtobi.so"
$CXX -shared "$folder/plugin.o" -o "$folder/static.so" "$lib/libtobi.a" -Wl,-z,defs -lhwloc -lpthread -ldl -lm >"$out" 2>&1; verdict $? "with libtobi.a"
for with in shared static; do
  for workers in 1 2; do
    got=$(TOBI_WORKERS=$workers limited "$folder/host" "$folder/$with.so" 2>"$out")
    [ "$got" = "$workers workers: 75025 100000 1" ]; verdict $? "$with: a host without Tobiuo runs it, $workers workers"
    run TOBI_WORKERS=$workers "$folder/host" "$folder/$with.so" close
    all "$with: and may close it before it ends, $workers workers" '[ $status -eq 0 ]' silent 'says "^$workers workers: 75025 100000 1$"'
  done
done
# --- a plugin that comes after the runtime: where it lies is up to each process ---
cat >"$folder/late.cc" <<'END'
#include <tobi/tobi.hpp>
static long fib(long n) {
  if (n < 2) return n;
  auto x = tobi::spawn([=] { return fib(n - 1); });
  const long y = fib(n - 2);
  return x.join() + y;
}
extern "C" long plugin_fib(long n) { return tobi::run([=] { return fib(n); }); }
END
cat >"$folder/opens.cc" <<'END'
#include <dlfcn.h>
#include <sys/mman.h>
#include <cstdio>
#include <cstdlib>
#include <tobi/tobi.hpp>
int main(int argc, char** argv) {
  tobi::runtime rt(argc, argv);
  // What has been mapped before decides where the next goes: whether a module's gap is filled, too.
  if (rt.rank() == std::atoi(argv[2])) {
    for (int i = 0; i < 400; ++i) mmap(nullptr, 1 << (12 + i % 12), i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  void* plugin = dlopen(argv[1], RTLD_NOW);
  if (plugin == nullptr) return 3;
  const auto fib = reinterpret_cast<long (*)(long)>(dlsym(plugin, "plugin_fib"));
  long wrong = 0;
  for (int i = 0; i < 5; ++i) wrong += fib(25) != 75025;
  if (rt.rank() == 0) std::printf("%ld wrong\n", wrong);
}
END
{ $CXX $flags "$folder/opens.cc" -o "$folder/opens" -L"$lib" -ltobi -ldl -Wl,-rpath,"$lib" && $CXX $flags -shared "$folder/late.cc" -o "$folder/late.so" -L"$lib" -ltobi; } >"$out" 2>&1; verdict $? "a program that opens a plugin later builds"
got=$(TOBI_WORKERS=3 limited "$folder/opens" "$folder/late.so" -1 2>"$out")
[ "$got" = "0 wrong" ]; verdict $? "a plugin that is opened later at one address everywhere runs"
for rank in 0 1 2; do
  TOBI_WORKERS=3 limited "$folder/opens" "$folder/late.so" $rank >/dev/null 2>"$out"; status=$?
  [ $status = 2 ] && grep -q "root task is in late.so, which is at address .* on this rank and at .* on rank 0; .*before tobi::runtime" "$out"; verdict $? "one that lies elsewhere on rank $rank is refused by its name"
done

# --- a module that each process of a launcher opens before the runtime, at an address of its own ---
# MPI's components, and what only they need, may lie anywhere. Of all others a task may have a frame, or a function's address.
if command -v mpirun.openmpi >/dev/null; then
  cat >"$folder/before.cc" <<'END'
#include <dlfcn.h>
#include <sys/mman.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <tobi/tobi.hpp>
static long fib(long n) {
  if (n < 2) return n;
  auto x = tobi::spawn([=] { return fib(n - 1); });
  const long y = fib(n - 2);
  return x.join() + y;
}
int main(int argc, char** argv) {
  if (std::strcmp(std::getenv("OMPI_COMM_WORLD_RANK"), argv[2]) == 0) {
    for (int i = 0; i < 400; ++i) mmap(nullptr, 1 << (12 + i % 12), i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  void* module = dlopen(argv[1], RTLD_NOW);
  if (module == nullptr) return 3;
  tobi::runtime rt(argc, argv);
  if (rt.rank() == 0) std::fprintf(stderr, "module %p\n", dlsym(module, "module_at"));
  rt.barrier();
  if (rt.rank() != 0) std::fprintf(stderr, "module %p\n", dlsym(module, "module_at"));
  const long r = tobi::run([] { return fib(22); });
  if (rt.rank() == 0) std::printf("%ld\n", r);
}
END
  echo 'extern "C" { int module_at; }' >"$folder/apart.cc"
  echo 'extern "C" { extern int module_at; int* needs() { return &module_at; } }' >"$folder/component.cc"
  echo '#include "late.cc"
extern "C" { int module_at; }' >"$folder/ours.cc"
  { $CXX $flags "$folder/before.cc" -o "$folder/before" -L"$lib" -ltobi -ldl -Wl,-rpath,"$lib" &&
    $CXX $flags -shared "$folder/apart.cc" -o "$folder/kernels.so" -Wl,-soname,kernels.so &&
    $CXX $flags -shared "$folder/component.cc" -o "$folder/mca_x.so" "$folder/kernels.so" -Wl,-rpath,"$folder" &&
    $CXX $flags -shared "$folder/ours.cc" -o "$folder/ours.so" -L"$lib" -ltobi; } >"$out" 2>&1; verdict $? "a program that opens modules before the runtime builds"
  for rank in 0 1 2; do
    run mpirun.openmpi --allow-run-as-root --oversubscribe -n 3 "$folder/before" "$folder/mca_x.so" $rank
    all "a component of MPI, and what it needs, lie elsewhere on rank $rank: the job runs" '[ $status -eq 0 ]' 'says "^17711$"' \
      '[ "$(grep -ao "module 0x[0-9a-f]*" "$err" | sort -u | wc -l)" -eq 2 ]'
    for module in ours kernels; do
      run mpirun.openmpi --allow-run-as-root --oversubscribe -n 3 "$folder/before" "$folder/$module.so" $rank
      all "$module.so does: it is refused by its name" '[ $status -ne 0 ]' '! says "^17711$"' \
        'complains "$module.so is at address 0x.* in rank .* and at 0x.* in rank .*; open it (dlopen) before what the processes do differently"'
    done
  done
else
  skip "modules that are opened before the runtime: needs the package openmpi-bin"
fi

# glibc keeps some 1.6 KB for all objects that are opened later.
static_tls=$(readelf -lW "$lib/libtobi.so" | awk '$1 == "TLS" { print $6 }')
[ $((${static_tls:-0})) -lt 256 ] 2>"$out"; verdict $? "the library takes next to none of the room that threads have for such"
finish
