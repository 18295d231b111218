#pragma once
#include <vector>

#include "storage/query/expression/accumulator.hpp"

// $percentile and $median.
namespace troupe::query {

/// What one of them is asked for: `{input, p, method}`, of which $median has no `p`.
struct PercentileRequest {
  bool median = false;
  std::vector<double> fractions;  ///< of $median: a half
  ExpressionPtr input;
};

/// Errors: 7429703 (not a document), 40414 and 40415 (its fields), BadValue and TypeMismatch (the method),
/// 7750301 (`p` is not a constant array of numbers), 7750303 (a number outside of 0 to 1).
StatusWith<PercentileRequest> parsePercentile(const bson::Element& e, const ParseContext& context);

/// The numbers at the fractions of the values, in their order: each is one of the values. Null where there are none.
class PercentileAccumulator final : public Accumulator {
 public:
  /// `request` outlives this, and so does `work`, the operation, which may be null.
  PercentileAccumulator(const PercentileRequest& request, QueryWork* work) : request_(request), work_(work) {}
  Status add(const bson::Element& value) override;
  StatusWith<bson::Value> result() const override;
  size_t memory() const override { return values_.capacity() * sizeof(double); }

 private:
  const PercentileRequest& request_;
  QueryWork* work_;
  std::vector<double> values_;
};

/// The accumulator of a group or window.
StatusWith<std::unique_ptr<AccumulatorSpec>> parsePercentileAccumulator(const bson::Element& e,
                                                                        const ParseContext& context);

}  // namespace troupe::query
