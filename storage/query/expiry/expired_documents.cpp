#include "storage/query/expiry/expired_documents.hpp"

#include <algorithm>
#include <limits>

#include "storage/query/plan/key_ranges.hpp"
#include "storage/records/record_id_set.hpp"

namespace troupe::query {

namespace {

using storage::RecordId;

/// Most keys to be looked at for a document to be removed: a long array may have very many dates that have expired.
constexpr size_t kKeysEach = 100;
/// Documents removed in one unit of work have this many bytes at most, but for the last one: its transaction has to fit
/// the cache, and its group one entry of the log.
constexpr size_t kMostBytes = 4 * 1024 * 1024;

struct Gathered {
  std::vector<RecordId> ids;
  bool areMore = false;  ///< keys behind them, which were not looked at
};

/// Dates up to the last that has expired; other types are behind or before all of them.
KeyRanges expiredKeys(const Expiry& expiry, bson::Date now) {
  constexpr int64_t kEarliest = std::numeric_limits<int64_t>::min();
  const int64_t lifetime =
      expiry.seconds > kEarliest / -1000 ? std::numeric_limits<int64_t>::max() : expiry.seconds * 1000;
  const int64_t latest = now.millis < kEarliest + lifetime ? kEarliest : now.millis - lifetime;
  Interval dates;
  dates.low = bson::Value(bson::Date{kEarliest});
  dates.high = bson::Value(bson::Date{latest});
  const bool descending = expiry.index->spec.fields.front().descending;
  return {{{dates}}, {descending}, !descending, nullptr};
}

/// Ids of the first records within the ranges, each once. `cursor` walks an index or a clustered collection; `key` and
/// `seek` say how.
template <class Cursor, class KeyOf, class Seek>
StatusWith<Gathered> gather(Cursor& cursor, const KeyRanges& ranges, size_t limit, const KeyOf& keyOf,
                            const Seek& seek) {
  Gathered found;
  storage::RecordIdSet seen;
  std::string target = ranges.start();
  for (size_t keys = 0; found.ids.size() < limit && keys < limit * kKeysEach; ++keys) {
    StatusWith<bool> moved = target.empty() ? cursor.next() : seek(target);
    if (!moved.isOK()) return moved.status();
    target.clear();
    if (!*moved) return found;
    const auto verdict = ranges.check(keyOf(), target);
    if (verdict == KeyRanges::Verdict::kEnd) return found;
    if (verdict == KeyRanges::Verdict::kInside && seen.insert(cursor.id())) found.ids.push_back(cursor.id());
  }
  found.areMore = true;
  return found;
}

StatusWith<Gathered> expiredRecords(storage::RecoveryUnit& unit, const Expiry& expiry, bson::Date now, size_t limit) {
  const KeyRanges ranges = expiredKeys(expiry, now);
  const bool forward = !expiry.index->spec.fields.front().descending;
  if (expiry.index == expiry.collection->clusterKey()) {
    TROUPE_ASSIGN(auto cursor, expiry.collection->records().cursor(unit, forward));
    return gather(
        cursor, ranges, limit, [&] { return cursor.id().bytes(); },
        [&](const std::string& target) { return cursor.seekBytes(target); });
  }
  TROUPE_ASSIGN(auto cursor, expiry.index->access->cursor(unit, forward));
  return gather(
      cursor, ranges, limit, [&] { return cursor.key(); },
      [&](const std::string& target) { return cursor.seek(target, forward); });
}

bool expires(const storage::Collection& collection) {
  return !collection.isView() && !collection.isCapped() && !collection.options().timeseries;
}

}  // namespace

std::vector<ExpiryRule> expiryRules(const storage::CatalogSnapshot& catalog) {
  std::vector<ExpiryRule> rules;
  for (const std::string& db : catalog.databases()) {
    for (const storage::CollectionPtr& collection : catalog.collections(db)) {
      if (!expires(*collection)) continue;
      if (collection->clusterKey() && collection->options().expireAfterSeconds)
        rules.push_back({collection->uuid(), ""});
      for (const storage::IndexPtr& index : collection->indexes())
        if (index->ready && index->spec.expireAfterSeconds) rules.push_back({collection->uuid(), index->spec.name});
    }
  }
  std::ranges::sort(rules);
  return rules;
}

std::optional<Expiry> findExpiry(const storage::CatalogSnapshot& catalog, const ExpiryRule& rule) {
  const storage::CollectionPtr collection = catalog.find(rule.collection);
  if (!collection || !expires(*collection)) return std::nullopt;
  if (rule.index.empty()) {
    if (!collection->clusterKey() || !collection->options().expireAfterSeconds) return std::nullopt;
    return Expiry{collection, collection->clusterKey(), *collection->options().expireAfterSeconds};
  }
  for (const storage::IndexPtr& index : collection->indexes())
    if (index->ready && index->spec.name == rule.index && index->spec.expireAfterSeconds)
      return Expiry{collection, index, *index->spec.expireAfterSeconds};
  return std::nullopt;
}

StatusWith<Expired> removeExpired(storage::RecoveryUnit& unit, const Expiry& expiry, bson::Date now, size_t limit) {
  TROUPE_ASSIGN(const Gathered expired, expiredRecords(unit, expiry, now, limit));
  Expired removed;
  size_t bytes = 0;
  bool isFull = false;
  for (const RecordId& id : expired.ids) {
    isFull = bytes >= kMostBytes;
    if (isFull) break;
    bson::Document document;
    const auto keep = [&](bson::View found) { document = bson::Document(found); };
    TROUPE_ASSIGN(const bool found, expiry.collection->find(unit, id, keep));
    if (!found) continue;  // a key without a record, which validate reports
    TROUPE_TRY(expiry.collection->remove(unit, id, document));
    ++removed.documents;
    bytes += document.view().size();
  }
  removed.areMore = (expired.areMore || isFull) && removed.documents > 0;
  return removed;
}

}  // namespace troupe::query
