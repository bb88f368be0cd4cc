-- SPDX-License-Identifier: Apache-2.0
-- In HTML a page's name, such as **tobi-info**(1), leads to that page.
local function linked(inlines)
  for i = 1, #inlines - 1 do
    local name, rest = inlines[i], inlines[i + 1]
    if name.t == "Strong" and rest.t == "Str" then
      local section = rest.text:match("^%((%d)%)")
      local page = pandoc.utils.stringify(name)
      if section and page:match("^tobi") then
        inlines[i] = pandoc.Link({name}, page .. "." .. section .. ".html")
      end
    end
  end
  return inlines
end
return {{Inlines = linked}}
