#include "storage/oplog/oplog_entry.hpp"

#include <algorithm>
#include <array>

#include "storage/oplog/strict_fields.hpp"

namespace troupe::storage {

namespace {

constexpr std::string_view kWhat = "oplog entry";
constexpr std::array<std::string_view, 6> kOperationFields{"op", "ns", "ui", "o", "o2", "fromMigrate"};
constexpr std::array<std::string_view, 11> kEntryFields{"ts",
                                                        "t",
                                                        "v",
                                                        "wall",
                                                        "lsid",
                                                        "txnNumber",
                                                        "stmtId",
                                                        "prevOpTime",
                                                        "preImageOpTime",
                                                        "postImageOpTime",
                                                        "needsRetryImage"};
constexpr auto kKnownFields = [] {
  std::array<std::string_view, kOperationFields.size() + kEntryFields.size()> all;
  std::ranges::copy(kEntryFields, std::ranges::copy(kOperationFields, all.begin()).out);
  return all;
}();
constexpr int64_t kVersion = 2;

void appendOpTime(const OpTime& opTime, bson::Builder& builder) {
  builder.append("ts", opTime.timestamp).append("t", opTime.term);
}

StatusWith<OpTime> parseOpTime(const StrictFields& fields) {
  TROUPE_ASSIGN(const auto time, fields.required("ts", bson::Type::kTimestamp));
  TROUPE_ASSIGN(const auto term, fields.required("t", bson::Type::kInt64));
  return OpTime{term.asInt64(), time.asTimestamp()};
}

void appendPlace(std::string_view name, const std::optional<OpTime>& place, bson::Builder& builder) {
  if (!place) return;
  builder.openDocument(name);
  appendOpTime(*place, builder);
  builder.close();
}

/// A field that refers to another entry; `what` names it in messages.
StatusWith<std::optional<OpTime>> parsePlace(const StrictFields& fields, std::string_view name, std::string_view what) {
  TROUPE_ASSIGN(const auto place, fields.optional(name, bson::Type::kDocument));
  if (!place) return std::optional<OpTime>();
  const StrictFields inner(what, place.asDocument());
  TROUPE_TRY(inner.allowOnly(std::array<std::string_view, 2>{"ts", "t"}));
  TROUPE_ASSIGN(const OpTime found, parseOpTime(inner));
  return std::optional(found);
}

StatusWith<OplogKind> parseKind(const StrictFields& fields) {
  TROUPE_ASSIGN(const auto op, fields.required("op", bson::Type::kString));
  const std::string_view letter = op.asString();
  if (letter.size() != 1 || std::string_view("iudcn").find(letter) == std::string_view::npos)
    return fields.malformed("the operation '" + std::string(letter) + "' is not known");
  return static_cast<OplogKind>(letter[0]);
}

/// Fields that each kind requires: a collection and its UUID; an `_id` for an operation on one document.
Status checkKind(const LoggedOperation& operation, const StrictFields& fields) {
  switch (operation.kind) {
    case OplogKind::kNoop: return Status::OK();
    case OplogKind::kCommand:
      if (!operation.ns.ends_with(".$cmd")) return fields.malformed("a command must have the namespace 'db.$cmd'");
      return operation.object.empty() ? fields.malformed("a command must not be empty") : Status::OK();
    default: break;
  }
  const size_t dot = operation.ns.find('.');
  if (dot == 0 || dot == std::string_view::npos || dot + 1 == operation.ns.size())
    return fields.malformed("'ns' must name a collection");
  if (!operation.uuid) return fields.malformed("'ui' is missing");
  if (operation.kind == OplogKind::kUpdate && !(operation.other && operation.other->has("_id")))
    return fields.malformed("the 'o2' of an update must have an '_id'");
  if (operation.kind == OplogKind::kRemove && !operation.object.has("_id"))
    return fields.malformed("the 'o' of a removal must have an '_id'");
  return Status::OK();
}

StatusWith<LoggedOperation> parseOperation(const StrictFields& fields) {
  LoggedOperation operation;
  TROUPE_ASSIGN(operation.kind, parseKind(fields));
  TROUPE_ASSIGN(const auto ns, fields.required("ns", bson::Type::kString));
  operation.ns = ns.asString();
  TROUPE_ASSIGN(operation.uuid, fields.uuid("ui"));
  TROUPE_ASSIGN(const auto object, fields.required("o", bson::Type::kDocument));
  operation.object = object.asDocument();
  TROUPE_ASSIGN(const auto other, fields.optional("o2", bson::Type::kDocument));
  if (other) operation.other = other.asDocument();
  TROUPE_ASSIGN(const auto moves, fields.optional("fromMigrate", bson::Type::kBool));
  operation.fromMigration = moves && moves.asBool();
  TROUPE_TRY(checkKind(operation, fields));
  return operation;
}

StatusWith<std::vector<int32_t>> parseStatements(const StrictFields& fields) {
  const bson::Element ids = fields.field("stmtId");
  std::vector<int32_t> statements;
  if (!ids) return statements;
  if (ids.is(bson::Type::kInt32)) return std::vector<int32_t>{ids.asInt32()};
  if (!ids.is(bson::Type::kArray)) return fields.malformed("'stmtId' must be an int or an array of such");
  for (const bson::Element& id : ids.asArray()) {
    if (!id.is(bson::Type::kInt32)) return fields.malformed("'stmtId' must be an int or an array of such");
    statements.push_back(id.asInt32());
  }
  return statements;
}

Status parseSession(const StrictFields& fields, OplogEntry& entry) {
  TROUPE_ASSIGN(const auto session, fields.optional("lsid", bson::Type::kDocument));
  if (session) entry.session = session.asDocument();
  TROUPE_ASSIGN(const auto number, fields.optional("txnNumber", bson::Type::kInt64));
  if (number) entry.txnNumber = number.asInt64();
  TROUPE_ASSIGN(entry.statements, parseStatements(fields));
  TROUPE_ASSIGN(entry.previousOpTime, parsePlace(fields, "prevOpTime", "oplog entry: 'prevOpTime'"));
  TROUPE_ASSIGN(entry.preImage, parsePlace(fields, "preImageOpTime", "oplog entry: 'preImageOpTime'"));
  TROUPE_ASSIGN(entry.postImage, parsePlace(fields, "postImageOpTime", "oplog entry: 'postImageOpTime'"));
  TROUPE_ASSIGN(const auto image, fields.optional("needsRetryImage", bson::Type::kString));
  if (image) {
    const auto kind = retryImageNamed(image.asString());
    if (!kind) return fields.malformed("'needsRetryImage' must be 'preImage' or 'postImage'");
    entry.image = *kind;
  }
  if (!entry.session && (entry.txnNumber || !entry.statements.empty() || entry.postImage || image))
    return fields.malformed("'txnNumber', 'stmtId', 'postImageOpTime' and 'needsRetryImage' need an 'lsid'");
  return Status::OK();
}

}  // namespace

void LoggedOperation::appendTo(bson::Builder& builder) const {
  const char letter = static_cast<char>(kind);
  builder.append("op", std::string_view(&letter, 1)).append("ns", ns);
  if (uuid) builder.append("ui", *uuid);
  builder.append("o", object);
  if (other) builder.append("o2", *other);
  if (fromMigration) builder.append("fromMigrate", true);
}

StatusWith<LoggedOperation> LoggedOperation::parse(bson::View operation) {
  const StrictFields fields("operation of a group", operation);
  TROUPE_TRY(fields.allowOnly(kOperationFields));
  return parseOperation(fields);
}

bson::Document OplogEntry::toDocument() const {
  bson::Builder builder;
  builder.reserve(operation.object.size() + (operation.other ? operation.other->size() : 0) + 200);
  if (session) builder.append("lsid", *session);
  if (txnNumber) builder.append("txnNumber", *txnNumber);
  operation.appendTo(builder);
  appendOpTime(opTime, builder);
  builder.append("v", kVersion).append("wall", wall);
  if (statements.size() == 1) builder.append("stmtId", statements.front());
  else if (!statements.empty()) builder.append("stmtId", statements);
  appendPlace("prevOpTime", previousOpTime, builder);
  appendPlace("preImageOpTime", preImage, builder);
  appendPlace("postImageOpTime", postImage, builder);
  if (image != RetryImage::kNone) builder.append("needsRetryImage", nameOf(image));
  return builder.finish();
}

StatusWith<OplogEntry> OplogEntry::parse(bson::View entry) {
  const StrictFields fields(kWhat, entry);
  TROUPE_TRY(fields.allowOnly(kKnownFields));
  OplogEntry parsed;
  TROUPE_ASSIGN(const auto version, fields.required("v", bson::Type::kInt64));
  if (version.asInt64() != kVersion) return fields.malformed("'v' must be 2");
  TROUPE_ASSIGN(parsed.operation, parseOperation(fields));
  TROUPE_ASSIGN(parsed.opTime, parseOpTime(fields));
  TROUPE_ASSIGN(const auto wall, fields.required("wall", bson::Type::kDate));
  parsed.wall = wall.asDate();
  TROUPE_TRY(parseSession(fields, parsed));
  return parsed;
}

}  // namespace troupe::storage
