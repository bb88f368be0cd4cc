// SPDX-License-Identifier: Apache-2.0
// What a program's function throws leaves a pattern or an algorithm as task_error, from whatever index: from the part
// that runs in the caller as from the tasks.
#include <functional>
#include <stdexcept>

#include "global_places.hpp"

namespace {

constexpr int size = 64;

struct odd_one {};

/// Whether CALL(i), in which the function throws at index i, throws a task_error for each i, of a name and a message.
template <class Call>
long wrong_errors(Call call) {
  long wrong = 0;
  for (int i = 0; i < size; ++i) {
    bool right = false;
    try {
      call(i);
    } catch (const tobi::task_error& e) {
      right = e.type_name() == "std::out_of_range" && e.message() == "here" && e.rank() >= 0;
    } catch (...) {
    }
    if (!right) ++wrong;
  }
  return wrong;
}
[[noreturn]] void here() { throw std::out_of_range("here"); }

long in_patterns() {
  return wrong_errors([](int bad) {
           tobi::parallel_for(0, size, 4, [=](int i) {
             if (i == bad) here();
           });
         }) +
         wrong_errors([](int bad) {
           tobi::parallel_for(0, size, 1000, [=](int i) {
             if (i == bad) here();
           });
         }) +
         wrong_errors([](int bad) {
           tobi::parallel_reduce(
               0, size, 4, 0, [=](int i) { return i == bad ? (here(), 0) : i; }, std::plus<>());
         }) +
         wrong_errors([](int bad) {
           const auto part = [=](int k) {
             return [=] {
               if (bad % 3 == k) here();
             };
           };
           tobi::parallel_invoke(part(0), part(1), part(2));
         });
}

long in_algorithms(tobi::global_span<long> a, tobi::global_span<long> b) {
  constexpr tobi::execution_policy how{.cutoff = 8};
  tobi::iota(a, 0);
  const auto at = [](int bad) {
    return [=](long x) {
      if (x == bad) here();
      return x;
    };
  };
  const auto two = [](int bad) {
    return [=](long x, long y) {
      if (x == bad || y == bad) here();
      return x < y;
    };
  };
  const auto sum = [](int bad) {
    return [=](long x, long y) {
      if (x == bad || y == bad) here();
      return y;
    };
  };
  using span = tobi::global_span<const long>;
  return wrong_errors([=](int bad) { tobi::for_each(how, span(a), at(bad)); }) +
         wrong_errors([=](int bad) { tobi::transform(how, a, b, at(bad)); }) +
         wrong_errors([=](int bad) { tobi::transform(how, a, a, b, two(bad)); }) +
         wrong_errors([=](int bad) { tobi::transform_reduce(how, a, 0L, std::plus<>(), at(bad)); }) +
         wrong_errors([=](int bad) { tobi::reduce(how, a, -1L, sum(bad)); }) +
         wrong_errors([=](int bad) { tobi::reduce(tobi::seq, a, -1L, sum(bad)); }) +
         wrong_errors([=](int bad) { tobi::count_if(how, a, at(bad)); }) +
         wrong_errors([=](int bad) { tobi::find_if(how, a, [=](long x) { return at(bad)(x) < 0; }); }) +
         wrong_errors([=](int bad) { tobi::min_element(how, a, two(bad)); }) +
         wrong_errors([=](int bad) { tobi::max_element(how, a, two(bad)); }) +
         wrong_errors([=](int bad) { tobi::minmax_element(how, a, two(bad)); }) +
         wrong_errors([=](int bad) { tobi::nth_element(how, a, size / 2, two(bad)); }) +
         wrong_errors([=](int bad) { tobi::inclusive_scan(how, a, b, sum(bad), -1L); }) +
         wrong_errors([=](int bad) { tobi::exclusive_scan(how, a, b, -1L, sum(bad)); }) + wrong_errors([=](int bad) {
           tobi::copy(a, b);
           tobi::sort(how, b, two(bad));
         }) +
         wrong_errors([=](int bad) {
           tobi::merge(how, a.first(size / 2), a.subspan(size / 2), b, [=](long, long) -> bool { here(); });
           (void)bad;
         });
}

TEST(one_error, leaves_patterns_and_algorithms_wherever_it_was_thrown) {
  in_each({{"shm", 1, {}},
           {"shm", 3, {}},
           {"shm", 1, {{"TOBI_DEBUG_MIGRATE", "1"}}},
           {"sim", 2, {{"TOBI_NODES", "2"}, {"TOBI_TRANSPORT", "sim"}}}},
          [](tobi::runtime&) {
            const auto a = tobi::allocate_all<long>(size);
            const auto b = tobi::allocate_all<long>(size);
            if (tobi::run([] { return in_patterns(); }) != 0) return 3;
            if (tobi::run([=] { return in_algorithms(a, b); }) != 0) return 4;
            // What is there can be used afterwards.
            return tobi::run([=] {
                     tobi::iota(a, 0);
                     return tobi::reduce(a);
                   }) == size * (size - 1) / 2
                       ? 0
                       : 5;
          });
}

TEST(one_error, is_whatever_was_thrown) {
  in_each({{"shm", 2, {}}}, [](tobi::runtime&) {
    const bool right = tobi::run([] {
      const auto named = [](auto thrown) -> bool {
        try {
          tobi::parallel_for(0, 1, 1, [=](int) { throw thrown; });
        } catch (const tobi::task_error& e) {
          return (e.type_name() == "int" || e.type_name().find("odd_one") != std::string::npos) && e.message().empty();
        } catch (...) {
        }
        return false;
      };
      // A failure that passes through several keeps its first name, and is not named again.
      const auto nested = []() -> bool {
        try {
          tobi::parallel_for(0, 2, 1, [](int) { tobi::parallel_for(0, 2, 1, [](int) { here(); }); });
        } catch (const tobi::task_error& e) {
          return e.type_name() == "std::out_of_range" && e.message() == "here";
        }
        return false;
      };
      return named(5) && named(odd_one{}) && nested();
    });
    return right ? 0 : 3;
  });
}

}  // namespace
