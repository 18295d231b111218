#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "messaging/bson/types.hpp"
#include "messaging/errors/status.hpp"
#include "storage/catalog/collection_catalog.hpp"
#include "storage/transaction/recovery_unit.hpp"

namespace troupe::query {

/// A rule by which documents of a collection expire: a TTL index, or the cluster key of a clustered collection that was
/// made with expireAfterSeconds (TTL-008). It names its parts, so that it can be kept while the catalog changes.
struct ExpiryRule {
  bson::Uuid collection;
  std::string index;  ///< its name; empty: the cluster key
  auto operator<=>(const ExpiryRule&) const = default;
};

/// The rules of all collections, in the order of their UUIDs. Left out are unfinished indexes, capped and time-series
/// collections and views.
std::vector<ExpiryRule> expiryRules(const storage::CatalogSnapshot& catalog);

/// A rule as the catalog has it now.
struct Expiry {
  storage::CollectionPtr collection;
  storage::IndexPtr index;
  int64_t seconds = 0;  ///< that a document lives behind its date
};
/// Nothing when collection, index or option have gone.
std::optional<Expiry> findExpiry(const storage::CatalogSnapshot& catalog, const ExpiryRule& rule);

struct Expired {
  size_t documents = 0;  ///< removed
  bool areMore = false;  ///< behind them
};
/// Removes the documents whose date lies `expiry.seconds` or more before `now`, oldest first, at most `limit` of them.
/// Of an array the earliest date counts; documents without a date never expire. Runs in an open unit of work, under the
/// collection's intent lock. Errors: as those of Collection::remove.
StatusWith<Expired> removeExpired(storage::RecoveryUnit& unit, const Expiry& expiry, bson::Date now, size_t limit);

}  // namespace troupe::query
