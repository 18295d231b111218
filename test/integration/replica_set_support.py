"""Replica sets of real processes for the tests: members, sets, and what operators ask of them."""
import os
import queue
import shutil
import socket
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import pymongo
import pymongo.errors
from pymongo import ReadPreference
from pymongo.write_concern import WriteConcern

from support import SLOWNESS, Server, eventually

ELECTION_TIMEOUT_MS = int(1000 * SLOWNESS)
MAJORITY = WriteConcern(w="majority", wtimeout=int(30_000 * SLOWNESS))
NOT_PRIMARY_OR_SECONDARY, INTERRUPTED_BY_STATE_CHANGE = 13436, 11602
SERVING = ("PRIMARY", "SECONDARY", "ARBITER")


class Member(Server):
    """One process of a set; its name is its address."""

    def __init__(self, *options):
        super().__init__("--replSet", "rs", *options)
        self.name = f"127.0.0.1:{self.port}"
        self.options += ["--nodeName", self.name]

    def client(self, **options):
        """Of this member alone; what it refuses is not sent again."""
        return super().client(**{"retryWrites": False, **options})

    def wipe(self):
        """Another disk: a dead member comes back without anything."""
        shutil.rmtree(self.dbpath)
        self.dbpath.mkdir()

    def command(self, *arguments, **options):
        with self.client(**getattr(self, "login", {})) as client:
            return client.admin.command(*arguments, **options)

    def ask(self, command, db="admin", **fields):
        """The reply to a command, also if it is an error."""
        with self.raw(60) as raw:
            return raw.command({**(command if isinstance(command, dict) else {command: 1}), **fields, "$db": db})

    def hello(self):
        return self.ask("hello")

    def status(self):
        return self.command("replSetGetStatus")

    def copying(self):
        """How far its initial sync is: empty before one has begun (also while it has no config) and after its end."""
        return self.ask("replSetGetStatus").get("initialSyncStatus", {})

    def term(self):
        return self.status()["term"]

    def is_primary(self):
        return self.running() and self.hello()["isWritablePrimary"]

    def view_of(self, other):
        """What this member shows of another one in its status."""
        return next(m for m in self.status()["members"] if m["name"] == other.name)

    def metrics(self):
        return self.ask("serverStatus")

    def phases(self, actor):
        """Of an actor of its tree, and of those below it."""
        rows = self.command("actorTree", filter={"under": f"/node/{actor}"}, cursor={"batchSize": 1000})["cursor"]["firstBatch"]
        return [row["phase"] for row in rows]

    def links(self, action, *others):
        """`park` cuts what this member says to others, `resume` lets it through again."""
        for other in others:
            self.control(f"links/{other.name}", action)

    def control(self, actor, action):
        """An operator's action on an actor of its tree: restart, park, resume, stop."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.admin_port}/actors/node/{actor}/{action}",
                                         method="POST", headers={"X-Troupe-Action": "1"})
        urllib.request.urlopen(request, timeout=20 * SLOWNESS).close()


class Route:
    """A connection that goes through a `Distance`: what its opener sends, and the answers."""

    def __init__(self, opener, member):
        self.opener, self.member = opener, member
        self.greeting = b""  # the first that was sent; it has the name of the node that has opened a link
        self.has_lost = False

    def is_of(self, name):
        return name.encode() in self.greeting

    def close(self):
        for end in (self.opener, self.member):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Distance:
    """Stands before a member: what others send it arrives later by `seconds`. Its own messages go their way at once.

    `held`: a member and some bytes. From these on, what comes over a link of that member waits until `held` is None again."""

    def __init__(self):
        self.seconds, self.target, self.held = 0, None, None
        self.remembers = True  # in `passed`
        self.passed = bytearray()  # what others have sent, as it came
        self._lock = threading.Lock()
        self._lost = set()  # (name of a member, whether answers to it are meant)
        self._routes = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listener.close()

    def lose(self, name, answers):
        """From now on what comes over links that the member of this name has opened vanishes, or the answers to it. Nobody is told: no connection ends,
        new ones can be opened, and also their ends vanish."""
        with self._lock:
            self._lost.add((name, answers))

    def lose_nothing(self):
        """Bytes pass again. Connections that have lost some would be misunderstood from here on: they break."""
        with self._lock:
            self._lost.clear()
            damaged = [route for route in self._routes if route.has_lost]
            self._routes.difference_update(damaged)
        for route in damaged:
            route.close()

    def _vanishes(self, route, is_answer):
        with self._lock:
            if not any(answers == is_answer and route.is_of(name) for name, answers in self._lost):
                return False
            route.has_lost = True
            return True

    def _accept(self):
        while True:
            try:
                one, _ = self._listener.accept()
            except OSError:
                return
            try:
                other = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                one.close()  # the member is down
                continue
            for end in (one, other):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            route = Route(one, other)
            with self._lock:
                self._routes.add(route)
            on_the_way = queue.SimpleQueue()
            threading.Thread(target=self._receive, args=(route, on_the_way), daemon=True).start()
            threading.Thread(target=self._deliver, args=(route, on_the_way), daemon=True).start()
            threading.Thread(target=self._answer, args=(route,), daemon=True).start()

    @staticmethod
    def _next_of(source):
        try:
            return source.recv(65536)
        except OSError:
            return b""

    def _receive(self, route, on_the_way):
        data = b"more"
        while data:
            data = self._next_of(route.opener)
            route.greeting = route.greeting or data
            if self.remembers:
                self.passed += data
            on_the_way.put((time.monotonic() + self.seconds, data))

    def _deliver(self, route, on_the_way):
        def next_due():
            due, data = on_the_way.get()
            if due > time.monotonic():
                time.sleep(max(0, due - time.monotonic()))
            while self.held and route.is_of(self.held[0].name) and self.held[1] in data:
                time.sleep(0.02)
            return data
        self._pass_on(route, route.member, next_due, is_answer=False)

    def _answer(self, route):
        self._pass_on(route, route.opener, lambda: self._next_of(route.member), is_answer=True)

    def _pass_on(self, route, to, take, is_answer):
        while True:
            data = take()
            if self._vanishes(route, is_answer):
                if not data:
                    return  # its end has vanished, too
                continue
            try:
                if not data:
                    break
                to.sendall(data)
            except OSError:
                break
        route.close()
        with self._lock:
            self._routes.discard(route)


class DistantMember(Member):
    """A member that the others reach only through its `distance`; the tests reach it at once."""

    def __init__(self, *options):
        super().__init__(*options)
        self.distance = Distance()
        self.distance.target = self.port
        name = f"127.0.0.1:{self.distance.port}"
        self.options[self.options.index(self.name)] = name
        self.name = name

    def discard(self):
        super().discard()
        self.distance.close()


class Set:
    """Some members, initiated with short time-outs. Give settings by name, and fields of a member as m0, m1, ..."""

    def __init__(self, count=3, *options, election_timeout_ms=ELECTION_TIMEOUT_MS, kind=Member, **fields):
        self.members = [kind(*options) for _ in range(count)]
        self.config = {
            "_id": "rs", "version": 1,
            "members": [{"_id": i, "host": m.name, **fields.get(f"m{i}", {})} for i, m in enumerate(self.members)],
            "settings": {"electionTimeoutMillis": int(election_timeout_ms),
                         "heartbeatIntervalMillis": min(int(election_timeout_ms) // 4, 500)},
        }

    @classmethod
    def of_class(cls, case, *arguments, **fields):
        """One for all tests of a class: it is started, and ends with the class."""
        group = cls(*arguments, **fields)
        case.addClassCleanup(group.__exit__)
        return group.__enter__()

    def __enter__(self):
        for member in self.members:
            member.start()
        return self

    def __exit__(self, *_):
        for member in self.members:
            member.discard()

    def initiate(self):
        self.members[0].command("replSetInitiate", self.config)
        self.primary()
        self.have_data()
        return self.primary()

    def have_data(self, seconds=30):
        """Waits until all members have data: initial syncs have ended, and any of them may lead."""
        def has_data(hello):
            return hello["isWritablePrimary"] or hello.get("secondary") or hello.get("arbiterOnly")

        def all_have_data():
            shown = [m["stateStr"] for leader in self.primaries() for m in leader.status()["members"]]
            return shown and "STARTUP2" not in shown and all(has_data(m.hello()) for m in self.members)
        if not eventually(all_have_data, seconds):
            raise AssertionError("members without data:\n" + "\n".join(m.log_tail(10) for m in self.members))

    def primaries(self):
        return [m for m in self.members if m.is_primary()]

    def primary(self, seconds=30):
        if not eventually(lambda: len(self.primaries()) == 1, seconds):
            raise AssertionError("no single primary:\n" + "\n".join(m.log_tail(10) for m in self.members))
        return self.primaries()[0]

    def others(self, member):
        return [m for m in self.members if m is not member]

    def settled(self, seconds=30):
        """The primary, once all others follow it and everyone sees everyone."""
        self.primary(seconds)

        def is_settled():
            leaders = self.primaries()
            return len(leaders) == 1 and all(m.hello().get("primary") == leaders[0].name for m in self.members) and \
                all(m["health"] == 1 and m["stateStr"] in SERVING for m in leaders[0].status()["members"])
        if not eventually(is_settled, seconds):
            raise AssertionError("the set does not settle:\n" + "\n".join(m.log_tail(10) for m in self.members))
        return self.primaries()[0]

    def reconfigure(self, change, primary=None, **options):
        """Changes the config by a function and hands it to the primary."""
        primary = primary or self.primary()
        config = primary.command("replSetGetConfig")["config"]
        config["version"] += 1
        change(config)
        return primary.command("replSetReconfig", config, **options)


class Background:
    """A command that is waited for later; `reply` is what came of it."""

    def __init__(self, member, command, **fields):
        self.reply, self.seconds = None, None
        self._work = threading.Thread(target=self._run, args=(member, command, fields))
        self._work.start()

    def _run(self, member, command, fields):
        begun = time.monotonic()
        self.reply = member.ask(command, **fields)
        self.seconds = time.monotonic() - begun

    def join(self):
        self._work.join(60 * SLOWNESS)
        return self.reply


def key_file(cleanup):
    """A key for the members of a set, in a folder that is removed by `cleanup` (addCleanup or addClassCleanup)."""
    folder = tempfile.mkdtemp(prefix="troupe-integration-")
    cleanup(shutil.rmtree, folder, ignore_errors=True)
    key = Path(folder) / "key"
    key.write_text("c2VjcmV0MTIz")
    os.chmod(key, 0o600)
    return str(key)


def client_of(group):
    """A driver for the set; retryable writes are refused as yet."""
    hosts = ",".join(m.name for m in group.members)
    return pymongo.MongoClient(f"mongodb://{hosts}/?replicaSet=rs", serverSelectionTimeoutMS=int(20_000 * SLOWNESS), retryWrites=False)


def cut(a, b):
    """Neither hears of the other any more, and both learn at once that there is no connection."""
    a.links("park", b)
    b.links("park", a)


def vanish(source, to):
    """From now on what one member says to another one does not arrive, and neither is told. Both are distant ones."""
    to.distance.lose(source.name, answers=False)
    source.distance.lose(to.name, answers=True)


def appear(members):
    """What distant members say arrives again."""
    for member in members:
        member.distance.lose_nothing()


def mend(a, b):
    a.links("resume", b)
    b.links("resume", a)


class Frozen:
    """A member that applies nothing meanwhile, and says and serves what it has."""

    def __init__(self, member):
        self._member = member

    def __enter__(self):
        self._member.command({"fsync": 1, "lock": True})
        return self._member

    def __exit__(self, *_):
        if self._member.running():
            self._member.command("fsyncUnlock")


def rollback_id(member):
    return member.command("replSetGetRBID")["rbid"]


class Parted:
    """A primary that nobody hears any more, and the two others, of which one leads after a while."""

    def __init__(self, group, bystanders=()):
        """Of the bystanders the old primary is not parted."""
        self.group, self.old = group, group.settled()
        self.rest = [m for m in group.others(self.old) if m not in bystanders]
        self.id_before = rollback_id(self.old)

    def part(self):
        for other in self.rest:
            cut(self.old, other)

    def await_successor(self):
        if not eventually(lambda: any(m.is_primary() for m in self.rest) and not self.old.is_primary(), 60):
            raise AssertionError("no successor:\n" + self.rest[0].log_tail(20))
        self.new = next(m for m in self.rest if m.is_primary())

    def write_on_the_new_branch(self, document):
        """The successor's own entry is behind the point where the logs part."""
        with self.new.client() as client:
            client.app.get_collection("items", write_concern=MAJORITY).insert_one(document)

    def mend(self):
        for other in self.rest:
            mend(self.old, other)

    def await_rollback(self):
        def is_over():
            return self.old.hello().get("secondary") and rollback_id(self.old) > self.id_before
        if not eventually(is_over, 60):
            raise AssertionError("no rollback:\n" + self.old.log_tail(60))


def documents_of(member, name="items"):
    """What a member has by itself, whatever its role."""
    with member.client() as client:
        found = client.get_database("app", read_preference=ReadPreference.SECONDARY_PREFERRED)[name]
        return sorted(found.find(), key=lambda d: str(d["_id"]))


def hash_of(member):
    """Of all data of a member, whatever its role."""
    with member.client() as client:
        return client.get_database("app", read_preference=ReadPreference.SECONDARY_PREFERRED).command("dbHash")["collections"]


def has_hash(member, wanted):
    """Of a member that may still begin or end a rollback, where it answers that it serves nothing."""
    try:
        return hash_of(member) == wanted
    except pymongo.errors.PyMongoError as error:
        details = getattr(error, "details", None)  # all that a NotMasterError has
        code = getattr(error, "code", None) or (details.get("code") if isinstance(details, dict) else None)
        if code not in (NOT_PRIMARY_OR_SECONDARY, INTERRUPTED_BY_STATE_CHANGE):
            raise
        return False
