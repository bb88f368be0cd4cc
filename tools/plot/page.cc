// SPDX-License-Identifier: Apache-2.0
#include "tools/plot/page.hpp"

#include "tools/plot/svg.hpp"

namespace tobi_plot {

std::string page(const std::string& title, const std::string& body) {
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + escaped(title) +
         "</title><style>\n"
         "body{font-family:sans-serif;max-width:72em;margin:2em auto;padding:0 "
         "1em}table{border-collapse:collapse;margin:1em 0}"
         "td,th{border:1px solid #ccc;padding:.25em "
         ".6em;text-align:left}td.n{text-align:right}tr.ours{background:#eef6ff}"
         "svg{max-width:100%;height:auto}\n</style></head><body>\n<h1>" +
         escaped(title) + "</h1>\n" + body + "</body></html>\n";
}

std::string paragraph(const std::string& text) { return "<p>" + escaped(text) + "</p>\n"; }

std::string table(const std::vector<std::string>& columns, const std::vector<std::vector<std::string>>& lines) {
  std::string out = "<table><tr>";
  for (const std::string& column : columns) out += "<th>" + escaped(column) + "</th>";
  out += "</tr>\n";
  for (const std::vector<std::string>& line : lines) {
    out += "<tr>";
    for (const std::string& cell : line) {
      const bool number = !cell.empty() && cell[0] >= '0' && cell[0] <= '9';
      out += (number ? "<td class=\"n\">" : "<td>") + escaped(cell) + "</td>";
    }
    out += "</tr>\n";
  }
  return out + "</table>\n";
}

}  // namespace tobi_plot
