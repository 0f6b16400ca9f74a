"""A small run of script/demo, and that it fails when it must: sabotaged, and interrupted."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("CLAIMD_BUILD_DIR", ROOT / "build"))
MARK = "CLAIMD_DEMO_TEST"


def is_sanitized():
    """A build with sanitizers looks for bugs of claimd: there the good run is enough."""
    cache = BUILD / "CMakeCache.txt"
    return cache.exists() and re.search(
        r"^CLAIMD_SANITIZE:STRING=.+", cache.read_text(encoding="utf-8"), re.MULTILINE)


class DemoTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="claimd-demo-test-")
        self.addCleanup(scratch.cleanup)
        # Everything that the demo starts inherits the mark.
        self.mark = uuid.uuid4().hex
        self.env = os.environ | {
            MARK: self.mark, "TMPDIR": scratch.name, "PYTHONPATH": str(ROOT / "client" / "python")}
        self.argv = [
            sys.executable, "-u", str(ROOT / "examples" / "demo" / "demo.py"), "--small",
            "--claimd", str(BUILD / "server" / "claimd"),
            "--c-consumer", str(BUILD / "examples" / "demo" / "demo_consumer"),
            "--deadline", "200"]

    def run_demo(self, *arguments):
        done = subprocess.run([*self.argv, *arguments], env=self.env, text=True, timeout=280,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        print(done.stdout)
        self.assertEqual(self.left_over(), [])
        return done

    def left_over(self):
        """Processes that carry the mark."""
        found = []
        for environ in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                if f"{MARK}={self.mark}".encode() in environ.read_bytes().split(b"\0"):
                    found.append(environ.with_name("cmdline").read_text().replace("\0", " "))
            except OSError:
                continue  # it ended meanwhile, or is not ours to read
        return found

    def row(self, text, name):
        """The total of a row of the table."""
        match = re.search(rf"^{re.escape(name)} +([\d,]+)", text, re.MULTILINE)
        self.assertIsNotNone(match, f"no row '{name}'")
        return int(match.group(1).replace(",", ""))

    def test_every_effect_happens_exactly_once(self):
        done = self.run_demo()
        self.assertEqual(done.returncode, 0)
        self.assertEqual(self.row(done.stdout, "events"), 300)
        self.assertEqual(self.row(done.stdout, "effects"), 300)
        self.assertEqual(self.row(done.stdout, "  per event, least"), 1)
        self.assertEqual(self.row(done.stdout, "  per event, most"), 1)
        self.assertGreater(self.row(done.stdout, "deliveries"), 300)
        self.assertGreater(self.row(done.stdout, "take-overs"), 0)
        self.assertGreaterEqual(self.row(done.stdout, "consumer kills, at random"), 6)

    @unittest.skipIf(is_sanitized(), "tests the demo, not claimd")
    def test_without_claims_effects_are_doubled_and_the_demo_fails(self):
        done = self.run_demo("--sabotage", "no-claim")
        self.assertEqual(done.returncode, 1)
        self.assertIn("FAILED: no effect is doubled", done.stdout)
        self.assertNotIn("FAILED: no effect is missing", done.stdout)

    @unittest.skipIf(is_sanitized(), "tests the demo, not claimd")
    def test_acknowledged_first_effects_are_missing_and_the_demo_fails(self):
        done = self.run_demo("--sabotage", "ack-first")
        self.assertEqual(done.returncode, 1)
        self.assertIn("FAILED: no effect is missing", done.stdout)
        self.assertNotIn("FAILED: no effect is doubled", done.stdout)

    @unittest.skipIf(is_sanitized(), "tests the demo, not claimd")
    def test_interrupted_it_leaves_nothing_running(self):
        with subprocess.Popen(self.argv, env=self.env, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) as demo:
            for line in demo.stdout:
                print(line, end="")
                if "consumers work" in line:
                    self.assertGreater(len(self.left_over()), 10)
                    demo.send_signal(signal.SIGINT)
            self.assertEqual(demo.wait(timeout=60), 130)
        self.assertEqual(self.left_over(), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
