// SPDX-License-Identifier: Apache-2.0
// What a figure of values has around them: the field that they are drawn in, its axes, its title.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tobi_plot {

inline constexpr const char* axis_colour = "#444444";

/// Where a value is between the ends of an axis: 0 at its begin, 1 at its end.
class axis {
 public:
  /// From 0 to MOST.
  static axis linear(double most) { return {0, 0, most}; }
  /// Its ends are powers of BASE around the values.
  static axis logarithmic(double base, double smallest, double largest);

  [[nodiscard]] double share(double value) const;
  /// Of a logarithmic one: BASE to these exponents.
  [[nodiscard]] int low() const { return static_cast<int>(low_); }
  [[nodiscard]] int high() const { return static_cast<int>(high_); }
  [[nodiscard]] double power(int exponent) const;
  /// Of a linear one: its end.
  [[nodiscard]] double most() const { return high_; }

 private:
  axis(double base, double low, double high) : base_(base), low_(low), high_(high) {}

  double base_;  // 0: linear
  double low_, high_;
};

/// A round number at or above X: 1, 2 or 5 times a power of ten.
double round_up(double x);

struct point {
  double x, y;
};

/// The part of a picture that the values are drawn in.
struct field {
  double width, height;             // of the picture
  double left, right, top, bottom;  // what lies around the field

  [[nodiscard]] constexpr double wide() const { return width - left - right; }
  [[nodiscard]] constexpr double high() const { return height - top - bottom; }
  [[nodiscard]] constexpr double end() const { return width - right; }
  [[nodiscard]] constexpr double floor() const { return height - bottom; }
  /// The place of a share of an axis, from the left and from the floor.
  [[nodiscard]] constexpr double x(double share) const { return left + share * wide(); }
  [[nodiscard]] constexpr double y(double share) const { return floor() - share * high(); }

  [[nodiscard]] std::string title(const std::string& text, double y, int size) const;
  /// The floor, and under it, at Y, what the values across are.
  [[nodiscard]] std::string across(const std::string& name, double y) const;
  /// What the values upwards are, next to the field's middle.
  [[nodiscard]] std::string upwards(double x, const std::string& name, const char* colour = nullptr) const;
  /// A linear axis at the left end of the field or at its right end, with five numbers.
  [[nodiscard]] std::string scale(bool at_left, double most, const std::string& name, const char* colour) const;
  /// Instead of values.
  [[nodiscard]] std::string nothing(const std::string& why) const;
};

/// MORE is further attributes, with a blank before each.
std::string polyline(const std::vector<point>& through, const char* colour, double thick, const std::string& more = "");

}  // namespace tobi_plot
