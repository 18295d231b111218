// A schema change between any two steps of a reader's set-up (CAT-018, CAT-019, RDS-004).
#include <map>

#include "storage/catalog/catalog_view.hpp"
#include "storage/catalog/node_state.hpp"
#include "test/unit/storage/catalog/catalog_fixture.hpp"
#include "test/unit/storage/catalog/interleaving.hpp"

namespace troupe::storage {
namespace {

using ::testing::ElementsAre;

bson::Document withoutMultikey(CatalogEntry entry) {
  for (auto& index : entry.indexes) index.multikey = false, index.paths.clear();
  return entry.toDocument();
}

class CatalogSetUpTest : public CatalogFixture {
 protected:
  static constexpr const char* kNames[] = {"test.c", "test.d", "test.e"};
  static constexpr const char* kFailing = "fail after the marks were set";
  using Change = std::function<Status()>;

  void SetUp() override {
    create("test.c");
    create("test.d");
    ASSERT_TRUE(index(R"({"key": {"a": 1}, "name": "a"})"_json).isOK());
    ASSERT_TRUE(insert(R"({"_id": 1, "a": 1})"_json).isOK());
    unit->releaseSession();
  }

  std::map<std::string, Change> changes() {
    const auto asStatus = [](const auto& with) { return with.status(); };
    return {
        {"create", [=, this] { return asStatus(createCollection(*catalog, *unit, Namespace("test", "e"), {})); }},
        {"drop", [this] { return dropCollection(*catalog, *unit, current()); }},
        {"rename",
         [=, this] { return asStatus(renameCollection(*catalog, *unit, current(), Namespace("test", "e"), false)); }},
        {"rename over another",
         [=, this] { return asStatus(renameCollection(*catalog, *unit, current(), Namespace("test", "d"), true)); }},
        {"collMod",
         [=, this] {
           CollectionChange change;
           change.validator = R"({"a": 1})"_json;
           return asStatus(modifyCollection(*catalog, *unit, current(), change));
         }},
        {"create an index",
         [=, this]() -> Status {
           TROUPE_ASSIGN(const auto specs,
                         newIndexes(*catalog, *current("test.d"), {R"({"key": {"b": 1}, "name": "b"})"_json.view()}));
           return asStatus(createEmptyIndex(*catalog, *unit, current("test.d"), specs[0]));
         }},
        {"drop an index", [=, this] { return asStatus(dropIndexes(*catalog, *unit, current(), {"a"})); }},
        {"create and drop",
         [=, this]() -> Status {
           TROUPE_TRY(createCollection(*catalog, *unit, Namespace("test", "e"), {}).status());
           return dropCollection(*catalog, *unit, current("test.d"));
         }},
        {kFailing,
         [=, this]() -> Status {
           TROUPE_TRY(dropCollection(*catalog, *unit, current()));
           unit->onPreCommit([](auto) { return Status(ErrorCode::kInternalError, "no commit"); });
           return Status::OK();
         }},
    };
  }

  /// The view of each name and UUID equals the snapshot's read of the durable catalog.
  void expectFits(CatalogView& view, RecoveryUnit& reader) {
    const auto rows = catalog->durable().entries(reader);
    ASSERT_TRUE(rows.isOK());
    for (const char* name : kNames) {
      const auto found = view.find(Namespace::split(name));
      ASSERT_TRUE(found.isOK()) << found.status().toString();
      const auto row =
          std::find_if(rows->begin(), rows->end(), [&](const auto& each) { return each.ns.toString() == name; });
      ASSERT_EQ(*found != nullptr, row != rows->end()) << name;
      if (!*found) continue;
      EXPECT_EQ(bson::toRelaxedJson(withoutMultikey((*found)->toEntry())), bson::toRelaxedJson(withoutMultikey(*row)));
      const auto byUuid = view.find((*found)->uuid());
      ASSERT_TRUE(byUuid.isOK());
      EXPECT_EQ(*byUuid, *found) << name;
      EXPECT_TRUE((*found)->records().cursor(reader).isOK());
    }
    for (const bson::Uuid& uuid : uuids_) {
      const auto found = view.find(uuid);
      ASSERT_TRUE(found.isOK());
      const bool there =
          std::any_of(rows->begin(), rows->end(), [&](const auto& each) { return each.options.uuid == uuid; });
      EXPECT_EQ(*found != nullptr, there);
    }
  }

