"""RFC 6455, sections 5 and 7, as the public suites test it: frames, pings, reserved bits,
fragments, closing. The numbers in the names of tables are sections of the Autobahn suite.
"""
import unittest

from raw_client import (BINARY_DATA, CLOSE, CONTINUATION, ECHO, NATIVE, PING, PONG, RSV1, RSV2,
                        RSV3, TEXT, Client, Frame, Server, close_payload, frame)

SERVER = None


def setUpModule():
    global SERVER
    SERVER = Server.with_room()


def tearDownModule():
    SERVER.stop()


class Case(unittest.TestCase):
    def client(self, path=ECHO):
        client = Client(SERVER.port, path)
        self.addCleanup(client.close)
        return client

    def expect(self, sent, *wanted, chop=None, path=ECHO):
        """What is sent is answered by these frames and by nothing else before our Close."""
        client = self.client(path)
        client.send_in(chop or max(len(sent), 1), sent)
        for one in wanted:
            self.assertEqual(client.frame(), one)
        client.send(frame(CLOSE, close_payload(1000)))
        self.assertEqual(client.end(), 1000)

    def expect_refused(self, sent, code, *before, chop=None):
        """The server closes by itself, on the echo route and on the one of production."""
        for path in (ECHO, NATIVE):
            client = self.client(path)
            client.send_in(chop or max(len(sent), 1), sent)
            for one in before if path == ECHO else ():
                self.assertEqual(client.frame(), one)
            while True:  # The native route answers texts that are none of its messages.
                last = client.frame()
                if path == ECHO or last.opcode not in (TEXT, PONG):
                    break
            self.assertEqual(last.opcode, CLOSE, last)
            self.assertEqual(int.from_bytes(last.payload[:2], "big"), code, last)
            client.close()


class Messages(Case):
    """1: messages of every width of the length field."""

    SIZES = (0, 1, 125, 126, 127, 128, 65535, 65536)

    def test_text_and_binary_come_back(self):
        for size in self.SIZES:
            for opcode, byte in ((TEXT, b"*"), (BINARY_DATA, b"\xfe")):
                payload = byte * size
                with self.subTest(size=size, opcode=opcode):
                    self.expect(frame(opcode, payload), Frame(opcode, payload))

    def test_they_may_come_in_chops(self):
        for size, chop in ((65535, 997), (65536, 997), (300, 1)):
            with self.subTest(size=size, chop=chop):
                self.expect(frame(TEXT, b"*" * size), Frame(TEXT, b"*" * size), chop=chop)

    def test_a_zero_mask_is_a_mask(self):
        self.expect(frame(TEXT, b"Hello", mask=bytes(4)), Frame(TEXT, b"Hello"))


class Pings(Case):
    """2: pings and pongs."""

    def test_payloads_come_back(self):
        for payload in (b"", b"Hello, world!", b"\x00\xff\xfe\xfd\xfc\xfb\x00\xff", b"\xfe" * 125):
            for chop in (None, 1):
                with self.subTest(payload=payload, chop=chop):
                    self.expect(frame(PING, payload), Frame(PONG, payload), chop=chop)

    def test_125_bytes_are_the_most(self):
        self.expect_refused(frame(PING, b"\xfe" * 126), 1002)
        self.expect_refused(frame(PONG, b"\xfe" * 126), 1002)

    def test_pongs_that_nobody_asked_for_are_ignored(self):
        self.expect(frame(PONG) + frame(PONG, b"unsolicited") + frame(PING, b"ping"),
                    Frame(PONG, b"ping"))

    def test_ten_at_once_are_answered_each(self):
        pings = [b"payload-%d" % i for i in range(10)]
        for chop in (None, 1):
            self.expect(b"".join(frame(PING, one) for one in pings),
                        *(Frame(PONG, one) for one in pings), chop=chop)

    def test_c8_of_a_flood_some_are_answered_and_the_last(self):
        client = self.client()
        client.send(b"".join(frame(PING, b"%d" % i) for i in range(90)))
        seen = [client.frame()]
        while seen[-1].payload != b"89":
            seen.append(client.frame())
        self.assertEqual([one.opcode for one in seen], [PONG] * len(seen))
        numbers = [int(one.payload) for one in seen]
        self.assertEqual(numbers, sorted(set(numbers)))

    def test_c8_a_greater_flood_is_refused(self):
        client = self.client()
        client.send(frame(PING) * 120)
        while (last := client.frame()).opcode == PONG:
            pass
        self.assertEqual((last.opcode, last.payload[:2]), (CLOSE, close_payload(1008)))


