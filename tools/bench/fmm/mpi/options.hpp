// SPDX-License-Identifier: Apache-2.0
// What the user asked fmm-mpi for. The defaults are the parameters of SC'23 (section 6.4).
#pragma once

#include <cstdint>
#include <string>

#include "tools/bench/fmm/mpi/partition.hpp"
#include "tools/bench/fmm/mpi/traversal.hpp"
#include "tools/bench/fmm/particles.hpp"

namespace tobi_bench::fmm_mpi {

struct options {
  std::uint64_t n = 1'000'000;
  std::string shape_name = "cube";
  particle_shape shape = particle_shape::cube;
  method how;
  std::uint64_t seed = 1;
  std::uint64_t steps = 1;
  std::string balance_name = "count";
  balance by = balance::count;
  std::uint64_t check = 0;  // bodies whose fields are compared with sums over all pairs
  int repeat = 1;
  bool json = false;
};

/// What parse() has come to.
struct parsed {
  options asked;
  bool ends = false;  // the program, with STATUS
  int status = 0;
  std::string words;  // for the user
};
parsed parse(int argc, char** argv);

}  // namespace tobi_bench::fmm_mpi
