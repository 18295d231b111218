"""Cluster links between real processes: who may link, what operators see, and what happens when a node dies."""
import base64
import contextlib
import os
import signal
import socket
import struct
import tempfile
import threading
import time
import unittest
import urllib.request
from pathlib import Path

import pymongo

from support import MEMORY_EXTRA_MIB, MEMORY_FACTOR, SLOWNESS, Server, run_server
from tls_test import make_certificates

MAGIC = b"TROUPELK"


class Node(Server):
    """A server with a name that others reach it by."""

    def __init__(self, *options):
        super().__init__(*options)
        self.name = f"127.0.0.1:{self.port}"
        self.options += ["--nodeName", self.name]

    def admin(self):
        if not hasattr(self, "_client"):
            self._client = self.client(**self.login)
        return self._client.admin

    login = {}

    def ping(self, other, **arguments):
        return self.admin().command("linkPing", other.name if isinstance(other, Node) else other, **arguments)

    def run(self, other, command, client=None, **options):
        """linkRun; as a document, because pymongo's own argument is called `command` too."""
        admin = client.admin if client else self.admin()
        return admin.command({"linkRun": other.name, "command": command, **options})

    def links(self):
        rows = self.admin().command("actorTree", filter={"under": "/node/links"}, cursor={"batchSize": 1000})["cursor"]["firstBatch"]
        return {row["path"]: row for row in rows}

    def phase(self, other):
        return self.links().get(f"/node/links/{other.name}", {}).get("phase")

    def metrics(self):
        request = urllib.request.Request(f"http://127.0.0.1:{self.admin_port}/metrics")
        if self.login:
            login = base64.b64encode(f"{self.login['username']}:{self.login['password']}".encode()).decode()
            request.add_header("Authorization", f"Basic {login}")
        with urllib.request.urlopen(request, timeout=20 * SLOWNESS) as reply:
            return [line for line in reply.read().decode().splitlines() if line.startswith("troupe_link")]

    def metric(self, name, *labels):
        for line in self.metrics():
            if line.startswith(name) and all(label in line for label in labels):
                return float(line.rsplit(" ", 1)[1])
        return 0.0

    def hang_up(self):
        """Before the server ends: a driver that says goodbye to nobody waits long for it."""
        if hasattr(self, "_client"):
            self._client.close()
            del self._client

    def stop(self, *arguments):
        self.hang_up()
        return super().stop(*arguments)

    def kill(self):
        self.hang_up()
        super().kill()

    def discard(self):
        if self.running():
            self.hang_up()
        super().discard()


def eventually(check, seconds=20):
    """Looks until `check` gives something true, which is returned."""
    deadline = time.monotonic() + seconds * SLOWNESS
    while time.monotonic() < deadline:
        found = check()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it did not come about in time")


class LinkTest(unittest.TestCase):
    def node(self, *options):
        node = Node(*options)
        self.addCleanup(node.discard)
        return node.start()

    def key_file(self, text):
        folder = tempfile.mkdtemp(prefix="troupe-links-")
        path = Path(folder) / "key"
        path.write_text(text)
        path.chmod(0o600)
        return str(path)

    def keyed(self, text):
        node = self.node("--keyFile", self.key_file(text))
        with node.client() as first:  # the localhost exception
            first.admin.command("createUser", "root", pwd="toor", roles=["root"])
        node.login = {"username": "root", "password": "toor"}
        return node

    def refused(self, node, other, text, code="HostUnreachable"):
        with self.assertRaises(pymongo.errors.OperationFailure) as caught:
            node.ping(other)
        self.assertEqual(caught.exception.details["codeName"], code)
        self.assertIn(text, str(caught.exception))


