// SPDX-License-Identifier: Apache-2.0
// The trees of the Unbalanced Tree Search benchmark (Olivier et al., LCPC 2006): what a node is, and how many children
// it has. Every node carries a SHA-1 state, from which its number of children follows, and its children's states.
#pragma once

#include <cmath>
#include <cstdint>

#include "tools/bench/apps/sha1.hpp"

namespace tobi_bench {

enum class tree_type : std::uint8_t { binomial = 0, geometric = 1, hybrid = 2, balanced = 3 };
enum class tree_shape : std::uint8_t { linear = 0, expdec = 1, cyclic = 2, fixed = 3 };

/// The benchmark's parameters, with its flags.
struct tree {
  tree_type type = tree_type::geometric;  // -t
  double b0 = 4.0;                        // -b  branching factor of the root
  std::int32_t root_seed = 0;             // -r
  tree_shape shape = tree_shape::linear;  // -a  of geometric trees
  std::int32_t gen_max = 6;               // -d  depth that the shape refers to
  double non_leaf_prob = 15.0 / 64.0;     // -q  of binomial trees
  std::int32_t non_leaf_children = 4;     // -m
  double shift_depth = 0.5;               // -f  of hybrid trees: the share of gen_max that is geometric
  std::int32_t granularity = 1;           // -g  hashes per node
};

struct tree_node {
  sha1_digest state;
  std::int32_t height;
};

inline tree_node tree_root(const tree& t) noexcept {
  return {sha1_words<5>({0, 0, 0, 0, static_cast<std::uint32_t>(t.root_seed)}), 0};
}

inline tree_node tree_child(const tree& t, const tree_node& parent, std::uint32_t index) noexcept {
  const sha1_digest& s = parent.state;
  const std::array<std::uint32_t, 6> message{s[0], s[1], s[2], s[3], s[4], index};
  tree_node child{sha1_words(message), parent.height + 1};
  // The reference computes the same hash again to make nodes more expensive; the barrier keeps the compiler from
  // knowing.
  for (std::int32_t g = 1; g < t.granularity; ++g) {
    asm volatile("" ::: "memory");
    child.state = sha1_words(message);
  }
  return child;
}

/// Uniform in [0, 1): the last word of the state, 31 bits of it.
inline double tree_probability(const tree_node& n) noexcept {
  return static_cast<double>(n.state[4] & 0x7fffffff) / 2147483648.0;
}

inline std::int32_t geometric_children(const tree& t, const tree_node& n) noexcept {
  const double depth = n.height;
  const double limit = t.gen_max;
  double b = t.b0;
  if (n.height > 0) {
    switch (t.shape) {
      case tree_shape::expdec:
        b = t.b0 * std::pow(depth, -std::log(t.b0) / std::log(limit));
        break;
      case tree_shape::cyclic:
        b = depth > 5 * limit ? 0.0 : std::pow(t.b0, std::sin(2.0 * 3.141592653589793 * depth / limit));
        break;
      case tree_shape::fixed:
        b = n.height < t.gen_max ? t.b0 : 0.0;
        break;
      case tree_shape::linear:
        b = t.b0 * (1.0 - depth / limit);
        break;
    }
  }
  const double p = 1.0 / (1.0 + b);
  return static_cast<std::int32_t>(std::floor(std::log(1.0 - tree_probability(n)) / std::log(1.0 - p)));
}

inline std::int32_t binomial_children(const tree& t, const tree_node& n) noexcept {
  return tree_probability(n) < t.non_leaf_prob ? t.non_leaf_children : 0;
}

inline std::int32_t tree_children(const tree& t, const tree_node& n) noexcept {
  constexpr std::int32_t most = 100;  // the reference's limit, from which a binomial root and balanced trees are free
  std::int32_t count = 0;
  switch (t.type) {
    case tree_type::binomial:
      if (n.height == 0) return static_cast<std::int32_t>(std::floor(t.b0));
      count = binomial_children(t, n);
      break;
    case tree_type::geometric:
      count = geometric_children(t, n);
      break;
    case tree_type::hybrid:
      count = n.height < t.shift_depth * t.gen_max ? geometric_children(t, n) : binomial_children(t, n);
      break;
    case tree_type::balanced:
      return n.height < t.gen_max ? static_cast<std::int32_t>(t.b0) : 0;
  }
  return count < 0 ? 0 : count > most ? most : count;
}

}  // namespace tobi_bench
