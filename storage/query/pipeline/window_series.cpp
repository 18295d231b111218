#include "storage/query/pipeline/window_series.hpp"

#include "storage/query/expression/values.hpp"

namespace troupe::query {

using bson::Element;
using bson::Type;
using bson::Value;
using Kind = SeriesFunction::Kind;

namespace {

struct SeriesName {
  std::string_view name;
  Kind kind;
};

constexpr SeriesName kSeriesNames[] = {{"$derivative", Kind::kDerivative},
                                       {"$integral", Kind::kIntegral},
                                       {"$linearFill", Kind::kLinearFill},
                                       {"$expMovingAvg", Kind::kMovingAverage}};

const SeriesName* findSeries(std::string_view name) {
  for (const SeriesName& row : kSeriesNames)
    if (row.name == name) return &row;
  return nullptr;
}

Status refusedArgument(std::string_view function, std::string_view why) {
  return {ErrorCode::kFailedToParse, std::string(function) + " " + std::string(why)};
}

/// {input, unit?}
Status parseOverAxis(const Element& e, SeriesFunction& parsed, const ParseContext& context) {
  if (!e.is(Type::kDocument)) return refusedArgument(e.name(), "takes an object");
  for (const Element& field : e.asDocument()) {
    if (field.name() == "input") {
      TROUPE_ASSIGN(parsed.input, parseExpression(field, context));
    } else if (field.name() == "unit") {
      if (!field.is(Type::kString)) return refusedArgument(e.name(), "requires 'unit' to be a string");
      TROUPE_ASSIGN(const Unit unit, unitOf(field, e.name()));
      if (unit == Unit::kYear || unit == Unit::kQuarter || unit == Unit::kMonth)
        return refusedArgument(e.name(), "requires a 'unit' of fixed length: 'week' or smaller");
      parsed.unit = unit;
    } else {
      return refusedArgument(e.name(), "got an unexpected argument: " + std::string(field.name()));
    }
  }
  return parsed.input ? Status::OK() : refusedArgument(e.name(), "requires an 'input' expression");
}

/// {input, N} or {input, alpha}
Status parseMovingAverage(const Element& e, SeriesFunction& parsed, const ParseContext& context) {
  if (!e.is(Type::kDocument)) return refusedArgument(e.name(), "takes an object");
  bool weighted = false;
  for (const Element& field : e.asDocument()) {
    if (field.name() == "input") {
      TROUPE_ASSIGN(parsed.input, parseExpression(field, context));
      continue;
    }
    if (field.name() != "N" && field.name() != "alpha")
      return refusedArgument(e.name(), "got an unexpected argument: " + std::string(field.name()));
    if (weighted) return refusedArgument(e.name(), "takes either 'N' or 'alpha'");
    weighted = true;
    if (field.name() == "N") {
      const auto count = exactInt64(field);
      if (!count || *count <= 0) return refusedArgument(e.name(), "requires 'N' to be a positive integer");
      parsed.alpha = 2.0 / (static_cast<double>(*count) + 1);
    } else {
      parsed.alpha = field.isNumber() ? field.toDouble() : 0;
      if (!(parsed.alpha > 0 && parsed.alpha < 1))
        return refusedArgument(e.name(), "requires 'alpha' to be a number between 0 and 1 (exclusive)");
    }
  }
  if (!parsed.input) return refusedArgument(e.name(), "requires an 'input' expression");
  return weighted ? Status::OK() : refusedArgument(e.name(), "requires 'N' or 'alpha'");
}

/// Where a document lies on the axis, in units of the function.
StatusWith<double> placeOf(const SeriesFunction& function, const Element& place) {
  if (function.unit) {
    if (!place.is(Type::kDate))
      return Status(ErrorCode(5429513), "Expected the sortBy field to be a Date, but it was " + typeOf(place));
    return static_cast<double>(place.asDate().millis) / static_cast<double>(millisIn(*function.unit));
  }
  const bool fills = function.kind == Kind::kLinearFill;  // proportions need no unit
  if (fills && place.is(Type::kDate)) return static_cast<double>(place.asDate().millis);
  if (!place.isNumber())
    return Status(ErrorCode(5429414), "Expected the sortBy field to be a number, but it was " + typeOf(place));
  return place.toDouble();
}

/// The slope between the ends of each window; null where there is none.
StatusWith<std::vector<Value>> derivatives(const SeriesFunction& function, const Series& series) {
  std::vector<Value> result;
  for (size_t i = 0; i < series.inputs.size(); ++i) {
    TROUPE_TRY(series.step());
    TROUPE_ASSIGN(const auto window, series.window(i));
    result.push_back(nullValue());
    if (window.second < window.first + 2) continue;
    const size_t last = window.second - 1;
    const Element from = series.inputs[window.first].element(), to = series.inputs[last].element();
    TROUPE_ASSIGN(const double left, placeOf(function, series.places[window.first]));
    TROUPE_ASSIGN(const double right, placeOf(function, series.places[last]));
    if (from.isNumber() && to.isNumber() && left != right)
      result.back() = real((to.toDouble() - from.toDouble()) / (right - left));
  }
  return result;
}

/// The area below the line through the points of each window, by trapezoids. Points without a number do not count.
class AreaSum {
 public:
  AreaSum(const SeriesFunction& function, const Series& series) : function_(function), series_(series) {}

