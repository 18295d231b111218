"""The UNIX domain socket: who may use it, what holds for its clients, and what becomes of its file."""
import os
import socket
import stat
import tempfile
import urllib.parse
from pathlib import Path

import pymongo

from support import SLOWNESS, Server, ServerTest, eventually, free_port, run_server


def socket_of(server):
    return Path(server.folder) / f"mongodb-{server.port}.sock"


def connect(server, credentials="", **options):
    path = urllib.parse.quote_plus(str(socket_of(server)))
    options.setdefault("serverSelectionTimeoutMS", int(20_000 * SLOWNESS))
    return pymongo.MongoClient(f"mongodb://{credentials}{path}", **options)


class UnixSocket(ServerTest):
    def test_a_driver_works_over_it(self):
        with connect(self.server) as client:
            documents = [{"_id": i, "text": "x" * 5000} for i in range(3000)]
            client[self.db.name].c.insert_many(documents)
            self.assertEqual(list(client[self.db.name].c.find()), documents)
            rows = client.admin.command("currentOp", **{"$all": True})["inprog"]
            self.assertIn("anonymous unix socket", {row.get("client") for row in rows})

    def test_its_file_is_the_owners_alone(self):
        self.assertEqual(stat.S_IMODE(os.stat(socket_of(self.server)).st_mode), 0o700)


class UnixSocketFile(ServerTest):
    def test_a_killed_server_takes_it_again_and_an_orderly_end_removes_it(self):
        with Server() as server:
            server.kill()
            self.assertTrue(socket_of(server).exists(), "what a killed process leaves")
            server.start()
            with connect(server) as client:
                self.assertEqual(client.admin.command("ping")["ok"], 1)
            self.assertEqual(server.stop(), 0)
            self.assertFalse(socket_of(server).exists())

    def test_a_restarted_listener_has_it_again(self):
        with Server() as server:
            with server.client() as client:
                client.admin.command("controlActor", "/node/front/listener", action="restart")
            with connect(server) as client:
                self.assertEqual(client.admin.command("ping")["ok"], 1)

    def test_options(self):
        with Server("--nounixsocket") as server:
            self.assertFalse(socket_of(server).exists())
        with Server("--filePermissions", "0777") as server:
            # The port takes connections a moment before the socket's file has its permissions.
            self.assertTrue(eventually(lambda: stat.S_IMODE(os.stat(socket_of(server)).st_mode) == 0o777))
        with tempfile.TemporaryDirectory() as folder:
            for options in (["--filePermissions", "0999"], ["--filePermissions", "rwx"], ["--filePermissions", "1000"]):
                code, error = run_server("--dbpath", folder, *options)
                self.assertEqual(code, 2, options)
                self.assertIn("--filePermissions", error)

    def test_a_path_that_cannot_be_used_ends_the_start_with_the_reason(self):
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as other:
            port = free_port()
            path = Path(folder) / f"mongodb-{port}.sock"
            for prefix, reason in ((folder, "another process listens there"), (folder + "/none", "No such file or directory")):
                if prefix == folder:
                    other.bind(str(path))
                    other.listen()
                code, error = run_server("--dbpath", folder, "--port", str(port), "--unixSocketPrefix", prefix)
                self.assertEqual(code, 100, error)
                self.assertIn(reason, error)
            self.assertTrue(path.exists(), "the socket of the other process stays")


class UnixSocketOfUsers(ServerTest):
    OPTIONS = ("--auth",)

    @classmethod
    def connect(cls):
        with connect(cls.server) as stranger:  # the localhost exception
            stranger.admin.command("createUser", "root", pwd="secret", roles=["root"])
        return connect(cls.server, "root:secret@")

    def test_its_clients_count_as_local_and_log_in(self):
        self.assertEqual(self.client.admin.command("connectionStatus")["authInfo"]["authenticatedUsers"], [{"user": "root", "db": "admin"}])
        with connect(self.server) as stranger:
            self.assertFails(13, stranger.admin.command, "createUser", "second", pwd="x", roles=["root"])
            self.assertFails(13, stranger[self.db.name].c.find_one)

    def test_limits_take_all_of_them_for_one_address(self):
        self.client.admin.command("setParameter", 1, maxNewConnectionsPerSecondPerAddress=1)
        self.addCleanup(self.client.admin.command, "setParameter", 1, maxNewConnectionsPerSecondPerAddress=1000)
        opened = []
        for _ in range(40):
            with connect(self.server, serverSelectionTimeoutMS=200) as client:
                try:
                    opened.append(client.admin.command("ping")["ok"])
                except pymongo.errors.PyMongoError:
                    break
        self.assertLess(len(opened), 40)
        self.assertGreater(self.client.admin.command("serverStatus")["connections"]["rejected"], 0)
