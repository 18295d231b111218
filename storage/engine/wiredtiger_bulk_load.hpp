#pragma once
#include <memory>

#include "storage/engine/wiredtiger_connection.hpp"

namespace troupe::storage {

/// A BulkLoad by a bulk cursor of WiredTiger, which writes pages as they fill, and keeps everybody else out of the
/// table. Internal to the WiredTiger engine.
class WiredTigerBulkLoad final : public BulkLoad {
 public:
  /// Errors: ObjectIsBusy; IllegalOperation (rows are there); the engine's.
  static StatusWith<std::unique_ptr<BulkLoad>> begin(std::shared_ptr<WiredTigerConnection> connection,
                                                     const Table& table);
  ~WiredTigerBulkLoad() override;
  Status add(std::string_view key, std::string_view value) override;
  Status finish() override;

 private:
  WiredTigerBulkLoad(std::shared_ptr<WiredTigerConnection> connection, std::string ident)
      : connection_(std::move(connection)), session_(*connection_), ident_(std::move(ident)) {}

  const std::shared_ptr<WiredTigerConnection> connection_;
  ScopedWtSession session_;
  const std::string ident_;
  WT_CURSOR* cursor_ = nullptr;
};

}  // namespace troupe::storage
