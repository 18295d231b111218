#pragma once
#include <deque>

#include "storage/query/pipeline/stages.hpp"

namespace troupe::query {

/// The base of $out and $merge: a last stage that reads everything at the first pull and gives no results. Documents
/// are gathered while the input is open and written while it is saved, a batch at a time.
class OutputStage : public Stage {
 public:
  StatusWith<Next> next() override;
  void save() override;
  Status restore() override;
  void serialize(bson::Builder& stages) const override { stages.push(shown_); }
  StageTraits traits() const override { return {.last = true, .writes = true, .blocking = true, .inFacet = false}; }
  const CollectionName& target() const { return target_; }
  /// Databases that the server keeps for itself: no pipeline writes there.
  static bool isInternal(std::string_view db);

 protected:
  OutputStage(bson::Document shown, CollectionName target, PipelineContext context)
      : shown_(std::move(shown)), target_(std::move(target)), context_(std::move(context)) {}
  virtual Status begin() = 0;
  virtual Status write(bson::View document) = 0;
  /// After the last document of a batch; a failure ends the pipeline.
  virtual Status endBatch() { return Status::OK(); }
  virtual Status finish() = 0;

  bson::Document shown_;
  CollectionName target_;
  PipelineContext context_;

 private:
  enum class Step { kBegin, kRead, kWrite, kFinish, kDone };
  StatusWith<Next::Kind> gather();
  Status writeBatch();
  Status write();

  Step step_ = Step::kBegin;
  std::deque<bson::Document> batch_;  ///< read and not yet written
  size_t batchBytes_ = 0;
  bool inputEnded_ = false;
  bool inputSaved_ = false;
};

}  // namespace troupe::query
