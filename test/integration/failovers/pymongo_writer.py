"""Writes with PyMongo at its defaults until its standard input ends; prints a line for each write, as history.parse reads it.

usage: pymongo_writer.py URI NAME LANES PAUSE_MS    so many writes at a time, and so long a pause after each
"""
import os
import sys
import threading
import time

import pymongo
from pymongo.errors import OperationFailure, PyMongoError, WriteConcernError


def outcome_of(error):
    """A write concern that was not met leaves open whether the write lasts; a label says that the driver may try again, and it did."""
    if isinstance(error, OperationFailure) and not isinstance(error, WriteConcernError) and not error.has_error_label("RetryableWriteError"):
        return "failed"
    return "unknown"


class Lane(threading.Thread):
    def __init__(self, database, name, lane, pause, ending):
        super().__init__()
        self.counters, self.notes = database.counters, database.notes
        self.name_of_lane, self.lane, self.pause, self.ending = f"{name}-{lane}", lane, pause, ending

    def update(self, _):
        done = self.counters.update_one({"_id": f"{self.name_of_lane}-update"}, {"$inc": {"n": 1}}, upsert=True)
        return done.modified_count + (done.upserted_id is not None)

    def modify(self, _):
        return self.counters.find_one_and_update({"_id": f"{self.name_of_lane}-modify"}, {"$inc": {"n": 1}}, upsert=True,
                                                 return_document=pymongo.ReturnDocument.AFTER)["n"]

    def insert(self, number):
        self.notes.insert_one({"_id": f"{self.name_of_lane}-{number}"})
        return ""

    def run(self):
        number, kinds = 0, ("update", "modify", "insert")
        while not self.ending.wait(self.pause):
            kind, begun, value, said = kinds[number % 3], time.time(), "", ""
            try:
                value, outcome = getattr(self, kind)(number), "acknowledged"
            except PyMongoError as error:
                outcome, said = outcome_of(error), f"{type(error).__name__} {getattr(error, 'code', '')} {error}"[:300]
            fields = (self.lane, kind, number, outcome, f"{begun:.3f}", f"{time.time():.3f}", value, " ".join(said.split()))
            os.write(1, ("\t".join(str(field) for field in fields) + "\n").encode())  # whole, beside the other lanes' lines
            number += 1


def main():
    uri, name, lanes, pause = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]) / 1000
    ending = threading.Event()
    with pymongo.MongoClient(uri) as client:
        running = [Lane(client.failovers, name, lane, pause, ending) for lane in range(lanes)]
        for lane in running:
            lane.start()
        sys.stdin.read()
        ending.set()
        for lane in running:
            lane.join()


if __name__ == "__main__":
    main()
