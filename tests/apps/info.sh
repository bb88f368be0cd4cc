#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: computes, 30 s
# tobi-info: what it prints, that programs can read it, and that every mistake ends with one sentence and status 2.
. "$(dirname "$0")/../harness.inc"
info=$BIN/tobi-info
count() { grep -c -- "$1" "$out"; }

# --- for people ---
run TOBI_WORKERS=2 TOBI_SIM=manual-amo "$info"
all "it tells version, machine, transports and settings, and complains of nothing" '[ $status -eq 0 ]' silent \
  'says "^Tobiuo [0-9]"' 'says "^machine"' 'says "^  cores .* usable of "' 'says "locked memory"' \
  'says "^transports"' 'says "^  self "' 'says "^  shm "' 'says "^  sim "' 'says "^settings"' 'says "^  TOBI_WORKERS "'
all "each transport says whether it is usable, and one is chosen" '[ "$(count "^  *\(not \)\{0,1\}usable")" -ge 2 ]' \
  '[ "$(count "usable, and chosen for a job")" -eq 1 ]'
all "people are told in one line a transport" 'says "one-sided as measured: get yes (.* us), put yes (.* us), atomic no (waited for the target, [0-9]* ms)$"'

run "$info" --settings
all "--settings is the table alone" '[ $status -eq 0 ]' silent 'says "^settings"' '! says "^machine"' '! says "^transports"'
rows=$(grep -c '^  TOBI_[A-Z_]* .* default ' "$out")
all "every setting has a row, all of them defaults" '[ "$rows" -ge 10 ]' '[ "$(count "^  TOBI_")" -eq "$rows" ]'

run TOBI_DEQUE=the TOBI_STACK_SIZE=100K "$info" --settings
all "a setting of the environment is shown with its value in force and its source" '[ $status -eq 0 ]' silent \
  'says "^  TOBI_DEQUE  *the  *environment "' 'says "^  TOBI_STACK_SIZE  *128K  *environment "' \
  'says "^  TOBI_HEAP_SIZE  *1G  *default "'

run TOBI_WORKERS=1 "$info" --no-measure
all "the choice of a transport follows the number of workers" 'says "chosen for a job of 1 worker$"'
for workers in 1 2; do
  run TOBI_WORKERS=$workers "$info" --no-measure --json
  all "the simulated transport is usable, and not chosen unless it is asked for ($workers workers)" \
    'says "\"name\":\"sim\",.*\"usable\":true,.*\"chosen\":false"'
done
run TOBI_WORKERS=2 TOBI_TRANSPORT=sim "$info" --no-measure --json
all "TOBI_TRANSPORT=sim chooses the simulated transport" 'says "\"name\":\"sim\",.*\"chosen\":true"' \
  'says "\"amo_scope\":\"domain\""'
run TOBI_WORKERS=2 TOBI_TRANSPORT=self "$info" --no-measure
all "a transport that cannot serve the job says why, and nothing else is chosen in its place" '[ $status -eq 0 ]' \
  'says "not usable for a job of 2 workers: it serves a job of one worker"' '! says "and chosen for"'

run taskset -c "$(taskset -pc $$ | sed 's/.*: *\([0-9]*\).*/\1/')" "$info" --no-measure
all "the inherited cpuset limits the cores" '[ $status -eq 0 ]' 'says "^  cores  *1 usable of "' 'says "workers of a job 1$"'

run HWLOC_PLUGINS_PATH=/nowhere "$info" --no-measure
all "plugins of hwloc are not needed" '[ $status -eq 0 ]' silent 'says "^  cores .* usable of "'

# --- for programs ---
run TOBI_WORKERS=2 "$info" --json
all "--json prints one object a line" '[ $status -eq 0 ]' silent '[ "$(count "^{\"kind\":\"[a-z]*\",.*}$")" -eq "$(wc -l < "$out")" ]'
cp "$out" "$folder/measured"
for kind in version machine pages; do
  all "--json has one object of kind $kind" '[ "$(count "^{\"kind\":\"$kind\"")" -eq 1 ]'
done
all "--json has the decorators" '[ "$(count "^{\"kind\":\"decorator\"")" -eq 3 ]'
all "--json has self, shm and sim, and as many settings as the table" '[ "$(count "\"kind\":\"setting\"")" -eq "$rows" ]' \
  'says "\"kind\":\"transport\",\"name\":\"self\""' 'says "\"kind\":\"transport\",\"name\":\"shm\""' \
  'says "\"kind\":\"transport\",\"name\":\"sim\""'
