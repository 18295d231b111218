#include "storage/query/pipeline/source_options.hpp"

#include <algorithm>
#include <span>

#include "storage/query/expression/values.hpp"

// The options of stages that make their documents themselves, checked before the collection is looked at.
namespace troupe::query {

using bson::Element;
using bson::Type;

namespace {

std::string optionPath(std::string_view stage, const Element& option) {
  return "BSON field '" + std::string(stage) + "." + std::string(option.name()) + "'";
}

Status unknownOption(std::string_view stage, const Element& option) {
  return {ErrorCode::kUnknownField, optionPath(stage, option) + " is an unknown field."};
}

Status wrongOptionType(std::string_view stage, const Element& option, std::string_view expected) {
  return {ErrorCode::kTypeMismatch,
          optionPath(stage, option) + " is the wrong type '" + typeOf(option) + "', expected " + std::string(expected)};
}

/// Options that are all flags, where neither a number nor null stands for one.
Status checkFlags(const Element& specification, std::span<const std::string_view> names) {
  for (const Element& option : specification.asDocument()) {
    if (std::ranges::count(names, option.name()) == 0) return unknownOption(specification.name(), option);
    if (!option.is(Type::kBool)) return wrongOptionType(specification.name(), option, "type 'bool'");
  }
  return Status::OK();
}

Status checkCurrentOp(const Element& specification) {
  constexpr std::string_view kFlags[] = {"allUsers", "idleConnections", "idleCursors", "idleSessions",
                                         "localOps", "targetAllNodes",  "truncateOps"};
  TROUPE_TRY(checkFlags(specification, kFlags));
  if (specification.asDocument()["targetAllNodes"].truthy())
    return {ErrorCode::kFailedToParse, "$currentOp: 'targetAllNodes' is only for the router of a sharded cluster"};
  return Status::OK();
}

Status checkListClusterCatalog(const Element& specification) {
  constexpr std::string_view kFlags[] = {"shards", "tracked", "balancingConfiguration"};
  return checkFlags(specification, kFlags);
}

Status checkQuerySettings(const Element& specification) {
  constexpr std::string_view kFlags[] = {"showDebugQueryShape"};
  return checkFlags(specification, kFlags);
}

/// {}, {allUsers: bool} or {users: [{user, db}, ...]}.
Status checkListSessions(const Element& specification) {
  for (const Element& option : specification.asDocument()) {
    if (option.name() == "allUsers") {
      if (!option.is(Type::kBool)) return wrongOptionType(specification.name(), option, "type 'bool'");
    } else if (option.name() == "users") {
      if (!option.is(Type::kArray)) return wrongOptionType(specification.name(), option, "type 'array'");
      for (const Element& user : option.asArray())
        if (!user.is(Type::kDocument) || !user.asDocument()["user"].is(Type::kString) ||
            !user.asDocument()["db"].is(Type::kString))
          return wrongOptionType(specification.name(), option, "documents {user, db} of strings");
    } else {
      return unknownOption(specification.name(), option);
    }
  }
  if (specification.asDocument()["allUsers"].truthy() && specification.asDocument()["users"].ok())
    return {ErrorCode::kUnsupportedFormat,
            std::string(specification.name()) + " takes 'allUsers' or 'users', not both"};
  return Status::OK();
}

Status checkPlanCacheStats(const Element& specification) {
  for (const Element& option : specification.asDocument()) {
    if (option.name() != "allHosts")
      return {ErrorCode::kFailedToParse, "$planCacheStats has no option '" + std::string(option.name()) + "'"};
    if (!option.is(Type::kBool))
      return {ErrorCode(13111), "$planCacheStats: 'allHosts' must be a bool, but found " + typeOf(option)};
    if (option.truthy())
      return {ErrorCode(4503200), "$planCacheStats: 'allHosts' is only for the router of a sharded cluster"};
  }
  return Status::OK();
}

Status checkIndexStats(const Element& specification) {
  if (specification.asDocument().empty()) return Status::OK();
  return {ErrorCode(28803), "The $indexStats stage specification must be an empty object"};
}

Status checkLatencyStats(const Element& options) {
  constexpr std::string_view kPath = "$collStats.latencyStats";
  for (const Element& option : options.asDocument()) {
    if (option.name() != "histograms") return unknownOption(kPath, option);
    if (!option.is(Type::kBool)) return wrongOptionType(kPath, option, "type 'bool'");
  }
  return Status::OK();
}

Status checkStorageStats(const Element& options) {
  const Element scale = options.asDocument()["scale"];
  if (scale.isNullish()) return Status::OK();
  if (!scale.isNumber())
    return wrongOptionType("$collStats.storageStats", scale, "types '[long, int, decimal, double]'");
  if (scale.toInt64() < 1)
    return {ErrorCode::kBadValue, optionPath("$collStats.storageStats", scale) + " value must be >= 1, actual value '" +
                                      std::to_string(scale.toInt64()) + "'"};
  return Status::OK();
}

/// Null stands for an option that is not given.
Status checkCollStats(const Element& specification) {
  constexpr std::string_view kOptions[] = {"latencyStats", "storageStats", "count", "queryExecStats"};
  for (const Element& option : specification.asDocument()) {
    const auto name = option.name();
    if (std::ranges::count(kOptions, name) == 0) return unknownOption("$collStats", option);
    if (option.isNullish()) continue;
    if (!option.is(Type::kDocument)) return wrongOptionType("$collStats", option, "type 'object'");
    if (name == "latencyStats") TROUPE_TRY(checkLatencyStats(option));
    if (name == "storageStats") TROUPE_TRY(checkStorageStats(option));
    if ((name == "count" || name == "queryExecStats") && !option.asDocument().empty())
      return {ErrorCode(31170), optionPath("$collStats", option) + " takes no options: it must be an empty document"};
  }
  return Status::OK();
}

}  // namespace

Status checkSourceOptions(const Element& specification) {
  const auto stage = specification.name();
  if (stage == "$currentOp") return checkCurrentOp(specification);
  if (stage == "$collStats") return checkCollStats(specification);
  if (stage == "$indexStats") return checkIndexStats(specification);
  if (stage == "$planCacheStats") return checkPlanCacheStats(specification);
  if (stage == "$listClusterCatalog") return checkListClusterCatalog(specification);
  if (stage == "$querySettings") return checkQuerySettings(specification);
  if (stage == "$listSessions" || stage == "$listLocalSessions") return checkListSessions(specification);
  return Status::OK();
}

}  // namespace troupe::query
