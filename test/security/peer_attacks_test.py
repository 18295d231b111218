"""Peers that have not authenticated, and what they may cost: connections, files, memory, sessions."""
import os
import socket
import ssl
import struct
import sys
import threading
import time
import unittest
import urllib.error
import urllib.request
import uuid
import zlib
from pathlib import Path

import bson
import pymongo

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
from support import OP_COMPRESSED, SLOWNESS, Raw, Server, ServerTest, eventually, frame, header, op_msg_payload, OP_MSG  # noqa: E402
from tls_test import make_certificates  # noqa: E402

TOO_MANY_FILES_OPEN = 264


def pong(raw):
    """Whether the server answers a ping of this connection."""
    try:
        return raw.command({"ping": 1, "$db": "admin"}) is not None
    except OSError:
        return False


class PeerTest(ServerTest):
    def status(self):
        return self.client.admin.command("serverStatus")

    def refusals(self, reason):
        return self.status()["refusals"]["connections"][reason]

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.server.process.pid}/fd"))

    def raw(self, timeout=20):
        raw = self.server.raw(timeout)
        self.addCleanup(raw.close)
        return raw

    def metrics(self):
        return urllib.request.urlopen(f"http://127.0.0.1:{self.server.admin_port}/metrics", timeout=20 * SLOWNESS).read().decode()


class ManyIdleConnections(PeerTest):
    OPEN_FILES = 1024

    def test_they_end_neither_the_server_nor_its_clients(self):
        self.client.admin.command("ping")
        raws = [self.raw() for _ in range(1500)]
        self.db.c.insert_one({"_id": 1})
        self.assertEqual(self.db.c.find_one()["_id"], 1)
        self.assertLess(self.descriptors(), 1024)
        self.assertGreater(self.refusals("tooMany"), 500)
        self.assertIn('troupe_connections_refused_total{reason="tooMany"}', self.metrics())
        lines = [line for line in self.server.log().splitlines() if "Connection refused" in line]
        self.assertTrue(1 <= len(lines) <= 20, f"{len(lines)} lines for a thousand refusals")
        limit = self.status()["connections"]["current"] + self.status()["connections"]["available"]
        self.assertTrue(300 < limit < 1024, limit)
        for raw in raws:
            raw.close()
        self.assertTrue(eventually(lambda: pong(self.raw())), "no room although the others have gone")

    def test_the_limit_is_told_at_the_start(self):
        self.assertIn("The limit of open files allows fewer connections", self.server.log())


class FewFiles(PeerTest):
    ALONE = "measures how many databases come and go in a few seconds"
    OPEN_FILES = 700
    OPTIONS = ("--syncdelay", "5")  # a table is closed once its rows are written

    def test_creating_collections_ends_with_a_refusal(self):
        with self.assertRaises(pymongo.errors.OperationFailure) as refused:
            for i in range(400):
                self.db.create_collection(f"c{i}")
        self.assertEqual(refused.exception.code, TOO_MANY_FILES_OPEN, refused.exception)
        made = len(self.db.list_collection_names())
        self.assertGreater(made, 50)
        for i in range(made):
            self.db[f"c{i}"].insert_one({"_id": i})
        self.assertLess(self.descriptors(), 700)
        self.assertGreater(self.status()["wiredTiger"]["connection"]["times a table was not opened"], 0)
        self.assertTrue(eventually(lambda: "Tables were not created or opened" in self.server.log()))
        self.assertTrue(eventually(lambda: self.may_create("more"), 60), "idle tables were not closed")
        self.server.restart()
        self.assertEqual(self.db[f"c{made - 1}"].find_one()["_id"], made - 1)

    def may_create(self, name):
        try:
            self.db.create_collection(name)
            return True
        except pymongo.errors.OperationFailure as failure:
            self.assertEqual(failure.code, TOO_MANY_FILES_OPEN)
            return False

    def test_more_tables_than_files_are_served_one_after_the_other(self):
        for i in range(300):
            self.assertTrue(eventually(lambda: self.may_create(f"c{i}"), 60), i)
        self.server.restart()
        self.assertEqual(len(self.db.list_collection_names()), 300)
        self.assertLess(self.descriptors(), 700)

    def test_dropped_databases_do_not_stay_open(self):
        most = 0
        begun = time.monotonic()
        rounds = 0
        while time.monotonic() < begun + 6:
            self.assertTrue(eventually(lambda: self.is_created(f"d{rounds}")), "no table is closed")
            self.client.drop_database(f"d{rounds}")
            rounds += 1
            if rounds % 20 == 0:
                most = max(most, self.descriptors())
        self.assertGreater(rounds, 100 / SLOWNESS)
        self.assertLess(most, 500, f"after {rounds} rounds")
        self.assertTrue(eventually(lambda: self.status()["storageEngine"]["dropPendingIdents"] == 0))


    def is_created(self, db):
        try:
            self.client[db].create_collection("c")
        except pymongo.errors.OperationFailure as refused:
            self.assertEqual(refused.code, TOO_MANY_FILES_OPEN)
            return False
        return True


