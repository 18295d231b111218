#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "messaging/bson/json.hpp"
#include "storage/catalog/catalog_operations.hpp"
#include "storage/catalog/index_builder.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/transaction/write_unit_of_work.hpp"
#include "test/unit/storage/engine/engine_harness.hpp"

namespace troupe::storage {

using bson::operator""_json;

enum class StorageUnderTest { kWiredTiger, kDeterministic };

/// A node's storage with an empty catalog, on each engine; partial filters understand {field: value} equality only.
class CatalogFixture : public ::testing::TestWithParam<StorageUnderTest> {
 protected:
  CatalogFixture() {
    if (GetParam() == StorageUnderTest::kWiredTiger) {
      harness = std::make_unique<WiredTigerHarness>();
    } else {
      harness = std::make_unique<DeterministicHarness>();
    }
    open();
  }
  ~CatalogFixture() override { close(); }

  void open() {
    pool = std::make_unique<SessionPool>(harness->engine());
    pool->setMember(replicated);
    auto opened = tryOpen();
    ASSERT_TRUE(opened.isOK()) << opened.status().toString();
    catalog = std::move(opened).value();
    unit = std::make_unique<RecoveryUnit>(*pool);
    if (!replicated) return;
    applier = std::make_unique<OperationContext>(OperationServices{.sessions = *pool}, OperationOrigin::kApplier);
    applier->setWriteMode(WriteMode::kApplied);
    unit->setOperation(applier.get());
  }
  StatusWith<std::unique_ptr<Catalog>> tryOpen() {
    CatalogHooks hooks;
    hooks.random = [this] { return ++random; };
    hooks.nowMillis = [] { return 1'700'000'000'000; };
    hooks.observers = observers;
    hooks.journaled = journaled;
    hooks.replicated = replicated && !tablesAreLogged;
    hooks.warn = [this](const std::string& text) { warnings.push_back(text); };
    hooks.makeFilter = [this](bson::View expression, const bson::Collator*) -> StatusWith<DocumentFilter> {
      return DocumentFilter([this, wanted = bson::Document(expression)](bson::View document) {
        if (onFilter) onFilter();
        for (const auto& e : wanted.view())
          if (!document[e.name()].ok() || document[e.name()].valueBytes() != e.valueBytes()) return false;
        return true;
      });
    };
    return openCatalog(harness->engine(), *pool, std::move(hooks));
  }
  void close() {
    unit.reset();
    applier.reset();
    catalog.reset();
    pool.reset();
  }
  void restart() {
    EXPECT_TRUE(catalog->flush().isOK());
    close();
    harness->reopen();
    open();
  }
  void crash() {
    EXPECT_TRUE(harness->engine().flushLog().isOK());
    close();
    harness->crash();
    open();
  }

  /// Runs `body` in a unit of work and commits it when it succeeds.
  template <class Body>
  auto write(Body&& body) -> decltype(body()) {
    WriteUnitOfWork work(*unit);
    auto result = body();
    if (!isOK(result)) return result;
    if (Status status = work.commit(); !status.isOK()) return status;
    return result;
  }
  static bool isOK(const Status& status) { return status.isOK(); }
  template <class T>
  static bool isOK(const StatusWith<T>& with) {
    return with.isOK();
  }

  CollectionPtr create(const char* ns = "test.c", const bson::Document& options = {}) {
    auto parsed = parseCollectionOptions(options);
    EXPECT_TRUE(parsed.isOK()) << parsed.status().toString();
    auto made = write([&] { return createCollection(*catalog, *unit, Namespace::split(ns), *parsed); });
    EXPECT_TRUE(made.isOK()) << made.status().toString();
    return made.isOK() ? *made : nullptr;
  }
  CollectionPtr current(const char* ns = "test.c") const { return catalog->find(Namespace::split(ns)); }
  Status insert(const bson::Document& document, const char* ns = "test.c") {
    auto collection = current(ns);
    return write([&] { return collection->insert(*unit, document).status(); });
  }
  Status index(const bson::Document& spec, const char* ns = "test.c") {
    auto specs = newIndexes(*catalog, *current(ns), {spec.view()});
    if (!specs.isOK()) return specs.status();
    if (specs->empty()) return Status::OK();
    unit->abandonSnapshot();
    return IndexBuilder(*catalog, Namespace::split(ns), *specs).buildAll(*unit);
  }
  std::optional<RecordId> findById(int id, const char* ns = "test.c") {
    if (!unit->inUnitOfWork()) unit->abandonSnapshot();
    const bson::Value value(id);
    auto found = current(ns)->findById(*unit, value.element());
    EXPECT_TRUE(found.isOK()) << found.status().toString();
    return *found;
  }
  int64_t keys(const char* name, const char* ns = "test.c") {
    unit->abandonSnapshot();
    return *current(ns)->findIndex(name)->access->countKeys(*unit);
  }

  std::unique_ptr<EngineHarness> harness;
  std::unique_ptr<SessionPool> pool;
  std::unique_ptr<Catalog> catalog;
  std::unique_ptr<OperationContext> applier;  ///< on a member: that of `unit`, whose writes need given times there
  std::unique_ptr<RecoveryUnit> unit;
  std::vector<std::string> warnings;
  std::vector<WriteObserver*> observers;  ///< from the next `restart` on
  bool replicated = false;                ///< the node's role from the next `restart` on
  bool journaled = true;                  ///< the engine has a log (same)
  bool tablesAreLogged = false;           ///< also those of a member, whose log is then not replayed (same)
  std::function<void()> onFilter;         ///< called for each document that a partial index may hold, before its keys
  uint64_t random = 1;
};

/// Runs a suite of TEST_P on both engines.
#define TROUPE_ON_BOTH_ENGINES(suite)                                                                     \
  INSTANTIATE_TEST_SUITE_P(                                                                               \
      Engines, suite, ::testing::Values(StorageUnderTest::kWiredTiger, StorageUnderTest::kDeterministic), \
      [](const auto& info) { return info.param == StorageUnderTest::kWiredTiger ? "WiredTiger" : "Deterministic"; })

}  // namespace troupe::storage
