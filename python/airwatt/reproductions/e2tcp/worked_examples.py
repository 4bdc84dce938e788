"""The worked examples of the thesis, the layout of the header, the sizes of packets, and the tables of parameters.

Each number comes from the code that produces it in a run. Bytes and times are those of simulated transfers in which
listed packets are lost. The header's layout is found with the encoder: two headers that differ in one field show
which bytes hold it. Endpoints that are handed packets answer with acknowledgements and timers. Left out is what
is arithmetic of the thesis alone, with a note at its place.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from airwatt import _core, laboratory
from airwatt.reproductions import claims
from airwatt.reproductions.e2tcp.setup import SCENARIO, TAHOE, measure
from airwatt.reproductions.publication import At, Numbers, Outcome, Point, Reproduction, Results, Table, Value

Counted = Callable[[str, Results], Outcome]
"""Returns what came out, for an id that claims begin with."""

PAYLOAD_BYTES = 1000
"""Payload of a packet in the examples, and of the simulated ones."""

_SENDER, _RECEIVER = ("1.2.3.4", 0x1111), ("5.6.7.8", 0x2222)


def _counted(place: str, shows: str, count: Counted, *points: Point) -> Reproduction:
    def compute(item: Reproduction, results: Results) -> Outcome:
        outcome = count(f"e2tcp/{item.place}", results)
        if not outcome.tables:
            rows = [[_label(value), f"{value.value:.6g} {value.unit}".rstrip()] for value in outcome.values]
            outcome.tables.append(Table(["what", "here"], rows))
        return outcome

    return Reproduction(place, shows, compute, points)


def _label(value: Value) -> str:
    return ", ".join([value.what, *(f"{key} {part}" for key, part in value.at.items())])


def _value(what: str, value: float, unit: str = "", **at: str | float) -> Value:
    return Value(what, dict(at), value, None, unit)


def _percent(what: str, share: float, **at: str | float) -> Value:
    return _value(what, 100 * share, "%", **at)


# Simulated transfers.


def _measure(document: Mapping[str, Any]) -> Numbers:
    flow = document["flows"][0]
    return {
        **measure(document),
        # Equation 2.3 read backwards: every byte of both directions.
        "bytes": round((1 + flow["data_overhead"]) * flow["bytes_delivered"]),
        "goodput share": flow["goodput_bps"] / _LINK_BPS,
        "time efficiency": _core.efficiency(flow["time_overhead"]),
    }


def _transfer(transport: str, packets: int, lost: int | None = None, *settings: tuple[str, str]) -> Point:
    """A transfer of `packets` packets over the link, of which the one with the number `lost` is lost, or none."""
    errors = [("link.errors.model", "listed"), ("link.errors.listed_up", f"[{lost or ''}]")]
    size = ("flow.application.size", f"{packets * PAYLOAD_BYTES}B")
    return Point(SCENARIO, (*errors, ("flow.transport", transport), size, *settings), _measure, only_first=True)


_LINK_BPS = 1_000_000
_NAMES = {"tcp": TAHOE.transport, "e2tcp": "e2tcp"}
"""The thesis compares with TCP as such; these examples come out the same with each TCP."""
_ONE = {name: _transfer(transport, 1) for name, transport in _NAMES.items()}
_RESENT = _transfer(_NAMES["tcp"], 1, 1)
_LAST_LOST = {name: _transfer(transport, 25, 25) for name, transport in _NAMES.items()}
"""With nothing behind it the last packet is found lost by the timer alone, and no acknowledgement has blocks."""
_LONG = {name: _transfer(transport, 20_000) for name, transport in _NAMES.items()}
"""The 20 MB of the evaluation, where latency is paid once."""
_TWO = {
    delayed: _transfer(_NAMES["tcp"], 2, None, ("tcp.initial_window", "2"), ("tcp.delayed_ack", delayed))
    for delayed in ("false", "true")
}
"""Two segments that are acknowledged one by one, or together."""


def _tcp_sizes(results: Results) -> tuple[float, float]:
    """The bytes of TCP's headers in a segment, and of an acknowledgement."""
    one_by_one, together = (results.first(_TWO[delayed], "bytes") for delayed in ("false", "true"))
    acknowledgement = one_by_one - together
    return (together - acknowledgement) / 2 - PAYLOAD_BYTES, acknowledgement