class Storm(PeerTest):
    ALONE = "measures how long others wait"
    OPTIONS = ("--setParameter", "maxNewConnectionsPerSecondPerAddress=20")

    def test_established_clients_do_not_notice_it(self):
        self.client.admin.command("ping")
        stop = threading.Event()
        opened = []

        def attack():
            while not stop.is_set():
                try:
                    with self.server.raw(5):
                        opened.append(1)
                except OSError:
                    pass

        attackers = [threading.Thread(target=attack) for _ in range(4)]
        for attacker in attackers:
            attacker.start()
        waits = []
        for _ in range(300):
            begun = time.monotonic()
            self.client.admin.command("ping")
            waits.append(time.monotonic() - begun)
        stop.set()
        for attacker in attackers:
            attacker.join()
        self.assertLess(sorted(waits)[int(len(waits) * 0.99)], 0.1 * SLOWNESS, "seconds until a ping is answered")
        self.assertGreater(self.refusals("tooFast"), 100)
        self.assertLess(self.status()["connections"]["totalCreated"], 80 + 40 * sum(waits) + 100)
        self.assertIn('troupe_connections_refused_total{reason="tooFast"}', self.metrics())
        self.client.admin.command("setParameter", 1, maxNewConnectionsPerSecondPerAddress=0)
        self.assertTrue(pong(self.raw()))


class OneAddressBesideAnother(PeerTest):
    ALONE = "measures how long another waits"
    OPTIONS = ("--setParameter", "maxNewConnectionsPerSecondPerAddress=5", "--setParameter", "maxNewConnectionsPerSecond=20")

    def test_what_one_is_refused_is_not_taken_from_the_rate_of_all(self):
        attackers = [socket.create_connection(("127.0.0.1", self.server.port), 20, source_address=("127.0.0.2", 0)) for _ in range(1000)]
        began = time.monotonic()
        self.assertTrue(pong(self.raw(60)))
        self.assertLess(time.monotonic() - began, 5 * SLOWNESS, "a thousand connections at twenty a second take fifty")
        self.assertGreater(self.refusals("tooFast"), 900)
        for each in attackers:
            each.close()


class Silence(PeerTest):
    OPTIONS = ("--setParameter", "firstMessageTimeoutMillis=1000")

    def test_connections_that_say_nothing_are_closed(self):
        raw = self.raw()
        self.assertTrue(raw.closed())
        self.assertGreaterEqual(self.refusals("silent"), 1)

    def test_a_first_message_that_never_ends_is_not_waited_for(self):
        raw = self.raw()
        raw.send(frame(op_msg_payload({"hello": 1, "$db": "admin"}))[:30])
        self.assertTrue(raw.closed())

    def test_clients_that_have_said_something_may_be_idle(self):
        raw, late = self.raw(), self.raw()
        self.assertTrue(pong(raw))
        self.assertTrue(late.closed())
        self.assertTrue(pong(raw))