class Links(LinkTest):
    def test_two_nodes_on_this_machine_talk(self):
        a, b = self.node(), self.node()
        answer = a.ping(b)
        self.assertEqual((answer["node"], answer["peer"]), (a.name, b.name))
        self.assertGreater(answer["roundTripMicros"], 0)
        self.assertGreater(a.ping(b, bytes=5_000_000)["roundTripMicros"], 0)
        row = a.links()[f"/node/links/{b.name}"]
        self.assertEqual((row["type"], row["phase"], row["phaseMeaning"]), ("Link", "open", "messages flow"))
        accepted = [r for r in b.links().values() if r["type"] == "IncomingLink"]
        self.assertEqual([(r["phase"], r["documentId"]) for r in accepted], [("open", a.name)])
        self.assertGreater(a.metric("troupe_link_bytes_total", b.name, 'direction="out"'), 5_000_000)
        self.assertEqual(a.metric("troupe_link_opened_total", b.name), 1)
        self.assertEqual(b.ping(a)["peer"], a.name)  # the other way has a link of its own
        self.assertEqual((a.stop(), b.stop()), (0, 0))

    def test_three_nodes_and_the_death_of_one(self):
        nodes = [self.node() for _ in range(3)]
        for one in nodes:
            for other in nodes:
                if one is not other:
                    self.assertEqual(one.ping(other)["peer"], other.name)
        a, b, c = nodes
        c.kill()
        eventually(lambda: a.phase(c) == "waiting")
        self.refused(a, c, "is not open")
        self.assertEqual(a.ping(b)["peer"], b.name)
        c.start()
        eventually(lambda: a.phase(c) == "open")
        self.assertEqual(a.ping(c)["peer"], c.name)
        self.assertGreaterEqual(a.metric("troupe_link_opened_total", c.name, 'opened_by="this_node"'), 2)

    def test_a_hung_node_is_noticed(self):
        a, b = self.node(), self.node()
        a.ping(b)
        os.kill(b.process.pid, signal.SIGSTOP)
        try:
            eventually(lambda: a.metric("troupe_link_rejected_total", b.name, 'reason="silent"') == 1, 40)
        finally:
            os.kill(b.process.pid, signal.SIGCONT)
        eventually(lambda: a.phase(b) == "open")

    def test_an_operator_cuts_a_link_and_mends_it(self):
        a, b = self.node(), self.node()
        a.ping(b)

        def act(action):
            request = urllib.request.Request(f"http://127.0.0.1:{a.admin_port}/actors/node/links/{b.name}/{action}", method="POST", headers={"X-Troupe-Action": "1"})
            with urllib.request.urlopen(request, timeout=20 * SLOWNESS) as reply:
                self.assertEqual(reply.status, 202)

        act("park")
        eventually(lambda: a.phase(b) == "parked")
        self.refused(a, b, "is not open")
        act("resume")
        eventually(lambda: a.phase(b) == "open")
        self.assertEqual(a.ping(b)["peer"], b.name)

    def test_names_that_do_not_fit(self):
        a, b = self.node(), self.node()
        self.refused(a, f"localhost:{b.port}", f"this node is {b.name}, not localhost:{b.port}")
        self.refused(a, a, "is this node itself", "BadValue")
        self.refused(a, "127.0.0.1:1", "refused")
        self.refused(a, "nonsense", "host:port", "BadValue")


class Keys(LinkTest):
    def test_the_same_key_links_and_another_does_not(self):
        a, b, stranger = self.keyed("c2VjcmV0MTIz"), self.keyed("c2VjcmV0MTIz"), self.keyed("b3RoZXJrZXk0")
        self.assertEqual(a.ping(b)["peer"], b.name)
        self.refused(stranger, a, "does not know this cluster's key")
        self.refused(a, stranger, "does not know this cluster's key")
        state = a.admin().command("actorTree", filter={"under": "/node/links"}, cursor={})["cursor"]["firstBatch"]
        self.assertTrue(state)

    def test_a_key_on_one_side_alone(self):
        keyed, bare = self.keyed("c2VjcmV0MTIz"), self.node()
        self.refused(bare, keyed, "asks for the cluster's key")
        self.refused(keyed, bare, "has no key file")

    def test_without_a_name_or_with_authorization_no_links_without_a_key(self):
        open_node = self.node()
        with Server() as unnamed, unnamed.client() as client:
            with self.assertRaisesRegex(pymongo.errors.OperationFailure, "no key for links"):
                client.admin.command("linkPing", open_node.name)
        guarded = self.node("--auth")
        self.refused(open_node, guarded, "takes no links without a key")

    def test_only_who_may_manage_pings(self):
        a, b = self.keyed("c2VjcmV0MTIz"), self.keyed("c2VjcmV0MTIz")
        a.admin().command("createUser", "watcher", pwd="x", roles=["clusterMonitor"])
        with a.client(username="watcher", password="x") as watcher:
            with self.assertRaises(pymongo.errors.OperationFailure) as caught:
                watcher.admin.command("linkPing", b.name)
            self.assertEqual(caught.exception.code, 13)

    def test_options_that_contradict_each_other(self):
        with tempfile.TemporaryDirectory() as data:
            for options in (["--clusterAuthMode", "none", "--keyFile", "/k"], ["--clusterAuthMode", "x509"], ["--nodeName", "nonsense"]):
                code, reason = run_server("--dbpath", data, "--port", "1", *options)
                self.assertEqual(code, 2, reason)
                self.assertEqual(len(reason.strip().splitlines()), 1, reason)


