#include "storage/sessions/session_record.hpp"

#include <string>

#include "storage/oplog/oplog_entry.hpp"

namespace troupe::storage {

namespace {

Status malformed(const Namespace& ns, std::string_view field) {
  return {ErrorCode::kFailedToParse, "a document of " + ns.toString() + " has no valid '" + std::string(field) +
                                         "': it was not made by the server"};
}

}  // namespace

const Namespace& transactionsNamespace() {
  static const Namespace ns("config", "transactions");
  return ns;
}

const Namespace& imagesNamespace() {
  static const Namespace ns("config", "image_collection");
  return ns;
}

bool keepsSessions(std::string_view ns) {
  return ns.starts_with("config.") && (ns == transactionsNamespace().toString() || ns == imagesNamespace().toString());
}

std::optional<SessionRecord> SessionRecord::of(const OplogEntry& entry) {
  if (!entry.session || !entry.txnNumber) return std::nullopt;
  return SessionRecord{*entry.session, *entry.txnNumber, entry.opTime, entry.wall};
}

bson::Document SessionRecord::toDocument() const {
  bson::Builder builder;
  builder.append("_id", session).append("txnNum", txnNumber);
  builder.openDocument("lastWriteOpTime").append("ts", lastWrite.timestamp).append("t", lastWrite.term).close();
  builder.append("lastWriteDate", lastWritten);
  return builder.finish();
}

StatusWith<SessionRecord> SessionRecord::parse(bson::View document) {
  const bson::Element id = document["_id"], number = document["txnNum"], at = document["lastWriteOpTime"];
  if (!id.is(bson::Type::kDocument)) return malformed(transactionsNamespace(), "_id");
  if (!number.is(bson::Type::kInt64)) return malformed(transactionsNamespace(), "txnNum");
  if (!at.is(bson::Type::kDocument)) return malformed(transactionsNamespace(), "lastWriteOpTime");
  const bson::Element time = at.asDocument()["ts"], term = at.asDocument()["t"], date = document["lastWriteDate"];
  if (!time.is(bson::Type::kTimestamp) || !term.is(bson::Type::kInt64))
    return malformed(transactionsNamespace(), "lastWriteOpTime");
  if (!date.is(bson::Type::kDate)) return malformed(transactionsNamespace(), "lastWriteDate");
  return SessionRecord{id.asDocument(), number.asInt64(), OpTime{term.asInt64(), time.asTimestamp()}, date.asDate()};
}

bson::Document ImageRecord::toDocument() const {
  bson::Builder builder;
  builder.reserve(session.size() + image.size() + 100);
  builder.append("_id", session).append("txnNum", txnNumber).append("ts", time).append("imageKind", nameOf(kind));
  builder.append("image", image).append("invalidated", invalidated);
  return builder.finish();
}

StatusWith<ImageRecord> ImageRecord::parse(bson::View document) {
  const bson::Element id = document["_id"], number = document["txnNum"], time = document["ts"];
  const bson::Element image = document["image"];
  const auto kind = retryImageNamed(document["imageKind"].toStringOr());
  if (!id.is(bson::Type::kDocument)) return malformed(imagesNamespace(), "_id");
  if (!number.is(bson::Type::kInt64)) return malformed(imagesNamespace(), "txnNum");
  if (!time.is(bson::Type::kTimestamp)) return malformed(imagesNamespace(), "ts");
  if (!kind) return malformed(imagesNamespace(), "imageKind");
  if (!image.is(bson::Type::kDocument)) return malformed(imagesNamespace(), "image");
  return ImageRecord{id.asDocument(), number.asInt64(),   time.asTimestamp(),
                     *kind,           image.asDocument(), document["invalidated"].truthy()};
}

}  // namespace troupe::storage
