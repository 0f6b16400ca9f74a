"""What claimd starts on and what it refuses: directories, ports, addresses, options. What it
refuses it leaves as it was, says why in one line, and says what to do."""
import os
import pathlib
import shutil
import signal
import subprocess
import unittest

import live_claimd
import live_rpc

CANNOT_START = 1
USAGE = 2


class Base(unittest.TestCase):
    def setUp(self):
        self.directory = live_claimd.temp_dir()
        self.addCleanup(shutil.rmtree, self.directory)
        self.data = self.directory / "data"
        self.server = self.new_server(self.data)

    def new_server(self, data, **options):
        server = live_claimd.Claimd(data, **options)
        self.addCleanup(server.close)
        return server

    def make_store(self, claims=3):
        """A store with claims, not open; killed, so that its log is what holds them."""
        self.server.create().start()
        with live_rpc.Client(self.server.address) as client:
            for number in range(claims):
                token = client.begin("startup", f"m{number}").token
                client.complete("startup", f"m{number}", token, result=b"r" * 1000)
        self.server.kill()

    def check_serves(self, server, claims=3):
        server.start()
        with live_rpc.Client(server.address) as client:
            self.assertEqual(client.state_counts().get("SUCCEEDED", 0), claims)
            for number in range(claims):
                self.assertEqual(client.begin("startup", f"m{number}").result, b"r" * 1000)

    def check_refused(self, server, *parts, options=()):
        """It ends with 1 and one line that has all the parts."""
        self.assertEqual(server.run_to_end(*options), CANNOT_START, server.log())
        lines = [line for line in server.lines if "cannot start: " in line]
        self.assertEqual(len(lines), 1, server.log())
        for part in parts:
            self.assertIn(str(part), lines[0])

    def snapshot(self):
        return {str(path.relative_to(self.directory)): path.read_bytes() if path.is_file() else None
                for path in sorted(self.directory.rglob("*"))}


