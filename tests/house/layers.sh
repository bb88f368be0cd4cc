#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What includes what, where vendor headers may appear, and how long the files that everybody reads may be. Each rule is first
# tried on a line that breaks it, so that a rule that finds nothing is noticed.
. "$(dirname "$0")/../harness.inc"
sources() { git ls-files -- "$@" 2>/dev/null | grep -E '\.(cc|hpp|S)$'; }

# The folders of the library, from the ground up. Each includes itself and what stands below it.
floors='libcore/include libcore/base arch alloc transports bootstrap libcore/trace libcore/net libcore/deque libcore/task libcore/pgas libcore/sched libcore/pool libcore/job'
# Of these some need not know each other though one stands above: FOLDER/BELOW.
strangers='alloc/arch bootstrap/arch bootstrap/alloc bootstrap/transports transports/alloc libcore/trace/transports libcore/pgas/libcore/deque libcore/sched/libcore/pgas'

# includes: lines FILE:LINE:#include "..." of the project's own headers, in the files named
includes() { xargs -r grep -nE '^#include ["<](arch|alloc|bootstrap|transports|libcore|tests|tools|tobi)/' /dev/null | sed 's|#include "tobi/|#include "libcore/include/tobi/|'; }
# uphill: of such lines, those that include what does not stand below
uphill() {
  awk -v floors="$floors" -v strangers="$strangers" '
    function folder(path,   i) { for (i = 1; i <= n; i++) if (index(path, floor[i] "/") == 1) return i; return 0 }
    BEGIN { n = split(floors, floor, " "); m = split(strangers, pair, " "); for (i = 1; i <= m; i++) apart[pair[i]] = 1 }
    {
      split($0, at, ":"); split($0, quoted, "\""); from = folder(at[1]); to = folder(quoted[2])
      if (from != 0 && (to == 0 || to > from || (floor[from] "/" floor[to]) in apart)) print
    }'
}
for planted in 'libcore/base/x.cc:1:#include "libcore/task/x.hpp"' 'libcore/job/x.cc:1:#include "tools/x.hpp"' 'libcore/sched/x.cc:1:#include "libcore/pgas/x.hpp"'; do
  echo "$planted" | uphill | grep -q . || not_ok "the order of folders allows ${planted#*:1:} in ${planted%%:*}"
done
# A port's raw_lane*.{cc,hpp} are tobi-perf's.
nothing 'each folder of the library includes what stands below it' "$(sources $floors | grep -vE '^transports/[a-z0-9_]+/raw_lane' | includes | uphill)"

# circle: of such lines, the files that include each other in a circle
circle() { sed -E 's/^([^:]*):.*"([^"]*)".*/\1 \2/; s/^([^:]*):.*<([^>]*)>.*/\1 \2/' | tsort 2>&1 >/dev/null | sed 's/^tsort: -: //; s/^tsort: //'; }
printf 'a.hpp:1:#include "b.hpp"\nb.hpp:1:#include "a.hpp"\n' | circle | grep -q . || not_ok 'a circle of two files is not seen'
nothing 'no files include each other in a circle' "$(sources arch alloc bootstrap transports libcore tools tests | includes | circle)"

# strange: of headers of the library, those that declare things in another folder's namespace. A folder's namespace is its own name,
# but for libcore/task, whose name is the public handle's (tobi::task). A class of another folder may be named, no more.
strange() {
  xargs -r awk '
    function own(path,   part, name) { split(path, part, "/"); name = part[1] == "libcore" ? part[2] : part[1]; return name == "task" ? "tasks" : name }
    FNR == 1 { where = "" }
    where != "" { if ($0 !~ /^(class|struct) [a-z_]+;$/) print where; where = "" }
    /^namespace tobi/ && $2 !~ "^tobi::" own(FILENAME) "(::|$)" { where = FILENAME ":" FNR ": " $2 }'
}
mkdir -p "$folder/libcore/net"
printf 'namespace tobi::deque {\nclass deque;\n}\nnamespace tobi::net {\nint x;\n}\nnamespace tobi::pgas {\nint y;\n}\n' >"$folder/libcore/net/x.hpp"
equal 'a header in the namespace of another folder is seen' "$(cd "$folder" && echo libcore/net/x.hpp | strange)" 'libcore/net/x.hpp:7: tobi::pgas'
# The error classes are the whole project's.
nothing "each folder's headers are in its namespace" "$(sources ${floors#* } | grep '\.hpp$' | grep -vxE 'libcore/base/status.hpp|transports/[a-z0-9_]+/raw_lane.*' | strange)"

