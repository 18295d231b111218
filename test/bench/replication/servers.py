"""The servers that the replication benchmarks measure: sets of ours, a node that stands alone, and etcd."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
os.environ.setdefault("TROUPE_BIN", str(ROOT / "build" / "bin"))
sys.path.insert(0, str(ROOT / "test" / "integration"))

from replica_set_support import Set, cut, mend  # noqa: E402, F401
from support import BIN, Server, eventually, free_port  # noqa: E402

# The same patience as etcd's defaults.
ELECTION_TIMEOUT_MS = 1000
CACHE_GB = "0.5"


def program(name, **options):
    """Runs one of the benchmarks' programs; returns what it printed."""
    arguments = [str(BIN / name)]
    for option, value in options.items():
        arguments += [f"--{option}", str(value)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr.strip()}")
    return json.loads(done.stdout) if done.stdout.strip() else {}


def troupe_set(count=3, *options, election_timeout_ms=ELECTION_TIMEOUT_MS):
    return Set(count, "--wiredTigerCacheSizeGB", CACHE_GB, "--oplogSize", "4096", *options, election_timeout_ms=election_timeout_ms)


def standalone():
    return Server("--wiredTigerCacheSizeGB", CACHE_GB)


class Etcd:
    """A cluster of etcd's processes with its defaults: a put is answered when a majority has it on disk."""

    def __init__(self, count=3):
        self.folder = Path(tempfile.mkdtemp(prefix="troupe-etcd-", dir=os.environ.get("TROUPE_BENCH_DIR", "/var/tmp")))
        self.clients = [free_port() for _ in range(count)]
        self._peers = [free_port() for _ in range(count)]
        self.processes = [None] * count

    def __enter__(self):
        for i in range(len(self.processes)):
            self.start(i)
        if not eventually(lambda: self.leader() is not None, 30):
            raise RuntimeError(f"etcd did not start: {(self.folder / 'n0.log').read_text()[-2000:]}")
        return self

    def __exit__(self, *_):
        for process in self.processes:
            if process:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder)

    def start(self, i):
        cluster = ",".join(f"n{j}=http://127.0.0.1:{port}" for j, port in enumerate(self._peers))
        client, peer = f"http://127.0.0.1:{self.clients[i]}", f"http://127.0.0.1:{self._peers[i]}"
        with open(self.folder / f"n{i}.log", "ab") as log:
            self.processes[i] = subprocess.Popen(
                ["etcd", "--name", f"n{i}", "--data-dir", str(self.folder / f"n{i}"), "--listen-client-urls", client, "--advertise-client-urls", client,
                 "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", cluster, "--initial-cluster-state", "new",
                 "--quota-backend-bytes", str(8 << 30), "--log-level", "error"], stdout=log, stderr=log)

    def ask(self, i, path, body):
        request = urllib.request.Request(f"http://127.0.0.1:{self.clients[i]}/v3/{path}", data=json.dumps(body).encode(), method="POST")
        with urllib.request.urlopen(request, timeout=2) as reply:
            return json.load(reply)

    def leader(self):
        """The number of the process that leads, if there is one."""
        for i, process in enumerate(self.processes):
            if process is None or process.poll() is not None:
                continue
            try:
                status = self.ask(i, "maintenance/status", {})
            except (urllib.error.URLError, OSError):
                continue
            if status.get("leader") and status["leader"] == status["header"]["member_id"]:
                return i
        return None

    def pids(self):
        return [process.pid for process in self.processes if process]

    def kill(self, i):
        self.processes[i].kill()
        self.processes[i].wait()


def resident_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def until(check, seconds, what, every=0.005):
    """Seconds until `check` holds. It takes processor time from the servers: a long wait looks less often."""
    begun = time.monotonic()
    while not check():
        if time.monotonic() - begun > seconds:
            raise RuntimeError(f"{what} took longer than {seconds} s")
        time.sleep(every)
    return time.monotonic() - begun
