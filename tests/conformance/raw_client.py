"""A WebSocket client that sends whatever it is told to, right or wrong, and a server to try it on.

Only the standard library. SEEDANCE_BUILD is the build directory.
"""
import base64
import dataclasses
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("SEEDANCE_BUILD", ROOT / "build/release")) / "seedance"
PATIENCE_S = 60

CONTINUATION, TEXT, BINARY_DATA, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
RSV1, RSV2, RSV3 = 0x40, 0x20, 0x10
MASK = bytes.fromhex("a102ff5c")
ECHO = "/debug/echo"
NATIVE = "/ws/inference"


class Server:
    """A server with the echo route on, and room for everything that a suite sends."""

    def __init__(self, *flags, script="rate=0,length=20"):
        self.home = tempfile.mkdtemp(prefix="seedance-conformance-")
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("SEEDANCE_")}
        echo = () if "--debug-echo" in flags else ("--debug-echo",)
        self.process = subprocess.Popen(
            [BINARY, "serve", "--no-supervisor", "--port", "0", "--data-dir", self.home, "--json",
             "--engine", f"scripted:{script}", *echo, *flags],
            stdout=subprocess.PIPE, text=True, env=environment)
        ready = self.process.stdout.readline()
        if not ready:
            raise RuntimeError(f"the server ended with {self.process.wait()}")
        self.port = int(json.loads(ready)["url"].rsplit(":", 1)[1])

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE_S)
        self.process.stdout.close()
        shutil.rmtree(self.home)
        if code != 0:
            raise RuntimeError(f"the server ended with {code}")

    @staticmethod
    def with_room(*flags, **script):
        return Server("--max-message-bytes", str(16 << 20), "--max-message-fragments", "100000",
                      *flags, **script)


def masked(payload, mask):
    """XOR with the mask, as one big number: sixteen megabytes take no time."""
    size = len(payload)
    key = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")).to_bytes(size, "big")


def frame(opcode, payload=b"", *, fin=True, rsv=0, mask=MASK, length=None):
    """A frame's bytes. `length` is one of 1, 2 and 8: the width of the length field."""
    size = len(payload)
    if length is None:
        length = 1 if size <= 125 else 2 if size <= 0xFFFF else 8
    marker = {1: size, 2: 126, 8: 127}[length]
    extended = {1: b"", 2: struct.pack("!H", size & 0xFFFF), 8: struct.pack("!Q", size)}[length]
    head = bytes([(0x80 if fin else 0) | rsv | opcode, (0x80 if mask else 0) | marker]) + extended
    return head + (mask + masked(payload, mask) if mask else payload)


def close_payload(code, reason=b""):
    return struct.pack("!H", code) + reason


def deflated(message, bits=15):
    """A message as permessage-deflate carries it, nothing kept from others."""
    maker = zlib.compressobj(6, zlib.DEFLATED, -max(bits, 9))
    return (maker.compress(message) + maker.flush(zlib.Z_SYNC_FLUSH))[:-4]


def inflated(payload, bits=15):
    return zlib.decompressobj(-bits).decompress(payload + b"\0\0\xff\xff")


@dataclasses.dataclass
class Frame:
    opcode: int
    payload: bytes
    fin: bool = True
    rsv: int = 0


class Refused(Exception):
    """The handshake was answered with something else than 101."""

    def __init__(self, status, headers, body):
        super().__init__(f"HTTP {status}: {body}")
        self.status, self.headers, self.body = status, headers, body


class Stream:
    """A TCP connection with a deadline for everything."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = bytearray()

    def send(self, *pieces):
        for piece in pieces:
            self.socket.sendall(piece)

    def send_in(self, size, payload):
        """In pieces of so many bytes, each a call of its own."""
        for at in range(0, len(payload), size):
            self.socket.sendall(payload[at:at + size])

    def fill(self):
        piece = self.socket.recv(1 << 18)
        self.buffer += piece
        return bool(piece)

    def take(self, size):
        while len(self.buffer) < size:
            if not self.fill():
                raise EOFError(f"ended with {bytes(self.buffer[:100])} of {size} bytes")
        out = bytes(self.buffer[:size])
        del self.buffer[:size]
        return out

    def take_until(self, mark):
        while mark not in self.buffer:
            if not self.fill():
                raise EOFError(f"ended with {bytes(self.buffer)}")
        return self.take(self.buffer.index(mark) + len(mark))

    def response(self):
        """Status, headers by name in lower case, body."""
        lines = self.take_until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        headers = {}
        for line in lines[1:-2]:
            name, value = line.split(": ", 1)
            headers[name.lower()] = value
        body = self.take(int(headers.get("content-length", 0)))
        return int(lines[0].split()[1]), headers, body

    def ends(self):
        """Whether nothing comes any more but the end."""
        return not self.buffer and not self.fill()

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def request(path=ECHO, method="GET", version="HTTP/1.1", without=(), **changes):
    """An upgrade request; changes are headers with _ for -."""
    headers = {"Host": "localhost", "Upgrade": "websocket", "Connection": "Upgrade",
               "Sec-WebSocket-Version": "13",
               "Sec-WebSocket-Key": base64.b64encode(bytes(16)).decode()}
    headers |= {name.replace("_", "-"): value for name, value in changes.items()}
    lines = [f"{name}: {value}" for name, value in headers.items() if name not in without]
    return "\r\n".join([f"{method} {path} {version}", *lines, "", ""]).encode("latin-1")


class Client(Stream):
    """An open WebSocket."""

    def __init__(self, port, path=ECHO, **headers):
        super().__init__(port)
        self.send(request(path, **headers))
        status, self.headers, body = self.response()
        if status != 101:
            self.close()
            raise Refused(status, self.headers, body)

    def frame(self):
        first, second = self.take(2)
        size = second & 0x7F
        if size == 126:
            (size,) = struct.unpack("!H", self.take(2))
        elif size == 127:
            (size,) = struct.unpack("!Q", self.take(8))
        if second & 0x80:
            raise AssertionError("a server masks nothing")
        return Frame(first & 0xF, self.take(size), bool(first & 0x80), first & 0x70)

    def end(self):
        """The Close that comes next and the end behind it: its code, None when it has none."""
        last = self.frame()
        if last.opcode != CLOSE or last.rsv or not last.fin:
            raise AssertionError(f"no Close but {last}")
        self.socket.shutdown(socket.SHUT_WR)
        if not self.ends():
            raise AssertionError(f"something behind the Close: {bytes(self.buffer)}")
        return struct.unpack("!H", last.payload[:2])[0] if last.payload else None
