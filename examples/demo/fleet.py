"""The consumers: some in Python, some in C, killed and replaced while they work."""
import collections
import os
import pathlib
import signal
import sys

from processes import Child, Failure, wait_until

LANGUAGES = ("python", "c")
# Where a consumer may be told to kill itself: each leaves another kind of mess behind.
DEATHS = ("after-begin", "after-commit", "after-complete")


class Member:
    def __init__(self, language, owner, child, log_path, doomed):
        self.language = language
        self.owner = owner
        self.child = child
        self.doomed = doomed  # it has orders to kill itself
        self.log_path = log_path

    def lines(self):
        """What it wrote, as lists of words; complete lines only."""
        if not self.log_path.exists():
            return []
        text = self.log_path.read_text(encoding="utf-8")
        return [line.split("\t") for line in text.split("\n")[:-1]]

    def works(self):
        return bool(self.lines()) and self.child.exit_code() is None


class Fleet:
    def __init__(self, directory, c_consumer, settings, rng):
        """settings: the DEMO_* environment that all consumers share."""
        self._dir = pathlib.Path(directory)
        self._dir.mkdir(parents=True)
        self._argv = {
            "python": [sys.executable, str(pathlib.Path(__file__).with_name("consumer.py"))],
            "c": [str(c_consumer)],
        }
        self._settings = settings
        self._rng = rng
        self.live = []
        self.members = []  # everybody who ever worked
        self.kills = collections.Counter()  # by language: SIGKILL from here

    def start_one(self, language, die_at="", die_after=0):
        owner = f"{language}-{len(self.members) + 1}"
        log_path = self._dir / f"{owner}.log"
        env = os.environ | self._settings | {
            "DEMO_OWNER": owner, "DEMO_LOG": str(log_path),
            "DEMO_DIE_AT": die_at, "DEMO_DIE_AFTER": str(die_after)}
        child = Child(owner, self._argv[language], self._dir / f"{owner}.err", env)
        member = Member(language, owner, child, log_path, bool(die_at))
        self.live.append(member)
        self.members.append(member)
        return member

    def wait_until_working(self):
        def all_work():
            self.replace_the_dead()
            return all(member.works() for member in self.live)
        wait_until(all_work, 60, "consumers started")

    def replace_the_dead(self):
        """A consumer may end by SIGKILL only: any other end is a failure of the demo."""
        for member in list(self.live):
            code = member.child.exit_code()
            if code is None:
                continue
            if code != -signal.SIGKILL:
                raise Failure(f"consumer {member.owner} ended by itself ({code}):\n"
                              f"{member.child.log_tail()}")
            self.live.remove(member)
            self.start_one(member.language)

    def kill_one(self, language):
        """SIGKILLs a working consumer of that language, and starts another in its place. Those that
        will kill themselves are spared: each of those deaths must happen."""
        def victims():
            self.replace_the_dead()
            return [member for member in self.live
                    if member.language == language and member.works() and not member.doomed]
        victim = self._rng.choice(wait_until(victims, 60, f"a {language} consumer to kill"))
        victim.child.kill()
        self.kills[language] += 1
        self.replace_the_dead()

    def finish(self):
        """Lets everybody end what is in hand, and go; a consumer that does not is a failure."""
        for member in self.live:
            member.child.ask_to_stop()
        for member in self.live:
            code = member.child.wait(45)
            # One that had not come so far as to listen for the signal held no message either.
            early = code == -signal.SIGTERM and not member.lines()
            if code not in (0, -signal.SIGKILL) and not early:
                raise Failure(f"consumer {member.owner} did not stop well ({code}):\n"
                              f"{member.child.log_tail()}")
        self.live.clear()

    def stop(self):
        for member in self.live:
            member.child.kill()
        self.live.clear()
