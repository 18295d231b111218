#include "storage/query/expression/calendar.hpp"

#include <unicode/timezone.h>

#include <cctype>
#include <limits>
#include <map>

#include "storage/query/expression/values.hpp"

namespace troupe::query {

using bson::Element;
using bson::Type;

int64_t floorDivide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

int64_t daysFromCivil(int64_t year, int64_t month, int64_t day) {
  year += floorDivide(month - 1, 12);
  month = (month - 1) - 12 * floorDivide(month - 1, 12) + 1;
  if (month <= 2) --year;
  const int64_t era = floorDivide(year, 400);
  const int64_t yearOfEra = year - era * 400;
  const int64_t dayOfTheYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5;
  return era * 146097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfTheYear + (day - 1) - 719468;
}

namespace {

/// The date of a day since 1970, at midnight. The days of all dates fit, their milliseconds need not.
DateParts dateOfDay(int64_t days) {
  const int64_t z = days + 719468;
  const int64_t era = floorDivide(z, 146097);
  const int64_t dayOfEra = z - era * 146097;
  const int64_t yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146096) / 365;
  const int64_t dayOfTheYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100);
  const int64_t shifted = (5 * dayOfTheYear + 2) / 153;
  DateParts parts;
  parts.day = static_cast<int>(dayOfTheYear - (153 * shifted + 2) / 5 + 1);
  parts.month = static_cast<int>(shifted < 10 ? shifted + 3 : shifted - 9);
  parts.year = yearOfEra + era * 400 + (parts.month <= 2);
  return parts;
}

/// 1 is Sunday; day 0 was a Thursday.
int weekDayOf(int64_t days) { return static_cast<int>(days + 4 - 7 * floorDivide(days + 4, 7)) + 1; }

int64_t dayOf(int64_t localMillis) { return floorDivide(localMillis, kDayMillis); }

}  // namespace

DateParts partsOf(int64_t localMillis) {
  DateParts parts = dateOfDay(dayOf(localMillis));
  const int64_t rest = (localMillis % kDayMillis + kDayMillis) % kDayMillis;
  parts.hour = static_cast<int>(rest / 3'600'000);
  parts.minute = static_cast<int>(rest / 60'000 % 60);
  parts.second = static_cast<int>(rest / 1000 % 60);
  parts.millisecond = static_cast<int>(rest % 1000);
  return parts;
}

int64_t millisOf(const DateParts& p) {
  return daysFromCivil(p.year, p.month, p.day) * kDayMillis +
         ((int64_t{p.hour} * 60 + p.minute) * 60 + p.second) * 1000 + p.millisecond;
}

int dayOfWeek(int64_t localMillis) { return weekDayOf(dayOf(localMillis)); }

int dayOfYear(int64_t localMillis) {
  const int64_t days = dayOf(localMillis);
  return static_cast<int>(days - daysFromCivil(partsOf(localMillis).year, 1, 1)) + 1;
}

int64_t daysFromIsoWeek(int64_t year, int64_t week, int64_t dayOfTheWeek) {
  const int64_t fourth = daysFromCivil(year, 1, 4);  // always in week 1
  const int64_t monday = fourth - (weekDayOf(fourth) + 5) % 7;
  return monday + (week - 1) * 7 + dayOfTheWeek - 1;
}

IsoWeek isoWeekOf(int64_t localMillis) {
  const int64_t days = dayOf(localMillis);
  IsoWeek iso;
  iso.dayOfWeek = (dayOfWeek(localMillis) + 5) % 7 + 1;
  iso.year = dateOfDay(days - (iso.dayOfWeek - 4)).year;  // the year of the week's Thursday
  iso.week = static_cast<int>((days - daysFromIsoWeek(iso.year, 1, 1)) / 7) + 1;
  return iso;
}

struct Zone::Rules {
  std::unique_ptr<icu::TimeZone> zone;
};

namespace {

/// "+hh", "+hhmm" or "+hh:mm" in milliseconds.
std::optional<int64_t> fixedOffset(std::string_view text) {
  if (text.size() < 3 || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  std::string digits;
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == ':' && i == 3) continue;
    if (!std::isdigit(static_cast<unsigned char>(text[i]))) return std::nullopt;
    digits += text[i];
  }
  if (digits.size() != 2 && digits.size() != 4) return std::nullopt;
  if (digits.size() == 2) digits += "00";
  const int64_t minutes = (digits[0] - '0') * 600 + (digits[1] - '0') * 60 + (digits[2] - '0') * 10 + (digits[3] - '0');
  return (text[0] == '-' ? -1 : 1) * minutes * 60'000;
}

}  // namespace

StatusWith<Zone> Zone::parse(std::string_view name) {
  Zone zone;
  if (name == "UTC" || name == "GMT" || name == "Z") return zone;
  if (const auto offset = fixedOffset(name)) {
    zone.fixed_ = *offset;
    return zone;
  }
  thread_local std::map<std::string, std::shared_ptr<const Rules>, std::less<>> known;
  if (const auto found = known.find(name); found != known.end()) {
    zone.rules_ = found->second;
    return zone;
  }
  const auto id = icu::UnicodeString::fromUTF8(icu::StringPiece(name.data(), static_cast<int32_t>(name.size())));
  auto rules = std::make_shared<Rules>();
  rules->zone.reset(icu::TimeZone::createTimeZone(id));
  if (name.empty() || !rules->zone || *rules->zone == icu::TimeZone::getUnknown())
    return Status(ErrorCode(40485), "unrecognized time zone identifier: \"" + shortened(name) + "\"");
  if (known.size() > 256) known.clear();
  known.emplace(name, rules);
  zone.rules_ = std::move(rules);
  return zone;
}