  /// Runs the change of that name at commit time `time` (0: none) against a reader in the given order of steps.
  void runInOrder(const std::string& order, const std::string& name, uint64_t time, ReadSource source) {
    const Change change = changes().at(name);
    uuids_ = {current()->uuid(), current("test.d")->uuid()};
    Interleaving interleaving(order);
    catalog->observeSteps([&](CatalogStep) { interleaving.stepDone(); });
    RecoveryUnit reader(*pool);
    ASSERT_TRUE(reader.setReadSource(source).isOK());
    interleaving.run(
        [&] {
          const auto view = CatalogView::open(*catalog, reader);
          ASSERT_TRUE(view.isOK()) << view.status().toString();
          expectFits(**view, reader);
          reader.releaseSession();
        },
        [&] {
          WriteUnitOfWork work(*unit);
          if (time != 0) {
            ASSERT_TRUE(unit->setCommitTimestamp(at(time)).isOK());
          }
          const Status status = change();
          ASSERT_TRUE(status.isOK()) << status.toString();
          EXPECT_EQ(work.commit(), name == kFailing ? ErrorCode::kInternalError : ErrorCode::kOK);
        });
    catalog->observeSteps(nullptr);
    const auto now = CatalogView::open(*catalog, reader);
    ASSERT_TRUE(now.isOK());
    expectFits(**now, reader);
    EXPECT_EQ(catalog->snapshot()->pending(Namespace("test", "c")), std::nullopt) << "no mark stays";
    EXPECT_EQ(catalog->snapshot()->pending(Namespace("test", "e")), std::nullopt);
  }

  void runAllOrders(bool timed, ReadSource source) {
    uint64_t time = 0;
    // Reader: take the catalog, open the snapshot, compare, look up. Writer: mark, commit, publish.
    const auto orders = Interleaving::orders(4, 3);
    // All of them on the engine that costs nothing; on WiredTiger, whose tables are files, every fourth.
    const size_t stride = GetParam() == StorageUnderTest::kWiredTiger ? 4 : 1;
    for (size_t i = 0; i < orders.size(); i += stride) {
      const std::string& order = orders[i];
      for (const auto& [name, unused] : changes()) {
        SCOPED_TRACE(name + " in the order " + order);
        runInOrder(order, name, timed ? time += 10 : 0, source);
        if (HasFatalFailure()) return;
        unit->releaseSession();
        for (const char* each : kNames)
          if (const auto left = current(each))
            ASSERT_TRUE(write([&] { return dropCollection(*catalog, *unit, left); }).isOK());
        SetUp();
      }
    }
  }

