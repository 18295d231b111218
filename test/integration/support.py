"""What every integration test needs: a server process of its own, and a client that sees single bytes."""
import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import bson
import pymongo

BIN = Path(os.environ.get("TROUPE_BIN", Path(__file__).resolve().parents[2] / "build" / "bin"))
# Sanitizer builds start and answer several times slower: every deadline of these tests is multiplied by this.
SLOWNESS = float(os.environ.get("TROUPE_TEST_SLOWNESS", "1"))
START_SECONDS = 60 * SLOWNESS
# They keep freed memory for a while, too, and need more for everything: what a limit is multiplied by, and what is added to it.
MEMORY_FACTOR, MEMORY_EXTRA_MIB = (1, 0) if SLOWNESS == 1 else (4, 400)


def eventually(check, seconds=20):
    """Calls `check` until it holds, and tells whether it did in time."""
    deadline = time.monotonic() + seconds * SLOWNESS
    while not check():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


# Ports of servers: below those that the system gives to outgoing connections, so that a server that is started again finds its own
# free. Of these each worker of runner.py has its share.
PORTS = range(10_000, 27_000)
ROWS = range(27_100, 28_000)  # of ports that follow each other; the admin ports of a set are 1000 above
SHARE, SHARES = (int(number) for number in os.environ.get("TROUPE_TEST_WORKER", "0/1").split("/"))
_given = set()


def free_port():
    """A port that nobody listens on, and that was not given away before: a server may take a while to bind its own."""
    while True:
        port = random.choice(PORTS)
        if port % SHARES != SHARE or port in _given:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _given.add(port)
        return port


def free_ports(count):
    """The first of so many free ports in a row, of a block that is this worker's own."""
    block = len(ROWS) // SHARES
    while True:
        first = ROWS.start + SHARE * block + random.randrange(block - count)
        try:
            for port in range(first, first + count):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue


def run_server(*arguments, timeout=30):
    """Runs the server to its end: (exit code, what it wrote to stderr)."""
    done = subprocess.run([str(BIN / "trouped"), *arguments], capture_output=True, text=True, timeout=timeout * SLOWNESS)
    return done.returncode, done.stderr


