"""The five scenarios of an at-least-once consumer, over the wire."""
import shutil
import threading
import unittest

import live_claimd
import live_rpc
from claimd.v1 import claims_pb2, operations_pb2

CONSUMER = "billing/capture"
LEASE_MS = 60_000


class Ledger:
    """Where the effects go: who did what, in order."""

    def __init__(self):
        self.effects = []
        self._lock = threading.Lock()

    def charge(self, message_id, attempt):
        with self._lock:
            self.effects.append((message_id, attempt))


class HandlerFailed(Exception):
    """A handler that did not have its effect."""


class Consumer:
    """Claims a message, does the effect, completes; as the README says."""

    def __init__(self, address, ledger, owner="consumer"):
        self.client = live_rpc.Client(address)
        self.ledger = ledger
        self.owner = owner

    def close(self):
        self.client.close()

    def deliver(self, message_id, wait_ms=None, handler=None):
        """One delivery of a message; what Begin answered."""
        begun = self.client.begin(CONSUMER, message_id, lease_ms=LEASE_MS, wait_ms=wait_ms,
                                  owner=self.owner, timeout=90)
        if begun.outcome != live_rpc.CLAIMED:
            return begun
        try:
            if handler is not None:
                handler(begun)
        except HandlerFailed as failure:
            self.client.fail(CONSUMER, message_id, begun.token,
                             claims_pb2.FAILURE_KIND_TRANSIENT, retry_after_ms=20,
                             message=str(failure))
            return begun
        self.ledger.charge(message_id, begun.attempt)
        self.client.complete(CONSUMER, message_id, begun.token, result=b"charged")
        return begun


class ScenariosTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = live_claimd.temp_dir()
        cls.addClassCleanup(shutil.rmtree, directory)
        cls.server = live_claimd.Claimd(directory / "data")
        cls.addClassCleanup(cls.server.close)
        cls.server.create().start()

    def setUp(self):
        self.ledger = Ledger()
        self.message_id = self.id()
        self.consumer = self.new_consumer("first")

    def new_consumer(self, owner):
        consumer = Consumer(self.server.address, self.ledger, owner)
        self.addCleanup(consumer.close)
        return consumer

    def test_duplicate_delivery_applies_once(self):
        first = self.consumer.deliver(self.message_id)
        self.assertEqual((first.outcome, first.attempt), (live_rpc.CLAIMED, 1))
        again = self.consumer.deliver(self.message_id)
        self.assertEqual((again.outcome, again.result), (live_rpc.DUPLICATE, b"charged"))
        self.assertEqual(self.ledger.effects, [(self.message_id, 1)])

    def test_six_concurrent_duplicates_apply_once(self):
        consumers = [self.new_consumer(f"c{n}") for n in range(6)]
        start = threading.Barrier(len(consumers))
        outcomes = []

        def deliver(consumer):
            start.wait()
            outcomes.append(consumer.deliver(self.message_id, wait_ms=60_000).outcome)

        threads = [threading.Thread(target=deliver, args=(consumer,)) for consumer in consumers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(outcomes), [live_rpc.CLAIMED] + 5 * [live_rpc.DUPLICATE])
        self.assertEqual(self.ledger.effects, [(self.message_id, 1)])

    def test_a_failing_handler_is_retried(self):
        def fail_at_first(begun):
            if begun.attempt == 1:
                raise HandlerFailed("the bank is closed")

        self.consumer.deliver(self.message_id, handler=fail_at_first)
        self.assertEqual(self.ledger.effects, [])
        second = self.consumer.deliver(self.message_id, wait_ms=60_000, handler=fail_at_first)
        self.assertEqual((second.outcome, second.attempt), (live_rpc.CLAIMED, 2))
        self.assertEqual(second.takeover.previous_end, claims_pb2.ATTEMPT_END_FAILED)
        self.assertEqual(second.takeover.last_error.message, "the bank is closed")
        self.assertEqual(self.ledger.effects, [(self.message_id, 2)])
        claim = self.consumer.client.get(CONSUMER, self.message_id)
        self.assertEqual((claim.state, claim.retries.transient),
                         (claims_pb2.CLAIM_STATE_SUCCEEDED, 1))

    def test_a_crash_holds_the_lease_until_it_lapses_and_is_taken_over_with_attempt_2(self):
        crashed = self.consumer.client.begin(CONSUMER, self.message_id, lease_ms=400,
                                             owner="crashed")
        self.assertEqual(crashed.outcome, live_rpc.CLAIMED)
        other = self.new_consumer("second")
        held = other.deliver(self.message_id)
        self.assertEqual((held.outcome, held.owner), (live_rpc.IN_FLIGHT, "crashed"))
        self.assertGreater(held.retry_after.ToMilliseconds(), 0)
        self.assertLessEqual(held.retry_after.ToMilliseconds(), 400)
        taken = other.deliver(self.message_id, wait_ms=60_000)
        self.assertEqual((taken.outcome, taken.attempt), (live_rpc.CLAIMED, 2))
        self.assertGreater(taken.token, crashed.token)
        self.assertEqual(taken.takeover.previous_owner, "crashed")
        self.assertEqual(taken.takeover.previous_end, claims_pb2.ATTEMPT_END_LAPSED)
        self.assertEqual(taken.effect_key, crashed.effect_key)
        late = self.consumer.client.refusal(
            self.consumer.client.claims.Complete, claims_pb2.CompleteRequest(
                consumer=CONSUMER, message_id=self.message_id, token=crashed.token))
        self.assertEqual((late.code, late.reason, late.state),
                         ("FAILED_PRECONDITION", "STALE_TOKEN", "SUCCEEDED"))
        self.assertEqual(self.ledger.effects, [(self.message_id, 2)])

    def test_after_prune_the_same_id_applies_again(self):
        self.consumer.deliver(self.message_id)
        request = operations_pb2.PruneRequest(consumer=CONSUMER)
        request.before.GetCurrentTime()
        request.before.seconds += 1
        refused = self.consumer.client.refusal(
            lambda request, timeout: list(self.consumer.client.operations.Prune(
                request, timeout=timeout)), request)
        self.assertEqual(refused.reason, "WINDOW_VIOLATION")
        self.assertEqual(self.consumer.deliver(self.message_id).outcome, live_rpc.DUPLICATE)
        request.force = True
        progress = list(self.consumer.client.operations.Prune(request, timeout=60))
        self.assertTrue(progress[-1].done)
        self.assertGreaterEqual(progress[-1].removed_count, 1)
        again = self.consumer.deliver(self.message_id)
        self.assertEqual((again.outcome, again.attempt), (live_rpc.CLAIMED, 1))
        self.assertEqual(self.ledger.effects, [(self.message_id, 1), (self.message_id, 1)])


if __name__ == "__main__":
    unittest.main(verbosity=2)
