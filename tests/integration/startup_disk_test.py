"""A disk that fills up: at the soft reserve claims end but none begins, at the hard one nothing
changes, both by themselves over when there is room again; on a disk that is really full the process
ends, and loses nothing.

Needs a small file system of its own: root, and a loop device. Without them it is skipped, and says
so.
"""
import contextlib
import os
import shutil
import subprocess
import unittest

import live_claimd
import live_rpc
from claimd.v1 import claims_pb2

MIB = 1 << 20
DISK_BYTES = 96 * MIB
SOFT_BYTES = 48 * MIB
HARD_BYTES = 24 * MIB
RESULT_BYTES = 65536
EXIT_CANNOT_START = 1
EXIT_STORE_FAILED = 70
LOOKS_MAX = 600  # of a tenth of a second
CLAIMS_HELD = 40
# Their results are more than RocksDB has set aside in the log that it writes, and than it keeps in
# memory before it writes a table.
CLAIMS_TO_FILL_UP = 500


def mount_disk(test):
    """An empty ext4 of its own; skips the test where that cannot be had."""
    directory = live_claimd.temp_dir()
    test.addCleanup(shutil.rmtree, directory)
    image, point = directory / "image", directory / "disk"
    point.mkdir()
    with open(image, "wb") as file:
        file.truncate(DISK_BYTES)
    for command in (["mkfs.ext4", "-q", "-m", "0", image],
                    ["mount", "-o", "loop", image, point]):
        try:
            done = subprocess.run(command, text=True, capture_output=True, timeout=60, check=False)
        except FileNotFoundError as missing:
            test.skipTest(f"no disk to fill up: {missing}")
        if done.returncode != 0:
            test.skipTest(f"no disk to fill up: {command[0]}: {done.stderr.strip()}")
    test.addCleanup(subprocess.run, ["umount", point], check=True)
    return point


