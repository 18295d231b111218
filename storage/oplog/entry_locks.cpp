#include "storage/oplog/entry_locks.hpp"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "storage/oplog/logged_command.hpp"

namespace troupe::storage {

namespace {

std::string databaseNamed(std::string_view ns) { return std::string(ns.substr(0, ns.find('.'))); }

/// Collects the locks of one operation after the other.
class LockList {
 public:
  LockList(const CatalogSnapshot& catalog, ApplyMode mode) : catalog_(catalog), mode_(mode) {}

  Status add(const LoggedOperation& operation) {
    if (operation.kind == OplogKind::kNoop) return Status::OK();
    if (operation.kind != OplogKind::kCommand) {
      if (operation.uuid) locks_.push_back(documentLock(catalog_, *operation.uuid, operation.ns));
      return Status::OK();
    }
    TROUPE_ASSIGN(const LoggedCommand command, parseCommand(operation));
    return std::visit([&](const auto& each) { return addCommand(operation, each); }, command);
  }
  std::vector<EntryLock> take() && { return std::move(locks_); }

 private:
  Status addCommand(const LoggedOperation&, const LoggedGroup& group) {
    for (const bson::Document& document : group.operations) {
      TROUPE_ASSIGN(const auto each, LoggedOperation::parse(document));
      TROUPE_TRY(add(each));
    }
    return Status::OK();
  }
  Status addCommand(const LoggedOperation& operation, const LoggedDropDatabase&) {
    addDatabase(operation.ns);
    return Status::OK();
  }
  Status addCommand(const LoggedOperation& operation, const LoggedRename& rename) {
    addCollection(operation, rename.from);
    locks_.push_back({ResourceType::kCollection, rename.to, LockMode::kX});
    makeRoom(rename.to);
    return Status::OK();
  }
  template <class Command>
  Status addCommand(const LoggedOperation& operation, const Command& command) {
    addCollection(operation, databaseNamed(operation.ns) + "." + command.collection);
    if constexpr (std::is_same_v<Command, LoggedCreate>) makeRoom(operation.ns);
    return Status::OK();
  }

  void addCollection(const LoggedOperation& operation, std::string named) {
    if (operation.uuid) named = documentLock(catalog_, *operation.uuid, named).name;
    locks_.push_back({ResourceType::kCollection, std::move(named), LockMode::kX});
  }
  void addDatabase(std::string_view ns) {
    locks_.push_back({ResourceType::kDatabase, databaseNamed(ns), LockMode::kX});
  }
  /// A replay puts the collection aside that has a name which the log gives to another one.
  void makeRoom(std::string_view ns) {
    if (mode_ == ApplyMode::kReplaying) addDatabase(ns);
  }

  const CatalogSnapshot& catalog_;
  const ApplyMode mode_;
  std::vector<EntryLock> locks_;
};

/// Each once, in its strongest mode, and none within a database that is locked as a whole.
void reduce(std::vector<EntryLock>& locks) {
  std::ranges::sort(locks);
  std::vector<EntryLock> kept;
  for (EntryLock& each : locks) {
    const auto includes = [&](const EntryLock& other) {
      return other.type == ResourceType::kDatabase && other.name == databaseNamed(each.name);
    };
    if (std::ranges::any_of(kept, includes)) continue;
    if (!kept.empty() && kept.back().type == each.type && kept.back().name == each.name)
      kept.back().mode = covers(each.mode, kept.back().mode) ? each.mode : kept.back().mode;
    else kept.push_back(std::move(each));
  }
  locks = std::move(kept);
}

}  // namespace

EntryLock documentLock(const CatalogSnapshot& catalog, const bson::Uuid& uuid, std::string_view ns) {
  const CollectionPtr collection = catalog.find(uuid);
  if (!collection) return {ResourceType::kCollection, std::string(ns), LockMode::kIX};
  return {ResourceType::kCollection, collection->ns().toString(),
          collection->isCapped() ? LockMode::kX : LockMode::kIX};
}

StatusWith<std::vector<EntryLock>> locksOf(const CatalogSnapshot& catalog, const LoggedOperation& operation,
                                           ApplyMode mode) {
  LockList list(catalog, mode);
  TROUPE_TRY(list.add(operation));
  auto locks = std::move(list).take();
  reduce(locks);
  return locks;
}

}  // namespace troupe::storage
