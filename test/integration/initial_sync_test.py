"""Members without data copy those of another one: members that are added, that lost their data, that are killed on the way."""
import threading
import unittest

from pymongo import ReadPreference
from pymongo.write_concern import WriteConcern

from replica_set_support import MAJORITY, Background, DistantMember, Member, Parted, Set, client_of, documents_of, has_hash, hash_of, rollback_id
from support import SLOWNESS, eventually

OVER = "The initial sync is over"
TOO_STALE, NEEDS_INITIAL_SYNC = 21279, 21281  # of the log


def end_of_log(member, direction):
    """The time of the oldest (1) or newest (-1) entry of a member's log."""
    with member.client() as client:
        log = client.local.get_collection("oplog.rs", read_preference=ReadPreference.SECONDARY_PREFERRED)
        return log.find_one(sort=[("$natural", direction)])["ts"]


def fill(group, documents):
    with client_of(group) as client:
        items = client.app.get_collection("items", write_concern=MAJORITY)
        for first in range(0, documents, 1000):
            items.insert_many([{"_id": i, "n": i % 97, "text": "x" * 500} for i in range(first, min(first + 1000, documents))])
        items.create_index("n")
        items.create_index("text", unique=False, partialFilterExpression={"n": {"$gt": 50}})
        client.app.create_collection("capped", capped=True, size=4096, max=5)
        client.app.capped.insert_many([{"_id": i} for i in range(9)])
        client.app.command("create", "seen", viewOn="items", pipeline=[{"$match": {"n": 1}}])
        client.app.command("collMod", "items", validator={"n": {"$ne": "bad"}})


