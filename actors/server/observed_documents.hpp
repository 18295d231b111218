#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "actors/server/rights_collection.hpp"
#include "messaging/bson/document.hpp"
#include "storage/catalog/write_observer.hpp"

namespace troupe::server {

/// Signing keys of cluster times, and the default concerns of a replica set.
inline const storage::Namespace kSigningKeys("admin", "system.keys");
inline const storage::Namespace kSettings("config", "settings");

/// The documents of a small collection in memory, for what every request asks for. They are read once; each change that
/// is committed afterwards is taken from the write itself, on a primary as on a member that carries out the log: there
/// a reader would not see it before its batch has ended. Thread-safe.
class ObservedDocuments final : public storage::WriteObserver {
 public:
  struct Known {
    bson::Document document;
    bson::Timestamp since;  ///< when it was written, or no earlier than that; zero on a node that stands alone
  };
  using All = std::map<std::string, Known>;  ///< by the bytes of their `_id`

  /// `only`: the text that is the `_id` of the one document that counts; empty: all do.
  explicit ObservedDocuments(storage::Namespace ns, std::string_view only = {});

  /// Where they are read from, at once if they can be; before the first `all`.
  void attach(RightsCollection stored);
  /// Grows with each change.
  uint64_t version() const { return version_.load(std::memory_order_acquire); }
  /// Errors: those of RightsCollection, while they are not known after `attach` or `forgetAll`.
  StatusWith<std::shared_ptr<const All>> all();
  /// What was committed may have been undone: they are read again.
  void forgetAll();

  bool observes(const storage::CatalogEntry& entry) const override;
  Status onInsert(storage::RecoveryUnit& unit, const storage::Collection& collection,
                  const storage::InsertOperation& inserted) override;
  Status onUpdate(storage::RecoveryUnit& unit, const storage::Collection& collection,
                  const storage::UpdateOperation& updated) override;
  Status onRemove(storage::RecoveryUnit& unit, const storage::Collection& collection,
                  const storage::RemoveOperation& removed) override;
  Status onTruncate(storage::RecoveryUnit& unit, const storage::Collection& collection, const OpTime& slot) override;
  Status onDrop(storage::RecoveryUnit& unit, const storage::Collection& collection, const OpTime& slot) override;
  Status onRename(storage::RecoveryUnit& unit, const storage::RenameOperation& renamed) override;

 private:
  bool counts(const std::string& key) const { return only_.empty() || key == only_; }
  void putOnCommit(storage::RecoveryUnit& unit, bson::View document);
  void put(bson::Document document, std::optional<bson::Timestamp> at);
  void remove(const std::string& key, std::optional<bson::Timestamp> at);
  void clear(std::optional<bson::Timestamp> at);
  /// With the lock held: whether a change of that time has been overtaken by a later one.
  bool isOvertaken(const std::string& key, std::optional<bson::Timestamp> at) const;
  /// With the lock held: a change of what others may hold.
  All& changing();

  const storage::Namespace ns_;
  const std::string only_;
  std::optional<RightsCollection> stored_;
  std::atomic<uint64_t> version_{1};
  std::mutex mutex_;
  std::shared_ptr<All> known_ = std::make_shared<All>();
  /// When documents were removed: of two commits the later one may be told first, and a reader may still see them.
  std::map<std::string, bson::Timestamp> removed_;
  bson::Timestamp clearedAt_;  ///< when all were removed
  bool isComplete_ = false;    ///< what was there before the first observed change has been read
};

}  // namespace troupe::server