class HalfOpenTls(unittest.TestCase):
    WAITS = "for handshakes to time out"

    def test_handshakes_that_are_not_finished_end(self):
        import tempfile
        with tempfile.TemporaryDirectory(prefix="troupe-tls-") as folder:
            make_certificates(Path(folder))
            for mode in ("requireTLS", "preferTLS"):
                with self.subTest(mode), Server("--tlsMode", mode, "--tlsCertificateKeyFile", str(Path(folder) / "server.pem"),
                                                "--setParameter", "firstMessageTimeoutMillis=1000") as server:
                    self.attack(server)
                    self.assertEqual(server.stop(), 0)

    def attack(self, server):
        silent, begun = server.raw(), server.raw()
        begun.send(b"\x16\x03\x01\x02\x00\x01\x00")  # the begin of a ClientHello
        self.assertTrue(silent.closed())
        self.assertTrue(begun.closed())
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with context.wrap_socket(socket.create_connection(("127.0.0.1", server.port), 20)) as greeted:
            self.assertEqual(greeted.recv(1), b"", "a handshake alone is not enough")
        with server.client(tls=True, tlsAllowInvalidCertificates=True) as client:
            client.admin.command("ping")
            self.assertGreaterEqual(client.admin.command("serverStatus")["refusals"]["connections"]["silent"], 3)
        for raw in (silent, begun):
            raw.close()


class AuthorizedPeerTest(PeerTest):
    @classmethod
    def connect(cls):
        with cls.server.client() as first:
            first.admin.command("createUser", "root", pwd="toor", roles=["root"])
        return cls.server.client(username="root", password="toor")


class BeforeAuthentication(AuthorizedPeerTest):
    ALONE = "measures memory"
    OPTIONS = ("--auth", "--setParameter", "preAuthMessageMemoryMB=4")

    def test_sessions_are_not_stored(self):
        before = self.status()["logicalSessionRecordCache"]["activeSessionsCount"]
        raw = self.raw()
        for _ in range(2000):
            lsid = {"id": bson.Binary(uuid.uuid4().bytes, 4)}
            self.assertEqual(raw.command({"ping": 1, "lsid": lsid, "$db": "admin"})["ok"], 1)
        self.assertEqual(raw.command({"startSession": 1, "$db": "admin"})["ok"], 0)
        self.assertLess(self.status()["logicalSessionRecordCache"]["activeSessionsCount"], before + 10)

    def test_large_messages_are_refused_before_they_are_read(self):
        before = self.server.memory_mib()
        raws = [self.raw() for _ in range(30)]
        for raw in raws:
            raw.send(header(48_000_000, 1, 0, OP_MSG))
            self.assertTrue(raw.closed())
        self.assertMemoryGrew(before, less_than_mib=30)

    def test_incomplete_messages_share_one_bound(self):
        before = self.server.memory_mib()
        raws = [self.raw() for _ in range(60)]
        part = header(250_000, 1, 0, OP_MSG) + b"x" * 240_000
        for raw in raws:
            try:
                raw.send(part)
            except OSError:
                pass  # closed before all was sent
        self.assertTrue(eventually(lambda: self.status()["refusals"]["incompleteMessages"]["refused"] > 20))
        self.assertLessEqual(self.status()["refusals"]["incompleteMessages"]["bytesBeforeAuthentication"], 4 << 20)
        self.assertMemoryGrew(before, less_than_mib=40)
        self.db.c.insert_one({"_id": 1, "x": "x" * 10_000_000})
        self.assertEqual(len(self.db.c.find_one()["x"]), 10_000_000)

    def test_compressed_bombs_are_not_unpacked(self):
        before = self.server.memory_mib()
        payload = op_msg_payload({"ping": 1, "x": "x" * 40_000_000, "$db": "admin"})
        bomb = struct.pack("<iib", OP_MSG, len(payload), 2) + zlib.compress(payload)
        self.assertLess(len(bomb), 100_000)
        for _ in range(50):
            with self.server.raw() as raw:
                raw.send(frame(bomb, OP_COMPRESSED))
                self.assertTrue(raw.closed())
        self.assertMemoryGrew(before, less_than_mib=30)


class FullServerTest(AuthorizedPeerTest):
    OPTIONS = ("--auth", "--maxConns", "40")

    def late_user_is_served(self):
        """It needs several places, and is refused while there is one."""
        try:
            with self.server.client(username="root", password="toor", serverSelectionTimeoutMS=5_000 * SLOWNESS) as late:
                return late.admin.command("ping")["ok"] == 1
        except pymongo.errors.ConnectionFailure:
            return False


