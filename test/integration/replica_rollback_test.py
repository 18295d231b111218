"""A primary that wrote what nobody else has takes it back when it returns: its data, its counts, its files, its state."""
import threading
import time
import unittest

import bson
import pymongo
import pymongo.errors
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from replica_set_support import ELECTION_TIMEOUT_MS, MAJORITY, Background, Frozen, Parted, Set, client_of, cut, documents_of, has_hash, hash_of, mend, rollback_id
from support import SLOWNESS, eventually

ALONE = WriteConcern(w=1)
ALL = WriteConcern(w=3, wtimeout=int(30_000 * SLOWNESS))


class Rollback(unittest.TestCase):
    def assert_same(self, group):
        wanted = hash_of(group.settled(60))
        for member in group.members:
            self.assertTrue(eventually(lambda m=member: has_hash(m, wanted)), member.log_tail(40))

    def test_what_only_the_old_primary_has_is_taken_back(self):
        with Set() as group:
            group.initiate()
            with client_of(group) as client:
                items = client.app.get_collection("items", write_concern=MAJORITY)
                items.insert_many([{"_id": i, "n": i} for i in range(200)])
                client.app.get_collection("kept", write_concern=MAJORITY).insert_many([{"_id": i} for i in range(50)])
            parted = Parted(group)
            with parted.old.client() as client:
                items = client.app.get_collection("items", write_concern=ALONE)
                parted.part()
                items.insert_many([{"_id": f"alone {i}"} for i in range(20)])
                items.update_many({"_id": {"$lt": 10}}, {"$set": {"alone": True}})
                items.delete_many({"_id": {"$gte": 100, "$lt": 150}})
                client.app.kept.with_options(write_concern=ALONE).drop()
                client.app.made.with_options(write_concern=ALONE).insert_one({"_id": 1})
                items.create_index("n")
                seen = items.with_options(read_concern=ReadConcern("majority")).count_documents({"_id": {"$type": "string"}})
                self.assertEqual(seen, 0, "a majority has none of it")
            parted.await_successor()
            parted.write_on_the_new_branch({"_id": "new"})
            parted.mend()
            parted.await_rollback()
            self.assert_same(group)
            self.assertEqual(rollback_id(parted.old), parted.id_before + 1)
            self.assertEqual(len(documents_of(parted.old)), 201)
            self.assertEqual(len(documents_of(parted.old, "kept")), 50, "the drop is undone")
            self.assertEqual(documents_of(parted.old, "made"), [])
            with parted.old.client(readPreference="secondary") as client:
                self.assertEqual(client.app.items.estimated_document_count(), 201)
                self.assertEqual(client.app.kept.estimated_document_count(), 50)
                self.assertEqual(sorted(client.app.items.index_information()), ["_id_"])
                self.assertTrue(client.app.command("validate", "items", full=True)["valid"])
            saved = [d for f in parted.old.dbpath.glob("rollback/*/removed.*.bson") for d in bson.decode_all(f.read_bytes())]
            self.assertEqual({d["_id"] for d in saved if isinstance(d["_id"], str)}, {f"alone {i}" for i in range(20)})
            self.assertEqual(sorted(d["_id"] for d in saved if d.get("alone")), list(range(10)))
            told = parted.old.metrics()["metrics"]["repl"]["rollback"]
            self.assertEqual((told["count"], told["savedDocuments"]), (1, len(saved)))
            self.assertGreater(told["undoneEntries"], 5)
            # It may lead again.
            parted.old.command("replSetStepUp")
            self.assertTrue(eventually(parted.old.is_primary), parted.old.log_tail(30))
            with client_of(group) as client:
                client.app.get_collection("items", write_concern=MAJORITY).insert_one({"_id": "after"})
            self.assert_same(group)

    def test_what_it_remembers_of_the_undone_data_is_read_again(self):
        with Set() as group:
            group.initiate()
            parted = Parted(group)

            def remembered():
                return parted.old.command("getDefaultRWConcern", inMemory=True).get("defaultReadConcern", {}).get("level")
            before = remembered()
            parted.part()
            parted.old.command("setDefaultRWConcern", 1, defaultReadConcern={"level": "majority"}, writeConcern={"w": 1})
            self.assertEqual((before, remembered()), ("local", "majority"))
            parted.await_successor()
            parted.write_on_the_new_branch({"_id": "new"})
            self.assertEqual(remembered(), "majority")
            parted.mend()
            parted.await_rollback()
            self.assertTrue(eventually(lambda: remembered() == before, 5))

    def test_clients_of_the_old_primary_hear_that_it_leads_no_more(self):
        """Writes that wait for a majority fail in time; reads are refused while it rolls back, and answered afterwards."""
        with Set() as group:
            group.initiate()
            parted = Parted(group)
            outcomes, stop = [], threading.Event()

            def read():
                with parted.old.client(readPreference="secondaryPreferred") as client:
                    while not stop.is_set():
                        try:
                            outcomes.append(client.app.items.count_documents({}))
                        except pymongo.errors.PyMongoError as error:
                            outcomes.append(getattr(error, "code", type(error).__name__))
            reader = threading.Thread(target=read)
            with parted.old.client() as client:
                parted.part()
                begun = time.monotonic()
                with self.assertRaises(pymongo.errors.PyMongoError) as caught:
                    client.app.get_collection("items", write_concern=WriteConcern(w="majority")).insert_one({"_id": 1})
                self.assertLess(time.monotonic() - begun, 30 * SLOWNESS)
                self.assertIn(caught.exception.code, (11602, 10107, 189, 91), str(caught.exception))
            parted.await_successor()
            parted.write_on_the_new_branch({"_id": "new"})
            reader.start()
            try:
                parted.mend()
                parted.await_rollback()
                self.assertTrue(eventually(lambda: outcomes and outcomes[-1] == 1), "it fetches what the others wrote")
            finally:
                stop.set()
                reader.join()
            refused = {11602, 13436, 13435, "AutoReconnect", "NotMasterError"}
            self.assertLessEqual({o for o in outcomes if o not in (0, 1)}, refused, "what it had written, or nothing, or what the others wrote")
            self.assert_same(group)

    def diverge(self, group):
        """Initiates it; the old primary has "alone", and the others, from which it is parted, "new"."""
        group.initiate()
        parted = Parted(group)
        with parted.old.client() as client:
            parted.part()
            client.app.get_collection("items", write_concern=ALONE).insert_one({"_id": "alone"})
        parted.await_successor()
        parted.write_on_the_new_branch({"_id": "new"})
        return parted

    def test_a_member_that_rolls_back_is_in_rollback_and_serves_nobody(self):  # RBK-002
        """fsyncLock holds the rollback back before it has undone anything: what its entries wrote could still be read."""
        with Set() as group:
            parted = self.diverge(group)
            old = parted.old

            def read(**fields):
                reply = old.ask({"find": "items"}, db="app", maxTimeMS=int(2000 * SLOWNESS), **fields)
                return reply.get("code", "it answers")
            with Frozen(old):
                parted.mend()
                self.assertTrue(eventually(lambda: '"The state is ROLLBACK"' in old.log(), 60), old.log_tail(40))
                status = old.status()
                self.assertEqual(status["myState"], 9)
                self.assertEqual([m["stateStr"] for m in status["members"] if m.get("self")], ["ROLLBACK"])
                self.assertTrue(eventually(lambda: parted.new.view_of(old)["stateStr"] == "ROLLBACK"), "the others know")
                hello = old.hello()
                self.assertEqual((hello["isWritablePrimary"], hello["secondary"]), (False, False))
                self.assertEqual({mode: read(**{"$readPreference": {"mode": mode}}) for mode in ("secondaryPreferred", "secondary", "nearest")},
                                 {"secondaryPreferred": 13436, "secondary": 13436, "nearest": 13436})
                self.assertEqual(read(), 13436)
                self.assertEqual(old.ask("replSetStepUp")["codeName"], "CommandFailed")
                self.assertEqual(rollback_id(old), parted.id_before, "nothing is undone as yet")
                self.assertEqual(old.status()["myState"], 9, "and it was in this state all the while")
            parted.await_rollback()
            self.assertEqual(old.status()["myState"], 2)
            self.assert_same(group)
            self.assertEqual([d["_id"] for d in documents_of(old)], ["new"])

    def test_a_topology_that_is_started_again_meanwhile_is_in_rollback(self):  # RBK-002
        """Its supervisor starts it again alone: the rollback goes on."""
        with Set() as group:
            parted = self.diverge(group)
            old = parted.old
            with Frozen(old):
                parted.mend()
                self.assertTrue(eventually(lambda: '"The state is ROLLBACK"' in old.log(), 60), old.log_tail(40))
                offset = len(old.log())
                old.control("replication/topology", "restart")
                self.assertTrue(eventually(lambda: '"state":"ROLLBACK"' in old.log()[offset:].replace(" ", "")
                                           or old.ask("replSetGetStatus").get("myState") == 2), old.log_tail(20))
                seen = set()
                deadline = time.monotonic() + 3 * ELECTION_TIMEOUT_MS / 1000
                while time.monotonic() < deadline:
                    seen.add(old.ask("replSetGetStatus").get("myState"))
                    time.sleep(0.02)
                self.assertEqual(seen, {9}, old.log_tail(20))
            parted.await_rollback()
            self.assert_same(group)
            self.assertEqual([d["_id"] for d in documents_of(old)], ["new"])

    def ends_while_it_rolls_back(self, group, trial, line, end):
        """Its old primary has 1,000 documents to give up, and `end`s once the log shows `line`: started again it is where the set is."""
        parted = Parted(group)
        old = parted.old
        with old.client() as client:
            items = client.app.get_collection("items", write_concern=ALONE)
            parted.part()
            items.insert_many([{"_id": f"alone {trial} {i}", "text": "x" * 1000} for i in range(1000)])
        parted.await_successor()
        parted.write_on_the_new_branch({"_id": trial})
        shown = old.log().count(line)
        parted.mend()
        self.assertTrue(eventually(lambda: old.log().count(line) > shown, 60), old.log_tail(40))
        end(old)
        old.start()
        parted.await_rollback()
        group.have_data(60)
        self.assert_same(group)
        self.assertEqual([d["_id"] for d in documents_of(old)], list(range(trial + 1)))

    def test_a_member_that_is_killed_while_it_rolls_back_ends_where_the_set_is(self):
        with Set() as group:
            group.initiate()
            for trial in range(4):
                def end(member, pause=trial * 0.02):  # another place on its way each time
                    time.sleep(pause)
                    member.kill()
                self.ends_while_it_rolls_back(group, trial, '"The state is ROLLBACK"', end)

    def test_a_member_that_is_stopped_while_it_rolls_back_ends_where_the_set_is(self):
        """An orderly end makes a checkpoint, and what a start would cut from the log is none of it."""
        with Set() as group:
            group.initiate()
            for trial, line in enumerate(('"The state is ROLLBACK"', "Kept documents that are undone", '"Storage is down"', '"The rollback is over"')):
                self.ends_while_it_rolls_back(group, trial, line, lambda member: self.assertEqual(member.stop(), 0, member.log_tail(40)))

    def test_what_a_majority_has_is_never_undone(self):
        """One partition after the other, while clients write; what was acknowledged by a majority is there at the end."""
        with Set() as group:
            group.initiate()
            acknowledged, stop = [], threading.Event()

            def work(worker):
                with client_of(group) as client:
                    items = client.app.get_collection("items", write_concern=WriteConcern(w="majority", wtimeout=int(2000 * SLOWNESS)))
                    n = 0
                    while not stop.is_set():
                        n += 1
                        try:
                            items.insert_one({"_id": f"{worker} {n}"})
                            acknowledged.append(f"{worker} {n}")
                        except pymongo.errors.PyMongoError:
                            continue
            workers = [threading.Thread(target=work, args=(w,)) for w in range(3)]
            for worker in workers:
                worker.start()
            try:
                for _ in range(4):
                    parted = Parted(group)
                    before = len(acknowledged)
                    self.assertTrue(eventually(lambda: len(acknowledged) > before + 50, 60), "no progress")
                    parted.part()
                    parted.await_successor()
                    before = len(acknowledged)
                    self.assertTrue(eventually(lambda: len(acknowledged) > before + 50, 60), "no progress without the old primary")
                    parted.mend()
                    self.assertTrue(eventually(lambda: parted.old.hello().get("secondary"), 60), parted.old.log_tail(40))
            finally:
                stop.set()
                for worker in workers:
                    worker.join()
            self.assert_same(group)
            found = {d["_id"] for d in documents_of(group.primary())}
            self.assertEqual([w for w in acknowledged if w not in found], [])

    def test_an_index_build_ends_before_the_logs_are_compared(self):  # RBK-003
        with Set() as group:
            group.initiate()
            with client_of(group) as client:
                client.app.get_collection("items", write_concern=MAJORITY).insert_many([{"_id": i, "n": i} for i in range(200)])
            parted = Parted(group)
            old = parted.old
            old.command({"configureFailPoint": "hangIndexBuild", "mode": {"skip": 1}})  # it is held once it has begun
            parted.part()
            wanted = [{"key": {"n": 1}, "name": "n_1"}]
            building = Background(old, {"createIndexes": "items"}, db="app", indexes=wanted, writeConcern={"w": 1})
            self.assertTrue(eventually(lambda: "scanning" in old.phases("services/index-builds")), old.log_tail(20))
            parted.await_successor()
            self.assertEqual(building.join()["codeName"], "InterruptedDueToReplStateChange")
            parted.write_on_the_new_branch({"_id": "new"})
            parted.mend()
            self.assertTrue(eventually(lambda: "stopping" in old.phases("replication/rollback")), old.log_tail(20))
            looks = self.looks(old)
            self.assertTrue(eventually(lambda: self.looks(old) > looks + 5))
            self.assertEqual(old.phases("replication/rollback"), ["stopping"], "it waits for the build")
            self.assertEqual(old.ask("resync")["codeName"], "NotSecondary", "it keeps its data, for it finds its way back by itself")
            self.assertNotIn("The newest entry that both logs have", old.log())
            old.command({"configureFailPoint": "hangIndexBuild", "mode": "off"})
            parted.await_rollback()
            self.assert_same(group)
            with old.client(readPreference="secondary") as client:
                self.assertEqual(sorted(client.app.items.index_information()), ["_id_"])

    def looks(self, member):
        """How often the held build has looked whether it may go on."""
        return member.command("getParameter", **{"failpoint.hangIndexBuild": 1})["failpoint.hangIndexBuild"]["timesEntered"]

    def test_a_step_that_fails_ends_the_process_and_a_start_goes_on(self):  # RBK-015
        with Set() as group:
            parted = self.diverge(group)
            in_the_way = parted.old.dbpath / "rollback"  # where a folder is to be made
            in_the_way.write_text("no folder")
            parted.mend()
            self.assertTrue(eventually(lambda: not parted.old.running(), 60), parted.old.log_tail(40))
            self.assertEqual(parted.old.process.returncode, 100, "the service manager may start it again")
            self.assertIn("The rollback cannot be ended: this node ends", parted.old.log())
            in_the_way.unlink()
            parted.old.start()
            parted.await_rollback()
            self.assert_same(group)
            self.assertEqual([d["_id"] for d in documents_of(parted.old)], ["new"])

    def test_what_a_majority_had_is_kept_by_a_member_whose_set_has_lost_it(self):  # RBK-010
        with Set() as group:
            group.initiate()
            with client_of(group) as client:
                client.app.get_collection("items", write_concern=ALL).insert_one({"_id": "all"})
            old = group.settled()
            other, left = group.others(old)
            left.kill()
            with client_of(group) as client:
                client.app.get_collection("items", write_concern=MAJORITY).insert_one({"_id": "committed"})
            other.kill()
            self.assertEqual(old.stop(), 0)  # with a checkpoint: what is committed is stable in it
            left.start()
            self.assertTrue(eventually(lambda: left.hello().get("secondary"), 60), left.log_tail(20))

            def alone(config):
                config["members"] = [m for m in config["members"] if m["host"] == left.name]
            group.reconfigure(alone, left, force=True)
            self.assertTrue(eventually(left.is_primary, 60), left.log_tail(20))
            with left.client() as client:
                client.app.get_collection("items", write_concern=MAJORITY).insert_one({"_id": "new"})
            group.reconfigure(lambda c: c["members"].append({"_id": 10, "host": old.name}), left, force=True)
            for _ in range(2):
                offset = len(old.log())
                old.launch()
                self.assertTrue(eventually(lambda: not old.running(), 60), old.log_tail(40))
                self.assertEqual(old.process.returncode, 65, "a start finds the same")
                self.assertIn("older than what is committed or stable here", old.log()[offset:])
                self.assertEqual(list(old.dbpath.glob("rollback/*/*")), [], "nothing was undone")
            old.wipe()
            old.start()
            self.assertTrue(eventually(lambda: old.hello().get("secondary"), 60), old.log_tail(40))
            self.assertTrue(eventually(lambda: documents_of(old) == documents_of(left)), old.log_tail(40))

    def test_a_primary_that_wrote_nothing_alone_takes_nothing_back(self):  # RBK-018
        with Set(3, "--setParameter", "writePeriodicNoops=false") as group:
            group.initiate()
            with client_of(group) as client:
                client.app.get_collection("items", write_concern=ALL).insert_one({"_id": "before"})
            parted = Parted(group)
            parted.part()
            parted.await_successor()
            parted.write_on_the_new_branch({"_id": "new"})
            parted.mend()
            group.settled(60)
            self.assert_same(group)
            self.assertEqual([d["_id"] for d in documents_of(parted.old)], ["before", "new"])
            self.assertEqual(rollback_id(parted.old), parted.id_before)
            self.assertNotIn("The state is ROLLBACK", parted.old.log())


if __name__ == "__main__":
    unittest.main()
