#!/usr/bin/python3
"""The replication benchmarks: real processes of a set of ours against etcd, against a node that stands alone, against
raw WiredTiger, or against a bound. Prints a table; called by `./dev bench replication`, which builds and installs.

usage: run.py [--quick] [--only ROW]...    rows: writes oplog apply lag failover step-down initial-sync rollback reads retries
"""
import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from availability import EtcdWriter, TroupeWriter, longest_silence
from servers import BIN, ROOT, Etcd, cut, mend, program, resident_mib, standalone, troupe_set, until

CONNECTIONS = 16


class Sizes:
    """How much of everything; a quick run shows that the benchmarks work, not more."""

    def __init__(self, quick):
        self.rounds = 2 if quick else 5
        self.seconds = 1 if quick else 4
        self.entries = 50_000 if quick else 1_000_000
        self.sync_documents = 30_000 if quick else 1_000_000
        self.rolled_back = 10_000 if quick else 100_000
        self.failovers = 1 if quick else 5


RESULTS = []


def report(work, unit, troupe, against, reference, floor=0.0, ceiling=0.0, **details):
    """A line of the table; `floor`: the least ratio asked for; `ceiling`: the greatest one."""
    RESULTS.append({"work": work, "unit": unit, "troupe": troupe, "against": against, "reference": reference,
                    "ratio": troupe / reference if reference else 0, "floor": floor, "ceiling": ceiling, "details": details})
    print(f"    {work}: {troupe:,.1f} {unit} against {reference:,.1f} ({against})", file=sys.stderr, flush=True)


def alternate(rounds, ours, theirs):
    """Medians of both sides, whose rounds alternate so that noise of the machine hits both, and the ratios of single rounds."""
    pairs = [(ours(), theirs()) for _ in range(rounds)]
    ratios = [a["perSecond"] / b["perSecond"] for a, b in pairs]

    def median(side, name):
        return statistics.median(pair[side][name] for pair in pairs)
    return {name: (median(0, name), median(1, name)) for name in ("perSecond", "cpuMicros", "medianMs", "percentile99Ms")}, ratios


def compare(work, unit, rounds, ours, against, theirs, floor):
    figures, ratios = alternate(rounds, ours, theirs)
    report(work, unit, figures["perSecond"][0], against, figures["perSecond"][1], floor=floor, ratioLowest=min(ratios), ratioHighest=max(ratios),
           medianMs=figures["medianMs"][0], percentile99Ms=figures["percentile99Ms"][0])
    report(f"{work}: processor time of the servers", "us each", figures["cpuMicros"][0], against, figures["cpuMicros"][1])


def pids_of(group):
    return ",".join(str(m.process.pid) for m in group.members if m.running())


def load(port, pids, sizes, **options):
    return program("replication_load", port=port, pids=pids, seconds=sizes.seconds, connections=CONNECTIONS, **options)


def writes(sizes):
    with Etcd() as etcd, troupe_set() as group:
        group.initiate()
        primary, leader = group.settled(), etcd.clients[etcd.leader()]
        etcd_pids = ",".join(map(str, etcd.pids()))
        compare("majority write of 1 KiB, three members", "writes/s", sizes.rounds,
                lambda: load(primary.port, pids_of(group), sizes, work="insert", concern="majority"),
                "etcd puts", lambda: load(leader, etcd_pids, sizes, work="etcd-put"), floor=5.0)
        with standalone() as alone:
            compare("majority write, three members", "writes/s", sizes.rounds,
                    lambda: load(primary.port, pids_of(group), sizes, work="insert", concern="majority"),
                    "one node, j:true", lambda: load(alone.port, str(alone.process.pid), sizes, work="insert", concern="journaled"), floor=0.35)


def oplog(sizes):
    with troupe_set(1) as group, standalone() as alone:
        primary = group.initiate()
        compare("w:1 insert on a primary with its log", "inserts/s", sizes.rounds,
                lambda: load(primary.port, pids_of(group), sizes, work="insert"),
                "one node without a log", lambda: load(alone.port, str(alone.process.pid), sizes, work="insert"), floor=0.70)


def applied(member):
    return member.status()["optimes"]["appliedOpTime"]["ts"]


