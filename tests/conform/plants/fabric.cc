// SPDX-License-Identifier: Apache-2.0
// The transport of tobi-conform in this test: with the breach that PLANT names put over it.
#include "tools/conform/fabric.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/conform/plants/plants.hpp"

namespace tobi::conformance {

std::unique_ptr<transport> make_fabric(const transports::registry_entry& entry, const context& where) {
  auto right = transports::create(entry, where);
  const std::string name = std::getenv("PLANT") == nullptr ? "none" : std::getenv("PLANT");
  if (name == "none") return right;
  for (const plant& p : all_plants()) {
    if (p.name == name) return p.make(std::move(right));
  }
  std::fprintf(stderr, "PLANT=%s is not one of this test\n", name.c_str());
  std::exit(2);
}

}  // namespace tobi::conformance