class DirectoryTest(Base):
    def test_missing_directory(self):
        self.check_refused(self.server, self.data, f"claimd init --data-dir {self.data}")
        self.assertFalse(self.data.exists())

    def test_empty_directory_may_be_a_volume_that_is_not_mounted(self):
        self.make_store()
        mounted = self.directory / "mounted"
        self.data.rename(mounted)
        self.data.mkdir()
        self.check_refused(self.server, "mount its volume", self.data)
        self.assertEqual(list(self.data.iterdir()), [])
        self.data.rmdir()
        mounted.rename(self.data)
        self.check_serves(self.server)

    def test_create_makes_a_store_where_there_is_nothing(self):
        for name, make in (("missing", lambda path: None), ("empty", pathlib.Path.mkdir)):
            with self.subTest(name):
                path = self.directory / name
                make(path)
                server = self.new_server(path)
                server.start("--create")
                with live_rpc.Client(server.address) as client:
                    client.begin("startup", "m")
                server.kill()
                server.start("--create")  # and opens the one that there is
                with live_rpc.Client(server.address) as client:
                    self.assertEqual(client.state_counts(), {"PROCESSING": 1})

    def test_foreign_directory(self):
        self.data.mkdir()
        (self.data / "holiday.jpg").write_bytes(b"x")
        before = self.snapshot()
        self.check_refused(self.server, "holiday.jpg", "claimd init --data-dir DIR")
        self.check_refused(self.server, "holiday.jpg", options=["--create"])
        done = subprocess.run([live_claimd.CLAIMD, "init", "--data-dir", self.data], text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, CANNOT_START)
        self.assertIn("holiday.jpg", done.stderr)
        self.assertEqual(self.snapshot(), before)

    def test_a_file_is_no_directory(self):
        self.data.write_bytes(b"x")
        self.check_refused(self.server, self.data, "Not a directory")
        self.assertEqual(self.data.read_bytes(), b"x")

    def test_init_does_not_touch_what_there_is(self):
        self.make_store()
        before = self.snapshot()
        done = subprocess.run([live_claimd.CLAIMD, "init", "--data-dir", self.data], text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, CANNOT_START)
        self.assertIn("there is a store in", done.stderr)
        self.assertEqual(self.snapshot(), before)
        self.check_serves(self.server)

    def test_interrupted_init_can_be_done_again_as_told(self):
        """Killed at every moment that it can be: what it leaves is refused, and the remedy
        works."""
        seen = set()
        for delay in range(60):
            shutil.rmtree(self.data, ignore_errors=True)
            init = subprocess.Popen([live_claimd.CLAIMD, "init", "--data-dir", self.data],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                init.wait(delay / 1000)
            except subprocess.TimeoutExpired:
                init.send_signal(signal.SIGKILL)
                init.wait()
            if (self.data / "claimd.store").exists():
                seen.add("whole")
                if init.returncode == 0:
                    break
                continue
            if not self.data.exists() or not list(self.data.iterdir()):
                continue
            seen.add("half")
            self.check_refused(self.server, "claimd.store.new", f"{self.data}/db",
                               f"{self.data}/position", f"claimd init --data-dir {self.data}")
            self.check_refused(self.server, "claimd.store.new", options=["--create"])
            (self.data / "claimd.store.new").unlink()
            (self.data / "position").unlink(missing_ok=True)
            shutil.rmtree(self.data / "db", ignore_errors=True)
            self.server.create().start()
            self.server.kill()
        print(f"seen: {seen}")
        self.assertIn("half", seen)


class DamageTest(Base):
    def check_damage(self, damage, *parts):
        self.make_store()
        damage()
        before = {path: path.stat().st_size for path in self.data.iterdir() if path.is_file()}
        self.check_refused(self.server, *parts, "backup")
        self.check_refused(self.server, *parts, "backup")  # not forgotten by trying again
        after = {path: path.stat().st_size for path in self.data.iterdir() if path.is_file()}
        self.assertEqual(after, before)

    def flip(self, path, offset=-1):
        content = bytearray(path.read_bytes())
        content[offset] ^= 0x40
        path.write_bytes(content)

    def log_file(self):
        return max((self.data / "db").glob("*.log"))

    def test_label(self):
        label = self.data / "claimd.store"
        self.check_damage(lambda: self.flip(label), label, "damaged")

    def test_label_is_gone(self):
        self.check_damage((self.data / "claimd.store").unlink, "claimd.store")

    def test_position_is_gone(self):
        self.check_damage((self.data / "position").unlink, self.data / "position", "missing")

    def test_position(self):
        self.check_damage(lambda: self.flip(self.data / "position", 0), self.data / "position")

    def test_log_is_cut(self):
        def cut():
            log = self.log_file()
            os.truncate(log, log.stat().st_size // 2)
        self.check_damage(cut, "acknowledged", "db")

    def test_log_is_gone(self):
        self.check_damage(lambda: self.log_file().unlink(), "db")

    def test_log_has_a_wrong_byte(self):
        self.check_damage(lambda: self.flip(self.log_file(), 1000), "db")

    def test_database_is_gone(self):
        self.check_damage(lambda: shutil.rmtree(self.data / "db"), self.data / "db" / "CURRENT")

    def test_manifest_is_gone(self):
        self.check_damage(lambda: max((self.data / "db").glob("MANIFEST-*")).unlink(), "MANIFEST")

    def test_tables_are_gone(self):
        def remove_tables():
            self.server.start()  # what is in the log goes into tables
            self.server.kill()
            # All of them: one alone may be what a compaction had not finished, and harmless.
            for table in (self.data / "db").glob("*.sst"):
                table.unlink()
        self.check_damage(remove_tables, ".sst")


class SecondProcessTest(Base):
    def check_first_serves(self):
        with live_rpc.Client(self.server.address) as client:
            self.assertEqual(client.begin("startup", "m0").outcome, live_rpc.DUPLICATE)
            self.assertEqual(client.begin("startup", "fresh").outcome, live_rpc.CLAIMED)

    def test_on_the_same_directory(self):
        self.make_store()
        self.server.start()
        for _ in range(3):
            self.check_refused(self.new_server(self.data), "another process", self.data)
        self.check_first_serves()
        done = subprocess.run([live_claimd.CLAIMD, "init", "--data-dir", self.data], text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, CANNOT_START)
        self.server.kill()
        self.new_server(self.data).start()

    def test_on_the_same_port(self):
        self.make_store()
        self.server.start()
        other = self.new_server(self.directory / "other", port=self.server.port).create()
        for _ in range(3):
            self.check_refused(other, "another process has the port", self.server.address)
        self.check_first_serves()
        self.server.kill()
        other.start()

    def test_of_two_that_start_at_once_one_serves(self):
        self.make_store()
        for _ in range(5):
            pair = [self.new_server(self.data), self.new_server(self.data)]
            for server in pair:
                server.spawn()
            serving = []
            for server in pair:
                try:
                    server.wait_for_line(live_claimd.READY)
                    serving.append(server)
                except live_claimd.Ended:
                    self.assertEqual(server.wait(), CANNOT_START)
            self.assertEqual(len(serving), 1)
            serving[0].kill()
        self.check_serves(self.server)


class AddressTest(Base):
    def test_beyond_loopback_only_on_demand(self):
        self.server.create()
        port = self.server.port
        for host in ("0.0.0.0", "[::]"):
            with self.subTest(host):
                self.server.address = f"{host}:{port}"
                self.check_refused(self.server, "not a loopback address", "--insecure")
        self.server.address = f"0.0.0.0:{port}"
        self.server.start("--insecure")
        with live_rpc.Client(f"127.0.0.1:{port}") as client:
            self.assertEqual(client.begin("startup", "m").outcome, live_rpc.CLAIMED)

    def test_loopback_by_other_names(self):
        self.server.create()
        for host in ("localhost", "127.0.0.2"):
            with self.subTest(host):
                self.server.address = f"{host}:{self.server.port}"
                self.server.start()
                with live_rpc.Client(self.server.address) as client:
                    client.status()
                self.assertEqual(self.server.stop(), 0)

    def test_port_0_is_any_free_one(self):
        self.server.create()
        self.server.address = "127.0.0.1:0"
        line = self.server.start().wait_for_line(live_claimd.READY)
        port = int(live_claimd.READY.search(line).group(1))
        self.assertGreater(port, 0)
        with live_rpc.Client(f"127.0.0.1:{port}") as client:
            client.status()

    def test_what_is_no_address(self):
        self.server.create()
        for address in ("localhost", "127.0.0.1", ":7420", "127.0.0.1:", "127.0.0.1:x", "::1:7420",
                        "127.0.0.1:65536", "127.0.0.1:99999", "127.0.0.1:-1", "[::1:7420", ""):
            with self.subTest(address):
                self.server.address = address
                self.check_refused(self.server, f"--listen {address}", "HOST:PORT")
        self.server.address = "no-such-host.invalid:7420"
        self.check_refused(self.server, "no-such-host.invalid")
        self.server.address = "192.0.2.1:7420"  # of nobody
        self.check_refused(self.server, "192.0.2.1:7420", options=["--insecure"])


class OptionsTest(unittest.TestCase):
    def run_claimd(self, *arguments):
        return subprocess.run([live_claimd.CLAIMD, *arguments], text=True, capture_output=True,
                              timeout=live_claimd.PATIENCE_S, check=False)

    def test_wrong_usage(self):
        """Exit code 2, what is wrong, and where help is; before anything is looked at."""
        data = "--data-dir=/nowhere/at/all"
        for arguments, part in {
                (): "--data-dir", ("init",): "--data-dir", ("--data-dir=",): "--data-dir",
                ("--data-dir",): "--data-dir needs DIR", (data, "--listen"): "--listen needs",
                (data, "--bogus"): "--bogus", (data, "bogus"): "bogus", (data, "-x"): "-x",
                (data, "init"): "init", (data, "--insecure=yes"): "--insecure takes no value",
                (data, "--durability=half"): "full or relaxed",
                (data, "--durability", ""): "full or relaxed",
                (data, "--disk-soft-reserve=1X"): "number of bytes",
                (data, "--disk-soft-reserve=-1"): "number of bytes",
                (data, "--disk-soft-reserve="): "number of bytes",
                (data, "--disk-soft-reserve=99999999999999999999"): "number of bytes",
                (data, "--disk-soft-reserve=99999999999T"): "number of bytes",
                (data, "--disk-soft-reserve=1M", "--disk-hard-reserve=2M"): "must not be above",
        }.items():
            with self.subTest(arguments):
                done = self.run_claimd(*arguments)
                self.assertEqual(done.returncode, USAGE, done)
                self.assertEqual(done.stdout, "")
                self.assertIn(part, done.stderr)
                self.assertIn("--help", done.stderr)

    def test_help_and_version(self):
        for argument in ("--help", "-h"):
            done = self.run_claimd(argument)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for option in ("--data-dir", "--listen", "--insecure", "--create", "--durability",
                           "--disk-soft-reserve", "--disk-hard-reserve"):
                self.assertIn(option, done.stdout)
        done = self.run_claimd("--version")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"^claimd \d+\.\d+\.\d+\n$")

    def test_relaxed_durability_says_so(self):
        directory = live_claimd.temp_dir()
        self.addCleanup(shutil.rmtree, directory)
        server = live_claimd.Claimd(directory / "data", options=["--durability", "relaxed"])
        self.addCleanup(server.close)
        server.create().start()
        server.wait_for_line("warn.*durability is relaxed")
        with live_rpc.Client(server.address) as client:
            self.assertTrue(client.status().durability_relaxed)
            client.begin("startup", "m")
        self.assertEqual(server.stop(), 0)
        server.options = []
        server.start()
        with live_rpc.Client(server.address) as client:
            self.assertFalse(client.status().durability_relaxed)
            self.assertEqual(client.state_counts(), {"PROCESSING": 1})


if __name__ == "__main__":
    unittest.main(verbosity=2)
