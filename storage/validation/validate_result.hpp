#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "messaging/bson/document.hpp"
#include "storage/records/record_id.hpp"

namespace troupe::storage {

struct IndexFindings {
  std::string name;
  bson::Document spec;
  int64_t keys = 0;
  int64_t keysRemoved = 0, keysInserted = 0;  ///< by repair
  bool valid = true;
  std::vector<std::string> warnings, errors;
};

/// The reply of `validate`.
struct ValidateResult {
  std::string ns;
  bson::Uuid uuid{};
  int64_t records = 0, invalidDocuments = 0, nonCompliantDocuments = 0;
  int64_t corruptRecordsRemoved = 0, missingEntriesInserted = 0, extraEntriesRemoved = 0;  ///< by repair
  bool valid = true, repaired = false;
  std::vector<std::string> warnings, errors;
  std::vector<bson::Document> missingIndexEntries, extraIndexEntries;
  std::vector<RecordId> corruptRecords;
  std::map<std::string, IndexFindings> indexes;
  std::string repairMode = "None";
  bool countsDocuments = true;  ///< false: only what the catalog says was checked

  /// {ns, uuid, repairMode, nInvalidDocuments, nNonCompliantDocuments, nrecords, nIndexes, keysPerIndex, indexDetails,
  /// valid, repaired, warnings, errors, extraIndexEntries, missingIndexEntries, corruptRecords}, without ok.
  bson::Document toDocument() const;
};

}  // namespace troupe::storage
