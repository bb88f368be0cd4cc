// SPDX-License-Identifier: Apache-2.0
// What a row of the table of settings may be: where its value goes, which values are good, and how it is written. Text,
// checks and what people read of a range come from the same numbers.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "libcore/base/settings.hpp"
#include "libcore/base/text.hpp"

namespace tobi::base {

/// From LOW to HIGH. What is below LOW is the default, which has WORDS instead of a number.
template <class T>
struct number {
  T settings::*field;
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
    into.*field = n;
    return true;
  }
  [[nodiscard]] std::string write(const settings& from) const {
    return from.*field < low ? std::string(words) : std::to_string(from.*field);
  }
};

/// What a size counts. Blocks are found by shifts and masks: another size would be a wrong result, so it is refused.
enum class sized : std::uint8_t { bytes, blocks, forks };

/// From LOW to HIGH, with K, M, G. GIVEN becomes true where the user has chosen; it is rounded up to a multiple of
/// UNIT.
struct size {
  std::size_t settings::*field;
  std::size_t low, high;
  sized what = sized::bytes;
  bool settings::*given = nullptr;
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
    into.*field = (n + unit - 1) / unit * unit;
    if (given != nullptr) into.*given = true;
    return true;
  }
  [[nodiscard]] std::string write(const settings& from) const { return format_size(from.*field); }
};

/// One of the names, each with its value. The first name of a value is the one that is written.
template <class T>
struct choice {
  T settings::*field;
  std::span<const std::pair<std::string_view, T>> names;

  [[nodiscard]] std::string_view type() const { return std::is_same_v<T, bool> ? "flag" : "choice"; }
  [[nodiscard]] std::string choices() const { return joined(names, &std::pair<std::string_view, T>::first, "|"); }
  [[nodiscard]] std::string wanted() const { return "one of " + joined(names, &std::pair<std::string_view, T>::first); }
  [[nodiscard]] bool read(std::string_view text, settings& into) const {
    for (const auto& [name, value] : names) {
      if (text != name) continue;
      into.*field = value;
      return true;
    }
    return false;
  }
  [[nodiscard]] std::string write(const settings& from) const {
    for (const auto& [name, value] : names) {
      if (value == from.*field) return std::string(name);
    }
    return "";
  }
};

/// One of a list "auto|a|b", kept as its name.
struct one_of {
  std::string settings::*field;
  std::string_view list;

  [[nodiscard]] std::string_view type() const { return "choice"; }
  [[nodiscard]] std::string choices() const { return std::string(list); }
  [[nodiscard]] std::string wanted() const { return "one of " + joined(split(list, '|')); }
  [[nodiscard]] bool read(std::string_view text, settings& into) const {
    for (const std::string_view name : split(list, '|')) {
      if (text != name) continue;
      into.*field = text;
      return true;
    }
    return false;
  }
  [[nodiscard]] std::string write(const settings& from) const { return from.*field; }
};

/// Any text: another part of the program knows what is good. NEEDED is what it is called where it must not be empty;
/// WORDS what is written where it is.
struct name {
  std::string settings::*field;
  std::string_view needed = "";
  std::string_view words = "";

  [[nodiscard]] std::string_view type() const { return "name"; }
  [[nodiscard]] std::string choices() const { return ""; }
  [[nodiscard]] std::string wanted() const { return std::string(needed); }
  [[nodiscard]] bool read(std::string_view text, settings& into) const {
    if (text.empty() && !needed.empty()) return false;
    into.*field = text;
    return true;
  }
  [[nodiscard]] std::string write(const settings& from) const {
    return (from.*field).empty() ? std::string(words) : from.*field;
  }
};

using setting_rule = std::variant<number<int>, number<std::uint64_t>, size, one_of, name, choice<bool>,
                                  choice<deque_kind>, choice<sched_kind>, choice<victim_policy>, choice<cache_policy>,
                                  choice<pin_policy>, choice<progress_mode>, choice<amo_place>, choice<log_level>>;

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

}  // namespace tobi::base
