// SPDX-License-Identifier: Apache-2.0
// What the environment says of a launcher, and the end of a process that has not joined the others yet, such as one
// whose host lacks a library. Open MPI's mpirun ends the job where a process fails. Other launchers let it go in
// silence while the rest waits for it: they are told.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>

#include "bootstrap/around.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/tcp/meeting.hpp"
#include "libcore/base/leave.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/standard_files.hpp"

#ifdef TOBI_HAVE_PMIX
#include "bootstrap/pmix/pmix.hpp"
#endif

namespace tobi::bootstrap {

namespace {

// PMIx, MPICH's launcher, Open MPI's before it spoke PMIx.
constexpr const char* rank_names[] = {"PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK"};

bool is_given(const char* name) noexcept {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

// MPICH's launcher, Hydra, listens to a process that has introduced itself. The words are those of PMI 1, by the
// descriptor that it hands down. A launcher that knows no abort ends the job where such a process goes without
// farewell.
void tell_hydra(int status) noexcept {
  if (!is_given("PMI_FD")) return;
  const int launcher = std::atoi(std::getenv("PMI_FD"));
  const auto say = [&](std::string_view words) {
    return write(launcher, words.data(), words.size()) == static_cast<ssize_t>(words.size());
  };
  if (!say("cmd=init pmi_version=1 pmi_subversion=1\n")) return;
  pollfd heard{launcher, POLLIN, 0};
  constexpr int patience_ms = 5000;
  std::array<char, 256> words{};
  if (poll(&heard, 1, patience_ms) != 1 || read(launcher, words.data(), words.size()) <= 0) return;
  say("cmd=abort exitcode=" + std::to_string(status) + "\n");
}

[[noreturn]] void end_the_job(int status) {
#ifdef TOBI_HAVE_PMIX
  const char* space = std::getenv("PMIX_NAMESPACE");
  if (space != nullptr && std::strncmp(space, "slurm.", 6) == 0) pmix::end_unjoined(status);
#endif
  tell_hydra(status);
  base::leave(status);
}

}  // namespace

bool launched() noexcept {
  const char* chosen = std::getenv("TOBI_BOOTSTRAP");
  const std::string_view how = chosen == nullptr ? "auto" : chosen;
  if (how == "fork") return false;
  if (tcp::is_asked()) return true;
  return std::any_of(std::begin(rank_names), std::end(rank_names), is_given);
}

void before_joining() {
  base::take_standard_numbers();
  if (!launched() || tcp::is_asked()) return;  // without a launcher each speaks for itself
  if (has_the_place_of_a_job()) return;        // nor may it end the job of the process that has started it
  const char* const own = *std::find_if(std::begin(rank_names), std::end(rank_names), is_given);
  base::set_unjoined_identity(std::atoi(std::getenv(own)));
  base::set_fatal_hook([](int status) { end_the_job(status); });
}

}  // namespace tobi::bootstrap