# allowed PATTERN: drops the lines whose header is allowed
allowed() { grep -vE "#include [\"<](libcore/include/)?($1)"; }
layer() {  # NAME PATTERN FOLDER...
  local name=$1 pattern=$2; shift 2
  printf 'x.cc:1:#include "libcore/job/nowhere.hpp"\n' | allowed "$pattern" | grep -q . || not_ok "the rule for $name allows everything"
  nothing "$name includes what it may" "$(sources "$@" | includes | allowed "$pattern")"
}
layer 'examples' 'tobi/' tools/examples
layer 'tobi-perf' 'tobi/|tools/perf/|tools/(command_line|meet|output|provenance|samples).hpp|tools/plot/|transports/(transport|registry|meeting|[a-z]+/settings).hpp|bootstrap/bootstrap.hpp|bootstrap/tcp/|libcore/base/|arch/' tools/perf
layer 'raw loops' 'tools/perf/lane.hpp|transports/[a-z0-9_]+/(settings|shm_files|raw_lane[a-z_]*).hpp|bootstrap/bootstrap.hpp|libcore/base/|arch/' 'transports/*/raw_lane*'
layer 'tobi-info' 'tools/info/|tools/(output|provenance|samples).hpp|transports/(transport|registry|meeting|route/route|decorators/wrap|[a-z]+/settings).hpp|bootstrap/(bootstrap|layout|host_names).hpp|libcore/base/|arch/' tools/info
layer 'tobi-report' 'tools/report/|tools/(command_line|output|samples).hpp|tools/plot/' tools/report
layer 'the figures' 'tools/plot/' tools/plot
layer 'tobi-bench' 'tobi/|tools/bench/|tools/(command_line|output|samples).hpp|libcore/base/(shared_library|statistics).hpp|libcore/pool/balance_(node|tree).hpp' tools/bench

vendor() {  # HEADER-PATTERN FOLDER [FILES that measure the library by its own calls]
  nothing "<$1> appears only in $2${3:+ and $3}" "$(sources arch alloc bootstrap transports libcore tools tests | grep -vE "^($2${3:+|$3})" | xargs -r grep -nE "#include <$1" /dev/null)"
}
vendor 'hwloc' arch/topology.cc
vendor 'jemalloc/' alloc/
vendor 'infiniband/' transports/verbs/ 'tests/(fault/failing_fabric|perf/loops/)'
vendor 'rdma/' transports/ 'tests/(fault/(stranger|failing_fabric)|emulators/fabric/|perf/loops/|unit/strict_fabric_test)'
vendor 'mpi.h' '(transports|bootstrap|tools/bench/fmm)/mpi/' tests/perf/loops/
vendor 'pmix.h' bootstrap/pmix/
vendor 'elfutils/' libcore/job/dwarf.cc

standard='algorithm|array|bit|chrono|concepts|cstddef|cstdint|cstdlib|cstring|ctime|cxxabi.h|exception|functional|iterator|limits|memory|new|optional|span|stdexcept|string|string_view|tuple|type_traits|typeinfo|utility|variant|vector'
nothing 'public headers include only the standard library' "$(sources libcore/include/tobi | xargs grep -nE '^#include <' | grep -vE "#include <($standard)>")"
more='cassert|clocale|cmath|compare|cstdio|fcntl.h|fstream|initializer_list|iostream|numeric|random|sstream|sys/mman.h|sys/stat.h|unistd.h'
nothing 'those for programs of Itoyori include what these count on, too' "$(sources libcore/include/ityr | xargs grep -nE '^#include <' | grep -vE "#include <($standard|$more)>")"
# seen: of the public headers on standard input, those whose warnings users see. The lines below are behind `#pragma once`.
unseen=$'#pragma once\n#ifndef TOBI_HEADER_WARNINGS\n#pragma GCC system_header\n#endif\n'
seen() { while IFS= read -r header; do grep -A 3 -x '#pragma once' "$header" | cmp -s - <(printf %s "$unseen") || echo "$header"; done; }
printf '// x\n%s\nint x;\n' "$unseen" >"$folder/unseen.hpp"; printf '#pragma once\n\nint x;\n' >"$folder/seen.hpp"
equal 'a public header whose warnings users see is noticed' "$(printf '%s\n' "$folder"/{un,}seen.hpp | seen)" "$folder/seen.hpp"
nothing 'users see no warning of a public header' "$(sources libcore/include | seen; sources libcore/include | grep -q . || echo 'no header at all')"
# foreign: streams of the library that read or write in whatever locale the program has.
foreign() { grep -nE 'std::[io]?(string|f)stream|f?printf\(.*%[0-9.*]*[fge]' "$@" /dev/null | grep -v '^libcore/base/plain_text.hpp:\|^alloc/tsd_by_offset.cc:\|/raw_lane\|:[0-9]*: *//'; }
printf 'std::istringstream in(text);\n' >"$folder/planted.cc"
[ -n "$(foreign "$folder/planted.cc")" ] || not_ok 'a stream in the program'"'"'s locale is not seen'
nothing 'text between machines is read and written in no locale (libcore/base/plain_text.hpp)' "$(foreign $(sources arch alloc bootstrap transports libcore))"
for limit in Makefile:120 transports/transport.hpp:200; do
  file=${limit%:*}; lines=$(wc -l <"$file")
  nothing "$file has at most ${limit#*:} lines" "$([ "$lines" -le "${limit#*:}" ] || echo "$lines")"
done
if command -v clang-format >/dev/null; then
  nothing 'all sources are as clang-format would have them' "$(sources arch alloc bootstrap transports libcore tools tests | grep -v '\.S$' | xargs clang-format --dry-run -Werror 2>&1 | grep error)"
else
  skip 'clang-format: not installed'
fi
finish
