"""claimctl against a real claimd: every subcommand, every exit code that can be reached, the JSON
keys, and what is said of bad usage."""
import base64
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

import live_claimd

CLAIMCTL = live_claimd.BUILD / "client" / "cli" / "claimctl"

TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
DURATION = re.compile(r"^\d+\.\d{3}s$")

USAGES = {
    "begin": "CONSUMER MESSAGE_ID [--lease 30s] [--wait 5s] [--owner NAME] [--request-id ID] "
             "[--fingerprint HEX]",
    "complete": "CONSUMER MESSAGE_ID --token N [--result TEXT|--result-file F]",
    "reject": "CONSUMER MESSAGE_ID --token N [--reason TEXT] [--result TEXT|--result-file F]",
    "fail": "CONSUMER MESSAGE_ID --token N --kind transient|unclassified|poison|outcome-unknown "
            "--message TEXT [--payload TEXT|--payload-file F] [--retry-after 5s]",
    "renew": "CONSUMER MESSAGE_ID --token N [--lease 30s] "
             "[--checkpoint TEXT|--checkpoint-file F]",
    "release": "CONSUMER MESSAGE_ID --token N",
    "register": "CONSUMER MESSAGE_ID [--event-time TIME] [--payload-ref REF]",
    "cancel": "CONSUMER MESSAGE_ID [--reason TEXT]",
    "resolve": "CONSUMER MESSAGE_ID --as succeeded|rejected|retry|dead-letter [--reason TEXT] "
               "[--result TEXT|--result-file F]",
    "get": "CONSUMER MESSAGE_ID [--bodies]",
    "prune": "--before TIME|now|-7d [--consumer NAME] [--dry-run] [--force]",
    "health": "[--service NAME]",
    "version": "",
}


