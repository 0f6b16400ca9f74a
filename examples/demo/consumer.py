"""A payment consumer in Python: RabbitMQ (pika), claimd (plain grpcio stubs), SQLite.

One message: claim it, charge in one transaction with an inbox row, complete the claim, acknowledge.
consumer.c is the same consumer in C; both read the same environment and write the same log.
"""
import json
import os
import random
import signal
import sqlite3
import time
import uuid

import grpc
import pika
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2, status_pb2

from claimd.v1 import claims_pb2 as pb
from claimd.v1 import claims_pb2_grpc as rpc

CONSUMER = "billing/capture"
WAIT_MS = 1000  # how long Begin may wait for another attempt before the message is requeued
CALL_TIMEOUT_S = 5.0
RETRY_FOR_S = 60.0
RETRY_PAUSE_S = 0.1
PREFETCH = 4
# Answers that claimd did not give: the change may have happened, so the same request is repeated.
AMBIGUOUS = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED,
             grpc.StatusCode.CANCELLED)

stop_wanted = False


def ask_to_stop(_signal, _frame):
    global stop_wanted
    stop_wanted = True


def join_key(*parts):
    """A composite message ID, the same in every language: '%' and ':' are percent-encoded."""
    return ":".join(part.replace("%", "%25").replace(":", "%3A") for part in parts)


