"""Encrypted connections, with certificates made on the spot."""
import base64
import http.client
import json
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from support import SLOWNESS, Server, eventually, run_server


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


def make_certificates(folder):
    """An authority, and a server's and a client's certificate by it (and one of a stranger)."""
    for name in ("ca", "stranger"):
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}", "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.crt")
    extension = folder / "extension"
    extension.write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    for name, authority in (("server", "ca"), ("client", "ca"), ("intruder", "stranger")):
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.csr")
        openssl("x509", "-req", "-in", folder / f"{name}.csr", "-CA", folder / f"{authority}.crt", "-CAkey", folder / f"{authority}.key", "-CAcreateserial",
                "-days", "2", "-extfile", extension, "-out", folder / f"{name}.crt")
        (folder / f"{name}.pem").write_text((folder / f"{name}.crt").read_text() + (folder / f"{name}.key").read_text())


class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="troupe-tls-"))
        make_certificates(cls.folder)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def server(self, mode, *options):
        return Server("--tlsMode", mode, "--tlsCertificateKeyFile", str(self.folder / "server.pem"), *options)

    def encrypted(self, server, **options):
        return server.client(tls=True, tlsCAFile=str(self.folder / "ca.crt"), **{"serverSelectionTimeoutMS": int(20_000 * SLOWNESS), **options})

    def works(self, client):
        with client:
            client.t.c.replace_one({"_id": 1}, {"x": "y" * 1_000_000}, upsert=True)
            return len(client.t.c.find_one({"_id": 1})["x"]) == 1_000_000

    def refused(self, server, certificate=None):
        """A client with this certificate, or without any, is turned away: after the handshake, as TLS 1.3 has it."""
        context = ssl.create_default_context(cafile=self.folder / "ca.crt")
        if certificate:
            context.load_cert_chain(self.folder / certificate)
        with socket.create_connection(("127.0.0.1", server.port), 20 * SLOWNESS) as plain:
            with self.assertRaisesRegex(ssl.SSLError, "alert"), context.wrap_socket(plain, server_hostname="127.0.0.1") as encrypted:
                encrypted.recv(1)

    def test_required(self):
        with self.server("requireTLS") as server:
            self.assertTrue(self.works(self.encrypted(server)))
            with server.raw() as raw:
                self.assertIsNone(raw.command({"ping": 1, "$db": "admin"}), "without TLS")
            with server.raw() as raw:  # plain text, then silence, then garbage: refused without harm
                raw.send(b"\x3a\0\0\0garbage" * 20)
                self.assertTrue(raw.closed())
            self.assertTrue(self.works(self.encrypted(server)))
            self.assertEqual(server.stop(), 0)

    def test_preferred_takes_both(self):
        with self.server("preferTLS") as server:
            self.assertTrue(self.works(self.encrypted(server)))
            self.assertTrue(self.works(server.client()))

    def test_client_certificates(self):
        with self.server("requireTLS", "--tlsCAFile", str(self.folder / "ca.crt")) as server:
            self.assertTrue(self.works(self.encrypted(server, tlsCertificateKeyFile=str(self.folder / "client.pem"))))
            self.refused(server)
            self.refused(server, "intruder.pem")
        with self.server("requireTLS", "--tlsCAFile", str(self.folder / "ca.crt"), "--tlsAllowConnectionsWithoutCertificates") as server:
            self.assertTrue(self.works(self.encrypted(server)))

    def test_a_hello_may_come_byte_by_byte(self):
        with self.server("preferTLS") as server, socket.create_connection(("127.0.0.1", server.port), 20 * SLOWNESS) as plain:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            tls = ssl.create_default_context(cafile=self.folder / "ca.crt").wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
            with self.assertRaises(ssl.SSLWantReadError):
                tls.do_handshake()
            hello = outgoing.read()
            plain.sendall(hello[:1])
            time.sleep(0.5)  # the server must not decide on it
            plain.sendall(hello[1:])
            self.assertEqual(plain.recv(1), b"\x16", "a record of a handshake answers")

    def test_peers_that_vanish_are_noticed(self):
        """Both kinds of connections have a timer of keep-alive."""
        with self.server("preferTLS") as server:
            context = ssl.create_default_context(cafile=self.folder / "ca.crt")
            with server.raw() as plain, context.wrap_socket(socket.create_connection(("127.0.0.1", server.port)), server_hostname="127.0.0.1") as tls:
                plain.command({"ping": 1, "$db": "admin"})
                for each in (plain.socket, tls):
                    self.assertTrue(eventually(lambda: self.has_keep_alive(server.port, each.getsockname()[1])), each)

    def has_keep_alive(self, port, peer):
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            _, local, remote, _, _, timer, *_ = line.split()
            if local.endswith(f":{port:04X}") and remote.endswith(f":{peer:04X}"):
                return timer.startswith("02:")
        return False

    def test_sessions_are_resumed(self):
        for options in ((), ("--tlsAllowConnectionsWithoutCertificates",)):
            with self.subTest(options), self.server("requireTLS", "--tlsCAFile", str(self.folder / "ca.crt"), *options) as server:
                context = ssl.create_default_context(cafile=self.folder / "ca.crt")
                context.load_cert_chain(self.folder / "client.pem")
                context.maximum_version = ssl.TLSVersion.TLSv1_2  # the session is there with the handshake
                session = None
                for resumed in (False, True):
                    with context.wrap_socket(socket.create_connection(("127.0.0.1", server.port), 20 * SLOWNESS), server_hostname="127.0.0.1",
                                             session=session) as connection:
                        self.assertEqual(connection.session_reused, resumed)
                        session = connection.session

    def test_with_log_in(self):
        with self.server("requireTLS", "--auth") as server:
            with self.encrypted(server) as first:
                first.admin.command("createUser", "root", pwd="toor", roles=["root"])
            self.assertTrue(self.works(self.encrypted(server, username="root", password="toor")))

    def test_bad_files_are_named(self):
        data = self.folder / "data"
        data.mkdir(exist_ok=True)
        broken = self.folder / "broken.pem"
        broken.write_text("not a certificate")
        for options in (["--tlsMode", "requireTLS"], ["--tlsMode", "requireTLS", "--tlsCertificateKeyFile", str(broken)],
                        ["--tlsMode", "requireTLS", "--tlsCertificateKeyFile", "/nonexistent.pem"], ["--tlsMode", "sometimes"]):
            with self.subTest(options=options):
                code, reason = run_server("--dbpath", str(data), "--port", "1", "--admin-port", "0", *options)
                self.assertNotIn(code, (0, -6, -11))
                self.assertEqual(len(reason.strip().splitlines()), 1, reason)


