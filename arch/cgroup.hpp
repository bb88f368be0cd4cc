// SPDX-License-Identifier: Apache-2.0
// Limits that the control groups of Linux put on this process. A limit may sit on the process's own group or on any
// group above it, in version 1 (a tree per controller) or 2 (one tree), so every level of both is read.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "libcore/base/plain_text.hpp"
#include "libcore/base/text.hpp"

namespace tobi::arch {

/// Where the kernel shows the groups; tests show a folder of their own.
struct cgroup_files {
  std::string membership = "/proc/self/cgroup";
  std::string mount = "/sys/fs/cgroup";
};

/// Calls VISIT(folder, version) for each existing or possible level of this process's groups for CONTROLLER, the
/// innermost first. Folders that do not exist are for the visitor to notice: what it opens there does not open.
template <class Visit>
void visit_cgroup_levels(const cgroup_files& files, std::string_view controller, Visit visit) {
  base::file_in lines(files.membership);
  for (std::string line; std::getline(lines, line);) {
    // "4:memory:/a/b", or for version 2 "0::/a/b".
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    // A path out of the mounted tree: only what is mounted can be read.
    if (path.find("/..") != std::string::npos) path.clear();
    const int version = controllers.empty() ? 2 : 1;
    if (const auto all = base::items(controllers);
        version == 1 && std::find(all.begin(), all.end(), controller) == all.end()) {
      continue;
    }
    for (;;) {
      while (!path.empty() && path.back() == '/') path.pop_back();
      if (version == 2) {
        visit(files.mount + path, 2);
        visit(files.mount + "/unified" + path, 2);
      } else {
        visit(files.mount + "/" + std::string(controller) + path, 1);
        if (controllers != controller) visit(files.mount + "/" + controllers + path, 1);
      }
      if (path.empty()) break;
      path.resize(path.rfind('/'));
    }
  }
}

}  // namespace tobi::arch