# Chapter 2: efficiency and overhead.


def _ex21(home: str, _results: Results) -> Outcome:
    values, judged = [], []
    for spent, printed in ((125, 80.0), (150, 67.0)):
        share = _core.efficiency(_core.data_overhead(spent, 100))
        values.append(_percent("EE", share, minimum=100.0, spent=float(spent)))
        text = f"energy efficiency when {spent} is spent and 100 is the minimum"
        judged.append(claims.rounded(f"{home}.{spent}", text, printed, 100 * share, 0.5, "%"))
    return Outcome(values, judged)


def _ex22(home: str, _results: Results) -> Outcome:
    values, judged = [], []
    for spent, printed in ((125, 25.0), (150, 50.0)):
        share = _core.data_overhead(spent, 100)
        values.append(_percent("EO", share, minimum=100.0, spent=float(spent)))
        text = f"energy overhead when {spent} is spent and 100 is the minimum"
        judged.append(claims.exactly(f"{home}.{spent}", text, printed, 100 * share, "%"))
    return Outcome(values, judged)


def _tab21(home: str, _results: Results) -> Outcome:
    radio = next(radio for radio in laboratory.radios() if radio["name"] == "wavelan-2001")
    values, judged = [], []
    printed = {"sleep": 35.0, "active": 1325.0, "transmit": 1380.0, "receive": 1345.0}
    for state, power in printed.items():
        # Awake without sending or receiving is "listen" in this project.
        key = "listen" if state == "active" else state
        here = 1000 * float(radio[f"{key}_w"])
        values.append(_value("power", here, "mW", state=state))
        judged.append(
            claims.exactly(f"{home}.{state}", f"power of the WaveLAN modem, state {state}", power, here, "mW")
        )
    return Outcome(
        values, judged, notes=["The state off (0 mW) is not modelled: a radio that is off is not associated."]
    )


def _tab22(home: str, _results: Results) -> Outcome:
    printed = {"always-active": (0.1, 0.9), "intermediate": (0.5, 0.5), "ideal": (0.9, 0.1)}
    values, judged = [], []
    for name, data, time in _core.radio_mixes():
        values += [_value("weight of DO", data, radio=name), _value("weight of TO", time, radio=name)]
        judged.append(
            claims.exactly(f"{home}.{name}", f"weights of data and time, {name}", str(printed[name]), str((data, time)))
        )
    return Outcome(values, judged)


def _ex23(home: str, results: Results) -> Outcome:
    share = results.first(_ONE["tcp"], "DO")
    text = "data overhead of one packet of 1000 bytes over TCP"
    return Outcome([_value("DO", share, "%")], [claims.exactly(f"{home}.do", text, 8.0, share, "%")])


def _ex24(home: str, results: Results) -> Outcome:
    share = results.first(_RESENT, "DO")
    text = "data overhead of the same packet when it is sent twice"
    note = "Printed is 212 %, which leaves out the subtraction in equation 2.3; by that equation it is 112 %."
    judged = [claims.exactly(f"{home}.do", text, 112.0, share, "%")]
    return Outcome([_value("DO", share, "%")], judged, notes=[note])


def _ex25(home: str, _results: Results) -> Outcome:
    share = _core.time_overhead(1_500_000_000, 1000, 8000)
    text = "time overhead of a transfer that takes 1.5 times the payload's time"
    return Outcome([_percent("TO", share)], [claims.exactly(f"{home}.to", text, 50.0, 100 * share, "%")])


