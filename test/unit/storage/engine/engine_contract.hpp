#pragma once
#include <algorithm>

#include "test/unit/storage/engine/engine_harness.hpp"

namespace troupe::storage {

/// Makes the implementation under test.
struct EngineKind {
  const char* name;
  std::unique_ptr<EngineHarness> (*make)();
};

/// Every implementation of the contract.
inline auto engineKinds() {
  using Made = std::unique_ptr<EngineHarness>;
  return testing::Values(
      EngineKind{"WiredTiger", []() -> Made { return std::make_unique<WiredTigerHarness>(); }},
      EngineKind{"Deterministic", []() -> Made { return std::make_unique<DeterministicHarness>(); }});
}
inline std::string engineKindName(const testing::TestParamInfo<EngineKind>& info) { return info.param.name; }

/// A fresh engine with an empty logged table "t".
class EngineContract : public testing::TestWithParam<EngineKind> {
 protected:
  EngineContract() : harness_(GetParam().make()) { table_ = create("t", true); }

  EngineHarness& harness() { return *harness_; }
  Engine& engine() { return harness_->engine(); }
  const Table& table() const { return table_; }
  Table create(std::string_view ident, bool logged) {
    auto created = engine().createTable(ident, {.logged = logged, .blockCompressor = "snappy", .appMetadata = ""});
    EXPECT_TRUE(created.isOK()) << created.status().toString();
    return created.isOK() ? *created : Table{};
  }
  Table open(std::string_view ident) {
    auto opened = engine().openTable(ident);
    EXPECT_TRUE(opened.isOK()) << opened.status().toString();
    return opened.isOK() ? *opened : Table{};
  }
  /// Commits rows key -> key + "!".
  void fill(const std::vector<std::string>& keys) {
    Transaction t(engine(), table_);
    for (const std::string& key : keys) t.put(key, key + "!");
    EXPECT_TRUE(t.commit().isOK());
  }
  /// Commits one row with a time.
  void commit(const Table& table, std::string_view key, std::string_view value, uint64_t ts) {
    EXPECT_TRUE(Transaction(engine(), table).commitAt(ts).put(key, value).commit().isOK());
  }
  std::string rows(const Table& table) { return Transaction(engine(), table).rows(); }
  std::string rowsAt(const Table& table, uint64_t ts) {
    Transaction t(engine(), table, {.readTimestamp = at(ts)});
    return t.begun().isOK() ? t.rows() : errorName(t.begun().code());
  }

 private:
  std::unique_ptr<EngineHarness> harness_;
  Table table_;
};

}  // namespace troupe::storage
