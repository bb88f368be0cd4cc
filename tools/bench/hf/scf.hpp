// SPDX-License-Identifier: Apache-2.0
// The self-consistent field of a closed shell (Roothaan's equations): everything but the two-electron part, which the
// caller computes from the density. Symmetric orthogonalisation, and Pulay's extrapolation (DIIS) of the Fock matrix.
#pragma once

#include <memory>
#include <vector>

#include "tools/bench/hf/molecule.hpp"

namespace tobi_bench::hf {

class self_consistent_field {
 public:
  explicit self_consistent_field(const molecule& m);
  ~self_consistent_field();
  self_consistent_field(const self_consistent_field&) = delete;
  self_consistent_field& operator=(const self_consistent_field&) = delete;

  /// Returns the density that the next two-electron part is computed from, by rows. First each atom's electrons are
  /// spread over its own functions.
  [[nodiscard]] const std::vector<double>& density() const noexcept;
  /// Takes the two-electron part of that density, by rows, and makes the next density.
  void step(const std::vector<double>& two_electron);

  /// Returns the total energy of the density of the last step.
  [[nodiscard]] double energy() const noexcept;
  /// Returns whether the last step has changed neither the energy nor the density any more.
  [[nodiscard]] bool converged() const noexcept;
  [[nodiscard]] int steps() const noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace tobi_bench::hf
