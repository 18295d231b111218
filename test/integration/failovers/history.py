"""What the writers record, and the judge of it. Pure: what the judge finds is tested without servers (failover_history_test.py).

A writer has lanes, each with one write under way at a time. A write adds one to a counter of its lane (by `update`, or by `modify`, whose answer is
the new value) or inserts a document (`insert`). Its outcome is what its driver said: `acknowledged`; `failed`: the server said so, and that another
attempt is of no use; `unknown`: the driver gave up, at the latest after its one retry; the write is there or it is not.
"""
import bisect
import collections
import re
from dataclasses import dataclass

Write = collections.namedtuple("Write", "writer lane kind number outcome begun ended value said")

# A driver sends a write a second time, to the primary that it finds then. What remains unknown is at most what a lane has under way when its server
# fails: the next write of the lane finds the new primary. Drivers in use leave these: the Node driver (7.9) does not retry on a connection that breaks
# when another one of its pool, or its monitor, has noticed before; PyMongo 3.11.0 overlooks the label of a write concern that was not met.
UNKNOWN_PER_LANE = 1
DISK_IS_FULL = (22461, 22463)  # of the log
SEVERITY_AND_ID = re.compile(r'"s" : "([A-Z]\d?)", "c" : "[^"]*", "id" : (\d+)')


@dataclass
class Fault:
    """A failover, from what caused it to the moment when all members followed the new primary again; unix time in seconds."""
    number: int
    kind: str
    begun: float
    over: float = float("inf")
    held: float = 0  # seconds until another one led when no connection told, or nobody could lead: no driver can shorten them
    rolled_back: bool = False
    errors: tuple = ()  # ids of what members log because of it

    def met(self, write):
        return write.begun <= self.over and write.ended >= self.begun


def parse(writer, line):
    """A line of a writer: lane, kind, number, outcome, begin and end (unix time in seconds), value, what the driver said; separated by tabs."""
    lane, kind, number, outcome, begun, ended, value, said = line.rstrip("\n").split("\t")
    if outcome not in ("acknowledged", "failed", "unknown"):
        raise ValueError(f"no outcome: {line}")
    return Write(writer, int(lane), kind, int(number), outcome, float(begun), float(ended), int(value) if value else None, said)


def counter_id(writer, lane, kind):
    return f"{writer}-{lane}-{kind}"


def insert_id(writer, lane, number):
    return f"{writer}-{lane}-{number}"


def by_lane(writes, *kinds):
    """(writer, lane, kind) -> the writes in their order; all kinds unless some are named."""
    lanes = collections.defaultdict(list)
    for write in writes:
        if not kinds or write.kind in kinds:
            lanes[write.writer, write.lane, write.kind].append(write)
    return lanes


def wrong_counters(writes, counters):
    """Each counter is the number of acknowledged additions, and of some of those whose outcome is unknown. `counters`: _id -> value."""
    wanted = by_lane(writes, "update", "modify")
    for key, of_lane in wanted.items():
        known = sum(w.outcome == "acknowledged" for w in of_lane)
        unknown = sum(w.outcome == "unknown" for w in of_lane)
        found = counters.get(counter_id(*key), 0)
        if not known <= found <= known + unknown:
            yield f"counter {counter_id(*key)} is {found}: {known} additions were acknowledged, {unknown} are unknown"
    for stranger in set(counters) - {counter_id(*key) for key in wanted}:
        yield f"counter {stranger} was made by nobody"


def wrong_answers(writes):
    """An acknowledged update changed one document. Values of `modify` rise by one, and by one more at most for each unknown outcome before."""
    for (writer, lane, kind), of_lane in by_lane(writes, "update", "modify").items():
        known = unknown = last = 0
        for write in of_lane:
            known += write.outcome == "acknowledged"
            unknown += write.outcome == "unknown"
            if write.outcome != "acknowledged":
                continue
            name = f"{kind} {write.number} of {writer}-{lane}"
            if kind == "update" and write.value != 1:
                yield f"{name} changed {write.value} documents"
            if kind == "modify" and not max(known, last + 1) <= write.value <= known + unknown:
                yield f"{name} was answered with {write.value} after {last}: it is addition {known}, {unknown} are unknown"
            last = write.value


