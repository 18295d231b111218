#pragma once
#include <memory>

#include "storage/catalog/catalog.hpp"
#include "storage/validation/validate_result.hpp"

namespace troupe::storage {

struct ValidateSettings {
  bool full = false;            ///< also verify the tables' blocks, and documents deeply
  bool checkDocuments = false;  ///< deep checks of documents: UTF-8, duplicate names (checkBSONConformance)
  bool repair = false;          ///< correct what can be corrected (VAL-013); needs the exclusive lock
  bool fixCount = true;         ///< correct the fast count; needs the exclusive lock
};

/// Checks one collection against its indexes and itself, in steps, so that the caller may yield between them (VAL).
/// First pass: every document adds its keys to hashed counters and every index entry takes its own away; only where a
/// counter is left a second pass names the entries (VAL-012). Reads in the unit's snapshot, which must stay open
/// between steps unless the caller excludes writers. Used by one thread at a time.
class Validator {
 public:
  Validator(Catalog& catalog, CollectionPtr collection, ValidateSettings settings);
  ~Validator();
  /// Goes on with up to `maxRows` rows of a table; true when done. Repairs open units of work of their own. Errors:
  /// IllegalOperation (a repair of what is replicated, on a member of a replica set); the engine's.
  StatusWith<bool> step(RecoveryUnit& unit, int maxRows);
  ValidateResult& result() { return result_; }
  int64_t bytesRead() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
  ValidateResult result_;
};

/// All steps at once. Locks: collection X (foreground), or none with neither repair nor fixCount (background).
StatusWith<ValidateResult> validateCollection(Catalog& catalog, RecoveryUnit& unit, const CollectionPtr& collection,
                                              const ValidateSettings& settings);

}  // namespace troupe::storage
