#include "storage/sessions/classic_form.hpp"

#include <string_view>

#include "storage/oplog/oplog_entry.hpp"
#include "storage/oplog/strict_fields.hpp"
#include "storage/sessions/session_record.hpp"

namespace troupe::storage {

namespace {

constexpr std::string_view kKeptAside = "needsRetryImage";

/// The operations of a group; empty for other entries.
bson::View groupOf(bson::View entry) {
  const bson::Element object = entry["o"];
  if (entry["op"].toStringOr() != "c" || !object.is(bson::Type::kDocument)) return {};
  const bson::Element operations = object.asDocument()["applyOps"];
  return operations.is(bson::Type::kArray) ? operations.asArray() : bson::View();
}

/// The write that has the image: the entry itself, or the one operation of its group that may have one. Empty: none.
bson::View writeIn(bson::View entry) {
  if (entry.has(kKeptAside)) return entry;
  for (const bson::Element& each : groupOf(entry))
    if (each.is(bson::Type::kDocument) && each.asDocument().has(kKeptAside)) return each.asDocument();
  return {};
}

/// What the note takes from the entry. Errors: FailedToParse.
StatusWith<OplogEntry> noteFor(bson::View entry, bson::View write) {
  const StrictFields fields("oplog entry", entry), own("oplog entry", write);
  OplogEntry note;
  TROUPE_ASSIGN(const auto session, fields.required("lsid", bson::Type::kDocument));
  note.session = session.asDocument();
  TROUPE_ASSIGN(const auto number, fields.required("txnNumber", bson::Type::kInt64));
  note.txnNumber = number.asInt64();
  TROUPE_ASSIGN(const auto time, fields.required("ts", bson::Type::kTimestamp));
  TROUPE_ASSIGN(const auto term, fields.required("t", bson::Type::kInt64));
  const bson::Timestamp at = time.asTimestamp();
  if (at.increment == 0) return fields.malformed("'ts' leaves no time for its image");
  note.opTime = {term.asInt64(), {at.seconds, at.increment - 1}};
  TROUPE_ASSIGN(const auto wall, fields.required("wall", bson::Type::kDate));
  note.wall = wall.asDate();
  TROUPE_ASSIGN(const auto ns, own.required("ns", bson::Type::kString));
  note.operation.ns = ns.asString();
  TROUPE_ASSIGN(note.operation.uuid, own.uuid("ui"));
  const bson::Element statements = write["stmtId"];
  if (statements.is(bson::Type::kInt32)) note.statements = {statements.asInt32()};
  if (statements.is(bson::Type::kArray))
    for (const bson::Element& each : statements.asArray())
      if (each.is(bson::Type::kInt32)) note.statements.push_back(each.asInt32());
  return note;
}

/// The reference stands where the mark stood, which is its place in an entry of the classic way.
bson::Document withReference(bson::View write, RetryImage kind, const std::optional<OpTime>& note) {
  const std::string_view reference = kind == RetryImage::kBefore ? "preImageOpTime" : "postImageOpTime";
  bson::Builder builder;
  for (const bson::Element& e : write) {
    if (e.name() == kKeptAside) {
      if (note) builder.append(reference, bson::doc("ts", note->timestamp, "t", note->term));
    } else if (!note || e.name() != reference) {
      builder.append(e);
    }
  }
  return builder.finish();
}

/// The entry with another version of one operation of its group.
bson::Document withOperation(bson::View entry, bson::View old, bson::View changed) {
  bson::Builder builder;
  for (const bson::Element& e : entry) {
    if (e.name() != "o") {
      builder.append(e);
      continue;
    }
    builder.openDocument("o");
    for (const bson::Element& part : e.asDocument()) {
      if (part.name() != "applyOps") {
        builder.append(part);
        continue;
      }
      builder.openArray("applyOps");
      for (const bson::Element& each : part.asArray()) {
        if (each.is(bson::Type::kDocument) && each.asDocument().data() == old.data()) builder.push(changed);
        else builder.push(each);
      }
      builder.close();
    }
    builder.close();
  }
  return builder.finish();
}

}  // namespace

bool keepsImageAside(bson::View entry) { return !writeIn(entry).empty(); }

StatusWith<ClassicForm> classicFormOf(bson::View entry, bson::View image) {
  const bson::View write = writeIn(entry);
  const auto kind = retryImageNamed(write[kKeptAside].toStringOr());
  if (!kind)
    return Status(ErrorCode::kFailedToParse, "oplog entry: 'needsRetryImage' must be 'preImage' or 'postImage'");
  TROUPE_ASSIGN(OplogEntry note, noteFor(entry, write));
  ClassicForm form;
  std::optional<OpTime> place;
  if (!image.empty()) {
    TROUPE_ASSIGN(const ImageRecord record, ImageRecord::parse(image));
    const bool isIts = record.session == *note.session && record.txnNumber == note.txnNumber &&
                       record.time == entry["ts"].asTimestamp() && record.kind == *kind;
    if (isIts && !record.invalidated) {
      note.operation.object = record.image;
      form.note = note.toDocument();
      place = note.opTime;
    }
  }
  bson::Document changed = withReference(write, *kind, place);
  form.entry = write.data() == entry.data() ? std::move(changed) : withOperation(entry, write, changed);
  return form;
}

}  // namespace troupe::storage
