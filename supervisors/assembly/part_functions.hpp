#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/environment/environment.hpp"
#include "actors/kernel/registry.hpp"
#include "actors/server/parameters.hpp"
#include "messaging/auth/random.hpp"
#include "messaging/bson/collation.hpp"
#include "messaging/bson/document.hpp"
#include "storage/catalog/collection.hpp"
#include "storage/transaction/conflict_retry.hpp"
#include "supervisors/assembly/assembly_options.hpp"

namespace troupe::supervisors {

// Functions that an assembled node gives to its parts, which are of rooms below and cannot ask upwards.

/// Partial indexes ask the query language whether they hold a document.
StatusWith<storage::DocumentFilter> makeFilter(bson::View expression, const bson::Collator* collator);
/// Repeatable, for nodes whose environment is: no secret stays one that comes from it. `environment` outlives it.
auth::RandomSource randomFrom(Environment& environment);
/// What makes decoy credentials: that of the options; one for this start alone, with a warning, where it cannot be
/// kept.
std::string loginSecretOf(const AssemblyOptions& options, log::Log& log);
/// As `notAwaited` of startWatchedTree. `log` outlives it.
std::function<void(const std::string& path, const std::string& why)> warnOfChildren(log::Log& log);
/// How conflicts are retried, as the parameters say now.
storage::ConflictRetryOptions conflictRetryOf(const server::Parameters& parameters);
/// Rows of the actor tree. `filter`: {type, phase, under, limit}.
std::vector<bson::Document> rowsOf(const Registry& registry, bson::View filter);

}  // namespace troupe::supervisors
