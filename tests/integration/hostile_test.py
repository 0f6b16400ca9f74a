"""What a client sends that means no good: claimd keeps its memory, and goes on serving others."""
import contextlib
import shutil
import socket
import struct
import unittest

import grpc

import live_claimd
import live_rpc
from claimd.v1 import claims_pb2, operations_pb2

HEALTH_WATCH = "/grpc.health.v1.Health/Watch"
MIB = 1 << 20
TRIES_MAX = 20000
# The library's own buffers, and a sanitizer's.
MEMORY_MIB_MAX = 1500 if live_claimd.IS_SANITIZED else 600


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def text_field(number, length):
    """A field of that many bytes, as it is sent."""
    return varint(number << 3 | 2) + varint(length) + b"a" * length


def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


class Deaf:
    """An HTTP/2 client that asks and never takes an answer: its window is zero."""

    DATA, HEADERS, SETTINGS = 0, 1, 4
    END_STREAM, END_HEADERS = 1, 4
    INITIAL_WINDOW_SIZE = 4

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.stream = 1
        self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(
            self.SETTINGS, 0, 0, struct.pack(">HI", self.INITIAL_WINDOW_SIZE, 0)))

    def ask(self, path, message):
        headers = b""
        for name, value in ((":method", "POST"), (":scheme", "http"), (":path", path),
                            (":authority", "claimd"), ("te", "trailers"),
                            ("content-type", "application/grpc")):
            headers += b"\0" + bytes([len(name)]) + name.encode()
            headers += bytes([len(value)]) + value.encode()
        body = b"\0" + struct.pack(">I", len(message)) + message
        self.socket.sendall(frame(self.HEADERS, self.END_HEADERS, self.stream, headers) +
                            frame(self.DATA, self.END_STREAM, self.stream, body))
        self.stream += 2

    def close(self):
        self.socket.close()


class HostileTest(unittest.TestCase):
    def setUp(self):
        directory = live_claimd.temp_dir()
        self.claimd = live_claimd.Claimd(directory / "data").create().start()
        self.addCleanup(self.claimd.remove)
        self.client = live_rpc.Client(self.claimd.address)
        self.addCleanup(self.client.close)

    def memory_mib(self, what="VmHWM"):
        with open(f"/proc/{self.claimd.process.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) // 1024 for line in status if line.startswith(what))

    def refusal(self, path, request, streams=False):
        method = (self.client.channel.unary_stream if streams else self.client.channel.unary_unary)
        with self.assertRaises(grpc.RpcError) as caught:
            answer = method(path)(request, timeout=live_rpc.TIMEOUT_S)
            if streams:
                next(answer)
        return live_rpc.decode_error(caught.exception)

    def test_compressed_request_is_not_inflated(self):
        before = self.memory_mib()
        begin = self.client.channel.unary_unary(live_rpc.CLAIM_SERVICE + "Begin")
        with self.assertRaises(grpc.RpcError) as caught:
            begin(bytes(300 * MIB), compression=grpc.Compression.Gzip, timeout=live_rpc.TIMEOUT_S)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNIMPLEMENTED)
        self.assertLess(self.memory_mib() - before, 100)

    def test_long_request_does_not_wait(self):
        request = claims_pb2.BeginRequest(consumer="c", message_id="m", payload_ref="x")
        long_one = text_field(8, 2 * MIB) + request.SerializeToString()
        self.client.raw(live_rpc.CLAIM_SERVICE + "Begin")(long_one)  # the last one counts
        request.wait.FromSeconds(60)
        error = self.refusal(live_rpc.CLAIM_SERVICE + "Begin",
                             text_field(8, 2 * MIB) + request.SerializeToString())
        self.assertEqual((error.code, error.field, error.limit),
                         ("INVALID_ARGUMENT", "request", "16 KiB"))

    def test_long_health_watch_is_refused(self):
        error = self.refusal(HEALTH_WATCH, text_field(1, 2 * MIB), streams=True)
        self.assertEqual((error.code, error.field), ("INVALID_ARGUMENT", "request"))

    def test_answers_that_nobody_reads_are_bounded(self):
        token = self.client.begin("c", "m").token
        self.client.complete("c", "m", token, result=b"r" * 65536)
        request = operations_pb2.GetClaimRequest(consumer="c", message_id="m", include_bodies=True)
        with contextlib.ExitStack() as deaf_ones:
            for _ in range(6):
                deaf = deaf_ones.enter_context(contextlib.closing(Deaf(self.claimd.port)))
                for _ in range(1000):
                    deaf.ask(live_rpc.OPERATION_SERVICE + "GetClaim", request.SerializeToString())
            # Large answers are refused once there is no room; how soon that is depends on the load.
            with self.assertRaises(live_rpc.Refused) as caught:
                for _ in range(TRIES_MAX):
                    self.client.get("c", "m", bodies=True)
            self.assertEqual(caught.exception.error.reason, "QUEUE_FULL")
            self.assertLess(self.memory_mib(), MEMORY_MIB_MAX)
            self.assertEqual(self.client.get("c", "m").message_id, "m")
            self.assertEqual(self.client.begin("c", "other").outcome, live_rpc.CLAIMED)
        for _ in range(TRIES_MAX):  # they have gone, and what they held is free again
            with contextlib.suppress(live_rpc.Refused):
                self.assertEqual(len(self.client.get("c", "m", bodies=True).result), 65536)
                return
        self.fail("large answers are still refused")

    def test_socket_of_another_is_not_taken_over(self):
        home = live_claimd.temp_dir()
        self.addCleanup(shutil.rmtree, home, ignore_errors=True)
        listen = ("--listen", f"unix:{home}/socket")
        first = live_claimd.Claimd(home / "first", options=listen).create().start()
        self.addCleanup(first.close)
        second = live_claimd.Claimd(home / "second", options=listen).create()
        self.addCleanup(second.close)
        self.assertEqual(second.run_to_end(), 1)
        self.assertIn("another process", second.log())
        with live_rpc.Client(f"unix:{home}/socket") as client:
            self.assertEqual(client.begin("c", "m").outcome, live_rpc.CLAIMED)
        first.kill()  # its file stays behind, and is in nobody's way
        second.start()
        self.assertEqual(second.stop(), 0)

    def test_prune_that_a_stop_ends_says_that_it_had_begun(self):
        for start in range(0, 20000, 500):
            calls = [self.client.claims.Cancel.future(claims_pb2.CancelRequest(
                consumer="c", message_id=f"m{start + i}", reason="r")) for i in range(500)]
            for call in calls:
                call.result()
        prune = operations_pb2.PruneRequest(force=True)
        prune.before.FromJsonString("9999-01-01T00:00:00Z")
        stream = self.client.operations.Prune(prune, timeout=live_rpc.TIMEOUT_S)
        removed = next(stream).removed_count
        self.claimd.terminate()
        try:
            for progress in stream:
                removed = progress.removed_count
        except grpc.RpcError as error:
            told = live_rpc.decode_error(error)
            self.assertEqual((told.code, told.reason), ("UNAVAILABLE", "DRAINING"))
            self.assertIn("stays removed", told.message)
            self.assertNotIn("nothing was changed", told.message)
        self.assertGreater(removed, 0)
        self.assertEqual(self.claimd.wait(), 0)


if __name__ == "__main__":
    unittest.main()