all "--json tells capabilities as values" 'says "\"fetch_add\":true"' 'says "\"amo_scope\":\"host\""' 'says "\"chain_max\":[1-9]"'
run "$info" --json --settings
all "--json --settings is the settings alone" '[ "$(wc -l < "$out")" -eq "$rows" ]' \
  '[ "$(count "\"kind\":\"setting\"")" -eq "$rows" ]'
run TOBI_TRANSPORT=shm 'TOBI_STRANGE=a"b\c' "$info" --no-measure --json
if command -v jq > /dev/null; then
  jq -e . < "$out" > "$folder/parsed" 2>> "$err"; status=$?
  all "--json is JSON" '[ $status -eq 0 ]'
  jq -se 'map(select(.kind == "setting" and .name == "TOBI_TRANSPORT")) | .[0].value == "shm" and .[0].source == "environment"' \
    < "$out" > "$folder/parsed" 2>> "$err"; status=$?
  all "--json says value and source" '[ $status -eq 0 ]'
  jq -se 'map(select(.kind == "machine")) | .[0] | (.cores | length) == .cores_usable and .workers >= 1' \
    < "$out" > "$folder/parsed" 2>> "$err"; status=$?
  all "--json lists the usable cores" '[ $status -eq 0 ]'
else
  # Without a parser: quotes and brackets that match, on every line.
  awk '{ q = gsub(/"/, "\""); o = gsub(/[{[]/, "&"); c = gsub(/[]}]/, "&"); if (q % 2 || o != c) bad = 1 } END { exit bad }' "$out"
  status=$?
  all "--json has matching quotes and brackets (jq is not installed to parse it)" '[ $status -eq 0 ]'
fi

# --- what is measured ---
# One transport's object: NAME, then conditions in jq's words.
transport_is() {
  name=$1
  shift
  for condition in "$@"; do
    jq -se "map(select(.kind == \"transport\" and .name == \"$name\")) | .[0] | $condition" < "$out" > "$folder/parsed" 2>> "$err" || {
      echo "# $name: not $condition"
      return 1
    }
  done
}
if command -v jq > /dev/null; then
  cp "$folder/measured" "$out"
  all "shm is one-sided as measured" \
    'transport_is shm .measured_passive_rma .measured_passive_get .measured_passive_put .measured_passive_amo ".measured_get_us > 0" ".measured_error == \"\""'
  all "self cannot be measured, and says why" 'transport_is self ".measured_passive_rma == null" ".measured_error | length > 0"'
  all "what was not measured is null" 'transport_is self ".measured_get_us == null" ".measured_passive_amo == null"'
  all "each transport has its devices as a list" \
    'jq -se "map(select(.kind == \"transport\")) | all(.devices | type == \"array\")" < "$out" > "$folder/parsed"'
  run TOBI_WORKERS=2 TOBI_SIM=manual "$info" --json
  all "a fabric whose targets must poll is not one-sided, and its operations wait for the target" '[ $status -eq 0 ]' \
    'transport_is sim ".measured_passive_rma == false" ".measured_passive_amo == false" ".measured_error == \"\""'
  run TOBI_WORKERS=2 TOBI_SIM=manual-amo "$info" --json
  all "a fabric whose targets must poll for atomics alone is told apart" \
    'transport_is sim ".measured_passive_rma" ".measured_passive_amo == false"'
  run TOBI_WORKERS=2 TOBI_SIM=noamo "$info" --json
  all "atomics that are not claimed are not measured" 'transport_is sim ".measured_passive_rma" ".measured_passive_amo == null"'
  run TOBI_WORKERS=2 TOBI_OFI_PROVIDER="tcp;ofi_rxm" TOBI_AMO_SERVER=worker "$info" --json
  if transport_is ofi .usable > /dev/null; then
    all "atomics that a worker of the node executes need no poll of a target that sleeps" \
      'transport_is ofi .capabilities.passive_amo .measured_passive_amo ".measured_error == \"\""'
  else
    skip "a worker of the node for atomics: libfabric has no provider tcp;ofi_rxm here"
  fi
  # Two workers measure a provider as a job does, by time; tobi-info asks whether the target was asleep. On a busy machine the two may
  # differ, so the soak asks.
  [ -z "${SOAK:-}" ] || for provider in "tcp;ofi_rxm" tcp shm sockets net; do
    run TOBI_WORKERS=2 TOBI_OFI_PROVIDER="$provider" "$info" --json
    transport_is ofi .usable > /dev/null || { skip "what $provider claims: libfabric has no such provider here"; continue; }
    all "libfabric's $provider claims to be one-sided where it is" \
      'transport_is ofi ".capabilities.passive_rma == .measured_passive_rma" ".capabilities.passive_amo == .measured_passive_amo" ".measured_error == \"\"" ".describe | test(\"as measured at the start\")"'
  done
  run TOBI_WORKERS=2 TOBI_OFI_PROVIDER=sockets TOBI_OFI_PROGRESS=manual "$info" --json
  if transport_is ofi .usable > /dev/null; then
    all "TOBI_OFI_PROGRESS=manual claims nothing, whatever the provider does" \
      'transport_is ofi ".capabilities.passive_rma == false" ".capabilities.passive_amo == false" ".describe | test(\"moved by polls\")"'
  fi
  run TOBI_WORKERS=2 "$info" --json --no-measure
  all "--no-measure does not measure" 'transport_is shm ".measured_passive_rma == null" ".measured_error == \"not asked for\""'
  run TOBI_WORKERS=4 TOBI_NODES=2 TOBI_TRANSPORT=sim "$info" --json --no-measure
  all "with TOBI_NODES the route of each operation is told" \
    'transport_is sim ".chosen" ".route | test(\"shm inside a node, sim between nodes.*atomics inside a node by sim\")"' \
    'transport_is shm ".usable == false"'
  run TOBI_WRAP=trace,stats "$info" --json --no-measure
  all "decorators are listed with their place" \
    'jq -se "map(select(.kind == \"decorator\")) | map({(.name): .place}) | add == {stats: 2, trace: 1, fault: 0}" < "$out" > "$folder/parsed"'
