#include "transports/wrap/wrap.hpp"

#include "libcore/base/log.hpp"
#include "transports/wrap/decorator.hpp"

namespace tobi::transports {

namespace {

struct row {
  std::string_view name, summary;
  std::unique_ptr<transport> (*make)(std::unique_ptr<transport>, const context&);
};
constexpr row table[] = {
    {"stats", "a line a rank at the end: operations, bytes and times, by kind", wrapping::make_stats},
    {"trace", "a file a rank in the working directory: each chain and each flush", wrapping::make_trace},
    {"fault", "what TOBI_FAULT says goes wrong", wrapping::make_fault}};

// Calls TAKE(item) for each item of a list with commas, as long as it answers "".
template <class Take>
std::string each(std::string_view list, Take take) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (std::string wrong = take(list.substr(0, comma)); !wrong.empty()) return wrong;
    list = comma == std::string_view::npos ? "" : list.substr(comma + 1);
  }
  return "";
}

const row* find(std::string_view name) noexcept {
  for (const row& r : table) {
    if (r.name == name) return &r;
  }
  return nullptr;
}

}  // namespace

std::vector<decorator_name> decorators() {
  std::vector<decorator_name> all;
  for (const row& r : table) all.push_back({r.name, r.summary});
  return all;
}

std::string check_wrap(const base::settings& in_force) {
  bool fault = false;
  std::string wrong = each(in_force.wrap, [&](std::string_view item) -> std::string {
    fault = fault || item == "fault";
    if (find(item) != nullptr) return "";
    std::string names;
    for (const row& r : table) names.append(names.empty() ? "" : ", ").append(r.name);
    return "TOBI_WRAP=" + in_force.wrap + " has \"" + std::string(item) + "\", which is not one of " + names;
  });
  if (wrong.empty()) wrong = wrapping::check_fault(in_force);
  if (wrong.empty() && !in_force.fault.empty() && !fault) {
    wrong = "TOBI_FAULT is set, but nothing injects it; add fault to TOBI_WRAP";
  }
  return wrong;
}

std::unique_ptr<transport> wrap(std::unique_ptr<transport> inner, const context& where) {
  if (const std::string wrong = check_wrap(where.settings); !wrong.empty()) {
    base::fatal(wrong + ".", base::exit_usage);
  }
  (void)each(where.settings.wrap, [&](std::string_view item) -> std::string {
    inner = find(item)->make(std::move(inner), where);
    return "";
  });
  return inner;
}

}  // namespace tobi::transports