def catch_up(group, member, write):
    """Seconds in which a member applies what the others have written while it was down, from its first entry on; its memory meanwhile."""
    # What it applied before is in its tables: a start would replay it and keep all its history, which is no part of this.
    member.command("fsync")
    member.kill()
    write()
    for other in group.others(member):
        other.command("fsync")  # what they have still to write of it is not this member's work
    goal = applied(group.primary())
    member.start()
    until(lambda: member.hello().get("secondary"), 120, "the member's start")
    first = applied(member)
    until(lambda: applied(member) > first, 120, "its first entry")
    highest = [0.0]

    def is_there():
        highest[0] = max(highest[0], resident_mib(member.process.pid))
        return applied(member) >= goal
    return until(is_there, 1200, "catching up", every=0.05), highest[0]


def apply(sizes):
    raw = program("replication_raw", work="apply", records=sizes.entries, bytes=200)
    with troupe_set() as group:
        group.initiate()
        primary = group.settled()
        member = group.others(primary)[0]
        peak = 0.0
        for kind, work in (("inserts", "insert-all"), ("updates", "update-all")):
            seconds, memory = catch_up(group, member, lambda w=work: program("replication_load", work=w, port=primary.port, records=sizes.entries, bytes=200))
            peak = max(peak, memory)
            report(f"applying {sizes.entries:,} {kind}", "entries/s", sizes.entries / seconds, "raw WiredTiger, same rows", sizes.entries / raw[kind], floor=0.5)
        report("memory of a member that catches up", "MiB", peak, "its cache and 256 MiB", 512 + 256, ceiling=1.0)


