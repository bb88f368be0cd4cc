#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: sleeps, 12 s
# Programs that have things of their own next to the runtime: tobi-launch(7), "In a program that already uses something". Input, files and
# streams; threads; children and their signal; Python; plugins, with a copy of the library inside; programs that they start;
# libraries of vendors that take signals.
. "$(dirname "$0")/../harness.inc"
lib=$ROOT/$OUT/lib
flags="-std=c++20 -O1 -I$ROOT/libcore/include -fPIC"
cat >"$folder/plugin.cc" <<'END'
#include <cstdio>
#include <tobi/tobi.hpp>
extern "C" int plugin_main() {
  tobi::runtime rt;
  const long r = tobi::run([] { return tobi::parallel_reduce(0L, 100L, 1L, 0L, [](long i) { return i; }, [](long a, long b) { return a + b; }); });
  if (rt.rank() == 0) std::printf("plugin: %d workers, %ld\n", rt.size(), r);
  std::fflush(stdout);
  return 0;
}
END
cat >"$folder/host.cc" <<'END'
#include <dlfcn.h>
#include <cstdio>
int main(int, char** argv) {
  long sum = 0, next;
  while (std::scanf("%ld", &next) == 1) sum += next;
  std::printf("input: %ld\n", sum);
  std::fflush(stdout);
  void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  return plugin == nullptr ? 9 : reinterpret_cast<int (*)()>(dlsym(plugin, "plugin_main"))();
}
END
cat >"$folder/host.py" <<'END'
import ctypes, os, sys
# MPICH's mpiexec leaves the input of all but the first open.
if os.environ.get("PMI_RANK", "0") == "0":
    os.write(1, b"input: %d\n" % sum(int(line) for line in sys.stdin))  # in one piece: the processes share the output
ctypes.CDLL(sys.argv[1]).plugin_main()
END
cat >"$folder/vendor.c" <<'END'
#include <signal.h>
#include <unistd.h>
static void leave(int s) { (void)s; _exit(1); }
__attribute__((constructor)) static void take(void) { signal(SIGINT, leave); kill(getpid(), SIGINT); }
END
own=$folder/own
{ $CXX $flags tests/packaging/own_things.cc -o "$own" "$lib/libtobi.a" -lhwloc -lpthread -ldl -lm & } >"$out" 2>&1
first=$!
{ $CXX $flags -shared "$folder/plugin.cc" -o "$folder/shared.so" -L"$lib" -ltobi -Wl,-rpath,"$lib" &&
  $CXX $flags -shared "$folder/plugin.cc" -o "$folder/static.so" "$lib/libtobi.a" -Wl,-z,defs -lhwloc -lpthread -ldl -lm &&
  $CXX "$folder/host.cc" -o "$folder/host" -ldl && mkdir "$folder/vendor" &&
  ${CC:-cc} -shared -fPIC "$folder/vendor.c" -o "$folder/vendor/libfabric.so.1" && wait $first; } >>"$out" 2>&1
verdict $? "the programs build"

# --- what is written before workers are forked ---
run TOBI_WORKERS=3 "$own" buffers
all "what was written to streams before the runtime is written once" '[ $status -eq 0 ]' '[ "$(grep -c begins "$out")" -eq 2 ]' \
  '[ "$(grep -c begins "$err")" -eq 1 ]' 'says "3 workers: 42"'

# --- threads ---
run TOBI_WORKERS=2 "$own" thread
all "threads that forked workers will not have are named" '[ $status -eq 0 ]' 'says "2 workers: 42"' '[ "$(wc -l <"$err")" -eq 1 ]' \
  'complains "a thread runs already (own-logger), and the workers that are forked now do not have it"'
run TOBI_WORKERS=1 "$own" thread
all "where nothing is forked there is nothing to say" '[ $status -eq 0 ]' silent

