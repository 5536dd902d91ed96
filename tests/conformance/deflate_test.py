"""12 and 13: permessage-deflate (RFC 7692) in every combination of its parameters."""
import itertools
import json
import random
import unittest

from raw_client import (BINARY_DATA, CLOSE, CONTINUATION, NATIVE, PING, PONG, RSV1, RSV2, RSV3,
                        TEXT, Client, Frame, Refused, Server, close_payload, deflated, frame,
                        inflated)

ALONE = "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
SERVER = None


def setUpModule():
    global SERVER
    SERVER = Server.with_room("--websocket-deflate", script="rate=0,length=200")


def tearDownModule():
    SERVER.stop()


def texts():
    """JSON, as messages are; of all the sizes that the suites send."""
    chosen = random.Random(1)
    for size in (0, 16, 64, 256, 1024, 4096, 8192, 16384, 32768, 65536, 131072):
        words = [f"token {chosen.randrange(10_000)} ✓" for _ in range(size // 10 + 1)]
        text = json.dumps(words, ensure_ascii=False).encode()
        yield text[:size].decode("utf-8", "ignore").encode()


class Offers(unittest.TestCase):
    def answer(self, offer):
        with Client(SERVER.port, Sec_WebSocket_Extensions=offer) as client:
            return client.headers.get("sec-websocket-extensions")

    def test_every_combination_is_answered(self):
        for alone, client_alone, server_bits, client_bits in itertools.product(
                (False, True), (False, True), (None, 8, 9, 12, 15), (None, "", 8, 9, 15)):
            offer, wanted = "permessage-deflate", ALONE
            offer += "; server_no_context_takeover" if alone else ""
            offer += "; client_no_context_takeover" if client_alone else ""
            if server_bits:
                offer += f"; server_max_window_bits={server_bits}"
                wanted += f"; server_max_window_bits={server_bits}"
            if client_bits is not None:
                offer += "; client_max_window_bits" + (f'="{client_bits}"' if client_bits else "")
                wanted += f"; client_max_window_bits={client_bits}" if client_bits else ""
            with self.subTest(offer=offer):
                self.assertEqual(self.answer(offer), wanted)

    def test_c5_offers_out_of_range_are_declined(self):
        for parameter in ("server_max_window_bits=7", "server_max_window_bits=16",
                          "client_max_window_bits=7", "client_max_window_bits=16",
                          "server_max_window_bits", "server_max_window_bits=012", "unknown",
                          "client_no_context_takeover=1"):
            offer = f"permessage-deflate; {parameter}"
            with self.subTest(offer=offer):
                self.assertIsNone(self.answer(offer))
                self.assertEqual(self.answer(offer + ", permessage-deflate"), ALONE)

    def test_a_malformed_offer_gets_400(self):
        for offer in ("permessage-deflate;", ",", "permessage-deflate; a=\"b"):
            with self.assertRaises(Refused) as refused:
                self.answer(offer)
            self.assertEqual(refused.exception.status, 400)

    def test_nothing_is_agreed_where_it_is_off(self):
        server = Server()
        self.addCleanup(server.stop)
        with Client(server.port, Sec_WebSocket_Extensions="permessage-deflate") as client:
            self.assertNotIn("sec-websocket-extensions", client.headers)
            client.send(frame(TEXT, deflated(b"x"), rsv=RSV1))
            self.assertEqual(client.end(), 1002)


class Case(unittest.TestCase):
    def client(self, parameters="", path="/debug/echo", **headers):
        client = Client(SERVER.port, path, **headers,
                        Sec_WebSocket_Extensions="permessage-deflate" + parameters)
        self.addCleanup(client.close)
        return client


class Messages(Case):
    def message(self, client, bits=15):
        """The next one, whole, as opcode and payload."""
        first = client.frame()
        self.assertTrue(first.fin)
        self.assertIn(first.rsv, (0, RSV1))
        return first.opcode, inflated(first.payload, bits) if first.rsv else first.payload

    def test_messages_of_all_sizes_come_back(self):
        for bits in (9, 15):
            client = self.client(f"; server_max_window_bits={bits}; client_max_window_bits={bits}")
            for text in texts():
                for opcode in (TEXT, BINARY_DATA):
                    client.send(frame(opcode, deflated(text, bits), rsv=RSV1))
                    self.assertEqual(self.message(client, bits), (opcode, text))
                    client.send(frame(opcode, text))  # One may also come as it is.
                    self.assertEqual(self.message(client, bits), (opcode, text))

    def test_the_smallest_window_is_kept_to(self):
        client = self.client("; server_max_window_bits=8")
        for text in texts():
            client.send(frame(TEXT, deflated(text), rsv=RSV1))
            self.assertEqual(self.message(client, 8), (TEXT, text))

    def test_fragments_are_joined_before_they_are_inflated(self):
        client = self.client()
        for text in texts():
            packed = deflated(text)
            for size in (1 + len(packed) // 2, 1 + len(packed) // 20):
                pieces = [packed[at:at + size] for at in range(0, len(packed), size)]
                client.send(*(frame(CONTINUATION if i else TEXT, one, fin=i + 1 == len(pieces),
                                    rsv=0 if i else RSV1) for i, one in enumerate(pieces)))
                self.assertEqual(self.message(client), (TEXT, text))

    def test_control_frames_between_fragments_are_plain(self):
        client = self.client()
        packed = deflated(b"some text")
        client.send(frame(TEXT, packed[:3], fin=False, rsv=RSV1), frame(PING, b"ping"),
                    frame(CONTINUATION, packed[3:]))
        self.assertEqual(client.frame(), Frame(PONG, b"ping"))
        self.assertEqual(self.message(client), (TEXT, b"some text"))

    def test_answers_of_the_native_route_are_compressed_where_it_is_worth_it(self):
        client = self.client(path=NATIVE, Sec_WebSocket_Protocol="seedance.v2+json")
        ask = {"type": "INFER_REQ", "id": "a" * 60, "prompt": "a long story", "merge_ms": 1000}
        client.send(frame(TEXT, deflated(json.dumps(ask).encode()), rsv=RSV1))
        kinds, marks = [], set()
        while "INFER_DONE" not in kinds:
            one = client.frame()
            text = inflated(one.payload) if one.rsv else one.payload
            kinds.append(json.loads(text)["type"])
            marks.add(one.rsv)
        self.assertIn("INFER_CHUNK", kinds)
        self.assertIn(RSV1, marks)


class Refusals(Case):
    def expect(self, code, *sent):
        for path in ("/debug/echo", NATIVE):
            client = self.client(path=path)
            client.send(*sent)
            last = client.frame()
            self.assertEqual((last.opcode, last.rsv, last.payload[:2]),
                             (CLOSE, 0, close_payload(code)))
            client.close()

    def test_the_mark_is_only_for_the_first_frame_of_a_message(self):
        for opcode in (PING, PONG, CLOSE, CONTINUATION):
            self.expect(1002, frame(opcode, rsv=RSV1))
        self.expect(1002, frame(TEXT, deflated(b"x"), fin=False, rsv=RSV1)
                    + frame(CONTINUATION, b"", rsv=RSV1))
        for bits in (RSV2, RSV3, RSV1 | RSV2, RSV1 | RSV3):
            self.expect(1002, frame(TEXT, deflated(b"x"), rsv=bits))

    def test_what_cannot_be_inflated_is_refused(self):
        self.expect(1007, frame(TEXT, b"\xff\xff\xff\xff", rsv=RSV1))
        self.expect(1007, frame(BINARY_DATA, deflated(b"a long text" * 50)[:10], rsv=RSV1))

    def test_c6_what_comes_out_is_utf8(self):
        self.expect(1007, frame(TEXT, deflated(b"\xed\xa0\x80"), rsv=RSV1))

    def test_c4_a_bomb_is_stopped_at_the_limit(self):
        bomb = deflated(bytes(17 << 20))
        self.assertLess(len(bomb), 20_000)
        self.expect(1009, frame(BINARY_DATA, bomb, rsv=RSV1))
        self.expect(1009, frame(BINARY_DATA, bomb[:9000], fin=False, rsv=RSV1)
                    + frame(CONTINUATION, bomb[9000:]))


if __name__ == "__main__":
    unittest.main()
