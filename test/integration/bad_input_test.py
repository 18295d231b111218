"""What breaks the protocol or the start is answered or closed in order; the server stays up and small."""
import json
import os
import random
import socket
import struct
import time
import unittest

import bson

from support import OP_COMPRESSED, OP_MSG, OP_QUERY, SLOWNESS, Server, ServerTest, eventually, frame, free_port, header, op_msg_payload, op_query_payload, run_server


class Frames(ServerTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(lambda: self.assertEqual(self.client.admin.command("ping")["ok"], 1))

    def answer(self, data):
        """What comes back on a new connection: a reply's body, or None when it is closed. Silence is an error."""
        with self.server.raw() as raw:
            try:
                raw.send(data)
                reply = raw.reply()
            except ConnectionError:
                return None
            return reply.body if reply else None

    def test_lengths_that_lie(self):
        for length in (0, 1, 15, -1, -2**31, 2**31 - 1, 48_000_001):
            with self.subTest(length=length):
                self.assertIsNone(self.answer(header(length, 1, 0, OP_MSG) + b"x" * 64))
        payload = op_msg_payload({"ping": 1, "$db": "admin"})
        for short in (1, 5, 20):
            with self.subTest(short=short):
                found = self.answer(header(16 + len(payload) - short, 1, 0, OP_MSG) + payload[:-short])
                self.assertTrue(found is None or found["ok"] == 0, found)

    def test_a_large_length_alone_costs_no_memory(self):
        before = self.server.memory_mib()
        raws = [self.server.raw() for _ in range(100)]
        for raw in raws:
            raw.send(header(47_000_000, 1, 0, OP_MSG) + b"x" * 100)
        self.client.admin.command("ping")
        self.assertMemoryGrew(before, less_than_mib=200)
        for raw in raws:
            raw.close()

    def test_unknown_opcodes(self):
        for opcode in (0, 1, 2, 999, 1000, 2001, 2002, 2005, 2006, 2007, 2010, 2011, 2014, -1, 2**31 - 1):
            with self.subTest(opcode=opcode):
                found = self.answer(frame(op_msg_payload({"ping": 1, "$db": "admin"}), opcode))
                self.assertTrue(found is None or found["ok"] == 0, found)

    def test_garbage(self):
        chance = random.Random(5)
        for _ in range(200):
            self.answer_quickly(chance.randbytes(chance.randrange(1, 300)))
        for opcode in (OP_MSG, OP_QUERY, OP_COMPRESSED):
            for _ in range(200):
                self.answer_quickly(frame(chance.randbytes(chance.randrange(0, 200)), opcode))

    def answer_quickly(self, data):
        with self.server.raw() as raw:
            raw.send(data)
            raw.socket.shutdown(socket.SHUT_WR)  # a half message must not be waited for any longer
            while raw.reply():
                pass

    def test_http_is_turned_away(self):
        self.assertIsNone(self.answer(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"))

    def test_damage_at_every_offset_of_an_insert(self):
        name = self.db.name[:20]
        good = op_msg_payload({"insert": "c", "$db": name, "documents": [{"a": [1, {"b": "x", "c": None}], "d": bson.Decimal128("1"), "e": bson.Binary(b"zz", 2), "f": bson.Code("g", {})}]})
        with self.server.raw() as raw:
            for offset in range(4, len(good)):
                for value in (0, 1, 0x7F, 0x80, 0xFF, good[offset] ^ 1):
                    damaged = good[:offset] + bytes([value]) + good[offset + 1:]
                    if struct.unpack_from("<I", damaged)[0] & 2:
                        continue
                    try:
                        raw.send(frame(damaged))
                        reply = raw.reply()
                    except ConnectionError:
                        reply = None
                    if reply is None:
                        raw = self.server.raw()
        self.check_contents(name)

    def check_contents(self, name):
        """Whatever was taken in despite the damage is valid and indexed."""
        for collection in self.client[name].list_collection_names():
            self.assertTrue(self.client[name].validate_collection(collection)["valid"])

    def test_damage_at_every_offset_of_a_sequence(self):
        good = op_msg_payload({"insert": "c", "$db": "sequence"}, sequences=[("documents", [{"_id": 1, "x": "y"}, {"_id": 2}])])
        raw = self.server.raw()
        for offset in range(4, len(good)):
            for value in (0, 0xFF, good[offset] ^ 1, good[offset] ^ 0x10):
                try:
                    raw.send(frame(good[:offset] + bytes([value]) + good[offset + 1:]))
                    reply = raw.reply()
                except ConnectionError:
                    reply = None
                if reply is None:
                    raw.close()
                    raw = self.server.raw()
        raw.close()
        self.check_contents("sequence")

    def test_truncation_at_every_offset(self):
        good = frame(op_msg_payload({"insert": "c", "$db": "truncated", "documents": [{"a": [1, {"b": "x"}]}]}))
        for size in range(1, len(good)):
            self.answer_quickly(good[:size])
            if size > 20:
                self.answer_quickly(struct.pack("<i", size) + good[4:size])
        self.assertEqual(self.client.truncated.c.count_documents({}), 0)

    def test_nesting_of_20000(self):
        document = b"\5\0\0\0\0"
        for kind in (b"\3a\0", b"\4a\0"):
            document = b"\5\0\0\0\0"
            for _ in range(20_000):
                document = struct.pack("<i", len(document) + 8) + kind + document + b"\0"
            insert = bson.encode({"insert": "c", "$db": "deep"})
            found = self.answer(frame(op_msg_payload(insert, sequences=[("documents", [document])])))
            self.assertTrue(found is None or found["ok"] == 0, found)
        self.assertEqual(self.client.deep.c.count_documents({}), 0)

    def test_deep_nesting_in_query_and_pipeline(self):
        """Within what a document may nest, recursion of the parsers stays bounded."""
        deep_not = {"a": 1}
        deep_expression = 1
        for _ in range(85):
            deep_not = {"$nor": [deep_not]}
        for _ in range(85):
            deep_expression = {"$add": [deep_expression, 1]}
        for command in ({"find": "c", "filter": deep_not}, {"aggregate": "c", "pipeline": [{"$project": {"x": deep_expression}}], "cursor": {}}):
            with self.server.raw() as raw:
                self.assertEqual(raw.command({**command, "$db": "deep"})["ok"], 1)

    def test_message_sections(self):
        ping = {"ping": 1, "$db": "admin"}
        cases = {
            "no section": struct.pack("<I", 0),
            "no body": struct.pack("<I", 0) + b"\1" + struct.pack("<i", 6) + b"a\0",
            "two bodies": op_msg_payload(ping) + b"\0" + bson.encode(ping),
            "kind 2": op_msg_payload(ping) + b"\2" + struct.pack("<i", 6) + b"a\0",
            "kind 9": op_msg_payload(ping) + b"\x09",
            "duplicate sequence": op_msg_payload(ping, sequences=[("a", []), ("a", [])]),
            "sequence of no name": op_msg_payload(ping) + b"\1" + struct.pack("<i", 8) + b"aaaa",
            "sequence too long": op_msg_payload(ping) + b"\1" + struct.pack("<i", 80) + b"a\0",
            "sequence also in body": op_msg_payload({"insert": "c", "documents": [], "$db": "x"}, sequences=[("documents", [{}])]),
            "unknown required flag": op_msg_payload(ping, 1 << 5),
            "no database": op_msg_payload({"ping": 1}),
            "database of another type": op_msg_payload({"ping": 1, "$db": 5}),
            "empty command": op_msg_payload({"$db": "admin"}),
            "nothing": op_msg_payload({}),
            "empty database": op_msg_payload({"ping": 1, "$db": ""}),
            "bad database": op_msg_payload({"ping": 1, "$db": "a b/c\0d"}),
        }
        for name, payload in cases.items():
            with self.subTest(name):
                found = self.answer(frame(payload))
                self.assertTrue(found is None or found["ok"] == 0, found)

    def test_optional_flags_are_ignored(self):
        self.assertEqual(self.answer(frame(op_msg_payload({"ping": 1, "$db": "admin"}, 1 << 20)))["ok"], 1)

    def test_bad_legacy_queries(self):
        good = op_query_payload({"isMaster": 1})
        for size in range(len(good)):
            found = self.answer(frame(good[:size], OP_QUERY))
            self.assertTrue(found is None or found.get("ok") == 0 or "$err" in found, found)

    def test_slow_senders_do_not_hold_up_others(self):
        message = frame(op_msg_payload({"ping": 1, "$db": "admin"}))
        slow = [self.server.raw() for _ in range(50)]
        for raw in slow:
            raw.send(message[:10])
        before = time.monotonic()
        for _ in range(100):
            self.client.admin.command("ping")
        self.assertLess(time.monotonic() - before, 10 * SLOWNESS)
        for byte in message[10:]:
            for raw in slow:
                raw.send(bytes([byte]))
        for raw in slow:
            self.assertEqual(raw.reply().body["ok"], 1)
            raw.close()

    def test_slow_readers_do_not_grow_the_server(self):
        self.client.slow.c.drop()
        self.client.slow.c.insert_many({"x": "y" * 1_000_000} for _ in range(16))
        find = frame(op_msg_payload({"find": "c", "batchSize": 14, "singleBatch": True, "$db": "slow"}))
        finds = lambda: self.client.admin.command("serverStatus")["opcounters"]["query"]
        before, count = self.server.memory_mib(), finds()
        raws = [self.server.raw() for _ in range(20)]
        for raw in raws:
            raw.send(5 * find)  # nothing is read: at most one answer may wait in memory
        self.assertTrue(eventually(lambda: finds() >= count + 20))
        with self.server.raw() as reader:  # has its turns beside them, and gets all of its answers
            reader.send(5 * find)
            for _ in range(5):
                self.assertEqual(len(reader.reply().body["cursor"]["firstBatch"]), 14)
        self.assertEqual(finds(), count + 20 + 5, "the others' next requests wait until their first answers are read")
        self.assertMemoryGrew(before, less_than_mib=20 * 16 * 1.5 + 200)
        for raw in raws:
            raw.close()

    def test_half_open_connections_are_noticed(self):
        current = lambda: self.client.admin.command("serverStatus")["connections"]["current"]
        before = current() + 2  # the driver may open one or two of its own meanwhile
        for i in range(200):
            raw = self.server.raw()
            if i % 2:
                raw.send(b"\x30\0\0\0")
                raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset, not a close
            raw.close()
        self.assertTrue(eventually(lambda: current() <= before), f"{current()} connections, {before} before")

    def test_pipelined_requests_are_answered_in_order(self):
        with self.server.raw() as raw:
            raw.send(b"".join(frame(op_msg_payload({"ping": 1, "$db": "admin"}), request_id=i) for i in range(1, 101)))
            self.assertEqual([raw.reply().response_to for _ in range(100)], list(range(1, 101)))

    def test_unanswered_failures_do_not_disturb_the_next_answer(self):
        with self.server.raw() as raw:
            raw.send(frame(op_msg_payload({"insert": "c", "documents": 5, "$db": "x"}, 2)))
            raw.send(frame(op_msg_payload({"noSuchCommand": 1, "$db": "x"}, 2)))
            self.assertEqual(raw.command({"ping": 1, "$db": "admin"})["ok"], 1)


class Starts(unittest.TestCase):
    """A start that cannot succeed ends with a code and one line of reason."""

    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.discard)

    def refused(self, *arguments, code=None, says=""):
        found, reason = run_server(*arguments)
        if code is None:
            self.assertGreater(found, 0, reason)
        else:
            self.assertEqual(found, code, reason)
        lines = reason.strip().splitlines()
        self.assertEqual(len(lines), 1, reason)
        self.assertTrue(lines[0].startswith("trouped: "), reason)
        self.assertIn(says, lines[0])

    def own(self, dbpath=None, *more):
        return ["--dbpath", str(dbpath or self.server.dbpath), "--port", str(free_port()), "--admin-port", "0", *more]

    def test_a_data_directory_in_use(self):
        self.server.start()
        self.refused(*self.own(), code=100, says="in use")
        with self.server.client() as client:
            self.assertEqual(client.admin.command("ping")["ok"], 1)

    def test_a_port_in_use(self):
        self.server.start()
        other = Server()
        self.addCleanup(other.discard)
        self.refused("--dbpath", str(other.dbpath), "--port", str(self.server.port), "--admin-port", "0", says="listen")

    def test_an_admin_port_in_use(self):
        """Its endpoint is set aside when it fails later; a wrong port is told at once."""
        with socket.create_server(("127.0.0.1", 0)) as taken:
            self.refused("--dbpath", str(self.server.dbpath), "--port", str(free_port()),
                         "--admin-port", str(taken.getsockname()[1]), code=100, says="/node/front/admin")

    def test_a_newer_format(self):
        self.server.start().stop()
        path = self.server.dbpath / "troupe.format"
        path.write_text("program: troupe\nformatVersion: 999\n")
        self.refused(*self.own(), code=62, says="999")
        self.assertIn("999", path.read_text())

    def test_a_directory_of_another_program(self):
        (self.server.dbpath / "WiredTiger").write_text("WiredTiger\n")
        self.refused(*self.own(), code=62, says="another program")

    def test_a_missing_directory(self):
        self.refused(*self.own("/nonexistent/data"), code=100, says="/nonexistent/data")

    def test_a_file_in_place_of_the_directory(self):
        path = self.server.folder / "file"
        path.write_text("")
        self.refused(*self.own(path), code=100)

    def test_a_read_only_directory(self):
        if os.geteuid() == 0:
            self.skipTest("root may write everywhere")
        self.server.dbpath.chmod(0o555)
        self.refused(*self.own(), code=100)

    def test_a_damaged_file(self):
        self.server.start()
        with self.server.client() as client:
            client.t.c.insert_many({"_id": i, "x": "y" * 100} for i in range(1000))
        self.server.stop()
        for name in ("WiredTiger.turtle", "WiredTiger.wt"):
            with self.subTest(name):
                path = self.server.dbpath / name
                good = path.read_bytes()
                path.write_bytes(b"\x55" * len(good))
                code, reason = run_server(*self.own())
                self.assertGreater(code, 0, reason)
                self.assertIn("trouped: ", reason.splitlines()[-1])
                path.write_bytes(good)

    def test_bad_options(self):
        for options in (["--no-such-option"], ["--port", "70000"], ["--port", "x"], ["--setParameter", "nothing=1"], ["--setParameter", "cursorTimeoutMillis=x"],
                        ["--setParameter", "novalue"], ["--config", "/nonexistent.yaml"], ["--networkMessageCompressors", "rar"], ["--bind_ip", "999.1.1.1"],
                        ["--logFormat", "xml"], ["--maxConns", "1"]):
            with self.subTest(options=options):
                arguments = self.own()
                if options[0] == "--port":
                    arguments = ["--dbpath", str(self.server.dbpath)]
                self.refused(*arguments, *options)

    def test_texts_that_are_no_numbers(self):
        for option in ("--slowms", "--threads", "--syncdelay", "--verbose", "--maxConns", "--journalCommitInterval", "--wiredTigerCacheSizeGB"):
            for text in ("x", "1x", "1.2.3", "", "99999999999999999999999"):
                with self.subTest(option=option, text=text):
                    self.refused(*self.own(), option, text, code=2, says=option)

    def test_files_that_options_name(self):
        folder = self.server.folder
        unreadable, broken = folder / "open.key", folder / "broken.pem"
        unreadable.write_text("c2VjcmV0MTIz")
        unreadable.chmod(0o644)
        broken.write_text("not a certificate")
        for option, path, says in (("--pidfilepath", folder / "missing" / "pid", "missing"), ("--pidfilepath", folder, "is a folder"),
                                   ("--logpath", folder / "missing" / "deeper" / "log", "missing"), ("--logpath", folder, "is a folder"),
                                   ("--keyFile", folder / "missing.key", "missing.key"), ("--keyFile", unreadable, "open.key")):
            with self.subTest(option=option, path=path):
                self.refused(*self.own(), option, str(path), code=2, says=option)
                self.refused(*self.own(), option, str(path), code=2, says=says)
        for options in (["--tlsCertificateKeyFile", str(folder / "missing.pem")], ["--tlsCertificateKeyFile", str(broken)], []):
            with self.subTest(options=options):
                self.refused(*self.own(), "--tlsMode", "requireTLS", *options, code=2, says="--tlsMode")
                self.refused(*self.own()[:4], "--admin-port", str(free_port()), "--adminTlsMode", "requireTLS", *options, code=2, says="--adminTlsMode")
        self.assertEqual(sorted(p.name for p in folder.iterdir()), ["broken.pem", "data", "open.key"], "no folder was made")
        self.assertEqual(list(self.server.dbpath.iterdir()), [], "the data directory was not touched")

    def test_names_of_nodes_and_sets(self):
        for options in (["--nodeName", "a b:1"], ["--nodeName", "a"], ["--nodeName", ":1"], ["--nodeName", "a:x"], ["--nodeName", "a:70000"], ["--nodeName", ""],
                        ["--replSet", ""], ["--dbpath", ""], ["--logpath", ""], ["--keyFile", ""], ["--bind_ip", ""]):
            with self.subTest(options=options):
                arguments = ["--port", str(free_port()), "--admin-port", "0"] if options[0] == "--dbpath" else self.own()
                self.refused(*arguments, *options, code=2, says=options[0])
        path = self.server.folder / "c.yaml"
        path.write_text('replication:\n  replSetName: ""\n')
        self.refused(*self.own(), "--config", str(path), code=2, says="replication.replSetName")

    def test_a_failed_start_is_in_the_log_file(self):
        log = self.server.folder / "trouped.log"
        for options, code, says in (([], 100, "/nonexistent/data"), (["--keyFile", "/nonexistent/key"], 2, "/nonexistent/key")):
            with self.subTest(options=options):
                log.unlink(missing_ok=True)
                self.refused(*self.own("/nonexistent/data"), "--logpath", str(log), *options, code=code, says=says)
                last = json.loads([line for line in log.read_text().splitlines() if '"id" : 20575' in line][0])
                self.assertEqual((last["s"], last["attr"]["exitCode"]), ("E", code))
                self.assertIn(says, last["attr"]["error"])

    def test_open_access_is_warned_of_only_where_it_is(self):
        key = self.server.folder / "key"
        key.write_text("c2VjcmV0MTIz")
        key.chmod(0o600)
        self.assertTrue(self.warns_of_open_access())
        for options in (["--auth"], ["--keyFile", str(key)]):
            with self.subTest(options=options):
                self.assertFalse(self.warns_of_open_access(*options))
        log = self.server.folder / "repair.log"
        self.assertEqual(run_server(*self.own(), "--repair", "--logpath", str(log))[0], 0)
        self.assertNotIn('"id" : 22120', log.read_text(), "a repair serves nobody")

    def warns_of_open_access(self, *options):
        with Server(*options) as server:
            server.stop()
            return '"id" : 22120' in server.log()

    def test_bad_configuration_files(self):
        path = self.server.folder / "c.yaml"
        for text in ("net: [", "net:\n  surprise: 1\n", "net:\n  port: many\n", "- 1\n", "text"):
            with self.subTest(text=text):
                path.write_text(text)
                self.refused(*self.own(), "--config", str(path), code=2)

    def test_a_configuration_file(self):
        path = self.server.folder / "c.yaml"
        path.write_text(f"net:\n  port: {self.server.port}\nstorage:\n  dbPath: {self.server.dbpath}\nsystemLog:\n  verbosity: 0\nsetParameter:\n  enableTestCommands: 1\n  cursorTimeoutMillis: 1234\n")
        self.server.arguments = lambda: ["--config", str(path), "--admin-port", "0"]
        self.server.start()
        with self.server.client() as client:
            self.assertEqual(client.admin.command("getParameter", 1, cursorTimeoutMillis=1)["cursorTimeoutMillis"], 1234)
            self.assertEqual(client.admin.command("getCmdLineOpts")["parsed"]["net"]["port"], self.server.port)


