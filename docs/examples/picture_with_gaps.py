"""A picture over E2TCP with 100, 95 and 90 % of reliability: what arrives, how long it takes, what the radio spends.

A sender writes the picture, a player shows what has arrived; what the player does without is left red. Between them is
the hop of the E2TCP thesis (1 Mb/s, 50 ms, a bad state of 0.1 s after each good one of 1 s, where 80 % of the packets
are lost). Both ends are the E2TCP of the simulator and of the base station, handed its packets and the time; the joules
are those of the thesis' radio at the player.

    python docs/examples/picture_with_gaps.py FILE.png [SEED]

Over a real hop the player uses the local socket of `airwattd gateway` at a mobile, and a server sends the picture to
whoever connects; joules are not measured then:

    python docs/examples/picture_with_gaps.py --serve ADDRESS PORT
    python docs/examples/picture_with_gaps.py FILE.png --gateway SOCKET ADDRESS PORT
"""

import heapq
import json
import random
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from airwatt import _core, partial

RATE_BPS = 1e6
DELAY_S = 0.05
GOOD_S, BAD_S = 1.0, 0.1
GOOD_LOSS, BAD_LOSS = 0.0005, 0.8
WIDTH, HEIGHT = 960, 640
PAYLOAD_BYTES = 960
"""A packet is a line of the picture."""
LAST_PACKETS = 50
"""The share that must arrive is counted over so many packets."""
RELIABILITIES = (100, 95, 90)
"""Shares in per cent that the player wants."""
TRANSFERS = 20
"""Seconds and joules are means over so many transfers; the picture is that of the first."""


def picture() -> np.ndarray:
    """Grey hills under a sun, one byte a pixel, without any file."""
    x, y = np.meshgrid(np.linspace(0, 4, WIDTH), np.linspace(1, 0, HEIGHT))
    grey = 235 - 60 * (1 - y)
    grey[(x - 3.1) ** 2 + (3 * (y - 0.78)) ** 2 < 0.09] = 255
    for depth, (base, height, pace) in enumerate([(0.5, 0.09, 2.2), (0.36, 0.11, 3.1), (0.2, 0.12, 1.7)]):
        ridge = base + height * np.sin(pace * x + 2 * depth) + 0.3 * height * np.sin(5.3 * pace * x)
        grey = np.where(y < ridge, 150 - 50 * depth + 25 * y, grey)
    return grey.clip(0, 255).astype(np.uint8)


@dataclass
class Direction:
    """One direction of the hop: a queue before a transmitter, and how long it was busy."""

    free_at_s: float = 0.0
    busy_s: float = 0.0

    def send(self, packet: bytes, at_s: float) -> tuple[float, float]:
        """When the transmission begins, and when the packet arrives."""
        begins = max(at_s, self.free_at_s)
        own_s = 8 * len(packet) / RATE_BPS
        self.free_at_s = begins + own_s
        self.busy_s += own_s
        return begins, begins + own_s + DELAY_S


@dataclass(frozen=True)
class Outcome:
    """What came of a transfer."""

    reliability: int
    seconds: float
    joules: float | None
    """`None` over a real hop."""
    gaps: list[tuple[int, int]]
    resent: int | None
    """Packets that were sent again; `None` over a real hop."""

    @property
    def missing_bytes(self) -> int:
        """Bytes that the player does without."""
        return sum(end - start for start, end in self.gaps)