def now_ms():
    """CLOCK_MONOTONIC, which all processes of this machine share."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1_000_000


def duration_ms(milliseconds):
    duration = Duration()
    duration.FromMilliseconds(milliseconds)
    return duration


def error_reason(error):
    """claimd's own reason (STALE_TOKEN, ...), or None if the status is not claimd's."""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            for detail in status_pb2.Status.FromString(value).details:
                info = error_details_pb2.ErrorInfo()
                if detail.Unpack(info) and info.domain == "claimd":
                    return info.reason
    return None


class Settings:
    """What the driver wants; see fleet.py."""

    def __init__(self, env):
        self.amqp_port = int(env["DEMO_AMQP_PORT"])
        self.queue = env["DEMO_QUEUE"]
        self.claimd = env["DEMO_CLAIMD"]
        self.ledger = env["DEMO_LEDGER"]
        self.log = env["DEMO_LOG"]
        self.owner = env["DEMO_OWNER"]
        self.lease_ms = int(env["DEMO_LEASE_MS"])
        self.work_ms = int(env["DEMO_WORK_MS"])
        self.die_at = env.get("DEMO_DIE_AT", "")
        self.die_after = int(env.get("DEMO_DIE_AFTER", "0"))
        self.sabotage = env.get("DEMO_SABOTAGE", "")


class Log:
    """One line, one write: what was written before a SIGKILL is there after it."""

    def __init__(self, path):
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def write(self, *words):
        os.write(self._fd, ("\t".join(str(word) for word in words) + "\n").encode())


class Claims:
    """Begin and Complete, repeated while nobody can know what became of them."""

    def __init__(self, settings, log):
        channel = grpc.insecure_channel(settings.claimd, options=[
            ("grpc.initial_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 500)])
        self._stub = rpc.ClaimServiceStub(channel)
        self._settings = settings
        self._log = log

    def begin(self, message_id):
        # The request_id is made once: every repeat of this call is the same logical Begin.
        return self._repeat(self._stub.Begin, pb.BeginRequest(
            consumer=CONSUMER, message_id=message_id, owner=self._settings.owner,
            lease=duration_ms(self._settings.lease_ms), wait=duration_ms(WAIT_MS),
            request_id=uuid.uuid4().hex))

    def complete(self, message_id, token, result):
        return self._repeat(self._stub.Complete, pb.CompleteRequest(
            consumer=CONSUMER, message_id=message_id, token=token, result=result))

    def _repeat(self, method, request):
        deadline = time.monotonic() + RETRY_FOR_S
        while True:
            try:
                return method(request, timeout=CALL_TIMEOUT_S)
            except grpc.RpcError as error:
                if error.code() not in AMBIGUOUS or time.monotonic() > deadline:
                    raise
                self._log.write("repeat", request.message_id, error.code().name)
                time.sleep(RETRY_PAUSE_S)


class Sink:
    """The database of the payment service: inbox and ledger."""

    def __init__(self, path):
        self._db = sqlite3.connect(path, timeout=30, isolation_level=None)
        self._db.execute("PRAGMA synchronous = FULL")

    def has(self, message_id):
        return self._db.execute("SELECT 1 FROM inbox WHERE consumer = ? AND message_id = ?",
                                (CONSUMER, message_id)).fetchone() is not None

    def charge(self, message_id, token, event, owner, use_inbox):
        """One transaction: inbox row, and the charge only if the row is new. True if charged."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            new = True
            if use_inbox:
                new = self._db.execute("INSERT INTO inbox VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                                       (CONSUMER, message_id, token)).rowcount == 1
            if new:
                self._db.execute(
                    "INSERT INTO ledger VALUES (NULL, ?, ?, ?, ?)",
                    (event["intent"], event["type"], event["amount_cents"], owner))
            self._db.execute("COMMIT")
            return new
        except BaseException:
            self._db.execute("ROLLBACK")
            raise


class Handler:
    def __init__(self, settings, log):
        self._settings = settings
        self._log = log
        self._claims = Claims(settings, log)
        self._sink = Sink(settings.ledger)
        self._use_inbox = settings.sabotage not in ("no-claim", "no-inbox")
        self._started = 0

    def handle(self, body):
        """True: acknowledge the message. False: give it back to the broker."""
        event = json.loads(body)
        message_id = join_key(event["intent"], event["type"])
        self._log.write("deliver", message_id)
        if self._settings.sabotage == "no-claim":
            self._started += 1
            self._charge(message_id, 0, event)
            return True
        sent_ms = now_ms()
        begun = self._claims.begin(message_id)
        outcome = pb.BeginOutcome.Name(begun.outcome).removeprefix("BEGIN_OUTCOME_")
        ended = pb.AttemptEnd.Name(begun.takeover.previous_end).removeprefix("ATTEMPT_END_")
        self._log.write("begin", message_id, outcome, begun.attempt, begun.token, ended,
                        sent_ms, now_ms())
        if begun.outcome == pb.BEGIN_OUTCOME_CLAIMED:
            return self._do(message_id, begun, event)
        # Final, or safe in claimd as a dead letter: the broker may forget it. IN_FLIGHT, NOT_YET
        # and OUTCOME_UNKNOWN may still need a delivery.
        return begun.outcome in (pb.BEGIN_OUTCOME_DUPLICATE, pb.BEGIN_OUTCOME_DEAD_LETTERED)

    def _do(self, message_id, begun, event):
        self._started += 1
        self._maybe_die("after-begin")
        # Somebody was here before us and may have got as far as the commit: look before we leap.
        if begun.attempt > 1 and self._use_inbox and self._sink.has(message_id):
            self._log.write("effect", message_id, "reconciled")
        else:
            self._charge(message_id, begun.token, event)
        result = json.dumps({"charged_cents": event["amount_cents"]}).encode()
        try:
            done = self._claims.complete(message_id, begun.token, result)
        except grpc.RpcError as error:
            if error_reason(error) not in ("STALE_TOKEN", "WRONG_STATE"):
                raise
            # We outlived our lease and somebody took over: the claim is theirs to complete.
            self._log.write("fenced", message_id, error_reason(error))
            return False
        self._log.write("complete", message_id, pb.ClaimState.Name(done.state))
        self._maybe_die("after-complete")
        return True

    def _charge(self, message_id, token, event):
        time.sleep(random.uniform(0, 2) * self._settings.work_ms / 1000)  # the card network
        charged = self._sink.charge(message_id, token, event, self._settings.owner,
                                    use_inbox=self._use_inbox)
        self._maybe_die("after-commit")
        self._log.write("effect", message_id, "charged" if charged else "refused")

    def _maybe_die(self, point):
        if point == self._settings.die_at and self._started >= self._settings.die_after:
            self._log.write("die", point)
            os.kill(os.getpid(), signal.SIGKILL)


def main():
    signal.signal(signal.SIGTERM, ask_to_stop)
    settings = Settings(os.environ)
    log = Log(settings.log)
    handler = Handler(settings, log)
    connection = pika.BlockingConnection(pika.ConnectionParameters(
        "127.0.0.1", settings.amqp_port, heartbeat=60))
    channel = connection.channel()
    channel.basic_qos(prefetch_count=PREFETCH)
    log.write("start", settings.owner)
    for method, _, body in channel.consume(settings.queue, inactivity_timeout=0.2):
        if stop_wanted:
            break  # closing gives back whatever was delivered and not yet handled
        if method is None:
            continue
        if settings.sabotage == "ack-first":
            channel.basic_ack(method.delivery_tag)
            handler.handle(body)
        elif handler.handle(body):
            channel.basic_ack(method.delivery_tag)
            log.write("ack")
        else:
            channel.basic_nack(method.delivery_tag, requeue=True)
            log.write("requeue")
    connection.close()


if __name__ == "__main__":
    main()
