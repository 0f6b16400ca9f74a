"""grpc.health.v1: Check, Watch, and what both say while claimd stops; and how a stop goes for those
who are in the middle of something."""
import contextlib
import shutil
import socket
import time
import unittest

import grpc

import live_claimd
import live_rpc
from claimd.v1 import claims_pb2, operations_pb2

CHECK = "/grpc.health.v1.Health/Check"
WATCH = "/grpc.health.v1.Health/Watch"
SERVING, NOT_SERVING, SERVICE_UNKNOWN = 1, 2, 3
SERVICES = ("", "claimd.v1.ClaimService", "claimd.v1.OperationService")
WATCHES_MAX = 1024
WHILE_STOPPING = (("UNAVAILABLE", "DRAINING"), ("UNAVAILABLE", ""), ("CANCELLED", ""))
# Notice, and the time that running calls are given; with room for a slow machine.
STOP_S_MAX = 15 * (3 if live_claimd.IS_SANITIZED else 1)


def ask(service):
    """A HealthCheckRequest."""
    name = service.encode()
    return b"\x0a" + bytes([len(name)]) + name if name else b""


def status_of(response):
    """The status of a HealthCheckResponse."""
    assert len(response) == 2 and response[0] == 8, response
    return response[1]


class Base(unittest.TestCase):
    def setUp(self):
        directory = live_claimd.temp_dir()
        self.addCleanup(shutil.rmtree, directory)
        self.server = live_claimd.Claimd(directory / "data")
        self.addCleanup(self.server.close)
        self.server.create().start()
        self.client = self.new_client()

    def new_client(self):
        client = live_rpc.Client(self.server.address)
        self.addCleanup(client.close)
        return client

    def check(self, service):
        return status_of(self.client.raw(CHECK)(ask(service)))

    def watch(self, service="", client=None):
        """A stream of statuses."""
        stream = (client or self.client).channel.unary_stream(WATCH)(ask(service))
        self.addCleanup(stream.cancel)
        return stream

    def check_stop(self, terminated_at):
        """It ends cleanly and in time."""
        self.assertEqual(self.server.wait(), 0, self.server.log())
        self.assertLess(time.monotonic() - terminated_at, STOP_S_MAX)


class HealthTest(Base):
    def test_check(self):
        for service in SERVICES:
            self.assertEqual(self.check(service), SERVING)
        with self.assertRaises(grpc.RpcError) as caught:
            self.check("claimd.v1.NoSuchService")
        self.assertEqual(caught.exception.code(), grpc.StatusCode.NOT_FOUND)

    def test_watch_tells_the_status_at_once(self):
        for service in SERVICES:
            self.assertEqual(status_of(next(self.watch(service))), SERVING)

    def test_watch_of_an_unknown_service_stays_open(self):
        stream = self.watch("claimd.v1.NoSuchService")
        self.assertEqual(status_of(next(stream)), SERVICE_UNKNOWN)
        self.assertTrue(stream.is_active())
        self.assertEqual(self.check(""), SERVING)

    def test_watches_are_bounded_and_come_back(self):
        clients = [self.new_client() for _ in range(2)]  # a connection carries half of them
        streams = []
        for number in range(WATCHES_MAX):
            streams.append(self.watch(client=clients[number % 2]))
            self.assertEqual(status_of(next(streams[-1])), SERVING)
        with self.assertRaises(grpc.RpcError) as caught:
            next(self.watch())
        error = live_rpc.decode_error(caught.exception)
        self.assertEqual((error.code, error.reason), ("RESOURCE_EXHAUSTED", "QUEUE_FULL"))
        self.assertEqual(self.check(""), SERVING)
        for stream in streams[:10]:
            stream.cancel()
        # The server hears of it in its own time.
        for _ in range(10000):
            with contextlib.suppress(grpc.RpcError):
                self.assertEqual(status_of(next(self.watch())), SERVING)
                return
        self.fail("cancelled watches are still counted")

    def test_a_stop_is_told_and_then_the_stream_ends(self):
        streams = [self.watch(service) for service in SERVICES]
        streams.append(self.watch("claimd.v1.NoSuchService"))
        for stream in streams:
            next(stream)
        terminated_at = time.monotonic()
        self.server.terminate()
        for stream in streams[:-1]:
            self.assertEqual(status_of(next(stream)), NOT_SERVING)
        for stream in streams:
            with self.assertRaises(grpc.RpcError) as caught:
                next(stream)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAVAILABLE)
        self.check_stop(terminated_at)
        self.server.start()
        self.assertEqual(status_of(next(self.watch(client=self.new_client()))), SERVING)


