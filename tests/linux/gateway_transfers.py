"""Transfers whose both ends say how they ended: complete, cut off, or lost.

`gateway_transfers.py serve ADDRESS PORT` is the server; a line on standard input ends it, and it prints what it has
seen. `gateway_transfers.py run ADDRESS PORT COUNT SEED BYTES` runs COUNT transfers at once, up and down in turn, of up
to BYTES, without a length in front of the data: the end of the stream is the only sign of completeness. It prints what
it has seen.

An outcome is a list of whether the stream ended without an error, and how many bytes came before that.
"""

import asyncio
import json
import random
import sys

PIECE = bytes(range(256)) * 256


async def read_all(reader: asyncio.StreamReader) -> tuple[bool, int]:
    count = 0
    try:
        while data := await reader.read(1 << 16):
            count += len(data)
    except OSError:
        return False, count
    return True, count


async def write_all(writer: asyncio.StreamWriter, size: int) -> bool:
    try:
        while size > 0:
            writer.write(PIECE[:size])
            size -= len(PIECE[:size])
            await writer.drain()
        writer.write_eof()
    except OSError:
        return False
    return True


async def serve(address: str, port: int) -> None:
    seen: dict[str, tuple[bool, int]] = {}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            name, direction, size = (await reader.readline()).decode().split()
            if direction == "up":
                seen[name] = (False, 0)
                seen[name] = await read_all(reader)
            else:
                await write_all(writer, int(size))
        except (OSError, ValueError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, address, port, backlog=1024)
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    server.close()
    print(json.dumps(seen), flush=True)
    sys.stdout.flush()


async def transfer(address: str, port: int, name: str, size: int) -> tuple[bool, int]:
    try:
        reader, writer = await asyncio.open_connection(address, port)
    except OSError:
        return False, 0
    direction = name.split("-")[0]
    try:
        writer.write(f"{name} {direction} {size}\n".encode())
        if direction == "down":
            return await read_all(reader)
        # An upload is complete when the server, which has read everything, has ended its direction.
        sent = await write_all(writer, size)
        ended, _ = await read_all(reader)
        return sent and ended, size
    finally:
        writer.transport.abort()


async def run(address: str, port: int, count: int, seed: int, most: int) -> None:
    draw = random.Random(seed)
    transfers = {f"{('up', 'down')[number % 2]}-{seed}-{number}": draw.randint(1, most) for number in range(count)}
    print("ready", flush=True)
    ended = await asyncio.gather(*(transfer(address, port, name, size) for name, size in transfers.items()))
    print(json.dumps({name: [size, *end] for (name, size), end in zip(transfers.items(), ended, strict=True)}))


if __name__ == "__main__":
    what, address, *numbers = sys.argv[1:]
    asyncio.run((serve if what == "serve" else run)(address, *map(int, numbers)))
