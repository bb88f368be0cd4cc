// SPDX-License-Identifier: Apache-2.0
// oneTBB's parallel_invoke, without a cutoff, as the program with tobi::spawn has none.
#include <tbb/global_control.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task_arena.h>

#include <chrono>

#include "tools/bench/peers/peers.hpp"

namespace tobi_bench::peers {

namespace {

std::uint64_t fib(std::uint64_t n) {
  if (n < 2) return n;
  std::uint64_t x = 0;
  std::uint64_t y = 0;
  tbb::parallel_invoke([&x, n] { x = fib(n - 1); }, [&y, n] { y = fib(n - 2); });
  return x + y;
}

std::uint64_t visit(const tree& t, const tree_node& n);

std::uint64_t visit_children(const tree& t, const tree_node& parent, std::uint32_t first, std::uint32_t last) {
  if (last - first == 1) return visit(t, tree_child(t, parent, first));
  const std::uint32_t middle = first + (last - first) / 2;
  std::uint64_t left = 0;
  std::uint64_t right = 0;
  tbb::parallel_invoke([&] { left = visit_children(t, parent, first, middle); },
                       [&] { right = visit_children(t, parent, middle, last); });
  return left + right;
}

std::uint64_t visit(const tree& t, const tree_node& n) {
  const auto children = static_cast<std::uint32_t>(tree_children(t, n));
  return children == 0 ? 1 : 1 + visit_children(t, n, 0, children);
}

template <class F>
measured run(int workers, F f) {
  const auto threads = static_cast<std::size_t>(workers);
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
  tbb::task_arena arena(workers);
  measured m{};
  arena.execute([] { fib(10); });
  arena.execute([&] {
    const auto begin = std::chrono::steady_clock::now();
    m.result = f();
    m.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  });
  return m;
}

}  // namespace

measured onetbb_fib(std::uint64_t n, int workers) {
  return run(workers, [n] { return fib(n); });
}

measured onetbb_uts(const tree& t, int workers) {
  return run(workers, [&t] { return visit(t, tree_root(t)); });
}

}  // namespace tobi_bench::peers
