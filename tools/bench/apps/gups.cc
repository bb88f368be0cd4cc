// SPDX-License-Identifier: Apache-2.0
// Random updates (HPC Challenge's RandomAccess): table[r mod n] ^= r for the numbers r of a shift register, r' = 2r mod
// x^64 + x^2 + x + 1 over GF(2). As HPCC has it, updates race, and one in a hundred may be lost. Tasks have no such
// races to allow: here updates are made in lots, and each lot in two steps. Leaves make their numbers and put them in
// order of the part of the table that they go to; then a task for each part applies what all leaves have for it. So no
// update is lost, and the verification allows no error. With --by accumulate each task updates the table where it lies,
// without a second step: table[r mod n] += r, since numbers are added there. It looks further ahead than the 1024
// numbers that HPCC grants a process, so its rate is that of this program and no HPCC result.
#include <algorithm>
#include <bit>
#include <tobi/accumulate.hpp>
#include <tobi/algorithm.hpp>
#include <tobi/checkout.hpp>
#include <tobi/global_memory.hpp>
#include <tobi/parallel.hpp>
#include <vector>

#include "tools/bench/apps/memory_program.hpp"
#include "tools/bench/apps/variant.hpp"

namespace tobi_bench::TOBI_BENCH_VARIANT {

namespace {

using word = std::uint64_t;
using tobi::global_span;

// Set before the run, in every process alike.
struct plan {
  word n, updates;
  change_by by;
  std::size_t part;    // words of the table that a task updates; a power of two
  std::size_t parts;   // n / part
  std::size_t leaf;    // updates that a task makes
  std::size_t leaves;  // of a lot
  global_span<word> table;
  global_span<word> made;            // a lot: each leaf's updates, in order of their parts
  global_span<std::uint32_t> begin;  // where each part begins in each leaf's; parts + 1 per leaf
};
plan p;

constexpr word polynomial = 7;

word next(word r) { return r << 1 ^ ((r >> 63) != 0 ? polynomial : 0); }

// The register after COUNT steps from 1: x to the power of COUNT.
word after(word count) {
  const auto times = [](word a, word b) {
    word product = 0;
    for (; b != 0; b >>= 1, a = next(a)) product ^= (b & 1) != 0 ? a : 0;
    return product;
  };
  word power = 1;
  for (word square = 2; count != 0; count >>= 1, square = times(square, square)) {
    if ((count & 1) != 0) power = times(power, square);
  }
  return power;
}

std::size_t part_of(word r) { return static_cast<std::size_t>(r & (p.n - 1)) / p.part; }

// The updates [first, first + count), by parts.
void make(std::size_t leaf, word first, std::size_t count) {
  std::vector<word> drawn(count);
  std::vector<std::uint32_t> begin(p.parts + 1);
  word r = after(first);
  for (word& d : drawn) {
    d = r;
    ++begin[part_of(r) + 1];
    r = next(r);
  }
  for (std::size_t i = 1; i <= p.parts; ++i) begin[i] += begin[i - 1];
  std::vector<std::uint32_t> to(begin.begin(), begin.end() - 1);
  std::vector<word> ordered(count);
  for (const word d : drawn) ordered[to[part_of(d)]++] = d;

  const word* const from = ordered.data();
  tobi::for_each(tobi::seq, p.made.subspan(leaf * p.leaf, count), tobi::mode::write,
                 [from](word& into, std::size_t i) { into = from[i]; });
  const std::uint32_t* const places = begin.data();
  tobi::for_each(tobi::seq, p.begin.subspan(leaf * (p.parts + 1), p.parts + 1), tobi::mode::write,
                 [places](std::uint32_t& into, std::size_t i) { into = places[i]; });
}

void apply(std::size_t part, std::size_t leaves) {
  auto open = tobi::checkout(p.table.subspan(part * p.part, p.part), tobi::mode::read_write);
  word* const table = open.data();
  const word mask = p.part - 1;
  for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
    std::uint32_t begin, end;
    {
      auto places = tobi::checkout(p.begin.subspan(leaf * (p.parts + 1) + part, 2), tobi::mode::read);
      begin = places[0];
      end = places[1];
    }
    const global_span<const word> mine = p.made.subspan(leaf * p.leaf + begin, end - begin);
    tobi::for_each(tobi::seq, mine, [=](word r) { table[r & mask] ^= r; });
  }
}

// The updates [first, first + count), where the table lies.
void add(word first, std::size_t count) {
  std::vector<word> drawn(count);
  std::vector<std::size_t> places(count);
  word r = after(first);
  for (std::size_t i = 0; i < count; ++i, r = next(r)) {
    drawn[i] = r;
    places[i] = static_cast<std::size_t>(r & (p.n - 1));
  }
  tobi::accumulate_at(p.table, places, drawn);
}

phase_result add_all() {
  const auto leaves = static_cast<std::size_t>((p.updates + p.leaf - 1) / p.leaf);
  tobi::parallel_for(std::size_t{0}, leaves, 1, [](std::size_t leaf) {
    const word first = leaf * p.leaf;
    add(first, static_cast<std::size_t>(std::min<word>(p.leaf, p.updates - first)));
  });
  return {p.updates};
}

phase_result update() {
  if (p.by == change_by::accumulate) return add_all();
  for (word done = 0; done < p.updates;) {
    const word lot = std::min<word>(p.updates - done, p.leaf * p.leaves);
    const std::size_t leaves = static_cast<std::size_t>((lot + p.leaf - 1) / p.leaf);
    tobi::parallel_for(std::size_t{0}, leaves, 1, [=](std::size_t leaf) {
      const word first = leaf * p.leaf;
      make(leaf, done + first, static_cast<std::size_t>(std::min<word>(p.leaf, lot - first)));
    });
    tobi::parallel_for(std::size_t{0}, p.parts, 1, [=](std::size_t part) { apply(part, leaves); });
    done += lot;
  }
  return {p.updates};
}

const memory_phase phases[] = {
    {"fill", false,
     [] {
       tobi::iota(p.table, 0);
       return phase_result{};
     }},
    {"update", true, update},
};

phase_result wrong() {
  std::vector<word> table(p.n);
  for (word i = 0; i < p.n; ++i) table[i] = i;
  word r = 1;
  for (word i = 0; i < p.updates; ++i, r = next(r)) {
    word& x = table[r & (p.n - 1)];
    x = p.by == change_by::accumulate ? x + r : x ^ r;
  }
  phase_result found;
  tobi::for_each(tobi::seq, global_span<const word>(p.table),
                 [&](word x, std::size_t i) { found.number += x != table[i] ? 1 : 0; });
  return found;
}

}  // namespace

