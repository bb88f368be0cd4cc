#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 4 s
# Which addresses a host may have: IPv6 alone, loopback alone, a loopback that is down. Each row is a network namespace.
. "$(dirname "$0")/../harness.inc"
if ! usable ofi; then skip "networks: needs the packages libfabric-dev, at build time, and libfabric1"; finish; fi
if ! unshare --net ip link set lo up 2>/dev/null; then skip "networks: a network namespace needs root's rights, and ip its package iproute2"; finish; fi
if ! unshare --net bash -c 'ip link set lo up && ip addr show lo | grep -q ::1'; then skip "networks: this kernel has no IPv6"; finish; fi
if ! unshare --net ip link add one type veth peer name other 2>/dev/null; then skip "networks: this kernel makes no pairs of interfaces (veth)"; finish; fi

# in_network COMMANDS COMMAND...: the command in a network of its own, made by the commands.
in_network() { run unshare --net bash -c "{ $1; } >&2 && exec \"\${@:2}\"" network "$@"; }
alone="ip link set lo up && ip addr del 127.0.0.1/8 dev lo"
pair="ip link add one type veth peer name other && ip link set other up && ip link set one up && ip addr add 2001:db8::5/64 dev one nodad"
job="env TOBI_WORKERS=4 TOBI_NODES=2 TOBI_TRANSPORT=ofi"
for row in "loopback alone;ip link set lo up" "loopback of IPv6 alone;$alone" "IPv6 alone;$alone && $pair" "IPv6, and loopback of both;ip link set lo up && $pair"; do
  in_network "${row#*;}" $job "$bench" uts --tree T3 --verify
  all "${row%%;*}: a job of two nodes over libfabric" '[ $status -eq 0 ]' 'says "(shm+ofi"' 'says yes' silent
done
in_network : $job "$bench" fib --n 20
all "without any address: one sentence" '[ $status -eq 2 ]' '[ "$(wc -l <"$err")" -eq 1 ]' 'complains "the loopback interface is down"'
in_network : env TOBI_WORKERS=2 "$bench" fib --n 20
all "where nothing needs one: a job" '[ $status -eq 0 ]' 'says 6765' silent
in_network : "$BIN/tobi-info"
all "tobi-info does not offer what reaches nothing" '[ $status -eq 0 ]' '! grep -q "tcp;ofi_rxm.*atomics" "$out"'
run FI_PROVIDER=sockets TOBI_TRANSPORT=ofi TOBI_WORKERS=2 "$bench" fib --n 20
all "where the site leaves no provider that is taken by itself, FI_PROVIDER is named, and no network" '[ $status -eq 2 ]' \
  '! complains loopback' 'complains "FI_PROVIDER=sockets"'
finish