def _eq28(home: str, results: Results) -> Outcome:
    values, judged = [], []
    for name, point in _LONG.items():
        efficiency, share = results.first(point, "time efficiency"), results.first(point, "goodput share")
        values.append(_percent("time efficiency", efficiency, transport=name))
        values.append(_percent("payload over the link's rate", share, transport=name))
        text = f"{name}: the efficiency by 2.10 less the share of the link's rate that is payload"
        # The sender's time ends with the last acknowledgement, the receiver's with the last payload.
        judged.append(claims.between(f"{home}.{name}", text, "0", efficiency - share, -0.001, 0.001))
    return Outcome(values, judged)


# Chapters 3 and 4: headers, acknowledgements, timers.


def _sec321(home: str, results: Results) -> Outcome:
    share, (header, _) = results.first(_ONE["tcp"], "DO"), _tcp_sizes(results)
    values = [_value("DO", share, "%"), _value("header", header, "B", of="TCP/IP")]
    judged = [
        claims.rounded(f"{home}.do", "TCP headers of a packet and its acknowledgement", 8.0, share, 0.5, "%"),
        claims.between(f"{home}.header", "TCP/IP header without options", "40 to 80", header, 40, 80, "bytes"),
    ]
    return Outcome(values, judged)


def _ex32(home: str, results: Results) -> Outcome:
    tcp, small = (results.first(_LAST_LOST[name], "bytes") for name in ("tcp", "e2tcp"))
    values = [_value("bytes", tcp, "B", headers="TCP"), _value("bytes", small, "B", headers="E2TCP")]
    text = "bytes both ways for 25 kB with one packet lost"
    judged = [
        claims.exactly(f"{home}.tcp", f"{text}, TCP", 28040.0, tcp, "bytes"),
        claims.exactly(f"{home}.e2tcp", f"{text}, headers of 8 bytes", 26408.0, small, "bytes"),
        claims.ascending(f"{home}.order", "from fewest to most bytes", {"E2TCP": [small], "TCP": [tcp]}),
    ]
    note = (
        "Headers as differences (28,159 bytes) are not claimed: no such compression is implemented, so the number "
        "would be the example's own arithmetic."
    )
    return Outcome(values, judged, notes=[note])


def _sec411(home: str, results: Results) -> Outcome:
    values, eo = [], {}
    headers = {"tcp": _tcp_sizes(results)[0], "e2tcp": float(_data_header_bytes())}
    for transport, point in _LONG.items():
        at: At = {"transport": transport}
        eo[transport] = results.first(point, "EO intermediate")
        values.append(Value("header", at, headers[transport], None, "B"))
        values += [Value(what, at, results.first(point, what), None, "%") for what in ("DO", "TO")]
        values.append(Value("EO", at, eo[transport], None, "%"))
    gain = eo["tcp"] - eo["e2tcp"]
    values.append(_value("EO decrease", gain, "points"))
    shown = " to ".join(f"{size:.0f}" for size in headers.values())
    shares = " to ".join(f"{results.first(point, 'DO'):.1f}" for point in _LONG.values())
    judged = [
        claims.exactly(f"{home}.header", "header bytes", "40 to 8", shown),
        claims.exactly(f"{home}.do", "data overhead of headers, per cent", "8.0 to 1.6", shares),
        claims.rounded(f"{home}.eo", "what small headers take off the energy overhead", 5.0, gain, 0.5, "points"),
    ]
    return Outcome(values, judged)


_FIELDS: dict[str, dict[str, Any]] = {
    "extra flags": {"control": "syn"},
    "addresses and ports": {"addresses": (_SENDER, _RECEIVER)},
    "sequence number": {"sequence": 0x33333333},
    "urgent pointer": {"urgent": 0x4444},
    "acknowledgement number": {"acknowledgement": 0x10000000},
    "window": {"window": 0x5555},
}
"""Each optional part of the header alone."""

