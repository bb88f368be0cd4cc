#!/usr/bin/env bash
# Who may include whom, where vendor headers may appear, and how long the files that everybody reads may be. Each layer's rule is
# first tried on a line that breaks it, so that a rule that finds nothing is noticed.
set -u
cd "${ROOT:-$PWD}"
failed=0
say() { if [ -z "$2" ]; then echo "ok - $1"; else echo "not ok - $1"; echo "$2" | head -5; failed=1; fi; }
sources() { git ls-files -- "$@" 2>/dev/null | grep -E '\.(cc|hpp|S)$'; }

# includes FOLDER...: lines FILE:LINE:#include "..." of the project's own headers
includes() { sources "$@" | xargs -r grep -nE '^#include ["<](arch|alloc|bootstrap|transports|libcore|tests|tools|tobi)/' /dev/null; }
# allowed PATTERN: drops the lines whose header is allowed
allowed() { grep -vE "#include [\"<]($1)"; }

layer() {  # NAME PATTERN FOLDER...
  local name=$1 pattern=$2; shift 2
  printf 'x.cc:1:#include "libcore/job/nowhere.hpp"\n' | allowed "$pattern" | grep -q . || { echo "not ok - the rule for $name allows everything"; failed=1; }
  say "$name includes what it may" "$(includes "$@" | allowed "$pattern")"
}
layer arch 'arch/' arch
layer base 'arch/|libcore/base/' libcore/base
layer bootstrap 'bootstrap/|libcore/base/' bootstrap
layer transports 'transports/|libcore/base/|arch/' transports
layer alloc 'alloc/|libcore/base/|arch/|transports/transport.hpp' alloc
layer task 'libcore/task/|alloc/|libcore/base/|arch/|transports/transport.hpp|tobi/' libcore/task
layer pgas 'libcore/pgas/|alloc/|libcore/base/|arch/|transports/transport.hpp|tobi/' libcore/pgas
layer 'public headers' 'tobi/' libcore/include
layer 'examples' 'tobi/' tools/examples
layer 'tobi-perf' 'tobi/|tools/perf/|tools/plot/|transports/(transport|meeting).hpp|bootstrap/bootstrap.hpp|libcore/base/|arch/' tools/perf
layer 'tobi-info' 'tools/info/|transports/(transport|meeting|route/route|wrap/wrap).hpp|bootstrap/bootstrap.hpp|libcore/base/|arch/' tools/info
layer 'tobi-report' 'tools/report/|tools/plot/' tools/report
layer 'the figures' 'tools/plot/' tools/plot
layer 'tobi-bench' 'tobi/|tools/bench/' tools/bench

vendor() {  # HEADER-PATTERN FOLDER [FILES that measure the library by its own calls]
  say "<$1> appears only in $2${3:+ and $3}" "$(sources arch alloc bootstrap transports libcore tools tests | grep -vE "^($2${3:+|$3})" | xargs -r grep -nE "#include <$1" /dev/null)"
}
vendor 'hwloc' arch/topology.cc
vendor 'jemalloc/' alloc/
vendor 'infiniband/' transports/verbs/ tools/perf/raw_verbs
vendor 'rdma/' transports/ tools/perf/raw_ofi
vendor 'mpi.h' '(transports|bootstrap)/mpi/' tools/perf/raw_mpi
vendor 'pmix.h' bootstrap/pmix/

standard='algorithm|array|bit|concepts|cstddef|cstdint|cstring|functional|memory|optional|stdexcept|string|string_view|tuple|type_traits|utility'
say 'public headers include only the standard library' "$(sources libcore/include | xargs grep -nE '^#include <' | grep -vE "#include <($standard)>")"
for limit in Makefile:120 transports/transport.hpp:200; do
  file=${limit%:*}; lines=$(wc -l <"$file")
  say "$file has at most ${limit#*:} lines" "$([ "$lines" -le "${limit#*:}" ] || echo "$lines")"
done
if command -v clang-format >/dev/null; then
  say 'all sources are as clang-format would have them' "$(sources arch alloc bootstrap transports libcore tools tests | grep -v '\.S$' | xargs clang-format --dry-run -Werror 2>&1 | grep error)"
else
  echo 'skip - clang-format: not installed'
fi
exit $failed
