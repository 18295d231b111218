#include "storage/operation/concerns.hpp"

#include <algorithm>
#include <array>
#include <cmath>
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

Status wrongType(std::string_view concern, const Element& e, std::string_view expected) {
  return {ErrorCode::kTypeMismatch, "BSON field '" + std::string(concern) + "." + std::string(e.name()) +
                                        "' is the wrong type '" + std::string(bson::typeName(e.type())) +
                                        "', expected " + std::string(expected)};
}

Status unknownField(std::string_view concern, const Element& e) {
  return {ErrorCode::kUnknownField,
          "BSON field '" + std::string(concern) + "." + std::string(e.name()) + "' is an unknown field."};
}

Status notAValue(std::string_view concern, const Element& e) {
  return {ErrorCode::kBadValue, "Enumeration value '" + std::string(e.asString()) + "' for field '" +
                                    std::string(concern) + "." + std::string(e.name()) + "' is not a valid value."};
}

StatusWith<ReadConcernLevel> levelNamed(const Element& e) {
  if (!e.is(Type::kString)) return wrongType("readConcern", e, "type 'string'");
  for (const auto& [name, level] : kLevels)
    if (name == e.asString()) return level;
  return notAValue("readConcern", e);
}

/// Where a concern comes from: said by routers and drivers, and only checked.
Status checkProvenance(std::string_view concern, const Element& e) {
  constexpr std::string_view kProvenances[] = {"clientSupplied", "implicitDefault", "customDefault",
                                               "getLastErrorDefaults", "internalWriteDefault"};
  if (e.isNullish()) return Status::OK();
  if (!e.is(Type::kString)) return wrongType(concern, e, "type 'string'");
  return std::ranges::count(kProvenances, e.asString()) > 0 ? Status::OK() : notAValue(concern, e);
}

StatusWith<bson::Timestamp> clusterTime(const Element& e) {
  if (!e.is(Type::kTimestamp)) return wrongType("readConcern", e, "type 'timestamp'");
  // A snapshot needs a time of day; others may wait for the first entry of all.
  const bool isNull = e.name() == "atClusterTime" ? e.asTimestamp().seconds == 0 : e.asTimestamp() == bson::Timestamp{};
  if (isNull) return Status(ErrorCode::kInvalidOptions, std::string(e.name()) + " cannot be a null timestamp");
  return e.asTimestamp();
}

/// {ts, t} of an entry of the log.
StatusWith<OpTime> opTimeOf(const Element& e) {
  if (!e.is(Type::kDocument)) return wrongType("readConcern", e, "type 'object'");
  const Element time = e.asDocument()["ts"], term = e.asDocument()["t"];
  if (!time.is(Type::kTimestamp)) return wrongType("readConcern.afterOpTime", time, "type 'timestamp'");
  if (!term.isNumber()) return wrongType("readConcern.afterOpTime", term, "type 'long'");
  return OpTime{term.toInt64(), time.asTimestamp()};
}

/// Tags with the number of members that have to have each. No member of this server has tags, so they ask for nothing
/// beyond this one; where there is a replica set, its config decides.
Status parseTags(const Element& e, WriteConcern& result) {
  if (e.asDocument().empty()) return {ErrorCode::kFailedToParse, "tagged write concern requires tags"};
  for (const Element& tag : e.asDocument())
    if (!tag.isNumber())
      return {ErrorCode::kFailedToParse, "tags must be a single level document with only number values; found: " +
                                             std::string(bson::typeName(tag.type()))};
  result.tagged = true;
  return Status::OK();
}

Status parseW(const Element& e, WriteConcern& result) {
  if (e.is(Type::kString) || e.isNullish()) {  // null counts as a mode without a name
    result.majority = e.toStringOr() == "majority";
    result.named = !result.majority;
    if (result.named) result.mode = e.toStringOr();
    return Status::OK();
  }
  if (e.is(Type::kDocument)) return parseTags(e, result);
  if (!e.isNumber()) return {ErrorCode::kFailedToParse, "w has to be a number, string, or object"};
  result.w = e.toInt64();
  if (std::isnan(e.toDouble()) || result.w < 0 || result.w > 50)
    return {ErrorCode::kFailedToParse,
            "w has to be a non-negative number and not greater than 50; found: " + std::to_string(result.w)};
  return Status::OK();
}

