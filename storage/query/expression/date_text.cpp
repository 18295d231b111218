#include "storage/query/expression/date_text.hpp"

#include <cctype>
#include <cstdio>
#include <cstdlib>

#include "storage/query/expression/node.hpp"
#include "storage/query/expression/text.hpp"

namespace troupe::query {

using bson::Element;
using bson::Type;
using Result = StatusWith<Operand>;

namespace {

constexpr std::string_view kMonths[] = {"January", "February", "March",     "April",   "May",      "June",
                                        "July",    "August",   "September", "October", "November", "December"};

std::string padded(int64_t v, int width) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%0*lld", width, static_cast<long long>(v));
  return buffer;
}

Status outOfRange(int64_t year) {
  return {ErrorCode(18537),
          "Could not convert date to string: date component was outside the supported range of 0-9999: " +
              std::to_string(year)};
}

std::string offsetText(int64_t offset) {
  const int64_t minutes = std::abs(offset) / 60'000;
  return (offset < 0 ? "-" : "+") + padded(minutes / 60, 2) + padded(minutes % 60, 2);
}

}  // namespace

StatusWith<std::string> formatDate(std::string_view format, int64_t instant, const Zone& zone, QueryWork* work) {
  const int64_t offset = zone.offsetAt(instant), local = zone.toLocal(instant);
  const DateParts p = partsOf(local);
  const IsoWeek iso = isoWeekOf(local);
  std::string out;
  Growth growth(work);
  for (size_t i = 0; i < format.size(); ++i) {
    TROUPE_TRY(growth.to(out.size()));
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    if (++i == format.size()) return Status(ErrorCode(18535), "Unmatched '%' at end of format string");
    switch (format[i]) {
      case '%': out += '%'; break;
      case 'Y':
        if (p.year < 0 || p.year > 9999) return outOfRange(p.year);
        out += padded(p.year, 4);
        break;
      case 'm': out += padded(p.month, 2); break;
      case 'd': out += padded(p.day, 2); break;
      case 'H': out += padded(p.hour, 2); break;
      case 'M': out += padded(p.minute, 2); break;
      case 'S': out += padded(p.second, 2); break;
      case 'L': out += padded(p.millisecond, 3); break;
      case 'j': out += padded(dayOfYear(local), 3); break;
      case 'w': out += padded(dayOfWeek(local), 1); break;
      case 'u': out += padded(iso.dayOfWeek, 1); break;
      case 'U': out += padded((dayOfYear(local) - dayOfWeek(local) + 7) / 7, 2); break;
      case 'V': out += padded(iso.week, 2); break;
      case 'G':
        if (iso.year < 0 || iso.year > 9999) return outOfRange(iso.year);
        out += padded(iso.year, 4);
        break;
      case 'z': out += offsetText(offset); break;
      case 'Z': out += std::to_string(offset / 60'000); break;
      case 'b': out += kMonths[p.month - 1].substr(0, 3); break;
      case 'B': out += kMonths[p.month - 1]; break;
      default:
        return Status(ErrorCode(18536), std::string("Invalid format character '%") + format[i] + "' in format string");
    }
  }
  return out;
}

std::string isoDate(int64_t millis) {
  const DateParts p = partsOf(millis);
  return padded(p.year, 4) + "-" + padded(p.month, 2) + "-" + padded(p.day, 2) + "T" + padded(p.hour, 2) + ":" +
         padded(p.minute, 2) + ":" + padded(p.second, 2) + "." + padded(p.millisecond, 3) + "Z";
}

namespace {

/// Reads digits and words from the front of a text.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  bool done() const { return at_ == text_.size(); }
  char peek() const { return done() ? '\0' : text_[at_]; }
  bool take(char c) { return peek() == c && !done() ? (++at_, true) : false; }
  std::optional<int64_t> digits(size_t least, size_t most) {
    int64_t v = 0;
    size_t n = 0;
    while (n < most && std::isdigit(static_cast<unsigned char>(peek()))) {
      v = v * 10 + (text_[at_++] - '0');
      ++n;
    }
    return n >= least ? std::optional(v) : std::nullopt;
  }
  /// Digits of a second's fraction, in milliseconds: "5" is half a second. Those after the third say nothing.
  std::optional<int64_t> fraction(size_t most = std::string_view::npos) {
    const size_t from = at_;
    int64_t v = 0, scale = 100;
    while (at_ - from < most && std::isdigit(static_cast<unsigned char>(peek()))) {
      v += (text_[at_++] - '0') * scale;
      scale /= 10;
    }
    return at_ > from ? std::optional(v) : std::nullopt;
  }
  std::string_view rest() const { return text_.substr(at_); }
  std::string_view word() {
    const size_t from = at_;
    while (!done() && !std::isspace(static_cast<unsigned char>(peek()))) ++at_;
    return text_.substr(from, at_ - from);
  }
  std::string_view offset() {
    const size_t from = at_;
    if (peek() == '+' || peek() == '-') ++at_;
    while (std::isdigit(static_cast<unsigned char>(peek())) || peek() == ':') ++at_;
    return text_.substr(from, at_ - from);
  }
  std::optional<int> month() {
    for (size_t i = 0; i < std::size(kMonths); ++i)
      for (const auto name : {kMonths[i], kMonths[i].substr(0, 3)})
        if (text_.size() - at_ >= name.size() &&
            std::equal(name.begin(), name.end(), text_.begin() + static_cast<std::ptrdiff_t>(at_), [](char a, char b) {
              return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
            })) {
          at_ += name.size();
          return static_cast<int>(i) + 1;
        }
    return std::nullopt;
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

Status unreadable(std::string_view text, std::string_view why) {
  return {ErrorCode::kConversionFailure, "Error parsing date string '" + shortened(text) + "'; " + std::string(why)};
}

/// Reads one letter of a format into the parts.
struct FormatTarget {
  DateParts parts;
  std::optional<int64_t> isoYear, isoWeek, isoDay, dayOfTheYear;
  std::optional<int64_t> offset;
};

bool readLetter(char letter, Reader& in, FormatTarget& out) {
  const auto into = [](std::optional<int64_t> v, auto& field) {
    if (v) field = static_cast<std::decay_t<decltype(field)>>(*v);
    return v.has_value();
  };
  switch (letter) {
    case 'Y': return into(in.digits(4, 4), out.parts.year);
    case 'm': return into(in.digits(1, 2), out.parts.month);
    case 'd': return into(in.digits(1, 2), out.parts.day);
    case 'H': return into(in.digits(1, 2), out.parts.hour);
    case 'M': return into(in.digits(1, 2), out.parts.minute);
    case 'S': return into(in.digits(1, 2), out.parts.second);
    case 'L': return into(in.fraction(3), out.parts.millisecond);
    case 'j': out.dayOfTheYear = in.digits(1, 3); return out.dayOfTheYear.has_value();
    case 'G': out.isoYear = in.digits(4, 4); return out.isoYear.has_value();
    case 'V': out.isoWeek = in.digits(1, 2); return out.isoWeek.has_value();
    case 'u': out.isoDay = in.digits(1, 1); return out.isoDay.has_value();
    case 'b':
    case 'B': return into(in.month(), out.parts.month);
    case '%': return in.take('%');
    case 'z': {
      const auto zone = Zone::parse(in.take('Z') ? "UTC" : in.offset());
      if (zone.isOK()) out.offset = zone->offsetAt(0);
      return zone.isOK();
    }
    case 'Z': {
      const bool minus = in.take('-');
      if (!minus) in.take('+');
      const auto minutes = in.digits(1, 4);
      if (minutes) out.offset = (minus ? -1 : 1) * *minutes * 60'000;
      return minutes.has_value();
    }
    default: return false;
  }
}

constexpr const char* kTwoZones =
    "you cannot pass in a date/time string with GMT offset together with a timezone argument";

bool inRange(const DateParts& p) {
  return p.month >= 1 && p.month <= 12 && p.day >= 1 && p.day <= 31 && p.hour <= 24 && p.minute <= 59 && p.second <= 60;
}

}  // namespace

StatusWith<int64_t> parseDate(std::string_view text, std::string_view format, const std::optional<Zone>& zone) {
  Reader in(text);
  FormatTarget target;
  for (size_t i = 0; i < format.size(); ++i) {
    const bool letter = format[i] == '%' && i + 1 < format.size();
    const bool read = letter ? readLetter(format[++i], in, target) : in.take(format[i]);
    if (!read) return unreadable(text, "the text does not follow the format '" + shortened(format) + "'");
  }
  if (!in.done()) return unreadable(text, "Trailing data '" + shortened(in.rest()) + "'");
  if (!inRange(target.parts)) return unreadable(text, "a part is out of range");
  int64_t local = millisOf(target.parts);
  const int64_t time = local - floorDivide(local, kDayMillis) * kDayMillis;
  if (target.isoYear)
    local = daysFromIsoWeek(*target.isoYear, target.isoWeek.value_or(1), target.isoDay.value_or(1)) * kDayMillis + time;
  else if (target.dayOfTheYear)
    local = (daysFromCivil(target.parts.year, 1, 1) + *target.dayOfTheYear - 1) * kDayMillis + time;
  if (target.offset && zone) return unreadable(text, kTwoZones);
  return target.offset ? local - *target.offset : zone.value_or(Zone()).toInstant(local);
}

StatusWith<int64_t> parseIsoDate(std::string_view text, const std::optional<Zone>& zone) {
  Reader in(text);
  DateParts p;
  const auto incomplete = [&] {
    return unreadable(text, "an incomplete date/time string has been found, with elements missing");
  };
  const auto year = in.digits(4, 4);
  const bool dashed = in.take('-') || in.take('/');
  const auto month = in.digits(2 - dashed, 2);
  if (dashed && !in.take('-') && !in.take('/')) return incomplete();
  const auto day = in.digits(2 - dashed, 2);
  if (!year || !month || !day) return incomplete();
  p.year = *year;
  p.month = static_cast<int>(*month);
  p.day = static_cast<int>(*day);
  if (in.take('T') || in.take('t') || in.take(' ')) {
    const auto hour = in.digits(1, 2);
    if (!hour || !in.take(':')) return incomplete();
    const auto minute = in.digits(2, 2);
    if (!minute) return incomplete();
    p.hour = static_cast<int>(*hour);
    p.minute = static_cast<int>(*minute);
    if (in.take(':')) {
      const auto second = in.digits(2, 2);
      if (!second) return incomplete();
      p.second = static_cast<int>(*second);
      if (in.take('.') || in.take(',')) {
        const auto fraction = in.fraction();
        if (!fraction) return incomplete();
        p.millisecond = static_cast<int>(*fraction);
      }
    }
  }
  if (!inRange(p)) return unreadable(text, "a part is out of range");
  while (in.take(' ')) {
  }
  const int64_t local = millisOf(p);
  if (in.done()) return zone.value_or(Zone()).toInstant(local);
  const auto named = Zone::parse(in.word());
  if (!named.isOK() || !in.done()) return unreadable(text, "Trailing data '" + shortened(in.rest()) + "'");
  if (zone) return unreadable(text, kTwoZones);
  return named->toInstant(local);
}

namespace {

constexpr NamedArgument kToStringArguments[] = {{"date", true, 18628}, {"format"}, {"timezone"}, {"onNull"}};

Result dateToString(Arguments& arguments, const Operator&) {
  if (arguments[0].isNullish()) return arguments.given(3) ? Operand(arguments.at(3).copy()) : Operand(nullValue());
  for (size_t i = 1; i < 3; ++i)
    if (arguments.given(i) && arguments[i].isNullish()) return Operand(nullValue());
  const auto instant = instantOf(arguments[0]);
  if (!instant) return Status(ErrorCode(16006), "can't convert from BSON type " + typeOf(arguments[0]) + " to Date");
  if (arguments.given(1) && !arguments[1].is(Type::kString))
    return Status(ErrorCode(18533), "$dateToString requires that 'format' be a string, found: " + typeOf(arguments[1]) +
                                        " with value " + show(arguments[1]));
  TROUPE_ASSIGN(const auto zone, zoneOf(arguments[2]));
  const std::string_view format = arguments.given(1) ? arguments[1].asString()
                                  : zone->isUtc()    ? "%Y-%m-%dT%H:%M:%S.%LZ"
                                                     : "%Y-%m-%dT%H:%M:%S.%L";
  TROUPE_ASSIGN(const auto result, formatDate(format, *instant, *zone, arguments.variables.work()));
  return Operand(text(result));
}

constexpr NamedArgument kFromStringArguments[] = {
    {"dateString", true, 40542}, {"format"}, {"timezone"}, {"onError"}, {"onNull"}};

Result dateFromString(Arguments& arguments, const Operator&) {
  if (arguments[0].isNullish()) return arguments.given(4) ? Operand(arguments.at(4).copy()) : Operand(nullValue());
  for (size_t i = 1; i < 3; ++i)
    if (arguments.given(i) && arguments[i].isNullish()) return Operand(nullValue());
  const auto failed = [&](const Status& why) -> Result {
    if (arguments.given(3)) return Operand(arguments.at(3).copy());
    return why;
  };
  if (!arguments[0].is(Type::kString))
    return failed(Status(ErrorCode::kConversionFailure,
                         "$dateFromString requires that 'dateString' be a string, found: " + typeOf(arguments[0]) +
                             " with value " + show(arguments[0])));
  if (arguments.given(1) && !arguments[1].is(Type::kString))
    return Status(ErrorCode(40684), "$dateFromString requires that 'format' be a string, found: " +
                                        typeOf(arguments[1]) + " with value " + show(arguments[1]));
  TROUPE_ASSIGN(const auto zone, zoneOf(arguments[2]));
  const std::optional<Zone> given = arguments.given(2) ? zone : std::nullopt;
  const auto result = arguments.given(1) ? parseDate(arguments[0].asString(), arguments[1].asString(), given)
                                         : parseIsoDate(arguments[0].asString(), given);
  if (!result.isOK()) return failed(result.status());
  return Operand(date(*result));
}

constexpr Operator kDateTextOperators[] = {
    {.name = "$dateToString",
     .function = dateToString,
     .named = kToStringArguments,
     .errors = {.notDocument = 18629, .unknownArgument = 18534}},
    {.name = "$dateFromString",
     .function = dateFromString,
     .named = kFromStringArguments,
     .errors = {.notDocument = 40540, .unknownArgument = 40541}},
};

}  // namespace

std::span<const Operator> dateTextOperators() { return kDateTextOperators; }

}  // namespace troupe::query
