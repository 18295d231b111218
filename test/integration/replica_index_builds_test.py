"""Index builds on members of real sets: scanned beside the applier, ended in every way, complete in the end."""
import threading
import unittest

import pymongo.errors
from pymongo.write_concern import WriteConcern

from replica_set_support import MAJORITY, Background, Parted, Set, client_of, cut, mend, rollback_id
from support import SLOWNESS, eventually

EVERYWHERE = WriteConcern(w=3, wtimeout=int(30_000 * SLOWNESS))
WANTED = [{"key": {"x": 1}, "name": "x_1"}]
SCANS = "replication/index-builds"


def hold(member, phase, after=0):
    """Builds of that member that come to this point stay there, scans when they have read so many documents; None: they go on."""
    member.command({"configureFailPoint": "hangIndexBuild", "mode": "alwaysOn" if phase else "off", "data": {"phase": phase or "", "after": after}})


def scanned(member):
    """How many documents its scans have read, as operators see them."""
    return [op["progress"]["done"] for op in member.command("currentOp")["inprog"] if op["desc"].startswith("IndexBuild")]


class MemberBuilds(unittest.TestCase):
    def fill(self, client, documents=5_000):
        items = client.app.get_collection("items", write_concern=EVERYWHERE)
        items.insert_many([{"_id": i, "x": i % 100, "tags": [i % 7]} for i in range(documents)])
        return items

    def begin(self, group, after=0):
        """A build that the primary does not commit, and whose scans the others hold when they have read so many documents."""
        primary = group.primary()
        hold(primary, "committing")
        for member in group.others(primary):
            hold(member, "following", after)
        building = Background(primary, {"createIndexes": "items"}, db="app", indexes=WANTED, writeConcern={"w": 1})
        self.assertTrue(eventually(lambda: "committing" in primary.phases("services/index-builds")), primary.log_tail(20))
        for member in group.others(primary):
            self.assertTrue(eventually(lambda m=member: m.phases(SCANS) == ["waiting"]), member.log_tail(20))
            [documents] = scanned(member)
            self.assertTrue(after <= documents < 5_000, documents)
        return primary, building

    def assert_whole(self, group, indexes=("_id_", "x_1")):
        hashes = set()
        for member in group.members:
            self.assertTrue(eventually(lambda m=member: m.phases(SCANS) == []), member.log_tail(20))
            with member.client(readPreference="secondaryPreferred") as own:
                self.assertTrue(eventually(lambda c=own: sorted(c.app.items.index_information()) == sorted(indexes)), member.log_tail(20))
                outcome = own.app.command("validate", "items", full=True)
                self.assertEqual((outcome["valid"], outcome["errors"]), (True, []), member.name)
                hashes.add((outcome["nrecords"], tuple(sorted(outcome["keysPerIndex"].items()))))
        self.assertEqual(len(hashes), 1, hashes)

    def write_beside(self, items):
        items.insert_one({"_id": "new", "x": [5, 2000]})
        items.update_many({"_id": {"$lt": 50}}, {"$set": {"x": 3000}})
        items.delete_many({"_id": {"$gte": 4_900}})

    def write_beside_again(self, items):
        items.insert_one({"_id": "newer", "x": [6, 2001]})
        items.update_many({"_id": {"$lt": 100}}, {"$set": {"x": 3001}})
        items.delete_many({"_id": {"$gte": 4_800}})

    def test_the_applier_goes_on_and_the_commit_awaits_the_scan(self):
        with Set() as group:
            group.initiate()
            with client_of(group) as client:
                items = self.fill(client)
                primary, building = self.begin(group)
                self.write_beside(items)  # acknowledged by all members
                hold(primary, None)
                self.assertEqual(building.join()["ok"], 1)
                marker = client.app.get_collection("other", write_concern=WriteConcern(w=1))
                marker.insert_one({"_id": 1})
                held = group.others(primary)[0]
                self.assertTrue(eventually(lambda: held.phases("replication/applier") == ["writing"]), held.log_tail(20))
                with held.client(readPreference="secondary") as own:
                    self.assertEqual(own.app.other.count_documents({}), 0, "the commit comes before it")
                for member in group.others(primary):
                    hold(member, None)
                items.insert_one({"_id": "last", "x": 1})
                self.assert_whole(group)

    def test_operators_see_the_scans_and_end_them(self):
        with Set() as group:
            group.initiate()
            with client_of(group) as client:
                items = self.fill(client)
                primary, building = self.begin(group)
                for member in group.others(primary):
                    shown = [op for op in member.command("currentOp")["inprog"] if op["desc"].startswith("IndexBuild")]
                    self.assertEqual([(op["ns"], op["command"]["indexes"][0]["name"]) for op in shown], [("app.items", "x_1")])
                    self.assertEqual(shown[0]["progress"], {"done": 0, "total": 5_000})
                    member.command("killOp", op=shown[0]["opid"])
                    self.assertTrue(eventually(lambda m=member: m.phases(SCANS) == []), member.log_tail(20))
                    self.assertEqual(scanned(member), [])
                hold(primary, None)
                self.assertEqual(building.join()["ok"], 1)
                for member in group.others(primary):  # the commit has another scan begin, which is held, too
                    self.assertTrue(eventually(lambda m=member: m.phases(SCANS) == ["waiting"]), member.log_tail(20))
                    hold(member, None)
                items.insert_one({"_id": "last"})
                self.assert_whole(group)

    def test_scans_wait_for_room_on_the_disk(self):
        with Set() as group:
            group.initiate()
            with client_of(group) as client:
                items = self.fill(client)
                primary = group.primary()
                full = group.others(primary)[0]
                full.command("setParameter", diskSpaceReserveMB=1 << 30)
                building = Background(primary, {"createIndexes": "items"}, db="app", indexes=WANTED, writeConcern={"w": 1})
                self.assertEqual(building.join()["ok"], 1)
                self.assertTrue(eventually(lambda: full.phases(SCANS) == ["waiting"]), full.log_tail(20))
                full.command("setParameter", diskSpaceReserveMB=0)
                items.insert_one({"_id": "last"})
                self.assert_whole(group)

    def test_scans_meet_writes_of_every_kind(self):
        with Set() as group:
            group.initiate()
            with client_of(group) as client:
                items = self.fill(client, 40_000)
                over = threading.Event()

                def write(worker):
                    mine = client.app.get_collection("items", write_concern=WriteConcern(w=1))
                    for n in range(1_000_000):
                        if over.is_set():
                            return
                        key = (n * 7919 + worker * 10_007) % 40_000
                        if n % 3 == 0:
                            mine.delete_one({"_id": key})
                        else:
                            mine.update_one({"_id": key}, {"$set": {"x": n if n % 2 else [n, -n]}}, upsert=True)

                writers = [threading.Thread(target=write, args=(w,)) for w in range(3)]
                for each in writers:
                    each.start()
                try:
                    for field in ("x", "tags", "x"):
                        items.create_index(field, name=f"{field}_1")
                        if field == "tags":
                            items.drop_index("x_1")
                finally:
                    over.set()
                    for each in writers:
                        each.join()
                items.insert_one({"_id": "last"})
                self.assert_whole(group, ("_id_", "x_1", "tags_1"))
                for member in group.members:
                    self.assertNotIn("A scan for an index build has ended early", member.log())

    def test_an_abort_and_a_drop_end_the_scans(self):
        with Set() as group:
            group.initiate()
            with client_of(group) as client:
                items = self.fill(client)
                for end in (lambda: items.drop_index("x_1"), items.drop):
                    primary, building = self.begin(group)
                    end()
                    self.assertEqual(building.join()["codeName"], "IndexBuildAborted")
                    client.app.get_collection("other", write_concern=EVERYWHERE).insert_one({})
                    for member in group.members:
                        hold(member, None)
                        self.assertTrue(eventually(lambda m=member: m.phases(SCANS) == []), member.log_tail(20))
                self.fill(client)
                items.create_index("x", name="x_1")
                items.insert_one({"_id": "last"})
                self.assert_whole(group)

    def test_a_kill_and_a_stop_in_the_middle_of_a_scan(self):
        with Set() as group:
            group.initiate()
            with client_of(group) as client:
                items = self.fill(client)
                primary, building = self.begin(group, after=1_000)
                self.write_beside(items)
                killed, stopped = group.others(primary)
                killed.command("fsync")  # what was scanned is on the disk
                killed.kill()
                killed.start()
                group.have_data()
                self.assertEqual(stopped.stop(), 0)
                stopped.start()
                group.have_data()
                self.write_beside_again(items)
                hold(primary, None)
                self.assertEqual(building.join()["ok"], 1)  # by the same primary: the build is the one that was begun
                items.insert_one({"_id": "last"})
                self.assert_whole(group)

    def test_a_member_that_becomes_primary_discards_what_it_scans(self):
        with Set() as group:
            group.initiate()
            with client_of(group) as client:
                self.fill(client)
                primary, building = self.begin(group, after=1_000)
                primary.ask("replSetStepDown", replSetStepDown=60, secondaryCatchUpPeriodSecs=10)
                hold(primary, None)
                self.assertNotEqual(building.join()["ok"], 1)
                self.assertTrue(eventually(lambda: group.primaries() and group.primaries() != [primary], 30))
                for member in group.members:
                    hold(member, None)
                items = client.app.get_collection("items", write_concern=EVERYWHERE)
                items.insert_one({"_id": "last"})
                self.assert_whole(group, ("_id_",))

    def test_a_member_rolls_back_while_it_scans_for_the_build_of_another(self):  # RBK-003
        with Set(4, m3={"priority": 0, "votes": 0}) as group:
            group.initiate()
            follower = group.members[3]
            with client_of(group) as client:
                items = self.fill(client)
                items.insert_one({"_id": "all"})
                old, building = self.begin(group, after=1_000)
                parted = Parted(group, bystanders=[follower])
                for other in parted.rest:
                    cut(follower, other)
                parted.part()
                with old.client() as own:  # the follower goes on with the old primary: its scan reads what will be undone
                    alone = own.app.get_collection("items", write_concern=WriteConcern(w=1))
                    alone.insert_many([{"_id": f"alone {i}", "x": i} for i in range(500)])
                    alone.delete_many({"_id": {"$lt": 500}})
                    newest = own.app.command("hello")["lastWrite"]["opTime"]
                self.assertTrue(eventually(lambda: follower.hello()["lastWrite"]["opTime"] == newest, 30), follower.log_tail(20))
                parted.await_successor()
                hold(old, None)
                self.assertNotEqual(building.join()["ok"], 1)
                parted.write_on_the_new_branch({"_id": "new"})
                before = rollback_id(follower)
                for other in parted.rest:
                    mend(follower, other)
                parted.mend()
                # Its scan is still held: it ends all the same before the logs are compared.
                self.assertTrue(eventually(lambda: rollback_id(follower) > before, 60), follower.log_tail(60))
                parted.await_rollback()
                for member in group.members:
                    hold(member, None)
                group.settled()
                items = client.app.get_collection("items", write_concern=WriteConcern(w=4, wtimeout=int(30_000 * SLOWNESS)))
                items.insert_one({"_id": "last"})
                self.assert_whole(group, ("_id_",))
                items.create_index("x", name="x_1")
                items.insert_one({"_id": "end"})
                self.assert_whole(group)
                self.assertEqual(items.count_documents({"x": {"$gte": 0}}), 5_000)

    def test_a_rollback_does_not_wait_for_the_scan_of_a_commit_that_it_takes_back(self):
        with Set(4, m3={"priority": 0, "votes": 0}) as group:
            group.initiate()
            follower = group.members[3]
            with client_of(group) as client:
                items = self.fill(client)
                parted = Parted(group, bystanders=[follower])
                old = parted.old
                for other in parted.rest:
                    cut(follower, other)
                parted.part()
                hold(follower, "following", after=1_000)
                wanted = [{"key": {"x": 1}, "name": "x_1"}]
                building = Background(old, {"createIndexes": "items"}, db="app", indexes=wanted, writeConcern={"w": 1})
                self.assertTrue(eventually(lambda: follower.phases(SCANS) == ["waiting"], 30), follower.log_tail(20))
                self.assertEqual(building.join()["ok"], 1)
                self.assertTrue(eventually(lambda: follower.phases("replication/applier") == ["writing"]), follower.log_tail(20))
                parted.await_successor()
                parted.write_on_the_new_branch({"_id": "new"})
                for other in parted.rest:
                    mend(follower, other)
                parted.mend()
                group.settled(60)
                items = client.app.get_collection("items", write_concern=WriteConcern(w=4, wtimeout=int(30_000 * SLOWNESS)))
                items.insert_one({"_id": "last"})
                self.assert_whole(group, ("_id_",))


if __name__ == "__main__":
    unittest.main()