class InitialSync(unittest.TestCase):
    def add(self, group, *options):
        """Starts another member, without data, and adds it to the config."""
        member = Member(*options)
        group.members.append(member)
        member.start()
        number = max(m["_id"] for m in group.config["members"]) + 1
        group.config["members"].append({"_id": number, "host": member.name})
        group.reconfigure(lambda c: c["members"].append({"_id": number, "host": member.name}))
        return member

    def assert_same(self, group):
        primary = group.primary()
        wanted = hash_of(primary)
        for member in group.others(primary):
            self.assertTrue(eventually(lambda m=member: has_hash(m, wanted)), member.log_tail(40))

    def test_a_member_that_is_added_copies_what_is_there_and_follows(self):
        with Set(1) as group:
            group.initiate()
            fill(group, 5000)
            stop, written = threading.Event(), []

            def write():
                with client_of(group) as client:
                    n = 10_000
                    while not stop.is_set():
                        client.app.items.insert_one({"_id": n})
                        client.app.items.update_one({"_id": n % 5000}, {"$inc": {"n": 1}})
                        client.app.items.delete_one({"_id": 4999 - n % 1000})
                        written.append(n)
                        n += 1
            writer = threading.Thread(target=write)
            writer.start()
            try:
                self.assertTrue(eventually(lambda: len(written) > 20))
                member = self.add(group)
                group.have_data(60)
                at = len(written)
                self.assertTrue(eventually(lambda: len(written) > at + 20))
            finally:
                stop.set()
                writer.join()
            self.assert_same(group)
            sync = member.command({"replSetGetStatus": 1, "initialSync": 1})["initialSyncStatus"]
            self.assertEqual(sync["failedInitialSyncAttempts"], 0)
            self.assertNotIn("initialSyncStatus", member.status(), "it is over")
            with member.client() as own:
                self.assertTrue(own.app.command("validate", "items", full=True)["valid"])
                self.assertEqual(own.app.get_collection("seen", read_preference=ReadPreference.SECONDARY).find_one({})["n"], 1)
            # It has all that a primary needs.
            group.primary().command("replSetStepDown", 60, secondaryCatchUpPeriodSecs=10)
            self.assertTrue(eventually(member.is_primary, 30), member.log_tail(40))
            with client_of(group) as client:
                client.app.get_collection("items", write_concern=MAJORITY).insert_one({"_id": "last"})
            self.assert_same(group)

    def test_a_member_that_is_killed_during_its_sync_begins_anew(self):
        with Set(1) as group:
            group.initiate()
            fill(group, 20_000)
            member = self.add(group)
            kills = 0
            while kills < 3 and eventually(lambda: member.status()["myState"] == 5, 5):
                member.kill()
                kills += 1
                member.start()
            self.assertGreater(kills, 0, "the sync was over before it could be killed")
            group.have_data(120)
            self.assert_same(group)

    def test_a_member_that_lost_its_data_copies_them_again(self):
        with Set(3) as group:
            primary = group.initiate()
            fill(group, 2000)
            lost = group.others(primary)[0]
            lost.kill()
            lost.wipe()
            lost.start()
            self.assertTrue(eventually(lambda: lost.hello().get("secondary"), 60), lost.log_tail(40))
            self.assert_same(group)

    def test_a_stale_member_says_so_and_is_resynced_by_command(self):
        with Set(3, "--oplogSize", "1", "--syncdelay", "1") as group:
            primary = group.initiate()
            fill(group, 100)
            stale = group.others(primary)[0]
            self.assertEqual(stale.ask("resync")["codeName"], "NotSecondary", "it can catch up")
            stale.kill()
            self.forget(end_of_log(group.primary(), -1), group.primary(), group.others(stale))
            stale.start()
            self.await_staleness(stale)
            self.assertEqual({line["s"] for line in stale.log_lines(TOO_STALE)}, {"W"})
            self.assertLessEqual({line["s"] for line in stale.log_lines(NEEDS_INITIAL_SYNC)}, {"I"}, "when it was new")
            stale.command("resync")
            group.have_data(60)
            self.assertEqual(stale.log_lines(NEEDS_INITIAL_SYNC)[-1]["s"], "W")
            self.assert_same(group)

    def forget(self, newest, primary, members):
        """Has them write until none of their logs has the entry of this time any more."""
        with primary.client() as client:
            def is_forgotten():
                client.app.big.insert_one({"text": "x" * 500_000})
                return all(end_of_log(m, 1) > newest for m in members)
            self.assertTrue(eventually(is_forgotten, 120))

    def await_staleness(self, member):
        self.assertTrue(eventually(lambda: member.status()["myState"] == 3, 60), member.log_tail(40))

    def test_a_diverged_member_that_nobody_has_the_history_for_is_stale_and_is_resynced(self):
        """What it wrote alone cannot be undone: where its branch begins is forgotten."""
        with Set(3, "--oplogSize", "1", "--syncdelay", "1") as group:
            group.initiate()
            fill(group, 100)
            parted = Parted(group)
            with parted.old.client() as client:
                parted.part()
                client.app.get_collection("items", write_concern=WriteConcern(w=1)).insert_one({"_id": "alone"})
            parted.await_successor()
            self.forget(end_of_log(parted.old, -1), parted.new, parted.rest)
            parted.mend()
            self.await_staleness(parted.old)
            parted.old.command("resync")
            group.have_data(60)
            self.assert_same(group)
            self.assertNotIn("alone", [d["_id"] for d in documents_of(parted.old)])
            self.assertEqual(rollback_id(parted.old), parted.id_before, "nothing was rolled back")

    def test_a_primary_that_is_killed_before_anybody_copied_leads_again(self):
        with Set() as group:
            group.members[0].command("replSetInitiate", group.config)
            first = group.primary()
            first.kill()
            first.start()
            group.have_data(60)
            with client_of(group) as client:
                client.app.get_collection("items", write_concern=MAJORITY).insert_one({"_id": 1})
            self.assert_same(group)

    def test_a_copy_of_a_branch_that_is_lost_is_made_anew_after_a_start_as_well(self):
        """Its log has a part that the others share; it ends with what they have never had."""
        with Set(4, election_timeout_ms=15_000 * SLOWNESS, m3={"priority": 0, "votes": 0}) as group:
            group.initiate()
            fill(group, 40_000)
            member = group.members[3]
            parted = Parted(group, bystanders=[member])
            source = parted.old
            member.kill()
            member.wipe()
            parted.part()
            for other in parted.rest:
                other.links("park", member)
            member.start()
            self.assertTrue(eventually(lambda: all(self.is_cut(member, other) for other in parted.rest)), "it knows neither of the others")
            self.assertTrue(eventually(lambda: member.copying().get("databases"), 60), member.log_tail(40))
            with source.client() as client:
                client.app.get_collection("items", write_concern=WriteConcern(w=1)).insert_one({"_id": "alone"})
            self.assertTrue(eventually(lambda: member.hello().get("secondary"), 60), member.log_tail(40))
            self.assertIn("alone", [d["_id"] for d in documents_of(member)])
            copies = member.log().count(OVER)
            self.assertEqual(member.stop(), 0)
            source.kill()
            self.assertTrue(eventually(lambda: any(m.is_primary() for m in parted.rest), 60))
            parted.new = next(m for m in parted.rest if m.is_primary())
            parted.write_on_the_new_branch({"_id": "new"})
            for other in parted.rest:
                other.links("resume", member)
            member.start()
            self.assertTrue(eventually(lambda: not member.running() or member.log().count(OVER) > copies, 60), member.log_tail(40))
            self.assertTrue(member.running(), member.log_tail(40))
            self.assertTrue(eventually(lambda: has_hash(member, hash_of(parted.new))), member.log_tail(40))

    def is_cut(self, member, other):
        try:
            member.links("park", other)
        except OSError:  # it has no link to it yet
            return False
        return True

    def test_documents_come_in_many_batches_for_one_request(self):  # ISY-011
        with Set(1, kind=DistantMember) as group:
            source = group.initiate()
            with source.client() as client:
                for first in range(0, 60, 15):  # 30 MB: what is sent ahead is less, and a batch far less
                    client.app.items.insert_many([{"_id": i, "text": "x" * 500_000} for i in range(first, first + 15)])
            del source.distance.passed[:]
            self.add(group)
            group.have_data(60)
            self.assert_same(group)
            asked = bytes(source.distance.passed)
            self.assertIn(b"find\0", asked)
            self.assertNotIn(b"getMore\0", asked)
            self.assertLess(len(asked), 1_000_000, "the copy came from there")

    def break_off(self, group, documents, end):
        """A new member has copied a part of the documents when its source is `end`ed, and started again. Gives the member."""
        source = group.initiate()
        with source.client() as client:
            for first in range(0, documents, 20):  # 100 MB, of which 16 are sent ahead
                client.app.items.insert_many([{"_id": i, "text": "x" * 500_000} for i in range(first, first + 20)])
        source.distance.seconds = 0.1
        member = self.add(group)

        def copied():
            return member.copying().get("databases", {}).get("app", {}).get("app.items", {}).get("documentsCopied", 0)
        self.assertTrue(eventually(lambda: copied() >= documents // 4), member.log_tail(40))
        source.distance.seconds = 5 * SLOWNESS  # a stop takes a moment, in which it sends no more than the member was ready to take
        end(source)
        self.assertLess(copied(), documents)
        source.distance.seconds = 0
        source.start()
        group.have_data(60)
        self.assert_same(group)
        return member

    def test_a_copy_goes_on_where_its_source_broke_off(self):
        documents = 200
        with Set(1, kind=DistantMember) as group:
            member = self.break_off(group, documents, lambda source: self.assertEqual(source.stop(), 0))
            self.assertNotIn("The initial sync cannot go on", member.log())
            given = group.members[0].command("serverStatus")["metrics"]["document"]["returned"]
            self.assertLessEqual(given, documents - documents // 8, "it gave the rest only, and a few of other collections")

    def test_a_copy_begins_anew_where_its_source_was_killed(self):  # ISY-005
        """It may have lost entries, and with them documents that were copied."""
        with Set(1, kind=DistantMember) as group:
            before = []

            def kill(source):
                before.append(rollback_id(source))
                source.kill()
            member = self.break_off(group, 200, kill)
            self.assertEqual(rollback_id(group.members[0]), before[0] + 1)
            self.assertIn("has rolled back, or was killed, since the copy was begun", member.log())

    def test_a_new_member_shows_all_data_beside_an_index_build(self):  # REP-055
        with Set(1) as group:
            source = group.initiate()
            with source.client() as client:
                client.app.items.insert_many([{"_id": i, "n": i} for i in range(1000)])
            source.command({"configureFailPoint": "hangIndexBuild", "mode": {"skip": 1}})  # it is held once it has begun
            wanted = [{"key": {"n": 1}, "name": "n_1"}]
            building = Background(source, {"createIndexes": "items"}, db="app", indexes=wanted, writeConcern={"w": 1})
            self.assertTrue(eventually(lambda: "scanning" in source.phases("services/index-builds")), source.log_tail(20))
            member = self.add(group)
            self.assertTrue(eventually(lambda: member.hello().get("secondary"), 60), member.log_tail(40))
            with member.client(readPreference="secondary") as own:
                items = own.app.items
                self.assertEqual(len(list(items.find())), 1000)
                self.assertEqual(items.count_documents({"n": {"$gte": 500}}), 500)
                with source.client() as client:
                    on_both = client.app.get_collection("items", write_concern=WriteConcern(w=2, wtimeout=int(30_000 * SLOWNESS)))
                    on_both.insert_one({"_id": 1000, "n": 1000})
                self.assertEqual(items.count_documents({"n": {"$gte": 500}}), 501)
                self.assertEqual(list(items.index_information()), ["_id_"])
                source.command({"configureFailPoint": "hangIndexBuild", "mode": "off"})
                self.assertEqual(building.join()["ok"], 1)
                self.assertTrue(eventually(lambda: "n_1" in items.index_information()), member.log_tail(40))
                self.assertEqual(len(list(items.find({"n": {"$gte": 500}}, hint="n_1"))), 501)
                self.assertTrue(own.app.command("validate", "items", full=True)["valid"])
            self.assert_same(group)


if __name__ == "__main__":
    unittest.main()