def lag(sizes):
    with troupe_set() as group:
        group.initiate()
        primary = group.settled()
        member = group.others(primary)[0]
        top = load(primary.port, "", sizes, work="insert")["perSecond"]
        seconds = sizes.seconds * 3
        background = subprocess.Popen([str(BIN / "replication_load"), "--work", "insert", "--port", str(primary.port), "--connections",
                                       str(CONNECTIONS), "--rate", str(top * 0.7), "--seconds", str(seconds)], stdout=subprocess.PIPE)
        seen = []
        with primary.client() as writer, member.client(readPreference="secondaryPreferred") as reader:
            end = time.monotonic() + seconds - 0.5
            number = 0
            while time.monotonic() < end:
                number += 1
                writer.bench.probes.insert_one({"_id": number})
                begun = time.monotonic()
                while not reader.bench.probes.find_one({"_id": number}):
                    pass
                seen.append((time.monotonic() - begun) * 1000)
        background.communicate()
        seen.sort()
        report("lag of a member at 70 % of the primary's rate, 99th percentile", "ms", seen[len(seen) * 99 // 100], "bound", 100, ceiling=1.0,
               median=seen[len(seen) // 2], rate=top * 0.7)


def failover(sizes):
    ours, theirs = [], []
    with Etcd() as etcd, troupe_set() as group:
        group.initiate()
        for _ in range(sizes.failovers):
            victim = group.settled()
            with TroupeWriter(group) as writer:
                writer.await_some()
                victim.kill()
                writer.await_more()
            ours.append(longest_silence(writer.times))
            victim.start()
            group.settled(60)
            leader = etcd.leader()
            with EtcdWriter(etcd) as writer:
                writer.await_some()
                etcd.kill(leader)
                writer.await_more()
            theirs.append(longest_silence(writer.times))
            etcd.start(leader)
            until(lambda: etcd.leader() is not None, 30, "etcd's return")
    report("kill -9 of the primary to the next majority write", "ms", statistics.median(ours), "etcd, same time-outs", statistics.median(theirs), ceiling=0.5,
           longest=max(ours))


def step_down(sizes):
    silences = []
    with troupe_set() as group:
        group.initiate()
        for _ in range(sizes.failovers):
            primary = group.settled()
            with TroupeWriter(group) as writer:
                writer.await_some()
                primary.command("replSetStepDown", 2, secondaryCatchUpPeriodSecs=2)
                writer.await_more()
            silences.append(longest_silence(writer.times))
            group.settled(60)
            time.sleep(2)  # the old primary stands again: one that may not is no successor
    report("planned step-down: silence of writers", "ms", statistics.median(silences), "bound", 50, ceiling=1.0, longest=max(silences))


def initial_sync(sizes):
    raw = program("replication_raw", work="bulk", records=sizes.sync_documents, bytes=950)["seconds"]
    with troupe_set() as group:
        group.initiate()
        primary = group.settled()
        program("replication_load", work="insert-all", port=primary.port, records=sizes.sync_documents, bytes=950)
        with primary.client() as client:
            client.bench.docs.create_index("a")
            client.bench.docs.create_index("b")
            client.admin.command("fsync")
        source = group.others(primary)[1]
        member = group.others(primary)[0]
        until(lambda: applied(source) >= applied(primary), 600, "the others' catching up")
        member.kill()
        copy = Path(str(source.dbpath) + ".copy")
        begun = time.monotonic()
        subprocess.run(["cp", "-r", str(source.dbpath), str(copy)], check=True)
        copied = time.monotonic() - begun
        subprocess.run(["rm", "-r", str(copy)], check=True)
        member.wipe()
        begun = time.monotonic()
        member.start()
        until(lambda: member.hello().get("secondary"), 1800, "the initial sync")
        seconds = time.monotonic() - begun
    megabytes = sizes.sync_documents / 1000
    report(f"initial sync of {megabytes:,.0f} MB with two indexes", "MB/s", megabytes / seconds, "cp and bulk load by raw WiredTiger", megabytes / (copied + raw), floor=0.4)


def rollback(sizes):
    # The old primary has to have written all of them before it notices that it leads nobody.
    with troupe_set(election_timeout_ms=20_000) as group:
        group.initiate()
        old = group.settled()
        rest = group.others(old)
        before = old.command("replSetGetRBID")["rbid"]
        for other in rest:
            cut(old, other)
        # As long as it has not noticed: by then the writes are in its log.
        program("replication_load", work="insert-all", port=old.port, records=sizes.rolled_back, bytes=200)
        until(lambda: any(m.is_primary() for m in rest), 60, "the election")
        new = next(m for m in rest if m.is_primary())
        with new.client() as client:
            client.bench.branch.insert_one({})
        begun = time.monotonic()
        for other in rest:
            mend(old, other)
        until(lambda: old.hello().get("secondary") and old.command("replSetGetRBID")["rbid"] > before, 120, "the rollback")
        seconds = time.monotonic() - begun
    report(f"rollback of {sizes.rolled_back:,} operations", "s", seconds, "bound", 5, ceiling=1.0)


def reads(sizes):
    with troupe_set() as group:
        group.initiate()
        primary = group.settled()
        program("replication_load", work="insert-all", port=primary.port, records=20_000, concern="majority")
        member = group.others(primary)[0]
        until(lambda: applied(member) >= applied(primary), 60, "catching up")
        pid = str(member.process.pid)
        compare("majority read on a member", "finds/s", sizes.rounds,
                lambda: load(member.port, pid, sizes, work="find", read="majority", records=20_000),
                "local read there", lambda: load(member.port, pid, sizes, work="find", read="local", records=20_000), floor=0.9)


def retries(sizes):
    with troupe_set() as group:
        group.initiate()
        primary = group.settled()
        for concern in ("one", "majority"):
            compare(f"retryable insert, w:{concern}, three members", "inserts/s", sizes.rounds,
                    lambda c=concern: load(primary.port, pids_of(group), sizes, work="insert-numbered", concern=c),
                    "plain insert", lambda c=concern: load(primary.port, pids_of(group), sizes, work="insert", concern=c), floor=0.8)


ROWS = {"writes": writes, "oplog": oplog, "apply": apply, "lag": lag, "failover": failover, "step-down": step_down, "initial-sync": initial_sync,
        "rollback": rollback, "reads": reads, "retries": retries}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", action="append", choices=list(ROWS), default=[])
    options = parser.parse_args()
    sizes = Sizes(options.quick)
    for name in options.only or ROWS:
        print(f"==> {name}", file=sys.stderr, flush=True)
        ROWS[name](sizes)
    out = ROOT / "build/bench"
    out.mkdir(parents=True, exist_ok=True)
    lines = out / "replication.jsonl"
    lines.write_text("".join(json.dumps(result) + "\n" for result in RESULTS), encoding="utf-8")
    return subprocess.call([sys.executable, str(ROOT / "test/bench/table.py"), str(lines), str(out / "replication.json")])


if __name__ == "__main__":
    sys.exit(main())
