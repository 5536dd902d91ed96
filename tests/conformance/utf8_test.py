"""Texts are UTF-8, and wrong ones are refused as soon as that can be told (C6)."""
import unittest

from raw_client import CLOSE, CONTINUATION, ECHO, NATIVE, TEXT, Client, Frame, Server, frame

SERVER = None
KOSME = "κόσμε".encode()

VALID = [
    "", "Hello-µ@ßöäüàá-UTF-8!!", "κόσμε", "\x00", "\x7f", "\x80", "\u07ff", "\u0800", "\uffff",
    "\U00010000", "\ud7ff", "\ue000", "\ufffd", "\U0010ffff", "\ufeff", "\ufffe",
    *(chr(plane * 0x10000 + last) for plane in range(1, 17) for last in (0xFFFE, 0xFFFF)),
]

INVALID = [bytes.fromhex(one) for one in """
    cebae1bdb9cf83cebcceb5eda080656469746564
    f4908080 f7bfbfbf f888808080 fbbfbfbfbf fc8480808080 fdbfbfbfbfbf
    80 bf 80bf 80bf80 80bf80bf 8081828384858687
    c0 c1 c020 e020 f020 f820 fc20 c3 e0a0 f09080
    fe ff fefeffff
    c0af e080af f08080af f8808080af fc80808080af
    c1bf e09fbf f08fbfbf f887bfbfbf fc83bfbfbfbf
    c080 e08080 f0808080 f880808080 fc8080808080
    eda080 edadbf edae80 edafbf edb080 edbe80 edbfbf eda080edb080 edafbfedbfbf
    """.split()]

# A text, and how many of its bytes are enough to tell that it is none.
DECIDABLE = [
    (KOSME + b"\xf4\x90\x80\x80edited", 13),
    (KOSME + b"\xed\xa0\x80edited", 13),
    (b"\xc0\xaf", 1),
    (b"\xf5\x80\x80\x80", 1),
    (b"\xe0\x80\x80", 2),
    (b"\xf0\x80\x80\x80", 2),
    (b"ok\x80", 3),
    (b"\xe2\x82x", 3),
]


def setUpModule():
    global SERVER
    SERVER = Server()


def tearDownModule():
    SERVER.stop()


class Utf8(unittest.TestCase):
    def client(self, path=ECHO):
        client = Client(SERVER.port, path)
        self.addCleanup(client.close)
        return client

    def expect_refused(self, client, *sent):
        client.send(*sent)
        last = client.frame()
        self.assertEqual((last.opcode, int.from_bytes(last.payload[:2], "big")), (CLOSE, 1007),
                         (sent, last))
        client.close()

    def test_valid_texts_come_back_however_they_are_cut(self):
        client = self.client()
        for text in VALID:
            payload = text.encode("utf-8", "surrogatepass")
            client.send(frame(TEXT, payload))
            self.assertEqual(client.frame(), Frame(TEXT, payload))
            for cut in range(len(payload) + 1):  # In two fragments, and each byte alone.
                client.send(frame(TEXT, payload[:cut], fin=False)
                            + frame(CONTINUATION, payload[cut:]))
                self.assertEqual(client.frame(), Frame(TEXT, payload))
            client.send(frame(TEXT, fin=False),
                        *(frame(CONTINUATION, payload[i:i + 1], fin=False)
                          for i in range(len(payload))), frame(CONTINUATION))
            self.assertEqual(client.frame(), Frame(TEXT, payload))

    def test_c6_invalid_texts_are_refused_however_they_are_cut(self):
        for payload in INVALID:
            with self.subTest(payload=payload.hex()):
                self.expect_refused(self.client(), frame(TEXT, payload))
                self.expect_refused(self.client(NATIVE), frame(TEXT, payload))
                self.expect_refused(
                    self.client(),
                    frame(TEXT, fin=False) + b"".join(frame(CONTINUATION, payload[i:i + 1],
                                                            fin=False)
                                                      for i in range(len(payload)))
                    + frame(CONTINUATION))

    def test_c6_a_wrong_text_is_refused_before_it_is_complete(self):
        for payload, enough in DECIDABLE:
            with self.subTest(payload=payload.hex()):
                # A fragment ends behind the byte that tells; no more is sent.
                self.expect_refused(self.client(), frame(TEXT, payload[:enough], fin=False))
                # The same inside of one frame, of which that is all that is sent.
                whole = frame(TEXT, payload + b"more")
                unsent = len(payload) + len(b"more") - enough
                self.expect_refused(self.client(), whole[:len(whole) - unsent])
                self.expect_refused(
                    self.client(), frame(TEXT, payload[:enough - 1], fin=False),
                    frame(CONTINUATION, payload[enough - 1:enough], fin=False))

    def test_binary_messages_hold_anything(self):
        client = self.client()
        for payload in INVALID:
            client.send(frame(2, payload))
            self.assertEqual(client.frame(), Frame(2, payload))


if __name__ == "__main__":
    unittest.main()
