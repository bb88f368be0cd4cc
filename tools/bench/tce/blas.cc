// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/tce/blas.hpp"

#include <dlfcn.h>

#include <cstdlib>

namespace tobi_bench::tce {

namespace {

// The C interface of BLAS, with integers of 32 bits.
using dgemm = void (*)(int order, int transpose_a, int transpose_b, int m, int n, int k, double alpha, const double* a,
                       int a_row, const double* b, int b_row, double beta, double* c, int c_row);
constexpr int by_rows = 101;
constexpr int as_it_is = 111;

dgemm product = nullptr;

std::string because(const char* what) {
  const char* why = dlerror();
  return std::string(what) + " (" + (why != nullptr ? why : "no reason given") +
         "); install Debian's package libopenblas0";
}

}  // namespace

std::string load_blas() {
  if (product != nullptr) return "";
  setenv("OPENBLAS_NUM_THREADS", "1", 1);  // it starts its threads where it is loaded
  void* const library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return because("OpenBLAS cannot be loaded");
  product = reinterpret_cast<dgemm>(dlsym(library, "cblas_dgemm"));
  return product == nullptr ? because("this OpenBLAS has no cblas_dgemm") : "";
}

void multiply(int m, int n, int k, const double* a, const double* b, double* c) {
  product(by_rows, as_it_is, as_it_is, m, n, k, 1.0, a, k, b, n, 0.0, c, n);
}

}  // namespace tobi_bench::tce
