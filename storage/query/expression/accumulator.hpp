#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "storage/query/expression/expression.hpp"

namespace troupe::bson {
class Collator;
}

namespace troupe::query {

/// The steps that taking in a value counts for, whoever calls Accumulator::add: it may be compared with many others.
inline int64_t stepsOfAdding(const bson::Element& value) { return int64_t{1} + (value.valueSize() >> 7); }

/// The state of an accumulator ($sum, $push ...) of one group.
class Accumulator {
 public:
  virtual ~Accumulator() = default;
  /// Takes one value; an absent element stands for a missing one. Errors: per accumulator, e.g. 40400 for
  /// $mergeObjects.
  virtual Status add(const bson::Element& value) = 0;
  /// The result so far; may be called more than once.
  virtual StatusWith<bson::Value> result() const = 0;
  /// Bytes held beyond a fixed small size.
  virtual size_t memory() const { return 0; }
  /// Takes the oldest value out again (sliding windows); false when the accumulator cannot.
  virtual bool remove(const bson::Element&) { return false; }
};

/// A parsed accumulator of $group, $bucket or a window: `{$sum: "$qty"}`. Immutable.
class AccumulatorSpec {
 public:
  virtual ~AccumulatorSpec() = default;
  virtual std::string_view name() const = 0;
  /// The value that one document contributes.
  virtual StatusWith<Operand> evaluate(Variables& variables) const = 0;
  virtual std::unique_ptr<Accumulator> make() const = 0;
  virtual void addDependencies(Dependencies& dependencies) const = 0;
  virtual void serialize(std::string_view name, bson::Builder& out) const = 0;
};

/// Where an accumulator stands: in $group (and $bucket), $bucketAuto, or $setWindowFields.
enum class AccumulatorUse { kGroup, kBuckets, kWindow };

/// Parses `{$sum: expression}`; `field` is the output field, for messages. A window also knows $covariancePop and
/// $covarianceSamp, and takes an array for an expression; elsewhere that is 40237.
/// Errors: 40234 (not an accumulator object), 40238 (not exactly one operator), 15952 (unknown), per accumulator.
StatusWith<std::unique_ptr<AccumulatorSpec>> parseAccumulator(const bson::Element& field, const ParseContext& context,
                                                              AccumulatorUse use = AccumulatorUse::kGroup);

/// A new state for those accumulators that need nothing but their name ($sum, $avg, $min, $max, $push, $first ...), or
/// null. `work`: the operation that the state belongs to; may be null.
std::unique_ptr<Accumulator> makeAccumulator(std::string_view name, const bson::Collator* collator, QueryWork* work);

}  // namespace troupe::query
