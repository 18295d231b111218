#include "storage/query/expression/calendar.hpp"
#include "storage/query/expression/node.hpp"

// Parts of dates: $year ... $millisecond, $dateToParts, $dateFromParts.
namespace troupe::query {

using bson::Element;
using bson::Type;
using Result = StatusWith<Operand>;

namespace {

constexpr NamedArgument kPartArguments[] = {{"date", true, 40539}, {"timezone"}};

/// `{$year: date}` and `{$year: {date: ..., timezone: ...}}`: one part of the local date.
template <int64_t (*Part)(int64_t localMillis), bool Long>
Result part(Arguments& arguments, const Operator&) {
  const Element e = arguments[0];
  if (e.isNullish()) return Operand(nullValue());
  const auto instant = instantOf(e);
  if (!instant) return Status(ErrorCode(16006), "can't convert from BSON type " + typeOf(e) + " to Date");
  if (arguments.given(1) && arguments[1].isNullish()) return Operand(nullValue());
  TROUPE_ASSIGN(const auto zone, zoneOf(arguments.given(1) ? arguments[1] : Element()));
  const int64_t value = Part(zone->toLocal(*instant));
  return Operand(Long ? int64(value) : int32(static_cast<int32_t>(value)));
}

int64_t year(int64_t t) { return partsOf(t).year; }
int64_t month(int64_t t) { return partsOf(t).month; }
int64_t dayOfMonth(int64_t t) { return partsOf(t).day; }
int64_t hour(int64_t t) { return partsOf(t).hour; }
int64_t minute(int64_t t) { return partsOf(t).minute; }
int64_t second(int64_t t) { return partsOf(t).second; }
int64_t millisecond(int64_t t) { return partsOf(t).millisecond; }
int64_t theDayOfYear(int64_t t) { return dayOfYear(t); }
int64_t theDayOfWeek(int64_t t) { return dayOfWeek(t); }
/// Weeks begin on Sundays; days before the first Sunday are in week 0.
int64_t week(int64_t t) { return (dayOfYear(t) - dayOfWeek(t) + 7) / 7; }
int64_t isoWeek(int64_t t) { return isoWeekOf(t).week; }
int64_t isoYear(int64_t t) { return isoWeekOf(t).year; }
int64_t isoDay(int64_t t) { return isoWeekOf(t).dayOfWeek; }

constexpr NamedArgument kToPartsArguments[] = {{"date", true, 40522}, {"timezone"}, {"iso8601"}};

Result dateToParts(Arguments& arguments, const Operator&) {
  if (arguments[0].isNullish() || (arguments.given(1) && arguments[1].isNullish()) ||
      (arguments.given(2) && arguments[2].isNullish()))
    return Operand(nullValue());
  const auto instant = instantOf(arguments[0]);
  if (!instant) return Status(ErrorCode(16006), "can't convert from BSON type " + typeOf(arguments[0]) + " to Date");
  if (arguments.given(2) && !arguments[2].is(Type::kBool))
    return Status(ErrorCode(40521), "iso8601 must evaluate to a bool, found " + typeOf(arguments[2]));
  TROUPE_ASSIGN(const auto zone, zoneOf(arguments[1]));
  const int64_t local = zone->toLocal(*instant);
  const DateParts p = partsOf(local);
  bson::Builder out;
  if (arguments.given(2) && arguments[2].asBool()) {
    const IsoWeek iso = isoWeekOf(local);
    out.append("isoWeekYear", static_cast<int32_t>(iso.year))
        .append("isoWeek", iso.week)
        .append("isoDayOfWeek", iso.dayOfWeek);
  } else {
    out.append("year", static_cast<int32_t>(p.year)).append("month", p.month).append("day", p.day);
  }
  out.append("hour", p.hour).append("minute", p.minute).append("second", p.second).append("millisecond", p.millisecond);
  return Operand(document(out.finish()));
}

constexpr NamedArgument kFromPartsArguments[] = {{"year"},    {"month"},        {"day"},         {"hour"},
                                                 {"minute"},  {"second"},       {"millisecond"}, {"isoWeekYear"},
                                                 {"isoWeek"}, {"isoDayOfWeek"}, {"timezone"}};
enum FromParts { kYear, kMonth, kDay, kHour, kMinute, kSecond, kMillisecond, kIsoYear, kIsoWeek, kIsoDay, kTimezone };

/// A part as an integer within limits; nothing when it is null.
StatusWith<std::optional<int64_t>> partOf(const Arguments& arguments, size_t i, int64_t fallback, int64_t low,
                                          int64_t high) {
  if (!arguments.given(i)) return std::optional<int64_t>(fallback);
  const Element e = arguments[i];
  if (e.isNullish()) return std::optional<int64_t>();
  const std::string name(kFromPartsArguments[i].name);
  const auto v = exactInt64(e);
  if (!v)
    return Status(ErrorCode(40515),
                  "'" + name + "' must evaluate to an integer, found " + typeOf(e) + " with value " + show(e));
  if (*v < low || *v > high)
    return Status(ErrorCode(i == kYear || i == kIsoYear ? 40523 : 31034),
                  "'" + name + "' must evaluate to an integer in the range " + std::to_string(low) + " to " +
                      std::to_string(high) + ", found " + show(e));
  return v;
}

Result dateFromParts(Arguments& arguments, const Operator&) {
  const bool iso = arguments.given(kIsoYear);
  if (!iso && !arguments.given(kYear))
    return Status(ErrorCode(40516), "$dateFromParts requires either 'year' or 'isoWeekYear' to be present");
  if (iso && (arguments.given(kYear) || arguments.given(kMonth) || arguments.given(kDay)))
    return Status(ErrorCode(40489), "$dateFromParts does not allow mixing natural dates with ISO dates");
  if (!iso && (arguments.given(kIsoWeek) || arguments.given(kIsoDay)))
    return Status(ErrorCode(40525), "$dateFromParts does not allow mixing natural dates with ISO dates");
  constexpr int64_t kShort = 32767;
  int64_t v[kTimezone] = {};
  for (size_t i = 0; i < kTimezone; ++i) {
    const bool isYear = i == kYear || i == kIsoYear;
    const bool startsAtOne = i == kMonth || i == kDay || i == kIsoWeek || i == kIsoDay;
    const int64_t limit = i == kSecond || i == kMillisecond ? int64_t{1} << 46 : kShort;
    TROUPE_ASSIGN(const auto given,
                  partOf(arguments, i, isYear || startsAtOne, isYear ? 1 : -limit - 1, isYear ? 9999 : limit));
    if (!given) return Operand(nullValue());
    v[i] = *given;
  }
  if (arguments.given(kTimezone) && arguments[kTimezone].isNullish()) return Operand(nullValue());
  TROUPE_ASSIGN(const auto zone, zoneOf(arguments[kTimezone]));
  const int64_t days =
      iso ? daysFromIsoWeek(v[kIsoYear], v[kIsoWeek], v[kIsoDay]) : daysFromCivil(v[kYear], v[kMonth], v[kDay]);
  const int64_t local = days * kDayMillis + ((v[kHour] * 60 + v[kMinute]) * 60 + v[kSecond]) * 1000 + v[kMillisecond];
  return Operand(date(zone->toInstant(local)));
}

template <int64_t (*Part)(int64_t), bool Long = false>
constexpr Operator partOperator(std::string_view name) {
  return {.name = name,
          .minArity = 1,
          .maxArity = 1,
          .function = part<Part, Long>,
          .named = kPartArguments,
          .positionalToo = true,
          .errors = {.unknownArgument = 40535, .arity = 40536}};
}

constexpr Operator kDatesOperators[] = {
    partOperator<year>("$year"),
    partOperator<month>("$month"),
    partOperator<dayOfMonth>("$dayOfMonth"),
    partOperator<hour>("$hour"),
    partOperator<minute>("$minute"),
    partOperator<second>("$second"),
    partOperator<millisecond>("$millisecond"),
    partOperator<theDayOfYear>("$dayOfYear"),
    partOperator<theDayOfWeek>("$dayOfWeek"),
    partOperator<week>("$week"),
    partOperator<isoWeek>("$isoWeek"),
    partOperator<isoDay>("$isoDayOfWeek"),
    partOperator<isoYear, true>("$isoWeekYear"),
    {.name = "$dateToParts",
     .function = dateToParts,
     .named = kToPartsArguments,
     .errors = {.notDocument = 40524, .unknownArgument = 40520}},
    {.name = "$dateFromParts",
     .function = dateFromParts,
     .named = kFromPartsArguments,
     .errors = {.notDocument = 40519, .unknownArgument = 40518}},
};

}  // namespace

std::span<const Operator> dateOperators() { return kDatesOperators; }

}  // namespace troupe::query
