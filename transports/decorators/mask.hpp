// SPDX-License-Identifier: Apache-2.0
// Masks: a transport with capabilities taken away, so that the runtime's behaviour on a poorer fabric is seen on any
// machine. TOBI_MASK names them, with commas. What is masked is not claimed, and refused where it is asked for; the
// runtime does without it as on a fabric that has none. A mask says nothing of time: what is passive still is.
//
// The mask is next to the backend, within software atomics, routing and the decorators of TOBI_WRAP.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "transports/transport.hpp"

namespace tobi::transports::decorators {

/// "" or what is wrong with TOBI_MASK, as a sentence that lists the good names.
[[nodiscard]] std::string check_mask(const base::settings& in_force);
/// Whether TOBI_MASK has NAME, which is one that check_mask() lets pass.
[[nodiscard]] bool is_masked(const base::settings& in_force, std::string_view name);
/// INNER without what TOBI_MASK names; INNER itself where it names nothing. Of atomics it only takes the capability:
/// the registry lets messages stand in.
[[nodiscard]] std::unique_ptr<transport> masked(std::unique_ptr<transport> inner, const base::settings& in_force);

}  // namespace tobi::transports::decorators
