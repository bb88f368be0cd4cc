// SPDX-License-Identifier: Apache-2.0
// STREAM's four loops on arrays in global memory: copy c = a, scale b = s c, add c = a + b, triad a = b + s c. Then
// BabelStream's fifth one, dot: the sum of a b.
#include <cmath>
#include <functional>
#include <tobi/algorithm.hpp>
#include <tobi/global_memory.hpp>

#include "tools/bench/apps/memory_program.hpp"
#include "tools/bench/apps/placed.hpp"
#include "tools/bench/apps/variant.hpp"

namespace tobi_bench::TOBI_BENCH_VARIANT {

namespace {

// Set before the run, in every process alike.
tobi::global_span<double> a, b, c;
tobi::global_span<double> sum;  // of dot
tobi::execution_policy how;

constexpr double scalar = 3.0;

const memory_phase phases[] = {
    {"fill", false,
     [] {
       tobi::fill(how, a, 1.0);
       tobi::fill(how, b, 2.0);
       tobi::fill(how, c, 0.0);
       return phase_result{};
     }},
    {"copy", true,
     [] {
       tobi::copy(how, a, c);
       return phase_result{};
     }},
    {"scale", true,
     [] {
       tobi::transform(how, c, b, [](double x) { return scalar * x; });
       return phase_result{};
     }},
    {"add", true,
     [] {
       tobi::transform(how, a, b, c, std::plus<>());
       return phase_result{};
     }},
    {"triad", true,
     [] {
       tobi::transform(how, b, c, a, [](double x, double y) { return x + scalar * y; });
       return phase_result{a.size()};
     }},
    {"dot", true,
     [] {
       tobi::store(&sum[0], tobi::transform_reduce(how, a, b, 0.0, std::plus<>(), std::multiplies<>()));
       return phase_result{a.size()};
     }},
};

phase_result wrong() {
  // Small whole numbers: exact in any order.
  const double right_c = 1.0 + scalar;
  const double right_b = scalar;
  const double right_a = right_b + scalar * right_c;
  phase_result found;
  const auto look = [&](tobi::global_span<const double> all, double right) {
    tobi::for_each(tobi::seq, all, [&](double x) { found.number += std::fabs(x - right) > 0 ? 1 : 0; });
  };
  look(a, right_a);
  look(b, right_b);
  look(c, right_c);
  const double right_sum = static_cast<double>(a.size()) * right_a * right_b;
  look(sum, right_sum);
  return found;
}

}  // namespace

void stream_prepare(const stream_options& asked) {
  const tobi::distribution dealt{asked.chunk};
  a = tobi::allocate_all<double>(asked.n, dealt);
  b = tobi::allocate_all<double>(asked.n, dealt);
  c = tobi::allocate_all<double>(asked.n, dealt);
  sum = tobi::allocate_all<double>(1);
  how.cutoff = asked.cutoff;
  how.where = affinity_of(asked.where);
}

const memory_program stream_program{phases, wrong};

}  // namespace tobi_bench::TOBI_BENCH_VARIANT