# --- cores ---
if [ "$(nproc)" -gt 1 ]; then
  first_cpu=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' /proc/self/status)
  run OMP_PROC_BIND=true TOBI_WORKERS=2 taskset -c "$first_cpu" "$own"
  all "workers that share a core which OpenMP may have chosen" '[ $status -eq 0 ]' 'says "2 workers: 42"' '[ "$(wc -l <"$err")" -eq 1 ]' \
    'complains "2 workers share 1 of this machine.s [0-9]* cores: .*unset OMP_PROC_BIND"'
  run TOBI_WORKERS=2 taskset -c "$first_cpu" "$own"
  all "one that the user has chosen is none of our business" '[ $status -eq 0 ]' silent
fi

# --- children ---
for how in ignored handled waited; do
  run TOBI_WORKERS=3 "$own" children $how
  all "SIGCHLD is $how by the program: the death of a worker ends the job" '[ $status -ne 0 ]' '! says 42' '[ "$(wc -l <"$err")" -eq 1 ]' \
    'complains "^tobi: rank 1 on .* \(is gone, and the program has taken its status\|was killed by signal 9\)"'
done

# --- descriptors ---
run TOBI_WORKERS=2 "$own" closes before
all "all descriptors are closed before the runtime is made" '[ $status -eq 0 ]' 'says "2 workers: 100000"' silent
for when in behind replaced; do
  run TOBI_WORKERS=2 "$own" closes $when
  all "the runtime's descriptors are closed ($when): one sentence" '[ $status -eq 1 ]' '! says workers' '[ "$(wc -l <"$err")" -eq 1 ]' \
    'complains "^tobi: .*the program has closed the descriptor of the runtime.s memory"'
done

# --- another copy of the library ---
run TOBI_WORKERS=2 "$own" copy "$folder/static.so"
all "two copies of the library in a process are a sentence" '[ $status -eq 2 ]' 'says "2 workers: 42"' '! says plugin' \
  'complains "^tobi: two copies of Tobiuo.s library are in this process"' '[ "$(grep -c "^tobi: " "$err")" -eq 1 ]'
run TOBI_WORKERS=2 "$folder/host" "$folder/static.so"
all "a copy inside of a plugin alone is no second one" '[ $status -eq 0 ]' 'says "plugin: 2 workers, 4950"' silent

# --- vendors ---
run LD_LIBRARY_PATH="$folder/vendor" TOBI_TRANSPORT=ofi TOBI_WORKERS=2 "$own"
all "an interrupt while a vendor's library has the signals is an interrupt" '[ $status -eq 130 ]'

# --- under launchers ---
if ! command -v mpirun.openmpi >/dev/null; then
  skip "programs under mpirun: needs the package openmpi-bin"
  finish
fi
mpirun="mpirun.openmpi --allow-run-as-root --oversubscribe"
launchers=("$mpirun -n 2" "mpiexec.mpich -n 2")
if in_soak; then  # the daemons of Slurm take what time and ports they like; srun gives each process all of the input
  . tests/launchers/slurm.inc
  at_exit=stop_slurm
  if start_slurm; then launchers+=("srun --input=0 --mpi=pmix -n 2"); else skip "programs under srun: $no_slurm"; fi
fi
fed() {  # COMMAND...: with the numbers from 1 to 100 as its input
  rm -f "$folder/late"
  seq 100 >"$folder/input"
  limited env "$@" >"$out" 2>"$err" <"$folder/input"
  status=$?
}
for with in shared static; do
  fed $mpirun -n 2 "$folder/host" "$folder/$with.so"
  all "$with: mpirun, and a program that opens a plugin: it does not begin again, and a sentence says what to do" '[ $status -ne 0 ]' \
    '[ "$(grep -c "^input: " "$out")" -eq 2 ]' 'says "^input: 5050"' '! says plugin' '[ "$(grep -c "^tobi: " "$err")" -eq 1 ]' 'complains "cannot begin again); start the program under setarch -R"'
  fed $mpirun -n 2 setarch -R "$folder/host" "$folder/$with.so"
  all "$with: under setarch -R it is right, and reads its input once" '[ $status -eq 0 ]' 'says "^input: 5050"' '[ "$(grep -c "^input: " "$out")" -eq 2 ]' \
    'says "plugin: 2 workers, 4950"' silent
  fed $mpirun -n 1 --bind-to none -x TOBI_WORKERS=2 "$folder/host" "$folder/$with.so"
  all "$with: alone it forks, and begins once" '[ $status -eq 0 ]' 'says "^input: 5050"' '[ "$(grep -c "^input: " "$out")" -eq 1 ]' 'says "plugin: 2 workers, 4950"' silent
