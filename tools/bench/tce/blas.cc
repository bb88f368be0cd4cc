// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/tce/blas.hpp"

#include <cstdlib>

#include "libcore/base/shared_library.hpp"

namespace tobi_bench::tce {

namespace {

// The C interface of BLAS, with integers of 32 bits.
using dgemm = void (*)(int order, int transpose_a, int transpose_b, int m, int n, int k, double alpha, const double* a,
                       int a_row, const double* b, int b_row, double beta, double* c, int c_row);
constexpr int by_rows = 101;
constexpr int as_it_is = 111;

dgemm product = nullptr;

std::string unusable(const std::string& what) { return what + "; install Debian's package libopenblas0"; }

}  // namespace

std::string load_blas() {
  if (product != nullptr) return "";
  setenv("OPENBLAS_NUM_THREADS", "1", 1);  // it starts its threads where it is loaded
  const tobi::base::shared_library library("libopenblas.so.0");
  if (!library.is_open()) return unusable("OpenBLAS cannot be loaded (" + library.error() + ")");
  const char* lacks = library.resolve({{"cblas_dgemm", product}});
  return lacks == nullptr ? "" : unusable("this OpenBLAS has no " + std::string(lacks));
}

void multiply(int m, int n, int k, const double* a, const double* b, double* c) {
  product(by_rows, as_it_is, as_it_is, m, n, k, 1.0, a, k, b, n, 0.0, c, n);
}

}  // namespace tobi_bench::tce
