"""The checksum of IP, ICMP, UDP and TCP."""

import struct


def checksum(data: bytes) -> int:
    """RFC 1071: the complement of the sum of 16-bit words; an odd byte is filled up with zero."""
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
