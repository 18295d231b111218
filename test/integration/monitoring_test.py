"""The alert rules and the dashboard that are shipped name only metrics, and values of labels, that servers have."""
import json
import re
import shutil
import subprocess
import unittest
import urllib.request
from pathlib import Path

import yaml

from replica_set_support import Set
from support import SLOWNESS, Server, eventually

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "packaging" / "monitoring" / "troupe-alerts.yaml"
DASHBOARD = ROOT / "packaging" / "monitoring" / "troupe-dashboard.json"
PAGE = ROOT / "docs" / "operators" / "monitoring.md"
METRIC = re.compile(r"\b((?:troupe|process)_[a-z_]+)\b(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)(=~|!=|!~|=)"([^"]*)"')
SAMPLE = re.compile(r"^([a-z_]+)(?:\{(.*)\})? \S+$")
# Labels that Prometheus adds to what it scrapes.
OF_THE_SCRAPE = {"job", "instance"}


def scrape(server):
    """The samples of a server's /metrics: by name, the labels of each."""
    address = f"http://127.0.0.1:{server.admin_port}/metrics"
    with urllib.request.urlopen(address, timeout=20 * SLOWNESS) as answer:
        lines = answer.read().decode().splitlines()
    samples = {}
    for line in lines:
        if line.startswith("#") or not line:
            continue
        name, labels = SAMPLE.match(line).groups()
        samples.setdefault(name, []).append(dict(re.findall(r'(\w+)="([^"]*)"', labels or "")))
    return samples


def rules():
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def expressions():
    """Every query of both files, with where it stands."""
    for rule in rules():
        yield rule["alert"], rule["expr"]
    dashboard = json.loads(DASHBOARD.read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            yield "variable " + variable["name"], variable["query"]


def missing_from(samples, expression):
    """What an expression asks for and the samples lack."""
    for name, matchers in METRIC.findall(expression):
        if name not in samples:
            yield name
            continue
        for label, operator, wanted in MATCHER.findall(matchers):
            if label in OF_THE_SCRAPE:
                continue
            found = {labels.get(label) for labels in samples[name]}
            for value in wanted.split("|") if operator == "=~" else [wanted]:
                if value not in found:
                    yield f'{name}{{{label}="{value}"}}'


class Monitoring(unittest.TestCase):
    def check(self, samples, wanted=lambda name: True):
        checked = 0
        for where, expression in expressions():
            lacking = [m for m in missing_from(samples, expression) if wanted(m)]
            self.assertEqual(lacking, [], f"{where}: {expression}")
            checked += bool(METRIC.search(expression))
        self.assertGreater(checked, 40)

    def test_a_member_has_every_metric_that_is_asked_for(self):
        with Set(2) as members:
            members.initiate()
            primary = members.settled()
            self.assertTrue(eventually(lambda: scrape(primary).keys() >= {"troupe_link_round_trip_seconds", "troupe_disk_free_bytes"}))
            self.check(scrape(primary))
            self.check_role(primary, members.others(primary)[0])

    def check_role(self, primary, secondary):
        of = scrape(primary)
        self.assertIn({"set": "rs", "state": "PRIMARY"}, of["troupe_replica_state"])
        values = lambda member: self.values(member, "troupe_replica_writable", "troupe_replica_term")
        writable, term = values(primary)
        self.assertEqual((writable, term), (1, primary.term()))
        self.assertEqual(values(secondary), [0, term])

    def values(self, server, *names):
        address = f"http://127.0.0.1:{server.admin_port}/metrics"
        with urllib.request.urlopen(address, timeout=20 * SLOWNESS) as answer:
            text = answer.read().decode()
        return [float(re.search(rf"^{name}(?:{{.*}})? (\S+)$", text, re.M).group(1)) for name in names]

    def test_a_server_that_stands_alone_has_all_but_those_of_sets_and_links(self):
        with Server() as server:
            self.assertTrue(eventually(lambda: "troupe_disk_free_bytes" in scrape(server)), "the disk is looked at soon")
            samples = scrape(server)
            self.check(samples, lambda name: not name.startswith(("troupe_replica_", "troupe_link_")))
            self.assertFalse(any(name.startswith("troupe_replica_") for name in samples))
            self.assertGreater(self.values(server, "troupe_disk_free_bytes")[0], 0)

    def test_the_rules_are_complete(self):
        names = [rule["alert"] for rule in rules()]
        self.assertEqual(len(names), len(set(names)))
        page = PAGE.read_text()
        for rule in rules():
            with self.subTest(rule["alert"]):
                self.assertIn(rule["labels"]["severity"], ("critical", "warning"))
                self.assertTrue(rule["annotations"]["summary"])
                self.assertIn(f"| {rule['alert']} |", page)

    def test_the_rules_parse(self):
        promtool = shutil.which("promtool")
        if not promtool:
            self.skipTest("promtool (Debian package prometheus) is not installed")
        done = subprocess.run([promtool, "check", "rules", str(RULES)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_dashboard_has_no_two_panels_of_one_id_or_place(self):
        panels = json.loads(DASHBOARD.read_text())["panels"]
        for key in (lambda p: p["id"], lambda p: (p["gridPos"]["x"], p["gridPos"]["y"])):
            self.assertEqual(len({key(p) for p in panels}), len(panels))


if __name__ == "__main__":
    unittest.main()
