#include "storage/sessions/applied_sessions.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "storage/catalog/collection.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/transaction/write_unit_of_work.hpp"

namespace troupe::storage {

namespace {

/// A document before a write is that of the time before the write's: other writes have times of their own.
bson::Timestamp timeOfImage(const OplogEntry& entry) {
  const bson::Timestamp own = entry.opTime.timestamp;
  return entry.image == RetryImage::kAfter ? own : bson::Timestamp::fromUint64(own.asUint64() - 1);
}

bson::Element documentIdOf(const LoggedOperation& operation) {
  if (operation.kind != OplogKind::kUpdate) return operation.object["_id"];
  return operation.other ? (*operation.other)["_id"] : bson::Element();
}

bool asksForImage(const OplogEntry& entry) {
  return entry.image != RetryImage::kNone && entry.session && entry.txnNumber;
}

}  // namespace

/// Of one entry, which need not ask for any.
struct AppliedSessions::Image {
  bson::Document document;
  bool isKnown = false;
};

bool AppliedSessions::readsDocuments(std::span<const OplogEntry> entries) const {
  return mode_ == ApplyMode::kFollowing && std::ranges::any_of(entries, asksForImage);
}

/// In a replay the document may be of a later time, which is no answer: it is not even looked for.
StatusWith<AppliedSessions::Image> AppliedSessions::read(OperationContext& reader, const OplogEntry& entry) const {
  Image image;
  if (!asksForImage(entry) || mode_ == ApplyMode::kReplaying || !entry.operation.uuid) return image;
  const CollectionPtr collection = catalog_.snapshot()->find(*entry.operation.uuid);
  if (!collection) return image;
  RecoveryUnit& unit = reader.recoveryUnit();
  TROUPE_TRY(unit.setReadSource(ReadSource::kProvided, timeOfImage(entry)));
  TROUPE_ASSIGN(const auto record, collection->findById(unit, documentIdOf(entry.operation)));
  if (record) {
    const auto take = [&](bson::View found) { image.document = bson::Document(found); };
    TROUPE_ASSIGN(image.isKnown, collection->find(unit, *record, take));
  }
  unit.abandonSnapshot();
  return image;
}

/// Of entries at the front, as many as one unit may hold.
StatusWith<std::vector<AppliedSessions::Image>> AppliedSessions::imagesOf(OperationContext& operation,
                                                                          std::span<const OplogEntry* const> entries,
                                                                          const UnitLimits& limits) const {
  std::optional<OperationContext> reader;  // few entries ask for an image
  std::vector<Image> images;
  size_t bytes = 0;
  for (const OplogEntry* const entry : entries) {
    if (images.size() >= limits.maxEntries || bytes >= limits.maxBytes) break;
    if (!reader && asksForImage(*entry)) reader.emplace(operation.services(), OperationOrigin::kApplier);
    Image image;
    if (reader) {
      TROUPE_ASSIGN(image, read(*reader, *entry));
    }
    bytes += image.document.bytes().size();
    images.push_back(std::move(image));
  }
  return images;
}

/// In a replay a later entry may have dropped the collection: there is nothing to answer from. Who follows has it as
/// the primary had it, which locks both for each numbered write.
Status AppliedSessions::unlessDropped(Status put) const {
  return mode_ == ApplyMode::kReplaying && put == ErrorCode::kNamespaceNotFound ? Status::OK() : put;
}

/// Images are read before the unit begins: within it a snapshot of another time would be open beside its own.
StatusWith<size_t> AppliedSessions::putOnce(OperationContext& operation, std::span<const OplogEntry* const> entries,
                                            const UnitLimits& limits) const {
  TROUPE_ASSIGN(const auto images, imagesOf(operation, entries, limits));
  RecoveryUnit& unit = operation.recoveryUnit();
  WriteUnitOfWork together(unit);
  std::map<std::string_view, SessionTables::Place> records, kept;  // by the bytes of the session's id
  for (size_t i = 0; i < images.size(); ++i) {
    const OplogEntry& entry = *entries[i];
    const auto record = SessionRecord::of(entry);
    if (!record) continue;
    const std::string_view session = record->session.bytes();
    TROUPE_TRY(unlessDropped(tables_.put(unit, *record, records[session])));
    if (!asksForImage(entry)) continue;
    const ImageRecord image{record->session, record->txnNumber,  entry.opTime.timestamp,
                            entry.image,     images[i].document, /*invalidated=*/!images[i].isKnown};
    TROUPE_TRY(unlessDropped(tables_.put(unit, image, kept[session])));
  }
  TROUPE_TRY(together.commit());
  return images.size();
}

StatusWith<size_t> AppliedSessions::putInUnit(OperationContext& operation, std::span<const OplogEntry* const> entries,
                                              UnitLimits& limits) const {
  return untilItFits(entries.size(), limits, [&] { return putOnce(operation, entries, limits); });
}

Status AppliedSessions::putWithDocuments(OperationContext& operation, const OperationApplier& applier,
                                         std::vector<const OplogEntry*> documents,
                                         std::span<const OplogEntry* const> sessions, UnitLimits limits) const {
  // The engine takes no time that is older than the first one of a unit; a batch has them in the order of collections.
  const auto isOlder = [](const OplogEntry* a, const OplogEntry* b) {
    return a->opTime.timestamp < b->opTime.timestamp;
  };
  std::ranges::sort(documents, isOlder);
  if (isOlder(sessions.front(), documents.front()))
    return {ErrorCode::kIllegalOperation, "a session's first entry is older than the first document"};
  const Status tooLarge(ErrorCode::kTransactionTooLargeForCache, "the batch is too large for one unit of work");
  limits.mayShrink = false;
  WriteUnitOfWork together(operation.recoveryUnit());
  TROUPE_ASSIGN(const size_t applied, applyInUnit(applier, operation, documents, limits));
  if (applied < documents.size()) return tooLarge;
  TROUPE_ASSIGN(const size_t put, putInUnit(operation, sessions, limits));
  if (put < sessions.size()) return tooLarge;
  return together.commit();
}

}  // namespace troupe::storage
