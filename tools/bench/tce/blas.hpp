// SPDX-License-Identifier: Apache-2.0
// The product of matrices, from OpenBLAS. The library is loaded when it is first asked for, with one thread: the
// workers of a job are all the threads that its cores have room for, and no other program of tobi-bench needs it.
#pragma once

#include <string>

namespace tobi_bench::tce {

/// Loads OpenBLAS into this process. Returns why it cannot be used, or "". Before the job starts: its processes have it
/// then, at one address.
[[nodiscard]] std::string load_blas();

/// C = A B, by rows: A has M x K, B has K x N elements, without gaps. Behind load_blas().
void multiply(int m, int n, int k, const double* a, const double* b, double* c);

}  // namespace tobi_bench::tce
