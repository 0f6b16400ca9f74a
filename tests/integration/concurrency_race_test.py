"""64 threads of libclaimd that want the same claims at the same moment (concurrency_race.c)."""
import shutil
import subprocess
import unittest

import live_claimd
import live_rpc

RACE = live_claimd.BUILD / "tests" / "integration" / "concurrency_race"
THREADS = 64
KEYS = 200 if live_claimd.IS_SANITIZED else 1000


class RaceTest(unittest.TestCase):
    def setUp(self):
        directory = live_claimd.temp_dir()
        self.addCleanup(shutil.rmtree, directory)
        self.server = live_claimd.Claimd(directory / "data")
        self.addCleanup(self.server.close)
        self.server.create().start()

    def race(self, *arguments):
        """What the threads were told, by outcome; the server counted the same."""
        done = subprocess.run([RACE, str(self.server.port), *map(str, arguments)], text=True,
                              capture_output=True, timeout=240, check=False)
        self.assertEqual(done.returncode, 0, done.stderr + self.server.log())
        told = {line.split()[0]: int(line.split()[1]) for line in done.stdout.splitlines()}
        print(arguments, told)
        with live_rpc.Client(self.server.address) as client:
            self.assertEqual(client.outcome_counts(), told)
            self.states = client.state_counts()
        self.assertEqual(self.server.stop(), 0)
        return told

    def test_of_many_begins_of_a_key_exactly_one_is_claimed(self):
        told = self.race("begin", THREADS, KEYS)
        self.assertEqual(told, {"CLAIMED": KEYS, "IN_FLIGHT": (THREADS - 1) * KEYS})
        self.assertEqual(self.states, {"PROCESSING": KEYS})

    def test_all_that_wait_get_the_result(self):
        told = self.race("complete", THREADS)
        self.assertEqual(told, {"CLAIMED": 1, "DUPLICATE": THREADS})
        self.assertEqual(self.states, {"SUCCEEDED": 1})

    def test_all_that_wait_get_their_turn_one_after_another(self):
        told = self.race("relay", THREADS)
        self.assertEqual(told, {"CLAIMED": 1 + THREADS})
        self.assertEqual(self.states, {"RECEIVED": 1})

    def test_of_all_that_wait_for_a_lapse_exactly_one_takes_over(self):
        told = self.race("lapse", THREADS)
        self.assertEqual(told, {"CLAIMED": 2, "IN_FLIGHT": THREADS - 1})
        self.assertEqual(self.states, {"PROCESSING": 1})


if __name__ == "__main__":
    unittest.main(verbosity=2)