done
fed $mpirun -n 2 "$own" opens "$folder/static.so"
all "a program that has a copy of the library, which began again, opens a plugin with another one" '[ $status -eq 0 ]' 'says "plugin: 2 workers, 4950"' silent
for launcher in "" "${launchers[@]}"; do
  command -v python3 >/dev/null && command -v ${launcher%% *} true >/dev/null || { skip "Python under $launcher: needs python3 and the launcher's package"; continue; }
  fed TOBI_WORKERS=2 $launcher setarch -R python3 "$folder/host.py" "$folder/shared.so"
  all "a module of Python, started by ${launcher:-nothing}" '[ $status -eq 0 ]' 'says "plugin: 2 workers, 4950"' '[ "$(grep -c "^input: 5050" "$out")" -eq 1 ]'
done
run $mpirun -n 2 /lib*/ld-linux-*.so.? "$bench" fib --n 20
all "a program that the loader is told to run" '[ $status -eq 0 ]' 'says 6765'

# --- a job inside of a job: whatever becomes of the inner one, the outer one goes on ---
for launcher in "${launchers[@]}"; do  # the program has the library inside, and its plugins elsewhere
  name=${launcher%% *}
  command -v "$name" >/dev/null || { skip "a job inside of one of $name: needs its package"; continue; }
  run LD_LIBRARY_PATH="$lib" $launcher "$own" nested "$own"
  all "$name: a program that a process of a job starts is refused, and does not wait for ever" '[ $status -eq 0 ]' 'says "2 workers: 42"' \
    'says "it ended with status 2"' 'complains "^tobi: this program was started by a process of a running job.*set TOBI_BOOTSTRAP=fork"'
  run LD_LIBRARY_PATH="$lib" $launcher "$own" nested "TOBI_STACK_SIZE=pigeon $own"
  all "$name: so is one with a mistake" '[ $status -eq 0 ]' 'says "2 workers: 42"' 'says "it ended with status 2"' 'complains "^tobi: TOBI_STACK_SIZE=pigeon"'
  run LD_LIBRARY_PATH="$lib" $launcher "$own" nested "cat /proc/self/personality"
  all "$name: a program that a process of a job starts is randomized as ever" '[ $status -eq 0 ]' "says '^$(cat /proc/self/personality)$'"
  run LD_LIBRARY_PATH="$lib" $launcher "$own" nested "TOBI_BOOTSTRAP=fork TOBI_WORKERS=2 $own"
  all "$name: or it is a job of its own" '[ $status -eq 0 ]' '[ "$(grep -c "2 workers: 42" "$out")" -eq 2 ]' 'says "it ended with status 0"' silent
done
if command -v mpiexec.mpich >/dev/null; then
  run LD_LIBRARY_PATH="$lib" mpiexec.mpich -n 2 "$own" nested "mpiexec.mpich -n 2 $own"
  all "or one of a launcher of its own" '[ $status -eq 0 ]' '[ "$(grep -c "2 workers: 42" "$out")" -eq 2 ]' 'says "it ended with status 0"' silent
fi
run TOBI_WORKERS=2 "$own" nested "$own"
all "without a launcher it is one at once" '[ $status -eq 0 ]' '[ "$(grep -c "2 workers: 42" "$out")" -eq 2 ]' silent
finish
