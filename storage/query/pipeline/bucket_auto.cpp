#include <algorithm>
#include <cmath>

#include "messaging/bson/compare.hpp"
#include "storage/query/expression/accumulator.hpp"
#include "storage/query/expression/values.hpp"
#include "storage/query/interruptible_sort.hpp"
#include "storage/query/pipeline/preferred_numbers.hpp"
#include "storage/query/pipeline/stages.hpp"

// $bucketAuto: documents in order of a key, cut into buckets of about the same size.
namespace troupe::query {

using bson::Document;
using bson::Element;
using bson::Type;
using bson::Value;

namespace {

using Outputs = std::vector<std::pair<std::string, std::unique_ptr<AccumulatorSpec>>>;

class BucketAutoStage final : public Stage {
 public:
  BucketAutoStage(Document shown, ExpressionPtr groupBy, int64_t buckets, Outputs outputs,
                  std::optional<PreferredNumbers> granularity, PipelineContext context)
      : shown_(std::move(shown)),
        groupBy_(std::move(groupBy)),
        buckets_(buckets),
        outputs_(std::move(outputs)),
        granularity_(std::move(granularity)),
        context_(std::move(context)),
        variables_(context_.parse->work),
        memory_(context_, "$bucketAuto") {}

  StatusWith<Next> next() override {
    while (!sorted_) {
      auto in = pull();
      if (!in.isOK() || in->kind == Next::Kind::kYield) return in;
      if (in->isEnd()) TROUPE_TRY(sort());
      else TROUPE_TRY(hold(in->document));
    }
    if (at_ == rows_.size()) return Next::end();
    TROUPE_TRY(fillBucket());
    return Next::of(current_.view());
  }
  std::string_view name() const override { return "$bucketAuto"; }
  void serialize(bson::Builder& stages) const override { stages.push(shown_); }
  StageTraits traits() const override { return {.blocking = true}; }
  bool addDependencies(Dependencies& dependencies) const override {
    groupBy_->addDependencies(dependencies);
    for (const auto& [name, spec] : outputs_) spec->addDependencies(dependencies);
    return false;
  }

 private:
  struct Row {
    Value key;
    Document document;
  };
  Status hold(bson::View document) {
    variables_.setRoot(document);
    TROUPE_ASSIGN(Operand key, groupBy_->evaluate(variables_));
    if (granularity_) TROUPE_TRY(checkRoundable(key.element()));
    bytes_ += heldBytes(document) + heldBytes(key.element());  // a computed key's own charge ends with its operand
    TROUPE_TRY(memory_.set(bytes_));
    rows_.push_back({key.ok() ? std::move(key).take() : nullValue(), Document(document)});
    return Status::OK();
  }
  static Status checkRoundable(const Element& key) {
    if (!key.isNumber())
      return {ErrorCode(40258),
              "$bucketAuto can specify a 'granularity' with numeric values only, but found " + show(key)};
    if (std::isnan(key.toDouble()))
      return {ErrorCode(40259), "$bucketAuto can specify a 'granularity' with numbers only, but found a NaN"};
    if (key.toDouble() < 0)
      return {ErrorCode(40260),
              "$bucketAuto can specify a 'granularity' with non-negative numbers only, but found " + show(key)};
    return Status::OK();
  }
  int compare(const Row& a, const Row& b) const {
    return bson::compareValues(a.key.element(), b.key.element(), context_.parse->collator);
  }
  static int64_t stepsOfComparingKeys(const Row& a, const Row& b) {
    return stepsOfComparing(a.key.valueBytes().size(), b.key.valueBytes().size());
  }
  Status sort() {
    const auto isLess = [this](const Row& a, const Row& b) { return compare(a, b) < 0; };
    TROUPE_TRY(sortStably(rows_, context_.parse->work, isLess, stepsOfComparingKeys));
    sorted_ = true;
    size_ = std::max<size_t>(1, (rows_.size() + static_cast<size_t>(buckets_) / 2) / static_cast<size_t>(buckets_));
    return Status::OK();
  }
  Status fillBucket() {
    const size_t first = at_;
    size_t end = ++filled_ == buckets_ ? rows_.size() : std::min(rows_.size(), at_ + size_);
    for (; end < rows_.size(); ++end) {  // equal keys stay together
      TROUPE_TRY(variables_.step(stepsOfComparingKeys(rows_[end], rows_[end - 1])));
      if (compare(rows_[end], rows_[end - 1]) != 0) break;
    }
    Growth growth(variables_.work());  // of the bounds, which are copies, and of the result
    TROUPE_TRY(growth.reserve(rows_[first].key.valueBytes().size() +
                              rows_[std::min(end, rows_.size() - 1)].key.valueBytes().size()));
    Value lower = rows_[first].key, upper = end < rows_.size() ? rows_[end].key : rows_.back().key;
    if (granularity_) {  // the bounds are rounded outwards, and the bucket takes in all below its new bound
      lower = filled_ == 1 ? granularity_->below(rows_[first].key.element()) : std::move(bound_);
      upper = granularity_->above(rows_[end - 1].key.element());
      for (; end < rows_.size() && bson::compareValues(rows_[end].key.element(), upper.element()) < 0; ++end)
        TROUPE_TRY(variables_.step());
      bound_ = upper;
    }
    std::vector<std::unique_ptr<Accumulator>> states;
    for (const auto& [name, spec] : outputs_) states.push_back(spec->make());
    int64_t collected = 0;
    for (; at_ < end; ++at_) {
      variables_.setRoot(rows_[at_].document);
      for (size_t i = 0; i < outputs_.size(); ++i) {
        TROUPE_ASSIGN(const Operand value, outputs_[i].second->evaluate(variables_));
        TROUPE_TRY(variables_.step(stepsOfAdding(value.element())));
        const auto before = static_cast<int64_t>(states[i]->memory());
        TROUPE_TRY(states[i]->add(value.element()));
        collected += static_cast<int64_t>(states[i]->memory()) - before;
        TROUPE_TRY(memory_.set(bytes_ + collected));
      }
      TROUPE_TRY(variables_.step());
    }
    bson::Builder out;
    out.openDocument("_id").append("min", lower).append("max", upper).close();
    for (size_t i = 0; i < outputs_.size(); ++i) {
      TROUPE_TRY(growth.reserve(out.size() + states[i]->memory()));
      TROUPE_ASSIGN(const Value value, states[i]->result());
      out.append(outputs_[i].first, value);
    }
    current_ = out.finish();
    return Status::OK();
  }

