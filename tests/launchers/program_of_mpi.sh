#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program of MPI that has tasks too: MPI_Init and then the runtime, which works with each MPI, bootstrap and transport; or the
# runtime and then MPI_Init, where the runtime has not called it.
. "$(dirname "$0")/../harness.inc"
lib=$ROOT/$OUT/lib
cat >"$folder/both.cc" <<'END'
#include <mpi.h>
#include <cstdio>
#include <cstring>
#include <tobi/tobi.hpp>
static long fib(long n) {
  if (n < 2) return n;
  auto x = tobi::spawn([=] { return fib(n - 1); });
  const long y = fib(n - 2);
  return x.join() + y;
}
static void work() {
  tobi::runtime rt;
  int called = 0;
  MPI_Initialized(&called);
  if (called == 0) MPI_Init(nullptr, nullptr);
  long mine = rt.rank();
  long all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  const long r = tobi::run([] { return fib(20); });
  if (rt.rank() == 0) std::printf("%d workers: %ld %ld\n", rt.size(), r, all);
  if (called == 0) MPI_Finalize();
}
int main(int argc, char** argv) {
  const bool mpi_first = argc > 1 && std::strcmp(argv[1], "mpi_first") == 0;
  int threads = 0;
  if (mpi_first) MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
  work();
  if (mpi_first) MPI_Finalize();
}
END
for library in openmpi mpich; do
  launcher="mpiexec.mpich" needs=mpich
  [ $library = mpich ] || launcher="mpirun.openmpi --allow-run-as-root --oversubscribe" needs=openmpi-bin
  if ! command -v ${launcher%% *} >/dev/null || ! command -v mpicxx.$library >/dev/null; then
    skip "$library: needs the packages $needs and lib$library-dev"
    continue
  fi
  export OMPI_CXX=$CXX MPICH_CXX=$CXX
  mpicxx.$library -std=c++20 -O2 -I"$ROOT/libcore/include" "$folder/both.cc" -o "$folder/$library" -L"$lib" -ltobi -Wl,-rpath,"$lib" >"$out" 2>&1; verdict $? "$library: a program of both builds"
  for with in TOBI_TRANSPORT=auto TOBI_BOOTSTRAP=mpi TOBI_TRANSPORT=mpi; do
    run $with $launcher -n 3 "$folder/$library" mpi_first
    all "$library, $with: MPI_Init, and then the runtime" '[ $status -eq 0 ]' 'says "^3 workers: 6765 3$"' silent
    run $with $launcher -n 3 "$folder/$library" runtime_first
    all "$library, $with: the runtime, and then MPI_Init where it is wanted" '[ $status -eq 0 ]' 'says "^3 workers: 6765 3$"' silent
  done
done
finish
