#pragma once
#include <optional>

#include "actors/commands/ddl_support.hpp"

namespace troupe::commands {
using namespace server;

/// Copies the documents of one collection into another one, oldest first. They go into a temporary collection, which
/// then takes the place of the target in one step: the target is there with all that it can hold, or nothing has
/// changed. A temporary collection that could not be removed after a failure is logged; the next start removes it. The
/// caller holds the exclusive locks of source and target throughout, and this object in its frame.
class CollectionCopy {
 public:
  CollectionCopy(Request& request, storage::CollectionPtr source, AuthorizedNamespace target)
      : request_(request), source_(std::move(source)), target_(std::move(target)) {}

  struct Wanted {
    storage::CollectionOptions options;  ///< of the new collection
    bool withIndexes = false;            ///< also those beside the one of `_id`
    bool replaces = false;               ///< a collection in the target's place is dropped
    bool dropsSource = false;            ///< in the same step
  };
  /// Errors: IllegalOperation (a source that only the server writes), NamespaceExists,
  /// BackgroundOperationInProgressForNamespace (an index that is to be copied is being built), OutOfDiskSpace, those of
  /// writing and of an operation that has to end.
  Task<Status> run(Wanted wanted);

 private:
  storage::RecoveryUnit& unit() { return request_.operation().recoveryUnit(); }
  Task<Status> make(AuthorizedNamespace name, const Wanted& wanted);
  Status makeOnce(const AuthorizedNamespace& name, const Wanted& wanted);
  Task<Status> copy();
  Status copyBatch();
  Task<Status> takePlace(const Wanted& wanted);
  Status takePlaceOnce(const Wanted& wanted);
  void discard();

  Request& request_;
  const storage::CollectionPtr source_;
  const AuthorizedNamespace target_;
  storage::CollectionPtr made_;                   ///< temporary
  std::optional<storage::RecordId> last_, next_;  ///< copied, and copied once the unit of work has committed
  bool isDone_ = false;
};

}  // namespace troupe::commands
