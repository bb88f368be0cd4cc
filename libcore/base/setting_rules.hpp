// SPDX-License-Identifier: Apache-2.0
// What a row of the table of settings may be: where its value goes, which values are good, and how it is written. Text,
// checks and what people read of a range come from the same numbers. A folder above declares rows of its own
// (transports/verbs/settings.hpp): constants, so no order of initialization matters.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "libcore/base/settings.hpp"
#include "libcore/base/text.hpp"

namespace tobi::base {

template <class>
struct member;
template <class Group, class T>
struct member<T Group::*> {
  using group = Group;
  using type = T;
};

template <auto Field, class Settings>
using value_of = std::conditional_t<std::is_const_v<Settings>, const typename member<decltype(Field)>::type,
                                    typename member<decltype(Field)>::type>;
template <auto Field, class Settings>
[[nodiscard]] value_of<Field, Settings>& value_in(Settings& all) {
  using group = typename member<decltype(Field)>::group;
  if constexpr (std::is_same_v<group, settings>) {
    return all.*Field;
  } else {
    return all.template of<group>().*Field;
  }
}

/// Where a value is.
template <class T>
struct place {
  T& (*in)(settings&) = nullptr;
  const T& (*of)(const settings&) = nullptr;
};
/// The place of a field of `settings`, or of a folder's own struct: field<&verbs::settings::port>.
template <auto Field>
inline constexpr place<typename member<decltype(Field)>::type> field{value_in<Field, settings>,
                                                                     value_in<Field, const settings>};

/// From LOW to HIGH. What is below LOW is the default, which has WORDS instead of a number.
template <class T>
struct number {
  place<T> at;
  T low, high;
  std::string_view words = "";

  [[nodiscard]] std::string_view type() const { return "integer"; }
  [[nodiscard]] std::string choices() const { return std::to_string(low) + ".." + std::to_string(high); }
  [[nodiscard]] std::string wanted() const {
    return "a number from " + std::to_string(low) + " to " + std::to_string(high);
  }
  [[nodiscard]] bool read(std::string_view text, settings& into) const {
    T n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc{} || end != text.data() + text.size() || n < low || n > high) return false;
    at.in(into) = n;
    return true;
  }
  [[nodiscard]] std::string write(const settings& from) const {
    const T n = at.of(from);
    return n < low ? std::string(words) : std::to_string(n);
  }
};

/// What a size counts. Blocks are found by shifts and masks: another size would be a wrong result, so it is refused.
enum class sized : std::uint8_t { bytes, blocks, forks };

/// From LOW to HIGH, with K, M, G. GIVEN becomes true where the user has chosen; it is rounded up to a multiple of
/// UNIT.
struct size {
  place<std::size_t> at;
  std::size_t low, high;
  sized what = sized::bytes;
  place<bool> given{};
  std::size_t unit = 1;

  [[nodiscard]] std::string_view type() const { return what == sized::forks ? "integer" : "size"; }
  [[nodiscard]] std::string choices() const { return format_size(low) + ".." + format_size(high); }
  [[nodiscard]] std::string wanted() const {
    const std::string range = " from " + format_size(low) + " to " + format_size(high);
    if (what == sized::forks) return "a number of nested forks" + range;
    return what == sized::blocks ? "a power of two" + range : "a size" + range + ", such as " + format_size(low * 4);
  }
  [[nodiscard]] bool read(std::string_view text, settings& into) const {
    std::uint64_t n = 0;
    if (!parse_size(text, n) || n < low || n > high) return false;
    if (what == sized::blocks && (n & (n - 1)) != 0) return false;
    at.in(into) = (n + unit - 1) / unit * unit;
    if (given.in != nullptr) given.in(into) = true;
    return true;
  }
  [[nodiscard]] std::string write(const settings& from) const { return format_size(at.of(from)); }
};

/// The names of a type's values. The first name of a value is the one that is written.
template <class T, std::size_t N>
using value_names = std::array<std::pair<std::string_view, T>, N>;
inline constexpr value_names<bool, 6> flag_names{
    {{"0", false}, {"1", true}, {"off", false}, {"on", true}, {"false", false}, {"true", true}}};

/// One of names: choice_of<&settings::deque, deque_names>. The type of the value is known to these functions alone.
struct choice {
  bool is_flag;
  bool (*read_name)(std::string_view text, settings& into);
  std::string_view (*name_in)(const settings& from);
  std::string (*all_names)(std::string_view between);

