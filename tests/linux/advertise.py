"""Sends one router advertisement with a prefix (RFC 4861 4.2): advertise.py INTERFACE ROUTER_LIFETIME_S VALID_S."""

import socket
import struct
import sys

IPV6_MULTICAST_IF, IPV6_MULTICAST_HOPS = 17, 18


def main() -> None:
    interface, router_s, valid_s = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    index = socket.if_nametoindex(interface)
    sender = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
    sender.setsockopt(socket.IPPROTO_IPV6, IPV6_MULTICAST_HOPS, 255)
    sender.setsockopt(socket.IPPROTO_IPV6, IPV6_MULTICAST_IF, index)
    # The kernel fills in the checksum. The prefix is on-link and for addresses.
    head = struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, router_s, 0, 0)
    prefix = struct.pack("!BBBBIII", 3, 4, 64, 0xC0, valid_s, valid_s, 0) + socket.inet_pton(
        socket.AF_INET6, "2001:db8:2::"
    )
    sender.sendto(head + prefix, ("ff02::1", 0, 0, index))


main()
