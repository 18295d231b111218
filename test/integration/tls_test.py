"""Encrypted connections, with certificates made on the spot."""
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import pymongo

from support import SLOWNESS, Server, run_server


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
        return server.client(tls=True, tlsCAFile=str(self.folder / "ca.crt"), **{"serverSelectionTimeoutMS": int(5000 * SLOWNESS), **options})

    def works(self, client):
        with client:
            client.t.c.replace_one({"_id": 1}, {"x": "y" * 1_000_000}, upsert=True)
            return len(client.t.c.find_one({"_id": 1})["x"]) == 1_000_000

    def refused(self, client):
        with client, self.assertRaises(pymongo.errors.ConnectionFailure):
            client.admin.command("ping")

    def test_required(self):
        with self.server("requireTLS") as server:
            self.assertTrue(self.works(self.encrypted(server)))
            self.refused(server.client(serverSelectionTimeoutMS=1000))
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
            self.refused(self.encrypted(server, serverSelectionTimeoutMS=1500))
            self.refused(self.encrypted(server, tlsCertificateKeyFile=str(self.folder / "intruder.pem"), serverSelectionTimeoutMS=1500))
        with self.server("requireTLS", "--tlsCAFile", str(self.folder / "ca.crt"), "--tlsAllowConnectionsWithoutCertificates") as server:
            self.assertTrue(self.works(self.encrypted(server)))

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
