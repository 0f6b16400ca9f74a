"""The main job on real input: payment events through RabbitMQ, charged exactly once by consumers in
two languages, while consumers and claimd are killed. README.md tells the story; script/demo is how
to run it.
"""
import argparse
import contextlib
import pathlib
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import time

from broker import Broker
from consumer import CONSUMER, join_key
from events import Publisher, make, publications
from fleet import DEATHS, LANGUAGES, Fleet
from processes import Failure
from report import judge
from server import Server

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEASE_MS = 2000  # short, so that the claims of the killed are soon taken over
KILLS_PER_LANGUAGE = 4


class Run:
    """One run: what was published, who works, and what the ledger says."""

    def __init__(self, options, directory, rng):
        self._rng = rng
        self._deadline = time.monotonic() + options.deadline
        self._options = options
        self.events = make(options.events, rng)
        self.message_ids = [join_key(event.intent, event.type) for event in self.events]
        self.lease_ms = LEASE_MS
        self.published = 0
        self.left_in_queue = None
        self.ledger_path = directory / "ledger.db"
        self.broker = Broker(directory / "rabbitmq", "payments")
        self.server = Server(options.claimd, directory / "claimd")
        self.fleet = Fleet(directory / "consumers", options.c_consumer, {
            "DEMO_AMQP_PORT": str(self.broker.port), "DEMO_QUEUE": self.broker.queue,
            "DEMO_CLAIMD": self.server.address, "DEMO_LEDGER": str(self.ledger_path),
            "DEMO_LEASE_MS": str(self.lease_ms), "DEMO_WORK_MS": str(options.work_ms),
            "DEMO_SABOTAGE": options.sabotage or "",
            "PYTHONPATH": str(ROOT / "client" / "python")}, rng)

    def play(self):
        self._make_ledger()
        with contextlib.ExitStack() as started:
            started.callback(self.broker.stop)
            started.callback(self.server.stop)
            started.callback(self.fleet.stop)
            started.callback(ignore_signals)  # the first to run: stopping is not interrupted
            say("starting RabbitMQ and claimd")
            self.server.create()
            self.server.start()
            self.broker.start()
            self._start_consumers()
            self._publish_and_kill()
            self._drain()
            return judge(self)

    def _start_consumers(self):
        """Each death is certain to happen: one consumer of each language has it in its orders."""
        for language in LANGUAGES:
            self.fleet.start_one(language)
            for death in DEATHS:
                self.fleet.start_one(language, death,
                                     self._rng.randint(2, max(3, len(self.events) // 100)))
        # Nobody may eat all the messages while the others are still starting.
        self.fleet.wait_until_working()
        say(f"{len(self.fleet.live)} consumers work: {', '.join(LANGUAGES)}")

    def _publish_and_kill(self):
        """The next part is always published before a kill: everybody is at work when it comes."""
        kills = [language for language in LANGUAGES for _ in range(KILLS_PER_LANGUAGE)]
        self._rng.shuffle(kills)
        kills.insert(len(kills) // 2, "claimd")
        parts = publications(self.events, len(kills) + 1, self._rng)
        publisher = Publisher(self.broker)
        publisher.publish(parts[0])
        distinct = 0
        for kill, part, following in zip(kills, parts, parts[1:]):
            publisher.publish(following)
            target = distinct + self._rng.randint(1, max(1, len(set(part)) - 1))
            distinct += len(set(part))
            self._wait_for_charges(target, publisher)
            say(f"{self._charges():,} charges; SIGKILL to "
                + ("claimd, and starting it again" if kill == "claimd" else f"a {kill} consumer"))
            if kill == "claimd":
                self.server.kill_and_restart()
            else:
                self.fleet.kill_one(kill)
        self.published = publisher.count
        publisher.close()

    def _wait_for_charges(self, target, publisher):
        while self._charges() < target:
            self._tick("the next charge")
            publisher.idle()

    def _drain(self):
        """Ends when the queue is empty after everybody has gone."""
        say("everything is published; waiting for the rest")
        while True:
            self._wait_while_there_is_work()
            # What a consumer held and had not begun goes back to the queue when it stops.
            self.fleet.finish()
            self.left_in_queue = self.broker.ready_messages()
            if self.left_in_queue == 0:
                return
            for language in LANGUAGES:
                self.fleet.start_one(language)
            self.fleet.wait_until_working()

    def _wait_while_there_is_work(self):
        """An event that is not charged may still be in somebody's hands, for a lease or two. Then
        it is in the queue, or lost."""
        lost_at = time.monotonic() + 2 * self.lease_ms / 1000
        charges = self._charges()
        while True:
            ready, missing = self.broker.ready_messages(), 0 in self.ledger_by_event().values()
            if ready or self._charges() != charges:
                lost_at = time.monotonic() + 2 * self.lease_ms / 1000
                charges = self._charges()
            elif not missing or time.monotonic() > lost_at:
                return
            self._tick("the last event")
            time.sleep(0.1)

    def _tick(self, waiting_for):
        self.fleet.replace_the_dead()
        self.server.check_alive()
        if time.monotonic() > self._deadline:
            raise Failure(f"deadline of {self._options.deadline} s: still waiting for "
                          f"{waiting_for}; {self._charges()} charges")
        time.sleep(0.02)

    # --- the ledger ---
    def _make_ledger(self):
        schema = pathlib.Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")
        with contextlib.closing(sqlite3.connect(self.ledger_path)) as ledger:
            ledger.execute("PRAGMA journal_mode = WAL")
            ledger.executescript(schema)

    def _query(self, sql):
        with contextlib.closing(sqlite3.connect(self.ledger_path, timeout=30)) as ledger:
            return ledger.execute(sql).fetchall()

    def _charges(self):
        return self._query("SELECT count(*) FROM ledger")[0][0]

    def ledger_by_event(self):
        """(intent, type) -> number of charges; 0 for an event that has none."""
        charged = {(event.intent, event.type): 0 for event in self.events}
        charged |= {(intent, event_type): times for intent, event_type, times in self._query(
            "SELECT intent, event_type, count(*) FROM ledger GROUP BY intent, event_type")}
        return charged

    def charged_cents(self):
        return self._query("SELECT coalesce(sum(amount_cents), 0) FROM ledger")[0][0]

    def inbox(self):
        return dict(self._query(
            f"SELECT message_id, token FROM inbox WHERE consumer = '{CONSUMER}'"))

    def claim_states(self):
        return self.server.states(CONSUMER, self.message_ids)


started_at = time.monotonic()


def ignore_signals():
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def say(text):
    print(f"[{time.monotonic() - started_at:5.1f} s] {text}", flush=True)


def parse_options(argv):
    parser = argparse.ArgumentParser(prog="script/demo", description=__doc__)
    parser.add_argument("--events", type=int, help="how many payment events (default 2000)")
    parser.add_argument("--small", action="store_true", help="300 events, slower work")
    parser.add_argument("--seed", type=int, help="repeat the choices of an earlier run")
    parser.add_argument("--sabotage", choices=("no-claim", "no-inbox", "ack-first"),
                        help="leave a guard out, to see the demo fail")
    parser.add_argument("--deadline", type=int, default=300, help="give up after so many seconds")
    parser.add_argument("--keep", action="store_true", help="keep the logs and the ledger")
    parser.add_argument("--claimd", type=pathlib.Path,
                        default=ROOT / "build" / "server" / "claimd")
    parser.add_argument("--c-consumer", type=pathlib.Path,
                        default=ROOT / "build" / "examples" / "demo" / "demo_consumer")
    options = parser.parse_args(argv)
    options.events = options.events or (300 if options.small else 2000)
    options.work_ms = 20 if options.small else 5
    if options.events < 100:
        parser.error("--events: at least 100, or there is nothing to kill between")
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(2**32)
    return options


def main(argv):
    def stop(_signal, _frame):
        raise KeyboardInterrupt
    signal.signal(signal.SIGTERM, stop)
    options = parse_options(argv)
    directory = pathlib.Path(tempfile.mkdtemp(prefix="claimd-demo-"))
    print(f"claimd demo: {options.events:,} payment events, seed {options.seed}"
          + (f", sabotage {options.sabotage}" if options.sabotage else ""), flush=True)
    good = False
    try:
        good = Run(options, directory, random.Random(options.seed)).play()
    except Failure as failure:
        print(f"FAILED: {failure}", file=sys.stderr)
    except KeyboardInterrupt:
        print("interrupted; everything is stopped", file=sys.stderr)
        return 130
    finally:
        if good and not options.keep:
            shutil.rmtree(directory)
        else:
            print(f"logs and ledger: {directory}")
    print("every effect happened exactly once" if good
          else f"not good; once more: script/demo --events {options.events} --seed {options.seed}"
          + (" --small" if options.small else ""))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
