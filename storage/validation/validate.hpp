#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "messaging/bson/document.hpp"
#include "storage/catalog/catalog.hpp"

namespace troupe::storage {

struct ValidateSettings {
  bool full = false;           ///< also verify the tables' blocks, and documents deeply
  bool checkDocuments = false; ///< deep checks of documents: UTF-8, duplicate names (checkBSONConformance)
  bool repair = false;         ///< correct what can be corrected (VAL-013); needs the exclusive lock
  bool fixCount = true;        ///< correct the fast count; needs the exclusive lock
};

struct IndexFindings {
  std::string name;
  int64_t keys = 0;
  int64_t keysRemoved = 0, keysInserted = 0;  ///< by repair
  bool valid = true;
  std::vector<std::string> warnings, errors;
};

/// What `validate` replies.
struct ValidateResult {
  std::string ns;
  bson::Uuid uuid{};
  int64_t records = 0, invalidDocuments = 0, nonCompliantDocuments = 0;
  bool valid = true, repaired = false;
  std::vector<std::string> warnings, errors;
  std::vector<bson::Document> missingIndexEntries, extraIndexEntries;
  std::vector<int64_t> corruptRecords;
  std::map<std::string, IndexFindings> indexes;

  /// {ns, uuid, nInvalidDocuments, nNonCompliantDocuments, nrecords, nIndexes, keysPerIndex, indexDetails, valid, repaired,
  /// warnings, errors, extraIndexEntries, missingIndexEntries, corruptRecords}, without ok.
  bson::Document toDocument() const;
};

/// Checks one collection against its indexes and itself, in steps, so that the caller may yield between them (VAL). First pass:
/// every document adds its keys to hashed counters and every index entry takes its own away; only where a counter is left
/// a second pass names the entries (VAL-012). Reads in the unit's snapshot, which must stay open between steps unless
/// the caller excludes writers. Used by one thread at a time.
class Validator {
 public:
  Validator(Catalog& catalog, CollectionPtr collection, ValidateSettings settings);
  ~Validator();
  /// Goes on with up to `maxRows` rows of a table; true when done. Repairs open units of work of their own.
  StatusWith<bool> step(RecoveryUnit& unit, int maxRows);
  ValidateResult& result() { return result_; }

 private:
  struct State;
  std::unique_ptr<State> state_;
  ValidateResult result_;
};

/// All steps at once. Locks: collection X (foreground), or none with neither repair nor fixCount (background).
StatusWith<ValidateResult> validateCollection(Catalog& catalog, RecoveryUnit& unit, const CollectionPtr& collection,
                                              const ValidateSettings& settings);

}  // namespace troupe::storage
