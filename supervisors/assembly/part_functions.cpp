#include "supervisors/assembly/part_functions.hpp"

#include <algorithm>
#include <chrono>
#include <string>

#include "storage/query/match/match_parser.hpp"

namespace troupe::supervisors {

StatusWith<storage::DocumentFilter> makeFilter(bson::View expression, const bson::Collator* collator) {
  query::ParseContext context;
  context.collator = collator;
  TROUPE_ASSIGN(auto parsed, query::parseMatch(expression, context));
  const std::shared_ptr<const query::MatchExpression> shared = std::move(parsed);
  return storage::DocumentFilter([shared](bson::View document) { return shared->matches(document); });
}

auth::RandomSource randomFrom(Environment& environment) {
  return [&environment](void* bytes, size_t size) {
    auto* at = static_cast<unsigned char*>(bytes);
    for (size_t i = 0; i < size; ++i) at[i] = static_cast<unsigned char>(environment.random());
  };
}

/// A node that cannot keep its secret serves all the same, with another one in each life: only a client that compares
/// answers across a restart learns which users exist.
std::string loginSecretOf(const AssemblyOptions& options, log::Log& log) {
  if (options.loginSecret) {
    const auto kept = options.loginSecret();
    if (kept.isOK()) return *kept;
    log.warning(log::Component::kAccess, 5286309, "main",
                "The secret of the log-in cannot be kept: what the server answers to unknown users changes with its "
                "next start",
                bson::doc("error", kept.status().reason()));
  }
  return auth::randomBytes(options.secrets, 32);
}

std::function<void(const std::string& path, const std::string& why)> warnOfChildren(log::Log& log) {
  return [&log](const std::string& path, const std::string& why) {
    log.warning(log::Component::kSupervision, 7007001, "main",
                "An actor has failed: the start goes on without it, and it is started again",
                bson::doc("path", path, "reason", why));
  };
}

storage::ConflictRetryOptions conflictRetryOf(const server::Parameters& parameters) {
  storage::ConflictRetryOptions options;
  options.temporarilyUnavailable = parameters.enableTemporarilyUnavailableExceptions;
  options.temporarilyUnavailableMaxRetries = static_cast<int>(parameters.temporarilyUnavailableMaxRetries);
  options.temporarilyUnavailableBackoffBase =
      std::chrono::milliseconds(parameters.temporarilyUnavailableBackoffBaseMillis);
  return options;
}

std::vector<bson::Document> rowsOf(const Registry& registry, bson::View filter) {
  RowFilter wanted;
  wanted.type = std::string(filter["type"].toStringOr());
  wanted.phase = std::string(filter["phase"].toStringOr());
  wanted.under = std::string(filter["under"].toStringOr());
  wanted.limit = static_cast<size_t>(std::max<int64_t>(0, filter["limit"].toInt64()));
  std::vector<bson::Document> rows;
  for (const auto& row : registry.rows(wanted)) rows.push_back(row.toBson());
  return rows;
}

}  // namespace troupe::supervisors
