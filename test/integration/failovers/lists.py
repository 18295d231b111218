"""Appends to lists and reads of them by a driver, recorded with their times for the checker of lists (check_history, test/checkers/history_file.hpp)."""
import itertools
import json
import subprocess
import threading
import time

import pymongo
from pymongo.errors import PyMongoError
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from support import BIN, SLOWNESS

from .pymongo_writer import outcome_of

LANES = 3
PAUSE = 0.05
KEYS = 3  # at a time
LENGTH = 60  # about so many elements a list gets: then others are begun
# read concern -> what the history has to be. A majority read may be of an earlier time, on a primary that has been replaced.
PROMISES = {"linearizable": "strict", "majority": "serializable"}


class Recorder:
    """What was asked for and answered, for one read concern. Times are of this machine's steady clock."""

    def __init__(self, level, path):
        self.level, self.path = level, path
        self._file = open(path, "w")
        self._lock = threading.Lock()
        self._values, self._processes = itertools.count(), itertools.count()
        self.keys, self.counts = set(), {}

    def next_value(self):
        with self._lock:
            return next(self._values)

    def next_process(self):
        """A lane whose operation has an unknown outcome goes on as another process: it may still be carried out."""
        with self._lock:
            return next(self._processes)

    def key_of(self, value):
        key = f"{self.level}-{value // (KEYS * LENGTH)}-{value % KEYS}"
        with self._lock:
            self.keys.add(key)
        return key

    def note(self, process, begin, outcome, kind, what):
        record = {"process": process, "begin": begin, "outcome": outcome, kind: what}
        if outcome != "unknown":
            record["end"] = micros()
        with self._lock:
            self.counts[kind, outcome] = self.counts.get((kind, outcome), 0) + 1
            self._file.write(json.dumps(record) + "\n")

    def close(self):
        self._file.close()


def micros():
    return time.monotonic_ns() // 1000


class Lane(threading.Thread):
    def __init__(self, recorder, collection, ending):
        super().__init__(daemon=True)
        self.recorder, self.ending = recorder, ending
        self.lists = collection.with_options(write_concern=WriteConcern(w="majority"), read_concern=ReadConcern(recorder.level))
        self.process = recorder.next_process()
        self.broken = None

    def run(self):
        try:
            while not self.ending.wait(PAUSE):
                value = self.recorder.next_value()
                self.append(value)
                self.read(self.recorder.key_of(value))
        except BaseException as broken:
            self.broken = broken
            raise

    def append(self, value):
        key, begin, outcome = self.recorder.key_of(value), micros(), "ok"
        try:
            self.lists.update_one({"_id": key}, {"$push": {"values": value}}, upsert=True)
        except PyMongoError as error:
            outcome = outcome_of(error)
        self.recorder.note(self.process, begin, outcome, "append", {"key": key, "value": value})
        if outcome == "unknown":
            self.process = self.recorder.next_process()

    def read(self, key):
        begin = micros()
        try:
            found = self.lists.find_one({"_id": key}, max_time_ms=int(20_000 * SLOWNESS)) or {}
        except PyMongoError:
            return self.recorder.note(self.process, begin, "failed", "read", {"key": key})
        self.recorder.note(self.process, begin, "ok", "read", {"key": key, "contents": found.get("values", [])})


class Lists:
    """The lanes of both read concerns, while they run and afterwards."""

    def __init__(self, uri, folder):
        self._client = pymongo.MongoClient(uri)
        self._ending = threading.Event()
        self.recorders = [Recorder(level, folder / f"lists-{level}.jsonl") for level in PROMISES]
        self._lanes = [Lane(recorder, self._client.failovers.lists, self._ending) for recorder in self.recorders for _ in range(LANES)]
        for lane in self._lanes:
            lane.start()

    def discard(self):
        self._ending.set()
        for lane in self._lanes:
            lane.join(60 * SLOWNESS)
        self._client.close()
        for recorder in self.recorders:
            recorder.close()

    def complaints(self):
        """Lets the lanes end, reads every list once more, and has the histories judged."""
        self._ending.set()
        for lane in self._lanes:
            lane.join(60 * SLOWNESS)
        hung = [lane for lane in self._lanes if lane.is_alive() or lane.broken]
        if hung:
            return [f"{len(hung)} lanes of lists have not ended in order: {[lane.broken for lane in hung]}"]
        found = []
        for recorder in self.recorders:
            last = Lane(recorder, self._client.failovers.lists, self._ending)
            for key in sorted(recorder.keys):
                last.read(key)
            recorder.close()
            found += [*idle(recorder), *judged(recorder)]
        return found


def idle(recorder):
    """What was never done is not proven by a history without a fault."""
    for kind in ("append", "read"):
        if recorder.counts.get((kind, "ok"), 0) < 10:
            yield f"lists, {recorder.level}: hardly any {kind} was answered: {recorder.counts}"
    failed = recorder.counts.get(("append", "failed"), 0)
    if failed:
        yield f"lists, {recorder.level}: {failed} appends failed, which no failover explains"


def judged(recorder):
    code, said = judge_file(PROMISES[recorder.level], recorder.path)
    if code != 0:
        yield f"lists, {recorder.level}: {said}"


def judge_file(promise, path):
    """(exit code, what it said) of check_history."""
    program = BIN / "check_history"
    if not program.exists():
        return 2, f"{program} was not built"
    done = subprocess.run([str(program), promise, str(path)], capture_output=True, text=True, timeout=600 * SLOWNESS)
    return done.returncode, (done.stdout + done.stderr).strip()