_FULL: dict[str, Any] = {
    "control": "syn",
    "addresses": (_SENDER, _RECEIVER),
    "sequence": 0x33333333,
    "urgent": 0x4444,
    "acknowledgement": 0x10000000,
    "blocks": [(0x10000079, 0x10000101), (0x10000169, 0x10000202)],
    "window": 0x5555,
}
"""A header with all fields, and so the largest."""

_OTHER: dict[str, dict[str, Any]] = {
    "sender's address": {"addresses": (("254.253.252.251", 0x1111), _RECEIVER)},
    "receiver's address": {"addresses": (_SENDER, ("250.249.248.247", 0x2222))},
    "sender's port": {"addresses": (("1.2.3.4", 0xEEEE), _RECEIVER)},
    "receiver's port": {"addresses": (_SENDER, ("5.6.7.8", 0xDDDD))},
    "sequence number": {"sequence": 0xCCCCCCCC},
    "urgent pointer": {"urgent": 0xBBBB},
    # The blocks move with the number, since they are written as differences from it.
    "acknowledgement number": {"acknowledgement": 0x0FFFFFFF - 0x01010100, "blocks": []},
    "window": {"window": 0xAAAA},
}
"""The header's fields, each with a value that differs from the full header's in all of its bytes."""


def _encoded(**fields: Any) -> bytes:
    return _core.e2tcp_encode(5, **fields)


def _differing(one: bytes, other: bytes) -> range:
    """The bytes in which two headers differ, from the first to the last; the checksum at the end is left out."""
    at = [place for place in range(len(one) - _checksum_bytes()) if one[place] != other[place]]
    return range(at[0], at[-1] + 1)


def _checksum_bytes() -> int:
    """The bytes before the payload that change with the payload alone."""
    first, second = _encoded(payload=b"\x01\x02"), _encoded(payload=b"\xfe\xfd")
    header = len(_encoded())
    return sum(a != b for a, b in zip(first[:header], second[:header], strict=True))


def _field_sizes() -> dict[str, int]:
    """The size of each field of table 4.3 in bytes, found by a change of the field alone."""
    sizes = {}
    for name, change in _OTHER.items():
        full = {**_FULL, "blocks": change.get("blocks", _FULL["blocks"])}
        sizes[name] = len(_differing(_encoded(**full), _encoded(**{**full, **change})))
    return {**sizes, "checksum": _checksum_bytes()}


def _data_header_bytes() -> int:
    """Of the packets that an endpoint sends."""
    return len(_core.E2tcpEndpoint(payload_bytes=PAYLOAD_BYTES).write(PAYLOAD_BYTES)[0]) - PAYLOAD_BYTES


def _tab41(home: str, _results: Results) -> Outcome:
    sizes = _field_sizes()
    kept = sizes["sender's address"] + sizes["receiver's address"]
    values = [_value("IP header", kept, "B", carried="by E2TCP")]
    text = "of the 20 bytes of the IP header E2TCP carries the two addresses, until the connection is agreed"
    return Outcome(values, [claims.exactly(f"{home}.kept", text, 8.0, float(kept), "bytes")])


def _tab42(home: str, _results: Results) -> Outcome:
    sizes = _field_sizes()
    kept = sum(size for name, size in sizes.items() if not name.endswith("address"))
    values = [_value("TCP header", kept, "B", carried="by E2TCP")]
    text = "of the 20 bytes of the TCP header E2TCP leaves out length, reserved bits and flags"
    return Outcome(values, [claims.exactly(f"{home}.kept", text, 18.0, float(kept), "bytes")])


def _tab43(home: str, _results: Results) -> Outcome:
    sizes = _field_sizes()
    names = ["sender's address", "receiver's address", "sender's port", "receiver's port", "sequence number"]
    names += ["acknowledgement number", "window", "checksum", "urgent pointer"]
    values = [_value("size", sizes[name], "B", field=name) for name in names]
    here = ", ".join(str(sizes[name]) for name in names)
    return Outcome(values, [claims.exactly(f"{home}.sizes", "sizes of the fields", "4, 4, 2, 2, 4, 4, 2, 2, 2", here)])


