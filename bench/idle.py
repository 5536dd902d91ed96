"""Resident memory that idle WebSocket connections cost a server process."""

import resource
import socket
import ssl
import time

from machine import resident_kb

HANDSHAKE = (
    "GET /ws/inference HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
    "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: seedance.v2+json\r\n\r\n"
)


def open_socket(port, tls):
    sock = socket.create_connection(("127.0.0.1", port), timeout=10)
    if tls:
        sock = tls.wrap_socket(sock)
    sock.sendall(HANDSHAKE.format(port=port).encode())
    head = b""
    while b"\r\n\r\n" not in head:
        part = sock.recv(4096)
        if not part:
            raise RuntimeError(f"handshake cut short: {head[:200]!r}")
        head += part
    if not head.startswith(b"HTTP/1.1 101"):
        raise RuntimeError(f"handshake refused: {head[:200]!r}")
    return sock


def tls_context():
    """Of a client that believes any server: who it is costs it nothing."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def measure(server, connections):
    """Opens them all, lets the server settle, and reads its VmRSS while they are open."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    time.sleep(1)
    before = resident_kb(server.pid)
    tls = tls_context() if server.url.startswith("https:") else None
    sockets = [open_socket(server.port, tls) for _ in range(connections)]
    time.sleep(2)
    after = resident_kb(server.pid)
    for sock in sockets:
        sock.close()
    return {"connections": connections, "before_kb": before, "after_kb": after,
            "grown_kb": after - before}
