// SPDX-License-Identifier: Apache-2.0
#include "transports/decorators/wrap.hpp"

#include "libcore/base/log.hpp"
#include "libcore/base/text.hpp"
#include "transports/decorators/decorator.hpp"
#include "transports/decorators/settings.hpp"

namespace tobi::transports {

namespace {

struct row {
  std::string_view name, summary;
  std::unique_ptr<transport> (*make)(std::unique_ptr<transport>, const context&);
};
constexpr row table[] = {
    {"stats", "a line per rank at the end: operations, bytes and times, by kind", decorators::make_stats},
    {"trace", "a file per rank in the working directory: each chain and each flush", decorators::make_trace},
    {"fault", "makes operations fail as TOBI_FAULT says", decorators::make_fault}};

const row* find(std::string_view name) noexcept {
  for (const row& r : table) {
    if (r.name == name) return &r;
  }
  return nullptr;
}

}  // namespace

std::vector<decorator_name> decorator_names() {
  std::vector<decorator_name> all;
  for (const row& r : table) all.push_back({r.name, r.summary});
  return all;
}

std::string check_wrap(const base::settings& in_force) {
  const auto& wish = in_force.of<decorators::settings>();
  bool fault = false;
  for (const std::string_view item : base::items(wish.wrap)) {
    fault = fault || item == "fault";
    if (find(item) != nullptr) continue;
    return "TOBI_WRAP=" + wish.wrap + " has \"" + std::string(item) + "\", which is not one of " +
           base::joined(table, &row::name);
  }
  if (std::string wrong = decorators::check_fault(in_force); !wrong.empty()) return wrong;
  return wish.fault.empty() || fault ? "" : "TOBI_FAULT is set, but nothing injects it; add fault to TOBI_WRAP";
}

std::unique_ptr<transport> wrap(std::unique_ptr<transport> inner, const context& where) {
  if (const std::string wrong = check_wrap(where.settings); !wrong.empty()) {
    base::fatal(wrong + ".", base::exit_usage);
  }
  for (const std::string_view item : base::items(where.settings.of<decorators::settings>().wrap)) {
    inner = find(item)->make(std::move(inner), where);
  }
  return inner;
}

}  // namespace tobi::transports