def _fig45(home: str, _results: Results) -> Outcome:
    """All fields at once, each with bytes that no other has; then read at the places that the figure gives."""
    packet = _encoded(**_FULL)
    expected = [
        ("flags", 1, "7f"),
        ("extra flags", 1, "02"),
        ("connection", 1, "05"),
        ("sender's address", 4, "01020304"),
        ("receiver's address", 4, "05060708"),
        ("sender's port", 2, "1111"),
        ("receiver's port", 2, "2222"),
        ("sequence number", 4, "33333333"),
        ("urgent pointer", 2, "4444"),
        ("acknowledgement number", 4, "10000000"),
        ("first block", 4, "00770088"),
        ("second block", 4, "00660099"),
        ("window", 2, "5555"),
        ("checksum", 2, None),
    ]
    values, at, right = [], 0, True
    for name, size, content in expected:
        right &= content is None or packet[at : at + size].hex() == content
        values.append(_value("place", at, "B", field=name))
        at += size
    sizes = ", ".join(str(size) for _, size, _ in expected)
    here = sizes if right and at == len(packet) else packet.hex()
    judged = [claims.exactly(f"{home}.layout", "sizes of the fields in their order", sizes, here)]
    judged.append(claims.exactly(f"{home}.largest", "largest header", 37.0, float(len(packet)), "bytes"))
    return Outcome(values, judged)


def _fig46(home: str, _results: Results) -> Outcome:
    bits = {
        "E": _FIELDS["extra flags"],
        "F": _FIELDS["addresses and ports"],
        "S": _FIELDS["sequence number"],
        "U": _FIELDS["urgent pointer"],
        "A": _FIELDS["acknowledgement number"],
        "AA": {"acknowledgement": 5, "blocks": [(8, 9), (11, 11)]},
        "W": _FIELDS["window"],
    }
    flags = {name: _core.e2tcp_encode(5, **fields)[0] for name, fields in bits.items()}
    values = [_value("flags", byte, field=name) for name, byte in flags.items()]
    printed = {"E": 0x40, "F": 0x20, "S": 0x10, "U": 0x08, "A": 0x02, "AA": 0x06, "W": 0x01}
    here, paper = ("; ".join(f"{name} {byte:08b}" for name, byte in both.items()) for both in (flags, printed))
    text = "bits of the flags from the most significant: reserved, E, F, S, U, two of A, W"
    return Outcome(values, [claims.exactly(f"{home}.bits", text, paper, here)])


def _tab44(home: str, _results: Results) -> Outcome:
    forms: dict[str, dict[str, Any]] = {
        "none": {},
        "number": {"acknowledgement": 5},
        "number and a block": {"acknowledgement": 5, "blocks": [(8, 9)]},
        "number and two blocks": {"acknowledgement": 5, "blocks": [(8, 9), (11, 11)]},
    }
    values, judged = [], []
    for printed, (name, fields) in enumerate(forms.items()):
        packet = _core.e2tcp_encode(5, **fields)
        header = json.loads(_core.e2tcp_decode(packet)[0])
        back = header["acknowledgement"] == fields.get("acknowledgement") and header["blocks"] == [
            list(block) for block in fields.get("blocks", [])
        ]
        type_ = packet[0] >> 1 & 0b11 if back else -1
        values.append(_value("type", type_, acknowledgement=name))
        judged.append(claims.exactly(f"{home}.{printed:02b}", f"type of {name}, written and read", printed, type_))
    return Outcome(values, judged)


def _fig47(home: str, _results: Results) -> Outcome:
    extra = {name: _core.e2tcp_encode(5, control=name)[1] for name in ("syn", "fin")}
    values = [_value("extra flags", byte, field=name) for name, byte in extra.items()]
    judged = [
        claims.exactly(
            f"{home}.bits", "the last two bits are SYN and FIN", "10, 01", f"{extra['syn']:b}, {extra['fin']:02b}"
        )
    ]
    note = "The bit before them is a reset here, which the thesis does not have; five bits stay reserved."
    return Outcome(values, judged, notes=[note])


