// SPDX-License-Identifier: Apache-2.0
// The kernels of the fast multipole method, each alone against sums over pairs, against series that can be summed, and
// against the theory of errors. The particles, against what is known of their distributions. Random inputs have seeds.
#include "tools/bench/fmm/laplace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "tools/bench/fmm/particles.hpp"

namespace tobi_bench {

namespace {

using namespace laplace;

vec3 operator+(vec3 a, vec3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
vec3 operator-(vec3 a, vec3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
double length(vec3 a) { return std::sqrt(a.x * a.x + a.y * a.y + a.z * a.z); }

/// COUNT bodies in a ball about CENTER, with charges of both signs.
std::vector<body> cloud(std::size_t count, vec3 center, double radius, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> one(-1.0, 1.0);
  std::vector<body> made;
  while (made.size() < count) {
    const vec3 at{one(random), one(random), one(random)};
    if (length(at) > 1.0) continue;
    made.push_back({center + vec3{radius * at.x, radius * at.y, radius * at.z}, one(random)});
  }
  return made;
}

std::vector<field> direct(const std::vector<body>& targets, const std::vector<body>& sources) {
  std::vector<field> sums(targets.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    for (const body& s : sources) {
      const vec3 d = targets[i].at - s.at;
      const double r = length(d);
      if (r == 0.0) continue;
      sums[i].potential += s.charge / r;
      const double strength = s.charge / (r * r * r);
      sums[i].force = sums[i].force + vec3{strength * d.x, strength * d.y, strength * d.z};
    }
  }
  return sums;
}

double charge_of(const std::vector<body>& bodies) {
  double sum = 0.0;
  for (const body& b : bodies) sum += std::fabs(b.charge);
  return sum;
}

using expansion = std::vector<coefficient>;
expansion multipole_of(unsigned order, vec3 center, const std::vector<body>& bodies) {
  expansion m(coefficients(order));
  p2m(order, m.data(), center, bodies);
  return m;
}
std::vector<field> fields_of(unsigned order, const expansion& local, vec3 center, const std::vector<body>& bodies) {
  std::vector<field> f(bodies.size());
  l2p(order, local.data(), center, bodies, f);
  return f;
}
double potential_at(unsigned order, const expansion& local, vec3 center, vec3 at) {
  return fields_of(order, local, center, {{at, 1.0}})[0].potential;
}

void expect_near(const expansion& got, const expansion& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  double largest = 0.0;
  for (const coefficient& c : expected) largest = std::max(largest, std::abs(c));
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_LE(std::abs(got[i] - expected[i]), tolerance * (std::abs(expected[i]) + largest)) << i;
  }
}
void expect_near(const field& got, const field& expected, double potential, double force) {
  EXPECT_NEAR(got.potential, expected.potential, potential);
  EXPECT_LE(length(got.force - expected.force), force);
}

class of_order : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(all, of_order, testing::Range(1u, max_order + 1), testing::PrintToStringParamName());

TEST_P(of_order, a_multipole_begins_with_the_charge_and_the_dipole) {
  const unsigned order = GetParam();
  const vec3 center{0.1, -0.2, 0.3};
  const auto bodies = cloud(37, center, 0.5, 1);
  const auto m = multipole_of(order, center, bodies);
  double q = 0.0;
  vec3 dipole{};
  for (const body& b : bodies) {
    const vec3 d = b.at - center;
    q += b.charge;
    dipole = dipole + vec3{b.charge * d.x, b.charge * d.y, b.charge * d.z};
  }
  EXPECT_NEAR(m[0].real(), q, 1e-14);
  EXPECT_EQ(m[0].imag(), 0.0);
  if (order == 1) return;
  EXPECT_NEAR(m[1].real(), dipole.z, 1e-14);
  EXPECT_NEAR(m[2].real(), dipole.x / 2, 1e-14);
  EXPECT_NEAR(m[2].imag(), dipole.y / 2, 1e-14);
}

// On an axis all is known: 1 / (r - a) is the sum of a^n / r^(n+1), of which the first ORDER terms are taken.
TEST_P(of_order, a_multipole_is_short_of_the_potential_by_a_power_of_the_ratio) {
  const unsigned order = GetParam();
  const double a = 0.4, r = 1.3, q = 2.5;
  for (const vec3 axis :
       {vec3{1, 0, 0}, vec3{0, 1, 0}, vec3{0, 0, 1}, vec3{0.6, 0, -0.8}, vec3{2. / 3, -1. / 3, 2. / 3}}) {
    const vec3 center{0.7, 0.1, -0.4};
    const auto on_axis = [&](double at) { return center + vec3{at * axis.x, at * axis.y, at * axis.z}; };
    const auto m = multipole_of(order, center, {{on_axis(a), q}});
    expansion local(coefficients(order));
    m2l(order, local.data(), m.data(), on_axis(r) - center);  // its first coefficient is the potential there
    EXPECT_NEAR(q / (r - a) - local[0].real(), q / (r - a) * std::pow(a / r, order), 1e-13);
  }
}

// And 1 / (d - a - b) is the sum of C(n+k,n) a^n b^k / d^(n+k+1), of which n and k below ORDER are taken.
TEST_P(of_order, a_local_expansion_has_all_pairs_of_terms) {
  const unsigned order = GetParam();
  const double a = 0.35, b = 0.25, d = 1.5;
  double series = 0.0;
  for (unsigned n = 0; n < order; ++n) {
    double binomial = 1.0;
    for (unsigned k = 0; k < order; ++k) {
      series += binomial * std::pow(a, n) * std::pow(b, k) / std::pow(d, n + k + 1);
      binomial = binomial * (n + k + 1) / (k + 1);
    }
  }
  for (const vec3 axis : {vec3{1, 0, 0}, vec3{0, -1, 0}, vec3{0, 0, 1}, vec3{-0.48, 0.6, 0.64}}) {
    const auto times = [&](double at) { return vec3{at * axis.x, at * axis.y, at * axis.z}; };
    const auto m = multipole_of(order, {0, 0, 0}, {{times(a), 1.0}});
    expansion local(coefficients(order));
    m2l(order, local.data(), m.data(), times(d));
    EXPECT_NEAR(potential_at(order, local, times(d), times(d - b)), series, 1e-13);
  }
}

TEST_P(of_order, errors_are_within_the_bound_in_all_directions) {
  const unsigned order = GetParam();
  const double radius = 0.5;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const auto sources = cloud(50, {0, 0, 0}, radius, seed);
    const auto direction = cloud(1, {0, 0, 0}, 1.0, 100 + seed)[0].at;
    const double far = 2.5 / length(direction);
    const vec3 center{far * direction.x, far * direction.y, far * direction.z};
    const auto targets = cloud(20, center, radius, 200 + seed);
    expansion local(coefficients(order));
    m2l(order, local.data(), multipole_of(order, {0, 0, 0}, sources).data(), center);
    const auto got = fields_of(order, local, center, targets);
    const auto expected = direct(targets, sources);
    // Of a pair at most 1 / (d - a - b) ((a + b) / d)^order, once for the multipole and once for the local expansion.
    // The force has the factor order.
    const double bound = 2.0 * charge_of(sources) / 1.5 * std::pow(0.4, order);
    for (std::size_t i = 0; i < targets.size(); ++i) expect_near(got[i], expected[i], bound, bound * order / 0.6);
  }
}

TEST_P(of_order, m2m_is_p2m_about_the_parent) {
  const unsigned order = GetParam();
  const vec3 child{0.25, 0.75, 0.25}, parent{0.5, 0.5, 0.5};
  const auto bodies = cloud(33, child, 0.4, 7);
  expansion moved(coefficients(order));
  m2m(order, moved.data(), multipole_of(order, child, bodies).data(), child - parent);
  expect_near(moved, multipole_of(order, parent, bodies), 1e-14);
}

TEST_P(of_order, l2l_is_the_same_polynomial) {
  const unsigned order = GetParam();
  const vec3 parent{3.0, 0.2, -0.1}, child{3.2, 0.1, 0.15};
  expansion local(coefficients(order)), moved(coefficients(order));
  m2l(order, local.data(), multipole_of(order, {0, 0, 0}, cloud(20, {0, 0, 0}, 0.5, 3)).data(), parent);
  l2l(order, moved.data(), local.data(), child - parent);
  const auto targets = cloud(21, child, 0.3, 4);
  const auto got = fields_of(order, moved, child, targets), expected = fields_of(order, local, parent, targets);
  for (std::size_t i = 0; i < targets.size(); ++i) expect_near(got[i], expected[i], 1e-12, 1e-12);
}

TEST_P(of_order, forces_are_minus_the_gradient) {
  const unsigned order = GetParam();
  const vec3 center{2.0, -1.0, 0.5};
  expansion local(coefficients(order));
  m2l(order, local.data(), multipole_of(order, {0, 0, 0}, cloud(20, {0, 0, 0}, 0.5, 3)).data(), center);
  const auto targets = cloud(9, center, 0.4, 5);
  const auto got = fields_of(order, local, center, targets);
  const double h = 1e-4;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto slope = [&](vec3 step) {
      return (potential_at(order, local, center, targets[i].at + step) -
              potential_at(order, local, center, targets[i].at - step)) /
             (2.0 * h);
    };
    EXPECT_NEAR(got[i].force.x, -slope({h, 0, 0}), 1e-6);
    EXPECT_NEAR(got[i].force.y, -slope({0, h, 0}), 1e-6);
    EXPECT_NEAR(got[i].force.z, -slope({0, 0, h}), 1e-6);
  }
}

TEST_P(of_order, each_adds_to_what_is_there) {
  const unsigned order = GetParam();
  const auto bodies = cloud(5, {0, 0, 0}, 0.5, 11);
  const vec3 d{1.5, -0.5, 1.0};
  const auto m = multipole_of(order, {0, 0, 0}, bodies);
  const auto adds = [&](auto kernel) {
    expansion once(coefficients(order)), twice(coefficients(order), coefficient(3.0, -2.0));
    kernel(once.data());
    kernel(twice.data());
    kernel(twice.data());
    for (coefficient& c : once) c = 2.0 * c + coefficient(3.0, -2.0);
    expect_near(twice, once, 1e-15);
  };
  adds([&](coefficient* to) { p2m(order, to, {0, 0, 0}, bodies); });
  adds([&](coefficient* to) { m2m(order, to, m.data(), d); });
  adds([&](coefficient* to) { m2l(order, to, m.data(), d); });
  adds([&](coefficient* to) { l2l(order, to, m.data(), d); });
  std::vector<field> once(bodies.size()), twice(bodies.size(), field{5.0, {6.0, 7.0, 8.0}});
  l2p(order, m.data(), {0, 0, 0}, bodies, once);
  l2p(order, m.data(), {0, 0, 0}, bodies, twice);
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const field expected{once[i].potential + 5.0, once[i].force + vec3{6.0, 7.0, 8.0}};
    expect_near(twice[i], expected, 1e-14, 1e-14);
  }
}