def wrong_inserts(writes, ids):
    """Every acknowledged document is there once, none that failed, and no other one. `ids`: of all documents, as often as a scan finds them."""
    found = collections.Counter(ids)
    known = {insert_id(w.writer, w.lane, w.number): w.outcome for w in writes if w.kind == "insert"}
    for one, outcome in known.items():
        if outcome == "acknowledged" and found[one] != 1:
            yield f"document {one} was acknowledged and is there {found[one]} times"
        if outcome == "failed" and found[one]:
            yield f"document {one} is there, although the server said that its insert failed"
        if found[one] > 1 and outcome != "acknowledged":
            yield f"document {one} is there {found[one]} times"
    for one in set(found) - set(known):
        yield f"document {one} was inserted by nobody"


def unexplained(writes, faults):
    """Failures, and more unknown outcomes than the faults explain."""
    for write in writes:
        name = f"{write.kind} {write.number} of {write.writer}-{write.lane} at {write.begun:.3f}"
        if write.outcome == "failed":
            yield f"{name} failed, which no failover explains: {write.said}"
        if write.outcome == "unknown" and not any(fault.met(write) for fault in faults):
            yield f"{name} is unknown without a failover: {write.said}"
    for (number, writer, lane), left in charges(writes, faults).items():
        if len(left) > UNKNOWN_PER_LANE:
            kind = next(fault.kind for fault in faults if fault.number == number)
            said = "; ".join(f"{w.kind} {w.number}: {w.said}" for w in left)
            yield f"failover {number} ({kind}) left {len(left)} unknown outcomes to {writer}-{lane}: {said}"


def charges(writes, faults):
    """(number of a fault, writer, lane) -> unknown outcomes. A write that met two, for one may begin as the other ends, is charged to one of them."""
    charged = collections.defaultdict(list)
    for write in sorted(writes, key=lambda w: w.begun):
        met = [charged[fault.number, write.writer, write.lane] for fault in faults if fault.met(write)]
        if write.outcome == "unknown" and met:
            min(met, key=len).append(write)
    return charged


def judge(writes, faults, counters, ids):
    """All that is wrong, a sentence each."""
    return [*wrong_counters(writes, counters), *wrong_answers(writes), *wrong_inserts(writes, ids), *unexplained(writes, faults)]


def is_error(line, faults):
    """Whether this line of a member's log is an error that no fault explains, or not of the log at all. A kill may leave the begin of a line."""
    if not line.startswith("{"):
        return True
    found = SEVERITY_AND_ID.search(line)
    return bool(found) and found[1] in "FE" and all(int(found[2]) not in fault.errors for fault in faults)


class Pauses:
    """How long the lanes of a writer went without an acknowledgement."""

    def __init__(self, writes):
        self._ended = collections.defaultdict(list)  # (writer, lane) -> times of its acknowledgements
        for write in writes:
            if write.outcome == "acknowledged":
                self._ended[write.writer, write.lane].append(write.ended)

    def longest(self, writer, fault):
        """The longest pause of any lane of this writer that the fault has a part in, in seconds."""
        found = 0
        for (name, _), ended in self._ended.items():
            if name != writer:
                continue
            first = max(bisect.bisect_left(ended, fault.begun) - 1, 0)
            last = min(bisect.bisect_right(ended, fault.over) + 1, len(ended))
            found = max([found, *(b - a for a, b in zip(ended[first:last], ended[first + 1:last]))])
        return found


def table(writes, faults, writers):
    """What a person wants to know of a run: failovers by kind with the pauses that each driver noticed, and what became of the writes."""
    pauses = Pauses(writes)
    width = max(len(fault.kind) for fault in faults) + 2
    lines = [f"{'failover':{width}}count  rollbacks  unknown   longest pause, seconds: " + "".join(f"{name:>11}" for name in writers)]
    for kind in dict.fromkeys(fault.kind for fault in faults):
        of_kind = [fault for fault in faults if fault.kind == kind]
        unknown = sum(w.outcome == "unknown" and any(f.met(w) for f in of_kind) for w in writes)
        longest = [max(pauses.longest(name, fault) for fault in of_kind) for name in writers]
        lines.append(f"{kind:{width}}{len(of_kind):5}{sum(f.rolled_back for f in of_kind):11}{unknown:9}{'':27}" + "".join(f"{p:11.2f}" for p in longest))
    lines += ["", f"{'driver':{width}}writes  acknowledged  unknown  failed  longest pause"]
    for name in writers:
        said = collections.Counter(w.outcome for w in writes if w.writer == name)
        pause, fault = max((pauses.longest(name, f), f.number) for f in faults)
        lines.append(f"{name:{width}}{sum(said.values()):6}{said['acknowledged']:14}{said['unknown']:9}{said['failed']:8}{pause:9.2f} s at failover {fault}")
    return "\n".join(lines)
