#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "messaging/bson/document.hpp"
#include "storage/query/pipeline/stage.hpp"

namespace troupe::query {

/// A database and a collection; the collection is empty for database-level aggregation (`aggregate: 1`).
struct CollectionName {
  std::string db;
  std::string collection;
  std::string full() const { return db + "." + collection; }
  bool operator==(const CollectionName&) const = default;
};

/// What a pipeline does with a namespace that it names. The command layer knows which privileges each use takes.
enum class NamespaceUse : uint8_t {
  kNothing,               ///< $documents: the name is not looked at
  kSessions,              ///< $listSessions, $listLocalSessions: neither here, but the rights on sessions
  kNamedSessions,         ///< the same where they are told whose sessions to list
  kRead,                  ///< a scan of its documents
  kCollectionStatistics,  ///< $collStats
  kIndexStatistics,       ///< $indexStats
  kPlanCache,             ///< $planCacheStats
  kOperations,            ///< $currentOp
  kActors,                ///< $actors
  kCatalog,               ///< $listCatalog, $listClusterCatalog
  kInternal,              ///< $_internalFindAndModifyImageLookup: for servers alone
  kReplace,               ///< $out
  kInsert,                ///< $merge adds documents
  kUpdate,                ///< $merge changes documents
};

/// What a stage that makes its documents itself does with the namespace of its pipeline; nothing for other stages.
std::optional<NamespaceUse> useOfSource(std::string_view stage);

/// A namespace that a stage names, and what it does there.
struct NamedCollection {
  CollectionName name;
  NamespaceUse use;
};

struct ParseContext;

/// Parts of a pipeline pushed down to the scan that feeds it.
struct PushDown {
  bson::Document filter;  ///< a match document; empty means all; its $expr may use variables of `parse->let`
  bson::Document sort;    ///< a sort pattern; empty means any order
  int64_t skip = 0;
  std::optional<int64_t> limit;  ///< after skip; 0 asks for nothing
  const ParseContext* parse =
      nullptr;    ///< what to parse filter and sort with (collation, variables); outlives the scan
  int depth = 0;  ///< nesting of the pipeline that scans: a view it scans may join itself
};

/// How far an index makes sure that documents differ in some fields.
enum class UniqueIndex {
  kNone,
  kWithoutNull,  ///< a sparse index: only among documents that have the fields
  kWhole,
};

/// Where $out collects its result: a temporary collection that replaces the target when `finish` is called.
class OutWriter {
 public:
  virtual ~OutWriter() = default;
  virtual Status insert(bson::View document) = 0;
  virtual Status finish() = 0;
};

/// All that a pipeline needs of the world; implemented by the command layer (and by tests). Called by the thread that
/// runs the pipeline. Outlives it.
class PipelineEnvironment {
 public:
  virtual ~PipelineEnvironment() = default;

  /// Documents of a collection or view, filtered, sorted and limited as asked ($lookup, $graphLookup, $unionWith).
  /// A collection that does not exist is empty.
  virtual StatusWith<StagePtr> scan(const CollectionName& from, const PushDown& request) = 0;

  /// The documents of a special source stage: $collStats, $indexStats, $currentOp, $listCatalog, $listSessions,
  /// $listLocalSessions, $planCacheStats, $actors. `specification` is the stage's element. Errors: as the stage says.
  virtual StatusWith<StagePtr> openSource(const CollectionName& on, const bson::Element& specification) = 0;

  /// $out: a writer whose result replaces `target` atomically.
  virtual StatusWith<std::unique_ptr<OutWriter>> openOut(const CollectionName& target) = 0;

  /// $merge: the best unique index exactly over these fields (in any order), of the pipeline's collation. `_id` alone
  /// always has one.
  virtual StatusWith<UniqueIndex> uniqueIndex(const CollectionName& on, const std::vector<std::string>& fields) = 0;
  /// $merge: changes the one document that matches `query`: `change` gets it and returns its new version, or nothing
  /// to leave it; it may be called again after a write conflict. False when nothing matches.
  /// DocumentValidationFailure when the target's validator refuses the new version.
  using Change = std::function<StatusWith<std::optional<bson::Document>>(bson::View existing)>;
  virtual StatusWith<bool> modifyOne(const CollectionName& in, bson::View query, const Change& change) = 0;
  /// $merge: adds a document. Errors: DuplicateKey when it exists, DocumentValidationFailure.
  virtual Status insert(const CollectionName& into, bson::View document) = 0;

  /// After a failure of openOut, modifyOne, insert or an OutWriter: true when the same call is to be made again once
  /// the pipeline has yielded, for it met a conflict with another writer. The command that pulls waits as long as that
  /// needs.
  virtual bool mayTryAgain(const Status& failure) {
    (void)failure;
    return false;
  }

  /// Around a batch of writes: the reading stages have given up their cursors, and take them again afterwards. Reads
  /// and writes of an operation share one recovery unit, so the snapshot of the reads ends here and begins anew there.
  virtual void beginWrites() {}
  virtual Status endWrites() { return Status::OK(); }

  /// True when the operation has to stop (killed, time limit); asked regularly by blocking stages.
  virtual Status checkInterrupt() { return Status::OK(); }
};

}  // namespace troupe::query