else
  skip "what is measured: jq is not installed"
fi
run TOBI_WRAP=stats,nonsense "$info" --no-measure
all "a list of decorators that no job would take is told" 'says "asked for, and refused: .*nonsense"'

# --- a vendor's library that is broken ---
mkdir "$folder/empty" "$folder/broken"
: > "$folder/empty/libfabric.so.1"
: > "$folder/empty/libibverbs.so.1"
run TOBI_WORKERS=2 LD_LIBRARY_PATH="$folder/empty" "$info" --no-measure
all "libraries that cannot be loaded are sentences" '[ $status -eq 0 ]' silent 'says "usable, and chosen for a job of 2 workers"' \
  '[ "$(count "not usable for a job of 2 workers: .*lib\(fabric\|ibverbs\)")" -ge 1 ]'
mkdir "$folder/pmix"
echo '#include <stdlib.h>
__attribute__((constructor)) static void wrong(void) { abort(); }' > "$folder/wrong.c"
if ! "$info" --json --no-measure | grep '"name":"pmix"' | grep -q '"usable":true'; then
  skip "a PMIx library that crashes: needs the package libpmix-dev, at build time"
elif "$CXX" -shared -fPIC -x c "$folder/wrong.c" -o "$folder/pmix/libpmix.so.2" 2> "$err"; then
  run LD_LIBRARY_PATH="$folder/pmix" "$info" --no-measure
  all "a launcher's library that crashes is a sentence" '[ $status -eq 0 ]' silent 'says "^  launchers "' \
    'says "not usable: it crashed with signal 6"' 'says "^  TOBI_WORKERS "'
else
  verdict 1 "the PMIx library that crashes builds"
fi
real=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p | sed -n 's/.*libfabric\.so\.1 .*=> //p' | head -n 1)
if [ -z "$real" ] || "$info" --no-measure | grep -q 'built without libfabric'; then
  skip "a libfabric that goes wrong: needs the package libfabric-dev"
elif ! "$CXX" -shared -fPIC -O1 "$ROOT/tests/apps/broken_library.cc" -o "$folder/broken/libfabric.so.1" -ldl 2> "$err"; then
  verdict 1 "the library that goes wrong builds"