def transfer(size: int, reliability: int, seed: int) -> Outcome:
    """Sends `size` bytes to a player that wants this share of them."""
    draw = random.Random(seed)
    phase = draw.uniform(0, GOOD_S + BAD_S)
    sender = _core.E2tcpEndpoint(payload_bytes=PAYLOAD_BYTES)
    player = _core.E2tcpEndpoint(payload_bytes=PAYLOAD_BYTES, reliability=reliability, reliability_window=LAST_PACKETS)
    ends = (sender, player)
    ways = (Direction(), Direction())
    queue: list[tuple[float, int, int, bytes]] = []
    count = data = 0

    def put(source: int, packets: list[bytes], now: float) -> None:
        nonlocal count, data
        for packet in packets:
            count += 1
            data += source == 0
            begins, arrives = ways[source].send(packet, now)
            bad = (begins + phase) % (GOOD_S + BAD_S) >= GOOD_S
            if draw.random() >= (BAD_LOSS if bad else GOOD_LOSS):
                heapq.heappush(queue, (arrives, count, 1 - source, packet))

    put(0, sender.write(size, 0.0), 0.0)
    now = 0.0
    while sender.unacknowledged:
        wake, end = min(_timers(ends), default=(float("inf"), 0))
        if queue and queue[0][0] <= wake:
            now, _, to, packet = heapq.heappop(queue)
            put(to, ends[to].receive(packet, now), now)
        else:
            now = max(now, wake)
            put(end, ends[end].wake(now), now)
    return Outcome(reliability, now, joules(now, ways), player.gaps, data - -(-size // PAYLOAD_BYTES))


def serve(address: str, port: int) -> None:
    """Sends the picture to everyone who connects. Raises `OSError`."""
    data = picture().tobytes()
    with socket.create_server((address, port)) as server:
        print("ready", flush=True)
        while True:
            with server.accept()[0] as client:
                client.sendall(data)


def fetch(path: str, address: str, port: int, reliability: int) -> tuple[Outcome, np.ndarray]:
    """Gets the picture through a gateway: what came of it, and the picture. Raises `OSError`."""
    began = time.monotonic()
    pixels = bytearray(WIDTH * HEIGHT)
    is_missing = np.zeros(WIDTH * HEIGHT, dtype=bool)
    with partial.connect(path, address, port, wanted=reliability) as stream:
        stream.end()
        for piece in stream:
            start, end = piece.position, piece.position + piece.length
            if piece.kind == "gap":
                is_missing[start:end] = True
                continue
            pixels[start:end] = piece.data
            if piece.kind == "late":
                is_missing[start:end] = False
    edges = np.flatnonzero(np.diff(is_missing, prepend=False, append=False)).tolist()
    gaps = list(zip(edges[::2], edges[1::2], strict=True))
    grey = np.frombuffer(pixels, dtype=np.uint8).reshape(HEIGHT, WIDTH)
    return Outcome(reliability, time.monotonic() - began, None, gaps, None), grey


def _timers(ends: tuple[_core.E2tcpEndpoint, _core.E2tcpEndpoint]) -> Iterator[tuple[float, int]]:
    for index, end in enumerate(ends):
        yield from ((at, index) for _, at in end.timers())


def joules(seconds: float, ways: tuple[Direction, Direction]) -> float:
    """What the player's radio spent: it listens when it neither receives data nor sends acknowledgements."""
    watts = json.loads(_core.radio("wavelan-2001"))
    receives, transmits = (way.busy_s for way in ways)
    listens = max(seconds - receives - transmits, 0.0)
    return watts["receive_w"] * receives + watts["transmit_w"] * transmits + watts["listen_w"] * listens


def shown(grey: np.ndarray, gaps: list[tuple[int, int]]) -> np.ndarray:
    """The picture as the player shows it: red where nothing has arrived."""
    pixels = np.repeat(grey.reshape(-1, 1), 3, axis=1)
    for start, end in gaps:
        pixels[start:end] = (200, 30, 30)
    return pixels.reshape(HEIGHT, WIDTH, 3)


def mean(transfers: list[Outcome]) -> Outcome:
    """The first simulated transfer, with the means of all for seconds, joules and packets sent again."""
    first, count = transfers[0], len(transfers)
    return Outcome(
        first.reliability,
        sum(one.seconds for one in transfers) / count,
        sum(one.joules or 0.0 for one in transfers) / count,
        first.gaps,
        round(sum(one.resent or 0 for one in transfers) / count),
    )


def draw(outcomes: list[Outcome], grey: np.ndarray, path: Path) -> None:
    """Draws what arrived, beside each other. Raises `OSError`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.2), layout="constrained")
    for axes, outcome in zip(figure.subplots(1, len(outcomes)), outcomes, strict=True):
        axes.imshow(shown(grey, outcome.gaps))
        axes.set_axis_off()
        line = f"{outcome.seconds:.1f} s"
        if outcome.joules and outcomes[0].joules:
            saved = 1 - outcome.joules / outcomes[0].joules
            line += f", {outcome.joules:.1f} J" + (f", {100 * saved:.0f} % saved" if outcome.reliability < 100 else "")
        missing = 100 * outcome.missing_bytes / grey.size
        axes.set_title(f"{outcome.reliability} %: {missing:.1f} % missing\n{line}", fontsize=10)
    figure.savefig(path, dpi=90)


def report(outcome: Outcome) -> None:
    """Prints one line about a transfer."""
    words = [f"{outcome.reliability:3} %: {outcome.seconds:5.2f} s"]
    if outcome.joules is not None:
        words += [f"{outcome.joules:5.2f} J", f"{outcome.resent} packets sent again"]
    print(", ".join(words) + f"; of the picture {outcome.missing_bytes} bytes are missing")


def simulate(seed: int) -> list[Outcome]:
    """Sends the picture with each reliability, over the same channels."""
    seeds = range(seed, seed + TRANSFERS)
    return [mean([transfer(WIDTH * HEIGHT, share, one) for one in seeds]) for share in RELIABILITIES]


def main(arguments: list[str]) -> int:
    """Simulates the transfers, gets them through a gateway, or is the server for that."""
    try:
        match arguments:
            case ["--serve", address, port] if port.isdecimal():
                serve(address, int(port))
            case [file, "--gateway", path, address, port] if port.isdecimal():
                fetched = [fetch(path, address, int(port), share) for share in RELIABILITIES]
                outcomes = [outcome for outcome, _ in fetched]
                draw(outcomes, fetched[0][1], Path(file))
                for outcome in outcomes:
                    report(outcome)
            case [file, *seed] if not file.startswith("-") and len(seed) <= 1 and all(map(str.isdecimal, seed)):
                outcomes = simulate(int(seed[0]) if seed else 1)
                draw(outcomes, picture(), Path(file))
                for outcome in outcomes:
                    report(outcome)
            case _:
                expected = "FILE.png [SEED], FILE.png --gateway SOCKET ADDRESS PORT, or --serve ADDRESS PORT"
                print(f"arguments: expected {expected}", file=sys.stderr)
                return 2
    except OSError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