  [[nodiscard]] std::string_view type() const { return is_flag ? "flag" : "choice"; }
  [[nodiscard]] std::string choices() const { return all_names("|"); }
  [[nodiscard]] std::string wanted() const { return "one of " + all_names(", "); }
  [[nodiscard]] bool read(std::string_view text, settings& into) const { return read_name(text, into); }
  [[nodiscard]] std::string write(const settings& from) const { return std::string(name_in(from)); }
};
template <auto Field, const auto& Names>
inline constexpr choice choice_of{std::is_same_v<typename member<decltype(Field)>::type, bool>,
                                  [](std::string_view text, settings& into) {
                                    for (const auto& [name, value] : Names) {
                                      if (text != name) continue;
                                      value_in<Field>(into) = value;
                                      return true;
                                    }
                                    return false;
                                  },
                                  [](const settings& from) {
                                    for (const auto& [name, value] : Names) {
                                      if (value == value_in<Field>(from)) return name;
                                    }
                                    return std::string_view();
                                  },
                                  [](std::string_view between) {
                                    return joined(
                                        Names, [](const auto& named) { return named.first; }, between);
                                  }};

/// One of a list "auto|a|b", kept as its name.
struct one_of {
  place<std::string> at;
  std::string_view list;

  [[nodiscard]] std::string_view type() const { return "choice"; }
  [[nodiscard]] std::string choices() const { return std::string(list); }
  [[nodiscard]] std::string wanted() const { return "one of " + joined(split(list, '|')); }
  [[nodiscard]] bool read(std::string_view text, settings& into) const {
    for (const std::string_view name : split(list, '|')) {
      if (text != name) continue;
      at.in(into) = text;
      return true;
    }
    return false;
  }
  [[nodiscard]] std::string write(const settings& from) const { return at.of(from); }
};

/// Any text: another part of the program knows what is good. NEEDED is what it is called where it must not be empty;
/// WORDS what is written where it is.
struct name {
  place<std::string> at;
  std::string_view needed = "";
  std::string_view words = "";

  [[nodiscard]] std::string_view type() const { return "name"; }
  [[nodiscard]] std::string choices() const { return ""; }
  [[nodiscard]] std::string wanted() const { return std::string(needed); }
  [[nodiscard]] bool read(std::string_view text, settings& into) const {
    if (text.empty() && !needed.empty()) return false;
    at.in(into) = text;
    return true;
  }
  [[nodiscard]] std::string write(const settings& from) const {
    const std::string& text = at.of(from);
    return text.empty() ? std::string(words) : text;
  }
};

/// Two ports, LOW-HIGH, or one.
struct ports {
  place<port_range> at;

  [[nodiscard]] std::string_view type() const { return "ports"; }
  [[nodiscard]] std::string choices() const { return "1..65535"; }
  [[nodiscard]] std::string wanted() const { return "a port or a range of ports, such as 20000-20099"; }
  [[nodiscard]] bool read(std::string_view text, settings& into) const {
    const std::size_t hyphen = std::min(text.find('-'), text.size());
    port_range range;
    if (!read_port(text.substr(0, hyphen), range.low)) return false;
    range.high = range.low;
    if (hyphen < text.size() && !read_port(text.substr(hyphen + 1), range.high)) return false;
    if (range.high < range.low) return false;
    at.in(into) = range;
    return true;
  }
  [[nodiscard]] std::string write(const settings& from) const {
    const port_range range = at.of(from);
    if (range.low == 0) return "any";
    return std::to_string(range.low) + (range.high == range.low ? "" : "-" + std::to_string(range.high));
  }

 private:
  static bool read_port(std::string_view text, std::uint16_t& port) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    return error == std::errc{} && end == text.data() + text.size() && port != 0;
  }
};

using setting_rule = std::variant<number<int>, number<std::uint64_t>, size, one_of, name, choice, ports>;

struct setting {
  std::string_view name;
  agreement agrees;
  setting_rule rule;
  std::string_view help;

  [[nodiscard]] std::string_view type() const {
    return std::visit([](const auto& r) { return r.type(); }, rule);
  }
  [[nodiscard]] std::string choices() const {
    return std::visit([](const auto& r) { return r.choices(); }, rule);
  }
  /// "" or what a good value is.
  [[nodiscard]] std::string read(std::string_view text, settings& into) const {
    return std::visit([&](const auto& r) { return r.read(text, into) ? "" : r.wanted(); }, rule);
  }
  /// As a user would type it, or what it means.
  [[nodiscard]] std::string write(const settings& from) const {
    return std::visit([&](const auto& r) { return r.write(from); }, rule);
  }
};

/// The rows of the folders above, a list of each. This room declares what it calls, and transports/settings.cc has it:
/// a program without it is not linked.
[[nodiscard]] std::span<const std::span<const setting>> settings_above() noexcept;

}  // namespace tobi::base
