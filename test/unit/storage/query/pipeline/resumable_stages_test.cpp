// Stages that read other collections, or their own documents again, for one result: they yield on the way, so that the
// operation can give its locks and its snapshot up.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "messaging/bson/json.hpp"
#include "storage/query/parse_context.hpp"
#include "storage/query/pipeline/pipeline.hpp"

namespace troupe::query {
namespace {

using bson::Document;

/// How often scans were saved and restored; those that are open have to be whenever the pipeline is.
struct Scans {
  int saved = 0, restored = 0;
};

/// A scan that yields before each document, and must not be read while it is saved.
class YieldingRows final : public Stage {
 public:
  YieldingRows(std::vector<Document> rows, Scans& scans) : rows_(std::move(rows)), scans_(scans) {}
  StatusWith<Next> next() override {
    EXPECT_FALSE(isSaved_) << "read without its cursor";
    yields_ = !yields_;
    if (yields_) return Next::yield();
    return at_ < rows_.size() ? Next::of(rows_[at_++].view()) : Next::end();
  }
  std::string_view name() const override { return "rows"; }
  void serialize(bson::Builder&) const override {}
  void save() override {
    isSaved_ = true;
    ++scans_.saved;
  }
  Status restore() override {
    isSaved_ = false;
    ++scans_.restored;
    return Status::OK();
  }

 private:
  std::vector<Document> rows_;
  Scans& scans_;
  size_t at_ = 0;
  bool yields_ = false, isSaved_ = false;
};

/// The documents of the pipeline's own collection, without a yield.
class PlainRows final : public Stage {
 public:
  explicit PlainRows(int count) : count_(count) {}
  StatusWith<Next> next() override {
    if (at_ == count_) return Next::end();
    current_ = bson::doc("_id", at_++);
    return Next::of(current_.view());
  }
  std::string_view name() const override { return "rows"; }
  void serialize(bson::Builder&) const override {}

 private:
  int count_, at_ = 0;
  Document current_;
};

/// The only other collection is a chain: {_id: 0, next: 1}, {_id: 1, next: 2} ..., of so many documents. A scan gives
/// those whose `_id` the filter names, or all.
class Chain final : public PipelineEnvironment {
 public:
  explicit Chain(int length) : length_(length) {}
  StatusWith<StagePtr> scan(const CollectionName&, const PushDown& request) override {
    std::vector<Document> rows;
    const bson::Element one = request.filter.view().at("_id.$eq"), some = request.filter.view().at("_id.$in");
    const auto add = [&](int64_t id) {
      if (id < length_) rows.push_back(bson::doc("_id", id, "next", id + 1));
    };
    if (one.ok()) add(one.toInt64());
    for (const bson::Element& id : some.ok() ? some.asArray() : bson::View()) add(id.toInt64());
    for (int id = 0; request.filter.empty() && id < length_; ++id) add(id);
    return StagePtr(std::make_unique<YieldingRows>(std::move(rows), scans));
  }
  StatusWith<StagePtr> openSource(const CollectionName&, const bson::Element&) override { return kUnused; }
  StatusWith<std::unique_ptr<OutWriter>> openOut(const CollectionName&) override { return kUnused; }
  StatusWith<UniqueIndex> uniqueIndex(const CollectionName&, const std::vector<std::string>&) override {
    return kUnused;
  }
  StatusWith<bool> modifyOne(const CollectionName&, bson::View, const Change&) override { return kUnused; }
  Status insert(const CollectionName&, bson::View) override { return kUnused; }

  Scans scans;

 private:
  const int length_;
  const Status kUnused{ErrorCode::kInternalError, "no test asks for it"};
};

class ResumableStages : public testing::Test {
 protected:
  /// The results of a stage over so many documents `{_id: n}`; the pipeline is saved and restored at each yield.
  std::vector<Document> run(const std::string& stage, int documents) {
    const auto spec = bson::fromJson("{\"p\": [" + stage + "]}");
    EXPECT_TRUE(spec.isOK()) << spec.status().toString();
    PipelineContext context;
    context.parse = &parse_;
    context.environment = &chain;
    context.on = {"db", "c"};
    auto pipeline = Pipeline::parse((*spec)["p"].asArray(), context);
    EXPECT_TRUE(pipeline.isOK()) << pipeline.status().toString();
    (*pipeline)->attach(std::make_unique<PlainRows>(documents));
    std::vector<Document> results;
    for (;;) {
      const auto next = (*pipeline)->next();
      EXPECT_TRUE(next.isOK()) << next.status().toString();
      if (!next.isOK() || next->isEnd()) return results;
      if (next->isDocument()) {
        results.emplace_back(next->document);
        continue;
      }
      ++yields;
      (*pipeline)->save();
      EXPECT_TRUE((*pipeline)->restore().isOK());
    }
  }

