"""claimd killed (or stopped) at random moments under load, again and again on one directory, and
every answer that a client was ever given checked against all others: crash_load makes the load and
writes the oracle, oracle.py judges it, crash_inspect looks into the store afterwards.

    CLAIMD_TEST_SEED=N     repeats the choices of a run (the machine's timing it cannot repeat)
    CLAIMD_TEST_FULL=1     ten runs of 20 kills each, instead of one
    CLAIMD_TEST_KEEP=1     keeps the directory, with the oracle
"""
import collections
import os
import random
import shutil
import subprocess
import time
import unittest

import live_claimd
import live_rpc
import oracle
import oracle_doctor

LOAD = live_claimd.BUILD / "tests" / "crash" / "crash_load"
INSPECT = live_claimd.BUILD / "tests" / "crash" / "crash_inspect"

CLIENTS = 64
SLOTS = 48  # keys at a time
RUNS = 10 if live_claimd.IS_FULL else 1
KILLS = 5 if live_claimd.IS_SANITIZED else 20
STOPS = 2 if live_claimd.IS_SANITIZED else 4
KILL, STOP = "SIGKILL", "SIGTERM"
AFTER_S = (0.02, 1.5)
STOP_S_MAX = 15 * (3 if live_claimd.IS_SANITIZED else 1)
# A run with less than this per restart has not tried hard enough to count.
ACCEPTED_PER_RESTART = 20
SHARE_OF_KILLS_MID_WRITE = 0.5
LIE_KEYS = 400  # lies are told about so many keys: it takes a judgement for each