void gups_prepare(const gups_options& asked) {
  p.n = asked.n;
  p.updates = asked.updates;
  p.by = asked.by;
  // Parts that can be checked out, and so few that a leaf has some updates for each.
  const std::size_t most = std::bit_floor(tobi::chunk_bytes() / sizeof(word));
  p.part = std::min<std::size_t>({p.n, most, std::max<std::size_t>(8192, p.n / 256)});
  p.parts = p.n / p.part;
  p.leaf = asked.cutoff != 0 ? asked.cutoff : std::max<std::size_t>(4096, 32 * p.parts);
  const word lot = std::min<word>(asked.updates, std::max<word>(p.n / 4, p.leaf));
  p.leaves = static_cast<std::size_t>((lot + p.leaf - 1) / p.leaf);
  const tobi::distribution how{asked.chunk};
  p.table = tobi::allocate_all<word>(p.n, how);
  if (p.by == change_by::accumulate) {
    if (asked.cutoff == 0) p.leaf = 4096;
    return;
  }
  p.made = tobi::allocate_all<word>(p.leaves * p.leaf, how);
  p.begin = tobi::allocate_all<std::uint32_t>(p.leaves * (p.parts + 1), how);
}

const memory_program gups_program{phases, wrong};

}  // namespace tobi_bench::TOBI_BENCH_VARIANT
