#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What nothing uses goes: each function, class and constant of the library and the tools is named somewhere besides where it is declared
# and defined, and not by tests alone. The parser of Universal Ctags says what there is. Its names are counted in the sources without
# comments and strings, so a name that two things share hides one of them. Users call the public headers: these count as users, and are
# not asked. The rule is first tried on a copy with names of each kind that nothing uses.
. "$(dirname "$0")/../harness.inc"
ctags=$(command -v ctags-universal || command -v ctags)
if [ -z "$ctags" ] || ! command -v jq >/dev/null || ! "$ctags" --list-features 2>/dev/null | grep -q '^json '; then
  skip 'what nothing uses: the packages universal-ctags and jq are not installed'
  finish
fi
git ls-files arch alloc bootstrap transports libcore tools 2>/dev/null | grep -E '\.(cc|hpp|S)$' >"$folder/sources"
if [ ! -s "$folder/sources" ]; then skip 'what nothing uses: this tree is no working tree of git'; finish; fi
# A port's interface.hpp is a vendor's interface written down, and says what there is.
grep -E '\.(cc|hpp)$' "$folder/sources" | grep -vE '^libcore/include/|^transports/[a-z0-9_]+/interface\.hpp$' >"$folder/asked"

# Used from where the sources do not say it: what jemalloc calls instead of the C library, what the loader calls, what is found in a
# plugin by its name, the settings' rows that make finds, and what a test looks at or puts in the place of a library.
elsewhere='setting_rows|tobi_je_[a-z_]*|main|fix_addresses|tobi_mpi_[a-z]*|tobi_perf_raw_mpi|held_bytes|is_seated|play'

# words FOLDER: each name in the sources there, and how often it is in them.
words() { (cd "$1" && xargs cat <"$folder/sources") | sed -E 's/"(\\.|[^"\\])*"//g; s|//.*||' | grep -oE '[A-Za-z_][A-Za-z0-9_]*' | sort | uniq -c; }
# unused FOLDER: what is named only where it is declared and defined.
unused() {
  (cd "$1" && "$ctags" -L "$folder/asked" -f - --output-format=json --languages=C++ --map-C++=+.hpp --kinds-C++=+p --fields=+neaZK 2>/dev/null) |
    jq -r 'select(._type == "tag" and (.kind | IN("function", "prototype", "class", "struct", "enumerator", "typedef", "variable")))
      | "\(.name)\t\(.path):\(.line)"' | grep -vE "^(__anon|~|operator|($elsewhere)	)" |
    awk -F '\t' 'NR == FNR { split($0, word, " "); times[word[2]] = word[1]; next } { said[$1]++; at[$1] = $2 }
      END { for (name in said) if (times[name] <= said[name]) print at[name] ": " name }' <(words "$1") - | sort
}

mkdir "$folder/copy"
xargs cp --parents -t "$folder/copy" <"$folder/sources"
cat >>"$folder/copy/$(grep -m 1 '\.cc$' "$folder/asked")" <<'END'
namespace planted {
int dead_function(int x);
int dead_function(int x) { return x; }  // dead_function
constexpr const char* dead_constant = "dead_function";
struct live_class {
  int dead_member_function() const { return live_function(); }
};
class dead_class {};
enum class live_enum { live_value, dead_value };
live_enum live_function(live_class*) { return live_enum::live_value; }
}
END
equal 'what is planted is found, and nothing besides it' "$(unused "$folder/copy" | grep -E '(dead|live)_[a-z_]*$' | sed 's/.*: //' | sort | tr '\n' ' ')" \
  'dead_class dead_constant dead_function dead_member_function dead_value '
nothing 'each name of the library and the tools is used' "$(unused .)"
nothing 'what is used from elsewhere is there' "$(tr '|' '\n' <<<"$elsewhere" | while read -r name; do xargs grep -qE "\b$name\b" <"$folder/asked" || echo "$name"; done)"
finish
