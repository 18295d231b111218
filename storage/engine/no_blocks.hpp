#pragma once
#include <utility>

#include "storage/engine/engine.hpp"

namespace troupe::storage {

/// The check of a table of an engine without a disk: done at once, with a finding that is given.
class NoBlocks final : public BlockCheck {
 public:
  explicit NoBlocks(Status finding) : finding_(std::move(finding)) {}
  StatusWith<bool> step(int64_t /*bytes*/) override {
    TROUPE_TRY(finding_);
    return true;
  }
  int64_t bytesRead() const override { return 0; }
  int64_t blocksRead() const override { return 0; }

 private:
  const Status finding_;
};

}  // namespace troupe::storage