TEST_P(of_order, nothing_is_written_behind_an_expansion) {
  const unsigned order = GetParam();
  const auto bodies = cloud(6, {0, 0, 0}, 0.5, 12);
  const auto m = multipole_of(order, {0, 0, 0}, bodies);
  const auto leaves = [&](auto kernel) {
    expansion longer(coefficients(order) + 1);
    longer.back() = {1.25, 2.5};
    kernel(longer.data());
    EXPECT_EQ(longer.back(), coefficient(1.25, 2.5));
  };
  leaves([&](coefficient* to) { p2m(order, to, {0, 0, 0}, bodies); });
  leaves([&](coefficient* to) { m2m(order, to, m.data(), {1, 2, 3}); });
  leaves([&](coefficient* to) { m2l(order, to, m.data(), {1, 2, 3}); });
  leaves([&](coefficient* to) { l2l(order, to, m.data(), {1, 2, 3}); });
}

TEST_P(of_order, bodies_may_be_none_one_or_any_number) {
  const unsigned order = GetParam();
  const auto all = cloud(11, {0, 0, 0}, 0.5, 13);
  EXPECT_EQ(multipole_of(order, {0, 0, 0}, {}), expansion(coefficients(order)));
  const auto local = multipole_of(order, {0, 0, 0}, all);  // as good as any
  expansion sum(coefficients(order));
  for (std::size_t n = 0; n <= all.size(); ++n) {
    const std::vector<body> some(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n));
    if (n > 0) p2m(order, sum.data(), {0, 0, 0}, {&all[n - 1], 1});
    expect_near(multipole_of(order, {0, 0, 0}, some), sum, 1e-14);
    const auto got = fields_of(order, local, {0, 0, 0}, some);
    for (std::size_t i = 0; i < n; ++i) {
      expect_near(got[i], fields_of(order, local, {0, 0, 0}, {all[i]})[0], 1e-13, 1e-13);
    }
  }
}