  std::vector<bson::Uuid> uuids_;
};

TEST_P(CatalogSetUpTest, FitsTheSnapshotWhereverASchemaChangeComes) { runAllOrders(false, ReadSource::kNoTimestamp); }

TEST_P(CatalogSetUpTest, FitsTheSnapshotOfATimeWhereverASchemaChangeComes) {
  runAllOrders(true, ReadSource::kAllDurable);
}

TEST_P(CatalogSetUpTest, BeginsAgainWhenTheCatalogMoves) {
  std::vector<CatalogStep> steps;
  bool changing = false;
  catalog->observeSteps([&](CatalogStep step) {
    if (changing) return;
    steps.push_back(step);
    if (steps.size() != 2) return;
    changing = true;
    create("test.e");
    changing = false;
  });
  RecoveryUnit reader(*pool);
  const auto view = CatalogView::open(*catalog, reader);
  ASSERT_TRUE(view.isOK());
  using enum CatalogStep;
  EXPECT_THAT(steps, ElementsAre(kCatalogTaken, kSnapshotOpened, kCatalogTaken, kSnapshotOpened, kSetUp));
  EXPECT_TRUE(*(*view)->find(Namespace("test", "e")));
}

TEST_P(CatalogSetUpTest, EndsHoweverOftenTheCatalogMoves) {
  RecoveryUnit reader(*pool);
  int setUps = 0;
  bool inChange = false;
  catalog->observeSteps([&](CatalogStep step) {
    if (step != CatalogStep::kSnapshotOpened || inChange) return;
    inChange = true;
    ++setUps;
    const auto existing = current("test.e");
    if (existing) ASSERT_TRUE(write([&] { return dropCollection(*catalog, *unit, existing); }).isOK());
    else create("test.e");
    inChange = false;
  });
  const auto view = CatalogView::open(*catalog, reader);
  catalog->observeSteps(nullptr);
  ASSERT_TRUE(view.isOK());
  EXPECT_GT(setUps, 3);
  expectFits(**view, reader);
}

struct Role final : NodeState {
  bool appliesBatches() const override { return false; }
  uint64_t version() const override { return term; }
  uint64_t term = 1;
};

TEST_P(CatalogSetUpTest, BeginsAgainWhenTheNodesRoleChanges) {
  Role role;
  int opened = 0;
  catalog->observeSteps([&](CatalogStep step) {
    if (step == CatalogStep::kSnapshotOpened && ++opened == 1) role.term = 2;
  });
  OperationContext reader({.sessions = *pool, .node = &role});
  ASSERT_TRUE(CatalogView::open(*catalog, reader.recoveryUnit()).isOK());
  EXPECT_EQ(opened, 2);
}

TEST_P(CatalogSetUpTest, GivesNestedReadsTheViewThatIsOpen) {
  RecoveryUnit reader(*pool);
  const auto outer = CatalogView::open(*catalog, reader);
  ASSERT_TRUE(outer.isOK());
  const auto before = *(*outer)->find(Namespace("test", "c"));
  ASSERT_TRUE(write([&] { return dropCollection(*catalog, *unit, current()); }).isOK());
  const auto nested = CatalogView::open(*catalog, reader);
  ASSERT_TRUE(nested.isOK());
  EXPECT_EQ(*nested, *outer);
  EXPECT_EQ(*(*nested)->find(Namespace("test", "c")), before);
  reader.abandonSnapshot();
  EXPECT_EQ(*(*CatalogView::open(*catalog, reader))->find(Namespace("test", "c")), nullptr);
}

TEST_P(CatalogSetUpTest, VerifiesLookupsWhenTheSnapshotWasOpenedBefore) {
  RecoveryUnit reader(*pool);
  ASSERT_TRUE(reader.begin().isOK());
  const auto before = current();
  ASSERT_TRUE(
      write([&] { return renameCollection(*catalog, *unit, current(), Namespace("test", "e"), false); }).isOK());
  const auto view = CatalogView::open(*catalog, reader);
  ASSERT_TRUE(view.isOK());
  expectFits(**view, reader);
  EXPECT_EQ((*(*view)->find(Namespace("test", "c")))->uuid(), before->uuid());
}

TEST_P(CatalogSetUpTest, ShowsAUnitItsOwnChanges) {
  WriteUnitOfWork work(*unit);
  ASSERT_TRUE(createCollection(*catalog, *unit, Namespace("test", "e"), {}).isOK());
  ASSERT_TRUE(dropCollection(*catalog, *unit, current("test.d")).isOK());
  const auto view = CatalogView::open(*catalog, *unit);
  ASSERT_TRUE(view.isOK());
  EXPECT_TRUE(*(*view)->find(Namespace("test", "e")));
  EXPECT_TRUE(*(*view)->findForWrite(Namespace("test", "e")));
  EXPECT_EQ(*(*view)->find(Namespace("test", "d")), nullptr);
  EXPECT_EQ(*(*view)->find(Namespace("test", "c")), current());
}

TROUPE_ON_BOTH_ENGINES(CatalogSetUpTest);

}  // namespace
}  // namespace troupe::storage