class Base(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = live_claimd.temp_dir()
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.server = live_claimd.Claimd(folder / "data").create()
        cls.addClassCleanup(cls.server.close)
        cls.server.start()
        cls.ids = 0

    def new_id(self):
        type(self).ids += 1
        return f"m-{self.ids}"

    def environment(self, address=None):
        return {**os.environ, "CLAIMD_SERVER": address or self.server.address}

    def run_ctl(self, *words, stdin=b"", address=None):
        done = subprocess.run([CLAIMCTL, *words], input=stdin, capture_output=True,
                              env=self.environment(address))
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def ctl(self, code, *words, stdin=b""):
        """Runs it with -o json, expects an exit code, and returns what was answered."""
        got, out, err = self.run_ctl(*words, "-o", "json", stdin=stdin)
        self.assertEqual(got, code, (words, out, err))
        self.assertEqual(err, "")
        self.assertEqual(out.count("\n"), 1)
        return json.loads(out)

    def error(self, code, *words):
        """Runs it with -o json, expects an error on stderr and nothing on stdout."""
        got, out, err = self.run_ctl(*words, "-o", "json")
        self.assertEqual(got, code, (words, out, err))
        self.assertEqual(out, "")
        answer = json.loads(err)
        self.assertEqual(list(answer), ["error"])
        return answer["error"]

    def begin(self, message_id, *words):
        """Begins a claim that must be granted; returns its token."""
        return self.ctl(0, "begin", "c", message_id, *words)["token"]


class Commands(Base):
    def test_begin_claimed(self):
        answer = self.ctl(0, "begin", "c", self.new_id(), "--owner", "w1", "--lease", "1m")
        self.assertEqual(list(answer),
                         ["outcome", "token", "attempt", "lease", "effect_key", "state"])
        self.assertEqual(answer["outcome"], "CLAIMED")
        self.assertEqual(answer["state"], "PROCESSING")
        self.assertEqual(answer["attempt"], 1)
        self.assertIsInstance(answer["token"], str)
        self.assertGreater(int(answer["token"]), 0)
        self.assertEqual(answer["lease"]["remaining"], "60.000s")
        self.assertRegex(answer["lease"]["expire_time"], TIME)
        self.assertRegex(answer["effect_key"], r"^[0-9a-f]{32}$")

    def test_begin_in_flight(self):
        message = self.new_id()
        self.begin(message, "--owner", "w1")
        answer = self.ctl(11, "begin", "c", message)
        self.assertEqual(answer["outcome"], "IN_FLIGHT")
        self.assertEqual(answer["owner"], "w1")
        self.assertRegex(answer["retry_after"], DURATION)
        self.assertNotIn("token", answer)

    def test_begin_duplicate_brings_the_result(self):
        message = self.new_id()
        token = self.begin(message)
        done = self.ctl(0, "complete", "c", message, "--token", token, "--result", "ok")
        self.assertEqual(list(done), ["state", "replayed", "complete_time", "expire_time"])
        self.assertEqual(done["state"], "SUCCEEDED")
        self.assertIs(done["replayed"], False)
        answer = self.ctl(10, "begin", "c", message)
        self.assertEqual(answer["outcome"], "DUPLICATE")
        self.assertEqual(base64.b64decode(answer["result"]), b"ok")
        self.assertRegex(answer["complete_time"], TIME)
        again = self.ctl(0, "complete", "c", message, "--token", token, "--result", "ok")
        self.assertIs(again["replayed"], True)

    def test_begin_not_yet_and_then_a_takeover(self):
        message = self.new_id()
        token = self.begin(message, "--owner", "w1")
        failed = self.ctl(0, "fail", "c", message, "--token", token, "--kind", "transient",
                          "--message", "gateway", "--retry-after", "1h")
        self.assertEqual(failed["state"], "RETRYING")
        self.assertIs(failed["replayed"], False)
        self.assertRegex(failed["next_attempt_time"], TIME)
        self.assertRegex(failed["retry_after"], DURATION)
        answer = self.ctl(12, "begin", "c", message)
        self.assertEqual(answer["outcome"], "NOT_YET")
        self.assertEqual(answer["last_error"]["kind"], "TRANSIENT")
        self.assertEqual(answer["last_error"]["message"], "gateway")

        message = self.new_id()
        token = self.begin(message, "--owner", "w1")
        self.ctl(0, "renew", "c", message, "--token", token, "--checkpoint", "step 2")
        self.ctl(0, "fail", "c", message, "--token", token, "--kind", "unclassified",
                 "--message", "hm", "--retry-after", "0s")
        answer = self.ctl(0, "begin", "c", message)
        self.assertEqual(answer["attempt"], 2)
        takeover = answer["takeover"]
        self.assertEqual(takeover["previous_owner"], "w1")
        self.assertEqual(takeover["previous_end"], "FAILED")
        self.assertEqual(takeover["last_error"]["message"], "hm")
        self.assertEqual(base64.b64decode(takeover["checkpoint"]), b"step 2")

    def test_begin_dead_lettered(self):
        message = self.new_id()
        token = self.begin(message)
        failed = self.ctl(0, "fail", "c", message, "--token", token, "--kind", "poison",
                          "--message", "no such account", "--payload", "{}")
        self.assertEqual(failed["state"], "DEAD_LETTERED")
        self.assertEqual(self.ctl(13, "begin", "c", message)["outcome"], "DEAD_LETTERED")

    def test_begin_outcome_unknown_and_resolve(self):
        for word, state in [("succeeded", "SUCCEEDED"), ("rejected", "REJECTED"),
                            ("retry", "RECEIVED"), ("dead-letter", "DEAD_LETTERED")]:
            message = self.new_id()
            token = self.begin(message)
            failed = self.ctl(0, "fail", "c", message, "--token", token, "--kind",
                              "outcome-unknown", "--message", "timed out")
            self.assertEqual(failed["state"], "UNKNOWN")
            self.assertEqual(self.ctl(14, "begin", "c", message)["outcome"], "OUTCOME_UNKNOWN")
            answer = self.ctl(0, "resolve", "c", message, "--as", word, "--reason", "looked")
            self.assertEqual(answer, {"state": state})

    def test_begin_repeats_by_request_id(self):
        message = self.new_id()
        token = self.begin(message, "--owner", "w1", "--request-id", "r1")
        again = self.ctl(0, "begin", "c", message, "--owner", "w1", "--request-id", "r1")
        self.assertEqual(again["token"], token)
        self.ctl(11, "begin", "c", message, "--owner", "w1", "--request-id", "r2")
        taken = self.ctl(0, "begin", "c", message, "--owner", "w1", "--reclaim")
        self.assertGreater(int(taken["token"]), int(token))
        self.assertEqual(taken["takeover"]["previous_end"], "RECLAIMED")

    def test_begin_waits_for_a_release(self):
        message = self.new_id()
        token = self.begin(message)
        waiter = subprocess.Popen([CLAIMCTL, "begin", "c", message, "--wait", "30s"],
                                  env=self.environment(), stdout=subprocess.PIPE, text=True)
        released = self.ctl(0, "release", "c", message, "--token", token)
        self.assertEqual(released, {"state": "RECEIVED", "replayed": False})
        out, _ = waiter.communicate()
        self.assertEqual(waiter.returncode, 0, out)
        self.assertRegex(out, r"outcome +CLAIMED\n")

    def test_wait_ends_without_a_claim(self):
        message = self.new_id()
        self.begin(message)
        self.ctl(11, "begin", "c", message, "--wait", "100ms")

    def test_fingerprint(self):
        message = self.new_id()
        self.begin(message, "--fingerprint", "00ffAB")
        self.assertEqual(self.ctl(11, "begin", "c", message, "--fingerprint", "00ffab")["state"],
                         "PROCESSING")
        error = self.error(6, "begin", "c", message, "--fingerprint", "00")
        self.assertEqual(error["code"], "FAILED_PRECONDITION")
        self.assertEqual(error["reason"], "FINGERPRINT_MISMATCH")
        shown = self.ctl(0, "get", "c", message)
        self.assertEqual(base64.b64decode(shown["fingerprint"]), b"\x00\xff\xab")

    def test_results_are_kept_byte_for_byte(self):
        binary = bytes(range(256)) * 4
        with tempfile.NamedTemporaryFile() as file:
            file.write(binary)
            file.flush()
            for words, stdin, expected in [(["--result", ""], b"", b""),
                                           (["--result", "-"], b"", b"-"),
                                           (["--result-file", file.name], b"", binary),
                                           (["--result-file", "-"], binary, binary),
                                           (["--result-file", "-"], b"", b"")]:
                message = self.new_id()
                token = self.begin(message)
                self.ctl(0, "complete", "c", message, "--token", token, *words, stdin=stdin)
                shown = self.ctl(10, "begin", "c", message)
                self.assertEqual(base64.b64decode(shown["result"]), expected)
        message = self.new_id()
        self.ctl(0, "complete", "c", message, "--token", self.begin(message))
        self.assertNotIn("result", self.ctl(10, "begin", "c", message))

    def test_reject(self):
        message = self.new_id()
        token = self.begin(message)
        answer = self.ctl(0, "reject", "c", message, "--token", token, "--reason", "closed")
        self.assertEqual(answer["state"], "REJECTED")
        duplicate = self.ctl(10, "begin", "c", message)
        self.assertEqual(duplicate["state"], "REJECTED")
        self.assertEqual(duplicate["reason"], "closed")

    def test_renew(self):
        message = self.new_id()
        token = self.begin(message)
        answer = self.ctl(0, "renew", "c", message, "--token", token, "--lease", "2h")
        self.assertEqual(list(answer), ["lease"])
        self.assertEqual(answer["lease"]["remaining"], "7200.000s")

    def test_register_and_cancel(self):
        message = self.new_id()
        words = ["--event-time", "2026-08-01T12:00:00.5+02:00", "--payload-ref", "p/3/17"]
        self.assertEqual(self.ctl(0, "register", "c", message, *words),
                         {"created": True, "state": "RECEIVED"})
        self.assertEqual(self.ctl(0, "register", "c", message),
                         {"created": False, "state": "RECEIVED"})
        shown = self.ctl(0, "get", "c", message)
        self.assertEqual(shown["event_time"], "2026-08-01T10:00:00.500Z")
        self.assertEqual(shown["payload_ref"], "p/3/17")
        self.assertEqual(self.ctl(0, "cancel", "c", message, "--reason", "withdrawn"),
                         {"state": "REJECTED", "replayed": False})
        self.assertEqual(self.ctl(0, "cancel", "c", message),
                         {"state": "REJECTED", "replayed": True})

    def test_get(self):
        message = self.new_id()
        token = self.begin(message, "--owner", "w1")
        self.ctl(0, "fail", "c", message, "--token", token, "--kind", "poison", "--message", "bad",
                 "--payload", "body")
        shown = self.ctl(0, "get", "c", message)
        self.assertEqual(shown["consumer"], "c")
        self.assertEqual(shown["message_id"], message)
        self.assertEqual(shown["state"], "DEAD_LETTERED")
        self.assertEqual(shown["retries"], {"poison": 1})
        self.assertEqual(shown["owner"], "w1")
        self.assertEqual(shown["payload_info"], {"size_bytes": 4})
        self.assertNotIn("payload", shown)
        self.assertNotIn("token", shown)
        self.assertEqual(len(shown["attempts"]), 1)
        attempt = shown["attempts"][0]
        self.assertEqual(list(attempt),
                         ["attempt", "owner", "begin_time", "end_time", "end", "error"])
        self.assertEqual((attempt["attempt"], attempt["end"], attempt["error"]),
                         (1, "FAILED", "bad"))
        for key in ["create_time", "update_time"]:
            self.assertRegex(shown[key], TIME)
        shown = self.ctl(0, "get", "c", message, "--bodies")
        self.assertEqual(base64.b64decode(shown["payload"]), b"body")

    def test_prune(self):
        message = self.new_id()
        self.ctl(0, "complete", "p", message, "--token",
                 self.ctl(0, "begin", "p", message)["token"])
        error = self.error(6, "prune", "--before", "now", "--consumer", "p")
        self.assertEqual(error["reason"], "WINDOW_VIOLATION")
        old = self.ctl(0, "prune", "--before", "-7d", "--consumer", "p")
        self.assertEqual((old["removed_count"], old["done"]), ("0", True))
        later = "2100-01-01T00:00:00Z"
        dry = self.ctl(0, "prune", "--before", later, "--consumer", "p", "--force", "--dry-run")
        self.assertEqual(dry["removed_count"], "1")
        self.ctl(10, "begin", "p", message)
        answer = self.ctl(0, "prune", "--before", later, "--consumer", "p", "--force")
        self.assertEqual(list(answer), ["scanned_count", "removed_count", "done"])
        self.assertEqual(answer["removed_count"], "1")
        self.ctl(0, "begin", "p", message)

    def test_health(self):
        self.assertEqual(self.run_ctl("health"), (0, "SERVING\n", ""))
        self.assertEqual(self.ctl(0, "health"), {"status": "SERVING"})
        self.assertEqual(self.run_ctl("health", "--service", "claimd.v1.ClaimService")[0], 0)
        self.assertEqual(self.error(4, "health", "--service", "nobody")["code"], "NOT_FOUND")

    def test_version(self):
        code, out, err = self.run_ctl("version")
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, rf"^claimctl \S+\nclaimd \S+ at {self.server.address}\n$")
        answer = self.ctl(0, "version")
        self.assertEqual(answer["version"], answer["server"]["version"])
        self.assertIn({"state": "UNKNOWN", "count": "0"},
                      [{**row, "count": "0"} for row in answer["server"]["states"]])
        self.assertEqual(answer["server"]["retention"], "604800.000s")
        self.assertEqual(self.run_ctl("--version")[1], out.splitlines()[0] + "\n")