TEST_P(of_order, a_body_in_the_center_is_a_charge) {
  const unsigned order = GetParam();
  const vec3 center{0.5, 0.25, 0.75};
  const auto m = multipole_of(order, center, {{center, 4.0}});
  EXPECT_EQ(m[0], coefficient(4.0));
  for (std::size_t i = 1; i < m.size(); ++i) EXPECT_EQ(std::abs(m[i]), 0.0);
  expansion local(coefficients(order));
  m2l(order, local.data(), m.data(), {0, 0, 2});
  EXPECT_NEAR(potential_at(order, local, {0, 0, 0}, {0, 0, 0}), 2.0, 1e-15);
}

TEST(near_field, is_the_sum_over_pairs) {
  for (std::size_t targets = 0; targets <= near_field::capacity; ++targets) {
    const auto some = cloud(targets, {0, 0, 0}, 1.0, targets);
    const auto sources = cloud(targets * 7 % 50, {0.5, 0, 0}, 1.0, 1000 + targets);
    near_field near;
    near.begin(some);
    near.add(sources);
    near.add(some);  // with themselves
    std::vector<field> got(targets, field{1.0, {2.0, 3.0, 4.0}});
    near.end(got);
    auto all = sources;
    all.insert(all.end(), some.begin(), some.end());
    const auto expected = direct(some, all);
    for (std::size_t i = 0; i < targets; ++i) {
      const double strong = length(expected[i].force);
      expect_near({got[i].potential - 1.0, got[i].force - vec3{2.0, 3.0, 4.0}}, expected[i],
                  1e-13 * charge_of(all) + 1e-14 * strong, 1e-12 * (strong + charge_of(all)));
    }
  }
}