class Load:
    """crash_load, and the words it takes."""

    def __init__(self, port, oracle_path, seed):
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", str(LOAD), str(port), str(oracle_path), str(CLIENTS),
             str(SLOTS), str(seed)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def let_run(self, seconds):
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return
        raise AssertionError(f"the load ended by itself: {code}")

    def say(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        assert answer, f"the load did not answer {word!r}"
        return answer

    def end(self):
        self.process.stdin.close()
        code = self.process.wait(live_claimd.PATIENCE_S)
        self.process.stdout.close()
        return code

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Run:
    """One store, its server and its load, and all that was killed and seen."""

    def __init__(self, test, seed, how, times):
        self.test = test
        self.seed = seed
        self.how = how  # it is ended: KILL or STOP
        self.times = times
        self.random = random.Random(seed)
        self.directory = live_claimd.temp_dir("claimd-crash-")
        self.oracle_path = self.directory / "oracle"
        self.server = live_claimd.Claimd(self.directory / "data")
        self.load = None
        self.ended_at = []
        self.records = 0
        print(f"seed {seed}: {times} x {how}, {CLIENTS} clients, in {self.directory}")

    def close(self):
        if self.load is not None:
            self.load.close()
        self.server.close()
        if not os.environ.get("CLAIMD_TEST_KEEP"):
            shutil.rmtree(self.directory)

    def end_server(self):
        before = time.monotonic()
        if self.how == KILL:
            self.test.assertTrue(self.server.kill(), f"it ended by itself:\n{self.server.log()}")
        else:
            self.test.assertEqual(self.server.stop(), 0, self.server.log())
            self.test.assertLess(time.monotonic() - before, STOP_S_MAX)

    def restart(self):
        """How long it took until it served again."""
        self.ended_at.append(time.monotonic_ns())
        self.end_server()
        before = time.monotonic()
        self.server.start()
        return time.monotonic() - before

    def play(self):
        self.server.create().start()
        self.load = Load(self.server.port, self.oracle_path, self.seed)
        recoveries = []
        for _ in range(self.times):
            self.load.let_run(self.random.uniform(*AFTER_S))
            recoveries.append(self.restart())
        self.load.let_run(1)
        self.load.say("stop")
        self.check_at_rest()
        self.test.assertEqual(self.load.end(), 0)
        self.check_store()
        print(f"ready again after {max(recoveries):.2f} s at most, "
              f"{sum(recoveries) / self.times:.2f} s on average")
        judgement = oracle.judge_file(self.oracle_path)
        self.check_load(judgement)
        self.test.assertEqual([], [str(violation) for violation in judgement.violations[:10]])

    # --- at rest ----------------------------------------------------------------------------------

    def check_at_rest(self):
        """Nobody writes: another restart changes nothing, and the gauges are what the records
        say."""
        before = self.look()
        self.restart()
        after = self.look()
        self.test.assertEqual(set(before), set(after))
        for key, was in before.items():
            # A last lapse may make a dead letter even then.
            if after[key]["state"] != "DEAD_LETTERED":
                self.test.assertEqual(after[key], was, key)
        with live_rpc.Client(self.server.address) as client:
            counts = client.state_counts()
        tally = collections.Counter(fields["state"] for fields in after.values())
        if counts != tally:  # such a dead letter, since the look
            tally = collections.Counter(fields["state"] for fields in self.look().values())
        self.test.assertEqual(counts, tally)
        self.records = len(after)
        print(f"at rest: {counts}")

    def look(self):
        """What crash_load sees of every record now."""
        client = self.load.say("look")[1]
        seen = {}
        with open(self.oracle_path, encoding="utf-8") as lines:
            for number, line in enumerate(lines):
                words = line.split(" ", 4)
                if words[2:4] == [client, "get"]:
                    op = oracle.parse(line, number)
                    self.test.assertIn(op.status, ("ok", "NOT_FOUND"))
                    if op.ok:
                        seen[op.key] = op.fields
        return seen

    def check_store(self):
        """A clean stop, and nothing half there in the files."""
        self.test.assertEqual(self.server.stop(), 0, self.server.log())
        done = subprocess.run([INSPECT, self.server.directory], text=True, capture_output=True,
                              timeout=live_claimd.PATIENCE_S, check=False)
        print(done.stdout + done.stderr, end="")
        self.test.assertEqual(done.returncode, 0)
        self.test.assertIn(f"records {self.records} ", done.stdout)

    # --- the oracle -------------------------------------------------------------------------------

    def check_load(self, judgement):
        """There was enough to judge."""
        summary = judgement.summary()
        print(summary)
        self.test.assertGreater(summary["accepted"], self.times * ACCEPTED_PER_RESTART)
        for what in ("take-overs", "replayed", "stale", "duplicates", "final"):
            self.test.assertGreater(summary[what], self.times, what)
        if self.how == STOP:
            return
        mid_write = 0
        writes = [(op.call, op.back) for op in judgement.ops if op.unsure and op.verb != "get"]
        for moment in self.ended_at[:self.times]:
            mid_write += any(call < moment < back for call, back in writes)
        self.test.assertGreater(mid_write, self.times * SHARE_OF_KILLS_MID_WRITE)

    def check_lies(self):
        """The same history with one lie in it does not pass."""
        with open(self.oracle_path, encoding="utf-8") as lines:
            history = oracle_doctor.History(lines, LIE_KEYS)
        told = 0
        for name, lie in oracle_doctor.lies():
            result = lie(history)
            if result is None:
                continue
            lines, rules = result
            broken = oracle.Judgement(oracle.read(lines)).rules_broken()
            self.test.assertTrue(broken & rules,
                                 f"{name}: {broken or 'nothing'} instead of {rules}")
            told += 1
        self.test.assertGreaterEqual(told, 10)


class KillTest(unittest.TestCase):
    def play(self, runs, how, times, with_lies=False):
        seed = int(os.environ.get("CLAIMD_TEST_SEED") or random.SystemRandom().getrandbits(31))
        for number in range(runs):
            run = Run(self, (seed + number) % 2**31, how, times)
            try:
                run.play()
                if with_lies and number == 0:
                    run.check_lies()
            finally:
                run.close()

    def test_killed_at_random_under_load(self):
        self.play(RUNS, KILL, KILLS, with_lies=True)

    def test_stopped_at_random_under_load(self):
        """A clean stop: in time, with exit code 0, and clients lose nothing either."""
        self.play(1, STOP, STOPS)


if __name__ == "__main__":
    unittest.main(verbosity=2)
