// SPDX-License-Identifier: Apache-2.0
// The parts that the tools' figures are made of: an SVG without references to anything outside, so that it can stand in
// a page or alone.
#pragma once

#include <array>
#include <string>

namespace tobi_plot {

// Colours that stay apart for people without red or green (Okabe and Ito).
inline constexpr std::array<const char*, 7> colours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                    "#56b4e9", "#e69f00", "#000000"};

/// TEXT as it may stand in SVG and HTML.
std::string escaped(const std::string& text);
/// ANCHOR is start, middle or end; MORE further attributes, with a blank before each.
std::string words(double x, double y, const char* anchor, const std::string& text, const std::string& more = "");
std::string rule(double x1, double y1, double x2, double y2, const char* colour, double thick);
/// TITLE is what a browser shows at the pointer; "" is nothing.
std::string box(double x, double y, double wide, double high, const std::string& colour, const std::string& title = "");
/// The whole picture.
std::string document(double width, double height, const std::string& body);
/// False when FILE cannot be written.
bool write_file(const std::string& file, const std::string& text);

}  // namespace tobi_plot
