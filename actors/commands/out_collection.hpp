#pragma once
#include <memory>

#include "actors/commands/pipeline_environment.hpp"
#include "actors/commands/write_support.hpp"

namespace troupe::commands {
using namespace server;

/// Writer of $out: documents go into a temporary collection with the options and indexes of the target, whose place it
/// takes at the end. Used by the command that runs the pipeline, on its operation; outlived by the environment and the
/// query's resources. A killed process leaves the temporary collection behind; the next start removes it
/// (actors/maintenance/discard_temporary.hpp).
class OutCollection final : public query::OutWriter {
 public:
  /// Makes the temporary collection. Errors: 17152 (the target is capped), CommandNotSupportedOnView, those of creating
  /// collections and indexes.
  static StatusWith<std::unique_ptr<query::OutWriter>> open(CommandPipelineEnvironment& environment,
                                                            QueryResources& query, AuthorizedNamespace target,
                                                            bool bypassValidation);
  /// Drops the temporary collection unless `finish` succeeded: a last stage that writes is never left for another
  /// command, so the operation is still there. Its locks may have been given up (a killed yield), so it drops only if
  /// the lock can be had at once. Else, and on a node that has stepped down, the collection stays, marked as temporary.
  ~OutCollection() override;

  /// Errors: DuplicateKey, DocumentValidationFailure, OutOfDiskSpace, those of documentToStore; QueryPlanKilled when
  /// the temporary collection was dropped or changed, with its database or by its name.
  Status insert(bson::View document) override;
  /// Errors: QueryPlanKilled, as above; CommandFailed when the target's options or indexes have changed since `open`.
  Status finish() override;

 private:
  OutCollection(CommandPipelineEnvironment& environment, QueryResources& query, AuthorizedNamespace target)
      : environment_(environment), query_(query), server_(query.server), target_(std::move(target)) {}
  Status make();
  Status checkTemporaryIsThere() const;
  Status checkTargetUnchanged() const;

  CommandPipelineEnvironment& environment_;
  QueryResources& query_;
  ServerContext& server_;
  AuthorizedNamespace target_;
  storage::CollectionPtr replaced_;   ///< the target as it was at the beginning; null where there was none
  storage::CollectionPtr temporary_;  ///< null until it is made, and after it took the target's place
  DocumentValidator validator_;
};

}  // namespace troupe::commands
