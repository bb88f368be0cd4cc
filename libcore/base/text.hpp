// SPDX-License-Identifier: Apache-2.0
// Lists in text, such as "a,b,c": taken apart, and put together.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tobi::base {

/// What stands between the commas of LIST, or between other characters AT: one more than there are of these, some
/// perhaps empty.
[[nodiscard]] inline std::vector<std::string_view> split(std::string_view list, char at = ',') {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = list.find(at);
    parts.push_back(list.substr(0, end));
    if (end == std::string_view::npos) return parts;
    list.remove_prefix(end + 1);
  }
}

/// The same for a list that may be empty or end with a comma: neither is an item.
[[nodiscard]] inline std::vector<std::string_view> items(std::string_view list) {
  std::vector<std::string_view> parts = split(list);
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

/// Appends ITEM to LIST, behind BETWEEN where it is not the first. Returns LIST.
inline std::string& add_item(std::string& list, std::string_view item, std::string_view between = ", ") {
  return list.append(list.empty() ? "" : between).append(item);
}

/// NAME(item) of ALL, such as &row::name, in one text.
template <class Range, class Name = std::identity>
[[nodiscard]] std::string joined(const Range& all, Name name = {}, std::string_view between = ", ") {
  std::string list;
  for (const auto& item : all) add_item(list, std::invoke(name, item), between);
  return list;
}

}  // namespace tobi::base
