// SPDX-License-Identifier: Apache-2.0
// The registry: one visible array of transports, in order of preference, and the choice of the one that a job uses.
// Each rank finds out by itself, and at the same time, what it could use; what rank 0 has chosen is the job's, and a
// rank that cannot use it says why.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transports/port.hpp"
#include "transports/transport.hpp"

namespace tobi::transports {

struct registry_entry : port {
  std::string_view name;
  std::string_view summary;
};
[[nodiscard]] std::span<const registry_entry> registry();
/// entry.unusable(), asked in a child process: for a process that forks the workers afterwards.
[[nodiscard]] std::string unusable_apart(const registry_entry& entry, const context& where);
/// Fatal, with the good names, when the settings name a transport, a decorator, a fault or a mode that there is not. To
/// be called before the workers are forked, so that one process says it.
void check_names(const base::settings& in_force);

struct choice {
  std::string name;     // of the registry; "": there is none
  std::string why_not;  // then, what is wrong, as one sentence
};
/// What this rank would take: the transport NAMED, or the first usable one for "auto"; says why at log level info.
[[nodiscard]] choice choose(std::string_view named, const context& where);
/// "" when this rank can use NAME, of choose() on another rank, else why it cannot.
[[nodiscard]] std::string why_not_here(std::string_view name, const context& where);
/// Whether create() of NAME waits for the other ranks.
[[nodiscard]] bool is_created_together(std::string_view name);
/// The transport of ENTRY without what TOBI_MASK names, alone. Without `amo` messages stand in for atomics, as on a
/// fabric that has none.
[[nodiscard]] std::unique_ptr<transport> create(const registry_entry& entry, const context& where);
/// The transport NAME, of choose(), with shared memory inside of nodes and the decorators around it.
[[nodiscard]] std::unique_ptr<transport> create(std::string_view name, const context& where);
/// choose() and create() of a program that has one process, or whose ranks agree by themselves. Fatal, with the reason
/// and the good names, when there is none.
[[nodiscard]] std::unique_ptr<transport> select(std::string_view named, const context& where);

}  // namespace tobi::transports
