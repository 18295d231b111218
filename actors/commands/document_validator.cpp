#include "actors/commands/query_support.hpp"
#include "actors/commands/write_support.hpp"
#include "storage/query/match/match_parser.hpp"
#include "storage/query/match/mismatch.hpp"

namespace troupe::commands {
using namespace server;

StatusWith<DocumentValidator> DocumentValidator::of(const ServerContext& server, const storage::Collection& collection,
                                                    bool bypass) {
  DocumentValidator result;
  const storage::CollectionOptions& options = collection.options();
  if (bypass || !options.validator || options.validator->empty() || options.validationLevel == "off") return result;
  result.collator_ = collection.sharedCollator();
  query::ParseContext context;
  context.collator = result.collator_.get();
  setPresent(context, server);
  TROUPE_ASSIGN(auto rule, query::parseMatch(*options.validator, context));
  result.rule_ = std::move(rule);
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
  bson::Builder info;
  info.append("failingDocumentId", document["_id"]).append("details", query::explainMismatch(*rule_, document));
  return {ErrorCode::kDocumentValidationFailure, "Document failed validation", bson::doc("errInfo", info.finish())};
}

}  // namespace troupe::commands
