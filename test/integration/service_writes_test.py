"""Writes of a member's own services are carried out once on the primary of the set, also when it is killed meanwhile."""
import threading
import unittest

from replica_set_support import Background, Frozen, Member, Set
from support import BIN, SLOWNESS, eventually

SECONDS = int(60 * SLOWNESS)


class Writer(Member):
    """A member whose services write what it is told to (service_writer.cpp)."""

    def __init__(self, *options):
        super().__init__(*options)
        self.program = str(BIN / "service_writer")

    @staticmethod
    def asked(command):
        return {"runAsService": 1, "database": "app", "command": command, "seconds": SECONDS}

    def start_writing(self, command):
        return Background(self, self.asked(command))

    def retried(self):
        return self.metrics()["transactions"]["retriedCommandsCount"]


def count(name, **fields):
    return {"findAndModify": "counts", "query": {"_id": name}, "update": {"$inc": {"n": 1}}, "upsert": True, "new": True, **fields}


class ServiceWrites(unittest.TestCase):
    """The third member only asks, and never leads."""

    def setUp(self):
        self.group = Set(3, kind=Writer, m2={"priority": 0})
        self.addCleanup(self.group.__exit__)
        self.group.__enter__()
        self.group.initiate()
        self.old, self.asks = self.group.settled(60), self.group.members[2]
        self.next = next(m for m in self.group.others(self.old) if m is not self.asks)

    def counted(self, member, name):
        found = member.ask({"find": "counts", "filter": {"_id": name}, "$readPreference": {"mode": "nearest"}}, db="app")
        batch = found.get("cursor", {}).get("firstBatch")
        return batch[0]["n"] if batch else 0

    def everybody_has(self, name, n):
        self.assertTrue(eventually(lambda: all(self.counted(m, name) == n for m in self.group.members), 60),
                        [self.counted(m, name) for m in self.group.members])

    def test_a_write_that_the_next_primary_has_is_answered_and_not_done_again(self):
        with Frozen(self.asks):
            waiting = self.asks.start_writing(count("once", writeConcern={"w": 3}))
            self.assertTrue(eventually(lambda: self.counted(self.next, "once") == 1), "both others have it")
            self.assertIsNone(waiting.reply, "it waits for the third member")
            self.old.kill()
        self.assertTrue(eventually(self.next.is_primary, 60), self.next.log_tail())
        self.assertTrue(eventually(lambda: self.next.retried() > 0, 60), "it was sent again")
        self.old.start()
        reply = waiting.join()["reply"]
        self.assertEqual((reply["value"]["n"], reply.get("writeConcernError")), (1, None), reply)
        self.everybody_has("once", 1)

    def test_a_write_that_no_majority_had_is_there_once(self):
        """What the others had fetched and not applied, they may apply or not."""
        with Frozen(self.asks), Frozen(self.next):
            waiting = self.asks.start_writing(count("lost", writeConcern={"w": "majority"}))
            self.assertTrue(eventually(lambda: self.counted(self.old, "lost") == 1))
            self.assertEqual(self.counted(self.next, "lost"), 0)
            self.old.kill()
        reply = waiting.join()["reply"]
        self.assertEqual((reply["value"]["n"], reply.get("writeConcernError")), (1, None), reply)
        self.assertTrue(self.next.is_primary())
        self.old.start()
        self.everybody_has("lost", 1)

    def test_of_many_writes_none_is_lost_or_done_twice(self):
        told, failed, killed = [], [], threading.Event()

        def write():
            for _ in range(60):
                reply = self.asks.ask(Writer.asked(count("many", writeConcern={"w": "majority"})))
                (told if reply["ok"] and "writeConcernError" not in reply["reply"] else failed).append(reply)
                if len(told) > 40:
                    killed.set()
        writers = [threading.Thread(target=write) for _ in range(4)]
        for writer in writers:
            writer.start()
        killed.wait(60 * SLOWNESS)
        self.old.kill()
        for writer in writers:
            writer.join()
        self.assertEqual(failed, [])
        self.assertEqual(sorted(reply["reply"]["value"]["n"] for reply in told), list(range(1, 241)))
        self.assertTrue(self.next.is_primary())
        self.old.start()
        self.everybody_has("many", 240)


if __name__ == "__main__":
    unittest.main()
