#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How much one has to read at a time: no function of the library is over 80 lines, and no class has over 30 public functions. The
# parser of Universal Ctags finds both. Each bound is first tried on functions and classes of every form in a copy of the library, one
# of each form at the bound and one over it. A source of which the parser sees no function is noticed.
. "$(dirname "$0")/../harness.inc"
longest=80 widest=30
ctags=$(command -v ctags-universal || command -v ctags)
if [ -z "$ctags" ] || ! command -v jq >/dev/null || ! "$ctags" --list-features 2>/dev/null | grep -q '^json '; then
  skip 'the bounds of functions and classes: the packages universal-ctags and jq are not installed'
  finish
fi

git ls-files arch alloc bootstrap transports libcore 2>/dev/null | grep -E '\.(cc|hpp)$' >"$folder/sources"
if [ ! -s "$folder/sources" ]; then skip 'the bounds of functions and classes: this tree is no working tree of git'; finish; fi

# tags FOLDER: what the parser sees of the library there, an object per line.
tags() {
  local how='-f - --output-format=json --languages=C++ --map-C++=+.hpp --kinds-C++=+p --fields=+neaZK'
  (cd "$1" && "$ctags" -L "$folder/sources" $how 2>/dev/null) | jq -c 'select(._type == "tag")'
}
# over: of these, the functions and classes that are over a bound.
over() {
  jq -rs --argjson longest "$longest" --argjson widest "$widest" '
    (map(select(.kind == "function" and .end != null and .end - .line >= $longest)) | .[]
      | "\(.path):\(.line): \(.scope // "")::\(.name) has \(.end - .line + 1) lines"),
    (map(select((.kind == "function" or .kind == "prototype") and .access == "public" and (.scopeKind | IN("class", "struct", "union"))))
      | group_by([.path, .scope]) | map(select(length > $widest)) | .[] | "\(.[0].path): \(.[0].scope) has \(length) public functions")'
}

# The forms of a function: N is how long each is, and FILL+K stands for all but K of its lines.
functions='
long plain_N(long counter) {
FILL+2
}
template <class T>
requires(sizeof(T) > 1) [[gnu::noinline]] static auto constrained_N(T counter) noexcept -> T {
FILL+2
}
namespace {
void around_lambda_N(long counter) {
  auto inner = [&]() mutable {
FILL+5
  };
  inner();
}
}
struct of_N {
  of_N() noexcept : counter{0} {
FILL+2
  }
  ~of_N() {
FILL+2
  }
  of_N& operator+=(long n) & {
FILL+2
  }
  explicit operator bool() const {
FILL+2
  }
  long counter;
};
extern "C" {
void in_c_N(long counter) try {
FILL+3
} catch (...) {
}
}
void of_N::outside_N(long counter) const noexcept {
  const char* text = R"(}{{)";
FILL+3
}'
# The forms of a class and of a public function: N is how many it has. What is private or of a nested class is not counted.
classes='
class wide_N final : public base {
  void hidden();

 public:
  struct nested {
    void of_itself();
  };
MEMBERS
 private:
  void hidden_too();
};
template <class T>
struct open_N {
MEMBERS
  int member = 0;
};'
members=('void declared() const noexcept;' '[[nodiscard]] int inside() { return 1; }' 'template <class T> T generic(T x);'
  'virtual void pure() = 0;' 'static constexpr auto of_type() -> int;')
planted() {
  local n i line
  for n in $longest $((longest + 1)); do
    while IFS= read -r line; do
      if [[ $line == FILL+* ]]; then yes '  ++counter;' | head -n $((n - ${line#FILL+})); else echo "${line//_N/_$n}"; fi
    done <<<"$functions"
  done
  for n in $widest $((widest + 1)); do
    while IFS= read -r line; do
      if [ "$line" = MEMBERS ]; then for ((i = 0; i < n; i++)); do echo "${members[i % 5]}"; done; else echo "${line//_N/_$n}"; fi
    done <<<"$classes"
  done
}
mkdir "$folder/copy"
xargs cp --parents -t "$folder/copy" <"$folder/sources"
file=$(grep -m 1 '\.cc$' "$folder/sources")
planted >>"$folder/copy/$file"
tags "$folder/copy" | over | grep "^$file:" >"$folder/seen"
nothing 'what is at its bound is not noticed' "$(grep -vE "_($((longest + 1))|$((widest + 1)))\b" "$folder/seen")"
forms=(::plain_ constrained_ around_lambda_ ::of_ '::~of_' '::operator +=' '::operator bool' in_c_ outside_ wide_ open_)
nothing 'what is over its bound is noticed' "$(for form in "${forms[@]}"; do grep -qF -- "$form" "$folder/seen" || echo "$form"; done
  [ "$(wc -l <"$folder/seen")" -eq ${#forms[@]} ] || cat "$folder/seen")"

tags . >"$folder/tags"
over <"$folder/tags" >"$folder/seen"
nothing "no function of the library is over $longest lines" "$(grep ' lines$' "$folder/seen")"
nothing "no class of the library has over $widest public functions" "$(grep ' public functions$' "$folder/seen")"
# A source whose functions the parser does not find could have any length.
jq -r 'select(.kind == "function" and .end != null) | .path' "$folder/tags" | sort -u >"$folder/with"
nothing 'functions are found in each source' "$(grep '\.cc$' "$folder/sources" | grep -vxFf "$folder/with")"
finish