class RemoteCommands(LinkTest):
    def test_a_command_runs_on_another_node(self):
        a, b = self.node(), self.node()
        b.admin().client.t.c.insert_many({"_id": i, "pad": "x" * 1000} for i in range(3000))
        found = a.run(b, {"find": "c", "sort": {"_id": 1}}, database="t")
        self.assertEqual([d["_id"] for d in found["documents"]], list(range(3000)))
        self.assertEqual((found["node"], found["truncated"]), (b.name, False))
        counted = a.run(b, {"count": "c"}, database="t")
        self.assertEqual(counted["reply"]["n"], 3000)
        open_cursors = b.admin().command("serverStatus")["metrics"]["cursor"]["open"]["total"]
        self.assertEqual(open_cursors, 0)
        with self.assertRaises(pymongo.errors.OperationFailure) as caught:
            a.run(b, {"nonsense": 1}, database="t")
        self.assertEqual(caught.exception.details["codeName"], "CommandNotFound")

    def test_it_ends_when_its_time_is_over_and_when_its_asker_dies(self):
        a, b = self.node(), self.node()
        b.admin().client.t.c.insert_many({"_id": i} for i in range(10_000))
        count = {"count": "c", "query": {"$expr": {"$lt": [{"$sum": {"$map": {"input": {"$range": [0, 100_000]}, "in": "$$this"}}}, -1]}}}

        def running():
            operations = b.admin().command("currentOp")["inprog"]
            return [op for op in operations if op.get("command", {}).get("count") == "c"]

        def ask(**options):
            """Asks for the count, which takes minutes; gives the thread that waits for the answer."""
            def wait():
                with contextlib.suppress(pymongo.errors.ConnectionFailure):  # it dies
                    with self.assertRaises(pymongo.errors.ExecutionTimeout):
                        a.run(b, count, database="t", **options)
                    timed_out.append(options)
            asking = threading.Thread(target=wait)
            asking.start()
            eventually(running)
            return asking

        timed_out = []
        a.ping(b)
        ask(maxTimeMS=int(3000 * SLOWNESS)).join(60 * SLOWNESS)
        self.assertEqual(len(timed_out), 1)
        eventually(lambda: not running())
        asking = ask()
        super(Node, a).kill()
        asking.join(60 * SLOWNESS)
        self.assertEqual(len(timed_out), 1)
        eventually(lambda: not running())


class RemoteRights(LinkTest):
    def test_a_user_may_do_there_what_its_roles_there_allow(self):
        a, b = self.keyed("c2VjcmV0MTIz"), self.keyed("c2VjcmV0MTIz")
        self.assertEqual(a.run(b, {"usersInfo": 1})["reply"]["ok"], 1)
        a.admin().command("createUser", "operator", pwd="x", roles=["clusterManager"])
        with a.client(username="operator", password="x") as client:
            def codes(command):
                with self.assertRaises(pymongo.errors.OperationFailure) as caught:
                    a.run(b, command, client, database="t")
                return caught.exception.details["codeName"], str(caught.exception)

            self.assertEqual(codes({"find": "c"})[0], "Unauthorized")
            self.assertIn("there is no user operator@admin on this node", codes({"find": "c"})[1])
            b.admin().command("createUser", "operator", pwd="y", roles=[{"role": "read", "db": "t"}])
            self.assertEqual(a.run(b, {"find": "c"}, client, database="t")["documents"], [])
            self.assertEqual(codes({"insert": "c", "documents": [{}]})[0], "Unauthorized")


