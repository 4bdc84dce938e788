#!/bin/sh
# Records tcp-download.pcapng: a TCP download between two network namespaces over a link of 16 Mbit/s, then quiet
# with keep-alives, then a small fetch. Needs root, tcpdump, editcap, iproute2, ethtool and python3.
# Usage: sudo captures/record.sh [OUTPUT]
set -eu

here=$(cd "$(dirname "$0")" && pwd)
output=${1:-"$here/tcp-download.pcapng"}
server=airwatt-server-$$
station=airwatt-station-$$
work=$(mktemp -d)
pids=

clean() {
    for pid in $pids; do kill "$pid" 2>/dev/null || true; done
    ip netns del "$server" 2>/dev/null || true
    ip netns del "$station" 2>/dev/null || true
    rm -rf "$work"
}
trap clean EXIT
trap 'exit 130' INT TERM

ip netns add "$server"
ip netns add "$station"
ip link add s0 address 02:00:00:00:00:01 netns "$server" type veth \
    peer name w0 address 02:00:00:00:00:02 netns "$station"
ip -n "$server" address add 198.51.100.10/24 dev s0
ip -n "$station" address add 192.168.7.2/24 dev w0
for pair in "$server s0" "$station w0"; do
    set -- $pair
    ip -n "$1" link set lo up
    ip -n "$1" link set "$2" up
    # Packets of the size that go over a link, not the kernel's 64 kB bundles.
    ip netns exec "$1" ethtool -K "$2" tso off gso off gro off >/dev/null
    # No IPv6, so that nothing but the exchange below is on the link.
    ip netns exec "$1" sysctl -qw net.ipv6.conf.all.disable_ipv6=1
done
ip -n "$server" route add 192.168.7.0/24 dev s0
ip -n "$station" route add 198.51.100.0/24 dev w0
# Down 16 Mbit/s with a buffer of 50 packets, up 1 Mbit/s: the scenario fast-dsl without its base delay.
tc -n "$server" qdisc add dev s0 root tbf rate 16mbit burst 3200 limit 75700
tc -n "$station" qdisc add dev w0 root tbf rate 1mbit burst 3200 limit 75700

# 80 bytes keep the headers with TCP's options, and of the payload almost nothing.
ip netns exec "$station" tcpdump -i w0 -n -s 80 -B 4096 --time-stamp-precision=nano \
    -w "$work/capture.pcap" ip 2>"$work/tcpdump.log" &
dump=$!
pids="$pids $dump"
ip netns exec "$server" python3 "$here/exchange.py" serve &
pids="$pids $!"
sleep 1
ip netns exec "$station" python3 "$here/exchange.py" fetch
sleep 1
kill -INT "$dump"
wait "$dump" || true
tail -n 3 "$work/tcpdump.log" >&2
editcap -F pcapng "$work/capture.pcap" "$output"
