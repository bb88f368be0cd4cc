#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak: the guest itself, which softroce/smoke.sh uses
# The Soft-RoCE guest itself: two devices that are active, messages that really cross the cable, exit status and output that
# arrive as they were, and no QEMU left behind however a run ends. What other tests run in the guest rests on this.
. "$(dirname "$0")/../harness.inc"
guest=$ROOT/tests/softroce/guest
started=
at_exit='[ -z "$started" ] || kill "$started" 2>/dev/null'
said() { sed -n "s/^$1 //p" "$out"; }
more() { [ -n "$1" ] && [ -n "$2" ] && [ $(($2 - $1)) -ge 1000 ]; }
few() { [ -n "$1" ] && [ -n "$2" ] && [ $(($2 - $1)) -lt 1000 ]; }

for tool in ib_read_lat:perftest pgrep:procps; do
  command -v "${tool%:*}" >/dev/null || { skip "the Soft-RoCE guest: ${tool%:*} is missing; install the package ${tool#*:}"; finish; }
done
cat >"$folder/inside" <<'END_INSIDE'
tx() { echo "$1 $(cat /sys/class/net/veth0/statistics/tx_packets) $(cat /sys/class/net/lo/statistics/tx_packets)"; }
# A server answers only when it has opened its port.
server() { "$@" >/tmp/server 2>&1 & for i in $(seq 100); do [ -z "$(ss -Hltn 'sport = 18515')" ] || break; sleep 0.1; done; }
echo "uptime $(cut -d' ' -f1 /proc/uptime)"
ibv_devices | awk '$1 ~ /^rxe/ { print "device", $1 }'
ibv_devinfo | awk '/hca_id/ { name = $2 } /state:/ { print "state", name, $2 }'
for test in ib_read_lat ib_atomic_lat; do
  tx "before_$test"
  server $test -d rxe0 -n 1000
  timeout 60 $test -d rxe1 -n 1000 10.77.0.1 >/tmp/client 2>&1
  echo "$test $?"
  wait
  tx "after_$test"
done
tests/softroce/cable down
echo "down $(ibv_devinfo | grep -c PORT_DOWN)"
tests/softroce/cable up
echo "up $(ibv_devinfo | grep -c PORT_ACTIVE)"
# perftest asks for a retry_cnt of 7, endless for this driver: it waits while packets are lost, and goes on afterwards.
tests/softroce/cable lose
server ib_read_lat -d rxe0 -n 1000
timeout 60 ib_read_lat -d rxe1 -n 1000 10.77.0.1 >/tmp/client 2>&1 & client=$!
sleep 3
echo "while_lost $(jobs -r | wc -l)"
tests/softroce/cable up
wait $client
echo "again $?"
wait
pwd | sed 's/^/folder /'
echo "passed $FROM_OUTSIDE"
touch "$PWD/tests/softroce/written" 2>/dev/null && echo "written yes"
echo kept >build/softroce/results/guest_works
echo 'to standard error' >&2
head -c 300000 /dev/zero | tr '\0' x
exit 7
END_INSIDE
FROM_OUTSIDE="two  words; 'quoted'" "$guest" --timeout "$HANG_S" -- "$(cat "$folder/inside")" >"$folder/all" 2>"$err"
status=$?
# The long line of x is apart: a failure shows the rest.
tr -d x <"$folder/all" >"$folder/devices"
sed '$d' "$folder/all" >"$out"
if [ $status -eq 77 ]; then skip "$(tail -n 1 "$err")"; finish; fi

rule "the guest runs the command" [ -n "$(said uptime)" ]
rule "it has two devices" [ "$(said device | tr '\n' ' ')" = "rxe0 rxe1 " ]
rule "both are active" [ "$(said state | tr '\n' ' ')" = "rxe0 PORT_ACTIVE rxe1 PORT_ACTIVE " ]
for test in ib_read_lat ib_atomic_lat; do
  rule "$test works between them" [ "$(said $test)" = 0 ]
  read -r veth lo <<<"$(said "before_$test")"
  read -r veth_after lo_after <<<"$(said "after_$test")"
  rule "$test's messages cross the cable" more "$veth" "$veth_after"
  rule "$test's messages do not take lo" few "$lo" "$lo_after"
done
rule "both ports go down with the cable" [ "$(said down)" = 2 ]
rule "and up with it" [ "$(said up)" = 2 ]
rule "a transfer waits while the cable loses its packets" [ "$(said while_lost)" = 2 ]
rule "and ends well when it is up again" [ "$(said again)" = 0 ]
rule "a command's exit status is passed on" [ $status -eq 7 ]
rule "it runs in the folder it was started in" [ "$(said folder)" = "$PWD" ]
rule "it has the environment it was started with" [ "$(said passed)" = "two  words; 'quoted'" ]
rule "it cannot write to the host's files" [ -z "$(said written)" ]
rule "but to build/softroce/results" [ "$(cat build/softroce/results/guest_works)" = kept ]
rm -f build/softroce/results/guest_works tests/softroce/written
rule "standard error is apart" grep -qx 'to standard error' "$err"
rule "a long output arrives whole" [ "$(tail -n 1 "$folder/all" | tr -cd x | wc -c)" -eq 300000 ]

# However a run ends, its QEMU ends too.
rm -f "$out" "$err"
gone() { for i in $(seq 50); do [ -e "/proc/$1" ] || return 0; sleep 0.1; done; return 1; }
ends() {  # WORDS STATUS ARGUMENTS SIGNAL
  local qemu= status=0
  # shellcheck disable=SC2086 # two words
  "$guest" $3 -- 'sleep 100' >"$out" 2>"$err" & started=$!
  for i in $(seq 100); do
    qemu=$(pgrep -P "$started" -x qemu-system-x86) && break
    sleep 0.1
  done
  rule "$1: there is a QEMU" [ -n "$qemu" ]
  [ -z "$4" ] || { sleep 1; kill "-$4" "$started"; }
  wait "$started" 2>/dev/null || status=$?
  # What was killed could not do it itself; the next run would.
  rm -rf "build/softroce/results/run.$started"
  started=
  rule "$1: the exit status is $2" [ $status -eq "$2" ]
  rule "$1: QEMU has gone" gone "${qemu:-self}"
}
ends "a run that takes too long" 124 "--timeout 3" ""
ends "a run that is terminated" 143 "--timeout 60" TERM
ends "a run that is killed" 137 "--timeout 60" KILL
finish
