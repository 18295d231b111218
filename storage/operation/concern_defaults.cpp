#include "storage/operation/concern_defaults.hpp"

#include <string>
#include <utility>

namespace troupe::storage {

namespace {

Status badValue(std::string why) { return {ErrorCode::kBadValue, std::move(why)}; }

/// Nothing: it is unset.
StatusWith<std::optional<ReadConcernLevel>> readDefault(bson::View given) {
  if (given.empty()) return std::optional<ReadConcernLevel>();
  TROUPE_ASSIGN(const ReadConcern concern, ReadConcern::parse(given));
  for (const bson::Element& e : given)
    if (e.name() != "level")
      return badValue("'" + std::string(e.name()) + "' must not be specified in the default read concern");
  const bool isSuitable = concern.level == ReadConcernLevel::kLocal || concern.level == ReadConcernLevel::kAvailable ||
                          concern.level == ReadConcernLevel::kMajority;
  if (!isSuitable)
    return badValue("level: '" + std::string(levelName(concern.level)) +
                    "' is not suitable for the default read concern");
  if (!concern.namesLevel) return badValue("the default read concern needs a level");
  return std::optional(concern.level);
}

StatusWith<WriteConcern> writeDefault(bson::View given) {
  TROUPE_ASSIGN(WriteConcern concern, WriteConcern::parse(given));
  const bool asksNobody = concern.w == 0 && !concern.majority && !concern.named && !concern.tagged;
  if (!concern.namesW || (concern.named && concern.mode.empty()))
    return badValue("the default write concern needs a 'w': a number of members, 'majority' or the name of a mode");
  if (asksNobody) return badValue("Unsupported default write concern: w: 0");
  concern.given = concern.namesW = false;  // of the commands that it is for
  concern.provenance = Provenance::kCustomDefault;
  return concern;
}

bson::View documentOf(const bson::Element& e) { return e.is(bson::Type::kDocument) ? e.asDocument() : bson::View(); }

}  // namespace

ConcernDefaults ConcernDefaults::of(bson::View stored) {
  ConcernDefaults defaults;
  const bson::View read = documentOf(stored["defaultReadConcern"]), write = documentOf(stored["defaultWriteConcern"]);
  if (const auto level = readDefault(read); level.isOK()) defaults.read = *level;
  if (!write.empty())
    if (auto concern = writeDefault(write); concern.isOK()) defaults.write = std::move(*concern);
  if (const auto time = stored["updateOpTime"]; time.is(bson::Type::kTimestamp))
    defaults.updateOpTime = time.asTimestamp();
  if (const auto date = stored["updateWallClockTime"]; date.is(bson::Type::kDate))
    defaults.updateWallClockTime = date.asDate();
  return defaults;
}

bson::Document ConcernDefaults::toDocument() const {
  bson::Builder out;
  out.append("_id", kId);
  if (read) out.append("defaultReadConcern", bson::doc("level", levelName(*read)));
  if (write) {
    out.openDocument("defaultWriteConcern");
    write->appendTo(out);
    out.close();
  }
  out.append("updateOpTime", updateOpTime).append("updateWallClockTime", updateWallClockTime);
  return out.finish();
}

StatusWith<ConcernDefaults> ConcernDefaults::with(const bson::View* readConcern, const bson::View* writeConcern) const {
  if (!readConcern && !writeConcern)
    return badValue(R"(At least one of the "defaultReadConcern" or "defaultWriteConcern" fields must be present)");
  ConcernDefaults next = *this;
  if (readConcern) {
    TROUPE_ASSIGN(next.read, readDefault(*readConcern));
  }
  if (!writeConcern) return next;
  if (!writeConcern->empty()) {
    TROUPE_ASSIGN(next.write, writeDefault(*writeConcern));
  } else if (next.write) {
    return Status(ErrorCode::kIllegalOperation, "The global default write concern cannot be unset once it is set.");
  }
  return next;
}

}  // namespace troupe::storage
