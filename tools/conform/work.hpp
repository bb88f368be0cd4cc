// SPDX-License-Identifier: Apache-2.0
// The work of a port, in its order: what a step is, which rules say that it is done, and what to write where it is not.
// The first steps are asked before the rules, which use them; the checklist is what came of all (PORTING.md).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "tools/conform/rules.hpp"

namespace tobi::conformance {

/// What the first steps need, one behind the other. They fill STAGE, and use nothing of its fence(), which needs them.
std::span<const rule> first_rules();
/// What to write where a first rule does not hold.
[[nodiscard]] std::string_view what_to_write(std::string_view rule);

enum class verdict : std::uint8_t { pass, fail, skip };
struct step_of_work {
  std::string_view name;
  std::string state;  // "done", "missing", "wrong" or "not asked"
  std::string why;    // the rules that failed, or what to write; "" where it is done
};
/// The steps in order, from what became of the rules and what the transport claims.
[[nodiscard]] std::vector<step_of_work> checklist(const std::map<std::string_view, verdict>& rules,
                                                  const transports::capabilities& caps);

}  // namespace tobi::conformance
