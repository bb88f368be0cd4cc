#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 15 s
# What the compiler says of programs that cannot be right: the first error of each is one sentence in the user's words. In a soak:
# what clang++ says of them, too.
. "$(dirname "$0")/../harness.inc"
compilers=$CXX
if [ -z "${SOAK:-}" ]; then :; elif command -v clang++ >/dev/null; then compilers="$CXX clang++"; else skip "clang++: not installed"; fi

# says SENTENCE RULE STANDARD: the program on standard input does not compile, and that is the first error; it is the only one, but
# for what is said of a program that has no C++20.
says() {
  cat >"$folder/program.cc"
  for compiler in $compilers; do
    $compiler "$3" -I"$ROOT/libcore/include" -I"$folder" -fsyntax-only "$folder/program.cc" >"$out" 2>&1 && { not_ok "$compiler: $2: it compiles"; continue; }
    grep -E '(fatal )?error:' "$out" >"$folder/errors"
    if ! head -n 1 "$folder/errors" | grep -qF -- "$1"; then
      not_ok "$compiler: $2"
    elif [ "$3" = -std=c++20 ] && [ "$(wc -l <"$folder/errors")" -ne 1 ]; then
      not_ok "$compiler: $2: more than one error" "$(cat "$folder/errors")"
    else
      ok "$compiler: $2"
    fi
  done
}
# A task around the lines on standard input. What all of them include is parsed once, by the compiler that can.
printf '#include <%s>\n' array functional map memory string tobi/tobi.hpp unordered_map utility vector >"$folder/includes.hpp"
run $CXX -std=c++20 -I"$ROOT/libcore/include" -x c++-header "$folder/includes.hpp" -o "$folder/includes.hpp.gch"; verdict $? "the headers compile"
task() { printf '#include "includes.hpp"\nlong add(long a, long b) { return a + b; }\nlong f() {\n'; cat; printf '  return 0;\n}\n'; }

printf '#include <tobi/tobi.hpp>\nint main() {}\n' | says 'tobi: Tobiuo needs C++20' 'a program in C++17 is told what is missing' -std=c++17
for header in $(cd "$ROOT/libcore/include" && find tobi -name '*.hpp' ! -path '*/detail/*' | sort); do
  printf '#include <%s>\n' "$header"
done >"$folder/headers"
while read -r line; do
  echo "$line" >"$folder/one.cc"
  $CXX -std=c++17 -Wfatal-errors -I"$ROOT/libcore/include" -fsyntax-only "$folder/one.cc" 2>&1 | grep 'error:' | head -n 1 | grep -q 'tobi: Tobiuo needs C++20' || echo "$line"
done <"$folder/headers" >"$folder/silent"
nothing "each public header says so" "$(cat "$folder/silent"; [ -s "$folder/headers" ] || echo 'no header at all')"

closure="tobi: a task's closure is copied by its bytes"
result="tobi: a task's result is copied by its bytes"
task <<<'  tobi::spawn(5).join();' | says 'tobi: spawn() takes a function' 'a number is not spawned' -std=c++20
task <<<'  return tobi::spawn(add, 1).join();' | says 'cannot be called with these arguments' 'an argument is missing' -std=c++20
task <<<'  return tobi::spawn([] { return 1L; }, 2).join();' | says 'cannot be called with these arguments' 'an argument is too many' -std=c++20
task <<<'  return tobi::spawn([](long& n) { return ++n; }, 2L).join();' | says 'cannot be called with these arguments' 'a reference to a copy is refused' -std=c++20
task <<<'  return tobi::spawn([](const std::string& s) { return static_cast<long>(s.size()); }, std::string("x")).join();' |
  says 'tobi: the arguments of spawn() go to the child by their bytes' 'an argument that owns memory is refused' -std=c++20
task <<<'  return tobi::spawn([](std::unique_ptr<long> p) { return *p; }, std::make_unique<long>(1)).join();' |
  says 'tobi: the arguments of spawn() go to the child by their bytes' 'an argument that cannot be copied is refused' -std=c++20