class StopTest(Base):
    def begin_waiting(self, message_id):
        """A Begin that is parked when this returns: another call, sent later, has been answered."""
        request = claims_pb2.BeginRequest(consumer="stop", message_id=message_id)
        request.wait.FromSeconds(60)
        waiting = self.client.claims.Begin.future(request, timeout=90)
        self.client.status()
        return waiting

    def test_claims_may_end_during_the_notice_and_none_begins(self):
        """What a client can do between the notice and the end of its connection."""
        completed = refused = 0
        for number in range(20):
            self.client = self.new_client()
            held = self.client.begin("stop", f"held-{number}")
            stream = self.watch()
            next(stream)
            self.server.terminate()
            self.assertEqual(status_of(next(stream)), NOT_SERVING)
            fresh = f"fresh-{number}"
            begun = self.refusal_while_stopping(lambda: self.client.begin("stop", fresh))
            if begun.reason == "DRAINING":
                refused += 1
                self.assertGreater(begun.retry_ms, 0)
            try:
                done = self.client.complete("stop", f"held-{number}", held.token, result=b"r")
                completed += done.state == claims_pb2.CLAIM_STATE_SUCCEEDED
            except live_rpc.Refused as late:
                self.assertIn((late.error.code, late.error.reason), WHILE_STOPPING[1:])
            self.assertEqual(self.server.wait(), 0)
            self.server.start()
            with live_rpc.Client(self.server.address) as client:
                self.assertIsNone(client.get("stop", fresh))
                if completed == number + 1:
                    self.assertEqual(client.begin("stop", f"held-{number}").result, b"r")
            if completed and refused and number >= 2:
                return
        self.fail(f"the notice is of no use: {completed} completed, {refused} refused")

    def refusal_while_stopping(self, call):
        """claimd's own, or the transport's when the notice was over first."""
        with self.assertRaises(live_rpc.Refused) as caught:
            call()
        error = caught.exception.error
        self.assertIn((error.code, error.reason), WHILE_STOPPING)
        return error

    def test_what_waits_is_answered(self):
        self.client.begin("stop", "held")
        waiting = [self.begin_waiting("held") for _ in range(5)]
        terminated_at = time.monotonic()
        self.server.terminate()
        for call in waiting:
            self.assertEqual(call.result().outcome, live_rpc.IN_FLIGHT)
        self.check_stop(terminated_at)

    def test_open_streams_do_not_hold_it_up(self):
        """A watch and a long prune, neither of them read."""
        for start in range(0, 4000, 500):
            calls = [self.client.claims.Cancel.future(claims_pb2.CancelRequest(
                consumer="stop", message_id=f"m{start + i}")) for i in range(500)]
            for call in calls:
                call.result()
        watch = self.watch()
        next(watch)
        request = operations_pb2.PruneRequest(force=True)
        request.before.FromJsonString("9999-01-01T00:00:00Z")
        prune = self.new_client().operations.Prune(request, timeout=120)
        next(prune)
        terminated_at = time.monotonic()
        self.server.terminate()
        self.check_stop(terminated_at)
        removed = None
        with contextlib.suppress(grpc.RpcError):
            for progress in prune:
                removed = progress.removed_count if progress.done else None
        self.server.start()
        with live_rpc.Client(self.server.address) as client:
            left = client.state_counts().get("REJECTED", 0)
            self.assertEqual(left, 4000 - removed if removed is not None else left)
            final = list(client.operations.Prune(request, timeout=60))[-1]
            self.assertEqual((final.done, final.removed_count), (True, left))
            self.assertEqual(client.state_counts(), {})

    @unittest.skipUnless(live_claimd.IS_FULL, "takes the whole time that a stop may take")
    def test_connections_that_say_nothing_hold_it_up_no_longer_than_that(self):
        silent = socket.create_connection(("127.0.0.1", self.server.port))
        self.addCleanup(silent.close)
        terminated_at = time.monotonic()
        self.server.terminate()
        self.check_stop(terminated_at)

    def test_a_second_signal_changes_nothing(self):
        self.client.begin("stop", "held")
        terminated_at = time.monotonic()
        for _ in range(3):
            self.server.terminate()
        self.check_stop(terminated_at)


if __name__ == "__main__":
    unittest.main(verbosity=2)
