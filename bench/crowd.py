#!/usr/bin/env python3
"""Measures what crowds of WebSockets cost, and whether they harm those among them who stream.

  crowd.py idle      resident memory a connection while more and more are idle, the handshakes of
                     newcomers, eight at a time, and how late the tokens of 1,000 streams are
                     beside them and without them
  crowd.py stalled   1,000 streams whose readers stop for a minute: what each costs the server, user
                     and kernel memory together, whether each is whole in the end, and how late the
                     tokens of 1,000 others are, meanwhile and while all are read

The scripted engine makes 20 tokens/s for each stream. Prints JSON; writes
build/bench/crowd-*.json.
"""

import json
import resource
import selectors
import socket
import statistics
import subprocess
import sys
import time

import common
import fanout
import idle
from machine import resident_kb

STREAMS = 1000
REQUEST = json.dumps({**fanout.REQUEST, "max_tokens": 20000}).encode()
# Whose reader goes, ends: it would burden what is measured next.
READ = json.dumps({**fanout.REQUEST, "detach": "cancel"})
NEWCOMERS, ROUNDS = 8, 100
STALLED_BUFFER = 4096  # Of the receiver, so that the server feels it soon.


def streams_beside(port, args):
    """1,000 streams that are read, from now on: call the result for how late their tokens were."""
    command = [str(fanout.CLIENT), "--port", str(port), "--connections", str(STREAMS), "--warmup",
               str(args.warmup), "--seconds", str(args.seconds), "--message", READ,
               "--period-ms", str(fanout.PERIOD_MS)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    return lambda: json.loads(process.communicate()[0])["late_ms"]


def handshakes(port):
    """Milliseconds from connecting to the answer, for each of eight that come together."""
    took = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        sockets = []
        for _ in range(NEWCOMERS):
            sock = socket.create_connection(("127.0.0.1", port))
            sock.sendall(idle.HANDSHAKE.format(port=port).encode())
            sockets.append(sock)
        for sock in sockets:
            assert sock.recv(4096).startswith(b"HTTP/1.1 101")
            took.append(1000 * (time.perf_counter() - began))
            sock.close()
    took.sort()
    return {"p50": round(statistics.median(took), 2), "p99": round(took[len(took) * 99 // 100], 2),
            "max": round(took[-1], 2)}


def crowd_idle(args):
    with fanout.seedance()() as (port, _):
        alone = streams_beside(port, args)()
    with fanout.seedance()() as (port, pid):  # Which no stream has left memory to.
        time.sleep(1)
        before = last = resident_kb(pid)
        sockets, rows = [], []
        for count in args.steps:
            held = len(sockets)
            sockets += [idle.open_socket(port, None) for _ in range(count - held)]
            time.sleep(1)
            now = resident_kb(pid)
            rows.append({"connections": count, "bytes_each": round(1024 * (now - before) / count),
                         "bytes_each_of_the_last":
                             round(1024 * (now - last) / (count - held))})
            last = now
            print(f"  {count:6} idle: {rows[-1]['bytes_each']} bytes each", flush=True)
        quiet = handshakes(port)
        late = streams_beside(port, args)
        time.sleep(args.warmup)
        beside = handshakes(port)
        result = {"idle": rows, "handshake_ms": quiet, "handshake_ms_beside_streams": beside,
                  "late_ms_alone": alone, "late_ms_beside_idle": late()}
        for sock in sockets:
            sock.close()
    return result


class Reader:
    """A stream on a socket with a small buffer, and what has come of it."""

    def __init__(self, port):
        self.port = port
        self.input = bytearray()
        self.next = 0
        self.stream = self.epoch = None
        self.closed = None
        self.connect(REQUEST)

    def connect(self, message):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, STALLED_BUFFER)
        self.socket.connect(("127.0.0.1", self.port))
        self.socket.sendall(idle.HANDSHAKE.format(port=self.port).encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self.socket.recv(1)
        size = len(message)
        length = bytes([0x80 | size]) if size < 126 else b"\xfe" + size.to_bytes(2, "big")
        self.socket.sendall(b"\x81" + length + bytes(4) + message)  # A mask of zeros.
        self.socket.setblocking(False)
        self.input.clear()
        self.closed = None

    def resume(self):
        self.socket.close()
        self.connect(json.dumps({"type": "RESUME", "id": "a", "stream": self.stream,
                                 "seq": self.next, "epoch": self.epoch}).encode())

    def read(self):
        """Takes what is there. False when the server has closed."""
        try:
            while part := self.socket.recv(65536):
                self.input += part
                self.take()
            return False
        except BlockingIOError:
            return self.closed is None
        except ConnectionResetError:
            return False

    def take(self):
        while len(self.input) >= 2:
            size, head = self.input[1] & 0x7F, 2
            if size == 126:
                size, head = int.from_bytes(self.input[2:4], "big"), 4
            if len(self.input) < head + size:
                return
            opcode, payload = self.input[0] & 0x0F, bytes(self.input[head:head + size])
            del self.input[:head + size]
            if opcode == 8:
                self.closed = int.from_bytes(payload[:2], "big")
            elif opcode == 1:
                self.on_message(json.loads(payload))

    def on_message(self, message):
        if message["type"] in ("ACCEPTED", "RESUMED"):
            self.stream, self.epoch = message["stream"], message["epoch"]
        elif message["type"] == "INFER_CHUNK":
            if message["seq"] != self.next:
                raise RuntimeError(f"{message['seq']} came where {self.next} was due")
            self.next += message["n"]
        else:
            raise RuntimeError(f"unexpected: {message}")


def read_until(readers, done, seconds):
    """Reads what comes on all of them, and resumes where the server has closed."""
    selector, resumed = selectors.DefaultSelector(), 0
    for reader in readers:
        selector.register(reader.socket, selectors.EVENT_READ, reader)
    deadline = time.monotonic() + seconds
    while not all(done(reader) for reader in readers):
        if time.monotonic() > deadline:
            raise RuntimeError(f"{sum(not done(one) for one in readers)} readers lag behind")
        for key, _ in selector.select(0.2):
            reader = key.data
            if not reader.read():
                selector.unregister(reader.socket)
                reader.resume()
                selector.register(reader.socket, selectors.EVENT_READ, reader)
                resumed += 1
    return resumed


def kernel_bytes(port, peers):
    """Of the server's sockets to those local ports: what the kernel holds for them."""
    listed = subprocess.run(["ss", "-tmnHO", "sport", "=", f":{port}"], check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    total = 0
    for line in listed.splitlines():
        if int(line.split()[4].rsplit(":", 1)[1]) not in peers or "skmem:(" not in line:
            continue
        fields = line.split("skmem:(")[1].split(")")[0].split(",")
        values = {field.rstrip("0123456789"): int(field.lstrip("abcdefghijklmnopqrstuvwxyz"))
                  for field in fields}
        total += values["r"] + max(values["t"], values["w"]) + values["f"]
    return total


def crowd_stalled(args):
    with fanout.seedance()() as (port, pid):
        time.sleep(1)
        readers = [Reader(port) for _ in range(STREAMS)]
        read_until(readers, lambda one: one.next > 20, 30)
        memory, began = resident_kb(pid), time.monotonic()
        others = streams_beside(port, args)
        until = began + args.stall
        read_until(readers, lambda _: time.monotonic() > until, args.stall + 30)
        late_before, grown_before = others(), resident_kb(pid) - memory

        memory, began = resident_kb(pid), time.monotonic()
        others = streams_beside(port, args)
        peers = {reader.socket.getsockname()[1] for reader in readers}
        time.sleep(args.stall)
        kernel, grown = kernel_bytes(port, peers), resident_kb(pid) - memory
        late = others()
        due = int((time.monotonic() - began) * 1000 / fanout.PERIOD_MS)
        goals = {id(reader): reader.next + due for reader in readers}
        resumed = read_until(readers, lambda one: one.next >= goals[id(one)], 120)
    return {"stalled": STREAMS, "seconds": args.stall,
            "kernel_bytes_each": round(kernel / STREAMS),
            "user_bytes_each": round(1024 * (grown - grown_before) / STREAMS),
            "server_grown_kb": {"all_read": grown_before, "stalled": grown},
            "resumed_on_a_new_connection": resumed, "whole": len(goals),
            "late_ms_all_read": late_before, "late_ms_beside_stalled": late}


def main():
    parser = common.parser(__doc__)
    parser.add_argument("command", choices=["idle", "stalled"])
    parser.add_argument("--steps", type=common.numbers, default=[1000, 5000, 10000, 18000],
                        help="idle connections at which memory is read")
    parser.add_argument("--stall", type=float, default=60, help="seconds without reading")
    parser.add_argument("--warmup", type=float, default=3)
    parser.add_argument("--seconds", type=float, default=20)
    args = common.parse(parser)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    result = {"idle": crowd_idle, "stalled": crowd_stalled}[args.command](args)
    print(json.dumps(result, indent=1))
    common.write(f"crowd-{args.command}", args, result)


if __name__ == "__main__":
    sys.exit(main())
