#pragma once
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "messaging/bson/document.hpp"
#include "storage/query/expression/calendar.hpp"
#include "storage/query/expression/expression.hpp"
#include "storage/query/sort/sort_pattern.hpp"

// Window functions that see documents as points: $derivative, $integral, $linearFill and $expMovingAvg. Where a point
// lies is the value of the field that the stage sorts by, a number or a date.
namespace troupe::query {

/// One of these functions, with its arguments.
struct SeriesFunction {
  enum class Kind { kDerivative, kIntegral, kLinearFill, kMovingAverage };
  Kind kind;
  ExpressionPtr input;
  std::optional<Unit> unit;  ///< of $derivative and $integral over dates; of fixed length
  double alpha = 0;          ///< of $expMovingAvg: the weight of the present value
};

bool isSeriesFunction(std::string_view name);

/// `function`: {$derivative: ...}'s element; `hasWindow`: a window is given; `sort`: the stage's sortBy, or null.
/// Errors: FailedToParse, those of the input's expression.
StatusWith<SeriesFunction> parseSeriesFunction(const bson::Element& function, bool hasWindow, const SortPattern* sort,
                                               const ParseContext& context);

/// The documents of one partition, in order.
struct Series {
  const std::vector<bson::Element>& places;  ///< values of the sort field
  const std::vector<bson::Value>& inputs;    ///< of the function
  /// First and one past the last document of the window around one.
  std::function<StatusWith<std::pair<size_t, size_t>>(size_t)> window;
  std::function<Status()> step;  ///< called for each piece of work
};

/// The values of the function for all documents. Errors: 5429414 and 5429513 for places that are no numbers, or no
/// dates though there is a unit; 6050106 where $linearFill meets one place twice, TypeMismatch where a value to fill
/// from is no number; those of `step`.
StatusWith<std::vector<bson::Value>> seriesValues(const SeriesFunction& function, const Series& series);

}  // namespace troupe::query