  Document shown_;
  ExpressionPtr groupBy_;
  int64_t buckets_;
  Outputs outputs_;
  std::optional<PreferredNumbers> granularity_;
  PipelineContext context_;
  Variables variables_;
  StageMemory memory_;
  std::vector<Row> rows_;
  int64_t bytes_ = 0;
  bool sorted_ = false;
  size_t size_ = 1, at_ = 0;
  int64_t filled_ = 0;
  Value bound_;  ///< with a granularity: the upper bound of the last bucket
  Document current_;
};

Status parseBucketAuto(const Element& e, StageParser& parser) {
  if (!e.is(Type::kDocument))
    return {ErrorCode(40240), "The argument to $bucketAuto must be an object, but found type: " + typeOf(e) + "."};
  ExpressionPtr groupBy;
  std::optional<int64_t> buckets;
  Outputs outputs;
  std::optional<PreferredNumbers> granularity;
  for (const Element& field : e.asDocument()) {
    if (field.name() == "groupBy") {
      if (!isExpression(field))
        return {ErrorCode(40239),
                "The $bucketAuto 'groupBy' field must be a $-prefixed path or an expression object, but found: " +
                    show(field) + "."};
      TROUPE_ASSIGN(groupBy, parseExpression(field, parser.parse()));
    } else if (field.name() == "buckets") {
      buckets = exactInt32(field);
      if (!buckets)
        return {ErrorCode(40242),
                "The $bucketAuto 'buckets' field must be representable as a 32-bit integer, but found " + show(field)};
      if (*buckets <= 0)
        return {ErrorCode(40243), "The $bucketAuto 'buckets' field must be greater than 0, but found: " + show(field)};
    } else if (field.name() == "output") {
      if (!field.is(Type::kDocument))
        return {ErrorCode(40244),
                "The $bucketAuto 'output' field must be an object, but found type: " + typeOf(field) + "."};
      for (const Element& output : field.asDocument()) {
        TROUPE_ASSIGN(auto spec, parseAccumulator(output, parser.parse(), AccumulatorUse::kBuckets));
        outputs.emplace_back(output.name(), std::move(spec));
      }
    } else if (field.name() == "granularity") {
      if (!field.is(Type::kString))
        return {ErrorCode(40261),
                "The $bucketAuto 'granularity' field must be a string, but found type: " + typeOf(field) + "."};
      TROUPE_ASSIGN(granularity, PreferredNumbers::named(field.asString()));
    } else {
      return {ErrorCode(40245), "Unrecognized option to $bucketAuto: " + std::string(field.name()) + "."};
    }
  }
  if (!groupBy || !buckets) return {ErrorCode(40246), "$bucketAuto requires 'groupBy' and 'buckets' to be specified."};
  if (outputs.empty()) {
    const Document count = bson::doc("count", bson::doc("$sum", 1));
    TROUPE_ASSIGN(auto spec, parseAccumulator(count["count"], parser.parse(), AccumulatorUse::kBuckets));
    outputs.emplace_back("count", std::move(spec));
  }
  bson::Builder shown;
  shown.append("$bucketAuto", e);
  parser.add(std::make_unique<BucketAutoStage>(shown.finish(), std::move(groupBy), *buckets, std::move(outputs),
                                               std::move(granularity), parser.context));
  return Status::OK();
}

constexpr StageRow kBucketAutoStages[] = {{"$bucketAuto", parseBucketAuto}};

}  // namespace

std::span<const StageRow> bucketAutoStages() { return kBucketAutoStages; }

}  // namespace troupe::query
