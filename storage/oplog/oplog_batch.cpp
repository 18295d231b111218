#include "storage/oplog/oplog_batch.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "messaging/errors/invariant.hpp"
#include "storage/keys/key_string.hpp"

namespace troupe::storage {

namespace {

/// FNV-1a: the same on every machine, so that simulations are.
class StableHash {
 public:
  void add(std::string_view bytes) {
    for (const char each : bytes) value_ = (value_ ^ static_cast<uint8_t>(each)) * 0x100000001b3;
  }
  /// Of the last bytes, in which consecutive ids differ, FNV-1a takes a few bits only, which are mixed into all.
  uint64_t value() const {
    constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;
    return (value_ ^ (value_ >> 32)) * kFactor >> 32;
  }

 private:
  uint64_t value_ = 0xcbf29ce484222325;
};

/// Of the document that an entry is about; a missing one is found by the applier.
bson::Element documentIdOf(const LoggedOperation& operation) {
  if (operation.kind != OplogKind::kUpdate) return operation.object["_id"];
  return operation.other ? (*operation.other)["_id"] : bson::Element();
}

/// Hashes key strings: `1` and `1.0` name the same document, and so do texts that the collation holds for equal.
class WriterChoice {
 public:
  WriterChoice(size_t writers, const TraitsOf& traitsOf) : writers_(writers), traitsOf_(traitsOf) {}

  size_t of(const LoggedOperation& operation) {
    StableHash hash;
    if (!operation.uuid) return 0;
    hash.add({reinterpret_cast<const char*>(operation.uuid->bytes.data()), operation.uuid->bytes.size()});
    const CollectionTraits& traits = traitsOf(*operation.uuid);
    const bson::Element id = documentIdOf(operation);
    if (!traits.isCapped && id.ok()) {
      key_string::Builder key;
      key.append(id, traits.collator.get());
      hash.add(key.bytes());
    }
    return hash.value() % writers_;
  }

 private:
  const CollectionTraits& traitsOf(const bson::Uuid& uuid) {
    const auto known = known_.find(uuid);
    return known != known_.end() ? known->second : known_.emplace(uuid, traitsOf_(uuid)).first->second;
  }

  size_t writers_;
  const TraitsOf& traitsOf_;
  std::map<bson::Uuid, CollectionTraits> known_;
};

}  // namespace

std::string nameOf(const OplogEntry& entry) {
  const bson::Timestamp time = entry.opTime.timestamp;
  return "the entry of Timestamp(" + std::to_string(time.seconds) + ", " + std::to_string(time.increment) + ")";
}

StatusWith<OplogStretch> OplogStretch::parse(std::vector<bson::Document> documents) {
  OplogStretch stretch;
  stretch.documents = std::move(documents);
  stretch.entries.reserve(stretch.documents.size());
  for (const bson::Document& each : stretch.documents) {
    auto entry = OplogEntry::parse(each);
    if (!entry.isOK()) {
      const bson::Element ts = each["ts"];
      OplogEntry named;
      if (ts.is(bson::Type::kTimestamp)) named.opTime.timestamp = ts.asTimestamp();
      return entry.status().withContext(nameOf(named));
    }
    stretch.entries.push_back(std::move(*entry));
  }
  return stretch;
}

size_t nextBatch(const OplogStretch& stretch, size_t from, const BatchLimits& limits,
                 std::optional<bson::Date> notAfter) {
  size_t bytes = 0;
  for (size_t i = from; i < stretch.size(); ++i) {
    const OplogEntry& entry = stretch.entries[i];
    const bool isFirst = i == from;
    bytes += stretch.documents[i].bytes().size();
    if (notAfter && entry.wall > *notAfter) return i - from;
    if (isFirst && isAlone(entry)) return 1;
    if (!isFirst && (isAlone(entry) || i - from >= limits.maxEntries || bytes > limits.maxBytes)) return i - from;
  }
  return stretch.size() - from;
}

std::vector<std::vector<const OplogEntry*>> spreadSessions(std::span<const OplogEntry> batch, size_t writers) {
  invariant(writers > 0, "a batch has a writer");
  std::vector<std::vector<const OplogEntry*>> shares(writers);
  for (const OplogEntry& entry : batch) {
    if (!entry.session || !entry.txnNumber) continue;
    StableHash hash;
    hash.add(entry.session->bytes());
    shares[hash.value() % writers].push_back(&entry);
  }
  return shares;
}

std::vector<std::vector<const OplogEntry*>> spread(std::span<const OplogEntry> batch, size_t writers,
                                                   const TraitsOf& traitsOf) {
  invariant(writers > 0, "a batch has a writer");
  std::vector<std::vector<const OplogEntry*>> shares(writers);
  WriterChoice choice(writers, traitsOf);
  for (const OplogEntry& entry : batch) {
    invariant(!isAlone(entry), "a command is carried out alone");
    if (entry.operation.kind != OplogKind::kNoop) shares[choice.of(entry.operation)].push_back(&entry);
  }
  const auto byCollection = [](const OplogEntry* a, const OplogEntry* b) {
    return a->operation.uuid < b->operation.uuid;
  };
  for (auto& share : shares) std::ranges::stable_sort(share, byCollection);
  return shares;
}

}  // namespace troupe::storage
