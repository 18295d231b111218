"""Sessions beyond the memory of a node: config.system.sessions, on a server alone and in a set of three."""
import subprocess
import time
import unittest
import urllib.request
import uuid

import bson
import pymongo
import pymongo.errors

from replica_set_support import Set
from support import BIN, SLOWNESS, Server, ServerTest, eventually

PARAMETERS = [option for name, value in (("logicalSessionRefreshMillis", 300), ("localLogicalSessionTimeoutMinutes", 1),
                                         ("ttlMonitorSleepSecs", 1)) for option in ("--setParameter", f"{name}={value}")]
NOT_FOUND = 43


def new_session():
    return {"id": bson.Binary.from_uuid(uuid.uuid4())}


def id_of(session):
    return uuid.UUID(bytes=bytes(session["id"]))


def stored(node):
    """The sessions in the collection, as a node sees them: id -> document."""
    reply = node.ask({"find": "system.sessions", "batchSize": 10_000}, db="config", **{"$readPreference": {"mode": "secondaryPreferred"}})
    return {document["_id"]["id"]: document for document in reply["cursor"]["firstBatch"]}


def figures(node):
    return node.ask("serverStatus")["logicalSessionRecordCache"]


def remembered(node):
    reply = node.ask({"aggregate": 1, "pipeline": [{"$listLocalSessions": {"allUsers": True}}], "cursor": {"batchSize": 10_000},
                      "$readPreference": {"mode": "secondaryPreferred"}})
    return {row["_id"]["id"] for row in reply["cursor"]["firstBatch"]}


class Alone(Server):
    def ask(self, command, db="admin", **fields):
        with self.raw(60) as raw:
            return raw.command({**(command if isinstance(command, dict) else {command: 1}), **fields, "$db": db})


class OnOneServer(unittest.TestCase):
    WAITS = "for sessions to end after a minute"

    @classmethod
    def setUpClass(cls):
        cls.server = Alone(*PARAMETERS)
        cls.addClassCleanup(cls.server.discard)
        cls.server.start()
        cls.server.ask({"insert": "c", "documents": [{"_id": i} for i in range(10)]}, db="app")

    def cursor(self, session):
        return self.server.ask({"find": "c", "batchSize": 2, "noCursorTimeout": True, "lsid": session}, db="app")["cursor"]["id"]

    def get_more(self, cursor, session):
        return self.server.ask({"getMore": cursor, "collection": "c", "batchSize": 1, "lsid": session}, db="app")

    def test_a_used_session_is_stored_with_an_index_that_times_it_out(self):
        session = new_session()
        self.server.ask("ping", lsid=session)
        self.assertTrue(eventually(lambda: id_of(session) in stored(self.server)))
        indexes = self.server.ask({"listIndexes": "system.sessions"}, db="config")["cursor"]["firstBatch"]
        self.assertEqual([(i["key"], i["expireAfterSeconds"]) for i in indexes if i["name"] == "lsidTTLIndex"], [({"lastUse": 1}, 60)])
        self.server.ask({"endSessions": [session]})
        self.assertTrue(eventually(lambda: id_of(session) not in stored(self.server)))

    def test_a_session_that_nobody_uses_ends_with_its_cursors(self):
        idle, busy = new_session(), new_session()
        cursors = [self.cursor(session) for session in (idle, busy)]
        self.assertTrue(eventually(lambda: id_of(idle) in stored(self.server)))

        def is_gone():
            self.server.ask("ping", lsid=busy)
            return id_of(idle) not in stored(self.server) and id_of(idle) not in remembered(self.server)
        self.assertTrue(eventually(is_gone, 100), figures(self.server))
        self.assertEqual(self.get_more(cursors[0], idle)["code"], NOT_FOUND)
        self.assertEqual(self.get_more(cursors[1], busy)["ok"], 1)

    def test_the_command_line_and_the_page_show_and_end_sessions(self):
        first, second = new_session(), new_session()
        cursors = [self.cursor(session) for session in (first, second)]
        names = [str(id_of(session)) for session in (first, second)]

        def troupe(*arguments):
            done = subprocess.run([str(BIN / "troupe"), "sessions", "--uri", self.server.uri, *arguments], capture_output=True, text=True,
                                  timeout=60 * SLOWNESS)
            return done.returncode, done.stdout + done.stderr
        code, shown = troupe()
        self.assertEqual(code, 0, shown)
        for name in names:
            self.assertIn(name, shown)
        self.assertEqual(troupe("--kill", names[0])[0], 0)
        self.assertEqual(self.get_more(cursors[0], first)["code"], NOT_FOUND)
        self.assertEqual(troupe("--kill", "no-uuid")[0], 2)
        code, told = troupe("--kill", str(uuid.uuid4()))
        self.assertEqual(code, 1, told)
        self.assertIn("nothing was ended", told)
        request = urllib.request.Request(f"http://127.0.0.1:{self.server.admin_port}/sessions/{names[1]}/kill", method="POST",
                                         headers={"X-Troupe-Action": "1"})
        urllib.request.urlopen(request, timeout=20 * SLOWNESS).close()
        self.assertEqual(self.get_more(cursors[1], second)["code"], NOT_FOUND)


