#pragma once
#include <algorithm>

#include "actors/replication/replication_progress.hpp"
#include "storage/transaction/write_unit_of_work.hpp"
#include "test/unit/actors/commands/primary_node.hpp"

namespace troupe::commands {

/// Makes the only member of a set, a primary, one that follows others. It stays so.
inline void becomeSecondary(CommandNode& node) {
  const auto reply = node.run(R"({"replSetStepDown": 3600, "force": true})"_json, "admin");
  ASSERT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
  node.node.advance(1s);
  ASSERT_TRUE(node.assembly.membership()->appliesBatches());
}

/// A batch of the log that a secondary is carrying out: what it writes is committed, and not seen by readers before its
/// end. Its entries are in no log.
class BatchInProgress {
 public:
  explicit BatchInProgress(CommandNode& node)
      : node_(node), end_{node.server->progress->applied().term, newest(node)} {}

  /// A unit of work of the batch; `change` gets its recovery unit.
  template <class Change>
  void apply(Change change) {
    storage::OperationContext operation(node_.server->operations, storage::OperationOrigin::kApplier);
    operation.setWriteMode(storage::WriteMode::kApplied);
    ++end_.timestamp.increment;
    operation.setAppliedTime(end_.timestamp);
    storage::RecoveryUnit& unit = operation.recoveryUnit();
    storage::WriteUnitOfWork work(unit);
    const Status changed = change(unit);
    ASSERT_TRUE(changed.isOK()) << changed.toString();
    const Status committed = work.commit();
    ASSERT_TRUE(committed.isOK()) << committed.toString();
  }
  void insert(const storage::Namespace& ns, const bson::Document& document) {
    apply([&](auto& unit) { return collection(ns)->insert(unit, document).status(); });
  }
  void remove(const storage::Namespace& ns, const bson::Value& id) {
    apply([&](auto& unit) -> Status {
      TROUPE_ASSIGN(const auto at, collection(ns)->findById(unit, id.element()));
      TROUPE_ASSIGN(const bson::Document before, stored(unit, ns, *at));
      return collection(ns)->remove(unit, *at, before);
    });
  }
  /// `changed`: what becomes of the document.
  template <class Changed>
  void update(const storage::Namespace& ns, const bson::Value& id, Changed changed) {
    apply([&](auto& unit) -> Status {
      TROUPE_ASSIGN(const auto at, collection(ns)->findById(unit, id.element()));
      TROUPE_ASSIGN(const bson::Document before, stored(unit, ns, *at));
      const bson::Document after = changed(before.view());
      return collection(ns)->update(unit, *at, before, after);
    });
  }
  /// As OplogApplier::moveTimes.
  void end() {
    node_.server->progress->noteApplied(end_);
    node_.node.run();
  }

 private:
  static bson::Timestamp newest(CommandNode& node) {
    return std::max(node.server->operations.replicated->slots.newest(), node.server->progress->lastApplied());
  }
  storage::CollectionPtr collection(const storage::Namespace& ns) const { return node_.catalog->find(ns); }
  StatusWith<bson::Document> stored(storage::RecoveryUnit& unit, const storage::Namespace& ns,
                                    const storage::RecordId& at) const {
    bson::Document found;
    const auto keep = [&](bson::View document) { found = bson::Document(document); };
    TROUPE_TRY(collection(ns)->find(unit, at, keep).status());
    return found;
  }

  CommandNode& node_;
  OpTime end_;  ///< of its last entry so far
};

}  // namespace troupe::commands
