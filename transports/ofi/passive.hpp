// SPDX-License-Identifier: Apache-2.0
// What ofi claims of its progress: what was measured where that could be done, and otherwise what the provider says.
#pragma once

#include <cstdlib>
#include <string_view>

#include "transports/ofi/settings.hpp"

namespace tobi::transports::ofi {

/// What is known of a provider.
struct progress_facts {
  progress_mode wanted = progress_mode::automatic;  // TOBI_OFI_PROGRESS
  bool says_automatic = false;                      // FI_PROGRESS_AUTO
  bool thread = false;                              // a thread of each worker moves it
  bool atomics = false;                             // of its own
  bool measured = false;                            // then the rest:
  bool rma_passive = false;                         // puts and gets need nothing of a target that sleeps
  bool amo_passive = false;                         // atomics neither
  bool moves = false;                               // nor a put that its initiator leaves alone
};

struct progress_claims {
  bool passive_rma;
  bool passive_amo;
  bool needs_progress;
  std::string_view words;  // for people

  bool operator==(const progress_claims&) const = default;
};

[[nodiscard]] constexpr progress_claims claims_of(const progress_facts& f) noexcept {
  // Nobody has to believe a measurement: `manual` has the workers poll. Where targets must poll, initiators are not
  // measured: some providers send as they are called, and some only as their queue is read.
  if (f.wanted == progress_mode::manual) return {false, false, true, "moved by polls (TOBI_OFI_PROGRESS)"};
  if (!f.measured) {
    const bool passive = f.says_automatic || f.thread;
    return {passive, passive && f.atomics, !passive,
            f.thread           ? "moved by a thread of each worker (TOBI_OFI_PROGRESS)"
            : f.says_automatic ? "says that it moves by itself"
                               : "says that it moves when workers poll"};
  }
  const bool amo = f.rma_passive && f.amo_passive && f.atomics;
  if (!f.rma_passive) return {false, false, !f.thread, "as measured at the start it moves when workers poll"};
  if (!f.moves) return {true, amo, true, "as measured at the start its targets need not poll, its initiators must"};
  return {true, amo, false,
          f.thread            ? "moved by a thread of each worker (TOBI_OFI_PROGRESS), as measured at the start"
          : f.atomics && !amo ? "as measured at the start it moves by itself, but for atomics"
                              : "as measured at the start it moves by itself"};
}

/// Whether it is this process's own calls of the provider NAME that execute the atomics of others here. The utility
/// providers rxm and rxd send atomics as messages, and execute them where their queue is read: by a thread where they
/// move by themselves, or are told to by FI_OFI_RXM_DATA_AUTO_PROGRESS, else by the thread that calls. What moves when
/// it is polled may still have its atomics in a device, so no other provider is taken to be like these.
[[nodiscard]] inline bool executes_in_calls(const progress_facts& f, std::string_view name) noexcept {
  const bool is_utility = name.find("ofi_rxm") != name.npos || name.find("ofi_rxd") != name.npos;
  return is_utility && !f.says_automatic && !f.thread && !(f.measured && f.amo_passive) &&
         std::getenv("FI_OFI_RXM_DATA_AUTO_PROGRESS") == nullptr;
}

}  // namespace tobi::transports::ofi