class ReservedBits(Case):
    """3: RSV1 to RSV3, without an extension."""

    def test_they_are_refused_wherever_they_are(self):
        bad = [RSV3, RSV2, RSV2 | RSV3, RSV1, RSV1 | RSV3, RSV1 | RSV2, RSV1 | RSV2 | RSV3]
        hello = frame(TEXT, b"Hello")
        for rsv in bad:
            for opcode in (TEXT, BINARY_DATA, PING, PONG, CLOSE):
                for chop in (None, 1):
                    with self.subTest(rsv=rsv, opcode=opcode, chop=chop):
                        self.expect_refused(
                            hello + frame(opcode, b"*", rsv=rsv) + frame(PING, b"never"), 1002,
                            Frame(TEXT, b"Hello"), chop=chop)


class ReservedOpcodes(Case):
    """4: opcodes that mean nothing."""

    def test_they_are_refused_empty_or_not(self):
        for opcode in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15):
            for payload in (b"", b"reserved"):
                with self.subTest(opcode=opcode, payload=payload):
                    self.expect_refused(
                        frame(TEXT, b"Hello") + frame(opcode, payload) + frame(PING), 1002,
                        Frame(TEXT, b"Hello"))


class Fragments(Case):
    """5: fragments, and what may stand between them."""

    def test_c7_control_frames_are_not_fragmented(self):
        for opcode in (PING, PONG, CLOSE):
            self.expect_refused(frame(opcode, b"one", fin=False), 1002)
            self.expect_refused(frame(opcode, b"one", fin=False) + frame(CONTINUATION, b"two"),
                                1002)

    def test_fragments_become_one_message(self):
        for opcode in (TEXT, BINARY_DATA):
            for pieces in ((b"fragment1", b"fragment2"), (b"", b"", b""), (b"", b"middle", b""),
                           tuple(b"%d" % i for i in range(50))):
                sent = frame(opcode, pieces[0], fin=False)
                sent += b"".join(frame(CONTINUATION, one, fin=False) for one in pieces[1:-1])
                sent += frame(CONTINUATION, pieces[-1])
                for chop in (None, 1):
                    with self.subTest(opcode=opcode, pieces=len(pieces), chop=chop):
                        self.expect(sent, Frame(opcode, b"".join(pieces)), chop=chop)

    def test_pings_between_them_are_answered_first(self):
        sent = (frame(TEXT, b"fragment1", fin=False) + frame(PING, b"ping 1")
                + frame(CONTINUATION, b"fragment2", fin=False) + frame(PONG, b"?")
                + frame(CONTINUATION, b"fragment3", fin=False) + frame(PING, b"ping 2")
                + frame(CONTINUATION, b"fragment4"))
        wanted = (Frame(PONG, b"ping 1"), Frame(PONG, b"ping 2"),
                  Frame(TEXT, b"fragment1fragment2fragment3fragment4"))
        for chop in (None, 1, 7):
            self.expect(sent, *wanted, chop=chop)

    def test_cut_at_every_byte_they_are_the_same(self):
        sent = (frame(TEXT, "grü".encode()[:-1], fin=False) + frame(PING, b"p")
                + frame(CONTINUATION, "ü".encode()[1:] + "ße".encode()))
        client = self.client()
        for cut in range(1, len(sent)):
            client.send(sent[:cut], sent[cut:])
            self.assertEqual(client.frame(), Frame(PONG, b"p"))
            self.assertEqual(client.frame(), Frame(TEXT, "grüße".encode()))

    def test_c7_stray_continuations_are_refused(self):
        for fin in (True, False):
            for payload in (b"", b"stray"):
                self.expect_refused(frame(CONTINUATION, payload, fin=fin), 1002)
                self.expect_refused(frame(TEXT, b"whole") + frame(CONTINUATION, payload, fin=fin),
                                    1002, Frame(TEXT, b"whole"))
        self.expect_refused(
            frame(TEXT, b"a", fin=False) + frame(CONTINUATION, b"b") + frame(CONTINUATION, b"c"),
            1002, Frame(TEXT, b"ab"))

    def test_c7_a_message_inside_a_message_is_refused(self):
        for opcode in (TEXT, BINARY_DATA):
            self.expect_refused(frame(TEXT, b"a", fin=False) + frame(opcode, b"b"), 1002)


