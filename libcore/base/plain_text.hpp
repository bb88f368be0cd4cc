// SPDX-License-Identifier: Apache-2.0
// Text between machines: what processes tell each other, what the kernel's files say, what other programs are to read.
// It is read and written as in the "C" locale. The program may have made another one global, in which a blank stands
// between thousands, so that "1 2" reads as one number, or a comma in place of a point.
#pragma once

#include <array>
#include <charconv>
#include <fstream>
#include <locale>
#include <sstream>
#include <string>

namespace tobi::base {

class text_in : public std::istringstream {
 public:
  explicit text_in(const std::string& text) : std::istringstream(text) { imbue(std::locale::classic()); }
};

class text_out : public std::ostringstream {
 public:
  text_out() { imbue(std::locale::classic()); }
};

class file_in : public std::ifstream {
 public:
  explicit file_in(const std::string& path) : std::ifstream(path) { imbue(std::locale::classic()); }
};

/// VALUE with so many digits behind the point.
inline std::string fixed(double value, int digits) {
  std::array<char, 400> text;  // the largest double has 309 digits
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, digits);
  return {text.data(), end.ptr};
}

}  // namespace tobi::base
