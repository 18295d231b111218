#include "actors/commands/write_support.hpp"
#include "storage/query/match/match_parser.hpp"

namespace troupe::commands {

StatusWith<DocumentValidator> DocumentValidator::of(const storage::Collection& collection, bool bypass) {
  DocumentValidator result;
  const storage::CollectionOptions& options = collection.options();
  if (bypass || !options.validator || options.validator->empty() || options.validationLevel == "off") return result;
  query::ParseContext context;
  context.collator = collection.collator();
  TROUPE_ASSIGN(auto rule, query::parseMatch(*options.validator, context));
  result.rule_ = std::move(rule);
  result.shown_ = *options.validator;
  result.moderate_ = options.validationLevel == "moderate";
  result.warnOnly_ = options.validationAction == "warn";
  return result;
}

Status DocumentValidator::check(bson::View document, const bson::View* before) const {
  if (!rule_ || warnOnly_) return Status::OK();
  query::MatchDetails matching;
  if (rule_->matches(document, &matching)) return Status::OK();
  if (rule_->canFail()) TROUPE_TRY(matching.error);
  if (moderate_ && before && !rule_->matches(*before)) return Status::OK();
  bson::Builder details;
  const bool schema = shown_.view().first().name() == "$jsonSchema";
  details.append("operatorName", schema ? "$jsonSchema" : std::string(shown_.view().first().name()));
  details.append("specifiedAs", shown_)
      .append("reason", schema ? "the document does not satisfy the schema" : "expression did not match");
  bson::Builder info;
  info.append("failingDocumentId", document["_id"]).append("details", details.finish());
  return {ErrorCode::kDocumentValidationFailure, "Document failed validation", bson::doc("errInfo", info.finish())};
}

}  // namespace troupe::commands