def _tab45(home: str, _results: Results) -> Outcome:
    """The meaning is in what an end does; here, that both are read back as what they are, and never together."""
    values, judged = [], []
    for name, addresses in (("syn", (_SENDER, _RECEIVER)), ("fin", None)):
        packet = _core.e2tcp_encode(5, control=name, sequence=7, addresses=addresses)
        header = json.loads(_core.e2tcp_decode(packet)[0])
        set_ = [flag for flag in ("syn", "fin", "rst") if header[flag]]
        values.append(_value("flags read", len(set_), control=name))
        text = f"{name} is read as {name} and nothing else, with a sequence number of its own"
        judged.append(claims.exactly(f"{home}.{name}", text, name, ",".join(set_) if header["sequence"] == 7 else ""))
    return Outcome(values, judged)


def _sec4233(home: str, _results: Results) -> Outcome:
    table = _core.E2tcpTable()
    port = 0
    while table.open(("10.0.0.1", port), ("10.0.0.2", 80)):
        port += 1
    text = "connections of two hosts when the next one is refused"
    values = [_value("connections", table.in_use)]
    return Outcome(values, [claims.exactly(f"{home}.connections", text, 256.0, float(table.in_use))])


def _ex41(home: str, _results: Results) -> Outcome:
    second = _core.E2tcpEndpoint(payload_bytes=4).write(8)[1]
    sequence = float(_decoded(second)["sequence"])
    text = "sequence number of the packet with the bytes 5 to 8"
    return Outcome([_value("sequence number", sequence)], [claims.exactly(f"{home}.seq", text, 8.0, sequence)])


def _decoded(packet: bytes) -> dict[str, Any]:
    header: dict[str, Any] = json.loads(_core.e2tcp_decode(packet)[0])
    return header


def _acknowledgements(received: list[tuple[int, int]]) -> list[bytes]:
    """The answers of an endpoint that receives a packet for each (first byte, last byte), in this order."""
    endpoint = _core.E2tcpEndpoint()
    answers = []
    for first, last in received:
        answers += endpoint.receive(_core.e2tcp_encode(0, sequence=last, payload=bytes(last - first + 1)))
    return answers


def _sec424(home: str, results: Results) -> Outcome:
    data, tcp = _data_header_bytes(), _tcp_sizes(results)[1]
    packets = _acknowledgements([(1, 5), (8, 9), (11, 11)])
    acks = [len(packet) for packet in packets]
    as_tcp = [_core.e2tcp_size(packet, tcp_headers=True) for packet in packets]
    values = [_value("header", data, "B", packet="E2TCP data"), _value("header", tcp, "B", packet="TCP ACK")]
    values += [_value("header", size, "B", packet=f"E2TCP ACK, {n} blocks") for n, size in enumerate(acks)]
    values += [_value("header", size, "B", packet=f"TCP ACK, {n} blocks") for n, size in enumerate(as_tcp)]
    judged = [
        claims.exactly(f"{home}.data", "header of a data packet", 8.0, float(data), "bytes"),
        claims.exactly(f"{home}.acks", "acknowledgements with 0, 1, 2 blocks", "8, 12, 16", ", ".join(map(str, acks))),
        claims.exactly(f"{home}.tcp", "TCP acknowledgement without blocks", 40.0, tcp, "bytes"),
        claims.exactly(
            f"{home}.tcp-blocks", "the same as TCP would send them", "40, 50, 60", ", ".join(map(str, as_tcp))
        ),
    ]
    return Outcome(values, judged)


def _answer(received: list[tuple[int, int]]) -> dict[str, Any]:
    return _decoded(_acknowledgements(received)[-1])