task <<<'  return tobi::spawn([p = std::make_unique<long>(1)] { return *p; }).join();' | says "$closure" 'a closure that can only be moved is refused' -std=c++20
task <<<'  const auto c = [p = std::make_unique<long>(1)] { return *p; }; return tobi::spawn(c).join();' | says "$closure" 'so is one that has a name' -std=c++20
task <<<'  return tobi::spawn([v = std::vector<long>(3)] { return v[0]; }).join();' | says "$closure" 'a closure with a container is refused' -std=c++20
task <<<'  return static_cast<long>(tobi::spawn([] { return std::string("x"); }).join().size());' | says "$result" 'a result that owns memory is refused' -std=c++20
task <<<'  return static_cast<long>(tobi::run([] { return std::string("x"); }).size());' | says "$result" 'so it is of the root' -std=c++20
task <<<'  return static_cast<long>(tobi::run([] { return tobi::global_vector<long>(3); }).size());' |
  says "$result" 'so is one that owns global memory, which each worker would own' -std=c++20
task <<<'  return static_cast<long>(tobi::run([] { return std::vector<int>(3); }).size());' | says 'for a vector tobi::to_global(v)' 'it is told what to return' -std=c++20
task <<<'  return static_cast<long>(tobi::spawn_future([] { return std::string("x"); }).join().size());' | says "$result" 'so it is of a future' -std=c++20
task <<<'  tobi::parallel_invoke([] { return std::string("x"); }, [] { return 1; });' | says "$result" 'so it is of parallel_invoke' -std=c++20
task <<<'  return static_cast<long>(tobi::parallel_reduce(0, 9, std::string(), [](int) { return std::string("x"); }, std::plus<>()).size());' |
  says "$result" 'so it is of a reduction' -std=c++20
task <<<'  return static_cast<long>(tobi::parallel_reduce(0, 9, 1, std::vector<int>(), [](int) { return std::vector<int>(); }, [](auto a, auto) { return a; }).size());' |
  says "$result" 'so it is of one with a grain' -std=c++20
task <<<'  tobi::parallel_for(0, 9, [v = std::vector<long>(3)](int) {});' | says "$closure" 'so it is of a loop' -std=c++20
task <<<'  tobi::finish([] { tobi::async([v = std::vector<long>(3)] {}); });' | says "$closure" 'so it is of an async' -std=c++20
task <<<'  tobi::task_group g; g.run([v = std::vector<long>(3)] {});' | says "$closure" 'so it is of a group' -std=c++20
handle='tobi: a task is not moved, and no container holds tasks'
task <<<'  std::vector<tobi::task<long>> all; all.push_back(tobi::spawn(add, 1L, 2L)); return all[0].join();' | says "$handle" 'a container of tasks is told' -std=c++20
task <<<'  auto one = tobi::spawn(add, 1L, 2L); auto other = std::move(one); return other.join();' | says "$handle" 'a task that is moved is told' -std=c++20
loop='tobi: the function of a loop or a reduction takes an index, or the two ends'
task <<<'  tobi::parallel_for(0, 9, [](std::string) {});' | says "$loop" 'a body that takes no index is told' -std=c++20
chunks='tobi: for_chunks(ranges..., body): each range is in(a), out(a) or inout(a)'
spans() { { echo '  const auto a = tobi::allocate_all<long>(9); tobi::global_vector<long> v(9);'; cat; } | task; }
spans <<<'  tobi::for_chunks(a, [](std::size_t, std::size_t, long*) {});' | says "$chunks" 'a range that does not say how it is used is told' -std=c++20
spans <<<'  tobi::for_chunks(tobi::in(a), [](std::size_t, std::size_t, long*) {});' | says 'tobi: the function of a chunk loop is called with' 'a body that writes what is read is told' -std=c++20
spans <<<'  return tobi::reduce_chunks(tobi::in(a), 0L, [](long x, long y) { return x + y; }, [](std::size_t, std::size_t) { return 1L; });' |
  says 'tobi: the function of a chunk loop is called with' 'so it is of a reduction' -std=c++20
