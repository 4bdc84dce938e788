"""`gateway_echo.py ADDRESS PORT` answers connections with what they send.

With BYTES [COUNT [AT_ONCE]] it sends that many to such a server and compares what comes back, COUNT times, AT_ONCE
connections at a time.
"""

import asyncio
import random
import socket
import sys


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except OSError:
        pass
    finally:
        writer.close()


async def serve(address: str, port: int) -> None:
    server = await asyncio.start_server(answer, address, port, backlog=1024)
    print("ready", flush=True)
    await server.serve_forever()


async def exchange(address: str, port: int, data: bytes) -> str:
    try:
        reader, writer = await asyncio.open_connection(address, port)
        seen = writer.get_extra_info("peername")[:2]
        assert seen == (address, port), seen

        async def send() -> None:
            writer.write(data)
            await writer.drain()
            writer.write_eof()

        _, back = await asyncio.gather(send(), reader.read(-1))
        writer.close()
    except OSError as error:
        return type(error).__name__
    return "same" if back == data else f"{len(back)} bytes instead of {len(data)}"


async def compare(address: str, port: int, size: int, count: int, at_once: int) -> None:
    data = random.Random(size).randbytes(size)
    places = asyncio.Semaphore(at_once)
    outcomes: dict[str, int] = {}

    async def one() -> None:
        async with places:
            outcome = await exchange(address, port, data)
            outcomes[outcome] = outcomes.get(outcome, 0) + 1

    await asyncio.gather(*(one() for _ in range(count)))
    print(outcomes)


if __name__ == "__main__":
    address, port, *numbers = sys.argv[1], *map(int, sys.argv[2:])
    socket.setdefaulttimeout(60)
    if numbers:
        size, count, at_once = [*numbers, 1, 1][:3]
        asyncio.run(compare(address, port, size, count, at_once))
    else:
        asyncio.run(serve(address, port))
