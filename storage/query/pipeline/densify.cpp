#include "messaging/bson/compare.hpp"
#include "messaging/bson/numeric.hpp"
#include "storage/query/expression/calendar.hpp"
#include "storage/query/expression/paths.hpp"
#include "storage/query/expression/values.hpp"
#include "storage/query/pipeline/partitioned_rows.hpp"
#include "storage/query/pipeline/stages.hpp"
#include "storage/query/project/nested_value.hpp"

// $densify: adds documents where a sequence of numbers or dates has gaps.
namespace troupe::query {

using bson::Document;
using bson::Element;
using bson::Type;
using bson::Value;

namespace {

/// What others call the limit internalQueryMaxAllowedDensifyDocs.
constexpr int64_t kMaxAdded = 500'000;

struct DensifySpec {
  enum class Bounds { kFull, kPartition, kGiven };
  Document shown;
  std::string field;
  std::vector<std::string> partitionFields;
  Value step;
  std::optional<Unit> unit;  ///< of the step, for dates
  Bounds bounds = Bounds::kFull;
  Value lower, upper;  ///< kGiven: the upper one is not reached
};

int compareAxis(const Value& a, const Value& b) { return bson::compareValues(a.element(), b.element()); }

class DensifyStage final : public Stage {
 public:
  DensifyStage(DensifySpec spec, ExpressionPtr partitionBy, SortPattern order, const PipelineContext& context)
      : spec_(std::move(spec)),
        work_(context.parse->work),
        collated_(context.parse->collator != nullptr),
        held_("$densify", std::move(partitionBy), std::move(order), context) {}

  StatusWith<Next> next() override {
    while (!consumed_) {
      auto in = pull();
      if (!in.isOK() || in->kind == Next::Kind::kYield) return in;
      if (in->isDocument()) {
        TROUPE_TRY(hold(in->document));
        continue;
      }
      consumed_ = true;
      TROUPE_TRY(held_.sort());
    }
    for (;;) {
      if (at_ == end_) {
        TROUPE_ASSIGN(const bool added, addBefore(nullptr));
        if (added) return Next::of(current_.view());
        if (end_ == rows_.size()) return Next::end();
        TROUPE_TRY(beginPartition());
        continue;
      }
      const Element present = held_.sortValue(rows_[at_].document);
      if (!present.isNullish()) {
        const Value place(present);
        if (collated_) TROUPE_TRY(shareWith(rows_[at_].document));
        TROUPE_ASSIGN(const bool added, addBefore(&place));
        if (added) return Next::of(current_.view());
      }
      current_ = std::move(rows_[at_++].document);
      return Next::of(current_.view());
    }
  }
  std::string_view name() const override { return "$densify"; }
  void serialize(bson::Builder& stages) const override { stages.push(spec_.shown); }
  StageTraits traits() const override { return {.blocking = true}; }

 private:
  Status hold(bson::View document) {
    TROUPE_TRY(held_.add(document));
    const Element value = held_.sortValue(document);
    if (value.isNullish()) return Status::OK();
    if (!value.isNumber() && !value.is(Type::kDate))
      return {ErrorCode(5733201), "$densify: the values of the field must be numbers or dates, found " + typeOf(value)};
    if (value.is(Type::kDate) != spec_.unit.has_value())
      return {ErrorCode(6053600), spec_.unit ? "$densify: the step has a unit, but a value of the field is a number"
                                             : "$densify: a value of the field is a date, but the step has no unit"};
    const Value place(value);
    if (!any_ || compareAxis(place, least_) < 0) least_ = place;
    if (!any_ || compareAxis(place, greatest_) > 0) greatest_ = place;
    any_ = true;
    return Status::OK();
  }

  /// Finds the end of the partition that follows, what its new documents share, and where they begin and end.
  Status beginPartition() {
    const size_t first = end_;
    TROUPE_ASSIGN(end_, held_.endOfPartition(first));
    at_ = first;
    TROUPE_TRY(shareWith(rows_[first].document));
    size_t known = first;
    for (; known < end_ && held_.sortValue(rows_[known].document).isNullish(); ++known)
      if (work_) TROUPE_TRY(work_->step());
    grows_ = known < end_;
    if (!grows_) return Status::OK();
    if (spec_.bounds == DensifySpec::Bounds::kGiven) {
      start_ = spec_.lower;
      stop_ = spec_.upper;
    } else if (spec_.bounds == DensifySpec::Bounds::kFull) {
      start_ = least_;
      stop_ = greatest_;
    } else {
      start_ = Value(held_.sortValue(rows_[known].document));
      stop_ = Value(held_.sortValue(rows_[end_ - 1].document));
    }
    steps_ = 0;
    return nextPlace();
  }

