#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak: three hosts that are namespaces, which only root can make
# Processes that meet between hosts without a launcher, by TOBI_LISTEN and TOBI_CONNECT: programs, tobi-perf, tobi-conform. All hosts
# have the same cores here, so nobody is bound to one. In a soak: also what takes 30 s to be given up.
. "$(dirname "$0")/../harness.inc"
. tests/hosts/hosts.inc
inside 3 --no-slurm
clean
said=$folder/said  # by the one that listens: $said.out and $said.err
begin() {  # HOST COMMAND...: the one that listens
  on "$1" timeout -k 10 "$HANG_S" env TOBI_PIN=none "${@:2}" >"$said.out" 2>"$said.err" </dev/null &
  listener=$!
}
join() {  # HOST COMMAND...
  local host=$1
  shift
  run nsenter --all --target "$(init "$host")" env TOBI_PIN=none "$@"
}
await() { wait $listener; listened=$?; }
meet() { begin h1 $1 --listen; join h2 $2 --connect h1; await; }  # LISTENER CONNECTOR, with arguments
both_end() { [ $status -eq "$1" ] && [ $listened -eq "$1" ]; }
silent() { [ ! -s "$said.err" ] && [ ! -s "$err" ]; }
is_json() { python3 -c 'import json,sys; n=[json.loads(l) for l in open(sys.argv[1])]; sys.exit(len(n)!=int(sys.argv[2]))' "$@"; }

# --- programs ---
begin h1 env TOBI_LISTEN=3 TOBI_WORKERS=2 "$bench" uts --tree T1 --verify
on h2 env TOBI_CONNECT=h1 "$bench" uts --tree T1 --verify >"$folder/second" 2>&1 </dev/null &
second=$!
join h3 TOBI_CONNECT=h1 "$bench" uts --tree T1 --verify
wait $second
seconds_status=$?
await
all "three processes on three hosts are one job of six workers" 'both_end 0' '[ $seconds_status -eq 0 ]' silent \
  'grep -q " 6 workers (.*ofi" "$said.out"' 'grep -q yes "$said.out"' '[ ! -s "$out" ]' '[ ! -s "$folder/second" ]'
begin h1 env TOBI_LISTEN=2 TOBI_PORTS=20000-20003 "$bench" fib --n 20 --verify
join h2 TOBI_CONNECT=h1:20000 "$bench" fib --n 20 --verify
await
all "TOBI_PORTS says where they meet" 'both_end 0' silent 'grep -q yes "$said.out"'
begin h1 env TOBI_LISTEN=2 "$bench" uts --tree T1L
on h2 env TOBI_CONNECT=h1 "$bench" uts --tree T1L >"$out" 2>"$err" </dev/null &
second=$!
for _ in $(seq 100); do [ "$(count_ranks)" -ge 4 ] && break; sleep 0.1; done
sleep 1
kill -KILL $(ranks h2)
wait $second
await
all "when a host's processes are killed the others say which, and end" '[ $listened -eq 1 ]' \
  'grep -q "^tobi: .*h2.*; the job ends" "$said.err"' '[ "$(grep -c "^tobi: " "$said.err")" -eq 1 ]'
rule "and nothing is left" settled 20

# --- tobi-perf ---
meet "$BIN/tobi-perf" "$BIN/tobi-perf get --size 8,64 --iters 200"
all "tobi-perf get between two hosts" 'both_end 0' silent 'says "rank 0 on h2.*, rank 1 on h1"' '[ "$(grep -c "^get  *ofi " "$out")" -eq 2 ]' \
  'grep -q "rank 0 on h2.*, rank 1 on h1.*Rank 0 prints" "$said.out"'