TEST(near_field, bodies_in_one_place_add_nothing_to_each_other) {
  const std::vector<body> five(5, body{{0.3, 0.3, 0.3}, 2.0});
  near_field near;
  near.begin(five);
  near.add(five);
  std::vector<field> got(5);
  near.end(got);
  for (const field& f : got) expect_near(f, {}, 0.0, 0.0);
  const std::vector<body> other{{{0.3, 0.3, 0.8}, 3.0}};
  near.add(other);
  near.end(got);
  for (const field& f : got) expect_near(f, {6.0, {0, 0, -12.0}}, 1e-14, 1e-14);
}

TEST(near_field, begins_anew) {
  const std::vector<body> one{{{0, 0, 0}, 1.0}}, two{{{1, 0, 0}, 1.0}, {{0, 2, 0}, 1.0}};
  near_field near;
  near.begin(two);
  near.add(one);
  near.begin(one);
  near.add(two);
  std::vector<field> got(1);
  near.end(got);
  expect_near(got[0], {1.5, {-1.0, -0.25, 0}}, 1e-15, 1e-15);
}

constexpr std::uint64_t many = 20'000;
constexpr particle_shape shapes[] = {particle_shape::cube, particle_shape::sphere, particle_shape::plummer};

TEST(particles, are_functions_of_their_arguments_inside_of_the_cube) {
  for (const particle_shape shape : shapes) {
    double charge = 0.0;
    for (std::uint64_t i = 0; i < many; ++i) {
      const body b = make_particle(shape, 5, i, many), same = make_particle(shape, 5, i, many);
      EXPECT_EQ(length(b.at - same.at), 0.0);
      for (const double x : {b.at.x, b.at.y, b.at.z}) {
        EXPECT_GE(x, 0.0);
        EXPECT_LT(x, 1.0);
      }
      EXPECT_GT(length(b.at - make_particle(shape, 5, i + 1, many).at), 0.0);
      EXPECT_GT(length(b.at - make_particle(shape, 6, i, many).at), 0.0);
      charge += b.charge;
    }
    EXPECT_NEAR(charge, 1.0, 1e-10);
  }
}

