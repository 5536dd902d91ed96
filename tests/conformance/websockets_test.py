"""Python's `websockets` (Debian's) against the server."""
import asyncio
import json
import unittest

import websockets

from raw_client import ECHO, NATIVE, Server

SERVER = None


def setUpModule():
    global SERVER
    SERVER = Server("--websocket-deflate")


def tearDownModule():
    SERVER.stop()


def url(path):
    return f"ws://127.0.0.1:{SERVER.port}{path}"


class Websockets(unittest.IsolatedAsyncioTestCase):
    async def test_messages_come_back_compressed_or_not(self):
        for compression in (None, "deflate"):
            async with websockets.connect(url(ECHO), compression=compression) as socket:
                self.assertEqual(bool(socket.extensions), compression is not None)
                for message in ("", "grüße ✓", "x" * 500_000, b"", bytes(range(256)) * 1000):
                    await socket.send(message)
                    self.assertEqual(await socket.recv(), message)
                await socket.send(["in ", "three ", "pieces"])
                self.assertEqual(await socket.recv(), "in three pieces")
                await (await socket.ping(b"are you there?"))

    async def test_a_stream_arrives_whole(self):
        async with websockets.connect(url(NATIVE), subprotocols=["seedance.v2+json"]) as socket:
            self.assertEqual(socket.subprotocol, "seedance.v2+json")
            await socket.send(json.dumps({"type": "INFER_REQ", "id": "1", "prompt": "a story"}))
            expected, message = 0, {}
            while message.get("type") != "INFER_DONE":
                message = json.loads(await socket.recv())
                if message["type"] == "INFER_CHUNK":
                    self.assertEqual(message["seq"], expected)
                    expected += message["n"]
            self.assertEqual(message["seq"], expected)
            await socket.close()
            self.assertEqual(socket.close_code, 1000)

    async def test_many_at_once(self):
        async def one(number):
            async with websockets.connect(url(ECHO)) as socket:
                for turn in range(20):
                    await socket.send(f"{number} {turn}" * 100)
                    self.assertEqual(await socket.recv(), f"{number} {turn}" * 100)
        await asyncio.gather(*(one(number) for number in range(20)))


if __name__ == "__main__":
    unittest.main()
