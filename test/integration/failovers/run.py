"""A run: the set, the writers, the failovers one after the other, and what is compared at the end."""
import itertools
import json
import shutil
import tempfile
import time
from pathlib import Path

import pymongo
from pymongo.errors import PyMongoError

from replica_set_support import DistantMember, Set
from support import SLOWNESS, eventually, frame, op_msg_payload

from .faults import KINDS
from .history import Fault, Pauses, is_error, judge, table
from .lists import Lists
from .writers import DRIVERS, Writer, await_writes

# What a driver may notice of a failover: the election (a timeout of one second), its own search for the new primary, and the first majority of that.
# When the primary is frozen the time until another one leads comes first.
LONGEST_PAUSE = 5 * SLOWNESS
SETTLE_SECONDS = 60
READ_ANYWHERE = {"$readPreference": {"mode": "secondaryPreferred"}}


def comparable(document):
    """As text that is equal when the documents are, whatever their fields' order is."""
    return json.dumps(document, sort_keys=True, default=str)


class Run:
    """Used as a context manager. What it leaves in `folder` after a failure are the logs of the members and the records of the writers."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="troupe-failovers-"))
        self.group, self.writers, self.faults, self.fault, self.kept = Set(3, kind=DistantMember), [], [], None, False
        for member in self.group.members:
            member.distance.remembers = False  # it would be much
        self.lists = None
        self.uri = f"mongodb://{','.join(m.name for m in self.group.members)}/?replicaSet=rs"

    def __enter__(self):
        try:
            self.group.__enter__()
            self.group.initiate()
            self.group.settled(SETTLE_SECONDS)
            self.writers = [Writer(driver, self.uri, self.folder) for driver in DRIVERS]
            self.lists = Lists(self.uri, self.folder)
            await_writes(self.writers, 0, least=30)  # their monitors stream by then
        except BaseException:
            self.__exit__(True)
            raise
        return self

    def __exit__(self, surprise, *_):
        for writer in self.writers:
            writer.discard()
        if self.lists:
            self.lists.discard()
        for number, member in enumerate(self.group.members):
            if member.log_path.exists():
                shutil.copy(member.log_path, self.folder / f"member{number}-{member.port}.log")
        self.group.__exit__()
        if surprise or self.kept:
            print(f"      logs and records: {self.folder}", flush=True)
        else:
            shutil.rmtree(self.folder)

    def keep(self):
        """What was found is to be looked into."""
        self.kept = True

    def writes(self):
        return list(itertools.chain.from_iterable(writer.writes for writer in self.writers))

    # -- a failover ---------------------------------------------------------------------------------------------------------------

    def fail_over(self, kind):
        """Makes one, and waits until writers go on and all members follow the new primary."""
        primary = self.group.settled(SETTLE_SECONDS)
        self.fault = Fault(len(self.faults) + 1, kind, time.time())
        self.faults.append(self.fault)
        KINDS[kind](self, primary)
        self.group.settled(SETTLE_SECONDS)
        self.await_writers()
        self.mark()
        for member in self.group.members:
            self.await_follower(member)
        self.fault.over = time.time()
        return self.fault

    def await_successor(self, old):
        """Another member leads."""
        rest = self.group.others(old)
        if not eventually(lambda: any(m.is_primary() for m in rest), 30):
            raise AssertionError(f"nobody leads after failover {self.fault.number}:\n" + "\n".join(m.log_tail(10) for m in rest))

    def await_end_of(self, old):
        """It leads no more, whether it hears of another one or not."""
        if not eventually(lambda: not old.is_primary(), 30):
            raise AssertionError(f"{old.name} leads still after failover {self.fault.number} ({self.fault.kind}):\n{old.log_tail(40)}")

    def await_writers(self):
        await_writes(self.writers, time.time())

    def mark(self):
        """Writes to a majority what a member has only if it follows the new primary."""
        with pymongo.MongoClient(self.uri) as client:
            client.failovers.marks.update_one({"_id": self.fault.number}, {"$inc": {"n": 1}}, upsert=True)

    def await_follower(self, member):
        """Waits until this member has what was marked last."""
        def has_mark():
            reply = member.ask({"find": "marks", "filter": {"_id": self.fault.number}, **READ_ANYWHERE}, db="failovers")
            return reply and reply["ok"] == 1 and reply["cursor"]["firstBatch"]
        if not eventually(has_mark, SETTLE_SECONDS):
            raise AssertionError(f"{member.name} does not follow after failover {self.fault.number} ({self.fault.kind}):\n{member.log_tail(40)}")

    def send_stray(self, connection, number):
        """A write that a frozen primary finds when it goes on, or that only one has that nobody hears, acknowledged by itself alone. It must not last."""
        document = {"_id": f"{self.fault.number}-{number}"}
        connection.send(frame(op_msg_payload({"insert": "strays", "documents": [document], "writeConcern": {"w": 1}, "$db": "failovers"})))

    # -- the end ------------------------------------------------------------------------------------------------------------------

    def complaints(self):
        """Lets the writers end and the set settle; all that is wrong then, a sentence each."""
        for writer in self.writers:
            writer.end()
        primary = self.group.settled(SETTLE_SECONDS)
        of_lists = self.lists.complaints()
        writes = self.writes()
        with primary.client() as client:
            db = client.failovers
            counters = {d["_id"]: d["n"] for d in db.counters.find().hint([("$natural", 1)])}
            ids = [d["_id"] for d in db.notes.find().hint([("$natural", 1)])]
            strays = [d["_id"] for d in db.strays.find()]
        found = judge(writes, self.faults, counters, ids)
        found += [f"what a primary took alone has lasted: {one}" for one in strays]
        return [*found, *of_lists, *self.long_pauses(writes), *self.differences(primary), *self.damage(), *self.log_errors()]

    def long_pauses(self, writes):
        pauses = Pauses(writes)
        for fault in self.faults:
            longest = {writer.name: pauses.longest(writer.name, fault) - fault.held for writer in self.writers}
            if max(longest.values()) > LONGEST_PAUSE:
                shown = ", ".join(f"{name} {pause:.1f} s" for name, pause in longest.items())
                yield f"too long a pause at failover {fault.number} ({fault.kind}), without the {fault.held:.1f} s until another one led: {shown}"

    def differences(self, primary):
        """The members hold the same data, and the same records of sessions."""
        wanted = content_of(primary)
        for member in self.group.others(primary):
            if eventually(lambda m=member: content_of(m) == wanted, 30):
                continue
            found = content_of(member)
            for name in wanted:
                if found[name] != wanted[name]:
                    more, less = set(found[name]) - set(wanted[name]), set(wanted[name]) - set(found[name])
                    yield f"{member.name} has another {name} than {primary.name}: more {sorted(more)[:3]}, less {sorted(less)[:3]}"

    def damage(self):
        for member in self.group.members:
            with member.client(readPreference="secondaryPreferred") as client:
                for name in ("counters", "notes"):
                    result = client.failovers.command("validate", name, full=True)
                    if not result["valid"]:
                        yield f"{name} of {member.name} is damaged: {result['errors'][:3]}"

    def log_errors(self):
        for member in self.group.members:
            for line in member.log().splitlines():
                if is_error(line, self.faults):
                    yield f"{member.name} logged: {line[:300]}"

    def table(self):
        return table(self.writes(), self.faults, [writer.name for writer in self.writers])


def content_of(member):
    """name -> rows as text. A member that does not serve just now has nothing. Images that a start makes of the log again are empty, since the document may be a later one."""
    try:
        with member.client(readPreference="secondaryPreferred") as client:
            hashes = client.failovers.command("dbHash")["collections"]
            sessions = {name: [comparable(d) for d in client.config[name].find({}, {"invalidated": 0, "image": 0})] for name in ("transactions", "image_collection")}
            return {"data (dbHash)": [comparable(item) for item in hashes.items()], **{name: sorted(rows) for name, rows in sessions.items()}}
    except PyMongoError as refused:
        return {"data (dbHash)": [str(refused)], "transactions": [], "image_collection": []}


