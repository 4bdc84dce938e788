"""Connections that may lose a share of their data, by the local socket of `airwattd gateway` at a mobile.

    from airwatt import partial

    with partial.connect("/run/airwatt-gateway.sock", "192.0.2.1", 80, wanted=90) as stream:
        stream.write(b"GET / HTTP/1.0\\r\\n\\r\\n")
        for piece in stream:
            ...

A connection with `wanted=100` is a plain one. The server needs to know nothing of it. For C there is
`packaging/airwatt_partial.h`.
"""

import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Self

_HEADER = struct.Struct(">cQI")
_KINDS = {b"D": "data", b"G": "gap", b"L": "late"}


@dataclass(frozen=True)
class Piece:
    """A part of the stream.

    `data` pieces are the stream, in order, with zeros where bytes are missing. A `gap` says which are,
    before the data of that place. `late` is data of an earlier gap that has arrived after all.
    """

    kind: str
    """`data`, `gap` or `late`."""
    position: int
    """Place in the stream in bytes."""
    length: int
    """Length in bytes."""
    data: bytes
    """The bytes; none of a gap."""


class Stream:
    """One connection. Iterating over it gives its pieces until the server has closed its direction.

    A connection that ends otherwise raises `ConnectionError`.
    """

    def __init__(self, here: socket.socket) -> None:
        self._here = here
        self._reader = here.makefile("rb")

    def write(self, data: bytes) -> None:
        """Sends bytes. Raises `OSError` if the connection is lost."""
        self._here.sendall(data)

    def end(self) -> None:
        """Has nothing more to send."""
        self._here.shutdown(socket.SHUT_WR)

    def __iter__(self) -> Iterator[Piece]:
        while True:
            kind, position, length = _HEADER.unpack(self._read(_HEADER.size))
            if kind == b"E":
                return
            data = b"" if kind == b"G" else self._read(length)
            yield Piece(_KINDS[kind], position, length, data)

    def _read(self, count: int) -> bytes:
        data = self._reader.read(count)
        if len(data) < count:
            raise ConnectionError("the connection was lost")
        return data

    def close(self) -> None:
        """Closes the connection."""
        self._reader.close()
        self._here.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(path: str | PathLike[str], address: str, port: int, *, wanted: int = 100, offered: int = 100) -> Stream:
    """Connects to a server through the gateway whose local socket is `path`.

    `wanted` is the least share in per cent of the received bytes that must arrive, `offered` the same for the bytes
    that are sent; the base station fills what is missing of these with zeros. Raises `ConnectionError` with the reason
    if the server or the gateway refuses, and `OSError` if no gateway listens at `path`.
    """
    here = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        here.connect(fspath(path))
        here.sendall(f"open {address} {port} {wanted} {offered}\n".encode())
        answer = b""
        while not answer.endswith(b"\n"):
            byte = here.recv(1)
            if not byte:
                raise ConnectionError("the gateway has ended")
            answer += byte
    except OSError:
        here.close()
        raise
    if answer != b"ok\n":
        here.close()
        raise ConnectionError(answer.decode().removeprefix("error ").strip())
    return Stream(here)