int64_t Zone::offsetAt(int64_t instant) const {
  if (!rules_) return fixed_;
  int32_t raw = 0, saving = 0;
  UErrorCode error = U_ZERO_ERROR;
  rules_->zone->getOffset(static_cast<UDate>(instant), false, raw, saving, error);
  return int64_t{raw} + saving;
}

int64_t shiftedDate(int64_t millis, int64_t by) {
  int64_t result = 0;
  if (!__builtin_add_overflow(millis, by, &result)) return result;
  return by < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

int64_t Zone::toLocal(int64_t instant) const { return shiftedDate(instant, offsetAt(instant)); }

int64_t Zone::toInstant(int64_t local) const {
  if (!rules_) return shiftedDate(local, -fixed_);
  int32_t raw = 0, saving = 0;
  UErrorCode error = U_ZERO_ERROR;
  rules_->zone->getOffset(static_cast<UDate>(local), true, raw, saving, error);
  return shiftedDate(local, -(int64_t{raw} + saving));
}

StatusWith<std::optional<Zone>> zoneOf(const Element& e) {
  if (!e.ok()) return std::optional<Zone>(Zone());
  if (e.isNullish()) return std::optional<Zone>();
  if (!e.is(Type::kString)) return Status(ErrorCode(40517), "timezone must evaluate to a string, found " + typeOf(e));
  TROUPE_ASSIGN(Zone zone, Zone::parse(e.asString()));
  return std::optional<Zone>(std::move(zone));
}

std::optional<int64_t> instantOf(const Element& e) {
  switch (e.type()) {
    case Type::kDate: return e.asDate().millis;
    case Type::kTimestamp: return int64_t{e.asTimestamp().seconds} * 1000;
    case Type::kObjectId: {
      const auto id = e.asObjectId().bytes;
      // Seconds in 32 bits with a sign, as drivers write them.
      return int64_t{static_cast<int32_t>(uint32_t{id[0]} << 24 | id[1] << 16 | id[2] << 8 | id[3])} * 1000;
    }
    default: return std::nullopt;
  }
}

StatusWith<Unit> unitOf(const Element& e, std::string_view op) {
  if (!e.is(Type::kString))
    return Status(ErrorCode(5439013), std::string(op) + " requires 'unit' to be a string, but got " + typeOf(e));
  constexpr std::string_view kNames[] = {"year", "quarter", "month",  "week",       "day",
                                         "hour", "minute",  "second", "millisecond"};
  for (size_t i = 0; i < std::size(kNames); ++i)
    if (kNames[i] == e.asString()) return static_cast<Unit>(i);
  return Status(ErrorCode::kFailedToParse, "unknown time unit value: " + shortened(e.asString()));
}

int64_t millisIn(Unit unit) {
  switch (unit) {
    case Unit::kWeek: return 7 * kDayMillis;
    case Unit::kDay: return kDayMillis;
    case Unit::kHour: return 3'600'000;
    case Unit::kMinute: return 60'000;
    case Unit::kSecond: return 1000;
    default: return 1;
  }
}

/// Milliseconds of 64 bits reach some years beyond, before and after.
constexpr int64_t kLastYear = 292'270'000;

StatusWith<int64_t> addUnits(int64_t instant, Unit unit, int64_t amount, const Zone& zone) {
  constexpr int64_t kLargest = int64_t{1} << 62;
  int64_t result = 0;
  if (unit <= Unit::kMonth) {
    if (std::abs(amount) > 40'000'000)
      return Status(ErrorCode(5976500), "invalid 'amount' of units: " + std::to_string(amount) + " is too large");
    DateParts parts = partsOf(zone.toLocal(instant));
    const int64_t months = amount * (unit == Unit::kYear ? 12 : unit == Unit::kQuarter ? 3 : 1);
    const int64_t month = parts.year * 12 + (parts.month - 1) + months;
    parts.year = floorDivide(month, 12);
    parts.month = static_cast<int>(month - parts.year * 12) + 1;
    if (std::abs(parts.year) > kLastYear) return Status(ErrorCode::kOverflow, "date overflow");
    const auto length = daysFromCivil(parts.year, parts.month + 1, 1) - daysFromCivil(parts.year, parts.month, 1);
    if (parts.day > length) parts.day = static_cast<int>(length);
    return zone.toInstant(millisOf(parts));
  }
  if (__builtin_mul_overflow(amount, millisIn(unit), &result) || std::abs(result) > kLargest)
    return Status(ErrorCode(5976500), "invalid 'amount' of units: " + std::to_string(amount) + " is too large");
  const bool local = unit == Unit::kDay || unit == Unit::kWeek;  // days keep the time on the clock, hours are exact
  const int64_t base = local ? zone.toLocal(instant) : instant;
  if (__builtin_add_overflow(base, result, &result)) return Status(ErrorCode::kOverflow, "date overflow");
  return local ? zone.toInstant(result) : result;
}

std::optional<int> weekDay(std::string_view name) {
  std::string lower;
  for (const char c : name) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr std::string_view kNames[] = {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"};
  for (size_t i = 0; i < std::size(kNames); ++i)
    if (lower == kNames[i] || lower == kNames[i].substr(0, 3)) return static_cast<int>(i) + 1;
  return std::nullopt;
}

}  // namespace troupe::query
