// SPDX-License-Identifier: Apache-2.0
// What a port gives the registry. The folder transports/NAME defines `port tobi::transports::NAME::entry()`, in
// setup.cc where the port is built and in not_built.cc where its library's headers are not there.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transports/transport.hpp"

namespace tobi::transports {

struct port {
  /// "" when it can serve this job, else one sentence, without a capital and a full stop, that says why not.
  std::string (*unusable)(const context&);
  /// Makes the transport of this rank. Null where the port is not built.
  std::unique_ptr<transport> (*create)(const context&);
  /// What it could drive on this machine, for tobi-info.
  std::vector<device> (*devices)() = nullptr;
  /// "" or what is wrong with the values of its settings, beyond what their rows check. Asked of every port of a
  /// program, whichever transport is chosen, before the workers are forked.
  std::string (*check)(const base::settings&) = nullptr;
  bool automatic = true;  // may be chosen by "auto"
  bool together = false;  // create() of a rank waits for that of the others, so all are asked first whether they can
};

}  // namespace tobi::transports
