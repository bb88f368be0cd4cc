// SPDX-License-Identifier: Apache-2.0
// The settings of a job whose processes have been started by a launcher. Each has read an environment of its own; which
// settings are rank 0's to give, the table says (settings.hpp, agreement). What a process says travels as the launcher
// carries anything: some bytes per process, and rank 0 alone reads them all.
#pragma once

#include <string>
#include <string_view>

#include "libcore/base/settings.hpp"

namespace tobi::base {

/// What the environment of this process says of the settings that are not each process's own: "NAME=value", each ended
/// by a zero byte, and one more at the end.
[[nodiscard]] std::string said_settings();

/// "" or one sentence about the first setting that is rank 0's to give and of which another rank says otherwise. FIRST
/// is what rank 0 has said, THEIRS what the other one has. A setting that rank 0 has not said has its default there.
/// The ranks are called FIRST_NAME and THEIR_NAME in it ("rank 1 on b").
[[nodiscard]] std::string contradiction(std::string_view first, std::string_view theirs, const std::string& first_name,
                                        const std::string& their_name);

/// Puts into MINE, which this process has read, what rank 0 has said: what it gives, and what it offers and the
/// environment here does not say. Returns "", or the beginning of a sentence where rank 0 has said something that this
/// process does not understand.
[[nodiscard]] std::string take_settings(std::string_view first, settings& mine);

}  // namespace tobi::base
