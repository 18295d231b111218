#pragma once
#include <chrono>
#include <optional>
#include <utility>

#include "actors/commands/inspection.hpp"
#include "actors/commands/listed_rows.hpp"
#include "actors/commands/query_support.hpp"
#include "actors/commands/session_listing.hpp"
#include "actors/commands/write_support.hpp"
#include "actors/server/namespace_resolution.hpp"
#include "actors/server/request.hpp"
#include "actors/storage/collection_writer.hpp"
#include "storage/query/pipeline/environment.hpp"

namespace troupe::commands {
using namespace server;

/// Services of this node for the stages of a pipeline: other collections ($lookup, $unionWith), targets ($out, $merge)
/// and views of the server's inside ($collStats, $currentOp, $actors ...). Lives as long as the pipeline. Writers rely
/// on the locks the aggregate command holds for the target.
class CommandPipelineEnvironment final : public query::PipelineEnvironment {
 public:
  CommandPipelineEnvironment(const Request& request, QueryResources& resources);

  /// Keeps the stages' bytes for as long as the pipeline lives.
  void keep(bson::Document stages) { stages_ = std::move(stages); }
  bson::View stages() const { return stages_; }
  /// What the stages may open. Filled while the aggregation is prepared; views that are met later add what they name.
  PipelineNamespaces& namespaces() { return namespaces_; }
  /// What a view names, which no client asked for. Errors: those of checkRole.
  Status admitFromView(std::span<const query::NamedCollection> named);
  /// The target of $out or $merge. Errors: Unauthorized when it was not admitted.
  StatusWith<AuthorizedNamespace> outputTarget(const query::CollectionName& name) const;

  StatusWith<query::StagePtr> scan(const query::CollectionName& from, const query::PushDown& request) override;
  StatusWith<query::StagePtr> openSource(const query::CollectionName& on, const bson::Element& specification) override;
  StatusWith<std::unique_ptr<query::OutWriter>> openOut(const query::CollectionName& target) override;
  StatusWith<query::UniqueIndex> uniqueIndex(const query::CollectionName& on,
                                             const std::vector<std::string>& fields) override;
  StatusWith<bool> modifyOne(const query::CollectionName& in, bson::View query, const Change& change) override;
  Status insert(const query::CollectionName& into, bson::View document) override;
  bool mayTryAgain(const Status& failure) override;
  void beginWrites() override;
  Status endWrites() override;
  Status checkInterrupt() override;

  /// How long the conflict that `mayTryAgain` was last asked about has to be waited for; once.
  std::optional<std::chrono::milliseconds> takeWait() { return std::exchange(wait_, {}); }
  /// Runs `body` in a unit of work over the newest data, whatever the pipeline reads, and commits it; a conflict is the
  /// caller's, see mayTryAgain.
  template <class Body>
  Status writeOnce(storage::RecoveryUnit& unit, const Body& body) {
    const Status status = writer().once(body);
    if (status.isOK()) retry_.reset();
    else unit.abandonSnapshot();
    return status;
  }

 private:
  CollectionWriter writer() { return {server_.writes, *resources_.operation}; }
  StatusWith<storage::CollectionPtr> target(const query::CollectionName& name);
  StatusWith<const DocumentValidator*> validatorOf(const storage::CollectionPtr& target);
  /// $listSessions and $listLocalSessions.
  StatusWith<query::StagePtr> openSessions(std::string_view stage, bson::View options);
  /// The rows of $currentOp or $actors.
  Status addNodeRows(std::string_view stage, bson::View options, ListedRows& rows) const;
  StatusWith<query::StagePtr> scanNamespace(const AuthorizedNamespace& ns, const query::PushDown& request);
  StatusWith<query::StagePtr> scanView(const AuthorizedNamespace& ns, const query::PushDown& request);

  QueryResources& resources_;
  ServerContext& server_;
  bson::Document stages_;
  PipelineNamespaces namespaces_;
  std::optional<storage::ConflictRetry> retry_;  ///< of the write that meets conflicts
  std::optional<std::chrono::milliseconds> wait_;
  storage::CollectionPtr validated_;  ///< the version of $merge's target that `validator_` is of
  DocumentValidator validator_;
  bool bypassesValidation_ = false;
  const bool fromSecondaries_;  ///< the client that opened the pipeline reads from those
  SessionViewer viewer_;
  OperationQuery ownOperations_;                 ///< selects those of the client's users
  std::optional<CatalogInspection> inspection_;  ///< the client may look at the server's inside
};

}  // namespace troupe::commands