class Proxy:
    """Stands between two nodes, and changes a byte of what goes to the second one when it is told to."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.target = None
        self.tamper = False
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                one, _ = self.listener.accept()
                other = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                return
            for source, to, changes in ((one, other, True), (other, one, False)):
                threading.Thread(target=self.forward, args=(source, to, changes), daemon=True).start()

    def forward(self, source, to, changes):
        try:
            while data := source.recv(65536):
                if changes and self.tamper:
                    self.tamper = False
                    data = data[:-1] + bytes([data[-1] ^ 1])
                to.sendall(data)
        except OSError:
            pass
        for end in (source, to):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Forged(LinkTest):
    def test_a_byte_changed_on_the_way_closes_the_link(self):
        proxy = Proxy()
        self.addCleanup(proxy.listener.close)
        a = self.keyed("c2VjcmV0MTIz")
        b = Node("--keyFile", self.key_file("c2VjcmV0MTIz"), "--nodeName", f"127.0.0.1:{proxy.port}")
        b.options = [option for i, option in enumerate(b.options) if option != b.name and not (option == "--nodeName" and b.options[i + 1] == b.name)]
        b.name = f"127.0.0.1:{proxy.port}"
        self.addCleanup(b.discard)
        b.start()
        proxy.target = b.port
        with b.client() as first:
            first.admin.command("createUser", "root", pwd="toor", roles=["root"])
        b.login = {"username": "root", "password": "toor"}
        self.assertEqual(a.ping(b)["peer"], b.name)
        proxy.tamper = True
        eventually(lambda: b.metric("troupe_link_rejected_total", 'reason="wrong proof"') == 1)
        eventually(lambda: a.phase(b) == "open")
        self.assertEqual(a.ping(b)["peer"], b.name)


class BadInput(LinkTest):
    def test_garbage_behind_the_magic_closes_and_is_counted(self):
        node = self.node()
        huge = struct.pack("<IBBHII", 0x7FFFFFF8, 1, 0, 0, 0, 0)
        small = struct.pack("<IBBHII", 16, 99, 0, 0, 0, 0)
        before = node.memory_mib()
        for bytes_, reason in ((huge, "oversized"), (small, "malformed"), (struct.pack("<IBBHII", 16, 3, 0, 0, 0, 0), "unexpected frame")):
            with node.raw() as raw:
                raw.send(MAGIC + bytes_)
                while raw.receive(1):
                    pass
            eventually(lambda: node.metric("troupe_link_rejected_total", f'reason="{reason}"') >= 1)
        self.assertLess(node.memory_mib() - before, 100 * MEMORY_FACTOR + MEMORY_EXTRA_MIB)
        self.assertTrue(node.admin().command("ping")["ok"])

    def test_who_says_nothing_more_is_closed(self):
        node = self.node()
        with node.raw(60) as raw:
            raw.send(MAGIC + b"\x40\0")
            while raw.receive(1):  # times out when it is never closed
                pass
        eventually(lambda: node.metric("troupe_link_rejected_total", 'reason="slow handshake"') == 1)

    def test_a_driver_is_still_served_on_the_same_port(self):
        node = self.node()
        node.admin().client.t.c.insert_one({"x": 1})
        with socket.create_connection(("127.0.0.1", node.port)) as odd:
            odd.sendall(MAGIC[:4])  # neither a link nor a message
            self.assertEqual(node.admin().client.t.c.count_documents({}), 1)


class Encrypted(LinkTest):
    def test_links_under_tls(self):
        with tempfile.TemporaryDirectory() as text:
            folder = Path(text)
            make_certificates(folder)
            tls = ["--tlsMode", "preferTLS", "--tlsCertificateKeyFile", str(folder / "server.pem"), "--tlsCAFile", str(folder / "ca.crt")]
            a, b = self.node(*tls, "--keyFile", self.key_file("c2VjcmV0MTIz")), self.node(*tls, "--keyFile", self.key_file("c2VjcmV0MTIz"))
            for node in (a, b):
                with node.client() as first:
                    first.admin.command("createUser", "root", pwd="toor", roles=["root"])
                node.login = {"username": "root", "password": "toor"}
            self.assertEqual(a.ping(b, bytes=1_000_000)["peer"], b.name)
            self.assertIn('"encrypted":true', "".join(line for line in a.log().splitlines() if "A link to another node is open" in line).replace(" ", ""))
            bare = self.node("--keyFile", self.key_file("c2VjcmV0MTIz"))
            with bare.client() as first:
                first.admin.command("createUser", "root", pwd="toor", roles=["root"])
            bare.login = {"username": "root", "password": "toor"}
            self.refused(a, bare, "is not open")  # TLS goes out, and nobody there speaks it
