#!/usr/bin/env bash
# The contract holds in every mode of the simulated fabric, and through decorators that refuse and delay.
set -u
: "${BIN:=build/release/bin}"
for name in $(env | sed -n 's/^\(TOBI_[A-Za-z0-9_]*\)=.*/\1/p'); do unset "$name"; done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
conform() {  # the rule, how many rules must pass at least, transport, settings
  local rule=$1 least=$2 transport=$3 status passed
  shift 3
  timeout -k 2 100 env "$@" "$BIN/tobi-conform" "$transport" >"$folder/out" 2>"$folder/err" </dev/null
  status=$?
  passed=$(grep -c '^pass ' "$folder/out")
  if [ $status -eq 0 ] && [ "$passed" -ge "$least" ]; then
    echo "ok - $rule: $passed rules of the contract"
  else
    echo "not ok - $rule: status $status, $passed rules"
    grep -v '^pass \|^skip ' "$folder/out" | sed 's/^/# /'
    tail -n 5 "$folder/err" | sed 's/^/# /'
    failed=1
  fi
}
for mode in manual manual-amo depth1 nochain noamo inorder manual,depth1,nochain clog=20 delay=0; do
  case $mode in *nochain*) least=18 ;; noamo) least=18 ;; *) least=24 ;; esac
  conform "sim in mode $mode" $least sim TOBI_SIM=$mode
done
for seed in 2 3; do conform "sim with seed $seed" 26 sim TOBI_SIM_SEED=$seed; done
conform "shm when 5,000 posts are refused" 26 shm TOBI_WRAP=fault TOBI_FAULT=again=5000
conform "shm when half of all posts and flushes are refused" 26 shm TOBI_WRAP=fault TOBI_FAULT=again-rate=50
conform "self when half of all posts and flushes are refused" 22 self TOBI_WRAP=fault TOBI_FAULT=again-rate=50
conform "sim when a third of all posts and flushes are refused" 26 sim TOBI_WRAP=fault TOBI_FAULT=again-rate=33
exit $failed
