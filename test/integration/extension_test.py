"""docs/extending.md and docs/testing-protocols.md, followed to the letter against an installed library."""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
import urllib.request
from pathlib import Path

import pymongo

from support import BIN, SLOWNESS, Server, eventually, free_port

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("docs/extending.md", "docs/testing-protocols.md")
EXAMPLE = ROOT / "examples/named_lease"
PROTOCOL = ("named_lease.hpp", "main.cpp")
LEASES, HOLDERS = "/node/services/leases", "/node/services/holders"
BLOCK = re.compile(r"(?:^\*\*`([\w.]+)`\*\*[^\n]*\n\n)?^```(\w*)\n(.*?)^```$", re.M | re.S)


def steps():
    """What the pages tell to do: (name of a file, or None for commands; text)."""
    for page in PAGES:
        for name, language, text in BLOCK.findall((ROOT / page).read_text()):
            if name or language == "sh":
                yield name or None, text


def files():
    """name -> what it holds in the end. A block for a file that was there before goes to its end."""
    found = {}
    for name, text in steps():
        if name:
            found[name] = found[name] + "\n" + text if name in found else text
    return found


def script(ports):
    """The pages as one shell script."""
    lines, begun = ["set -euo pipefail"], set()
    for name, text in steps():
        for written, free in ports.items():
            text = text.replace(written, str(free))
        if name:
            lines.append(f"{'echo >>' if name in begun else ': >'} {name}\ncat >> {name} <<'END OF FILE'\n{text}END OF FILE\n")
            begun.add(name)
        else:
            lines.append(text)
    return "\n".join(lines)


def row(server, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{server.admin_port}/actors?under={path}", timeout=20) as answer:
        return next(iter(json.load(answer)["rows"]), {})


def node(program):
    """A server that others reach by its name."""
    server = Server(program=program)
    server.name = f"127.0.0.1:{server.port}"
    server.options += ["--nodeName", server.name]
    return server


class Extension(unittest.TestCase):
    def test_the_example_is_what_the_pages_say(self):
        for name, text in files().items():
            self.assertEqual(text, (EXAMPLE / name).read_text(), name)
        self.assertEqual(set(files()), {path.name for path in EXAMPLE.iterdir()})

    def test_it_takes_at_most_120_lines(self):
        lines = sum(len((EXAMPLE / name).read_text().splitlines()) for name in PROTOCOL)
        self.assertLessEqual(lines, 120)
        for name in PROTOCOL:
            self.assertLessEqual(max(map(len, (EXAMPLE / name).read_text().splitlines())), 120, name)

    @unittest.skipIf(SLOWNESS != 1, "builds without sanitizers")
    def test_the_pages_lead_from_an_empty_folder_to_a_tested_server(self):
        home = tempfile.mkdtemp(prefix="troupe-extension-")
        self.addCleanup(shutil.rmtree, home, ignore_errors=True)
        build = BIN.parent.resolve()
        ports = {"27117": free_port(), "8117": free_port(), "install build": f"install {build}"}
        environment = {**os.environ, "HOME": home, "PATH": "/usr/bin:" + os.environ["PATH"]}
        if shutil.which("ccache"):
            environment.update(CMAKE_CXX_COMPILER_LAUNCHER="ccache", CCACHE_BASEDIR=home, CCACHE_NOHASHDIR="1")
            cache = subprocess.run(["ccache", "--get-config", "cache_dir"], capture_output=True, text=True, check=True)
            environment["CCACHE_DIR"] = cache.stdout.strip()
        process = subprocess.Popen(["bash", "-c", script(ports)], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        try:
            output, _ = process.communicate(timeout=1200)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # and a server that a failed command has left behind
        self.assertEqual(process.returncode, 0, output[-8000:])
        self.assertIn("100% tests passed, 0 tests failed", output)
        answer = next(line for line in output.splitlines() if '"phase":"held"' in line)
        rows = {row["path"]: row for row in json.loads(answer)["rows"]}
        lease = rows["/node/services/leases/printer"]
        self.assertEqual((lease["type"], lease["phase"]), ("lease", "held"))
        self.assertEqual(lease["phaseMeaning"], "its holder may use it, and nobody else")
        self.assertRegex(output, rf"'holder': 'localhost:{ports['27117']}'.*'phase': 'held'")
        program = Path(home) / "named_lease/build/leased"
        self.check_that_it_follows_elections(program)
        self.check_that_it_moves_between_nodes(program)

    def check_that_it_follows_elections(self, program):
        """On a member of a replica set the service runs on the primary only."""
        with Server("--replSet", "rs", program=program) as server, server.client() as client:
            self.assertEqual(row(server, LEASES)["phase"], "standing by")
            host = f"127.0.0.1:{server.port}"
            client.admin.command({"replSetInitiate": {"_id": "rs", "members": [{"_id": 0, "host": host}]}})
            self.assertTrue(eventually(lambda: row(server, LEASES)["phase"] == "serving"), server.log_tail())
            client.admin.command({"moveLease": "printer", "to": host})
            self.assertTrue(eventually(lambda: row(server, f"{LEASES}/printer")["phase"] == "held"))
            audit = row(server, "/node/services/audit")
            self.assertEqual(client.leases.moves.find_one(), {"_id": "printer", "n": 1}, "written once, on the primary")
            self.assertEqual((audit["type"], audit["handled"]), ("HostedCafActor", 1), "the CAF actor beside it heard of it")
            client.admin.command({"replSetStepDown": 60, "force": True})
            self.assertTrue(eventually(lambda: row(server, LEASES)["phase"] == "standing by"))

    def check_that_it_moves_between_nodes(self, program):
        """Two processes: one coordinates, and the lease goes to the other one and back, although that one dies meanwhile."""
        def is_at(holder, other):
            return (row(one, f"{LEASES}/printer").get("phase"), row(holder, f"{HOLDERS}/printer").get("phase"),
                    row(other, f"{HOLDERS}/printer").get("phase")) == ("held", "holding", "idle")

        with node(program) as one, node(program) as two, one.client() as client:
            client.admin.command("linkPing", two.name)  # nodes link with those that they know
            for to in (one, two):
                client.admin.command({"moveLease": "printer", "to": to.name})
                self.assertTrue(eventually(lambda: row(to, f"{HOLDERS}/printer").get("phase") == "holding"), one.log_tail())
            self.assertTrue(eventually(lambda: is_at(two, one)))
            self.assertEqual(client.leases.moves.find_one()["n"], 2)
            two.kill()
            client.admin.command({"moveLease": "printer", "to": one.name})
            self.assertEqual(row(one, f"{LEASES}/printer")["phase"], "revoking")
            with self.assertRaisesRegex(pymongo.errors.OperationFailure, "it moves to"):
                client.admin.command({"moveLease": "printer", "to": two.name})
            two.start()
            self.assertTrue(eventually(lambda: is_at(one, two)), one.log_tail())


if __name__ == "__main__":
    unittest.main()
