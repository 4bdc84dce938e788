"""`lossy_relay.py LISTEN_ADDRESS PORT TARGET_ADDRESS PORT GOOD BAD LOSS_GOOD LOSS_BAD SEED` forwards datagrams between
one client and a target, and loses some: LOSS_GOOD of a hundred in good states of GOOD ms, LOSS_BAD in
bad states of BAD ms. After SIGUSR1 everything from the target is lost. SIGUSR2 prints how many were lost so far."""

import random
import selectors
import signal
import socket
import sys
import time

address, port, target, target_port, good_ms, bad_ms, loss_good, loss_bad, seed = sys.argv[1:]
draw = random.Random(int(seed))
inner = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
outer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for one in (inner, outer):
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 21)
    one.setblocking(False)
inner.bind((address, int(port)))
outer.connect((target, int(target_port)))
period_s, good_s = (float(good_ms) + float(bad_ms)) / 1000, float(good_ms) / 1000
client = None
is_deaf = False


def be_deaf(*_: object) -> None:
    global is_deaf
    is_deaf = True


signal.signal(signal.SIGUSR1, be_deaf)
lost = 0
signal.signal(signal.SIGUSR2, lambda *_: print(lost, flush=True))


def is_lost() -> bool:
    global lost
    bad = time.monotonic() % period_s >= good_s
    is_lost = draw.random() * 100 < float(loss_bad if bad else loss_good)
    lost += is_lost
    return is_lost


with selectors.DefaultSelector() as selector:
    selector.register(inner, selectors.EVENT_READ)
    selector.register(outer, selectors.EVENT_READ)
    print("ready", flush=True)
    while True:
        for key, _ in selector.select():
            try:
                if key.fileobj is inner:
                    data, client = inner.recvfrom(65535)
                    if not is_lost():
                        outer.send(data)
                else:
                    data = outer.recv(65535)
                    if client and not is_deaf and not is_lost():
                        inner.sendto(data, client)
            except OSError:
                pass
