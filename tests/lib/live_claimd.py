"""A real claimd as a child process: created, started, killed, stopped; for tests in Python.

The child can never outlive the test: it dies with it, and close() ends it. What it logs is read as
it comes, so that a test waits for a line and not for time to pass.
"""
import collections
import contextlib
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("CLAIMD_BUILD_DIR", ROOT / "build"))
CLAIMD = BUILD / "server" / "claimd"
IS_SANITIZED = bool(os.environ.get("CLAIMD_SANITIZE"))
IS_FULL = bool(os.environ.get("CLAIMD_TEST_FULL"))

# A sanitizer makes everything several times as slow.
PATIENCE_S = 120 if IS_SANITIZED else 60
LOG_LINES_KEPT = 2000
PREFIX = "claimd-test-"
READY = re.compile(r"claimd \S+ listens on .*\(port (\d+)\)")


class Ended(AssertionError):
    """claimd has ended although the test needs it; the text is its log."""


def temp_dir(prefix=PREFIX):
    """A new directory on a disk: what is kept in memory survives nothing and proves nothing."""
    for parent in (os.environ.get("TMPDIR"), "/tmp", "/var/tmp"):
        if parent and os.access(parent, os.W_OK | os.X_OK) and not is_in_memory(parent):
            return pathlib.Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    raise AssertionError("no directory for tests: set TMPDIR to one that is writable and on a disk")


def is_in_memory(path):
    """Whether a directory's file system is kept in memory."""
    path = os.path.realpath(path)
    best, kind = "", ""
    with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as mounts:
        for line in mounts:
            _, point, type_, *_ = line.split()
            inside = path == point or path.startswith(point.rstrip("/") + "/")
            if inside and len(point) >= len(best):  # the later of two on one point is on top
                best, kind = point, type_
    return kind in ("tmpfs", "ramfs")


def free_port():
    """A loopback port that nobody listens on, below those that the kernel gives to clients: one
    that looks for a server that is down would now and then be given the server's own port, and keep
    it."""
    while True:
        port = random.randint(10240, 30000)
        with contextlib.closing(socket.socket()) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


class Claimd:
    """One data directory, one port, and at most one process that serves them."""

    def __init__(self, directory, port=None, options=(), environment=None):
        self.directory = pathlib.Path(directory)
        self.port = port or free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.options = [str(option) for option in options]
        self.environment = environment or {}
        self.process = None
        self.lines = collections.deque(maxlen=LOG_LINES_KEPT)
        self._changed = threading.Condition()
        self._lines_ended = True
        self._reader = None

    def create(self):
        done = subprocess.run([CLAIMD, "init", "--data-dir", self.directory], text=True,
                              capture_output=True, timeout=PATIENCE_S, check=False)
        if done.returncode != 0:
            raise AssertionError(f"claimd init: {done.stdout}{done.stderr}")
        return self

    def spawn(self, *more):
        """Starts the process and does not wait for anything."""
        assert self.process is None or self.process.poll() is not None, "it runs"
        self._join()
        self._lines_ended = False
        self.process = subprocess.Popen(
            # setpriv becomes the program: the process that we started is the one that we end.
            ["setpriv", "--pdeathsig", "KILL", str(CLAIMD), "--data-dir", str(self.directory),
             "--listen", self.address, *self.options, *more],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env={**os.environ, **self.environment})
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def start(self, *more):
        """Starts the process and waits until it serves."""
        self.spawn(*more)
        self.wait_for_line(READY)
        return self

    def wait_for_line(self, pattern, timeout=PATIENCE_S):
        """Waits until this process has logged a line that matches."""
        pattern = re.compile(pattern)
        found = None

        def look():
            nonlocal found
            found = next((line for line in self.lines if pattern.search(line)), None)
            return found is not None or self._lines_ended

        with self._changed:
            came = self._changed.wait_for(look, timeout)
        if found is None:
            why = "claimd ended" if came else f"not within {timeout} s"
            raise Ended(f"{why}: waited for {pattern.pattern!r}; log:\n{self.log()}")
        return found

    def kill(self):
        """SIGKILL. Says whether it still ran."""
        ran = self.process.poll() is None
        self.process.kill()
        self.process.wait()
        self._join()
        return ran

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def wait(self, timeout=PATIENCE_S):
        """Waits until it has ended; its exit code, negative for a signal."""
        code = self.process.wait(timeout)
        self._join()
        return code

    def stop(self, timeout=PATIENCE_S):
        """SIGTERM; its exit code."""
        self.terminate()
        return self.wait(timeout)

    def run_to_end(self, *more, timeout=PATIENCE_S):
        """Starts a process that is expected to end by itself; its exit code."""
        self.spawn(*more)
        try:
            return self.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"claimd did not end by itself; log:\n{self.log()}") from None

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def log(self):
        with self._changed:
            return "".join(self.lines)

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self._join()

    def remove(self):
        """Ends it and removes its store, and the directory of temp_dir() that it is in."""
        self.close()
        parent = self.directory.parent
        shutil.rmtree(parent if parent.name.startswith(PREFIX) else self.directory,
                      ignore_errors=True)

    def _read(self):
        with self._changed:
            self.lines.clear()
        for line in self.process.stderr:
            with self._changed:
                self.lines.append(line.decode(errors="replace"))
                self._changed.notify_all()
        self.process.stderr.close()
        with self._changed:
            self._lines_ended = True
            self._changed.notify_all()

    def _join(self):
        if self._reader is not None:
            self._reader.join()
            self._reader = None
