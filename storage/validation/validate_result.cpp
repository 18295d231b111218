#include "storage/validation/validate_result.hpp"

namespace troupe::storage {

bson::Document ValidateResult::toDocument() const {
  bson::Builder b;
  b.append("ns", ns).append("uuid", uuid);
  b.append("nInvalidDocuments", invalidDocuments).append("nNonCompliantDocuments", nonCompliantDocuments);
  b.append("nrecords", records).append("nIndexes", static_cast<int32_t>(indexes.size()));
  b.openDocument("keysPerIndex");
  for (const auto& [name, index] : indexes) b.append(name, index.keys);
  b.close().openDocument("indexDetails");
  for (const auto& [name, index] : indexes) {
    b.openDocument(name).append("valid", index.valid);
    if (index.keysRemoved > 0) b.append("keysRemovedFromRecordStore", index.keysRemoved);
    if (index.keysInserted > 0) b.append("keysInserted", index.keysInserted);
    if (!index.warnings.empty()) b.append("warnings", index.warnings);
    if (!index.errors.empty()) b.append("errors", index.errors);
    b.close();
  }
  b.close().append("valid", valid).append("repaired", repaired);
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