class StrangersInAllPlaces(FullServerTest):

    def test_a_user_gets_one_in_the_end(self):
        strangers = []
        while self.refusals("tooMany") == 0:
            strangers.append(Raw(self.server.port, 20, source=("127.0.0.2", 0)))
            pong(strangers[-1])
        self.assertTrue(eventually(self.late_user_is_served))
        self.assertGreater(self.status()["connections"]["available"], 0)
        self.assertGreaterEqual(sum(pong(each) for each in strangers), 10, "a quarter stays")
        for each in strangers:
            each.socket.close()


class StrangersThatWait(FullServerTest):
    def await_change(self, raw):
        """A hello that would be answered in thirty years."""
        version = raw.command({"hello": 1, "$db": "admin"})["topologyVersion"]
        raw.send(frame(op_msg_payload({"hello": 1, "topologyVersion": version, "maxAwaitTimeMS": 10**12, "$db": "admin"})))

    def ask_without_reading(self, raw):
        raw.socket.setblocking(False)
        hello = frame(op_msg_payload({"hello": 1, "$db": "admin"})) * 100
        try:
            while True:
                raw.socket.send(hello)
        except BlockingIOError:
            pass

    def attack(self, do):
        strangers = []
        before = self.refusals("tooMany")
        while self.refusals("tooMany") == before:
            stranger = Raw(self.server.port, 20, source=("127.0.0.2", 0))
            strangers.append(stranger)
            try:
                do(stranger)
            except (OSError, TypeError):
                pass  # refused
        return strangers

    def test_they_are_gone_with_their_peer(self):
        for stranger in self.attack(self.await_change):
            stranger.close()
        self.assertTrue(eventually(lambda: self.status()["connections"]["current"] < 10), "hellos wait for nobody")

    def test_a_user_gets_a_place_beside_hellos_that_wait(self):
        self.user_gets_a_place(self.await_change)

    def test_a_user_gets_a_place_beside_peers_that_do_not_read(self):
        self.user_gets_a_place(self.ask_without_reading)

    def user_gets_a_place(self, do):
        strangers = self.attack(do)
        self.assertTrue(eventually(self.late_user_is_served))
        for each in strangers:
            each.close()
        self.assertTrue(eventually(lambda: self.status()["connections"]["current"] < 10))


class LongTexts(AuthorizedPeerTest):
    ALONE = "measures memory"
    OPTIONS = ("--auth",)

    def test_of_strangers_do_not_fill_the_log(self):
        before, logged = self.server.memory_mib(), len(self.server.log())
        raw = self.raw()
        text = "\x01" * 200_000
        for login in ({"saslStart": 1, "mechanism": text, "payload": b""}, {"saslStart": 1, "mechanism": "x", "payload": b"", "db": text}):
            for _ in range(100):
                self.assertEqual(raw.command({"hello": 1, "speculativeAuthenticate": login, "$db": "admin"})["ok"], 1)
        self.assertEqual(raw.command({"saslStart": 1, "mechanism": text, "payload": b"", "$db": "admin"})["ok"], 0)
        self.assertLess(len(self.server.log()) - logged, 200_000)
        self.assertMemoryGrew(before, less_than_mib=60)