def _fig48(home: str, _results: Results) -> Outcome:
    number = float(_answer([(n, n) for n in range(1, 6)])["acknowledgement"])
    text = "acknowledgement number when 1 to 5 have arrived"
    return Outcome([_value("acknowledgement", number)], [claims.exactly(f"{home}.ack", text, 5.0, number)])


def _block_fields(packet: bytes) -> list[tuple[int, int]]:
    """The begin and end of each block of an acknowledgement: flags, connection, number; then two bytes each."""
    body = packet[6:-2]
    return [
        (int.from_bytes(body[at : at + 2], "big"), int.from_bytes(body[at + 2 : at + 4], "big"))
        for at in range(0, len(body), 4)
    ]


def _fig49(home: str, _results: Results) -> Outcome:
    one, two = (_core.e2tcp_encode(5, acknowledgement=5, blocks=blocks) for blocks in ([(8, 9)], [(8, 9), (11, 11)]))
    size = float(len(two) - len(one))
    fields = str(_block_fields(_core.e2tcp_encode(5, acknowledgement=5, blocks=[(0x0107, 0x0309)])))
    judged = [
        claims.exactly(f"{home}.size", "bytes of a block", 4.0, size, "bytes"),
        claims.exactly(f"{home}.halves", "begin and end in two bytes each", str([(0x0100, 0x0202)]), fields),
    ]
    return Outcome([_value("block", size, "B")], judged)


def _fig410(home: str, _results: Results) -> Outcome:
    received = [*((n, n) for n in range(1, 6)), (8, 8), (9, 9), (11, 11)]
    number = float(_answer(received)["acknowledgement"])
    first, second = _block_fields(_acknowledgements(received)[-1])
    values = [_value("acknowledgement", number)]
    values += [_value("block", part, of=name) for name, part in zip(("begin 1", "end 1"), first, strict=True)]
    values += [_value("block", part, of=name) for name, part in zip(("begin 2", "end 2"), second, strict=True)]
    judged = [
        claims.exactly(f"{home}.ack", "acknowledgement number when 1-5, 8-9 and 11 have arrived", 5.0, number),
        claims.exactly(f"{home}.block1", "first block as differences", "(1, 1)", str(first)),
        claims.exactly(f"{home}.block2", "second block as differences", "(0, 0)", str(second)),
    ]
    return Outcome(values, judged)


def _ex44(home: str, _results: Results) -> Outcome:
    endpoint = _core.E2tcpEndpoint(payload_bytes=PAYLOAD_BYTES, initial_rto_s=6.0)
    first, second = endpoint.write(2 * PAYLOAD_BYTES)
    # The second packet arrived and the first did not: it is sent again at 1. A new packet leaves at 5.
    block = (_decoded(first)["sequence"] + 1, _decoded(second)["sequence"])
    endpoint.receive(_core.e2tcp_encode(0, acknowledgement=0, blocks=[block]), 1.0)
    endpoint.write(PAYLOAD_BYTES, 5.0)
    expires = dict(endpoint.timers())
    again, new = expires["retransmission"], expires["transmission"]
    values = [
        _value("expires", again, "s", timer="of retransmissions"),
        _value("expires", new, "s", timer="of first transmissions"),
    ]
    judged = [
        claims.exactly(f"{home}.two", "E2TCP finds the lost retransmission at", 7.0, again),
        claims.exactly(f"{home}.one", "a single timer, restarted by every packet that leaves, at", 11.0, new),
    ]
    note = (
        "The example's TCP restarts its one timer with every packet. The timer that does so here is E2TCP's own for "
        "first transmissions, which the new packet restarts; today's TCP restarts its timer with acknowledgements "
        "(RFC 6298)."
    )
    return Outcome(values, judged, notes=[note])


def _sec51(home: str, _results: Results) -> Outcome:
    size = _field_sizes()["sequence number"]
    note = (
        "The printed size of the sequence space (almost 4 TiB) is not claimed: it is arithmetic over 2^32 packets of "
        "1000 bytes, while the header that is implemented numbers bytes (section 4.2.4)."
    )
    judged = [claims.exactly(f"{home}.size", "sequence number", 4.0, float(size), "bytes")]
    return Outcome([_value("sequence number", size, "B")], judged, notes=[note])


