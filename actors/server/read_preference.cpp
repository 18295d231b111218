#include "actors/server/read_preference.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "actors/server/arguments.hpp"
#include "actors/server/request.hpp"
#include "messaging/bson/numeric.hpp"

namespace troupe::server {

namespace {

constexpr std::string_view kPreference = "$readPreference";
constexpr int64_t kNoMaxStaleness = -1;
constexpr int64_t kSmallestMaxStaleness = 90;

constexpr std::pair<std::string_view, ReadMode> kReadModes[] = {
    {"primary", ReadMode::kPrimary},     {"primaryPreferred", ReadMode::kPrimaryPreferred},
    {"secondary", ReadMode::kSecondary}, {"secondaryPreferred", ReadMode::kSecondaryPreferred},
    {"nearest", ReadMode::kNearest},
};

constexpr Argument kPreferenceFields[] = {stringArg("mode").required(), arrayArg("tags"),
                                          numberArg("maxStalenessSeconds"), documentArg("hedge"), kAnyOtherArgs};
constexpr Argument kHedgeFields[] = {boolArg("enabled"), kAnyOtherArgs};

StatusWith<ReadMode> parseReadMode(std::string_view name) {
  const auto* const found = std::ranges::find(kReadModes, name, [](const auto& each) { return each.first; });
  if (found != std::end(kReadModes)) return found->second;
  return Status(ErrorCode::kFailedToParse, "'" + std::string(name) +
                                               "' is no mode of $readPreference: name primary, primaryPreferred, "
                                               "secondary, secondaryPreferred or nearest");
}

Status besidePrimary(const std::string& field) {
  return {ErrorCode::kFailedToParse, "the $readPreference 'primary' takes no " + field +
                                         ": leave it out, or name a mode that reads from secondaries"};
}

/// A list of tag sets; `[{}]` is how some drivers say that there are none.
Status checkTags(const bson::Element& tags, ReadMode mode) {
  if (tags.isNullish()) return Status::OK();
  const auto wrongType = [] {
    return Status(ErrorCode::kTypeMismatch,
                  "BSON field '$readPreference.tags' must be an array of documents whose values are strings");
  };
  for (const bson::Element& set : tags.asArray()) {
    if (!set.is(bson::Type::kDocument)) return wrongType();
    for (const bson::Element& tag : set.asDocument()) {
      if (!tag.is(bson::Type::kString)) return wrongType();
      if (mode == ReadMode::kPrimary) return besidePrimary("tags");
    }
  }
  return Status::OK();
}

Status checkMaxStaleness(const bson::Element& given, ReadMode mode) {
  if (given.isNullish()) return Status::OK();
  const auto seconds = bson::integerOf(given);
  if (!seconds.isOK()) return seconds.status().withContext("$readPreference.maxStalenessSeconds");
  if (*seconds == kNoMaxStaleness || *seconds == 0) return Status::OK();
  if (*seconds < kSmallestMaxStaleness)
    return {ErrorCode::kMaxStalenessOutOfRange, "maxStalenessSeconds of $readPreference is " +
                                                    std::to_string(*seconds) + ": name at least " +
                                                    std::to_string(kSmallestMaxStaleness) + ", or -1 for no limit"};
  return mode == ReadMode::kPrimary ? besidePrimary("maxStalenessSeconds") : Status::OK();
}

}  // namespace

StatusWith<ReadMode> parseReadPreference(bson::View preference) {
  static const bson::Document kUsual = bson::doc("mode", "primary");  // what drivers send with nearly every command
  if (preference == kUsual.view()) return ReadMode::kPrimary;
  TROUPE_TRY(checkFields(kPreference, kPreferenceFields, preference));
  TROUPE_ASSIGN(const ReadMode mode, parseReadMode(preference["mode"].asString()));
  TROUPE_TRY(checkTags(preference["tags"], mode));
  TROUPE_TRY(checkMaxStaleness(preference["maxStalenessSeconds"], mode));
  if (const bson::Element hedge = preference["hedge"]; !hedge.isNullish())
    TROUPE_TRY(checkFields("$readPreference.hedge", kHedgeFields, hedge.asDocument()));
  return mode;
}

Status takeReadPreference(Request& request) {
  bson::Element given = request.arg(kPreference);
  if (!given) given = request.document("$queryOptions")[kPreference];  // as older routers pass it on
  if (given.isNullish()) return Status::OK();
  if (!given.is(bson::Type::kDocument))  // of a command that accepts all fields, too
    return {ErrorCode::kTypeMismatch, "BSON field '$readPreference' is the wrong type '" +
                                          std::string(bson::typeName(given.type())) + "', expected type 'object'"};
  TROUPE_ASSIGN(request.readMode, parseReadPreference(given.asDocument()));
  return Status::OK();
}

}  // namespace troupe::server