class ManySessions(unittest.TestCase):
    def test_a_refresh_delays_no_writer(self):
        with Alone(*PARAMETERS) as server, server.client(retryWrites=False) as client:
            def write(count):
                waits = []
                for _ in range(count):
                    begun = time.perf_counter()
                    client.app.writes.insert_one({})
                    waits.append(time.perf_counter() - begun)
                return sorted(waits)
            usual = write(300)
            sessions = [new_session() for _ in range(20_000)]
            for i in range(0, len(sessions), 1000):
                client.admin.command("refreshSessions", sessions[i:i + 1000])
            waits = []
            while server.ask({"count": "system.sessions"}, db="config")["n"] < len(sessions):
                waits += write(20)
            self.assertGreater(len(waits), 20, "the sessions are written beside the writes")
            waits.sort()
            self.assertLess(waits[len(waits) // 2], usual[len(usual) // 2] + 0.010 * SLOWNESS)


class InASet(unittest.TestCase):
    WAITS = "for sessions to end after a minute"

    @classmethod
    def setUpClass(cls):
        cls.group = Set(3, *PARAMETERS)
        cls.addClassCleanup(cls.group.__exit__)
        cls.group.__enter__()
        cls.group.initiate()
        cls.group.primary().ask({"insert": "c", "documents": [{"_id": i} for i in range(10)], "writeConcern": {"w": 3}}, db="app")

    def setUp(self):
        self.primary = self.group.settled(60)
        self.secondary = self.group.others(self.primary)[0]

    def cursor_on_secondary(self, session):
        reply = self.secondary.ask({"find": "c", "batchSize": 2, "noCursorTimeout": True, "lsid": session}, db="app",
                                   **{"$readPreference": {"mode": "secondary"}})
        self.assertEqual(reply["ok"], 1, reply)
        return reply["cursor"]["id"]

    def test_every_member_writes_to_the_primary(self):
        sessions = {member: new_session() for member in self.group.members}
        for member, session in sessions.items():
            member.ask("ping", lsid=session)
        wanted = {id_of(session) for session in sessions.values()}
        for member in self.group.members:
            self.assertTrue(eventually(lambda m=member: wanted <= set(stored(m))), (wanted, figures(member)))

    def test_a_session_that_ends_on_one_member_ends_on_the_others(self):
        session = new_session()
        cursor = self.cursor_on_secondary(session)
        self.assertTrue(eventually(lambda: id_of(session) in stored(self.primary)))
        self.primary.ask({"endSessions": [session]})
        self.assertTrue(eventually(lambda: id_of(session) not in stored(self.primary)))
        self.assertTrue(eventually(lambda: id_of(session) not in remembered(self.secondary)), figures(self.secondary))
        reply = self.secondary.ask({"getMore": cursor, "collection": "c", "lsid": session}, db="app")
        self.assertEqual(reply["code"], NOT_FOUND)

    def test_sessions_outlive_a_failover(self):
        session = new_session()
        self.primary.ask("ping", lsid=session)
        self.assertTrue(eventually(lambda: id_of(session) in stored(self.primary)))
        self.primary.kill()
        try:
            successor = self.group.primary(60)
            self.assertIn(id_of(session), stored(successor))
            another = new_session()
            self.group.others(self.primary)
            successor.ask("ping", lsid=another)
            self.assertTrue(eventually(lambda: id_of(another) in stored(successor), 60), figures(successor))
        finally:
            self.primary.start()

    def test_what_was_kept_for_retries_goes_with_the_session(self):
        session = new_session()
        numbered = {"lsid": session, "txnNumber": bson.Int64(1)}
        reply = self.primary.ask({"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}, **numbered}, db="app")
        self.assertEqual(reply["ok"], 1, reply)

        def records():
            reply = self.primary.ask({"find": "transactions", "filter": {"_id.id": session["id"]}}, db="config")
            return len(reply["cursor"]["firstBatch"])
        self.assertEqual(records(), 1)
        self.primary.ask({"endSessions": [session]})
        self.assertTrue(eventually(lambda: records() == 0, 100), figures(self.primary))


class WithoutRefreshes(ServerTest):
    OPTIONS = ("--setParameter", "disableLogicalSessionCacheRefresh=true", "--setParameter", "logicalSessionRefreshMillis=100")

    def test_nothing_is_stored_unless_somebody_asks(self):
        with self.server.raw() as raw:
            raw.command({"ping": 1, "lsid": new_session(), "$db": "admin"})
        self.assertEqual(self.client.admin.command("refreshLogicalSessionCacheNow")["ok"], 1)
        self.assertGreaterEqual(self.client.config["system.sessions"].count_documents({}), 1)
        jobs = self.client.admin.command("serverStatus")["logicalSessionRecordCache"]
        self.assertEqual(jobs["sessionsCollectionJobCount"], 1, "the one that was asked for")
        self.assertEqual(jobs["transactionReaperJobCount"], 0)

    def test_the_settings_are_of_the_start_alone(self):
        for name, value in (("logicalSessionRefreshMillis", 1), ("localLogicalSessionTimeoutMinutes", 1), ("disableLogicalSessionCacheRefresh", False)):
            with self.assertRaises(pymongo.errors.OperationFailure):
                self.client.admin.command("setParameter", 1, **{name: value})