  /// New documents have the partition's fields as the document before which they stand: with a collation, documents of
  /// one partition may differ there.
  Status shareWith(bson::View document) {
    shared_ = Document();
    for (const std::string& path : spec_.partitionFields) {
      const Element value = document.at(path);
      if (!value.ok()) continue;
      TROUPE_ASSIGN(shared_, withNestedValue(shared_, path, Value(value), work_));
    }
    return Status::OK();
  }

  /// Makes the next new document unless it would not lie before `limit` (null: the end of the partition). A place that
  /// is taken is passed over.
  StatusWith<bool> addBefore(const Value* limit) {
    while (grows_) {
      if (work_) TROUPE_TRY(work_->step());
      const int toStop = compareAxis(place_, stop_);
      if (toStop > 0 || (toStop == 0 && spec_.bounds == DensifySpec::Bounds::kGiven)) {
        grows_ = false;
        break;
      }
      const int toLimit = limit ? compareAxis(place_, *limit) : -1;
      if (toLimit > 0) return false;
      const Value place = place_;
      ++steps_;
      TROUPE_TRY(nextPlace());
      if (toLimit == 0) continue;
      if (++added_ > kMaxAdded)
        return Status(ErrorCode(5897900),
                      "$densify would add more than " + std::to_string(kMaxAdded) + " documents: choose a larger step");
      TROUPE_ASSIGN(current_, withNestedValue(shared_, spec_.field, place, work_));
      return true;
    }
    return false;
  }
  /// Goes to the place that lies `steps_` from the start. Errors: a step so small that it leads nowhere.
  Status nextPlace() {
    if (steps_ == 0) {
      place_ = start_;
      return Status::OK();
    }
    const Value before = std::move(place_);
    TROUPE_TRY(findPlace());
    if (compareAxis(place_, before) > 0) return Status::OK();
    return {ErrorCode::kFailedToParse, "$densify: the step is too small for the precision of the values"};
  }
  /// Steps are not added up, so that neither months nor fractions drift.
  Status findPlace() {
    if (spec_.unit) {
      int64_t amount = 0;
      if (__builtin_mul_overflow(steps_, spec_.step.element().toInt64(), &amount))
        return {ErrorCode::kOverflow, "$densify: the step is too large"};
      TROUPE_ASSIGN(const int64_t at, addUnits(start_.element().asDate().millis, *spec_.unit, amount, Zone()));
      place_ = date(at);
      return Status::OK();
    }
    TROUPE_ASSIGN(const Value way,
                  bson::multiply(spec_.step.element(), integer(steps_).element(), bson::Overflow::kWiden));
    TROUPE_ASSIGN(place_, bson::add(start_.element(), way.element(), bson::Overflow::kWiden));
    return Status::OK();
  }

