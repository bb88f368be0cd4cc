# SPDX-License-Identifier: Apache-2.0
# The headers as Doxygen wants them, with every line where it was. The comment at the top describes the file, a comment behind a member
# the member. What every pointer, container or moving type has is described here: the headers say only what is particular.
function usual(line) {
  if (line ~ /^  using [a-z_]+(_type|pointer|reference|category) *=/ || line ~ /^  using (pointer|reference) /) return "As the standard's iterators and containers name it."
  if (line ~ /&& other\) noexcept/) return "Moves; what was moved from is empty."
  if (line ~ /operator bool\(\)/) return "Whether it is not null."
  if (line ~ /(operator([-+*]|==|<=>)|operator(\[\]|->))/) return "As of a pointer."
  if (line ~ / size\(\) const/) return "How many elements there are."
  if (line ~ / empty\(\) const/) return "Whether there are none."
  if (line ~ / capacity\(\) const/) return "How many elements there is room for."
  if (line ~ / data\(\) const/) return "The first element."
  if (line ~ / begin\(\) const/) return "The first element."
  if (line ~ / end\(\) const/) return "Behind the last element."
  if (line ~ / void (clear|reserve|push_back|swap)\(/) return "As of std::vector."
  return ""
}
FNR == 1 { top = 1; described = 0; inside = 0 }
FNR == 1 && /SPDX-License-Identifier/ { print "//"; next }
top && /^#pragma once/ { print "/// @file"; top = 0; next }
top { sub(/^\/\//, "///"); print; next }
{
  described_before = described
  described = /^ *\/\/\// || (described && /^ *(template|requires)/)
  if (/^ *(private|protected):/ || /^namespace (detail|pieces)/) inside = 1
  if (/^ *public:/ || /^}/) inside = 0
  if (!inside && !described_before && !/^ *\/\//) {
    text = usual($0)
    if (text != "") { match($0, /^ */); $0 = substr($0, 1, RLENGTH) "/** " text " */ " substr($0, RLENGTH + 1) }
  }
  if (!/^ *\/\//) sub(/  +\/\/ /, "  ///< ")
  print
}
