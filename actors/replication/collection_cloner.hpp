#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "actors/replication/sync_attempt.hpp"
#include "storage/catalog/collection_load.hpp"
#include "storage/catalog/collection_options.hpp"
#include "storage/catalog/index_builder.hpp"
#include "storage/catalog/namespace.hpp"

namespace troupe::replication {

/// A collection or view of another member, as listCollections shows it there.
struct ListedCollection {
  storage::Namespace ns;
  storage::CollectionOptions options;  ///< with the UUID, where it is no view

  /// Errors: FailedToParse, those of parseCollectionOptions.
  static StatusWith<ListedCollection> parse(std::string_view database, bson::View row);
};

/// Copies one collection of the source: its options and UUID, its documents in the order of their records, and its
/// indexes, unless the member builds none. A large plain collection is filled (storage::CollectionLoad) as far as
/// memory allows, others are written to in units of work. While it is copied it changes, is renamed or dropped; the log
/// says what became of it, so what has been copied of a collection that is gone does not matter. Where the source
/// breaks off the copy goes on behind the last batch that came. Where that place is unknown (clustered collections; a
/// source whose data were copied anew) the collection is read from the beginning: one that is being filled is made
/// anew, and in others only that is changed which has changed since. Made with make_shared; on the attempt's thread.
class CollectionCloner : public std::enable_shared_from_this<CollectionCloner> {
 public:
  CollectionCloner(std::shared_ptr<SyncAttempt> attempt, ListedCollection listed)
      : attempt_(std::move(attempt)), listed_(std::move(listed)) {}

  /// May be repeated. Errors: those of SourcePatience::wait; those of storage; what the source gave is not to be used.
  Task<Status> run();

 private:
  /// The indexes that the source lists; those that are being built there have the UUID of their build.
  struct ListedIndexes {
    std::vector<storage::IndexSpec> finished;
    std::map<bson::Uuid, std::vector<storage::IndexSpec>> unfinished;
  };
  using Body = std::function<Status(storage::RecoveryUnit&)>;

  std::string nameOfIt() const { return listed_.ns.toString(); }
  Task<Status> makeCollection();
  Task<void> countOnSource();
  Task<Status> copyContents();
  /// Copies documents and indexes, from the position on.
  Task<Status> copyOnce(SourcePatience* patience, std::vector<storage::IndexSpec> specs);
  Task<Status> readAll(SourcePatience* patience);
  bson::Document findFromPosition() const;
  Task<Status> take(std::vector<bson::View> documents);
  Task<Status> writeBatch(std::vector<bson::View> documents);
  void noteBatch(std::span<const bson::View> documents) const;
  /// Where the collection is to be filled; its indexes are begun before.
  Task<Status> beginLoad(std::vector<storage::IndexSpec> specs);
  Task<Status> endLoad();
  /// Makes the collection anew, to be read from the beginning: what was filled half is of no use.
  Task<Status> discardLoad();
  Task<Status> finishIndexes();
  Task<Status> blocking(const char* what, std::function<Status()> work);
  std::string pathOf(std::string_view what) const;
  /// CopyWrite.
  Task<Status> write(storage::LockMode mode, Body body, std::optional<size_t> bytes = 0) const;
  Task<StatusWith<ListedIndexes>> listIndexes();
  StatusWith<ListedIndexes> parseIndexes(const std::vector<bson::Document>& rows) const;
  Task<Status> build(std::vector<storage::IndexSpec> specs);
  Task<Status> beginUnfinished(std::map<bson::Uuid, std::vector<storage::IndexSpec>> builds);

  // In functions of their own: coroutines.md.
  std::function<Status()> beginning();
  std::function<Status()> finishing();
  std::vector<Future<Status>> finishingIndexes();
  Body removingReplaced() const;
  Body dropping() const;
  Body creating() const;
  /// Writes the first `count` documents.
  Body putting(std::span<const bson::View> documents, size_t count) const;
  Body starting(storage::IndexBuilder& builder) const;
  Body stepping(storage::IndexBuilder& builder, bool& atEnd) const;
  Body committing(storage::IndexBuilder& builder) const;
  storage::LockMode lockOfDocuments() const {
    return listed_.options.capped ? storage::LockMode::kX : storage::LockMode::kIX;
  }
  bson::Date wallNow() const;
  /// How many of the documents one unit of work takes.
  size_t fitting(std::span<const bson::View> documents) const;
  /// Those that this node does not have yet.
  std::vector<storage::IndexSpec> missing(std::vector<storage::IndexSpec> specs) const;

  const std::shared_ptr<SyncAttempt> attempt_;
  const ListedCollection listed_;
  int64_t onSource_ = 0;                           ///< documents there, as far as it is known
  bson::Document position_;                        ///< `$_startAt` of the next find; empty: the beginning
  std::optional<storage::IndexBuilder> builder_;   ///< of indexes that were begun before the documents
  std::unique_ptr<storage::CollectionLoad> load_;  ///< while the collection is filled
};

}  // namespace troupe::replication