spans <<<'  tobi::for_chunks(tobi::in(a));' | says 'tobi: for_chunks(ranges..., body)' 'a loop without a body is told' -std=c++20
spans <<<'  tobi::reduce_chunks(tobi::par, 1L, 2L);' | says 'tobi: reduce_chunks(ranges..., initial, combine, map)' 'a reduction without ranges is told' -std=c++20
reduction='combine, which comes last, takes two'
task <<<'  return tobi::parallel_reduce(0, 9, 0L, std::plus<>(), [](int i) { return static_cast<long>(i); });' | says "$reduction" 'map and combine in the wrong order are told' -std=c++20
task <<<'  return tobi::parallel_reduce(0, 9, 2, 0L, [](long a, long b) { return a + b; }, [](auto i) { return 1L * i; });' | says "$reduction" 'so they are with a grain' -std=c++20
task <<<'  return tobi::parallel_reduce(0, 9, 0L, [](std::string) { return 1L; }, std::plus<>());' | says "$loop" 'a map that takes no index is told' -std=c++20
task <<<'  struct point { long x; }; return tobi::parallel_reduce(0, 9, point{}, [](int i) { return point{i}; }, std::plus<>()).x;' | says "$reduction" 'a sum of what has no operator+ is told' -std=c++20
spanned='combine takes two values of the initial one'
spans <<<'  return tobi::transform_reduce(a, 0L, [](long x) { return 2 * x; }, std::plus<>());' | says "$spanned" 'so it is of transform_reduce' -std=c++20
spans <<<'  return tobi::transform_reduce(tobi::par, a, a, 0L, [](long x, auto y) { return x * y; }, [](std::string) { return 1L; });' | says "$spanned" 'so it is of one over two ranges' -std=c++20
spans <<<'  return tobi::reduce_chunks(tobi::in(a), 0L, [](std::size_t, std::size_t, const long*) { return 1L; }, std::plus<>());' | says "$spanned" 'so it is of reduce_chunks' -std=c++20
spans <<<'  struct point { long x; }; return tobi::reduce(tobi::allocate_all<point>(9)).x;' | says "$spanned" 'a sum of a span of what has no operator+ is told' -std=c++20
together() { { echo '  tobi::runtime rt; struct point { long x; }; std::map<int, long> m; std::vector<std::string> texts; std::string text;'; cat; } | task; }
spans <<<'  const long x[9] = {}; tobi::put(x, tobi::global_span<const long>(a)); return x[0];' |
  says 'tobi: put() writes to global memory, and this span is one of const elements' 'a put to what is const is told' -std=c++20
gathers='tobi: gather() takes elements in one piece'
together <<<'  for (const auto& [key, value] : rt.gather(m)) return key + value;' | says "$gathers" 'a map that is gathered is told' -std=c++20
together <<<'  std::unordered_map<std::string, long> u; return static_cast<long>(rt.gather(u).size());' | says "$gathers" 'so is an unordered one' -std=c++20
together <<<'  return static_cast<long>(rt.gather(5).size());' | says "$gathers" 'so is a number' -std=c++20
together <<<'  return static_cast<long>(rt.gather(std::vector<bool>(3)).size());' | says "$gathers" 'so is a vector of bits' -std=c++20
together <<<'  return static_cast<long>(rt.gather(texts).size());' | says 'tobi: gather() copies elements by their bytes' 'strings that are gathered are told' -std=c++20
together <<<'  return static_cast<long>(rt.all_gather(text).size());' | says 'tobi: all_gather() copies values by their bytes' 'a string of each is told' -std=c++20
together <<<'  return static_cast<long>(rt.all_gather(m).size());' | says 'tobi: all_gather() copies values by their bytes' 'so is a map' -std=c++20
together <<<'  return static_cast<long>(rt.reduce(texts).size());' | says 'tobi: reduce() copies values by their bytes' 'a reduction of vectors is told' -std=c++20
together <<<'  return static_cast<long>(rt.broadcast(text).size());' | says 'tobi: broadcast() copies a value by its bytes' 'a string that is broadcast is told' -std=c++20
together <<<'  return rt.reduce(point{1}).x;' | says 'tobi: reduce(value) adds up by operator+' 'a reduction of what has no operator+ is told' -std=c++20
together <<<'  return rt.reduce(std::array<point, 3>{})[0].x;' | says 'tobi: reduce(value) adds up by operator+' 'so it is of an array of such' -std=c++20
spans <<<'  struct point { long x; }; return tobi::allocate_all<point>(9)[3].x;' | says 'no member named' 'a[i].x of a span is refused, as the manual says' -std=c++20
spans <<<'  tobi::global_vector<tobi::global_vector<long>> w; return tobi::min_element(w.span(), [](auto&, auto&) { return true; }) - w.begin();' |
  says 'tobi: min_element() and its like copy bytes' 'elements that own something are told' -std=c++20
element='tobi: a[i] is the element, and &a[i] its address'
spans <<<'  long sum = 0; sum += *a[3]; return sum;' | says "$element" '*a[i] of a span is told' -std=c++20
spans <<<'  return tobi::load(v[3]);' | says "$element" 'load(v[i]) of a vector is told' -std=c++20
spans <<<'  tobi::store(a[3], 5L);' | says "$element" 'store(a[i], x) is told' -std=c++20
spans <<<'  auto part = tobi::checkout(a[3], 2, tobi::mode::read);' | says "$element" 'checkout(a[i], n) is told' -std=c++20
finish
