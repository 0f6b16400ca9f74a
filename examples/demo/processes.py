"""Child processes that can never outlive the demo.

Every process is the leader of its own group, dies with the driver even when that one is killed
(PR_SET_PDEATHSIG), and is ended by the id that we got when we started it, never by name.
"""
import os
import signal
import socket
import subprocess
import time


class Failure(Exception):
    """The demo cannot go on, or found something wrong; the text is for the person running it."""


def wait_until(condition, timeout_s, what, interval_s=0.05):
    """Polls until condition() is true; its last value is returned."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Failure(f"{what}: not within {timeout_s:g} s")
        time.sleep(interval_s)


def free_ports(count):
    """Loopback ports that nobody listens on; held together, so that all of them differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for sock in sockets:
            sock.bind(("127.0.0.1", 0))
        return [sock.getsockname()[1] for sock in sockets]
    finally:
        for sock in sockets:
            sock.close()


def port_is_open(port):
    with socket.socket() as sock:
        sock.settimeout(0.5)
        return sock.connect_ex(("127.0.0.1", port)) == 0


class Child:
    """One started process; stop() is bounded and safe to repeat."""

    def __init__(self, name, argv, log_path, env=None):
        self.name = name
        with open(log_path, "ab") as log:
            self._process = subprocess.Popen(
                # setpriv becomes the program: the process that we started is the one we stop.
                ["setpriv", "--pdeathsig", "KILL", *argv], stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, env=env, start_new_session=True)
        self.pid = self._process.pid
        self.log_path = log_path

    def exit_code(self):
        """None while it runs; negative: the signal that ended it."""
        return self._process.poll()

    def kill(self):
        """SIGKILL, now, to the whole group."""
        self._signal_group(signal.SIGKILL)
        self._process.wait(timeout=10)

    def ask_to_stop(self):
        if self.exit_code() is None:
            self._process.send_signal(signal.SIGTERM)

    def wait(self, timeout_s):
        try:
            return self._process.wait(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def stop(self, timeout_s=15):
        self.ask_to_stop()
        self.wait(timeout_s)
        self.kill()

    def log_tail(self, lines=15):
        with open(self.log_path, errors="replace") as log:
            return "".join(log.readlines()[-lines:])

    def _signal_group(self, number):
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            pass