meet "$BIN/tobi-perf" "$BIN/tobi-perf put --raw --iters 200 --json"
all "and with --raw and --json, each line an object" 'both_end 0' silent 'jq -se "map(select(.op)) | length == 4" "$out" >/dev/null' 'says "\"raw\":true,\"pairs\":1,\"iterations\":200"'
meet "$BIN/tobi-perf" "$BIN/tobi-perf bw --size 4K --duration 0.5"
all "and for a duration" 'both_end 0' silent '[ "$(grep -c "^bw-[gp][eu]t  *ofi " "$out")" -eq 2 ]'
meet "$BIN/tobi-perf" "$BIN/tobi-perf bw --size 4K --iters 2000 --bidirectional"
all "and both ways" 'both_end 0' silent '[ "$(grep -c "^bw-[gp][eu]t-both  *ofi " "$out")" -eq 2 ]'
meet "$BIN/tobi-perf barrier" "$BIN/tobi-perf barrier --duration 0.5"
all "tobi-perf barrier takes the arguments of the one that connects" 'both_end 0' silent 'says "^barrier .*00 "'
meet "$BIN/tobi-perf steal" "$BIN/tobi-perf steal --duration 1"
all "tobi-perf steal between two hosts" 'both_end 0' silent 'says "dependent round trips"'
meet "$BIN/tobi-perf" "$BIN/tobi-perf all -n 48 -w 5 --size 8,4K --html $folder/sheet.html"
all "tobi-perf all: the sheet, with steals, over the port that was given" '[ $status -le 1 ]' silent 'says "^The costs of ofi$"' \
  'says "rank 0 on h2.*, rank 1 on h1"' 'says "^  get 4K .*B/s"' 'says "^  steal.the: lock .*s"' 'says "3 processes are needed, and 2 were started"' \
  'grep -q "<h3>Steal</h3>" "$folder/sheet.html"'
meet "$BIN/tobi-perf" "$BIN/tobi-perf get --transport shm"
all "shared memory between hosts is refused by a sentence" 'says "cannot be used here: by rank [01] on h[12]: .*it serves the workers of one node"'

# --- tobi-conform ---
meet "$BIN/tobi-conform" "$BIN/tobi-conform ofi"
all "tobi-conform between two hosts" 'both_end 0' silent 'says "^pass put-integrity"' '! says "^fail"' '[ ! -s "$said.out" ]'
meet "$BIN/tobi-conform" "$BIN/tobi-conform ofi --rule get-integrity --json"
all "one rule of it, which the one that listens need not name" 'both_end 0' silent 'is_json "$out" 1'
meet "$BIN/tobi-conform" "$BIN/tobi-conform shm"
all "and it refuses shared memory between hosts" 'both_end 2' 'complains "shm cannot be used here: by rank 0 on h2: it serves the workers of one node"'

# --- what goes wrong ---
begin h1 "$BIN/tobi-conform" --listen
join h2 "$BIN/tobi-perf" get --connect h1
mistaken=$status mistake=$(cat "$err")
join h2 "$BIN/tobi-conform" ofi --rule put-integrity --connect h1
await
all "a tool of another kind is refused, and the right one is let in behind it" 'both_end 0' '[ $mistaken -eq 2 ]' \
  'grep -q "runs tobi-conform, and not tobi-perf" <<<"$mistake"' 'grep -q "came for another purpose (tobi-perf)" "$said.err"'
begin h1 "$BIN/tobi-perf" --listen
sleep 0.5
join h1 "$BIN/tobi-perf" --listen
all "a port that is taken is said" '[ $status -eq 2 ]' 'complains "TCP port 18520 cannot be listened on (Address already in use); TOBI_PORTS"'
join h2 "$BIN/tobi-perf" get --iters 10 --connect h1
await
join h2 "$BIN/tobi-perf" get --connect nosuch
all "so is a host that is not known" '[ $status -eq 2 ]' 'complains "the host nosuch is not known"'
join h2 "$BIN/tobi-perf" get --connect h1:0x
all "and a place that is none" '[ $status -eq 2 ]' 'complains "h1:0x is not HOST or HOST:PORT"'
if [ -n "${SOAK:-}" ]; then
  join h2 "$BIN/tobi-perf" get --connect h1:4
  all "and where nobody listens, after 30 s" '[ $status -ne 0 ]' 'complains "nobody listens on h1, TCP port 4 (Connection refused); start the other"'
fi
rule "nothing is left on the hosts" settled 20
finish
