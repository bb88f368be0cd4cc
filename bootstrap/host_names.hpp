// SPDX-License-Identifier: Apache-2.0
// What messages call the hosts of a job: two of one name, such as containers that are all "localhost", are told apart.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace tobi::bootstrap {

/// A host as its processes know it.
struct host_card {
  std::string name;       // as its kernel says
  std::string node;       // equal where processes can see each other in /proc: host, boot and process namespace
  std::string addresses;  // the first few, behind spaces; not the loopback's
};
[[nodiscard]] host_card this_host();
/// Three lines, and what they say; false where there are none.
[[nodiscard]] std::string to_text(const host_card& h);
[[nodiscard]] bool read_host(std::istream& in, host_card& h);

/// What to call the host of each process: its name. Nodes of one name are called NAME@ADDRESS, by an address that none
/// of the others has, and NAME@nodeN where there is none; N counts the nodes from 0, in the order of their first
/// processes.
[[nodiscard]] std::vector<std::string> names_of_hosts(const std::vector<host_card>& of_processes);

}  // namespace tobi::bootstrap
