// SPDX-License-Identifier: Apache-2.0
// global_vector as an octree needs it: cells that hold vectors of bodies and of pointers, in vectors that grow, made,
// moved and ended by whichever worker gets there.
#include <gtest/gtest.h>

#include <functional>

#include "global_places.hpp"

namespace {

using tobi::global_ptr;
using tobi::global_vector;

struct body {
  double x = 0, mass = 0;
};

// Not trivially copyable: it owns its bodies, and knows where its neighbours are.
struct cell {
  cell() = default;
  cell(long first, long count) : begin(first) {
    for (long i = 0; i < count; ++i) bodies.emplace_back(body{static_cast<double>(first + i), 1.0});
  }
  long begin = 0;
  global_vector<body> bodies;
  global_vector<global_vector<global_ptr<cell>>> neighbours;
  global_ptr<cell> left, right;
};
static_assert(!std::is_trivially_copyable_v<cell> && std::is_nothrow_move_constructible_v<cell>);

global_ptr<cell> build(long first, long count) {
  const global_ptr<cell> made = tobi::allocate_global<cell>(1);
  if (count <= 40) {
    auto place = tobi::checkout(made, 1, tobi::mode::write);
    std::construct_at(place.data(), first, count);
    return made;
  }
  auto child = tobi::spawn([=] { return build(first, count / 3); });
  const global_ptr<cell> right = build(first + count / 3, count - count / 3);
  const global_ptr<cell> left = child.join();
  auto place = tobi::checkout(made, 1, tobi::mode::write);
  cell* const c = std::construct_at(place.data());
  c->left = left;
  c->right = right;
  // Lists of lists, filled under the checkout of their owner.
  for (int level = 0; level < 3; ++level) {
    c->neighbours.emplace_back();
    auto list = tobi::checkout(&c->neighbours[static_cast<std::size_t>(level)], 1, tobi::mode::read_write);
    for (int i = 0; i < 10 * level; ++i) list->push_back(i % 2 == 0 ? left : right);
  }
  return made;
}

struct sums {
  double mass;
  long cells;
  long links;
};

sums visit(global_ptr<cell> at) {
  sums mine{0, 1, 0};
  global_ptr<cell> left, right;
  {
    auto c = tobi::checkout(at, 1, tobi::mode::read);
    left = c->left;
    right = c->right;
    mine.mass =
        tobi::transform_reduce(tobi::seq, c->bodies.span(), 0.0, std::plus<>(), [](const body& b) { return b.mass; });
    mine.links = tobi::transform_reduce(
        tobi::seq, c->neighbours.span(), 0L, std::plus<>(), [=](const global_vector<global_ptr<cell>>& list) {
          return static_cast<long>(
              tobi::count_if(tobi::seq, list.span(), [=](global_ptr<cell> p) { return p == left; }));
        });
  }
  if (!left) return mine;
  auto child = tobi::spawn([=] { return visit(left); });
  const sums b = visit(right);
  const sums a = child.join();
  return {mine.mass + a.mass + b.mass, mine.cells + a.cells + b.cells, mine.links + a.links + b.links};
}

void take_down(global_ptr<cell> at) {
  global_ptr<cell> left, right;
  {
    auto c = tobi::checkout(at, 1, tobi::mode::read_write);
    left = c->left;
    right = c->right;
    std::destroy_at(c.data());
  }
  tobi::free_global(at, 1);
  if (!left) return;
  auto child = tobi::spawn([=] { take_down(left); });
  take_down(right);
  child.join();
}

long cells_of(long count) { return count <= 40 ? 1 : 1 + cells_of(count / 3) + cells_of(count - count / 3); }

TEST(global_vector, cells_with_bodies) {
  in_each(small_caches(), [](tobi::runtime&) {
    for (int round = 0; round < 2; ++round) {
      const sums got = tobi::run([] {
        const global_ptr<cell> root = build(0, 3000);
        const sums found = visit(root);
        take_down(root);
        return found;
      });
      const long inner = (cells_of(3000) - 1) / 2;
      CHECK(got.mass == 3000.0);
      CHECK(got.cells == cells_of(3000));
      CHECK(got.links == inner * (5 + 10));
    }
    return 0;
  });
}

// Cells in a vector: it grows and moves them, whose bodies stay where they are, and different tasks change them.
TEST(global_vector, vectors_of_cells_grow) {
  in_each(small_caches(), [](tobi::runtime&) {
    const long got = tobi::run([] {
      global_vector<cell> cells;
      for (long i = 0; i < 150; ++i) cells.push_back(cell(100 * i, i % 50));
      const auto all = cells.span();
      tobi::for_each({.cutoff = 8}, all, [](cell& c, std::size_t i) {
        c.bodies.reserve(70);
        if (i % 3 == 0 && !c.bodies.empty()) c.bodies.pop_back();
        c.bodies.push_back(body{-1.0, static_cast<double>(i)});
      });
      for (long i = 0; i < 20; ++i) cells.emplace_back(7 * i, 3L);
      cells.resize(165);
      global_vector<cell> other;
      other.swap(cells);
      if (!cells.empty() || cells.capacity() != 0) return -1L;
      return tobi::transform_reduce({.cutoff = 8}, other.span(), 0L, std::plus<>(), [](const cell& c) {
        return static_cast<long>(tobi::transform_reduce(tobi::seq, c.bodies.span(), 0.0, std::plus<>(),
                                                        [](const body& b) { return b.x + b.mass; }));
      });
    });
    long wanted = 0;
    for (long i = 0; i < 150; ++i) {
      const long bodies = i % 3 == 0 && i % 50 > 0 ? i % 50 - 1 : i % 50;
      for (long k = 0; k < bodies; ++k) wanted += 100 * i + k + 1;
      wanted += i - 1;
    }
    for (long i = 0; i < 15; ++i) wanted += 3 * 7 * i + 3 + 3;
    CHECK(got == wanted);
    return 0;
  });
}

}  // namespace
