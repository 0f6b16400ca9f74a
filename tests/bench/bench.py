#!/usr/bin/env python3
"""Measures claimd against a trivial call of its own server, against the disk, and against Redis.

Every figure is a ratio of things measured in turn in one run on one machine: medians of --runs
rounds, each round with fresh keys. Nothing here passes or fails by time: it prints and records.

  tests/bench/bench.py --build DIR [--runs N] [--quick] [--json FILE]
"""

import argparse
import json
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

TICK_US = 1_000_000 / os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(condition, what, seconds=30):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.02)
    raise SystemExit(f"bench: {what} did not happen within {seconds} s")


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Process:
    """A server that this script starts and ends."""

    def __init__(self, command, port, log):
        self.port = port
        self.log = open(log, "wb")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        wait_for(lambda: answers(port), f"{command[0]} on port {port}")

    def cpu_us(self):
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) * TICK_US

    def peak_rss_mib(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) / 1024
        raise SystemExit("bench: no VmHWM")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


class Bench:
    def __init__(self, build, folder, runs, quick):
        self.build = build
        self.folder = folder
        self.runs = runs
        self.scale = 0.2 if quick else 1
        self.measures = []

    def start_claimd(self, name):
        data = os.path.join(self.folder, name)
        binary = os.path.join(self.build, "server", "claimd")
        subprocess.run([binary, "init", "--data-dir", data], check=True, stdout=subprocess.DEVNULL)
        port = free_port()
        command = [binary, "--data-dir", data, "--listen", f"127.0.0.1:{port}"]
        return Process(command, port, os.path.join(self.folder, name + ".log"))

    def start_redis(self):
        data = os.path.join(self.folder, "redis")
        os.mkdir(data)
        port = free_port()
        command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", data,
                   "--appendonly", "yes", "--appendfsync", "always", "--save", "",
                   "--auto-aof-rewrite-percentage", "0"]
        return Process(command, port, os.path.join(self.folder, "redis.log"))

    def load(self, server, mode, outstanding, calls):
        """One run of the load generator; adds the server's CPU per call."""
        before = server.cpu_us()
        done = subprocess.run(
            [os.path.join(self.build, "tests", "bench", "bench_load"),
             "--target", f"127.0.0.1:{server.port}", "--mode", mode,
             "--outstanding", str(outstanding), "--calls", str(calls)],
            check=True, capture_output=True, text=True)
        result = json.loads(done.stdout)
        result["cpu_us"] = (server.cpu_us() - before) / calls
        return result

    def redis_load(self, server, outstanding, calls):
        """SET key v NX PX 30000 on fresh keys: redis-benchmark repeats its numbers in every
        process, so each run has a prefix of its own; a SET that meets a key would write and sync
        nothing."""
        prefix = f"b{random.getrandbits(48):012x}"
        self.redis_cli(server, "FLUSHALL")
        done = subprocess.run(
            ["redis-benchmark", "-p", str(server.port), "-c", str(outstanding), "-n", str(calls),
             "-r", "2000000000", "--csv",
             "SET", prefix + ":__rand_int__", "v", "NX", "PX", "30000"],
            check=True, capture_output=True, text=True)
        keys = int(self.redis_cli(server, "DBSIZE"))
        if keys < calls * 0.99:
            raise SystemExit(f"bench: Redis wrote {keys} keys in {calls} calls: not the same work")
        return float(done.stdout.strip().splitlines()[-1].split(",")[1].strip('"'))

    def redis_cli(self, server, command):
        return subprocess.run(["redis-cli", "-p", str(server.port), command], check=True,
                              capture_output=True, text=True).stdout

    def sync_us(self):
        done = subprocess.run(
            [os.path.join(self.build, "tests", "bench", "bench_sync"),
             os.path.join(self.folder, "sync.probe"), "1000"],
            check=True, capture_output=True, text=True)
        return json.loads(done.stdout)["p50_us"]

    def note(self, name, ours, peer, unit, target):
        """Medians of both, and of the ratios round by round."""
        ratio = statistics.median(o / p for o, p in zip(ours, peer))
        self.measures.append({
            "name": name, "ours": round(statistics.median(ours), 2),
            "peer": round(statistics.median(peer), 2), "unit": unit, "ratio": round(ratio, 3),
            "target": target, "runs": len(ours)})
        spread = sorted(o / p for o, p in zip(ours, peer))
        print(f"{name}: {statistics.median(ours):.1f} vs {statistics.median(peer):.1f} {unit}, "
              f"ratio {ratio:.2f} ({spread[0]:.2f} to {spread[-1]:.2f}), target {target}",
              flush=True)

    # --- the measures ---------------------------------------------------------------------------

    def cpu_per_call(self, server, outstanding):
        calls = int(100_000 * self.scale)
        begin, noop = [], []
        for _ in range(self.runs):
            noop.append(self.load(server, "noop", outstanding, calls)["cpu_us"])
            begin.append(self.load(server, "begin", outstanding, calls)["cpu_us"])
        self.note(f"server CPU per Begin vs trivial call, {outstanding} outstanding", begin, noop,
                  "us/call", "<= 2.2")

    def rate_against_redis(self, server, redis, outstanding):
        calls = int(200_000 * self.scale)
        ours, peer = [], []
        for _ in range(self.runs):
            peer.append(self.redis_load(redis, outstanding, calls))
            ours.append(self.load(server, "begin", outstanding, calls)["rate"])
        self.note(f"durable Begin vs Redis AOF always, {outstanding} outstanding", ours, peer,
                  "calls/s", ">= 0.8")

    def one_client(self, server):
        calls = int(5_000 * self.scale)
        ours, floor = [], []
        for _ in range(self.runs):
            sync_us = self.sync_us()
            trivial_us = self.load(server, "noop", 1, calls)["p50_us"]
            ours.append(self.load(server, "begin", 1, calls)["p50_us"])
            floor.append(sync_us + trivial_us)
        self.note("one client: median Begin vs fdatasync + trivial call", ours, floor, "us",
                  "<= 1.5")

    def memory(self):
        server = self.start_claimd("memory")
        try:
            self.load(server, "begin", 256, int(1_000_000 * self.scale))
            self.note("peak RSS over 1 M claims vs 300 MiB", [server.peak_rss_mib()], [300.0],
                      "MiB", "< 1")
        finally:
            server.stop()

    def run(self):
        server = self.start_claimd("claimd")
        redis = None
        try:
            redis = self.start_redis()
            for outstanding in (64, 256):
                self.cpu_per_call(server, outstanding)
            for outstanding in (64, 256):
                self.rate_against_redis(server, redis, outstanding)
            self.one_client(server)
        finally:
            server.stop()
            if redis is not None:
                redis.stop()
        self.memory()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="build directory with -D CLAIMD_BENCH=ON")
    parser.add_argument("--runs", type=int, default=5, help="rounds of each measure (default 5)")
    parser.add_argument("--quick", action="store_true", help="a fifth of the calls")
    parser.add_argument("--json", metavar="FILE", help="also write the measures there")
    parser.add_argument("--dir", default=None,
                        help="where to put the stores (default: a temporary one)")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="claimd-bench-", dir=options.dir)
    bench = Bench(options.build, folder, options.runs, options.quick)
    try:
        bench.run()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if options.json:
        with open(options.json, "w") as out:
            json.dump({"measures": bench.measures}, out, indent=1)
            out.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