class Stalls(PeerTest):
    OPTIONS = ("--setParameter", "stalledMessageTimeoutMillis=1000", "--setParameter", "partialMessageMemoryMB=64")

    def test_a_message_that_does_not_go_on_ends_its_connection(self):
        raw = self.raw()
        self.assertTrue(pong(raw))
        before = self.refusals("silent")
        raw.send(header(48_000_000, 1, 0, OP_MSG) + b"x" * 1_000_000)
        self.assertTrue(raw.closed())
        self.assertEqual(self.refusals("silent"), before + 1)
        self.assertTrue(eventually(lambda: self.status()["refusals"]["incompleteMessages"]["bytes"] == 0))

    def test_an_answer_that_is_not_read_ends_its_connection(self):
        self.db.c.insert_one({"x": "x" * 15_000_000})
        raw, before = self.raw(), self.refusals("unread")
        raw.send(frame(op_msg_payload({"find": "c", "$db": self.db.name})))
        self.assertTrue(eventually(lambda: self.refusals("unread") == before + 1))

    def test_answers_that_nobody_reads_share_one_bound(self):
        self.client.admin.command("setParameter", 1, stalledMessageTimeoutMillis=60_000)
        self.db.large.insert_one({"x": "x" * 15_000_000})
        before = self.refusals("unread")
        greedy = [Raw(self.server.port, 20, source=("127.0.0.2", 0)) for _ in range(20)]
        for each in greedy:
            each.send(frame(op_msg_payload({"find": "large", "$db": self.db.name})))
        self.assertTrue(eventually(lambda: self.refusals("unread") >= before + 15), "three times 15 MB are 48 of 64")
        self.assertLessEqual(self.status()["refusals"]["incompleteMessages"]["bytes"], 64 << 20)
        self.assertEqual(len(self.db.large.find_one()["x"]), 15_000_000, "others are answered")
        for each in greedy:
            each.close()
        self.assertTrue(eventually(lambda: self.status()["refusals"]["incompleteMessages"]["bytes"] == 0))

    def test_one_address_does_not_take_the_memory_of_messages_from_others(self):
        self.client.admin.command("setParameter", 1, stalledMessageTimeoutMillis=60_000)
        greedy = [Raw(self.server.port, 20, source=("127.0.0.2", 0)) for _ in range(6)]
        for each in greedy:
            try:
                each.send(header(48_000_000, 1, 0, OP_MSG) + b"x" * 10_000_000)
            except OSError:
                pass  # closed before all was sent
        self.assertTrue(eventually(lambda: self.status()["refusals"]["incompleteMessages"]["refused"] > 0))
        self.db.c.insert_one({"x": "x" * 5_000_000})
        for each in greedy:
            each.close()


class ManySessions(PeerTest):
    OPTIONS = ("--setParameter", "maxSessions=1000")

    def test_an_honest_client_still_gets_one(self):
        with self.client.start_session() as session:
            cursor = None
            self.db.c.insert_many({"_id": i} for i in range(300))
            cursor = self.db.c.find(batch_size=10, session=session)
            next(cursor)
            raw = self.raw()
            for _ in range(3000):
                lsid = {"id": bson.Binary(uuid.uuid4().bytes, 4)}
                self.assertEqual(raw.command({"ping": 1, "lsid": lsid, "$db": "admin"})["ok"], 1)
            status = self.status()
            self.assertLessEqual(status["logicalSessionRecordCache"]["activeSessionsCount"], 1000)
            self.assertGreater(status["refusals"]["sessionsDisplaced"], 1900)
            self.assertEqual(len(list(cursor)), 299)
        self.assertTrue(eventually(lambda: "More sessions are in use than are remembered" in self.server.log()))


class AdminEndpoint(PeerTest):
    OPTIONS = ("--setParameter", "adminMaxConnectionsPerAddress=5", "--setParameter", "adminRequestsPerSecondPerAddress=5")

    def test_one_address_gets_so_many_connections(self):
        idle = [socket.create_connection(("127.0.0.1", self.server.admin_port), 10) for _ in range(5)]
        for each in idle:
            each.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertTrue(each.recv(1000))
        with socket.create_connection(("127.0.0.1", self.server.admin_port), 10) as one_more:
            self.assertIn(b"503", one_more.recv(1000))
        for each in idle:
            each.close()
        self.assertTrue(eventually(self.is_healthy))
        self.assertIn("A client of the admin endpoint was refused", self.server.log())

    def test_silent_connections_keep_nobody_out(self):
        silent = [socket.create_connection(("127.0.0.1", self.server.admin_port), 10) for _ in range(5)]
        self.assertTrue(eventually(self.is_healthy), "but for the rate of requests it may ask")
        self.assertTrue(silent[0].recv(1) == b"", "the oldest has lost its place")
        for each in silent:
            each.close()

    def test_one_address_gets_so_many_requests(self):
        self.assertTrue(eventually(self.is_healthy))
        codes = set()
        for _ in range(60):
            try:
                codes.add(self.ask("/healthz"))
            except urllib.error.HTTPError as refused:
                codes.add(refused.code)
        self.assertIn(429, codes)
        self.client.admin.command("ping")

    def ask(self, path):
        return urllib.request.urlopen(f"http://127.0.0.1:{self.server.admin_port}{path}", timeout=10 * SLOWNESS).status

    def is_healthy(self):
        try:
            return self.ask("/healthz") == 200
        except OSError:
            return False
