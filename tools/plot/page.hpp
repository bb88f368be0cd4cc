// SPDX-License-Identifier: Apache-2.0
// A page of HTML, the same for all tools: one file, with its figures inside.
#pragma once

#include <string>
#include <vector>

namespace tobi_plot {

/// BODY is HTML behind the heading TITLE.
std::string page(const std::string& title, const std::string& body);
/// TEXT as a paragraph.
std::string paragraph(const std::string& text);
/// Of cells as they are: HTML is shown as text. Cells that begin with a digit are numbers, at the right.
std::string table(const std::vector<std::string>& columns, const std::vector<std::vector<std::string>>& lines);

}  // namespace tobi_plot
