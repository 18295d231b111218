#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "storage/query/pipeline/environment.hpp"

namespace troupe::cases {

/// A source of documents that yields between any two of them, as a collection scan may.
class MemoryRows final : public query::Stage {
 public:
  explicit MemoryRows(std::vector<bson::Document> rows) : rows_(std::move(rows)) {}
  StatusWith<query::Next> next() override;
  std::string_view name() const override { return "rows"; }
  void serialize(bson::Builder&) const override {}

 private:
  std::vector<bson::Document> rows_;
  size_t at_ = 0;
  bool yields_ = true;
};

/// Collections in memory, by name, for the stages that read or write others than their own. `_id` is the only unique
/// index, but for a sparse one on a field of that name. One thread.
class MemoryCollections final : public query::PipelineEnvironment {
 public:
  std::map<std::string, std::vector<bson::Document>> collections;

  StatusWith<query::StagePtr> scan(const query::CollectionName& from, const query::PushDown& request) override;
  StatusWith<query::StagePtr> openSource(const query::CollectionName& on, const bson::Element& specification) override;
  StatusWith<std::unique_ptr<query::OutWriter>> openOut(const query::CollectionName& target) override;
  StatusWith<query::UniqueIndex> uniqueIndex(const query::CollectionName& on,
                                             const std::vector<std::string>& fields) override;
  StatusWith<bool> modifyOne(const query::CollectionName& in, bson::View query, const Change& change) override;
  Status insert(const query::CollectionName& into, bson::View document) override;
};

}  // namespace troupe::cases
