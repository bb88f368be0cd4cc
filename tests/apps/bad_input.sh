#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every mistake in the arguments is one sentence on standard error, nothing on standard output, and status 2. The sentence
# names what was wrong.
. "$(dirname "$0")/../harness.inc"

refused() {  # words that the sentence has, arguments or settings
  words=$1
  shift
  run "$@"
  shown=$(printf '%s ' "$@" | sed "s|$bench|tobi-bench|; s/ $//")
  all "refused: $shown" '[ $status -eq 2 ]' '[ "$(wc -l < "$err")" -eq 1 ]' '[ ! -s "$out" ]' 'complains "$words"'
}
bench_refuses() { w=$1; shift; refused "$w" "$bench" "$@"; }

bench_refuses "name a program"
bench_refuses "name a program" --n 3
bench_refuses "mergesort is not one of" mergesort
bench_refuses "nqueens" fib --n 5 nqueens
bench_refuses "extra" fib extra
bench_refuses "--depth" fib --depth 3
bench_refuses "--n" fib --n
bench_refuses "--n" fib --n 5 --n 6
for n in -1 91 99999999999999999999999 3x 1e1 '' nan; do bench_refuses "--n: " fib --n "$n"; done
for n in 0 21 -4; do bench_refuses "--n: " nqueens --n $n; done
for n in -1 21 x; do bench_refuses "--cutoff: " nqueens --cutoff $n; done
for n in 63 -1 1e3; do bench_refuses "--depth: " btc --depth $n; done
for n in 0 -1 99999999999; do bench_refuses "--iter: " btc --iter $n; done
bench_refuses "64 bits" btc --depth 40 --iter 1000
for n in 0 -3 99999 99999999999999999999 two ''; do bench_refuses "--workers: " fib --n 5 --workers "$n"; done
bench_refuses "60000 workers" fib --n 5 --workers 60000
for n in 0 -1 x 99999999999; do bench_refuses "--repeat: " fib --repeat $n; done
for n in -1 x; do bench_refuses "--warmup: " fib --warmup $n; done
bench_refuses "--efficiency" fib --serial --efficiency

bench_refuses "T9 is not one of T1, T2" uts --tree T9
bench_refuses "t1 is not one of T1, T2" uts --tree t1
bench_refuses "--tree" uts --tree
bench_refuses "excludes" uts --tree T1 -t 1
for n in -1 4 x; do bench_refuses "-t: " uts -t $n; done
for n in -1 4; do bench_refuses "-a: " uts -a $n; done
for n in -3 inf 1e9 x; do bench_refuses "-b: " uts -b $n; done
for n in -0.1 1.5; do bench_refuses "-q: " uts -q $n; done
for n in -1 101; do bench_refuses "-m: " uts -m $n; done
for n in -1 99999999999; do bench_refuses "-r: " uts -r $n; done
for n in 0 -1 1000000000; do bench_refuses "-d: " uts -d $n; done
for n in 0 -1 99999999; do bench_refuses "-g: " uts -g $n; done
for n in -0.1 2; do bench_refuses "-f: " uts -f $n; done
for o in -b -q -f; do bench_refuses "must be numbers" uts $o nan; done
bench_refuses "does not end" uts -t 0 -q 0.5 -m 2
bench_refuses "does not end" uts -t 2 -q 0.5 -m 2
bench_refuses "more leaves" uts -t 3 -b 10 -d 100000

for n in 0 -1 x; do bench_refuses "--n: " gups --n $n; done
bench_refuses "no power of two" gups --n 1000
for n in 0 -1 x; do bench_refuses "--n: " stream --n $n; done
for n in 0 -1 x 2M; do bench_refuses "--n: " stencil --n $n; done
bench_refuses "--where: " stencil --where here
for n in 0 31 x; do bench_refuses "--scale: " pagerank --scale $n; done
for n in 0 -1; do bench_refuses "--iterations: " pagerank --iterations $n; done
bench_refuses "--iterations" histogram --iterations 3
for n in 0 -1 x 9999999999; do bench_refuses "--n: " fmm --n $n; done
for n in 0 13 -1 x; do bench_refuses "--order: " fmm --order $n; done
for n in -0.1 0.6 nan x; do bench_refuses "--theta: " fmm --theta $n; done
for n in 0 -1 x; do bench_refuses "--ncrit: " fmm --ncrit $n; done
for n in -1 x; do bench_refuses "--nspawn: " fmm --nspawn $n; done
for n in 0 -1 x; do bench_refuses "--steps: " fmm --steps $n; done
for n in 0 -1 x; do bench_refuses "--check: " fmm --check $n; done
bench_refuses "--seed" fmm --seed x
bench_refuses "--shape: torus" fmm --shape torus
bench_refuses "T9 is not one of T1, T2" uts-mem --tree T9
bench_refuses "does not end" uts-mem -t 0 -q 0.5 -m 2

bench_refuses "name a program" peers
bench_refuses "nqueens is not one of" peers nqueens
for n in 1 91 -1; do bench_refuses "--n: " peers fib --n $n; done
bench_refuses "T9 is not one of" peers uts --tree T9
bench_refuses "--workers: " peers fib --workers 0
bench_refuses "60000 workers" peers fib --n 10 --workers 60000
bench_refuses "cray" peers fib --n 10 --only cray

refused "TOBI_WORKERS=x" TOBI_WORKERS=x "$bench" fib --n 5
refused "TOBI_WORKERS=x" TOBI_WORKERS=x "$bench" peers fib --n 5
refused "TOBI_DEQUE=lifo" TOBI_DEQUE=lifo "$bench" fib --n 5
refused "TOBI_TRANSPORT=pigeon" TOBI_TRANSPORT=pigeon "$bench" fib --n 5
refused "TOBI_STACK_SIZE=-1" TOBI_STACK_SIZE=-1 "$bench" fib --n 5
finish
