// SPDX-License-Identifier: Apache-2.0
// STO-3G: Hehre, Stewart and Pople, J. Chem. Phys. 51, 2657 (1969), for hydrogen, helium and beryllium. 6-31G: Dill
// and Pople, J. Chem. Phys. 62, 2921 (1975), for beryllium. Both as the Basis Set Exchange has them, without the p
// functions.
#include "tools/bench/hf/molecule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>

#include "tools/bench/arguments.hpp"

namespace tobi_bench::hf {

namespace {

using shell = std::vector<primitive>;  // weights as published: of primitives of norm 1

const shell hydrogen_sto3g = {{3.42525091, 0.15432897}, {0.62391373, 0.53532814}, {0.16885540, 0.44463454}};
const shell helium_sto3g = {{6.36242139, 0.15432897}, {1.15892300, 0.53532814}, {0.31364979, 0.44463454}};
const std::vector<shell> beryllium_sto3g = {
    {{30.1678710, 0.15432897}, {5.4951153, 0.53532814}, {1.4871927, 0.44463454}},
    {{1.3148331, -0.09996723}, {0.3055389, 0.39951283}, {0.0993707, 0.70011547}}};
const std::vector<shell> beryllium_631g = {{{1264.5857, 0.0019448},
                                            {189.93681, 0.0148351},
                                            {43.159089, 0.0720906},
                                            {12.098663, 0.2371542},
                                            {3.8063232, 0.4691987},
                                            {1.2728903, 0.3565202}},
                                           {{3.1964631, -0.1126487}, {0.7478133, -0.2295064}, {0.2199663, 1.1869167}},
                                           {{0.0823099, 1.0}}};

// The crystal of beryllium: hexagonal, close packed.
constexpr double hcp_a = 4.3195, hcp_c = 6.7733;

shell of_norm_1(shell s) {
  for (primitive& p : s) p.weight *= std::pow(2 * p.exponent / std::numbers::pi, 0.75);
  double norm = 0;
  for (const primitive& p : s) {
    for (const primitive& q : s) {
      norm += p.weight * q.weight * std::pow(std::numbers::pi / (p.exponent + q.exponent), 1.5);
    }
  }
  for (primitive& p : s) p.weight /= std::sqrt(norm);
  return s;
}

void add_atom(molecule& m, double charge, const point& at, const std::vector<shell>& shells) {
  m.atoms.push_back({charge, at});
  m.electrons += static_cast<int>(charge);
  for (const shell& s : shells) m.functions.push_back({at, of_norm_1(s)});
}

// As far apart as neighbours in the crystal.
std::vector<point> chain(int atoms) {
  std::vector<point> places;
  for (int i = 0; i < atoms; ++i) places.push_back({0, 0, hcp_a * i});
  return places;
}

// The places of the crystal that are nearest to one of them, along a sweep through the cluster: places that follow each
// other are near each other, so that a tile is of neighbours.
std::vector<point> crystal(int atoms) {
  std::vector<point> places;
  const int reach = 2 + static_cast<int>(std::cbrt(static_cast<double>(atoms)));
  for (int i = -reach; i <= reach; ++i) {
    for (int j = -reach; j <= reach; ++j) {
      for (int k = -reach; k <= reach; ++k) {
        const double x = hcp_a * (i + 0.5 * j), y = hcp_a * std::sqrt(0.75) * j, z = hcp_c * k;
        places.push_back({x, y, z});
        places.push_back({x + hcp_a / 2, y + hcp_a / std::sqrt(12.0), z + hcp_c / 2});
      }
    }
  }
  // Rounded, so that places of one distance are in an order that is the same on all machines.
  const auto rounded = [](double r) { return std::llround(r * 1e6); };
  const auto by_distance = [&](const point& p) {
    return std::tuple(rounded(squared_distance(p, {0, 0, 0})), rounded(p.x), rounded(p.y), rounded(p.z));
  };
  const auto along = [&](const point& p) { return std::tuple(rounded(p.z), rounded(p.y), rounded(p.x)); };
  std::sort(places.begin(), places.end(),
            [&](const point& a, const point& b) { return by_distance(a) < by_distance(b); });
  places.resize(static_cast<std::size_t>(atoms));
  std::sort(places.begin(), places.end(), [&](const point& a, const point& b) { return along(a) < along(b); });
  return places;
}

}  // namespace

molecule make_molecule(const hf_options& asked) {
  molecule m;
  if (asked.molecule == "he") {
    add_atom(m, 2, {0, 0, 0}, {helium_sto3g});
    m.published = -2.8077840;
  } else if (asked.molecule == "h2") {
    for (const double z : {0.0, 1.4}) add_atom(m, 1, {0, 0, z}, {hydrogen_sto3g});
    m.published = -1.1167143;
  } else {
    const bool small = asked.basis == "sto-3g";
    for (const point& p : (asked.layout == "chain" ? chain : crystal)(asked.atoms))
      add_atom(m, 4, p, small ? beryllium_sto3g : beryllium_631g);
    if (asked.atoms == 1) m.published = small ? -14.3518805 : -14.5667640;
  }
  return m;
}

double nuclear_repulsion(const molecule& m) {
  double sum = 0;
  for (std::size_t i = 0; i < m.atoms.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const atom &a = m.atoms[i], &b = m.atoms[j];
      sum += a.charge * b.charge / std::sqrt(squared_distance(a.at, b.at));
    }
  }
  return sum;
}

}  // namespace tobi_bench::hf
