#include "storage/validation/validate_result.hpp"

#include "messaging/bson/numeric.hpp"

namespace troupe::storage {

bson::Document ValidateResult::toDocument() const {
  bson::Builder b;
  b.append("ns", ns).append("uuid", uuid);
  if (countsDocuments)
    b.append("nInvalidDocuments", bson::narrowestInteger(invalidDocuments))
        .append("nNonCompliantDocuments", bson::narrowestInteger(nonCompliantDocuments))
        .append("nrecords", bson::narrowestInteger(records));
  b.append("nIndexes", static_cast<int32_t>(indexes.size()));
  b.openDocument("keysPerIndex");
  for (const auto& [name, index] : indexes) b.append(name, bson::narrowestInteger(index.keys));
  b.close().openDocument("indexDetails");
  for (const auto& [name, index] : indexes) {
    b.openDocument(name).append("valid", index.valid).append("spec", index.spec);
    if (index.keysRemoved > 0) b.append("keysRemovedFromRecordStore", index.keysRemoved);
    if (index.keysInserted > 0) b.append("keysInserted", index.keysInserted);
    if (!index.warnings.empty()) b.append("warnings", index.warnings);
    if (!index.errors.empty()) b.append("errors", index.errors);
    b.close();
  }
  b.close().append("valid", valid).append("repaired", repaired).append("repairMode", repairMode);
  if (repaired)
    b.append("numRemovedCorruptRecords", corruptRecordsRemoved)
        .append("numInsertedMissingIndexEntries", missingEntriesInserted)
        .append("numRemovedExtraIndexEntries", extraEntriesRemoved);
  b.append("warnings", warnings).append("errors", errors);
  b.append("extraIndexEntries", extraIndexEntries).append("missingIndexEntries", missingIndexEntries);
  b.openArray("corruptRecords");
  for (const RecordId& id : corruptRecords) b.push(id.toValue());
  b.close();
  return b.finish();
}

}  // namespace troupe::storage