  DensifySpec spec_;
  QueryWork* work_;
  const bool collated_;
  PartitionedRows held_;
  std::vector<PartitionedRows::Row>& rows_ = held_.rows();
  bool consumed_ = false, any_ = false;
  Value least_, greatest_;   ///< of all values
  size_t at_ = 0, end_ = 0;  ///< the next row, and the end of its partition
  Document shared_;          ///< the fields of the partition
  Value start_, stop_, place_;
  bool grows_ = false;  ///< the partition may get more documents
  int64_t steps_ = 0, added_ = 0;
  Document current_;
};

Status refusedDensify(std::string_view why) { return {ErrorCode::kFailedToParse, "$densify: " + std::string(why)}; }

Status missingDensifyField(std::string_view path) {
  return {ErrorCode::kMissingRequiredField, "BSON field '" + std::string(path) + "' is missing but a required field"};
}

Status unknownDensifyField(std::string_view path, const Element& e) {
  return {ErrorCode::kUnknownField,
          "BSON field '" + std::string(path) + "." + std::string(e.name()) + "' is an unknown field."};
}

Status wrongDensifyType(std::string_view path, const Element& e, std::string_view expected) {
  return {ErrorCode::kTypeMismatch, "BSON field '" + std::string(path) + "' is the wrong type '" + typeOf(e) +
                                        "', expected type '" + std::string(expected) + "'"};
}

/// "full", "partition" or [lower, upper].
Status parseDensifyBounds(const Element& bounds, DensifySpec& spec) {
  if (bounds.toStringOr() == "full") return Status::OK();
  if (bounds.toStringOr() == "partition") {
    spec.bounds = DensifySpec::Bounds::kPartition;
    return Status::OK();
  }
  if (!bounds.is(Type::kArray) || bounds.asArray().count() != 2)
    return refusedDensify("'bounds' must be 'full', 'partition' or an array of a lower and an upper bound");
  for (const Element& bound : bounds.asArray())
    if (spec.unit ? !bound.is(Type::kDate) : !bound.isNumber())
      return refusedDensify(spec.unit ? "the bounds of a step with a unit must be dates"
                                      : "the bounds of a step without a unit must be numbers");
  spec.bounds = DensifySpec::Bounds::kGiven;
  spec.lower = Value(*bounds.asArray().begin());
  spec.upper = Value(*++bounds.asArray().begin());
  return compareAxis(spec.lower, spec.upper) <= 0 ? Status::OK()
                                                  : refusedDensify("the lower bound must not exceed the upper bound");
}

Status parseDensifyRange(const Element& range, DensifySpec& spec) {
  if (range.isNullish()) return missingDensifyField("$densify.range");
  if (!range.is(Type::kDocument)) return wrongDensifyType("$densify.range", range, "object");
  Element step, bounds;
  for (const Element& field : range.asDocument()) {
    if (field.name() == "step") step = field;
    else if (field.name() == "bounds") bounds = field;
    else if (field.name() != "unit") return unknownDensifyField("$densify.range", field);
    else if (!field.is(Type::kString)) return wrongDensifyType("$densify.range.unit", field, "string");
    else {
      TROUPE_ASSIGN(spec.unit, unitOf(field, "$densify"));
    }
  }
  if (step.isNullish()) return missingDensifyField("$densify.range.step");
  if (bounds.isNullish()) return missingDensifyField("$densify.range.bounds");
  if (!step.isNumber()) return wrongDensifyType("$densify.range.step", step, "number");
  if (!(step.toDouble() > 0)) return refusedDensify("the step must be positive");
  if (spec.unit && !exactInt64(step)) return refusedDensify("a step with a unit must be an integer");
  spec.step = Value(step);
  return parseDensifyBounds(bounds, spec);
}

Status parseDensifyPartitions(const Element& e, DensifySpec& spec) {
  if (!e.is(Type::kArray)) return wrongDensifyType("$densify.partitionByFields", e, "array");
  for (const Element& path : e.asArray()) {
    if (!path.is(Type::kString)) return wrongDensifyType("$densify.partitionByFields", path, "string");
    TROUPE_TRY(ValuePath::check(path.asString()));
    spec.partitionFields.emplace_back(path.asString());
  }
  return Status::OK();
}

/// The array of the fields that partitions differ in; null without any.
StatusWith<ExpressionPtr> partitionOf(const DensifySpec& spec, const ParseContext& context) {
  if (spec.partitionFields.empty()) return ExpressionPtr();
  bson::Builder list;
  list.openArray("fields");
  for (const std::string& path : spec.partitionFields) list.push("$" + path);
  const Document fields = list.close().finish();
  return parseExpression(fields["fields"], context);
}

Status parseDensify(const Element& e, StageParser& parser) {
  if (!e.is(Type::kDocument))
    return {ErrorCode(5733400), "the $densify stage specification must be an object, found " + typeOf(e)};
  DensifySpec spec;
  Element named, range;
  for (const Element& field : e.asDocument()) {
    if (field.name() == "field") named = field;
    else if (field.name() == "range") range = field;
    else if (field.name() != "partitionByFields") return unknownDensifyField("$densify", field);
    else TROUPE_TRY(parseDensifyPartitions(field, spec));
  }
  if (named.isNullish()) return missingDensifyField("$densify.field");
  if (!named.is(Type::kString)) return wrongDensifyType("$densify.field", named, "string");
  spec.field = named.asString();
  TROUPE_TRY(ValuePath::check(spec.field));
  TROUPE_TRY(parseDensifyRange(range, spec));
  for (const std::string& path : spec.partitionFields)
    if (path == spec.field) return refusedDensify("the field must not be one of 'partitionByFields'");
  if (spec.bounds == DensifySpec::Bounds::kPartition && spec.partitionFields.empty())
    return refusedDensify("the bounds 'partition' require 'partitionByFields'");
  TROUPE_ASSIGN(auto partitionBy, partitionOf(spec, parser.parse()));
  TROUPE_ASSIGN(auto order, SortPattern::parse(bson::doc(spec.field, 1), parser.parse()));
  bson::Builder shown;
  shown.append("$densify", e);
  spec.shown = shown.finish();
  parser.add(std::make_unique<DensifyStage>(std::move(spec), std::move(partitionBy), std::move(order), parser.context));
  return Status::OK();
}

constexpr StageRow kDensifyStages[] = {{"$densify", parseDensify}};

}  // namespace

std::span<const StageRow> densifyStages() { return kDensifyStages; }

}  // namespace troupe::query
