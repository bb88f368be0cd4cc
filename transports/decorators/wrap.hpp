// SPDX-License-Identifier: Apache-2.0
// Decorators: transports around a transport, for observing it and for making it fail. TOBI_WRAP names them, with
// commas; the first is next to the transport, the last is what the runtime sees.
//
//   stats   a line per rank at the end of the job: operations, bytes and times, by kind
//   trace   a file tobi-trace.RANK.HOST.txt in the working directory, a line for each chain that was posted and each
//           flush
//   fault   operations fail as TOBI_FAULT says
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "transports/transport.hpp"

namespace tobi::transports {

/// What there is, for tobi-info.
struct decorator_name {
  std::string_view name;
  std::string_view summary;
};
[[nodiscard]] std::vector<decorator_name> decorator_names();
/// "" or what is wrong with TOBI_WRAP or TOBI_FAULT, as a sentence that lists the good names.
[[nodiscard]] std::string check_wrap(const base::settings& in_force);
/// INNER with the decorators that the settings name around it. Fatal when they name none that there is.
[[nodiscard]] std::unique_ptr<transport> wrap(std::unique_ptr<transport> inner, const context& where);

}  // namespace tobi::transports
