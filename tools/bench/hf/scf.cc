// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/hf/scf.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <deque>

#include "tools/bench/hf/integrals.hpp"

namespace tobi_bench::hf {

namespace {

using matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr std::size_t extrapolated = 8;  // Fock matrices that are kept
constexpr double energy_still = 1e-9, error_still = 1e-7;

matrix matrix_of(const std::vector<double>& rows, Eigen::Index n) {
  return Eigen::Map<const matrix>(rows.data(), n, n);
}

// The electrons of each atom, spread over its own functions: a density without a bond.
matrix first_density(const molecule& m, const matrix& overlap) {
  const auto n = static_cast<Eigen::Index>(m.functions.size());
  const matrix p = matrix::Identity(n, n);
  return p * (m.electrons / (p * overlap).trace());
}

}  // namespace

struct self_consistent_field::state {
  Eigen::Index n;
  int pairs;  // of electrons
  double nuclei;
  matrix overlap, core, orthogonal;
  matrix density;
  std::vector<double> density_rows;
  std::deque<matrix> focks, errors;
  double energy = 0, change = 1, error = 1;
  int steps = 0;

  void keep(const matrix& p) {
    density = p;
    density_rows.assign(p.data(), p.data() + p.size());
  }

  // The combination of the kept Fock matrices whose error is least (Pulay 1980).
  [[nodiscard]] matrix extrapolate() const {
    const auto count = static_cast<Eigen::Index>(focks.size());
    Eigen::MatrixXd b = Eigen::MatrixXd::Constant(count + 1, count + 1, -1.0);
    for (Eigen::Index i = 0; i < count; ++i) {
      for (Eigen::Index j = 0; j < count; ++j) {
        b(i, j) = errors[static_cast<std::size_t>(i)].cwiseProduct(errors[static_cast<std::size_t>(j)]).sum();
      }
    }
    // Alone the least error counts: of its size are the numbers that the factorisation sees.
    const double scale = b.topLeftCorner(count, count).diagonal().minCoeff();
    if (scale > 0) b.topLeftCorner(count, count) /= scale;
    b(count, count) = 0;
    Eigen::VectorXd right = Eigen::VectorXd::Zero(count + 1);
    right(count) = -1;
    const Eigen::VectorXd weights = b.colPivHouseholderQr().solve(right);
    matrix sum = matrix::Zero(n, n);
    for (Eigen::Index i = 0; i < count; ++i) sum += weights(i) * focks[static_cast<std::size_t>(i)];
    return sum;
  }

  // The orbitals of least energy of FOCK, two electrons in each.
  [[nodiscard]] matrix fill(const matrix& fock) const {
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(orthogonal.transpose() * fock * orthogonal);
    const matrix orbitals = orthogonal * solver.eigenvectors().leftCols(pairs);
    return 2 * orbitals * orbitals.transpose();
  }
};

self_consistent_field::self_consistent_field(const molecule& m) : state_(std::make_unique<state>()) {
  state& s = *state_;
  s.n = static_cast<Eigen::Index>(m.functions.size());
  s.pairs = m.electrons / 2;
  s.nuclei = nuclear_repulsion(m);
  const one_electron known = one_electron_of(m);
  s.overlap = matrix_of(known.overlap, s.n);
  s.core = matrix_of(known.core, s.n);
  s.orthogonal = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(s.overlap).operatorInverseSqrt();
  s.keep(first_density(m, s.overlap));
}
self_consistent_field::~self_consistent_field() = default;

const std::vector<double>& self_consistent_field::density() const noexcept { return state_->density_rows; }

void self_consistent_field::step(const std::vector<double>& two_electron) {
  state& s = *state_;
  const matrix fock = s.core + matrix_of(two_electron, s.n);
  const double energy = s.nuclei + 0.5 * s.density.cwiseProduct(s.core + fock).sum();
  s.change = std::fabs(energy - s.energy);
  s.energy = energy;
  const matrix product = fock * s.density * s.overlap;
  const matrix error = s.orthogonal.transpose() * (product - product.transpose()) * s.orthogonal;
  s.error = error.cwiseAbs().maxCoeff();
  s.focks.push_back(fock);
  s.errors.push_back(error);
  if (s.focks.size() > extrapolated) {
    s.focks.pop_front();
    s.errors.pop_front();
  }
  s.keep(s.fill(s.focks.size() < 2 || s.error < error_still ? fock : s.extrapolate()));
  ++s.steps;
}

double self_consistent_field::energy() const noexcept { return state_->energy; }
bool self_consistent_field::converged() const noexcept {
  return state_->change < energy_still && state_->error < error_still;
}
int self_consistent_field::steps() const noexcept { return state_->steps; }

}  // namespace tobi_bench::hf
