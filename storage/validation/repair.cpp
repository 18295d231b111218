#include "storage/validation/repair.hpp"

#include <algorithm>

#include "storage/index/document_text.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/validation/lost_documents.hpp"
#include "storage/validation/orphans.hpp"
#include "storage/validation/validate.hpp"

namespace troupe::storage {
namespace {

/// Whether a table holds what is nowhere else.
bool holdsOriginals(const std::string& ident) {
  return ident.starts_with("collection-") || DurableCatalog::isIdent(ident) || ident.starts_with("oplog");
}

Status salvageOne(Engine& engine, const std::string& ident, const RepairTeller& tell) {
  const Status kept = engine.salvageTable(ident);
  if (kept.isOK()) {
    tell("what can be read of the table " + ident + " was kept");
    return kept;
  }
  // Its file is gone, or nothing can be read: made anew with the catalog.
  if (kept == ErrorCode::kNoSuchKey || !holdsOriginals(ident)) {
    tell("the table " + ident + " is given up: " + kept.reason());
    return engine.dropTable(ident);
  }
  return {ErrorCode::kManualInterventionRequired,
          "the table " + ident + " cannot be rescued; restore a backup or resync: " + kept.reason()};
}

class CollectionRepair {
 public:
  CollectionRepair(Catalog& catalog, CollectionPtr collection, const std::set<std::string>& damaged,
                   const RepairTeller& tell)
      : catalog_(catalog),
        collection_(std::move(collection)),
        damaged_(damaged),
        tell_(tell),
        name_(collection_->ns().toString()),
        before_(collection_->records().count()) {}

  Status run(RepairReport& report);

 private:
  Status countLost();
  Status rebuildIndexes();
  StatusWith<ValidateResult> validate();
  void tellLost(const ValidateResult& found, RepairReport& report) const;
  bool isDamaged(const std::string& ident) const { return damaged_.contains(ident); }

  Catalog& catalog_;
  const CollectionPtr collection_;
  const std::set<std::string>& damaged_;
  const RepairTeller& tell_;
  const std::string name_;
  const int64_t before_;  ///< how many documents there were, as stored last
  OperationContext operation_{{.sessions = catalog_.pool()}};
  std::optional<MissingRecords> missing_;  ///< none where there is no sound index of all documents
  int64_t removed_ = 0;                    ///< records that were no documents
};

Status CollectionRepair::run(RepairReport& report) {
  ++report.collections;
  if (isDamaged(collection_->ident())) TROUPE_TRY(countLost());
  TROUPE_TRY(rebuildIndexes());
  TROUPE_ASSIGN(const ValidateResult found, validate());
  tellLost(found, report);
  if (found.repaired) ++report.repaired;
  if (found.valid || found.repaired) return {};
  for (const std::string& error : found.errors) tell_(name_ + ": " + error);
  report.beyondRepair.push_back(name_);
  return {};
}

/// Before the indexes forget the documents. The `_id` index comes first, since it names them; others only count.
Status CollectionRepair::countLost() {
  const auto tells = [this](const IndexEntry& index) {
    return index.ready && !isDamaged(index.ident) && !index.spec.sparse && !index.spec.partialFilter;
  };
  const IndexEntry* const ids = collection_->idIndex();
  const IndexEntry* known = ids && tells(*ids) ? ids : nullptr;
  for (const IndexPtr& index : collection_->indexes())
    if (!known && tells(*index)) known = index.get();
  if (!known) return {};
  TROUPE_ASSIGN(missing_, missingRecords(operation_.recoveryUnit(), *collection_, *known));
  if (known != ids) missing_->first.clear();
  return {};
}

Status CollectionRepair::rebuildIndexes() {
  for (const IndexPtr& index : collection_->indexes()) {
    if (!index->ready || (!isDamaged(index->ident) && !isDamaged(collection_->ident()))) continue;
    operation_.recoveryUnit().abandonSnapshot();
    TROUPE_TRY(rebuildIndex(operation_.recoveryUnit(), *collection_, *index));
    tell_("the index " + index->spec.name + " of " + name_ + " was built again");
  }
  return {};
}

/// Again as long as there is progress: a validation corrects so many entries at most.
StatusWith<ValidateResult> CollectionRepair::validate() {
  ValidateSettings settings;
  settings.full = settings.checkDocuments = settings.repair = true;
  for (;;) {
    operation_.recoveryUnit().abandonSnapshot();
    TROUPE_ASSIGN(ValidateResult found, validateCollection(catalog_, operation_.recoveryUnit(), collection_, settings));
    const int64_t corrected = found.corruptRecordsRemoved + found.missingEntriesInserted + found.extraEntriesRemoved;
    removed_ += found.corruptRecordsRemoved;
    if (found.repaired)
      tell_(name_ + " was repaired: " + std::to_string(found.corruptRecordsRemoved) + " records removed, " +
            std::to_string(found.missingEntriesInserted) + " index entries inserted, " +
            std::to_string(found.extraEntriesRemoved) + " removed");
    if (!found.repaired || found.valid || corrected == 0) return found;
  }
}

void CollectionRepair::tellLost(const ValidateResult& found, RepairReport& report) const {
  LostDocuments lost{.ns = name_, .documents = removed_, .exact = true};
  if (missing_) {
    lost.documents += missing_->count;
  } else if (isDamaged(collection_->ident())) {
    lost.exact = false;
    if (isDamaged(std::string(SizeStorer::kIdent))) {
      tell_(name_ + " lost documents; how many is not known, since their number was lost as well");
      return;
    }
    lost.documents = std::max<int64_t>(0, before_ - found.records + found.corruptRecordsRemoved);
  }
  if (lost.documents == 0) return;
  std::string line = name_ + " lost " + std::to_string(lost.documents) + " documents";
  if (missing_ && !missing_->first.empty()) {
    line += ", the first of them:";
    for (const bson::Document& key : missing_->first) line += " " + documentText(key);
  }
  tell_(line);
  report.lost.push_back(std::move(lost));
}

}  // namespace

StatusWith<std::set<std::string>> salvageDamagedTables(Engine& engine, const RepairMark& mark,
                                                       const RepairTeller& tell) {
  for (const std::string& ident : engine.listTables()) {
    const Status sound = engine.verifyTable(ident);
    if (sound.isOK()) continue;
    tell("the table " + ident + " is damaged: " + sound.reason());
    TROUPE_TRY(mark.add(ident));
    TROUPE_TRY(salvageOne(engine, ident, tell));
  }
  return mark.damaged();
}

bson::Document RepairReport::toDocument() const {
  bson::Builder b;
  b.append("collections", collections).append("repaired", repaired).openArray("lost");
  for (const LostDocuments& each : lost)
    b.push(bson::doc("ns", each.ns, "documents", each.documents, "exact", each.exact));
  b.close().append("beyondRepair", beyondRepair);
  return b.finish();
}

StatusWith<RepairReport> repairCollections(Catalog& catalog, const std::set<std::string>& damaged,
                                           const RepairTeller& tell) {
  RepairReport report;
  if (catalog.hooks().keepUnreferenced) {
    TROUPE_ASSIGN(const auto made, recoverOrphans(catalog));
    for (const std::string& name : made)
      tell("documents of a collection whose name and indexes are lost were moved to " + name);
  }
  const CatalogPtr snapshot = catalog.snapshot();
  for (const std::string& db : snapshot->databases()) {
    for (const CollectionPtr& collection : snapshot->collections(db))
      if (!collection->isView()) TROUPE_TRY(CollectionRepair(catalog, collection, damaged, tell).run(report));
  }
  return report;
}

}  // namespace troupe::storage