class DiskTest(unittest.TestCase):
    def setUp(self):
        self.disk = mount_disk(self)
        self.filler = self.disk / "filler"
        self.server = live_claimd.Claimd(self.disk / "data")
        self.addCleanup(self.server.close)
        self.server.create()
        self.probes = 0

    def start(self, soft=SOFT_BYTES, hard=HARD_BYTES):
        self.server.options = [f"--disk-soft-reserve={soft}", f"--disk-hard-reserve={hard}"]
        self.server.start()
        self.client = live_rpc.Client(self.server.address)
        self.addCleanup(self.client.close)

    def free_bytes(self):
        info = os.statvfs(self.disk)
        return info.f_bavail * info.f_frsize

    def leave_free(self, left):
        """Fills the disk up until no more than that is free."""
        with open(self.filler, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, self.free_bytes() - left)
            file.flush()
            os.fsync(file.fileno())

    def fill_up(self):
        """Not a block is left."""
        block = b"x" * 4096
        with open(self.filler, "ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(block)
        self.assertLess(self.free_bytes(), 4096)

    def make_room(self):
        self.filler.unlink()

    def wait_until(self, condition, what):
        """Looks again each time that a Begin which may wait a little has been answered."""
        for _ in range(LOOKS_MAX):
            if condition():
                return
            self.client.begin("disk", "held-0", wait_ms=100)
        self.fail(f"not {what}")

    def hold(self, count=CLAIMS_HELD):
        return [self.client.begin("disk", f"held-{n}", lease_ms=3_600_000).token
                for n in range(count)]

    def check_reserve(self, call):
        with self.assertRaises(live_rpc.Refused) as caught:
            call()
        error = caught.exception.error
        self.assertEqual((error.code, error.reason), ("RESOURCE_EXHAUSTED", "DISK_RESERVE"))
        self.assertGreater(error.retry_ms, 0)

    def is_refused(self):
        self.probes += 1
        try:
            self.client.register("disk", f"probe-{self.probes}")
        except live_rpc.Refused as refused:
            self.assertEqual(refused.error.reason, "DISK_RESERVE")
            return True
        return False

    def test_at_the_soft_reserve_claims_end_and_none_begins(self):
        self.start()
        tokens = self.hold()
        done = self.client.begin("disk", "done").token
        self.client.complete("disk", "done", done, result=b"r")
        self.assertFalse(self.client.status().disk_reserve_reached)
        self.leave_free(SOFT_BYTES - 4 * MIB)
        self.wait_until(self.is_refused, "refused")
        self.assertTrue(self.client.status().disk_reserve_reached)
        self.server.wait_for_line("soft reserve reached: new claims are refused")
        before = self.client.state_counts()
        self.check_reserve(lambda: self.client.begin("disk", "fresh"))
        self.check_reserve(lambda: self.client.begin("another", "fresh"))
        self.check_reserve(lambda: self.client.register("disk", "fresh"))
        cancel = claims_pb2.CancelRequest(consumer="disk", message_id="fresh")
        self.check_reserve(lambda: self.client.call(self.client.claims.Cancel, cancel))
        self.assertIsNone(self.client.get("disk", "fresh"))
        self.assertEqual(self.client.state_counts(), before)
        # What has begun goes on, and those who ask are answered.
        self.client.complete("disk", "held-1", tokens[1], result=b"r" * RESULT_BYTES)
        self.client.token_verb("Reject", "disk", "held-2", tokens[2])
        self.client.fail("disk", "held-3", tokens[3], claims_pb2.FAILURE_KIND_TRANSIENT,
                         retry_after_ms=0)
        self.client.token_verb("Renew", "disk", "held-4", tokens[4], checkpoint=b"c" * 1000)
        self.client.release("disk", "held-5", tokens[5])
        self.assertEqual(self.client.begin("disk", "done").result, b"r")
        self.assertEqual(self.client.begin("disk", "held-0").outcome, live_rpc.IN_FLIGHT)
        self.assertEqual(self.client.get("disk", "held-1", bodies=True).result, b"r" * RESULT_BYTES)
        self.check_reserve(lambda: self.client.begin("disk", "held-3"))  # due, and a new grant
        self.check_reserve(lambda: self.client.begin("disk", "held-5"))
        self.make_room()
        self.wait_until(lambda: not self.client.status().disk_reserve_reached, "recovered")
        self.assertEqual(self.client.begin("disk", "fresh").outcome, live_rpc.CLAIMED)
        self.assertEqual(self.client.begin("disk", "held-3").attempt, 2)

    def test_at_the_hard_reserve_nothing_changes(self):
        self.start()
        tokens = self.hold()
        self.leave_free(HARD_BYTES - 4 * MIB)

        def is_refused():
            """A renewal is what changes least."""
            try:
                self.client.token_verb("Renew", "disk", "held-1", tokens[1])
            except live_rpc.Refused as refused:
                self.assertEqual(refused.error.reason, "DISK_RESERVE")
                return True
            return False

        self.wait_until(is_refused, "refused")
        self.check_reserve(lambda: self.client.complete("disk", "held-2", tokens[2]))
        self.check_reserve(lambda: self.client.release("disk", "held-2", tokens[2]))
        self.check_reserve(lambda: self.client.begin("disk", "fresh"))
        self.assertEqual(self.client.state_counts(), {"PROCESSING": CLAIMS_HELD})
        self.assertEqual(self.client.begin("disk", "held-2").outcome, live_rpc.IN_FLIGHT)
        self.make_room()
        self.wait_until(lambda: not is_refused(), "recovered")
        self.client.complete("disk", "held-2", tokens[2])

    def test_it_starts_and_stops_while_the_reserve_is_reached(self):
        self.start()
        token = self.hold(1)[0]
        self.leave_free(SOFT_BYTES - 4 * MIB)
        self.assertEqual(self.server.stop(), 0)
        self.start()
        self.check_reserve(lambda: self.client.begin("disk", "fresh"))
        self.client.complete("disk", "held-0", token)
        self.make_room()

    def test_on_a_full_disk_it_ends_and_loses_nothing(self):
        self.start(soft=0, hard=0)
        tokens = self.hold(CLAIMS_TO_FILL_UP)
        results = {}
        self.fill_up()
        with self.assertRaises(live_rpc.Refused) as caught:
            for number in range(CLAIMS_TO_FILL_UP):
                result = bytes([number % 256]) * RESULT_BYTES
                self.client.complete("disk", f"held-{number}", tokens[number], result=result)
                results[f"held-{number}"] = result
        # The one that could not be written was not acknowledged, nor refused: its fate is unknown.
        self.assertEqual((caught.exception.error.code, caught.exception.error.reason),
                         ("UNAVAILABLE", ""))
        self.assertEqual(self.server.wait(), EXIT_STORE_FAILED, self.server.log())
        errors = [line for line in self.server.lines if " error " in line]
        self.assertIn("No space left on device", "".join(errors))
        self.assertIn("cannot write the store", errors[-1])
        self.assertIn("Every acknowledged change is safe", errors[-1])
        print(f"{len(results)} completed on a full disk; then:\n{''.join(errors)}", end="")
        # Without room it does not start, and says why; with room everything is there.
        self.assertEqual(self.server.run_to_end(), EXIT_CANNOT_START, self.server.log())
        self.assertRegex(self.server.log(), "cannot start: the disk of .* is full: .*make room")
        self.make_room()
        self.start()
        unknown = f"held-{len(results)}"
        for number in range(CLAIMS_TO_FILL_UP):
            message_id = f"held-{number}"
            claim = self.client.get("disk", message_id, bodies=True)
            if message_id in results:
                self.assertEqual(claim.result, results[message_id])
            elif message_id != unknown:
                self.assertEqual(live_rpc.state_name(claim.state), "PROCESSING")
                self.client.complete("disk", message_id, tokens[number])
        # Repeating it is safe, whatever became of it.
        number = len(results)
        self.client.complete("disk", unknown, tokens[number],
                             result=bytes([number % 256]) * RESULT_BYTES)
        self.assertEqual(self.client.state_counts(), {"SUCCEEDED": CLAIMS_TO_FILL_UP})


if __name__ == "__main__":
    unittest.main(verbosity=2)