  Chain chain{5};
  int yields = 0;

 private:
  ParseContext parse_;
};

TEST_F(ResumableStages, AGraphLookupYieldsWithinAndBetweenItsLevels) {
  const auto found = run(R"({"$graphLookup": {"from": "d", "startWith": "$_id", "connectFromField": "next",
                             "connectToField": "_id", "as": "all", "depthField": "depth"}})",
                         2);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(bson::toRelaxedJson(found[1]), R"({ "_id" : 1, "all" : [ { "_id" : 1, "next" : 2, "depth" : 0 }, )"
                                           R"({ "_id" : 2, "next" : 3, "depth" : 1 }, )"
                                           R"({ "_id" : 3, "next" : 4, "depth" : 2 }, )"
                                           R"({ "_id" : 4, "next" : 5, "depth" : 3 } ] })");
  EXPECT_EQ(found[0]["all"].asArray().count(), 5);
  EXPECT_GE(yields, 2 * 5 + 2 * 4) << "before the document and before the end of each level";
  EXPECT_EQ(chain.scans.saved, chain.scans.restored);
  EXPECT_GE(chain.scans.saved, 2 * 5 + 2 * 4) << "whatever is open is saved";
}

TEST_F(ResumableStages, AGraphLookupEndsAtItsDepthOrWithoutAStart) {
  const auto found = run(R"({"$graphLookup": {"from": "d", "startWith": "$_id", "connectFromField": "next",
                             "connectToField": "_id", "as": "all", "maxDepth": 1}})",
                         1);
  EXPECT_EQ(found[0]["all"].asArray().count(), 2);
  const auto none = run(R"({"$graphLookup": {"from": "d", "startWith": [], "connectFromField": "next",
                            "connectToField": "_id", "as": "all"}})",
                        1);
  EXPECT_EQ(bson::toRelaxedJson(none[0]), R"({ "_id" : 0, "all" : [  ] })");
}

TEST_F(ResumableStages, ALookupYieldsWhenItFindsMuchInLittle) {
  const auto found = run(R"({"$lookup": {"from": "d", "as": "all", "pipeline": [
      {"$addFields": {"l": {"$range": [0, 1000]}}}, {"$unwind": "$l"}]}})",
                         1);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]["all"].asArray().count(), 5000);
  EXPECT_GE(yields, 5000 / 128);
}

TEST_F(ResumableStages, AFacetYieldsWhenAJoinInItDoes) {
  const auto found = run(R"({"$facet": {
      "joined": [{"$lookup": {"from": "d", "localField": "_id", "foreignField": "_id", "as": "there"}},
                 {"$match": {"there.next": {"$gte": 2}}}],
      "united": [{"$limit": 1}, {"$unionWith": "d"}, {"$limit": 2}],
      "counted": [{"$count": "n"}],
      "empty": []}})",
                         3);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(bson::toRelaxedJson(found[0]),
            R"({ "joined" : [ { "_id" : 1, "there" : [ { "_id" : 1, "next" : 2 } ] }, )"
            R"({ "_id" : 2, "there" : [ { "_id" : 2, "next" : 3 } ] } ], )"
            R"("united" : [ { "_id" : 0 }, { "_id" : 0, "next" : 1 } ], "counted" : [ { "n" : 3 } ], )"
            R"("empty" : [ { "_id" : 0 }, { "_id" : 1 }, { "_id" : 2 } ] })");
  EXPECT_GE(yields, 3 * 2 + 1);
  EXPECT_EQ(chain.scans.saved, chain.scans.restored + 1) << "the scan that the limit left unread stays saved";
}

TEST_F(ResumableStages, AFacetOfManyDocumentsYields) {
  const auto found = run(R"({"$facet": {"dropped": [{"$match": {"_id": -1}}], "all": [{"$project": {"_id": 1}}],
                             "many": [{"$addFields": {"l": [1, 2, 3]}}, {"$unwind": "$l"}]}})",
                         1000);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0]["dropped"].asArray().count(), 0);
  EXPECT_EQ(found[0]["all"].asArray().count(), 1000);
  EXPECT_EQ(found[0]["many"].asArray().count(), 3000);
  EXPECT_GE(yields, 1000 / 128 + 1000 / 128 + 3000 / 128);
}

}  // namespace
}  // namespace troupe::query
