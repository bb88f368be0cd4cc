// SPDX-License-Identifier: Apache-2.0
// lane: computes, 10 s
// Objects that own something go to children as arguments and come back as results: each is constructed and destroyed
// once, wherever that happens.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "global_shapes.hpp"

namespace {

// What has been constructed by a worker and not destroyed there. What moves away is too much here, and missing
// elsewhere, so only the sums over all workers say something.
struct balance {
  std::uint64_t alive = 0;
  std::uint64_t numbers = 0;  // of these
  std::uint64_t made = 0;
};
std::optional<tobi::per_worker_handle<balance>> worker;

// Move-only. Number 0 is what a move leaves. Of PADDING words the first is the number, too.
template <std::size_t Padding>
class owned {
 public:
  explicit owned(std::uint64_t number) noexcept : number_(number) {
    fill();
    ++worker->local().made;
    count(1);
  }
  owned(owned&& other) noexcept : number_(std::exchange(other.number_, 0)) { fill(); }
  owned& operator=(owned&& other) noexcept {
    if (this == &other) return *this;
    end();
    number_ = std::exchange(other.number_, 0);
    fill();
    return *this;
  }
  ~owned() { end(); }
  [[nodiscard]] std::uint64_t number() const noexcept {
    for (const std::uint64_t p : padding_) {
      if (p != number_) std::abort();
    }
    return number_;
  }

 private:
  void fill() noexcept { padding_.fill(number_); }
  void end() noexcept {
    if (number_ != 0) count(~std::uint64_t{0});
  }
  void count(std::uint64_t by) const noexcept {
    balance& here = worker->local();
    here.alive += by;
    here.numbers += by * number_;
  }
  std::uint64_t number_;
  std::array<std::uint64_t, Padding> padding_{};
};

}  // namespace

template <std::size_t Padding>
inline constexpr bool tobi::migratable<owned<Padding>> = true;

namespace {

static_assert(tobi::migratable<owned<0>> && tobi::migratable<std::optional<owned<9>>>);
static_assert(tobi::migratable<std::tuple<int, std::array<owned<1>, 3>>>);
static_assert(tobi::migratable<std::variant<int, std::pair<owned<0>, char>>>);
static_assert(tobi::migratable<tobi::global_vector<tobi::global_vector<int>>>);
static_assert(!tobi::migratable<std::string> && !tobi::migratable<std::pair<int, std::unique_ptr<int>>>);

// A child gets what it owns by an argument, makes more, lets some of it end here and there, and gives one back: what
// it was given, or something new. Some throw, and some are not joined.
template <std::size_t A, std::size_t R>
owned<R> grow(owned<A> given, std::uint64_t seed, int depth) {
  const std::uint64_t random = mixed(seed);
  if (depth == 0 || random % 11 == 0) {
    if (random % 13 == 0) throw std::runtime_error("a leaf");
    return owned<R>((given.number() ^ random % 1000) | 1);
  }
  std::optional<owned<A>> kept(std::move(given));
  const auto next = [&](std::uint64_t i) { return seed * 5 + i; };
  std::uint64_t sum = kept->number();
  auto one = tobi::spawn(grow<R, A>, owned<R>(sum + 1), next(1), depth - 1);
  auto nothing =
      tobi::spawn([](owned<A> taken, std::uint64_t s) { (void)(taken.number() + s); }, std::move(*kept), next(2));
  auto left = tobi::spawn([](std::pair<owned<R>, int> taken, owned<A> other, std::uint64_t s,
                             int d) { return grow<R, R>(owned<R>(taken.first.number() + other.number()), s, d); },
                          std::pair<owned<R>, int>(owned<R>(sum + 2), 1), owned<A>(sum + 3), next(3), depth - 1);
  if (random % 3 == 0) nothing.join();
  try {
    const owned<A> result = one.join();
    sum += result.number();
    if (random % 2 == 0) {
      owned<R> second = left.join();
      return second;
    }
  } catch (const tobi::task_error&) {
    sum += 1;
  }
  return owned<R>(sum | 1);
}

template <std::size_t A, std::size_t R>
int grows(tobi::runtime& rt, std::uint64_t programs) {
  tobi::per_worker<balance> all;
  worker.emplace(all.handle());
  for (std::uint64_t p = 0; p < programs; ++p) {
    tobi::run([p] {
      try {
        auto tree = tobi::spawn(grow<A, R>, owned<A>(p + 1), p * 977, 4);
        (void)tree.join();
      } catch (const tobi::task_error&) {
      }
    });
  }
  const std::uint64_t alive = rt.reduce(all->alive, std::plus<>());
  const std::uint64_t numbers = rt.reduce(all->numbers, std::plus<>());
  const std::uint64_t made = rt.reduce(all->made, std::plus<>());
  if (alive == 0 && numbers == 0 && made > programs) return 0;
  std::fprintf(stderr, "%ld alive, numbers %ld, of %ld made\n", static_cast<long>(alive), static_cast<long>(numbers),
               static_cast<long>(made));
  return 1;
}

std::vector<place> kinds() {
  const std::pair<const char*, const char*> nodes{"TOBI_NODES", "2"}, sim{"TOBI_TRANSPORT", "sim"},
      migrate{"TOBI_DEBUG_MIGRATE", "1"};
  std::vector<place> all{{"alone", 1, {}}, {"shm", 3, {}}, {"migrate", 2, {nodes, sim, migrate}}};
  for (const char* sched : {"child_full", "child_rtc", "continuation_stalling"}) {
    all.push_back({sched, 3, {nodes, sim, {"TOBI_SCHED", sched}}});
  }
  all.push_back({"the", 3, {nodes, sim, {"TOBI_DEQUE", "the"}}});
  return all;
}

// In registers, in a frame, and both ways.
TEST(owners, are_constructed_and_destroyed_once) {
  in_each(kinds(), [](tobi::runtime& rt) {
    const std::uint64_t programs = whole ? 2500 : 100;
    CHECK((grows<0, 0>(rt, programs)) == 0);
    CHECK((grows<1, 1>(rt, programs)) == 0);
    CHECK((grows<0, 20>(rt, programs)) == 0);
    CHECK((grows<20, 2>(rt, programs)) == 0);
    return 0;
  });
}

// Moved, with nothing to end: by the compiler's members, and by its own.
struct plain {
  long value;
  explicit plain(long v) : value(v) {}
  plain(plain&&) = default;
};
struct marked {
  long value;
  explicit marked(long v) : value(v) {}
  marked(marked&& other) noexcept : value(std::exchange(other.value, -1)) {}
};

}  // namespace

