#include "actors/commands/query_support.hpp"
#include "actors/commands/write_support.hpp"
#include "storage/query/match/match_parser.hpp"
#include "storage/query/match/mismatch.hpp"

namespace troupe::commands {
using namespace server;

StatusWith<DocumentValidator> DocumentValidator::of(const ServerContext& server, const storage::Collection& collection,
                                                    bool bypass, query::QueryWork& work) {
  DocumentValidator result;
  const storage::CollectionOptions& options = collection.options();
  if (bypass || !options.validator || options.validator->empty() || options.validationLevel == "off") return result;
  result.collator_ = collection.sharedCollator();
  query::ParseContext context;
  context.collator = result.collator_.get();
  context.work = result.work_ = &work;
  setPresent(context, server);
  TROUPE_ASSIGN(auto rule, query::parseMatch(*options.validator, context));
  result.rule_ = std::move(rule);
  result.moderate_ = options.validationLevel == "moderate";
  result.warnOnly_ = options.validationAction == "warn";
  return result;
}

StatusWith<bool> DocumentValidator::accepts(bson::View document) const {
  query::MatchDetails matching;
  matching.work = work_;
  const bool matched = rule_->matches(document, &matching);
  TROUPE_TRY(matching.error);
  return matched;
}

Status DocumentValidator::check(bson::View document, const bson::View* before) const {
  if (!rule_ || warnOnly_) return Status::OK();
  TROUPE_ASSIGN(const bool isValid, accepts(document));
  if (isValid) return Status::OK();
  if (moderate_ && before) {
    TROUPE_ASSIGN(const bool wasValid, accepts(*before));
    if (!wasValid) return Status::OK();
  }
  TROUPE_ASSIGN(const auto details, query::explainMismatch(*rule_, document, work_));
  bson::Builder info;
  info.append("failingDocumentId", document["_id"]).append("details", details);
  return {ErrorCode::kDocumentValidationFailure, "Document failed validation", bson::doc("errInfo", info.finish())};
}

}  // namespace troupe::commands
