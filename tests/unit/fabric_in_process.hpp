// SPDX-License-Identifier: Apache-2.0
// Two or more workers of a fabric in one thread of one process: each has its own transport, and a test decides who
// moves when. shm and sim map memory by process and descriptor, and their own process is one like any other.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transports/registry.hpp"
#include "transports/sim/settings.hpp"

struct fabric_in_process {
  std::vector<std::unique_ptr<tobi::transports::transport>> worker;

  fabric_in_process(std::string_view name, const std::string& sim_modes, int workers) {
    using namespace tobi::transports;
    tobi::base::settings in_force = tobi::base::read_settings();
    in_force.of<tobi::transports::sim::settings>().modes = sim_modes;
    std::vector<std::string> addresses;
    for (int r = 0; r < workers; ++r) {
      for (const registry_entry& e : registry()) {
        if (e.name == name) worker.push_back(e.create({r, workers, {}, in_force}));
      }
      addresses.push_back(worker.back()->address());
    }
    for (const auto& w : worker) {
      if (w->connect(addresses) != tobi::status::ok) std::abort();
    }
  }
  [[nodiscard]] tobi::transports::transport& of(int rank) const { return *worker[static_cast<std::size_t>(rank)]; }
  void move() const {
    for (const auto& w : worker) w->progress();
  }
};