# Chapter 5: the parameters that ship.


def _shipped() -> dict[str, Any]:
    return _core.Scenario.load("e2tcp").to_dict()


def _fig52(home: str, _results: Results) -> Outcome:
    errors = _shipped()["link"]["errors"]
    values, judged = [], []
    for state, printed in (("good", 0.05), ("bad", 80.0)):
        here = 100 * float(errors[f"{state}_error_rate"])
        values.append(_value("packet error rate", here, "%", state=state))
        judged.append(claims.exactly(f"{home}.{state}", f"packet errors in the {state} state", printed, here, "%"))
    return Outcome(values, judged)


def _tab51(home: str, _results: Results) -> Outcome:
    ours = _shipped()["e2tcp"]
    values, judged = [], []
    for key, printed in (("min_window", 12), ("max_window", 25), ("after_timeout", 5), ("error_limit", 5)):
        here = float(ours[key])
        values.append(_value(key, here, "packets"))
        judged.append(claims.exactly(f"{home}.{key}", f"default of {key}", float(printed), here, "packets"))
    return Outcome(values, judged)


REPRODUCTIONS = (
    _counted("ex2.1", "Energy efficiency of two worked cases", _ex21),
    _counted("ex2.2", "Energy overhead of the same cases", _ex22),
    _counted("tab2.1", "Power of the WaveLAN modem in each state", _tab21),
    _counted("ex2.3", "Data overhead of one packet over TCP", _ex23, _ONE["tcp"]),
    _counted("ex2.4", "Data overhead with one retransmission", _ex24, _RESENT),
    _counted("ex2.5", "Time overhead of a transfer that is half as long again", _ex25),
    _counted("tab2.2", "How three kinds of radio weigh data and time", _tab22),
    _counted("eq2.8-2.11", "Efficiency as the inverse of overhead", _eq28, *_LONG.values()),
    _counted("sec3.2.1", "What TCP headers cost at 1000 bytes a packet", _sec321, _ONE["tcp"], *_TWO.values()),
    _counted("ex3.2", "Bytes for 25 kB with one loss under two kinds of headers", _ex32, *_LAST_LOST.values()),
    _counted("sec4.1.1", "What small headers gain without losses", _sec411, *_LONG.values(), *_TWO.values()),
    _counted("tab4.1", "IP header fields that E2TCP keeps", _tab41),
    _counted("tab4.2", "TCP header fields that E2TCP keeps", _tab42),
    _counted("tab4.3", "Sizes of the E2TCP header fields", _tab43),
    _counted("fig4.5", "Layout of the E2TCP header", _fig45),
    _counted("fig4.6", "Bits of the flags", _fig46),
    _counted("tab4.4", "Types of acknowledgement", _tab44),
    _counted("fig4.7", "Bits of the extra flags", _fig47),
    _counted("tab4.5", "SYN and FIN", _tab45),
    _counted("sec4.2.3.3", "How many connections two hosts can have", _sec4233),
    _counted("ex4.1", "The sequence number is that of the last byte", _ex41),
    _counted("sec4.2.4", "Header sizes of data and acknowledgements", _sec424, *_TWO.values()),
    _counted("fig4.8", "The acknowledgement number is the largest in order", _fig48),
    _counted("fig4.9", "A block is a begin and an end", _fig49),
    _counted("fig4.10", "An acknowledgement with two blocks", _fig410),
    _counted("ex4.4", "Two timers find a lost retransmission sooner", _ex44),
    _counted("fig5.2", "Error rates of the two states", _fig52),
    _counted("sec5.1.seq", "Size of the sequence number", _sec51),
    _counted("tab5.1", "Default parameters of E2TCP", _tab51),
)
