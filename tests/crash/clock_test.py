"""Time, and the lack of it: claims over restarts, with a wall clock that is an hour off, on a
machine that was down or has booted anew, and in a crash loop (docs/SEMANTICS.md, "Time").

Durations are checked on the side that is promised: a lease is never shorter than what was served of
it says, and after a crash at most a second longer than what it had left. Where a lease has to end,
the test waits for that through the server, with a Begin that is allowed to wait.
"""
import os
import pathlib
import random
import shutil
import struct
import subprocess
import time
import unittest

import live_claimd
import live_rpc
from claimd.v1 import claims_pb2

WRONG_CLOCK = live_claimd.BUILD / "tests" / "crash" / "libwrong_clock.so"
HOUR_MS = 3600 * 1000
LEASE_MS = 600_000
CRASH_MS = 1000  # what a crash may add to a lease
WAIT_MS = 60_000
TOLERANCE_MS = 2  # rounding, of the server's and of the reply's milliseconds


def ms(duration):
    return duration.ToNanoseconds() / 1e6


def now_ms():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) / 1e6


class Clocks:
    """The offsets of claimd's wall clock and boot-time clock."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.path.write_bytes(struct.pack("=qq", 0, 0))
        options = os.environ.get("ASAN_OPTIONS", "")
        self.environment = {
            "LD_PRELOAD": str(WRONG_CLOCK), "WRONG_CLOCK_FILE": str(self.path),
            "ASAN_OPTIONS": f"{options}:verify_asan_link_order=0".lstrip(":")}
        self.wall_ms = 0

    def set(self, wall_ms=0, boot_ms=0):
        self.wall_ms = wall_ms
        with open(self.path, "r+b") as file:
            file.write(struct.pack("=qq", wall_ms, boot_ms))

    def wall_now_ms(self):
        return time.time() * 1000 + self.wall_ms


class Base(unittest.TestCase):
    def setUp(self):
        self.directory = live_claimd.temp_dir()
        self.addCleanup(shutil.rmtree, self.directory)
        self.clocks = Clocks(self.directory / "clocks")
        self.server = live_claimd.Claimd(self.directory / "data",
                                         environment=self.clocks.environment)
        self.addCleanup(self.server.close)
        self.server.create().start()

    def client(self):
        client = live_rpc.Client(self.server.address)
        self.addCleanup(client.close)
        return client

    def remaining(self, client, message_id="m"):
        """(when asked, what was left, when answered)"""
        asked = now_ms()
        claim = client.get("clock", message_id)
        self.assertEqual(claim.state, claims_pb2.CLAIM_STATE_PROCESSING)
        return asked, ms(claim.lease.remaining), now_ms()

    def check_served(self, before, after):
        """Between two looks in one run exactly the time passed that passed."""
        self.assertLessEqual(after[1], before[1] - (after[0] - before[2]) + TOLERANCE_MS)
        self.assertGreaterEqual(after[1], before[1] - (after[2] - before[0]) - TOLERANCE_MS)

    def check_shown(self, client):
        """A deadline is shown by the wall clock as it is now."""
        earliest = self.clocks.wall_now_ms()
        lease = client.get("clock", "m").lease
        latest = self.clocks.wall_now_ms()
        shown = lease.expire_time.ToNanoseconds() / 1e6
        self.assertGreaterEqual(shown, earliest + ms(lease.remaining) - TOLERANCE_MS)
        self.assertLessEqual(shown, latest + ms(lease.remaining) + TOLERANCE_MS)

    def claim(self, message_id="m", lease_ms=LEASE_MS):
        with live_rpc.Client(self.server.address) as client:
            begun = client.begin("clock", message_id, lease_ms=lease_ms, owner="first")
        self.assertEqual(begun.outcome, live_rpc.CLAIMED)
        return begun

    def wait_for_takeover(self, client, message_id, wait_ms=WAIT_MS):
        return client.begin("clock", message_id, lease_ms=LEASE_MS, wait_ms=wait_ms, owner="second",
                            timeout=live_claimd.PATIENCE_S + wait_ms / 1000)


class ClocksTest(unittest.TestCase):
    def test_each_offset_moves_its_clock_and_no_other(self):
        directory = live_claimd.temp_dir()
        self.addCleanup(shutil.rmtree, directory)
        clocks = Clocks(directory / "clocks")
        names = ("CLOCK_REALTIME", "CLOCK_BOOTTIME", "CLOCK_MONOTONIC")
        for offsets in ((HOUR_MS, 0), (-HOUR_MS, 0), (0, HOUR_MS), (0, -1500)):
            with self.subTest(offsets=offsets):
                clocks.set(*offsets)
                done = subprocess.run(
                    ["python3", "-c", "import time\n" + "\n".join(
                        f"print(time.clock_gettime_ns(time.{name}))" for name in names)],
                    env={**os.environ, **clocks.environment}, text=True, capture_output=True,
                    check=True)
                for name, text, offset in zip(names, done.stdout.split(), (*offsets, 0)):
                    moved_ms = (int(text) - time.clock_gettime_ns(getattr(time, name))) / 1e6
                    self.assertLessEqual(moved_ms, offset)
                    self.assertGreater(moved_ms, offset - live_claimd.PATIENCE_S * 1000)


class WallClockTest(Base):
    def test_jumps_while_it_runs(self):
        self.claim()
        client = self.client()
        for wall_ms in (HOUR_MS, -HOUR_MS, 0):
            with self.subTest(wall_ms=wall_ms):
                before = self.remaining(client)
                self.clocks.set(wall_ms)
                self.check_served(before, self.remaining(client))
                self.check_shown(client)

    def test_jumps_neither_shorten_nor_stretch_a_short_lease(self):
        client = self.client()
        for wall_ms in (HOUR_MS, -HOUR_MS):
            with self.subTest(wall_ms=wall_ms):
                message_id = f"short{wall_ms}"
                before = now_ms()
                self.claim(message_id, lease_ms=500)
                self.clocks.set(wall_ms)
                begun = self.wait_for_takeover(client, message_id)
                self.assertEqual((begun.outcome, begun.attempt), (live_rpc.CLAIMED, 2))
                self.assertGreaterEqual(now_ms(), before + 500 - TOLERANCE_MS)

    def test_jumps_neither_shorten_nor_stretch_a_delay(self):
        client = self.client()
        for wall_ms in (HOUR_MS, -HOUR_MS):
            with self.subTest(wall_ms=wall_ms):
                message_id = f"delay{wall_ms}"
                token = self.claim(message_id).token
                before = now_ms()
                client.fail("clock", message_id, token, claims_pb2.FAILURE_KIND_TRANSIENT,
                            retry_after_ms=400)
                self.clocks.set(wall_ms)
                begun = self.wait_for_takeover(client, message_id)
                self.assertEqual((begun.outcome, begun.attempt), (live_rpc.CLAIMED, 2))
                self.assertGreaterEqual(now_ms(), before + 400 - TOLERANCE_MS)

    def test_jumps_over_a_restart(self):
        """A clean stop writes the mark, a kill loses at most a second of it."""
        self.claim()
        for way, extra_ms in ((self.server.stop, 0), (self.server.kill, CRASH_MS)):
            for wall_ms in (HOUR_MS, -HOUR_MS, 0):
                with self.subTest(way=way.__name__, wall_ms=wall_ms):
                    with live_rpc.Client(self.server.address) as client:
                        before = self.remaining(client)
                    way()
                    stopped = now_ms()
                    self.clocks.set(wall_ms)
                    started = now_ms()
                    self.server.start()
                    with live_rpc.Client(self.server.address) as client:
                        after = self.remaining(client)
                        self.check_shown(client)
                    # At most what it had; at least that without all the time that it was served.
                    self.assertLessEqual(after[1], before[1] + extra_ms + TOLERANCE_MS)
                    served = stopped - before[0] + after[2] - started
                    self.assertGreaterEqual(after[1], before[1] - served - TOLERANCE_MS)

    def test_a_new_store_starts_its_tokens_at_the_wall_clock(self):
        """The token counter starts at microseconds since 1970, and a clock set back later does not
        take it back."""
        first = self.claim("a").token
        self.assertAlmostEqual(first / 1e6, time.time(), delta=live_claimd.PATIENCE_S)
        self.server.kill()
        self.clocks.set(-HOUR_MS)
        self.server.start()
        self.assertGreater(self.claim("b").token, first)


class DownTimeTest(Base):
    def check_after(self, boot_ms):
        self.claim()
        with live_rpc.Client(self.server.address) as client:
            before = self.remaining(client)
            status = client.status()
        self.assertEqual(self.server.stop(), 0)
        self.clocks.set(boot_ms, boot_ms)
        self.server.start()
        with live_rpc.Client(self.server.address) as client:
            after = self.remaining(client)
            store_ms = ms(client.status().store_time)
            self.check_served(after, self.remaining(client))
        self.assertLessEqual(after[1], before[1] + TOLERANCE_MS)
        self.assertGreaterEqual(after[1], before[1] - (after[2] - before[0]) - TOLERANCE_MS)
        self.assertGreaterEqual(store_ms, ms(status.store_time))
        self.assertLess(store_ms, ms(status.store_time) + HOUR_MS / 2)

    def test_an_hour_down_does_not_count(self):
        self.check_after(HOUR_MS)

    def test_a_machine_that_has_booted_anew_starts_from_the_mark(self):
        """The boot-time clock begins near zero then: far below where it was."""
        self.check_after(-int(now_ms()) + 5000)

    def test_idle_then_restarted(self):
        """Nothing runs: the mark is old, and the next claim has its whole lease all the same."""
        for way in (self.server.stop, self.server.kill):
            with self.subTest(way=way.__name__):
                message_id = f"idle-{way.__name__}"
                way()
                self.server.start()
                self.claim(message_id)
                with live_rpc.Client(self.server.address) as client:
                    left = ms(client.get("clock", message_id).lease.remaining)
                self.assertGreater(left, LEASE_MS - live_claimd.PATIENCE_S * 1000)


class CrashLoopTest(Base):
    LOOPS = 30

    def setUp(self):
        super().setUp()
        self.random = random.Random(int(os.environ.get("CLAIMD_TEST_SEED", 20260101)))

    def run_shortly(self, seconds):
        """Starts it and kills it, wherever it is then."""
        self.server.spawn()
        try:
            code = self.server.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.server.kill()
            return
        self.fail(f"claimd ended by itself: {code}\n{self.server.log()}")

    def files(self, suffix=""):
        return [path for path in self.server.directory.rglob("*" + suffix) if path.is_file()]

    def test_killed_at_once_again_and_again(self):
        """Nothing is lost, no lease lives for ever, and the directory does not grow."""
        self.claim("long")
        short = self.claim("short", lease_ms=1500)
        with live_rpc.Client(self.server.address) as client:
            done = client.begin("clock", "done", lease_ms=LEASE_MS)
            client.complete("clock", "done", done.token, result=b"result")
            before = self.remaining(client, "long")
        self.server.kill()
        for _ in range(self.LOOPS):
            self.run_shortly(self.random.uniform(0, 0.1))
            self.assertLess(len(self.files()), 60)
        self.server.start()
        with live_rpc.Client(self.server.address) as client:
            after = self.remaining(client, "long")
            self.assertLessEqual(after[1], before[1] + CRASH_MS + TOLERANCE_MS)
            self.assertGreaterEqual(after[1], before[1] - (after[2] - before[0]) - TOLERANCE_MS)
            again = client.begin("clock", "done")
            self.assertEqual((again.outcome, again.result), (live_rpc.DUPLICATE, b"result"))
            begun = self.wait_for_takeover(client, "short")
            self.assertEqual((begun.outcome, begun.attempt), (live_rpc.CLAIMED, 2))
            self.assertGreater(begun.token, short.token)
            self.assertEqual(client.state_counts(), {"PROCESSING": 2, "SUCCEEDED": 1})
        # The first whole run lets go what the crashes left; the second finds a log with something
        # in it.
        for _ in range(2):
            self.server.kill()
            self.server.start()
        self.assertLessEqual(len(self.files(".log")), 2)
        self.assertEqual(self.files(".dbtmp"), [])
        self.assertLess(sum(path.stat().st_size for path in self.files()), 4 << 20)

    def test_a_lease_ends_although_each_run_is_short(self):
        """Each run is longer than a second, so each one gets on by more than nothing."""
        self.claim("m", lease_ms=2500)
        for loop in range(10):
            with live_rpc.Client(self.server.address) as client:
                begun = self.wait_for_takeover(client, "m", wait_ms=1200)
            if begun.outcome == live_rpc.CLAIMED:
                break
            self.assertEqual(begun.outcome, live_rpc.IN_FLIGHT)
            self.server.kill()
            self.server.start()
        self.assertEqual((begun.outcome, begun.attempt), (live_rpc.CLAIMED, 2))
        print(f"taken over in run {loop + 1}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