class Masks(Case):
    def test_c7_unmasked_frames_are_refused(self):
        for opcode in (TEXT, BINARY_DATA, PING, PONG, CLOSE):
            self.expect_refused(frame(opcode, b"", mask=b""), 1002)


class Lengths(Case):
    def test_c1_lengths_have_their_shortest_form(self):
        self.expect_refused(frame(TEXT, b"x" * 125, length=2), 1002)
        self.expect_refused(frame(TEXT, b"x" * 125, length=8), 1002)
        self.expect_refused(frame(TEXT, b"x" * 65535, length=8), 1002)

    def test_c1_the_top_bit_of_a_length_is_refused(self):
        self.expect_refused(b"\x82\xff" + b"\xff" * 8 + b"\0\0\0\0", 1002)
        self.expect_refused(b"\x82\xff\x80" + b"\0" * 7 + b"\0\0\0\0", 1002)

    def test_c1_a_length_over_the_limit_is_refused_before_it_comes(self):
        self.expect_refused(b"\x82\xff\x7f" + b"\xff" * 7 + b"\0\0\0\0", 1009)
        self.expect_refused(frame(BINARY_DATA, b"x" * 100, fin=False)
                            + b"\x80\xff\x7f" + b"\xff" * 7 + b"\0\0\0\0", 1009)


class Closing(Case):
    """7: the closing handshake."""

    def test_a_close_is_answered_with_its_code(self):
        for code in (1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000,
                     3999, 4000, 4999):
            for reason in (b"", b"reason", "grüße".encode(), b"*" * 123):
                with self.subTest(code=code, reason=reason):
                    client = self.client()
                    client.send(frame(CLOSE, close_payload(code, reason)))
                    self.assertEqual(client.end(), code)

    def test_a_close_without_a_code_is_answered_so(self):
        client = self.client()
        client.send(frame(CLOSE))
        self.assertIsNone(client.end())

    def test_codes_that_may_not_be_sent_are_refused(self):
        for code in (0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535):
            with self.subTest(code=code):
                self.expect_refused(frame(CLOSE, close_payload(code)), 1002)

    def test_a_close_of_one_byte_or_of_too_many_is_refused(self):
        self.expect_refused(frame(CLOSE, b"x"), 1002)
        self.expect_refused(frame(CLOSE, close_payload(1000, b"*" * 124)), 1002)

    def test_c6_a_reason_is_utf8(self):
        for reason in (b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xed\xa0\x80edited", b"\xff",
                       b"cut \xe2\x82"):
            self.expect_refused(frame(CLOSE, close_payload(1000, reason)), 1007)

    def test_c10_nothing_is_said_behind_the_close(self):
        closing = frame(CLOSE, close_payload(1000))
        for late in (closing, frame(PING, b"late"), frame(TEXT, b"late"),
                     frame(CONTINUATION, b"late"), b"\xff" * 100):
            with self.subTest(late=late):
                client = self.client()
                client.send(closing + late)
                self.assertEqual(client.end(), 1000)

    def test_what_came_before_the_close_is_answered(self):
        self.expect(frame(TEXT, b"Hello World!"), Frame(TEXT, b"Hello World!"))
        payload = b"BAsd7&jh23" * (256 << 10)
        client = self.client()
        client.send(frame(TEXT, payload), frame(CLOSE, close_payload(1000)))
        self.assertEqual(client.frame(), Frame(TEXT, payload))
        self.assertEqual(client.end(), 1000)

    def test_a_close_may_come_between_fragments(self):
        client = self.client()
        client.send(frame(TEXT, b"fragment", fin=False) + frame(CLOSE, close_payload(1000))
                    + frame(CONTINUATION, b"late"))
        self.assertEqual(client.end(), 1000)


if __name__ == "__main__":
    unittest.main()
