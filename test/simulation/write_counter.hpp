#pragma once
#include <cstdint>

#include "storage/catalog/write_observer.hpp"

namespace troupe::sim {

/// Counts the writes of documents on a node, so that it can be told whether something was written between two moments.
class WriteCounter final : public storage::WriteObserver {
 public:
  uint64_t count() const { return count_; }

  bool observes(const storage::CatalogEntry&) const override { return true; }
  Status onInsert(storage::RecoveryUnit&, const storage::Collection&, const storage::InsertOperation&) override {
    return counted();
  }
  Status onUpdate(storage::RecoveryUnit&, const storage::Collection&, const storage::UpdateOperation&) override {
    return counted();
  }
  Status onRemove(storage::RecoveryUnit&, const storage::Collection&, const storage::RemoveOperation&) override {
    return counted();
  }

 private:
  Status counted() {
    ++count_;
    return Status::OK();
  }
  uint64_t count_ = 0;
};

}  // namespace troupe::sim