else
  goes_wrong() {  # how, the rule, the line that says so, option
    run TOBI_WORKERS=2 WRONG="$1" REAL="$real" LD_LIBRARY_PATH="$folder/broken" "$info" $4
    said=$3
    all "$2" '[ $status -eq 0 ]' silent 'says "$said"' 'says "usable, and chosen for a job of 2 workers"' 'says "^  TOBI_WORKERS "'
  }
  asked="(when it was asked whether it can be used)"
  # Ten seconds of waiting, and twelve.
  if [ -n "${SOAK:-}" ]; then
    goes_wrong hang "one that never answers is stopped" "not usable .*did not end within 10 seconds and was stopped $asked" --no-measure
    goes_wrong measure-hang "a measurement that hangs is stopped" "not measured: it did not end within 12 seconds" --measure
  fi
  goes_wrong crash "a library that crashes when it is asked is a sentence" "not usable .*signal 11.*$asked" --no-measure
  goes_wrong abort "one that aborts, too" "not usable .*\(signal 6\|Aborted\|status\).*$asked" --no-measure
  goes_wrong exit "one that exits, too" "not usable .*it exited in the middle, with status 0 $asked" --no-measure
  goes_wrong open "one that crashes when it is opened is not usable" "not usable .*(when it was opened)" --no-measure
  goes_wrong measure "one that crashes while it is measured stays usable, and the reason is told" "not measured: .*\(signal 11\|died\|killed\|exited with status\)" --measure
fi

# --- mistakes ---
refused() {  # the rule, what standard error must say, then the run: status 2, one line there, nothing on standard output
  rule=$1
  sentence=$2
  shift 2
  run "$@"
  all "$rule" '[ $status -eq 2 ]' '[ "$(wc -l < "$err")" -eq 1 ]' '[ ! -s "$out" ]' 'grep -q -- "^tobi: .*$sentence" "$err"'
}
refused "an unknown option" "does not know --frobnicate; tobi-info --help" "$info" --frobnicate
refused "a stray argument" "does not know machine; tobi-info --help" "$info" machine
refused "a value for a flag" "tobi-info --help" "$info" --json=3
for bad in -3 0 1e9 1000000000 99999999999999999999 two ''; do
  refused "TOBI_WORKERS=$bad" "is not a number from 1 to 65535" TOBI_WORKERS="$bad" "$info"
done
refused "more workers than the machine is good for" "60000 workers are more than 512 for each" TOBI_WORKERS=60000 "$info"
refused "TOBI_DEQUE=foo" "TOBI_DEQUE=foo is not one of steal_word, the\." TOBI_DEQUE=foo "$info"
refused "TOBI_TRANSPORT=foo" "TOBI_TRANSPORT=foo is not one of auto, self, shm, .*sim.*\." TOBI_TRANSPORT=foo "$info"
for bad in 1K 129M -1 64Q ''; do
  refused "TOBI_STACK_SIZE=$bad" "is not a size from 64K to 128M" TOBI_STACK_SIZE="$bad" "$info"
done
refused "TOBI_HEAP_SIZE=1T" "is not a size from 16M to 64G" TOBI_HEAP_SIZE=1T "$info"
refused "TOBI_DEQUE_SIZE=10" "is not a number of nested forks from 256 to 16M" TOBI_DEQUE_SIZE=10 "$info"
refused "TOBI_LOG=loud" "one of error, warn, info, debug, trace" TOBI_LOG=loud "$info"
refused "TOBI_PIN=yes" "one of auto, none" TOBI_PIN=yes "$info"
refused "TOBI_STATS=2" "one of 0, 1, off, on, false, true" TOBI_STATS=2 "$info"

run TOBI_WROKERS=4 "$info" --settings
all "an unknown TOBI_ name draws one warning that names the nearest" '[ $status -eq 0 ]' '[ "$(wc -l < "$err")" -eq 1 ]' \
  'grep -q "warning: TOBI_WROKERS is no setting.*nearest one is TOBI_WORKERS" "$err"'
run TOBI_WROKERS=4 TOBI_LOG=error "$info" --settings
all "TOBI_LOG=error silences the warning" silent 'says "^  TOBI_LOG  *error  *environment "'

if [ -c /dev/full ]; then
  "$info" --no-measure > /dev/full 2> "$err"; status=$?
  : > "$out"
  all "output that cannot be written is an error" '[ $status -eq 1 ]' '[ "$(wc -l < "$err")" -eq 1 ]'
fi
run "$info" --help
all "--help names the options" '[ $status -eq 0 ]' 'says "--settings"' 'says "--json"' 'says "--no-measure"' '! says "--probe"'

finish
