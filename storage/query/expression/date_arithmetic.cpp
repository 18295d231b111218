#include <limits>

#include "storage/query/expression/calendar.hpp"
#include "storage/query/expression/node.hpp"

// $dateAdd, $dateSubtract, $dateDiff, $dateTrunc.
namespace troupe::query {

using bson::Element;
using bson::Type;
using Result = StatusWith<Operand>;

namespace {

bool givenNull(const Arguments& arguments, size_t i) { return arguments.given(i) && arguments[i].isNullish(); }

constexpr NamedArgument kAddArguments[] = {
    {"startDate", true, 5166402}, {"unit", true, 5166402}, {"amount", true, 5166402}, {"timezone"}};

Result dateAdd(Arguments& arguments, const Operator& op) {
  const std::string name(op.name);
  for (size_t i = 0; i < 4; ++i)
    if (givenNull(arguments, i)) return Operand(nullValue());
  const auto start = instantOf(arguments[0]);
  if (!start) return Status(ErrorCode(5166403), name + " requires startDate to be convertible to a date");
  TROUPE_ASSIGN(const Unit unit, unitOf(arguments[1], name));
  const auto amount = exactInt64(arguments[2]);
  if (!amount) return Status(ErrorCode(5166405), name + " expects integer amount of time units");
  if (*amount == std::numeric_limits<int64_t>::min())
    return Status(ErrorCode(5976500), "invalid " + name + " 'amount' parameter value: " + show(arguments[2]));
  TROUPE_ASSIGN(const auto zone, zoneOf(arguments[3]));
  TROUPE_ASSIGN(const int64_t result, addUnits(*start, unit, op.name == "$dateAdd" ? *amount : -*amount, *zone));
  return Operand(date(result));
}

StatusWith<int> startOfWeek(const Arguments& arguments, size_t i, const std::string& name) {
  if (!arguments.given(i)) return 7;
  if (!arguments[i].is(Type::kString))
    return Status(ErrorCode(5439015), name + " requires 'startOfWeek' to be a string, but got " + typeOf(arguments[i]));
  const auto day = weekDay(arguments[i].asString());
  if (!day) return Status(ErrorCode(5439016), "unknown day of week value: " + shortened(arguments[i].asString()));
  return *day;
}

/// Number of weeks between an epoch and a day, where weeks begin on `start` (1 is Monday).
int64_t weekNumber(int64_t days, int start) { return floorDivide(days + 4 - start, 7); }  // day 0 was a Thursday

constexpr NamedArgument kDiffArguments[] = {
    {"startDate", true, 5166303}, {"endDate", true, 5166304}, {"unit", true, 5166305}, {"timezone"}, {"startOfWeek"}};

int64_t boundaries(int64_t local, Unit unit, int weekStart) {
  const DateParts p = partsOf(local);
  switch (unit) {
    case Unit::kYear: return p.year;
    case Unit::kQuarter: return p.year * 4 + (p.month - 1) / 3;
    case Unit::kMonth: return p.year * 12 + p.month;
    case Unit::kWeek: return weekNumber(floorDivide(local, kDayMillis), weekStart);
    default: return floorDivide(local, millisIn(unit));
  }
}

Result dateDiff(Arguments& arguments, const Operator& op) {
  const std::string name(op.name);
  for (size_t i = 0; i < 5; ++i)
    if (givenNull(arguments, i)) return Operand(nullValue());
  const auto from = instantOf(arguments[0]), to = instantOf(arguments[1]);
  if (!from)
    return Status(ErrorCode(5166307), "$dateDiff requires 'startDate' to be a date, but got " + typeOf(arguments[0]));
  if (!to)
    return Status(ErrorCode(5166307), "$dateDiff requires 'endDate' to be a date, but got " + typeOf(arguments[1]));
  TROUPE_ASSIGN(const Unit unit, unitOf(arguments[2], name));
  TROUPE_ASSIGN(const auto zone, zoneOf(arguments[3]));
  int week = 7;
  if (unit == Unit::kWeek) {
    TROUPE_ASSIGN(week, startOfWeek(arguments, 4, name));
  }
  const bool exact = unit >= Unit::kHour;  // hours and below count on the instants, so that clock changes do not matter
  const int64_t offset = exact ? zone->offsetAt(*from) : 0;
  const int64_t first = exact ? shiftedDate(*from, offset) : zone->toLocal(*from);
  const int64_t last = exact ? shiftedDate(*to, offset) : zone->toLocal(*to);
  int64_t difference = 0;
  if (__builtin_sub_overflow(boundaries(last, unit, week), boundaries(first, unit, week), &difference))
    return Status(ErrorCode::kOverflow, "$dateDiff: the difference in units is too large");
  return Operand(int64(difference));
}

constexpr NamedArgument kTruncArguments[] = {
    {"date", true, 5439009}, {"unit", true, 5439010}, {"binSize"}, {"timezone"}, {"startOfWeek"}};
constexpr int64_t kReferenceYear = 2000;

/// The start of the bin, counted from 2000-01-01 (or the first week's start thereafter). Errors: Overflow.
StatusWith<int64_t> truncate(int64_t local, Unit unit, int64_t bin, int weekStart) {
  const Status overflow(ErrorCode::kOverflow, "$dateTrunc: the bin begins before any date");
  int64_t result = 0;
  if (unit <= Unit::kMonth) {
    const DateParts p = partsOf(local);
    const int64_t size = bin * (unit == Unit::kYear ? 12 : unit == Unit::kQuarter ? 3 : 1);
    const int64_t months = (p.year - kReferenceYear) * 12 + p.month - 1;
    const int64_t days = daysFromCivil(kReferenceYear, 1 + floorDivide(months, size) * size, 1);
    if (__builtin_mul_overflow(days, kDayMillis, &result)) return overflow;
    return result;
  }
  int64_t origin = daysFromCivil(kReferenceYear, 1, 1);
  if (unit == Unit::kWeek) origin += (weekStart - 6 + 7) % 7;  // 2000-01-01 was a Saturday
  const int64_t size = bin * millisIn(unit);
  if (__builtin_sub_overflow(local, origin * kDayMillis, &result)) return overflow;
  if (__builtin_mul_overflow(floorDivide(result, size), size, &result)) return overflow;
  return origin * kDayMillis + result;
}

Result dateTrunc(Arguments& arguments, const Operator& op) {
  const std::string name(op.name);
  for (size_t i = 0; i < 5; ++i)
    if (givenNull(arguments, i)) return Operand(nullValue());
  const auto instant = instantOf(arguments[0]);
  if (!instant)
    return Status(ErrorCode(5166307), "$dateTrunc requires 'date' to be a date, but got " + typeOf(arguments[0]));
  TROUPE_ASSIGN(const Unit unit, unitOf(arguments[1], name));
  int64_t bin = 1;
  if (arguments.given(2)) {
    const auto size = exactInt64(arguments[2]);
    if (!size)
      return Status(ErrorCode(5439017), "$dateTrunc requires 'binSize' to be a 64-bit integer, but got value '" +
                                            show(arguments[2]) + "' of type " + typeOf(arguments[2]));
    if (*size <= 0)
      return Status(ErrorCode(5439018),
                    "$dateTrunc requires 'binSize' to be greater than 0, but got value " + show(arguments[2]));
    if (*size > 100'000'000'000)
      return Status(ErrorCode(5439018), "$dateTrunc 'binSize' is too large: " + show(arguments[2]));
    bin = *size;
    int64_t largest = 0;
    if (__builtin_mul_overflow(bin, millisIn(unit), &largest))
      return Status(ErrorCode::kOverflow, "$dateTrunc: bins of that many units are longer than time itself");
  }
  TROUPE_ASSIGN(const auto zone, zoneOf(arguments[3]));
  int week = 7;
  if (unit == Unit::kWeek) {
    TROUPE_ASSIGN(week, startOfWeek(arguments, 4, name));
  }
  if (unit >= Unit::kHour) {
    const int64_t offset = zone->offsetAt(*instant);
    TROUPE_ASSIGN(const int64_t start, truncate(shiftedDate(*instant, offset), unit, bin, week));
    return Operand(date(shiftedDate(start, -offset)));
  }
  TROUPE_ASSIGN(const int64_t start, truncate(zone->toLocal(*instant), unit, bin, week));
  return Operand(date(zone->toInstant(start)));
}

/// Where date and unit are constants, a start of weeks that the unit does not need is not looked at, not even if null.
StatusWith<ExpressionPtr> parseDateTrunc(Parser& parser, const Element& e, const Operator& op) {
  TROUPE_ASSIGN(auto arguments, parser.parseArguments(op, e));
  constexpr size_t kDate = 0, kUnit = 1, kStartOfWeek = 4;
  const Operand* const unit = arguments[kUnit] ? arguments[kUnit]->constant() : nullptr;
  const bool known = unit && arguments[kDate] && arguments[kDate]->constant();
  if (known && unit->type() == Type::kString && unit->element().asString() != "week") arguments[kStartOfWeek].reset();
  return parser.call(op, std::move(arguments));
}

constexpr Operator kDateArithmeticOperators[] = {
    {.name = "$dateAdd", .function = dateAdd, .named = kAddArguments, .errors = {.unknownArgument = 5166401}},
    {.name = "$dateSubtract", .function = dateAdd, .named = kAddArguments, .errors = {.unknownArgument = 5166401}},
    {.name = "$dateDiff",
     .function = dateDiff,
     .named = kDiffArguments,
     .errors = {.notDocument = 5166301, .unknownArgument = 5166302}},
    {.name = "$dateTrunc",
     .function = dateTrunc,
     .parse = parseDateTrunc,
     .named = kTruncArguments,
     .errors = {.notDocument = 5439007, .unknownArgument = 5439008}},
};

}  // namespace

std::span<const Operator> dateArithmeticOperators() { return kDateArithmeticOperators; }

}  // namespace troupe::query