class Errors(Base):
    def test_not_found(self):
        for words in [["get"], ["complete", "--token", "1"], ["release", "--token", "1"]]:
            error = self.error(4, words[0], "c", self.new_id(), *words[1:])
            self.assertEqual(error["code"], "NOT_FOUND")

    def test_stale_token(self):
        message = self.new_id()
        self.begin(message)
        for words in [["complete"], ["reject"], ["renew"], ["release"],
                      ["fail", "--kind", "poison", "--message", "x"]]:
            error = self.error(5, words[0], "c", message, "--token", "1", *words[1:])
            self.assertEqual((error["code"], error["reason"], error["state"]),
                             ("FAILED_PRECONDITION", "STALE_TOKEN", "PROCESSING"))

    def test_wrong_state(self):
        message = self.new_id()
        token = self.begin(message)
        error = self.error(6, "cancel", "c", message)
        self.assertEqual((error["reason"], error["state"]), ("WRONG_STATE", "PROCESSING"))
        self.error(6, "resolve", "c", message, "--as", "retry")
        self.ctl(0, "complete", "c", message, "--token", token)
        self.error(6, "release", "c", message, "--token", token)

    def test_invalid_argument_names_the_field(self):
        message = self.new_id()
        for field, words in [
                ("consumer", ["begin", "", message]),
                ("consumer", ["begin", "c" * 129, message]),
                ("message_id", ["begin", "c", "m" * 1025]),
                ("lease", ["begin", "c", message, "--lease", "99ms"]),
                ("lease", ["begin", "c", message, "--lease", "0s"]),
                ("wait", ["begin", "c", message, "--wait", "61s"]),
                ("request_id", ["begin", "c", message, "--request-id", message]),
                ("token", ["complete", "c", message, "--token", "0"])]:
            error = self.error(7, *words)
            self.assertEqual((error["code"], error["field"]), ("INVALID_ARGUMENT", field))
        self.error(4, "get", "c", message)

    def test_a_result_that_is_too_large(self):
        message = self.new_id()
        token = self.begin(message)
        for size in [64 * 1024 + 1, 5 * 1024 * 1024]:
            with tempfile.NamedTemporaryFile() as file:
                file.write(b"x" * size)
                file.flush()
                self.error(7, "complete", "c", message, "--token", token, "--result-file",
                           file.name)
        self.assertEqual(self.ctl(0, "get", "c", message)["state"], "PROCESSING")

    def test_errors_for_people(self):
        code, out, err = self.run_ctl("get", "c", "no-such")
        self.assertEqual((code, out), (4, ""))
        self.assertRegex(err, r"^claimctl: NOT_FOUND: [^\n]+\n$")
        message = self.new_id()
        self.begin(message)
        _, _, err = self.run_ctl("complete", "c", message, "--token", "1")
        self.assertRegex(err, r"^claimctl: FAILED_PRECONDITION STALE_TOKEN: .*PROCESSING")

    def test_what_cannot_be_read_or_written(self):
        code, out, err = self.run_ctl("complete", "c", "m", "--token", "1", "--result-file",
                                      "/nonexistent")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("/nonexistent", err)
        with open("/dev/full", "w") as full:
            done = subprocess.run([CLAIMCTL, "begin", "c", self.new_id()], stdout=full,
                                  stderr=subprocess.PIPE, env=self.environment())
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"could not be written", done.stderr)


