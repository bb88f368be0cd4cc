// SPDX-License-Identifier: Apache-2.0
// Kernels that are compiled for several processors, of which the loader takes one where the program runs: any, those
// with vectors of four doubles and, in CLONES_OF_8, those with vectors of eight. Other compilers, processors and
// sanitizers have the first alone.
#pragma once

#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && __GNUC__ >= 12 && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TOBI_BENCH_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#define TOBI_BENCH_CLONES_OF_8 __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TOBI_BENCH_CLONES
#define TOBI_BENCH_CLONES_OF_8
#endif
