#include <algorithm>
#include <bit>

#include "messaging/bson/compare.hpp"
#include "storage/query/expression/node.hpp"
#include "storage/query/expression/values.hpp"
#include "storage/query/pipeline/stages.hpp"

// $bucket, which is a $group by the bucket that a value falls into.
namespace troupe::query {

using bson::Element;
using bson::Type;
using bson::Value;

namespace {

/// The lower bound of a value's bucket, or the default. Errors: 40066 for a value outside of all buckets where there is
/// no default.
class BucketExpression final : public CompoundExpression {
 public:
  /// `boundaries`: in ascending order, at least two.
  BucketExpression(ExpressionPtr value, const Element& boundaries, const Element& fallback,
                   const bson::Collator* collator)
      : boundaries_(boundaries), fallback_(fallback), collator_(collator) {
    children_.push_back(std::move(value));
    const bson::View all = boundaries_.element().asArray();
    bounds_.assign(all.begin(), all.end());
  }

  StatusWith<Operand> evaluate(Variables& variables) const override {
    TROUPE_TRY(variables.step());
    TROUPE_ASSIGN(const Operand value, children_.front()->evaluate(variables));
    const auto comparisons = static_cast<int64_t>(std::bit_width(bounds_.size()));
    TROUPE_TRY(variables.step(comparisons * stepsFor(value.element().valueSize())));
    const auto above =
        std::upper_bound(bounds_.begin(), bounds_.end(), value.element(),
                         [&](const Element& a, const Element& b) { return bson::compareValues(a, b, collator_) < 0; });
    if (above != bounds_.begin() && above != bounds_.end()) return Operand(*(above - 1));
    if (fallback_.ok()) return Operand(fallback_.element());
    return Status(ErrorCode(40066),
                  "$bucket could not find a bucket for a value, and no default was specified: give a 'default'");
  }
  /// For explain.
  void serialize(std::string_view name, bson::Builder& out) const override {
    out.openDocument(name).openDocument("$bucket");
    children_.front()->serialize("groupBy", out);
    out.append("boundaries", boundaries_);
    if (fallback_.ok()) out.append("default", fallback_);
    out.close().close();
  }

 private:
  const Value boundaries_;
  const Value fallback_;
  std::vector<Element> bounds_;  ///< of boundaries_
  const bson::Collator* collator_;
};

Status checkBoundaries(const Element& boundaries) {
  if (!boundaries.is(Type::kArray))
    return {ErrorCode(40200),
            "The $bucket 'boundaries' field must be an array, but found type: " + typeOf(boundaries) + "."};
  if (boundaries.asArray().count() < 2)
    return {ErrorCode(40192), "The $bucket 'boundaries' field must have at least 2 values, but found " +
                                  std::to_string(boundaries.asArray().count()) + " value(s)."};
  Element previous;
  for (const Element& bound : boundaries.asArray()) {
    if (previous.ok() && bson::canonicalRank(previous.type()) != bson::canonicalRank(bound.type()))
      return {ErrorCode(40193),
              "All values in the the 'boundaries' option to $bucket must have the same type. Found conflicting types " +
                  typeOf(previous) + " and " + typeOf(bound) + "."};
    if (previous.ok() && bson::compareValues(previous, bound) >= 0)
      return {ErrorCode(40194),
              "The 'boundaries' option to $bucket must be sorted, but elements are not in ascending order."};
    previous = bound;
  }
  return Status::OK();
}

/// The default is an `_id` of its own among those of the buckets, which are their lower bounds.
Status checkBucketDefault(const Element& fallback, bson::View boundaries) {
  if (!fallback) return {};
  Element lowest, highest;
  for (const Element& bound : boundaries) {
    if (!lowest) lowest = bound;
    highest = bound;
  }
  const bool sameType = bson::canonicalRank(fallback.type()) == bson::canonicalRank(lowest.type());
  if (sameType && bson::compareValues(fallback, lowest) >= 0 && bson::compareValues(fallback, highest) < 0)
    return {ErrorCode(40199),
            "The $bucket 'default' field must be less than the lowest boundary or greater than or equal to the highest "
            "boundary."};
  return {};
}

Status parseBucket(const Element& e, StageParser& parser) {
  if (!e.is(Type::kDocument))
    return {ErrorCode(40201), "Argument to $bucket stage must be an object, but found type: " + typeOf(e) + "."};
  Element groupBy, boundaries, fallback, output;
  for (const Element& field : e.asDocument()) {
    if (field.name() == "groupBy") {
      if (!isExpression(field))
        return {ErrorCode(40202),
                "The $bucket 'groupBy' field must be a $-prefixed path or an expression object, but "
                "found: " +
                    show(field) + "."};
      groupBy = field;
    } else if (field.name() == "boundaries") {
      TROUPE_TRY(checkBoundaries(field));
      boundaries = field;
    } else if (field.name() == "default") {
      fallback = field;
    } else if (field.name() == "output") {
      if (!field.is(Type::kDocument))
        return {ErrorCode(40196),
                "The $bucket 'output' field must be an object, but found type: " + typeOf(field) + "."};
      output = field;
    } else {
      return {ErrorCode(40197), "Unrecognized option to $bucket: " + std::string(field.name()) + "."};
    }
  }
  if (!groupBy || !boundaries)
    return {ErrorCode(40198), "$bucket requires 'groupBy' and 'boundaries' to be specified."};
  TROUPE_TRY(checkBucketDefault(fallback, boundaries.asArray()));
  TROUPE_ASSIGN(auto value, parseExpression(groupBy, parser.parse()));
  auto id = std::make_unique<BucketExpression>(std::move(value), boundaries, fallback, parser.parse().collator);
  TROUPE_TRY(
      addGroup(std::move(id), output ? output.asDocument() : bson::doc("count", bson::doc("$sum", 1)).view(), parser));
  return addStage("$sort", bson::doc("_id", 1), parser);
}

constexpr StageRow kBucketStages[] = {{"$bucket", parseBucket}};

}  // namespace

std::span<const StageRow> bucketStages() { return kBucketStages; }

}  // namespace troupe::query