class Absent(Base):
    def test_no_server(self):
        nobody = f"127.0.0.1:{live_claimd.free_port()}"
        code, out, err = self.run_ctl("begin", "c", "m", "--timeout", "300ms", "-o", "json",
                                      address=nobody)
        self.assertEqual((code, out), (3, ""))
        self.assertEqual(json.loads(err)["error"]["code"], "UNAVAILABLE")
        code, out, err = self.run_ctl("health", address=nobody)
        self.assertEqual((code, out), (3, ""))
        self.assertRegex(err, r"^claimctl: UNAVAILABLE: ")
        code, out, err = self.run_ctl("version", address=nobody)
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"^claimctl \S+\n$")

    def test_a_server_that_does_not_answer(self):
        self.server.process.send_signal(signal.SIGSTOP)
        try:
            code, out, err = self.run_ctl("get", "c", "m", "--timeout", "300ms", "-o", "json")
        finally:
            self.server.process.send_signal(signal.SIGCONT)
        self.assertEqual((code, out), (3, ""))
        error = json.loads(err)["error"]
        # On a slow machine the time is up before the connection is: then it is UNAVAILABLE.
        self.assertIn(error["code"], ("DEADLINE_EXCEEDED", "UNAVAILABLE"))
        if error["code"] == "UNAVAILABLE":
            return
        self.assertNotIn("maybe_happened", error)

    def test_a_restart_is_waited_for_and_people_are_told(self):
        self.assertEqual(self.server.stop(), 0)
        master, terminal = pty.openpty()
        with subprocess.Popen([CLAIMCTL, "begin", "c", self.new_id(), "--timeout", "60s"],
                              env=self.environment(), stdout=subprocess.PIPE,
                              stderr=terminal) as process:
            os.close(terminal)
            told = b""
            while b"still trying" not in told:
                told += os.read(master, 1000)
            self.server.start()
            out, _ = process.communicate()
            self.assertEqual(process.returncode, 0)
            self.assertIn(b"CLAIMED", out)
        os.close(master)


