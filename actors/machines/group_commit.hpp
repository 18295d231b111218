#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "actors/kernel/future.hpp"
#include "actors/machines/storage_access.hpp"
#include "actors/storage/collection_writer.hpp"
#include "messaging/bson/document.hpp"
#include "state_machines/core/step.hpp"
#include "storage/transaction/conflict_retry.hpp"

namespace troupe::machines {

/// The writes of many actors to one collection, in few transactions: those that come while one is being written share
/// the next, and wait for its flush together. If they cannot be written together, each is written by itself, and tried
/// again after conflicts. Written in the order in which they came, but for those; one whose asker has gone away is left
/// out. The collection is made with the first document. To be made with make_shared; any thread.
class GroupCommit : public std::enable_shared_from_this<GroupCommit> {
 public:
  enum class Change {
    kNone,    ///< waits for those before it
    kPut,     ///< the document, in place of the one of its `_id`
    kRemove,  ///< the document of its `_id`; OK when there is none
  };

  GroupCommit(StorageAccess access, storage::Namespace ns) : access_(std::move(access)), ns_(std::move(ns)) {}

  /// Done once it is as safe as asked for. `term`: the one in which the writer serves; in a later one the write fails
  /// with InterruptedDueToReplStateChange, also when it was tried before that one began. None: the writer serves in
  /// every term, which fails with NotWritablePrimary where terms count: on a member, for what is replicated.
  Future<Status> write(bson::Document document, Change change, Durability durability,
                       std::optional<int64_t> term = std::nullopt);
  /// Ends once no write that was handed over before, by any host, can still commit unless its asker waits.
  Task<void> written();

 private:
  struct Write {
    bson::Document document;
    Change change;
    Durability durability;
    std::optional<int64_t> term;
    Promise<Status> done;
    std::unique_ptr<storage::ConflictRetry> retry = nullptr;  ///< of one that is written by itself
  };
  bool isIdle();
  void add(Write write);
  std::vector<Write> takeQueue();
  static std::span<Write> groupAt(std::vector<Write>& writes, size_t begin);
  static Task<void> run(std::shared_ptr<GroupCommit> self);
  static Task<void> addLater(std::shared_ptr<GroupCommit> self, Write write);
  Task<void> commit(std::span<Write> group);
  Task<void> commitOrFail(std::span<Write> group);
  void commitAlone(CollectionWriter& writer, const storage::Collection& collection, storage::RecoveryUnit& unit,
                   Write& write);
  template <class Body>
  Status attempt(CollectionWriter& writer, storage::ConflictRetry& retry, const Body& body);
  Status apply(const storage::Collection& collection, storage::RecoveryUnit& unit, const Write& write);
  Status put(const storage::Collection& collection, storage::RecoveryUnit& unit, bson::View document);
  Status remove(const storage::Collection& collection, storage::RecoveryUnit& unit, bson::View key);
  void answer(std::span<Write> writes, const Status& outcome);

  const StorageAccess access_;
  const WriteServices services_{access_.node, access_.catalog};
  const storage::Namespace ns_;
  std::mutex mutex_;
  std::vector<Write> queue_;
  bool running_ = false;  ///< a coroutine is writing the queue
  /// Where documents were written last, by a hash of their `_id`: guesses, which spare most writes a search of the
  /// index. Used by the running coroutine only.
  std::vector<int64_t> places_ = std::vector<int64_t>(4096);
};

}  // namespace troupe::machines
