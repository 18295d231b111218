#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

// The calendar and time zones of date operators. Instants are milliseconds since 1970 UTC; "local" milliseconds are
// those that a clock in the zone shows, counted the same way.
namespace troupe::query {

struct DateParts {
  int64_t year = 1970;
  int month = 1, day = 1, hour = 0, minute = 0, second = 0, millisecond = 0;
};
struct IsoWeek {
  int64_t year = 1970;
  int week = 1;       ///< 1..53
  int dayOfWeek = 1;  ///< 1 is Monday
};

constexpr int64_t kDayMillis = 86'400'000;
/// Days since 1970 of a date of the proleptic Gregorian calendar; month and day may be out of range and carry.
int64_t daysFromCivil(int64_t year, int64_t month, int64_t day);
DateParts partsOf(int64_t localMillis);
int64_t millisOf(const DateParts& parts);
IsoWeek isoWeekOf(int64_t localMillis);
/// Days since 1970 of a day in an ISO week.
int64_t daysFromIsoWeek(int64_t year, int64_t week, int64_t dayOfWeek);
int dayOfYear(int64_t localMillis);
/// 1 is Sunday.
int dayOfWeek(int64_t localMillis);
int64_t floorDivide(int64_t a, int64_t b);

/// The date moved by so many milliseconds; the first or last that can be told where 64 bits do not hold it.
int64_t shiftedDate(int64_t millis, int64_t by);

/// A time zone: UTC, a fixed offset ("+02:30", "-0330", "+05") or an Olson name ("Europe/Paris"), through ICU.
class Zone {
 public:
  Zone() = default;  ///< UTC
  /// Errors: 40485 for unknown names.
  static StatusWith<Zone> parse(std::string_view name);
  /// Offset from an instant to local time, in milliseconds.
  int64_t offsetAt(int64_t instant) const;
  /// At the ends of 64 bits, here and back: the first or last that can be told.
  int64_t toLocal(int64_t instant) const;
  int64_t toInstant(int64_t local) const;
  /// UTC or an offset of nothing, not a named zone that has none.
  bool isUtc() const { return !rules_ && fixed_ == 0; }

 private:
  struct Rules;
  int64_t fixed_ = 0;
  std::shared_ptr<const Rules> rules_;
};

/// The zone an operator's `timezone` argument names: UTC when absent; nothing when it is null. Errors: 40517, 40485.
StatusWith<std::optional<Zone>> zoneOf(const bson::Element& e);

/// The instant of a date, timestamp or ObjectId; nothing for other types.
std::optional<int64_t> instantOf(const bson::Element& e);

enum class Unit { kYear, kQuarter, kMonth, kWeek, kDay, kHour, kMinute, kSecond, kMillisecond };
/// Errors: 5439013 (not a string), 9 (unknown unit).
StatusWith<Unit> unitOf(const bson::Element& e, std::string_view op);
/// Milliseconds of units of fixed length (week and below).
int64_t millisIn(Unit unit);
/// Adds to a date in a zone; years, quarters and months clamp the day. Errors: Overflow.
StatusWith<int64_t> addUnits(int64_t instant, Unit unit, int64_t amount, const Zone& zone);
/// The day of the week on which weeks start, 1 (Monday) to 7, from "mon", "Monday" ...; nothing when unknown.
std::optional<int> weekDay(std::string_view name);

}  // namespace troupe::query