class Tables(Base):
    def table(self, code, *words):
        got, out, err = self.run_ctl(*words)
        self.assertEqual((got, err), (code, ""))
        return out

    def test_rows_are_aligned(self):
        out = self.table(0, "begin", "c", self.new_id(), "--owner", "w1")
        rows = [re.fullmatch(r"(\S+)( +)(.+)", line) for line in out.splitlines()]
        self.assertTrue(all(rows), out)
        self.assertEqual(len({row.start(3) for row in rows}), 1)
        self.assertEqual([row.group(1) for row in rows],
                         ["outcome", "token", "attempt", "lease.expire_time", "lease.remaining",
                          "effect_key", "state"])

    def test_bodies(self):
        for body, shown in [(b"two\nlines \xc3\xa4", "result         two\nlines \u00e4\n"),
                            (b"\x1b[31mred", "8 bytes: 1b5b33316d726564\n"),
                            (b"\xff" * 40, "40 bytes: " + "ff" * 32 + "...\n")]:
            message = self.new_id()
            token = self.begin(message)
            self.ctl(0, "complete", "c", message, "--token", token, "--result-file", "-",
                     stdin=body)
            out = self.table(10, "begin", "c", message)
            self.assertTrue(out.endswith(shown), out)

    def test_control_characters_do_not_reach_a_terminal(self):
        message = self.new_id()
        self.begin(message, "--owner", "evil\x1b[2J\u009b")
        out = self.table(11, "begin", "c", message)
        self.assertIn("evil\\x1b[2J\\xc2\\x9b\n", out)
        self.assertEqual(self.ctl(11, "begin", "c", message)["owner"], "evil\x1b[2J\u009b")

    def test_attempts_have_a_line_each(self):
        message = self.new_id()
        for owner in ["w1", "w2"]:
            token = self.begin(message, "--owner", owner)
            self.ctl(0, "release", "c", message, "--token", token)
        lines = [line for line in self.table(0, "get", "c", message).splitlines()
                 if "attempt=" in line]
        self.assertEqual(len(lines), 2)
        self.assertRegex(lines[0], r"^attempts +attempt=1  owner=w1  .*end=RELEASED$")
        self.assertRegex(lines[1], r"^ +attempt=2  owner=w2  ")