class Server:
    """One `trouped` with a temporary data directory; used as a context manager, or with start and stop."""

    def __init__(self, *options, dbpath=None, test_commands=True, program=BIN / "trouped", open_files=None):
        """`open_files`: the limit of descriptors it is started with."""
        self.program = str(program)
        self.open_files = open_files
        self.folder = Path(tempfile.mkdtemp(prefix="troupe-integration-"))
        self.dbpath = Path(dbpath) if dbpath else self.folder / "data"
        self.dbpath.mkdir(exist_ok=True)
        self.log_path = self.folder / "server.log"
        self.port = free_port()
        self.admin_port = free_port()
        self.options = list(options)
        if test_commands:
            self.options += ["--setParameter", "enableTestCommands=1"]
        self.process = None

    def arguments(self):
        own = ["--dbpath", str(self.dbpath), "--port", str(self.port), "--admin-port", str(self.admin_port), "--unixSocketPrefix", str(self.folder)]
        return [*own, *self.options]

    def launch(self):
        """Starts the process and waits for nothing: of servers that end by themselves."""
        log = open(self.log_path, "ab")
        limit = ["prlimit", f"--nofile={self.open_files}", "--"] if self.open_files else []
        self.process = subprocess.Popen([*limit, self.program, *self.arguments()], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log.close()

    def start(self):
        """Starts the process and waits until it listens."""
        self.launch()
        waited_for = [port for port in (self.port, self.admin_port) if port == self.port or str(port) in self.arguments()]
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended with {self.process.returncode}:\n{self.log_tail()}")
            try:
                while waited_for:
                    socket.create_connection(("127.0.0.1", waited_for[0]), 1).close()
                    waited_for.pop(0)
                return self
            except OSError:
                time.sleep(0.02)
        raise AssertionError(f"the server did not listen within {START_SECONDS} s:\n{self.log_tail()}")

    def stop(self, timeout=40):
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout * SLOWNESS)

    def kill(self):
        self.process.kill()
        self.process.wait(30 * SLOWNESS)

    def restart(self):
        code = self.stop()
        if code != 0:
            raise AssertionError(f"the server ended with {code}:\n{self.log_tail()}")
        return self.start()

    def running(self):
        return self.process is not None and self.process.poll() is None

    def memory_mib(self):
        """Resident memory of the process in MiB."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise AssertionError("no VmRSS")

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def log_lines(self, number):
        """The lines of the log with that id, as documents."""
        lines = (json.loads(line) for line in self.log().splitlines() if line.startswith("{"))
        return [line for line in lines if line["id"] == number]

    def log_tail(self, lines=20):
        return "\n".join(line[:300] for line in self.log().splitlines()[-lines:])

    @property
    def uri(self):
        return f"mongodb://127.0.0.1:{self.port}/?directConnection=true"

    def client(self, **options):
        options.setdefault("serverSelectionTimeoutMS", int(20_000 * SLOWNESS))
        return pymongo.MongoClient("127.0.0.1", self.port, directConnection=True, **options)

    def raw(self, timeout=20):
        return Raw(self.port, timeout * SLOWNESS)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.discard()

    def discard(self):
        if self.running():
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class SmallDisk:
    """A small file system of its own (in memory) for a test case, which needs the right to mount; the test is skipped without it."""

    def __init__(self, test, megabytes):
        self.path = Path(tempfile.mkdtemp(prefix="troupe-small-disk-"))
        test.addCleanup(shutil.rmtree, self.path, ignore_errors=True)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(self.path)], capture_output=True, text=True)
        if mounted.returncode != 0:
            test.skipTest(f"cannot mount a small file system: {mounted.stderr.strip()}")
        test.addCleanup(subprocess.run, ["umount", "--lazy", str(self.path)], check=True)

    def enlarge(self, megabytes):
        subprocess.run(["mount", "-o", f"remount,size={megabytes}m", str(self.path)], check=True)


class ServerTest(unittest.TestCase):
    """Tests that share one server, each with a fresh database `self.db`. The server must outlive every test."""

    OPTIONS = ()
    OPEN_FILES = None  # the limit of the server's process; None: that of the test's

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.OPTIONS, open_files=cls.OPEN_FILES)
        try:
            cls.server.start()
            cls.client = cls.connect()
        except BaseException:
            cls.server.discard()
            raise

    @classmethod
    def connect(cls):
        return cls.server.client()

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        code = cls.server.stop() if cls.server.running() else cls.server.process.returncode
        tail = cls.server.log_tail()
        cls.server.discard()
        if code != 0:
            raise AssertionError(f"the server ended with {code}:\n{tail}")

    def setUp(self):
        self.db = self.client[self.id().split(".")[-1][:50]]
        self.addCleanup(self.check_alive)

    def check_alive(self):
        if not self.server.running():
            code, tail = self.server.process.returncode, self.server.log_tail(5)
            self.server.start()  # the next tests have a chance
            self.fail(f"the server died ({code}):\n{tail}")

    def assertMemoryGrew(self, before, less_than_mib):
        self.assertLess(self.server.memory_mib() - before, less_than_mib * MEMORY_FACTOR + MEMORY_EXTRA_MIB)

    def assertFails(self, code, work, *arguments, **options):
        """`work` must fail with this error code; the error is returned."""
        with self.assertRaises(pymongo.errors.PyMongoError) as caught:
            work(*arguments, **options)
        found = getattr(caught.exception, "code", None)
        details = getattr(caught.exception, "details", None) or {}
        if isinstance(caught.exception, pymongo.errors.BulkWriteError):
            found = details["writeErrors"][0]["code"]
        self.assertEqual(found, code, f"{caught.exception} {details}")
        return caught.exception


OP_REPLY, OP_QUERY, OP_COMPRESSED, OP_MSG = 1, 2004, 2012, 2013
MORE_TO_COME, CHECKSUM, EXHAUST_ALLOWED = 2, 1, 1 << 16
QUERY_FAILURE = 2  # in the flags of OP_REPLY


def header(length, request_id, response_to, opcode):
    return struct.pack("<iiii", length, request_id, response_to, opcode)


def frame(payload, opcode=OP_MSG, request_id=None):
    return header(16 + len(payload), request_id or random.randrange(1, 2**31), 0, opcode) + payload


def op_msg_payload(body, flags=0, sequences=()):
    """`body`: a dict or raw BSON. `sequences`: (name, [raw or dict, ...])."""
    payload = struct.pack("<I", flags) + b"\0" + (body if isinstance(body, bytes) else bson.encode(body))
    for name, documents in sequences:
        content = name.encode() + b"\0" + b"".join(d if isinstance(d, bytes) else bson.encode(d) for d in documents)
        payload += b"\1" + struct.pack("<i", 4 + len(content)) + content
    return payload


def op_query_payload(body, ns="admin.$cmd"):
    return struct.pack("<i", 0) + ns.encode() + b"\0" + struct.pack("<ii", 0, -1) + bson.encode(body)


class Reply:
    def __init__(self, raw):
        self.length, self.request_id, self.response_to, self.opcode = struct.unpack_from("<iiii", raw)
        self.payload = raw[16:]

    @property
    def flags(self):
        return struct.unpack_from("<I", self.payload)[0]

    @property
    def body(self):
        if self.opcode == OP_MSG:
            assert self.payload[4] == 0, "the first section is not a body"
            size = struct.unpack_from("<i", self.payload, 5)[0]
            return bson.decode(self.payload[5:5 + size])
        assert self.opcode == OP_REPLY, self.opcode
        return bson.decode(self.payload[20:])


class Raw:
    """A plain socket with just enough of the wire protocol to break it."""

    def __init__(self, port, timeout, source=None):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout, source)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, data):
        self.socket.sendall(data)

    def receive(self, count):
        """Exactly so many bytes; fewer when the server closes."""
        parts = []
        while count > 0:
            try:
                part = self.socket.recv(min(count, 1 << 20))
            except ConnectionError:
                break
            if not part:
                break
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def reply(self):
        """The next reply, or None when the server has closed the connection."""
        start = self.receive(16)
        if len(start) < 16:
            return None
        return Reply(start + self.receive(struct.unpack_from("<i", start)[0] - 16))

    def command(self, body, flags=0, sequences=()):
        self.send(frame(op_msg_payload(body, flags, sequences)))
        reply = self.reply()
        return reply.body if reply else None

    def closed(self):
        """Whether the server has closed (waits for it)."""
        return self.reply() is None

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
