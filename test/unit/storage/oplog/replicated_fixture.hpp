#pragma once
#include <memory>
#include <string>

#include "storage/operation/operation_context.hpp"
#include "storage/oplog/replicated_writes.hpp"
#include "test/unit/storage/catalog/catalog_fixture.hpp"

namespace troupe::storage {

/// The storage of a member of a replica set that is primary in term 1, with the collection test.c, and an operation
/// that writes to it.
class ReplicatedFixture : public CatalogFixture {
 protected:
  ReplicatedFixture() {
    replicated = true;
    restart();
    startClock();
    begin();
    EXPECT_TRUE(inUnit([&] { return createCollection(*catalog, rec(), {"test", "c"}, {}).status(); }).isOK());
  }
  ~ReplicatedFixture() override { operation.reset(); }

  /// No operation may be there.
  void startClock() {
    writes = std::make_unique<ReplicatedWrites>([this] { return seconds; });
    writes->fence.open(1);
  }
  /// Another operation.
  void begin() { operation = std::make_unique<OperationContext>(services()); }
  OperationServices services() { return {.sessions = *pool, .replicated = writes.get()}; }
  RecoveryUnit& rec() { return operation->recoveryUnit(); }

  template <class Body>
  Status inUnit(const Body& body, UnitLogging logging = UnitLogging::kEach) {
    WriteUnitOfWork work(rec(), logging);
    TROUPE_TRY(body());
    return work.commit();
  }
  Status insertOne(int id, const char* ns = "test.c") {
    return inUnit([&] { return current(ns)->insert(rec(), bson::doc("_id", id)).status(); });
  }
  /// Of another operation, which commits meanwhile.
  Status insertOneElsewhere(int id) {
    OperationContext other(services());
    WriteUnitOfWork work(other.recoveryUnit());
    TROUPE_TRY(current()->insert(other.recoveryUnit(), bson::doc("_id", id)).status());
    return work.commit();
  }
  /// How many documents a read at that time finds.
  int64_t countAt(bson::Timestamp time, const char* ns = "test.c") {
    OperationContext reader({.sessions = *pool});
    EXPECT_TRUE(reader.recoveryUnit().setReadSource(ReadSource::kProvided, time).isOK());
    auto cursor = current(ns)->records().cursor(reader.recoveryUnit());
    EXPECT_TRUE(cursor.isOK()) << cursor.status().toString();
    int64_t count = 0;
    while (*cursor->next()) ++count;
    return count;
  }
  bson::Timestamp at(uint32_t increment) const { return {seconds, increment}; }

  uint32_t seconds = 1000;
  std::unique_ptr<ReplicatedWrites> writes;
  std::unique_ptr<OperationContext> operation;
};

}  // namespace troupe::storage