TEST(particles, of_a_sphere_are_on_its_surface) {
  for (std::uint64_t i = 0; i < many; ++i) {
    const body b = make_particle(particle_shape::sphere, 1, i, many);
    EXPECT_NEAR(length(b.at - vec3{0.5, 0.5, 0.5}), sphere_radius, 1e-15);
  }
}

// Means over MANY samples are within five of their deviations.
struct moments {
  vec3 first{}, second{};  // about the middle
};
moments moments_of(particle_shape shape) {
  moments m;
  for (std::uint64_t i = 0; i < many; ++i) {
    const vec3 d = make_particle(shape, 2, i, many).at - vec3{0.5, 0.5, 0.5};
    m.first = m.first + d;
    m.second = m.second + vec3{d.x * d.x, d.y * d.y, d.z * d.z};
  }
  for (vec3* of : {&m.first, &m.second}) *of = {of->x / many, of->y / many, of->z / many};
  return m;
}
TEST(particles, have_the_moments_of_their_distributions) {
  const double deviations = 5.0 / std::sqrt(static_cast<double>(many));
  for (const particle_shape shape : {particle_shape::cube, particle_shape::sphere}) {
    const moments m = moments_of(shape);
    const bool cube = shape == particle_shape::cube;
    const double r = cube ? 0.5 : sphere_radius;
    // Uniform along each axis, on the sphere too (Archimedes): of x^2 the mean is r^2 / 3, and of x^4 it is r^4 / 5.
    for (const double first : {m.first.x, m.first.y, m.first.z})
      EXPECT_NEAR(first, 0.0, deviations * r / std::sqrt(3.0));
    for (const double second : {m.second.x, m.second.y, m.second.z}) {
      EXPECT_NEAR(second, r * r / 3, deviations * r * r * std::sqrt(1.0 / 5 - 1.0 / 9));
    }
  }
}

TEST(particles, of_plummers_model_have_its_mass_in_each_radius) {
  const double a = sphere_radius / plummer_cut;
  const auto mass = [&](double r) { return std::pow(1.0 + a * a / (r * r), -1.5); };
  std::vector<double> radii;
  vec3 mean{};
  for (std::uint64_t i = 0; i < many; ++i) {
    const vec3 d = make_particle(particle_shape::plummer, 3, i, many).at - vec3{0.5, 0.5, 0.5};
    radii.push_back(length(d));
    mean = mean + vec3{d.x / radii.back() / many, d.y / radii.back() / many, d.z / radii.back() / many};
  }
  std::sort(radii.begin(), radii.end());
  EXPECT_LE(radii.back(), sphere_radius * (1 + 1e-15));
  for (const double r : {0.5 * a, a, 1.3 * a, 3 * a, 9 * a}) {
    const auto inside = std::lower_bound(radii.begin(), radii.end(), r) - radii.begin();
    EXPECT_NEAR(static_cast<double>(inside) / many, mass(r) / mass(sphere_radius), 2.5 / std::sqrt(double{many}));
  }
  EXPECT_LE(length(mean), 5.0 / std::sqrt(double{many}));
}

}  // namespace

}  // namespace tobi_bench
