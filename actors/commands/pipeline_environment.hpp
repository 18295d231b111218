#pragma once
#include "actors/commands/query_support.hpp"
#include "actors/commands/request.hpp"
#include "storage/query/pipeline/environment.hpp"

namespace troupe::commands {

/// What the stages of a pipeline use of this node: other collections ($lookup, $unionWith), targets ($out, $merge) and
/// views of the server's inside ($collStats, $currentOp, $actors ...). Lives as long as the pipeline. Writers rely on
/// the locks the aggregate command holds for the target.
class CommandPipelineEnvironment final : public query::PipelineEnvironment {
 public:
  CommandPipelineEnvironment(const Request& request, QueryResources& resources);

  /// Keeps the stages' bytes for as long as the pipeline lives.
  void keep(bson::Document stages) { stages_ = std::move(stages); }
  bson::View stages() const { return stages_; }

  StatusWith<query::StagePtr> scan(const query::CollectionName& from, const query::PushDown& request) override;
  StatusWith<query::StagePtr> openSource(const query::CollectionName& on, const bson::Element& specification) override;
  StatusWith<std::unique_ptr<query::OutWriter>> openOut(const query::CollectionName& target) override;
  StatusWith<bool> hasUniqueIndex(const query::CollectionName& on, const std::vector<std::string>& fields) override;
  StatusWith<bool> modifyOne(const query::CollectionName& in, bson::View query, const Change& change) override;
  Status insert(const query::CollectionName& into, bson::View document) override;

 private:
  StatusWith<storage::CollectionPtr> target(const query::CollectionName& name);

  QueryResources& resources_;
  ServerContext& server_;
  bson::Document stages_;
  bool mayInspect_ = false;  ///< the client may look at the server's inside
};

}  // namespace troupe::commands