/// Anything that is no number means no limit.
Status parseTimeout(const Element& e, WriteConcern& result) {
  if (e.isNumber() && e.toInt64() > INT32_MAX)
    return {ErrorCode::kFailedToParse, "wtimeout must be less than 2^31 milliseconds, in 'writeConcern'"};
  if (e.isNumber()) result.timeout = bson::timeLimitOf(e);
  return Status::OK();
}

}  // namespace

std::string_view levelName(ReadConcernLevel level) {
  return std::ranges::find(kLevels, level, &std::pair<std::string_view, ReadConcernLevel>::second)->first;
}

std::string_view provenanceName(Provenance provenance) {
  constexpr std::string_view kNames[] = {"implicitDefault", "customDefault", "clientSupplied"};
  return kNames[static_cast<size_t>(provenance)];
}

StatusWith<ReadConcern> ReadConcern::parse(bson::View given) {
  ReadConcern result;
  result.given = !given.empty();
  for (const Element& e : given) {
    if (e.name() == "level") {
      if (e.isNullish()) continue;
      TROUPE_ASSIGN(result.level, levelNamed(e));
      result.namesLevel = true;
      result.provenance = Provenance::kClientSupplied;
    } else if (e.name() == "afterClusterTime") {
      TROUPE_ASSIGN(result.afterClusterTime, clusterTime(e));
    } else if (e.name() == "atClusterTime") {
      TROUPE_ASSIGN(result.atClusterTime, clusterTime(e));
    } else if (e.name() == "provenance") {
      TROUPE_TRY(checkProvenance("readConcern", e));
    } else if (e.name() == "afterOpTime") {
      TROUPE_ASSIGN(result.afterOpTime, opTimeOf(e));
    } else {
      return unknownField("readConcern", e);
    }
  }
  if (result.afterOpTime && (result.afterClusterTime || result.atClusterTime))
    return Status(ErrorCode::kInvalidOptions, "Can not specify both afterOpTime and a cluster time");
  if (result.afterClusterTime && result.atClusterTime)
    return Status(ErrorCode::kInvalidOptions, "Can not specify both afterClusterTime and atClusterTime");
  if (result.atClusterTime && !result.isSnapshot())
    return Status(ErrorCode::kInvalidOptions, "atClusterTime field can be set only if level is equal to snapshot");
  return result;
}

void WriteConcern::takeW(const WriteConcern& other) {
  w = other.w;
  majority = other.majority;
  named = other.named;
  mode = other.mode;
  tagged = other.tagged;
}

void WriteConcern::appendTo(bson::Builder& out) const {
  if (majority) out.append("w", "majority");
  else if (named) out.append("w", mode);
  else out.append("w", static_cast<int32_t>(w));
  if (journaled) out.append("j", true);
  out.append("wtimeout", timeout ? static_cast<int64_t>(timeout->count()) : int64_t{0});
}

StatusWith<WriteConcern> WriteConcern::parse(bson::View given) {
  WriteConcern result;
  result.given = !given.empty();
  if (result.given) result.provenance = Provenance::kClientSupplied;
  for (const Element& e : given) {
    if (e.name() == "w") {
      TROUPE_TRY(parseW(e, result));
      result.namesW = true;
    } else if (e.name() == "j" || e.name() == "fsync") {
      if (!e.is(Type::kBool) && !e.isNumber() && !e.isNullish())
        return wrongType("writeConcern", e, "types '[bool, long, int, decimal, double]'");
      result.journaled = result.journaled || e.truthy();
    } else if (e.name() == "wtimeout" || e.name() == "wtimeoutMS") {
      TROUPE_TRY(parseTimeout(e, result));
    } else if (e.name() == "provenance") {
      TROUPE_TRY(checkProvenance("writeConcern", e));
    } else if (e.name() != "getLastError") {
      return unknownField("writeConcern", e);
    }
  }
  return result;
}

}  // namespace troupe::storage
