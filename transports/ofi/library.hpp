// SPDX-License-Identifier: Apache-2.0
// libfabric, found when it is needed: a program that never uses it does not need it installed, and one that does gets a
// sentence instead of the loader's. All but these few functions of libfabric are inline in its headers.
#pragma once

#include <rdma/fabric.h>

#include <memory>
#include <string>

namespace tobi::transports::ofi {

struct library {
  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) fabric = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;
  decltype(&::fi_version) version = nullptr;
  std::string error;  // why it is not there, or ""
};
/// Loads it on the first call.
const library& libfabric();

struct free_info {
  void operator()(fi_info* info) const { libfabric().freeinfo(info); }
};
using info_list = std::unique_ptr<fi_info, free_info>;

}  // namespace tobi::transports::ofi