  StatusWith<std::vector<Value>> run() {
    std::vector<Value> result;
    for (size_t i = 0; i < series_.inputs.size(); ++i) {
      TROUPE_TRY(series_.step());
      TROUPE_ASSIGN(const auto window, series_.window(i));
      // A window that only grows goes on with its sum; areas are not taken out again, for infinities would stay.
      if (window.first != first_ || window.second < end_) begin(window.first);
      for (; end_ < window.second; ++end_) TROUPE_TRY(add(end_));
      result.push_back(any_ ? real(sum_) : nullValue());
    }
    return result;
  }

 private:
  void begin(size_t first) {
    first_ = end_ = first;
    sum_ = 0;
    any_ = false;
  }
  Status add(size_t i) {
    TROUPE_TRY(series_.step());
    const Element input = series_.inputs[i].element();
    if (!input.isNumber()) return Status::OK();
    TROUPE_ASSIGN(const double place, placeOf(function_, series_.places[i]));
    if (any_) sum_ += (input.toDouble() + height_) / 2 * (place - place_);
    any_ = true;
    place_ = place;
    height_ = input.toDouble();
    return Status::OK();
  }

  const SeriesFunction& function_;
  const Series& series_;
  size_t first_ = 0, end_ = 0;  ///< what the sum holds
  double sum_ = 0, place_ = 0, height_ = 0;
  bool any_ = false;
};

/// Null and missing values lie on the line between their neighbours that are known; before the first of these and
/// behind the last they are null.
StatusWith<std::vector<Value>> linearlyFilled(const SeriesFunction& function, const Series& series) {
  std::vector<Value> result;
  std::vector<double> places;
  for (size_t i = 0; i < series.inputs.size(); ++i) {
    TROUPE_TRY(series.step());
    const Element input = series.inputs[i].element();
    if (!input.isNullish() && !input.isNumber())
      return Status(ErrorCode::kTypeMismatch,
                    "Value to be filled must be numeric or nullish, but found type: " + typeOf(input));
    TROUPE_ASSIGN(const double place, placeOf(function, series.places[i]));
    if (i > 0 && place == places.back())
      return Status(ErrorCode(6050106), "There can be no repeated values in the sort field");
    places.push_back(place);
    result.push_back(input.isNumber() ? Value(input) : nullValue());
  }
  std::optional<size_t> known;
  for (size_t i = 0; i < result.size(); ++i) {
    TROUPE_TRY(series.step());
    const Element right = series.inputs[i].element();
    if (!right.isNumber()) continue;
    for (size_t j = known ? *known + 1 : i; j < i; ++j) {
      TROUPE_TRY(series.step());
      const double left = series.inputs[*known].element().toDouble();
      const double share = (places[j] - places[*known]) / (places[i] - places[*known]);
      result[j] = real(left + share * (right.toDouble() - left));
    }
    known = i;
  }
  return result;
}

/// Each number moves the average towards itself; where there is none the average stays.
StatusWith<std::vector<Value>> movingAverages(const SeriesFunction& function, const Series& series) {
  std::vector<Value> result;
  std::optional<double> average;
  for (const Value& value : series.inputs) {
    TROUPE_TRY(series.step());
    const Element input = value.element();
    if (input.isNumber())
      average = average ? input.toDouble() * function.alpha + *average * (1 - function.alpha) : input.toDouble();
    result.push_back(average ? real(*average) : nullValue());
  }
  return result;
}

}  // namespace

bool isSeriesFunction(std::string_view name) { return findSeries(name) != nullptr; }

StatusWith<SeriesFunction> parseSeriesFunction(const Element& function, bool hasWindow, const SortPattern* sort,
                                               const ParseContext& context) {
  SeriesFunction parsed{.kind = findSeries(function.name())->kind, .input = {}, .unit = {}};
  if (!sort) return refusedArgument(function.name(), "requires a sortBy");
  if (parsed.kind != Kind::kMovingAverage && sort->parts().size() != 1)
    return refusedArgument(function.name(), "requires a sortBy with exactly one element");
  const bool takesWindow = parsed.kind == Kind::kDerivative || parsed.kind == Kind::kIntegral;
  if (hasWindow && !takesWindow) return refusedArgument(function.name(), "does not accept a 'window' field");
  if (!hasWindow && parsed.kind == Kind::kDerivative)
    return refusedArgument(function.name(), "requires explicit window bounds");
  if (takesWindow) {
    TROUPE_TRY(parseOverAxis(function, parsed, context));
  } else if (parsed.kind == Kind::kMovingAverage) {
    TROUPE_TRY(parseMovingAverage(function, parsed, context));
  } else {
    TROUPE_ASSIGN(parsed.input, parseExpression(function, context));
  }
  return parsed;
}

StatusWith<std::vector<Value>> seriesValues(const SeriesFunction& function, const Series& series) {
  switch (function.kind) {
    case Kind::kDerivative: return derivatives(function, series);
    case Kind::kIntegral: return AreaSum(function, series).run();
    case Kind::kLinearFill: return linearlyFilled(function, series);
    case Kind::kMovingAverage: break;
  }
  return movingAverages(function, series);
}

}  // namespace troupe::query
