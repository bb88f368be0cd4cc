// SPDX-License-Identifier: Apache-2.0
// OpenMP tasks, without a cutoff, as the program with tobi::spawn has none.
#include <chrono>

#include "tools/bench/peers/peers.hpp"

namespace tobi_bench::peers {

namespace {

std::uint64_t fib(std::uint64_t n) {
  if (n < 2) return n;
  std::uint64_t x = 0;
#pragma omp task shared(x) firstprivate(n)
  x = fib(n - 1);
  const std::uint64_t y = fib(n - 2);
#pragma omp taskwait
  return x + y;
}

std::uint64_t visit(const tree& t, const tree_node& n);

std::uint64_t visit_children(const tree& t, const tree_node& parent, std::uint32_t first, std::uint32_t last) {
  if (last - first == 1) return visit(t, tree_child(t, parent, first));
  const std::uint32_t middle = first + (last - first) / 2;
  std::uint64_t left = 0;
#pragma omp task shared(left, t, parent) firstprivate(first, middle)
  left = visit_children(t, parent, first, middle);
  const std::uint64_t right = visit_children(t, parent, middle, last);
#pragma omp taskwait
  return left + right;
}

std::uint64_t visit(const tree& t, const tree_node& n) {
  const auto children = static_cast<std::uint32_t>(tree_children(t, n));
  return children == 0 ? 1 : 1 + visit_children(t, n, 0, children);
}

template <class F>
measured run(int workers, F f) {
  measured m{};
#pragma omp parallel num_threads(workers)
  {
#pragma omp single
    {
      const auto begin = std::chrono::steady_clock::now();
      m.result = f();
      m.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
  }
  return m;
}

}  // namespace

measured openmp_fib(std::uint64_t n, int workers) {
  run(workers, [] { return fib(10); });
  return run(workers, [n] { return fib(n); });
}

measured openmp_uts(const tree& t, int workers) {
  run(workers, [] { return fib(10); });
  return run(workers, [&t] { return visit(t, tree_root(t)); });
}

}  // namespace tobi_bench::peers
