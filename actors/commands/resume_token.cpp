#include "actors/commands/resume_token.hpp"

namespace troupe::commands {
using namespace server;

namespace {

constexpr std::string_view kRecordId = "$recordId", kIdent = "$ident";
/// Arguments of a find that other finds do not pay for.
constexpr std::string_view kAboutTokens[] = {"$_requestResumeToken", "$_resumeAfter", "$_startAt"};

/// The record that a token names; "none" stands for the beginning.
StatusWith<storage::RecordId> recordOf(bson::View token) {
  const bson::Element record = token[kRecordId];
  if (record.is(bson::Type::kNull)) return storage::RecordId();
  if (record.is(bson::Type::kInt64) && record.toInt64() > 0) return storage::RecordId(record.toInt64());
  return Status(
      ErrorCode::kBadValue,
      "Malformed resume token: the object must have a field named '$recordId', of type NumberLong or jstNULL.");
}

}  // namespace

bool isNaturalOrder(bson::View pattern) { return pattern.first().name() == "$natural" && pattern.count() == 1; }

StatusWith<bool> wantsResumeToken(const Request& find) {
  if (!find.fields().hasAny<kAboutTokens>()) return false;
  const bool wanted = find.flag("$_requestResumeToken");
  if (!wanted) {
    if (find.arg("$_resumeAfter") || find.arg("$_startAt"))
      return Status(ErrorCode::kBadValue, "'$_requestResumeToken' must be true if a resume token is given");
    return false;
  }
  const auto hint = find.arg("hint");
  if (!hint.isObjectLike() || !isNaturalOrder(hint.asDocument()))
    return Status(ErrorCode::kBadValue, "hint must be {$natural:<direction>} if '$_requestResumeToken' is enabled");
  const bson::View sort = find.document("sort");
  if (!sort.empty() && !isNaturalOrder(sort))
    return Status(ErrorCode::kBadValue,
                  "sort must be unset or {$natural:<direction>} if '$_requestResumeToken' is enabled");
  if (find.arg("$_resumeAfter") && find.arg("$_startAt"))
    return Status(ErrorCode::kBadValue, "'$_resumeAfter' and '$_startAt' cannot be used together");
  return true;
}

Status beginAtToken(const Request& find, const storage::Collection& collection, query::FindRequest& wanted) {
  wanted.fromNearest = static_cast<bool>(find.arg("$_startAt"));
  const auto given = wanted.fromNearest ? find.arg("$_startAt") : find.arg("$_resumeAfter");
  if (!given) return Status::OK();
  TROUPE_ASSIGN(wanted.behind, recordOf(given.asDocument()));
  if (wanted.behind.ok() && collection.isClustered())
    return {ErrorCode::kBadValue, "a scan of a clustered collection cannot be resumed by a record"};
  const bson::Element ident = given.asDocument()[kIdent];
  if (!ident.is(bson::Type::kString) || ident.toStringOr() == collection.ident()) return Status::OK();
  return {ErrorCode::kKeyNotFound, "Failed to resume collection scan: the records of " + collection.ns().toString() +
                                       " are others than those of the resume token; begin anew"};
}

}  // namespace troupe::commands
