"""9 and 10: large messages come back where the settings allow it, and are refused where not."""
import unittest

from raw_client import (BINARY_DATA, CLOSE, CONTINUATION, ECHO, NATIVE, TEXT, Client, Frame, Server,
                        close_payload, frame)

MEGABYTE = 1 << 20


class Sizes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server.with_room()
        cls.addClassCleanup(cls.server.stop)

    def setUp(self):
        self.client = Client(self.server.port)
        self.addCleanup(self.client.close)

    def expect_echo(self, opcode, payload):
        back = self.client.frame()
        self.assertEqual((back.opcode, len(back.payload)), (opcode, len(payload)))
        self.assertTrue(back.payload == payload)

    def test_large_messages_come_back(self):
        for size in (64 << 10, 256 << 10, MEGABYTE, 4 * MEGABYTE, 8 * MEGABYTE, 16 * MEGABYTE):
            for opcode, byte in ((TEXT, b"*"), (BINARY_DATA, b"\xfe")):
                payload = byte * size
                self.client.send(frame(opcode, payload))
                self.expect_echo(opcode, payload)

    def test_large_messages_come_back_from_fragments(self):
        payload = b"BAsd7&jh23" * (4 * MEGABYTE // 10)
        for size in (64, 1 << 10, 64 << 10, 4 * MEGABYTE):
            pieces = [payload[at:at + size] for at in range(0, len(payload), size)]
            frames = [frame(CONTINUATION if i else BINARY_DATA, one, fin=i + 1 == len(pieces))
                      for i, one in enumerate(pieces)]
            self.client.send(b"".join(frames))
            self.expect_echo(BINARY_DATA, payload)

    def test_large_messages_come_back_from_chops(self):
        payload = b"*" * MEGABYTE
        for chop in (512, 2048):
            self.client.send_in(chop, frame(TEXT, payload))
            self.expect_echo(TEXT, payload)

    def test_many_messages_come_back(self):
        for size in (0, 16, 64, 256, 1024, 4096):
            payload = b"*" * size
            for _ in range(200):
                self.client.send(frame(TEXT, payload))
                self.expect_echo(TEXT, payload)

    def test_automatic_fragments_come_back(self):
        payload = b"*" * (64 << 10)
        pieces = [payload[at:at + 1300] for at in range(0, len(payload), 1300)]
        self.client.send(*(frame(CONTINUATION if i else TEXT, one, fin=i + 1 == len(pieces))
                           for i, one in enumerate(pieces)))
        self.expect_echo(TEXT, payload)


class Limits(unittest.TestCase):
    BYTES, FRAGMENTS = 2000, 10

    @classmethod
    def setUpClass(cls):
        cls.server = Server("--max-message-bytes", str(cls.BYTES), "--max-message-fragments",
                            str(cls.FRAGMENTS))
        cls.addClassCleanup(cls.server.stop)

    def expect(self, sent, code):
        for path in (ECHO, NATIVE):
            with Client(self.server.port, path) as client:
                client.send(sent)
                last = client.frame()
                self.assertEqual((last.opcode, last.payload[:2]), (CLOSE, close_payload(code)))

    def test_c3_messages_have_a_limit_frames_or_not(self):
        self.expect(frame(BINARY_DATA, b"x" * (self.BYTES + 1)), 1009)
        self.expect(frame(BINARY_DATA, b"x" * self.BYTES, fin=False) + frame(CONTINUATION, b"x"),
                    1009)
        with Client(self.server.port) as client:
            whole = b"x" * self.BYTES
            client.send(frame(BINARY_DATA, whole))
            self.assertEqual(client.frame(), Frame(BINARY_DATA, whole))
            client.send(frame(BINARY_DATA, whole, fin=False) + frame(CONTINUATION))
            self.assertEqual(client.frame(), Frame(BINARY_DATA, whole))

    def test_c2_fragments_have_a_limit_empty_ones_too(self):
        def message(fragments, payload):
            return (frame(TEXT, payload, fin=False)
                    + frame(CONTINUATION, payload, fin=False) * (fragments - 2)
                    + frame(CONTINUATION, payload))
        for payload in (b"", b"x"):
            self.expect(message(self.FRAGMENTS + 1, payload), 1008)
            with Client(self.server.port) as client:
                client.send(message(self.FRAGMENTS, payload))
                self.assertEqual(client.frame(), Frame(TEXT, payload * self.FRAGMENTS))


if __name__ == "__main__":
    unittest.main()
