#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 29 s
# The examples in the comments of the public headers are programs: each is compiled with these headers alone, runs as a job of one
# node and of two and with the checks of the debug mode, and prints what it says. The main names have one each. The search is first
# tried on headers whose examples are broken.
. "$(dirname "$0")/../harness.inc"
export LC_ALL=C

# extract HEADER FOLDER: makes NAME.cc, and NAME.prints with what it says behind `// prints`, of each example; NAME is what the comment
# describes. What comes before an empty line stands before main; all stands in main where no line is empty. Complaints are printed.
extract() {
  mkdir -p "$2"
  awk -v to="$2/" '
    function complain(what) { print FILENAME ":" FNR ": " what }
    /^ *\/\/\/ @code/ { if (inside) complain("@code inside of @code"); inside = 1; n = 0; first = FNR + 1; next }
    /^ *\/\/\/ @endcode/ { if (!inside) complain("@endcode without @code"); inside = 0; pending = 1; next }
    inside && !/^ *\/\/\// { complain("@code without @endcode"); inside = 0; next }
    inside { sub(/^ *\/\/\/ ?/, ""); lines[++n] = $0; next }
    # The declaration: the name is the word behind class, before the first parenthesis, or before =.
    pending && !/^ *(\/\/|template|requires)/ {
      pending = 0; name = ""
      if (match($0, /class (\[\[nodiscard\]\] )?[a-z_]+/)) { name = substr($0, RSTART, RLENGTH); sub(/.* /, "", name) }
      else if (match($0, /[a-z_]+\(/)) name = substr($0, RSTART, RLENGTH - 1)
      else if (match($0, /[a-z_]+ = /)) name = substr($0, RSTART, RLENGTH - 3)
      if (name == "") { complain("no name is declared behind the example"); next }
      file = to name ".cc"
      if (name in seen) { complain(name " has two examples"); next }
      seen[name] = 1
      split_at = 0
      for (i = 1; i <= n; i++) if (lines[i] == "") split_at = i
      print "#include \"includes.hpp\"" >file
      for (i = 1; i < split_at; i++) print "#line " first + i - 1 " \"" FILENAME "\"\n" lines[i] >file
      print "int main(int argc, char** argv) {\n  tobi::runtime rt(argc, argv);" >file
      printed = ""
      for (i = split_at + 1; i <= n; i++) {
        print "#line " first + i - 1 " \"" FILENAME "\"\n" lines[i] >file
        if (match(lines[i], /\/\/ prints /)) printed = printed substr(lines[i], RSTART + RLENGTH) "\n"
      }
      print "}" >file
      close(file)
      if (printed == "") complain("the example of " name " does not say what it prints")
      printf "%s", printed >(to name ".prints")
      close(to name ".prints")
    }
    END { if (inside || pending) complain("an example has no end") }' "$1"
}
# What all of them include is parsed once.
flags="-std=c++20 -O0 -Wall -Wextra -Wconversion -Wshadow -Werror -DTOBI_HEADER_WARNINGS -Ilibcore/include -I$folder"
printf '#include <%s>\n' array cstdio map tobi/tobi.hpp >"$folder/includes.hpp"
run $CXX $flags -x c++-header "$folder/includes.hpp" -o "$folder/includes.hpp.gch"; verdict $? "the public headers compile without a warning"
# wrong PROGRAM: what its compiler complains of, or what its jobs print in place of what it says.
wrong() {
  local how
  $CXX $flags "$1.cc" -o "$1" "$BIN/../lib/libtobi.a" -lhwloc -lpthread -ldl 2>&1 || return
  for how in ${SOAK:+TOBI_WORKERS=2} 'TOBI_WORKERS=4 TOBI_NODES=2' 'TOBI_WORKERS=2 TOBI_DEBUG_MIGRATE=1 TOBI_DEBUG_GLOBAL=1'; do
    limited env $how "$1" >"$1.out" 2>&1 </dev/null || echo "$how: status $?"
    cmp -s "$1.out" "$1.prints" || { echo "$how:"; cat "$1.out"; }
  done
  rm -f "$1"
}

# Broken examples: each is noticed.
plant() {  # WHAT LINE...: the comment of a function f
  local planted_words=$1; shift
  { printf '%s\n' '/// Does something.' '/// @code' "${@/#//// }"; echo 'void f(int x);'; } >"$folder/planted.hpp"
  rm -rf "$folder/planted"
  [ -n "$(extract "$folder/planted.hpp" "$folder/planted"; [ ! -e "$folder/planted/f.cc" ] || wrong "$folder/planted/f")" ] || not_ok "noticed: $planted_words"
}
plant 'an example that does not compile' 'tobi::no_such_name(1);' 'std::printf("1\n");  // prints 1' '@endcode'
plant 'an example that warns' 'int unused = 1;' 'std::printf("1\n");  // prints 1' '@endcode'
plant 'an example that prints something else' 'if (rt.rank() == 0) std::printf("1\n");  // prints 2' '@endcode'
plant 'an example that breaks a rule for tasks' 'int x = 0;' 'tobi::run([&x] { x = 1; });' 'if (rt.rank() == 0) std::printf("1\n");  // prints 1' '@endcode'
plant 'an example that does not say what it prints' 'if (rt.rank() == 0) std::printf("1\n");' '@endcode'
plant 'an example without an end' 'if (rt.rank() == 0) std::printf("1\n");  // prints 1'
plant 'an empty example' '@endcode'
# And a right one is not, wherever its name stands.
printf '%s\n' '/// Does something.' '/// @code' '/// int two() { return 2; }' '///' '/// if (rt.rank() == 0) std::printf("%d\n", two());  // prints 2' '/// @endcode' \
  'template <class F>' 'std::decay_t<F> f(F&& x);' >"$folder/planted.hpp"
rm -rf "$folder/planted"
nothing 'a right example has no complaint' "$(extract "$folder/planted.hpp" "$folder/planted"; wrong "$folder/planted/f")"

for header in $(git ls-files 'libcore/include/tobi/*.hpp' | grep -v /detail/); do extract "$header" "$folder/examples"; done >"$folder/complaints"
nothing 'the examples are written as examples are' "$(cat "$folder/complaints")"
for name in run on_all_workers set_read_only distributed_vector spawn parallel_for parallel_invoke hint hints spawn_future make_promise finish allocate_all checkout global_string to_global reduce sort for_chunks reduce_chunks task_group accumulate fetch_add on local_part migrate_to migratable per_worker mapped_file for_lines shared_bound stop_flag stoppable all_gather gather min_element nth_element begin_phase store_at load_at get get_nb with_task_memory; do
  [ -e "$folder/examples/$name.cc" ] || echo "$name"
done >"$folder/without"
nothing 'the main names have an example' "$(cat "$folder/without")"
for program in "$folder"/examples/*.cc; do
  program=${program%.cc}
  nothing "the example of ${program##*/} builds without a warning and prints what it says" "$(wrong "$program")"
done
finish