class Usage(Base):
    def usage(self, *words):
        """What is said of words that are refused with exit code 2, before any call."""
        code, out, err = self.run_ctl(*words, address="127.0.0.1:1")
        self.assertEqual((code, out), (2, ""), (words, err))
        return err

    def test_help(self):
        code, out, err = self.run_ctl("--help")
        self.assertEqual((code, err), (0, ""))
        for command in USAGES:
            self.assertRegex(out, rf"(?m)^  {command} ")
        self.assertIn("Example", out)

    def test_help_of_each_command(self):
        for command, usage in USAGES.items():
            for words in [[command, "--help"], [command, "-h"], [command, "junk", "--help"]]:
                code, out, err = self.run_ctl(*words)
                self.assertEqual((code, err), (0, ""), words)
                self.assertEqual(out.splitlines()[0], f"Usage: claimctl {command} {usage}".strip())
                self.assertRegex(out, rf"Example:\n  claimctl {command}")
                for option in re.findall(r"--[a-z-]+", usage):
                    self.assertRegex(out, rf"(?m)^      (--\S+ TEXT\|)?{option}\b")

    def test_suggestions(self):
        self.assertIn("did you mean begin?", self.usage("bgin", "c", "m"))
        self.assertIn("did you mean --lease?", self.usage("begin", "c", "m", "--leese", "1s"))
        self.assertIn("did you mean --result-file?",
                      self.usage("complete", "c", "m", "--token", "1", "--result-fil2", "x"))
        self.assertNotIn("did you mean", self.usage("frobnicate"))
        self.assertIn("put -- before", self.usage("get", "c", "-x"))

    def test_words(self):
        self.assertIn("a command is missing", self.usage())
        self.assertIn("needs CONSUMER MESSAGE_ID", self.usage("begin", "c"))
        self.assertIn("'x' is one word too many", self.usage("begin", "c", "m", "x"))
        self.assertIn("'x' is one word too many", self.usage("health", "x"))

    def test_missing_options(self):
        self.assertIn("--token is missing", self.usage("complete", "c", "m"))
        self.assertIn("--kind is missing",
                      self.usage("fail", "c", "m", "--token", "1", "--message", "x"))
        self.assertIn("--before is missing", self.usage("prune"))
        self.assertIn("--as is missing", self.usage("resolve", "c", "m"))

    def test_values(self):
        fail = ["fail", "c", "m", "--token", "1", "--message", "x", "--kind"]
        for *words, value in [["begin", "c", "m", "--lease", "10"],
                              ["begin", "c", "m", "--lease", "1x"],
                              ["begin", "c", "m", "--lease", "-1s"],
                              ["begin", "c", "m", "--lease", ""],
                              ["begin", "c", "m", "--lease", "99999999999999999999d"],
                              ["begin", "c", "m", "--fingerprint", "0"],
                              ["begin", "c", "m", "--fingerprint", "zz"],
                              ["begin", "c", "m", "--event-time", "yesterday"],
                              ["complete", "c", "m", "--token", "x"],
                              ["complete", "c", "m", "--token", "-1"],
                              ["complete", "c", "m", "--token", "18446744073709551616"],
                              [*fail, "bad"],
                              [*fail, ""],
                              [*fail, "poison|transient"],
                              ["prune", "--before", "2026-02-30T00:00:00Z"],
                              ["get", "c", "m", "-o", "yaml"],
                              ["health", "--timeout", "soon"]]:
            self.assertIn(f"'{value}' is not ", self.usage(*words, value))

    def test_options_that_do_not_go_together(self):
        for words in [["--result", "a", "--result-file", "b"], ["--result", "a", "--result", "b"]]:
            self.assertIn("not both", self.usage("complete", "c", "m", "--token", "1", *words))

    def test_arguments(self):
        self.assertIn("--lease needs an argument", self.usage("begin", "c", "m", "--lease"))
        self.assertIn("takes no argument", self.usage("get", "c", "m", "--bodies=1"))

    def test_options_go_anywhere(self):
        message = self.new_id()
        for words in [["-o", "json", "begin", "c", message],
                      ["begin", "-o", "json", "c", message],
                      ["begin", "c", message, "--output=json"],
                      ["--timeout", "5s", "-ojson", "begin", "--", "c", message]]:
            code, out, _ = self.run_ctl(*words)
            self.assertIn(code, (0, 11))
            self.assertIn(json.loads(out)["outcome"], ("CLAIMED", "IN_FLIGHT"))
        code, out, _ = self.run_ctl("begin", "c", "-o", "json", "--", "-dashed")
        self.assertEqual(json.loads(out)["outcome"], "CLAIMED")

    def test_the_server_option_comes_first(self):
        code, out, _ = self.run_ctl("health", "--server", self.server.address,
                                    address="127.0.0.1:1")
        self.assertEqual((code, out), (0, "SERVING\n"))


if __name__ == "__main__":
    unittest.main()