class AdminTls(unittest.TestCase):
    """The admin endpoint under TLS, with or without TLS on the database's port."""

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="troupe-admin-tls-"))
        make_certificates(cls.folder)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def server(self, mode, *options):
        return Server("--adminTlsMode", mode, "--tlsCertificateKeyFile", str(self.folder / "server.pem"), *options)

    def connect(self, server, encrypted=True):
        if not encrypted:
            return http.client.HTTPConnection("127.0.0.1", server.admin_port, timeout=10 * SLOWNESS)
        context = ssl.create_default_context(cafile=self.folder / "ca.crt")
        return http.client.HTTPSConnection("127.0.0.1", server.admin_port, timeout=10 * SLOWNESS, context=context)

    def ask(self, server, path, *, encrypted=True, method="GET", **headers):
        connection = self.connect(server, encrypted)
        try:
            connection.request(method, path, headers=headers)
            reply = connection.getresponse()
            return reply.status, reply.read().decode(), reply.headers
        finally:
            connection.close()

    def await_endpoint(self, server):
        """It starts after the database's port."""
        def answers():
            try:
                return self.ask(server, "/readyz")[0] == 200
            except OSError:
                return False
        self.assertTrue(eventually(answers))

    def test_required_serves_https_and_refuses_plain_requests(self):
        with self.server("requireTLS") as server:
            self.await_endpoint(server)
            status, body, _ = self.ask(server, "/actors?limit=3")
            self.assertEqual((status, len(json.loads(body)["rows"])), (200, 3))
            self.assertIn("<title>Troupe</title>", self.ask(server, "/")[1])
            status, body, headers = self.ask(server, "/actors", encrypted=False)
            self.assertEqual((status, headers["Connection"]), (400, "close"))
            self.assertIn("https", json.loads(body)["error"]["message"])
            self.assertNotIn("/node", body)
            with server.client() as plain:  # the database's own port is asked for separately
                self.assertEqual(plain.admin.command("ping")["ok"], 1)
            self.assertEqual(server.stop(), 0)

    def test_actions_and_events_come_through(self):
        with self.server("requireTLS") as server:
            self.await_endpoint(server)
            path = "/actors/node/storage/checkpointer"
            before = json.loads(self.ask(server, path)[1])["row"]["incarnation"]
            stream = self.connect(server)
            stream.request("GET", "/events")
            events = stream.getresponse()
            self.assertEqual(events.status, 200)
            self.assertEqual(self.ask(server, path + "/restart", method="POST", **{"X-Troupe-Action": "restart"})[0], 202)
            while b"restarted" not in (line := events.readline()):
                self.assertTrue(line, "the stream has ended")
            stream.close()
            self.assertTrue(eventually(lambda: json.loads(self.ask(server, path)[1])["row"]["incarnation"] == before + 1))

    def test_preferred_takes_both(self):
        with self.server("preferTLS") as server:
            self.await_endpoint(server)
            self.assertEqual(self.ask(server, "/actors", encrypted=False)[0], 200)

    def test_log_in_is_the_same_and_its_cookie_stays_on_tls(self):
        with self.server("requireTLS", "--auth") as server:
            with server.client() as first:
                first.admin.command("createUser", "root", pwd="toor", roles=["root"])
            self.await_endpoint(server)
            self.assertEqual(self.ask(server, "/actors")[0], 401)
            login = "Basic " + base64.b64encode(b"root:toor").decode()
            status, _, headers = self.ask(server, "/actors", Authorization=login)
            self.assertEqual(status, 200)
            self.assertIn("; Secure", headers["Set-Cookie"])
            self.assertEqual(self.ask(server, "/actors", Cookie=headers["Set-Cookie"].split(";")[0])[0], 200)

    def test_noise_instead_of_a_handshake_harms_nobody(self):
        with self.server("requireTLS") as server:
            self.await_endpoint(server)
            for noise in (b"\x16\x03\x01\xff\xff" + b"x" * 4000, b"\x16\x03\x01\x00\x01\x00", b"", b"\0" * 100):
                connection = self.connect(server, encrypted=False)
                connection.connect()
                connection.sock.sendall(noise)
                connection.close()
            self.assertEqual(self.ask(server, "/healthz")[0], 200)

    def test_a_bad_certificate_is_named_at_once(self):
        data = self.folder / "data"
        data.mkdir(exist_ok=True)
        for options in (["--adminTlsMode", "requireTLS"], ["--adminTlsMode", "sometimes"],
                        ["--adminTlsMode", "requireTLS", "--tlsCertificateKeyFile", "/nonexistent.pem"]):
            with self.subTest(options=options):
                code, reason = run_server("--dbpath", str(data), "--port", "1", "--admin-port", "1", *options)
                self.assertNotIn(code, (0, -6, -11))
                self.assertEqual(len(reason.strip().splitlines()), 1, reason)
                self.assertIn("dminTlsMode", reason)
