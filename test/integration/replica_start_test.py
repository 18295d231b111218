"""How a real member starts: its log brings its data up to date before it knows its set, and that is where it goes on."""
import json
import unittest

from pymongo.errors import OperationFailure

from replica_set_support import MAJORITY, Member, Set, client_of, documents_of
from support import SLOWNESS, eventually, free_port, run_server

REPLAYED, STATE = "Replayed the oplog", "Replica set state"


def lines_since(member, offset):
    """What a member has logged behind an offset: its messages with their attributes."""
    return [json.loads(line) for line in member.log()[offset:].splitlines() if line.startswith("{")]


def newest_entry(member):
    with member.client(readPreference="secondaryPreferred") as client:
        entry = client.local["oplog.rs"].find_one(sort=[("$natural", -1)])
        return {"ts": entry["ts"], "t": entry["t"]}


class Start(unittest.TestCase):
    def fill(self, group, count):
        with client_of(group) as client:
            items = client.app.get_collection("items", write_concern=MAJORITY)
            for first in range(0, count, 100):
                items.insert_many([{"_id": i} for i in range(first, first + 100)])

    def start_again(self, member):
        offset = len(member.log())
        member.start()
        self.assertTrue(eventually(lambda: member.hello().get("secondary") or member.hello()["isWritablePrimary"]), member.log_tail())
        return lines_since(member, offset)

    def replayed(self, lines):
        """How many entries a start has carried out."""
        return next(line["attr"]["entries"] for line in reversed(lines) if line["msg"] == REPLAYED)

    def test_the_data_of_another_set_end_the_start_with_one_line_that_says_what_to_do(self):
        member = Member()
        self.addCleanup(member.discard)
        member.start()
        member.command("replSetInitiate")
        self.assertTrue(eventually(member.is_primary))
        self.assertEqual(member.stop(), 0)
        member.options[member.options.index("rs")] = "other"
        offset = len(member.log())
        member.launch()
        self.assertEqual(member.process.wait(60 * SLOWNESS), 100)
        told = [line for line in lines_since(member, offset) if line["s"] in "EF"]
        self.assertEqual([line["id"] for line in told], [20575], told)
        for words in ("belongs to the replica set 'rs'", "started with --replSet other", "start it with --replSet rs"):
            self.assertIn(words, told[0]["attr"]["error"])

    def test_the_log_is_replayed_before_the_member_knows_its_set(self):
        with Set(3, "--syncdelay", "0") as group:
            group.initiate()
            self.fill(group, 500)
            self.assertTrue(eventually(lambda: len({str(newest_entry(m)) for m in group.members}) == 1))
            for member in group.members:
                member.kill()
            alone = group.members[1]
            lines = self.start_again(alone)
            messages = [line["msg"] for line in lines]
            self.assertLess(messages.index(REPLAYED), messages.index(STATE), messages)
            self.assertGreaterEqual(self.replayed(lines), 500)
            self.assertEqual(len(documents_of(alone)), 500, "nobody else is there to have them from")

    def test_the_positions_are_the_end_of_the_log(self):
        with Set() as group:
            group.initiate()
            self.fill(group, 300)
            self.assertTrue(eventually(lambda: len({str(newest_entry(m)) for m in group.members}) == 1))
            for member in group.members:
                member.kill()
            alone = group.members[2]
            self.start_again(alone)
            end, times = newest_entry(alone), alone.status()["optimes"]
            self.assertEqual(times["appliedOpTime"], end)
            self.assertEqual(times["durableOpTime"], end)

    def test_the_time_of_a_checkpoint_is_where_a_start_begins(self):
        with Set(1, "--syncdelay", "0") as group:
            primary = group.initiate()
            self.fill(group, 200)
            written = primary.status()["optimes"]["lastCommittedOpTime"]["ts"]
            self.assertLess(primary.status()["lastStableRecoveryTimestamp"], written)
            primary.command("fsync")
            held = primary.status()["lastStableRecoveryTimestamp"]
            self.assertGreaterEqual(held, written)
            primary.kill()
            lines = self.start_again(primary)
            begun = next(line["attr"]["from"] for line in lines if line["msg"] == REPLAYED)
            self.assertEqual(begun["$timestamp"], {"t": held.time, "i": held.inc})
            self.assertLess(self.replayed(lines), 50)

    def test_a_stop_takes_a_checkpoint_and_a_kill_takes_none(self):
        with Set(1, "--syncdelay", "0") as group:
            primary = group.initiate()
            for stop, enough in ((primary.kill, lambda entries: entries >= 300), (primary.stop, lambda entries: entries < 50)):
                with primary.client() as client:
                    client.app.get_collection("items", write_concern=MAJORITY).insert_many([{} for _ in range(300)])
                stop()
                lines = self.start_again(primary)
                self.assertTrue(enough(self.replayed(lines)), (stop, self.replayed(lines)))
                group.primary()

    def test_a_name_with_another_port_is_told_of(self):
        warning = 22150
        member = Member()
        self.addCleanup(member.discard)
        member.start()
        self.assertEqual(member.log_lines(warning), [])
        self.assertEqual(member.stop(), 0)
        other = f"127.0.0.1:{free_port()}"
        member.options[member.options.index(member.name)] = other
        member.start()
        told, = member.log_lines(warning)
        self.assertEqual((told["s"], told["attr"]), ("W", {"nodeName": other, "port": member.port}))

    def repair_and_be_refused(self, member):
        code, said = run_server("--repair", "--dbpath", str(member.dbpath), "--port", str(member.port), timeout=120)
        self.assertEqual(code, 0, said)
        with self.assertRaises(AssertionError):
            member.start()
        self.assertIn("changed while it ran without --replSet, first by a repair", member.log())

    def test_a_directory_that_was_repaired_is_refused_if_documents_may_be_lost(self):
        with Set(1) as group:
            member = group.initiate()
            self.fill(group, 5000)
            with member.client() as client:
                ident = next(client.app.items.aggregate([{"$listCatalog": {}}]))["ident"]
            self.assertEqual(member.stop(), 0)
            table = member.dbpath / f"{ident}.wt"
            with table.open("r+b") as file:
                file.seek(table.stat().st_size // 2)
                file.write(b"X" * 4096)
            self.repair_and_be_refused(member)

    def test_a_directory_whose_journal_was_cut_is_refused(self):
        with Set(1) as group:
            member = group.initiate()
            self.fill(group, 3000)
            member.kill()
            log = sorted((member.dbpath / "journal").glob("WiredTigerLog.*"))[-1]
            with log.open("r+b") as file:
                file.seek(len(log.read_bytes().rstrip(b"\0")) // 2)
                file.write(b"X" * 256)
            self.repair_and_be_refused(member)

    def test_a_member_that_leaves_its_set_for_good_is_a_node_of_its_own(self):
        with Set(1) as group:
            member = group.initiate()
            self.fill(group, 100)
            with member.client() as client:
                for drop in (lambda: client.local.command("drop", "oplog.rs"), lambda: client.drop_database("local")):
                    with self.assertRaisesRegex(OperationFailure, "only the server writes it|prohibited"):
                        drop()
            self.assertEqual(member.stop(), 0)
            at = member.options.index("--replSet")
            del member.options[at:at + 2]
            member.start()
            with member.client() as client:
                client.app.items.insert_one({"_id": "mine"})
                with self.assertRaisesRegex(OperationFailure, "only the server writes it"):
                    client.local.command("drop", "oplog.rs")
                client.local.command("dropDatabase", writeConcern={"w": 1, "j": True})
            member.kill()
            self.assertNotIn(22148, [line["id"] for line in self.start_again(member)])
            self.assertEqual(member.command("getParameter", ttlMonitorEnabled=1)["ttlMonitorEnabled"], True)
            with member.client() as client:
                self.assertNotIn("oplog.rs", client.local.list_collection_names())
                self.assertEqual(client.app.items.count_documents({}), 101)
            self.assertEqual(member.stop(), 0)
            member.options += ["--replSet", "others"]
            member.start()
            member.command("replSetInitiate", {"_id": "others", "members": [{"_id": 0, "host": member.name}]})
            self.assertTrue(eventually(member.is_primary), "it founds a set over the data that it has")
            with member.client() as client:
                self.assertEqual(client.app.items.count_documents({}), 101)
                client.app.get_collection("items", write_concern=MAJORITY).insert_one({"_id": "in the new set"})
            member.kill()  # maybe before the first checkpoint of the new set: its log begins behind that of the old one
            self.start_again(member)
            self.assertEqual(len(documents_of(member)), 102)

    def without_its_set(self, member):
        at = member.options.index("--replSet")
        del member.options[at:at + 2]

    def test_a_look_without_the_set_and_a_kill_leave_a_directory_that_starts(self):
        """Its checkpoints there hold data of the time at which the member was stopped, and say so."""
        with Set(1, "--syncdelay", "0") as group:
            member = group.initiate()
            self.fill(group, 200)
            with member.client() as client:  # as of the log's beginning they would not fit: it makes this collection, and another of its name
                client.app.create_collection("gone")
                client.app.gone.drop()
                client.app.create_collection("gone")
                client.app.gone.rename("kept")
            self.assertEqual(member.stop(), 0)
            self.without_its_set(member)
            member.start()
            with member.client() as client:
                client.local.mine.insert_one({"_id": 1})
            member.command("fsync")
            member.kill()
            member.options += ["--replSet", "rs"]
            begun = {}
            for life in range(3):
                lines = self.start_again(member)
                self.assertTrue(eventually(member.is_primary), member.log_tail())
                begun[life] = next(line["attr"]["from"] for line in lines if line["msg"] == REPLAYED)["$timestamp"]["t"]
                self.assertEqual(len(documents_of(member)), 200)
                with member.client() as client:
                    self.assertIn("kept", client.app.list_collection_names())
                    self.assertEqual(client.local.mine.count_documents({}), 1)
                member.kill()
            self.assertGreater(begun[0], 0, "the data are of a known time")
            self.assertEqual(sorted(begun.values()), list(begun.values()))

    def test_a_directory_that_is_opened_without_its_set_says_so(self):
        warning = 22148
        with Set(1) as group:
            member = group.initiate()
            self.fill(group, 100)
            self.assertEqual(member.stop(), 0)
            member.options.remove("--replSet")
            member.options.remove("rs")
            said = [line for line in self.start_again(member) if line["id"] == warning]
            self.assertEqual([line["s"] for line in said], ["W"])
            self.assertIn(str(warning), "".join(member.command("getLog", "startupWarnings")["log"]))
            with member.client() as client:
                self.assertGreater(client.app.items.count_documents({}), 0)
            self.assertEqual(member.command("getParameter", ttlMonitorEnabled=1)["ttlMonitorEnabled"], False)
            self.assertEqual(member.stop(), 0)
            member.options += ["--replSet", "rs"]
            self.start_again(member)
            self.assertTrue(eventually(member.is_primary), "what was only read is a member's directory still")
            self.assertEqual(member.stop(), 0)
            del member.options[-2:]
            member.start()
            with member.client() as client:
                client.app.items.delete_one({})
            self.assertEqual(member.stop(), 0)
            member.options += ["--replSet", "rs"]
            with self.assertRaises(AssertionError):
                member.start()
            self.assertIn("changed while it ran without --replSet, first in app.items", member.log())
            del member.options[-2:]
            member.wipe()
            self.assertNotIn(warning, [line["id"] for line in self.start_again(member)], "a node that was never a member")


if __name__ == "__main__":
    unittest.main()
