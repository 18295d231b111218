"""Clients that write all the time, and how long nothing of theirs is acknowledged."""
import base64
import threading
import time
import urllib.error

import pymongo
import pymongo.errors
from pymongo.write_concern import WriteConcern
from servers import until

WRITERS = 4


def longest_silence(times):
    """Milliseconds between two acknowledged writes, whichever clients they are of, at most."""
    ordered = sorted(times)
    return max(later - earlier for earlier, later in zip(ordered, ordered[1:])) * 1000


class Writers:
    """Threads that write as fast as they are answered. `times`: of acknowledged writes."""

    def __init__(self):
        self.times = []
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(i,)) for i in range(WRITERS)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def await_some(self):
        until(lambda: len(self.times) > 200, 30, "the first writes")

    def await_more(self):
        """Until many were acknowledged after this moment: the silence is over."""
        now = time.monotonic()
        until(lambda: sum(at > now + 0.05 for at in self.times[-400:]) > 200, 60, "the next writes")


class TroupeWriter(Writers):
    """Drivers with their defaults, which send a write again once."""

    def __init__(self, group):
        super().__init__()
        self._uri = f"mongodb://{','.join(m.name for m in group.members)}/?replicaSet=rs"

    def _work(self, number):
        with pymongo.MongoClient(self._uri, serverSelectionTimeoutMS=20_000) as client:
            items = client.bench.get_collection(f"writer{number}", write_concern=WriteConcern(w="majority", wtimeout=20_000))
            while not self._stop.is_set():
                try:
                    items.insert_one({"text": "x" * 100})
                    self.times.append(time.monotonic())
                except pymongo.errors.PyMongoError:
                    pass


class EtcdWriter(Writers):
    """Each goes on with the next node when one does not answer."""

    def __init__(self, etcd):
        super().__init__()
        self._etcd = etcd

    def _work(self, number):
        node, count = number, 0
        value = base64.b64encode(b"x" * 100).decode()
        while not self._stop.is_set():
            count += 1
            key = base64.b64encode(f"writer{number}-{count}".encode()).decode()
            try:
                self._etcd.ask(node % len(self._etcd.clients), "kv/put", {"key": key, "value": value})
                self.times.append(time.monotonic())
            except (urllib.error.URLError, OSError):
                node += 1
