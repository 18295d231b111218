#pragma once
#include <wiredtiger.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/engine/engine.hpp"
#include "storage/engine/wiredtiger_connection.hpp"

namespace troupe::storage {

/// A backup cursor, which pins what it lists until its session closes it. Internal to the WiredTiger engine.
class WiredTigerBackup final : public Backup {
 public:
  WiredTigerBackup(std::shared_ptr<WiredTigerConnection> connection, WT_SESSION* session, Timestamp checkpoint)
      : connection_(std::move(connection)), session_(session), checkpoint_(checkpoint) {}
  ~WiredTigerBackup() override {
    if (connection_->get()) session_->close(session_, nullptr);
  }
  /// ObjectIsBusy while there is another.
  Status open();
  const std::vector<std::string>& files() const override { return files_; }
  Timestamp checkpointTimestamp() const override { return checkpoint_; }
  StatusWith<std::vector<std::string>> logFiles() override;

 private:
  Status list(WT_CURSOR* cursor, std::vector<std::string>& files);

  std::shared_ptr<WiredTigerConnection> connection_;
  WT_SESSION* session_;
  WT_CURSOR* cursor_ = nullptr;
  Timestamp checkpoint_;
  std::vector<std::string> files_;
};

}  // namespace troupe::storage
