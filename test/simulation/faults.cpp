#include "test/simulation/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "messaging/bson/json.hpp"
#include "storage/catalog/catalog.hpp"
#include "storage/catalog/collection.hpp"
#include "storage/index/index_access.hpp"
#include "storage/oplog/oplog_entry.hpp"
#include "storage/oplog/oplog_store.hpp"
#include "storage/oplog/write_slots.hpp"
#include "supervisors/supervision/supervisor.hpp"
#include "supervisors/tree/data_node.hpp"
#include "test/simulation/state_documents.hpp"

namespace troupe::sim {

namespace {

std::string inMillis(Duration time) {
  return fmt::format("{}ms", std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

/// Without a time, as keys of an index build are written: from then on no reader finds it. False: there is none.
StatusWith<bool> dropRow(const storage::OperationServices& services, const storage::Collection& collection,
                         const storage::IndexEntry& index, uint64_t chance) {
  storage::OperationContext operation(services, storage::OperationOrigin::kApplier);
  operation.setWriteMode(storage::WriteMode::kApplied);
  storage::RecoveryUnit& unit = operation.recoveryUnit();
  std::vector<std::pair<std::string, storage::RecordId>> rows;
  TROUPE_ASSIGN(auto cursor, index.access->cursor(unit));
  TROUPE_ASSIGN(bool found, cursor.next());
  while (found) {
    rows.emplace_back(std::string(cursor.key()), cursor.id());
    TROUPE_ASSIGN(found, cursor.next());
  }
  if (rows.empty()) return false;
  cursor = {};
  unit.abandonSnapshot();
  const auto& [key, record] = rows[chance % rows.size()];
  storage::WriteUnitOfWork work(unit);
  TROUPE_TRY(storage::admitDerived(unit, collection.ns(), {index.access->table().id}));
  TROUPE_ASSIGN(const bool removed, index.access->removeRow(unit, key, record));
  TROUPE_TRY(work.commit());
  return removed;
}

StatusWith<std::vector<std::pair<storage::RecordId, bson::Document>>> recordsOf(const storage::Collection& collection,
                                                                                storage::RecoveryUnit& unit) {
  std::vector<std::pair<storage::RecordId, bson::Document>> records;
  TROUPE_ASSIGN(auto cursor, collection.records().cursor(unit));
  TROUPE_ASSIGN(bool found, cursor.next());
  while (found) {
    records.emplace_back(cursor.id(), bson::Document(cursor.document()));
    TROUPE_ASSIGN(found, cursor.next());
  }
  return records;
}

/// A document that goes without an entry in the log and without a time; none: there was none. Its keys and its count go
/// with it: only a comparison with other members can find that.
StatusWith<std::optional<bson::Document>> dropRecord(const storage::OperationServices& services,
                                                     const storage::Collection& collection, uint64_t chance) {
  storage::OperationContext operation(services, storage::OperationOrigin::kApplier);
  operation.setWriteMode(storage::WriteMode::kApplied);
  storage::RecoveryUnit& unit = operation.recoveryUnit();
  TROUPE_ASSIGN(auto records, recordsOf(collection, unit));
  if (records.empty()) return std::optional<bson::Document>();
  unit.abandonSnapshot();
  auto& [record, document] = records[chance % records.size()];
  std::vector<uint32_t> tables{collection.records().table().id};
  for (const auto& index : collection.indexes()) tables.push_back(index->access->table().id);
  storage::WriteUnitOfWork work(unit);
  TROUPE_TRY(storage::admitDerived(unit, collection.ns(), std::move(tables)));
  for (const auto& index : collection.indexes()) {
    if (!index->covers(document)) continue;
    storage::KeySet keys;
    TROUPE_TRY(storage::keysToRemove(*index, document, keys));
    TROUPE_TRY(index->access->removeKeys(unit, keys, record, {.building = !index->ready}));
  }
  TROUPE_TRY(collection.records().remove(unit, record, document.view().size()));
  TROUPE_TRY(work.commit());
  return std::optional(std::move(document));
}

/// The supervisor may hear of the failure before or after: the actor is set aside in both cases.
Task<void> failAndPark(Node* node, std::string path) {
  node->kill(node->address(path), Status(ErrorCode::kInternalError, "a planted failure"));
  (void)co_await supervisors::controlActor(*node, path, supervisors::ControlAction::kPark, "planted");
}

/// The time of the last entry of each state document, by its `_id`, but for the newest of the log: that one tells the
/// member and those that fetch from it how far they are.
StatusWith<std::map<int64_t, bson::Timestamp>> lastEntries(const storage::OplogStore& log,
                                                           storage::RecoveryUnit& unit) {
  std::map<int64_t, bson::Timestamp> last;
  TROUPE_ASSIGN(auto cursor, log.cursor(unit));
  TROUPE_ASSIGN(bool found, cursor.next());
  bson::Timestamp newest;
  while (found) {
    newest = cursor.time();
    TROUPE_ASSIGN(const auto entry, storage::OplogEntry::parse(cursor.entry()));
    const storage::LoggedOperation& operation = entry.operation;
    const bson::View id = operation.other ? *operation.other : operation.object;
    if (operation.ns == StateDocuments::kNamespace) last[id["_id"].toInt64()] = newest;
    TROUPE_ASSIGN(found, cursor.next());
  }
  std::erase_if(last, [newest](const auto& entry) { return entry.second == newest; });
  return last;
}

/// The document of which the log has lost its last entry; none: there was none.
StatusWith<std::optional<int64_t>> dropLastEntry(const storage::OperationServices& services,
                                                 const storage::OplogStore& log, uint64_t chance) {
  storage::OperationContext operation(services, storage::OperationOrigin::kApplier);
  storage::RecoveryUnit& unit = operation.recoveryUnit();
  TROUPE_ASSIGN(const auto entries, lastEntries(log, unit));
  if (entries.empty()) return std::optional<int64_t>();
  unit.abandonSnapshot();
  const auto& [id, time] = *std::next(entries.begin(), static_cast<std::ptrdiff_t>(chance % entries.size()));
  storage::WriteUnitOfWork work(unit);
  {
    TROUPE_ASSIGN(auto rows, unit.writeCursor(log.table()));
    TROUPE_TRY(rows->remove(storage::OplogKey(time)));
  }
  TROUPE_TRY(work.commit());
  return std::optional(id);
}

}  // namespace

Faults::Faults(const Scenario& scenario, Simulation& cluster, uint64_t seed)
    : scenario_(scenario), cluster_(cluster), random_(seed ^ 0xfa17fa17fa17fa17ull) {}

void Faults::begin() {
  for (size_t i = 0; i < scenario_.faults.size(); ++i) {
    if (scenario_.faults[i].kind == FaultKind::kClockSkew) strike(scenario_.faults[i]);
    else planNext(i);
  }
}

void Faults::planNext(size_t fault) {
  cluster_.at(scenario_.faults[fault].every.draw(random_), [this, fault] {
    if (over_) return;
    strike(scenario_.faults[fault]);
    planNext(fault);
  });
}

void Faults::end() {
  over_ = true;
  effects_.clear();
  applyToLinks();
  skews_.clear();
  for (const std::string& node : cluster_.nodes()) {
    cluster_.disk(node).stalledUntil = {};
    cluster_.disk(node).failedFlushes = 0;
    cluster_.disk(node).lyingFlushes = 0;
    cluster_.disk(node).losesRowOf.clear();
    cluster_.setDiskSpace(node, std::nullopt);
    cluster_.resume(node);
    restart(node);
  }
  note("", "ends", "all faults");
}

void Faults::strike(const FaultSpec& fault) {
  ++struck_;
  switch (fault.kind) {
    case FaultKind::kKill:
    case FaultKind::kPause: return strikeNode(fault);
    case FaultKind::kClockSkew:
    case FaultKind::kClockJump: return strikeClock(fault);
    case FaultKind::kDiskStall:
    case FaultKind::kFullDisk:
    case FaultKind::kFailedFlush:
    case FaultKind::kLyingFlush:
    case FaultKind::kLostKey:
    case FaultKind::kLostEntry: return strikeDisk(fault);
    case FaultKind::kMiscount: return miscount(anyNode());
    case FaultKind::kLostDocument: return dropDocument(anyNode());
    case FaultKind::kParkedActor: return parkActor(anyNode());
    case FaultKind::kPartition: return partition(fault);
    case FaultKind::kClog: return clog(fault);
    default: return strikeLinks(fault);
  }
}

void Faults::strikeNode(const FaultSpec& fault) {
  const auto candidates = working();
  if (static_cast<int>(candidates.size()) <= fault.leave) return;
  const std::string node = candidates[below(candidates.size())];
  const Duration lasts = fault.lasts.draw(random_);
  if (fault.kind == FaultKind::kPause) {
    cluster_.pause(node);
    cluster_.at(lasts, [this, node] { cluster_.resume(node); });
  } else {
    cluster_.kill(node);
    cluster_.at(lasts, [this, node] { restart(node); });
  }
}

void Faults::restart(const std::string& node) {
  if (cluster_.isAlive(node)) return;
  cluster_.restart(node);
  if (const auto skew = skews_.find(node); skew != skews_.end()) cluster_.skewWall(node, skew->second);
}

void Faults::strikeClock(const FaultSpec& fault) {
  const auto skew = [&](const std::string& node) {
    const Duration by = sim::between(random_, -fault.upTo, fault.upTo);
    skews_[node] += by;
    cluster_.skewWall(node, by);
  };
  if (fault.kind == FaultKind::kClockJump) return skew(anyNode());
  for (const std::string& node : cluster_.nodes()) skew(node);
}

void Faults::strikeDisk(const FaultSpec& fault) {
  const std::string node = fault.nodes.empty() ? anyNode() : fault.nodes[below(fault.nodes.size())] + ":1";
  const bool isMember = scenario_.topology.kind == ProgramKind::kReplicaSet;
  if (fault.kind == FaultKind::kLostKey && isMember) return dropKey(node);
  if (fault.kind == FaultKind::kLostEntry) return dropEntry(node);
  if (fault.kind == FaultKind::kLostKey) {
    cluster_.disk(node).losesRowOf = "index-";
    return note(node, "will lose a key", "with its next crash");
  }
  const Duration lasts = fault.lasts.draw(random_);
  if (fault.kind == FaultKind::kDiskStall) {
    cluster_.disk(node).stalledUntil = inTime(lasts);
    return note(node, "stalls disk", "for " + inMillis(lasts));
  }
  if (fault.kind == FaultKind::kFullDisk) return fillDisk(node, lasts);
  const bool lies = fault.kind == FaultKind::kLyingFlush;
  const auto struck = lies ? &DiskConditions::lyingFlushes : &DiskConditions::failedFlushes;
  cluster_.disk(node).*struck = fault.share;
  ++badDisks_[{node, lies}];
  note(node, lies ? "lies of flushes" : "fails flushes", "for " + inMillis(lasts));
  cluster_.at(lasts, [this, node, lies, struck] {
    if (--badDisks_[{node, lies}] == 0) cluster_.disk(node).*struck = 0;
  });
}

/// Every other time there is enough for what the set has taken, and not for clients.
void Faults::fillDisk(const std::string& node, Duration lasts) {
  constexpr int64_t kMiB = int64_t{1} << 20, kTotal = 10'000 * kMiB;
  const bool isForReplication = below(2) == 0;
  cluster_.setDiskSpace(node, DiskSpace{isForReplication ? 300 * kMiB : 0, kTotal});
  ++fullDisks_[node];
  note(node, isForReplication ? "fills disk nearly" : "fills disk", "for " + inMillis(lasts));
  cluster_.at(lasts, [this, node] {
    if (--fullDisks_[node] == 0) cluster_.setDiskSpace(node, std::nullopt);
  });
}

void Faults::miscount(const std::string& node) {
  if (!cluster_.isAlive(node)) return;
  storage::Catalog& catalog = cluster_.life(node).catalog();
  for (const auto& collection : catalog.snapshot()->collections("test"))
    catalog.sizes().of(collection->ident())->records += 1;
  note(node, "miscounts", "every collection");
}

/// A member's tables are written with checkpoints, which are rare: a crash would mostly find no row to take. Without a
/// key of `_id` members seem to have different documents, which is found before they are audited.
void Faults::dropKey(const std::string& node) {
  if (!cluster_.isAlive(node)) return;
  const machines::StorageAccess access = cluster_.life(node).storage();
  std::vector<std::pair<storage::CollectionPtr, storage::IndexPtr>> indexes;
  for (const auto& collection : access.catalog.snapshot()->collections("test"))
    for (const auto& index : collection->indexes())
      if (index->ready && index->spec.name != "_id_") indexes.emplace_back(collection, index);
  if (indexes.empty()) return;
  const size_t first = below(indexes.size());
  for (size_t i = 0; i < indexes.size(); ++i) {  // some have no rows
    const auto& [collection, index] = indexes[(first + i) % indexes.size()];
    const auto lost = dropRow(access.operations, *collection, *index, random_());
    if (!lost.isOK() || !*lost) continue;
    return note(node, "loses a key", collection->ns().toString() + " " + index->spec.name);
  }
}

void Faults::dropDocument(const std::string& node) {
  if (!cluster_.isAlive(node)) return;
  const machines::StorageAccess access = cluster_.life(node).storage();
  const auto collections = access.catalog.snapshot()->collections("test");
  if (collections.empty()) return;
  const size_t first = below(collections.size());
  for (size_t i = 0; i < collections.size(); ++i) {  // some have no documents
    const storage::CollectionPtr& collection = collections[(first + i) % collections.size()];
    if (collection->isView()) continue;
    const auto lost = dropRecord(access.operations, *collection, random_());
    if (!lost.isOK() || !*lost) continue;
    return note(node, "loses a document", collection->ns().toString() + " " + bson::toRelaxedJson(**lost));
  }
}

void Faults::parkActor(const std::string& node) {
  if (!cluster_.isAlive(node)) return;
  Node& at = cluster_.life(node).node();
  std::vector<std::string> services;
  for (const ActorRow& row : at.registry().rows({.under = supervisors::kServicesPath}))
    if (row.parent == supervisors::kServicesPath) services.push_back(row.path);
  if (services.empty()) return;
  const std::string& path = services[below(services.size())];
  note(node, "fails and is set aside", path);
  at.start(failAndPark(&at, path));
}

/// A start makes the data from the log: without this entry it would make others, or fail. So no crash is waited for.
void Faults::dropEntry(const std::string& node) {
  if (!cluster_.isAlive(node)) return;
  NodeLife& life = cluster_.life(node);
  const storage::OplogStore* log = life.assembly().oplog();
  if (!log) return;
  const auto lost = dropLastEntry(life.storage().operations, *log, random_());
  if (lost.isOK() && *lost) note(node, "loses an entry", fmt::format("the last one of document {}", **lost));
}

void Faults::strikeLinks(const FaultSpec& fault) {
  const auto chosen = someLinks(fault.links);
  if (fault.kind == FaultKind::kBreak) {
    note("", "breaks", fmt::format("the connections on {} links", chosen.size()));
    for (const Link& link : chosen) cluster_.streams().breakBetween(link.first, link.second);
    return;
  }
  const Duration lasts = fault.lasts.draw(random_), by = fault.by.draw(random_);
  const char* what = "";
  std::function<void(Conditions&)> change;
  if (fault.kind == FaultKind::kDelay) {
    what = "delays";
    change = [by](Conditions& link) { link.leastDelay += by / 2, link.mostDelay += by; };
  } else {
    what = "loses some";
    change = [share = fault.share](Conditions& link) { link.loss = std::max(link.loss, share); };
  }
  note("", what, fmt::format("on {} links for {}", chosen.size(), inMillis(lasts)));
  lay({chosen.begin(), chosen.end()}, lasts, std::move(change));
}

void Faults::partition(const FaultSpec& fault) {
  const auto& nodes = cluster_.nodes();
  if (nodes.size() < 2) return;
  std::map<std::string, size_t> group;
  std::string shown;
  const std::string alone = anyNode();
  const size_t groups = fault.shape == PartitionShape::kManyWay ? 3 : 2;
  for (const std::string& node : nodes)
    group[node] = fault.shape == PartitionShape::kIsolate ? node != alone : below(groups);
  if (fault.shape != PartitionShape::kIsolate) {
    group[nodes[0]] = below(groups);
    group[alone] = (group[alone == nodes[0] ? nodes[1] : nodes[0]] + 1) % groups;  // never all in one
  }
  std::set<Link> cut;
  for (const Link& link : allLinks())
    if (group[link.first] != group[link.second] && (fault.shape != PartitionShape::kOneWay || group[link.first] == 0))
      cut.insert(link);
  for (const std::string& node : nodes) shown += fmt::format("{}{}:{}", shown.empty() ? "" : " ", node, group[node]);
  const Duration lasts = fault.lasts.draw(random_);
  note("", fault.shape == PartitionShape::kOneWay ? "cuts 0 to 1" : "partitions", shown + " for " + inMillis(lasts));
  lay(std::move(cut), lasts, [](Conditions& link) { link.cut = true; });
}

/// Links clog one after the other and are released in another order.
void Faults::clog(const FaultSpec& fault) {
  const Duration lasts = fault.lasts.draw(random_);
  Duration begin{};
  for (const Link& link : someLinks(fault.links)) {
    begin += sim::between(random_, Duration(0), lasts / (2 * fault.links));
    const Duration release = sim::between(random_, lasts / 2, lasts);
    cluster_.at(begin, [this, link, stays = release - begin] {
      if (over_) return;
      note(link.first, "clogs", fmt::format("to {} for {}", link.second, inMillis(stays)));
      lay({link}, stays,
          [until = inTime(stays)](Conditions& one) { one.cloggedUntil = std::max(one.cloggedUntil, until); });
    });
  }
}

std::vector<std::string> Faults::working() const {
  std::vector<std::string> found;
  for (const std::string& node : cluster_.nodes())
    if (cluster_.isAlive(node) && !cluster_.isPaused(node)) found.push_back(node);
  return found;
}

std::vector<Faults::Link> Faults::allLinks() const {
  std::vector<Link> links;
  for (const std::string& from : cluster_.nodes())
    for (const std::string& to : cluster_.nodes())
      if (from != to) links.emplace_back(from, to);
  return links;
}

std::vector<Faults::Link> Faults::someLinks(int count) {
  std::vector<Link> links = allLinks();
  const size_t wanted = std::min(links.size(), static_cast<size_t>(count));
  for (size_t i = 0; i < wanted; ++i) std::swap(links[i], links[i + below(links.size() - i)]);
  links.resize(wanted);
  return links;
}

void Faults::lay(std::set<Link> links, Duration lasts, std::function<void(Conditions&)> change) {
  const uint64_t number = ++lastEffect_;
  effects_[number] = {std::move(links), std::move(change)};
  applyToLinks();
  cluster_.at(lasts, [this, number] {
    if (effects_.erase(number) > 0) applyToLinks();
  });
}

void Faults::applyToLinks() {
  cluster_.network().heal();
  for (const auto& [number, effect] : effects_)
    for (const Link& link : effect.links) effect.change(cluster_.network().between(link.first, link.second));
}

void Faults::note(const std::string& node, std::string what, std::string detail) {
  cluster_.note(TraceEvent::Kind::kFault, node, "chance", std::move(what), std::move(detail));
}

}  // namespace troupe::sim