template <>
inline constexpr bool tobi::migratable<marked> = true;

namespace {

TEST(owners, may_have_nothing_to_end) {
  in_each(kinds(), [](tobi::runtime&) {
    CHECK(tobi::run([] {
            long sum = 0;
            for (long i = 0; i < 100; ++i) {
              auto one = tobi::spawn([](plain p) { return plain(p.value + 1); }, plain(i));
              auto other =
                  tobi::spawn([](marked m, plain p) { return marked(m.value + p.value); }, marked(i), one.join());
              const auto [x, y] = tobi::parallel_invoke([=] { return marked(i); }, [=] { return plain(i); });
              sum += other.join().value - x.value - y.value;
            }
            return sum;
          }) == 100);
    return 0;
  });
}

TEST(owners, that_never_were_are_not_given) {
  in_each(kinds(), [](tobi::runtime&) {
    CHECK(tobi::run([] {
            auto failed = tobi::spawn([]() -> tobi::global_vector<int> { throw std::runtime_error("none"); });
            int told = 0;
            try {
              (void)failed.join();
            } catch (const tobi::task_error&) {
              ++told;
            }
            try {
              (void)failed.join();
            } catch (const std::logic_error&) {
              ++told;
            }
            return told;
          }) == 2);
    return 0;
  });
}

// A vector that a child has made is the parent's, with its elements, and ends with it.
TEST(owners, bring_global_vectors) {
  in_each(small_caches(), [](tobi::runtime&) {
    CHECK(tobi::run([] {
            using numbers = tobi::global_vector<long>;
            const auto make = [](long n) {
              numbers made;
              for (long i = 0; i < n; ++i) made.push_back(i);
              return made;
            };
            long wrong = 0;
            for (long n = 0; n < 200; n += 7) {
              auto one = tobi::spawn(make, n);
              auto other = tobi::spawn(make, n + 1);
              numbers first = one.join();
              auto sum = tobi::spawn(
                  [](const numbers& a, numbers b) {
                    b.push_back(1000);
                    return std::pair(tobi::reduce(tobi::seq, a.span(), 0L), std::move(b));
                  },
                  std::move(first), other.join());
              const auto [total, longer] = sum.join();
              if (total != n * (n - 1) / 2 || longer.size() != static_cast<std::size_t>(n) + 2 ||
                  longer[longer.size() - 1] != 1000) {
                ++wrong;
              }
            }
            return wrong;
          }) == 0);
    return 0;
  });
}

}  // namespace
