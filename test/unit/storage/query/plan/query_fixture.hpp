#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "messaging/bson/collation.hpp"
#include "messaging/bson/compare.hpp"
#include "messaging/bson/json.hpp"
#include "storage/catalog/catalog_operations.hpp"
#include "storage/query/match/match_parser.hpp"
#include "storage/query/plan/executor.hpp"
#include "storage/transaction/write_unit_of_work.hpp"
#include "test/unit/storage/engine/engine_harness.hpp"

namespace troupe::query {

using bson::operator""_json;

/// A collection test.c with indexes, on the deterministic engine, and queries of it.
class QueryFixture : public ::testing::Test {
 protected:
  QueryFixture() {
    storage::CatalogHooks hooks;
    hooks.random = [this] { return ++random; };
    hooks.nowMillis = [] { return 1'700'000'000'000; };
    hooks.makeFilter = [](bson::View expression,
                          const bson::Collator* collator) -> StatusWith<storage::DocumentFilter> {
      ParseContext context;
      context.collator = collator;
      TROUPE_ASSIGN(std::shared_ptr<const MatchExpression> filter, parseMatch(expression, context));
      return storage::DocumentFilter([filter](bson::View document) { return filter->matches(document); });
    };
    pool = std::make_unique<storage::SessionPool>(harness.engine());
    auto opened = storage::openCatalog(harness.engine(), *pool, std::move(hooks));
    EXPECT_TRUE(opened.isOK()) << opened.status().toString();
    catalog = std::move(opened).value();
    unit = std::make_unique<storage::RecoveryUnit>(*pool);
  }
  ~QueryFixture() override {
    unit.reset();
    catalog.reset();
    pool.reset();
  }

  template <class Body>
  void write(Body&& body) {
    unit->abandonSnapshot();
    storage::WriteUnitOfWork work(*unit);
    const Status status = body();
    ASSERT_TRUE(status.isOK()) << status.toString();
    const Status committed = work.commit();
    ASSERT_TRUE(committed.isOK()) << committed.toString();
  }
  static storage::Namespace ns() { return storage::Namespace("test", "c"); }
  storage::CollectionPtr collection() const { return catalog->find(ns()); }

  void create(const bson::Document& options = {}) {
    const auto parsed = storage::parseCollectionOptions(options);
    ASSERT_TRUE(parsed.isOK()) << parsed.status().toString();
    write([&] { return storage::createCollection(*catalog, *unit, ns(), *parsed).status(); });
  }
  void drop() {
    write([&] { return storage::dropCollection(*catalog, *unit, collection()); });
  }
  /// Before the first document.
  void index(const bson::Document& spec) {
    auto specs = storage::newIndexes(*catalog, *collection(), {spec.view()});
    ASSERT_TRUE(specs.isOK()) << specs.status().toString();
    for (const auto& one : *specs)
      write([&] { return storage::createEmptyIndex(*catalog, *unit, collection(), one).status(); });
  }
  void dropIndex(const std::string& name) {
    write([&] { return storage::dropIndexes(*catalog, *unit, collection(), {name}).status(); });
  }
  Status insert(const bson::Document& document) {
    unit->abandonSnapshot();
    storage::WriteUnitOfWork work(*unit);
    TROUPE_TRY(collection()->insert(*unit, document).status());
    return work.commit();
  }
  void insertAll(const std::vector<bson::Document>& documents) {
    for (const auto& document : documents) {
      const Status status = insert(document);
      ASSERT_TRUE(status.isOK()) << status.toString();
    }
  }

  StatusWith<std::unique_ptr<Executor>> open(const FindRequest& request) {
    unit->abandonSnapshot();
    return openFind(collection(), request, *unit, context);
  }
  /// The remaining results, giving snapshots up after each `saveEvery` results (0: never).
  StatusWith<std::vector<bson::Document>> drain(Executor& executor, int saveEvery = 0) {
    std::vector<bson::Document> out;
    for (;;) {
      TROUPE_ASSIGN(const Next next, executor.next());
      if (next.isEnd()) return out;
      if (next.isDocument()) out.emplace_back(next.document);
      if (saveEvery == 0 || out.size() % static_cast<size_t>(saveEvery) != 0) continue;
      executor.save();
      unit->abandonSnapshot();
      TROUPE_TRY(executor.restore(*unit, *catalog));
    }
  }
  StatusWith<std::vector<bson::Document>> run(const FindRequest& request, int saveEvery = 0) {
    TROUPE_ASSIGN(const auto executor, open(request));
    return drain(*executor, saveEvery);
  }
  /// The results of a query, as JSON lines.
  std::string find(const bson::Document& filter, FindRequest request = {}) {
    request.filter = filter;
    const auto results = run(request);
    if (!results.isOK()) return results.status().toString();
    std::string text;
    for (const auto& document : *results) text += (text.empty() ? "" : " ") + bson::toRelaxedJson(document);
    return text;
  }
  /// The plan of a query without running it.
  bson::Document planOf(const bson::Document& filter, FindRequest request = {}) {
    request.filter = filter;
    const auto executor = open(request);
    EXPECT_TRUE(executor.isOK()) << executor.status().toString();
    bson::Builder out;
    (*executor)->explainPlanner(out);
    return out.finish();
  }
  std::string summaryOf(const bson::Document& filter, FindRequest request = {}) {
    request.filter = filter;
    const auto executor = open(request);
    return executor.isOK() ? (*executor)->stats().planSummary : executor.status().toString();
  }

  storage::DeterministicHarness harness;
  std::unique_ptr<storage::SessionPool> pool;
  std::unique_ptr<storage::Catalog> catalog;
  std::unique_ptr<storage::RecoveryUnit> unit;
  ParseContext context;
  uint64_t random = 1;
};

}  // namespace troupe::query
