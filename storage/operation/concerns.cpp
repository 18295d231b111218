#include "storage/operation/concerns.hpp"

#include <array>
#include <utility>

#include "messaging/bson/numeric.hpp"

namespace troupe::storage {
namespace {

using bson::Element;
using bson::Type;

constexpr std::array<std::pair<std::string_view, ReadConcernLevel>, 5> kLevels{{
    {"local", ReadConcernLevel::kLocal},
    {"available", ReadConcernLevel::kAvailable},
    {"majority", ReadConcernLevel::kMajority},
    {"linearizable", ReadConcernLevel::kLinearizable},
    {"snapshot", ReadConcernLevel::kSnapshot},
}};

StatusWith<ReadConcernLevel> levelNamed(const Element& e) {
  if (!e.is(Type::kString))
    return Status(ErrorCode::kTypeMismatch, "BSON field 'readConcern.level' is the wrong type '" +
                                                std::string(bson::typeName(e.type())) + "', expected type 'string'");
  for (const auto& [name, level] : kLevels)
    if (name == e.asString()) return level;
  return Status(ErrorCode::kFailedToParse, "Enumeration value '" + std::string(e.asString()) +
                                               "' for field 'readConcern.level' is not a valid value.");
}

StatusWith<bson::Timestamp> clusterTime(const Element& e) {
  if (!e.is(Type::kTimestamp))
    return Status(ErrorCode::kTypeMismatch, "BSON field 'readConcern." + std::string(e.name()) +
                                                "' is the wrong type '" + std::string(bson::typeName(e.type())) +
                                                "', expected type 'timestamp'");
  if (e.asTimestamp() == bson::Timestamp{})
    return Status(ErrorCode::kInvalidOptions, std::string(e.name()) + " cannot be a null timestamp");
  return e.asTimestamp();
}

Status parseW(const Element& e, WriteConcern& result) {
  if (e.is(Type::kString)) {
    result.majority = e.asString() == "majority";
    if (!result.majority) result.mode = e.asString();
    return Status::OK();
  }
  if (!e.isNumber()) return {ErrorCode::kFailedToParse, "w has to be a number or a string"};
  result.w = e.toInt64();
  if (result.w < 0 || result.w > 50)
    return {ErrorCode::kFailedToParse,
            "w has to be a non-negative number and not greater than 50; found: " + std::to_string(result.w)};
  return Status::OK();
}

}  // namespace

StatusWith<ReadConcern> ReadConcern::parse(bson::View given) {
  ReadConcern result;
  result.given = !given.empty();
  for (const Element& e : given) {
    if (e.name() == "level") {
      TROUPE_ASSIGN(result.level, levelNamed(e));
    } else if (e.name() == "afterClusterTime") {
      TROUPE_ASSIGN(result.afterClusterTime, clusterTime(e));
    } else if (e.name() == "atClusterTime") {
      TROUPE_ASSIGN(result.atClusterTime, clusterTime(e));
    } else if (e.name() != "provenance" && e.name() != "afterOpTime") {
      return Status(ErrorCode::kFailedToParse,
                    "BSON field 'readConcern." + std::string(e.name()) + "' is an unknown field.");
    }
  }
  if (result.afterClusterTime && result.atClusterTime)
    return Status(ErrorCode::kInvalidOptions, "Can not specify both afterClusterTime and atClusterTime");
  if (result.atClusterTime && !result.isSnapshot())
    return Status(ErrorCode::kInvalidOptions, "atClusterTime field can be set only if level is equal to snapshot");
  return result;
}

StatusWith<WriteConcern> WriteConcern::parse(bson::View given) {
  WriteConcern result;
  result.given = !given.empty();
  for (const Element& e : given) {
    if (e.name() == "w") {
      TROUPE_TRY(parseW(e, result));
    } else if (e.name() == "j" || e.name() == "fsync") {
      if (!e.is(Type::kBool) && !e.isNumber())
        return Status(ErrorCode::kFailedToParse, std::string(e.name()) + " must be numeric or a boolean value");
      result.journaled = result.journaled || e.truthy();
    } else if (e.name() == "wtimeout" || e.name() == "wtimeoutMS") {
      if (!e.isNumber()) return Status(ErrorCode::kFailedToParse, "wtimeout must be a number");
      result.timeout = bson::timeLimitOf(e);
    } else if (e.name() != "provenance" && e.name() != "getLastError") {
      return Status(ErrorCode::kFailedToParse, "unrecognized write concern field: " + std::string(e.name()));
    }
  }
  return result;
}

}  // namespace troupe::storage
