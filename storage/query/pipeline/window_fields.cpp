#include <algorithm>
#include <cmath>
#include <limits>

#include "messaging/bson/compare.hpp"
#include "messaging/bson/numeric.hpp"
#include "messaging/errors/invariant.hpp"
#include "storage/query/expression/accumulator.hpp"
#include "storage/query/expression/calendar.hpp"
#include "storage/query/expression/values.hpp"
#include "storage/query/interruptible_sort.hpp"
#include "storage/query/pipeline/partitioned_rows.hpp"
#include "storage/query/pipeline/stages.hpp"
#include "storage/query/pipeline/window_series.hpp"

// $setWindowFields: partitions are read in order, one at a time; each output is computed over a window of documents
// around each, or of a range of values of the sort key.
namespace troupe::query {

using bson::Document;
using bson::Element;
using bson::Type;
using bson::Value;

namespace {

constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();

struct Window {
  bool range = false;                            ///< over values of the sort key, not positions
  int64_t low = -kUnbounded, high = kUnbounded;  ///< positions relative to the document
  std::optional<Value> from, to;                 ///< range: what is added to the sort key; absent: unbounded
  std::optional<Unit> unit;
};

struct WindowedField {
  std::string path;
  std::string function;                   ///< "$rank" ..., or an accumulator's name
  std::unique_ptr<AccumulatorSpec> spec;  ///< for accumulators
  ExpressionPtr shifted, fallback;        ///< for $shift, the first also for $locf
  int64_t by = 0;
  std::optional<SeriesFunction> series;  ///< for $derivative and its kind
  Window window;
};

struct Partition {
  std::vector<Document> documents;
  std::vector<std::string> sortKeys;  ///< memcmp order
  std::vector<Element>
      sortValues;  ///< of the first sort field, borrowed from the documents; for ranges and series only
};

/// The values of one output for all documents of a partition.
class WindowEvaluator {
 public:
  /// `made`: counts the values.
  WindowEvaluator(const Partition& partition, const WindowedField& output, MadeMemory& made)
      : partition_(partition), output_(output), made_(made), variables_(made.work()) {}

  StatusWith<std::vector<Value>> run() {
    if (output_.spec) return accumulate();
    if (output_.series) return overSeries();
    std::vector<Value> result;
    int64_t rank = 0, dense = 0;
    for (size_t i = 0; i < size(); ++i) {
      TROUPE_TRY(
          made_.step(i == 0 ? 1 : stepsOfComparing(partition_.sortKeys[i].size(), partition_.sortKeys[i - 1].size())));
      const bool tie = i > 0 && partition_.sortKeys[i] == partition_.sortKeys[i - 1];
      if (!tie) {
        rank = static_cast<int64_t>(i) + 1;
        ++dense;
      }
      Operand value;
      if (output_.function == "$documentNumber") value = integer(static_cast<int64_t>(i) + 1);
      else if (output_.function == "$rank") value = integer(rank);
      else if (output_.function == "$denseRank") value = integer(dense);
      else if (output_.function == "$locf") {
        TROUPE_ASSIGN(value, evaluate(*output_.shifted, i));
        if (value.nullish() && value.type() != Type::kUndefined)
          value = result.empty() ? Operand(nullValue()) : Operand(result.back().element());
      } else {
        TROUPE_ASSIGN(value, shift(i));
      }
      TROUPE_TRY(made_.add(value.element()));
      result.push_back(std::move(value).take());
    }
    return result;
  }

 private:
  size_t size() const { return partition_.documents.size(); }

  /// Over the document at `i`.
  StatusWith<Operand> evaluate(const Expression& expression, size_t i) {
    variables_.setRoot(partition_.documents[i]);
    return expression.evaluate(variables_);
  }

  StatusWith<Operand> shift(size_t i) {
    const auto count = static_cast<int64_t>(size());
    const int64_t at = static_cast<int64_t>(i) + std::clamp(output_.by, -count, count);
    if (at >= 0 && at < static_cast<int64_t>(size())) {
      TROUPE_ASSIGN(auto value, evaluate(*output_.shifted, static_cast<size_t>(at)));
      return value.ok() ? std::move(value) : Operand(nullValue());
    }
    if (!output_.fallback) return Operand(nullValue());
    return evaluate(*output_.fallback, i);
  }

  /// First and one past the last document of a window.
  StatusWith<std::pair<size_t, size_t>> bounds(size_t i) const {
    if (output_.window.range) return rangeBounds(i);
    const auto count = static_cast<int64_t>(size()), at = static_cast<int64_t>(i);
    const auto clamp = [&](int64_t v) { return static_cast<size_t>(std::clamp<int64_t>(v, 0, count)); };
    const auto near = [&](int64_t bound) { return at + std::clamp(bound, -count - 1, count); };
    const size_t first = output_.window.low == -kUnbounded ? 0 : clamp(near(output_.window.low));
    const size_t end = output_.window.high == kUnbounded ? size() : clamp(near(output_.window.high) + 1);
    return std::pair(first, std::max(first, end));
  }

  StatusWith<Value> edge(const Element& e, const Value& offset) const {
    if (output_.window.unit) {
      if (!e.is(Type::kDate))
        return Status(ErrorCode(5429513), "Expected the sortBy field to be a Date, but it was " + typeOf(e));
      TROUPE_ASSIGN(const int64_t at,
                    addUnits(e.asDate().millis, *output_.window.unit, offset.element().toInt64(), Zone()));
      return date(at);
    }
    if (!e.isNumber())
      return Status(ErrorCode(5429414), "Expected the sortBy field to be a number, but it was " + typeOf(e));
    return bson::add(e, offset.element(), bson::Overflow::kWiden);
  }

  StatusWith<std::pair<size_t, size_t>> rangeBounds(size_t i) const {
    const auto& keys = partition_.sortValues;
    // Values of one partition are in the order of sortBy, so that both edges are found by bisection. The parser has
    // seen to it that sortBy is one ascending field.
    const auto below = [](const Element& a, const Element& b) { return bson::compareValues(a, b) < 0; };
    size_t first = 0, end = size();
    if (output_.window.from) {
      TROUPE_ASSIGN(const Value low, edge(keys[i], *output_.window.from));
      first = static_cast<size_t>(std::lower_bound(keys.begin(), keys.end(), low.element(), below) - keys.begin());
    }
    if (output_.window.to) {
      TROUPE_ASSIGN(const Value high, edge(keys[i], *output_.window.to));
      end = static_cast<size_t>(std::upper_bound(keys.begin(), keys.end(), high.element(), below) - keys.begin());
    }
    return std::pair(first, std::max(first, end));
  }

  StatusWith<std::vector<Value>> overSeries() {
    std::vector<Value> inputs;
    const int64_t before = made_.bytes();
    for (size_t i = 0; i < size(); ++i) {
      TROUPE_TRY(made_.step());
      TROUPE_ASSIGN(Operand value, evaluate(*output_.series->input, i));
      TROUPE_TRY(made_.add(value.element()));
      inputs.push_back(std::move(value).take());
    }
    // Of results there are numbers only.
    constexpr auto kPerResult = static_cast<int64_t>(sizeof(Value) + sizeof(bson::Decimal128));
    const int64_t made = static_cast<int64_t>(size()) * kPerResult;
    TROUPE_TRY(made_.fits(2 * made));
    TROUPE_ASSIGN(auto result, seriesValues(*output_.series, {.places = partition_.sortValues,
                                                              .inputs = inputs,
                                                              .window = [this](size_t i) { return bounds(i); },
                                                              .step = [this] { return made_.step(); }}));
    TROUPE_TRY(made_.add(made - (made_.bytes() - before)));
    return result;
  }

  /// Slides the accumulator along where it can give values back, else computes each window anew.
  StatusWith<std::vector<Value>> accumulate() {
    std::vector<Value> inputs, result;
    const int64_t before = made_.bytes();
    for (const Document& document : partition_.documents) {
      variables_.setRoot(document);
      TROUPE_TRY(made_.step());
      TROUPE_ASSIGN(Operand value, output_.spec->evaluate(variables_));
      TROUPE_TRY(made_.add(value.element()));
      inputs.push_back(std::move(value).take());
    }
    const int64_t withInputs = made_.bytes();
    auto state = output_.spec->make();
    size_t first = 0, end = 0;  // what `state` has taken in: [first, end)
    for (size_t i = 0; i < size(); ++i) {
      TROUPE_TRY(made_.step());
      TROUPE_ASSIGN(const auto wanted, bounds(i));
      // Both edges only move on for windows of documents and of ranges, so that each value is added and taken out once:
      // n steps instead of n times the window. Not all accumulators can take a value out ($min, $push ... say so).
      bool slides = wanted.first >= first && wanted.second >= end;
      while (slides && first < wanted.first) {
        TROUPE_TRY(made_.step());
        if (first < end) slides = state->remove(inputs[first].element());
        else end = first + 1;  // the window has jumped over values that it never held
        if (slides) ++first;
      }
      if (!slides) {
        state = output_.spec->make();
        first = end = wanted.first;
      }
      invariant(first == wanted.first && end <= wanted.second, "the state holds the window's values only");
      for (; end < wanted.second; ++end) {
        TROUPE_TRY(made_.step(stepsOfAdding(inputs[end].element())));
        TROUPE_TRY(state->add(inputs[end].element()));
        TROUPE_TRY(made_.fits(2 * static_cast<int64_t>(state->memory())));  // its values, and the result made of them
      }
      TROUPE_ASSIGN(auto value, state->result());
      if (isUndefinedDeviation(value)) value = nullValue();
      TROUPE_TRY(made_.step(stepsFor(value.valueBytes().size())));
      TROUPE_TRY(made_.add(value.element()));
      result.push_back(std::move(value));
    }
    TROUPE_TRY(made_.add(before - withInputs));
    return result;
  }

  /// Of a window that moves on at its lower end, the standard deviation of infinities is null; else it is no number.
  bool isUndefinedDeviation(const Value& value) const {
    const Window& window = output_.window;
    const bool moves = window.range ? window.from.has_value() : window.low != -kUnbounded;
    return moves && output_.function.starts_with("$stdDev") && value.type() == Type::kDouble &&
           std::isnan(value.element().asDouble());
  }

  const Partition& partition_;
  const WindowedField& output_;
  MadeMemory& made_;
  Variables variables_;
};

class WindowStage final : public Stage {
 public:
  WindowStage(Document shown, ExpressionPtr partitionBy, std::optional<SortPattern> sort,
              std::vector<WindowedField> outputs, const PipelineContext& context)
      : shown_(std::move(shown)),
        outputs_(std::move(outputs)),
        held_("$setWindowFields", std::move(partitionBy), std::move(sort), context),
        made_(context.parse->work) {}

  StatusWith<Next> next() override {
    while (!consumed_) {
      auto in = pull();
      if (!in.isOK() || in->kind == Next::Kind::kYield) return in;
      if (in->isEnd()) TROUPE_TRY(compute());
      else TROUPE_TRY(hold(in->document));
    }
    if (at_ == results_.size()) return Next::end();
    current_ = std::move(results_[at_++]);
    return Next::of(current_.view());
  }
  std::string_view name() const override { return "$setWindowFields"; }
  void serialize(bson::Builder& stages) const override { stages.push(shown_); }
  StageTraits traits() const override { return {.blocking = true}; }

 private:
  Status hold(bson::View document) {
    TROUPE_TRY(held_.add(document));
    if (held_.rows().back().partition.type() == Type::kArray)
      return {ErrorCode::kTypeMismatch, "An expression used to partition cannot evaluate to value of type array"};
    return Status::OK();
  }
  /// Windows reach back and forth, so that a partition has to be in memory as a whole; results come only after the last
  /// input.
  Status compute() {
    consumed_ = true;
    TROUPE_TRY(held_.sort());
    auto& rows = held_.rows();
    for (size_t first = 0; first < rows.size();) {
      TROUPE_ASSIGN(const size_t end, held_.endOfPartition(first));
      Partition partition;
      for (; first < end; ++first) {
        TROUPE_TRY(made_.step());
        partition.sortKeys.push_back(std::move(rows[first].sortKey));
        partition.documents.push_back(std::move(rows[first].document));
      }
      TROUPE_TRY(findSortValues(partition));
      TROUPE_TRY(addOutputs(partition));
    }
    rows.clear();
    return Status::OK();
  }
  Status findSortValues(Partition& partition) {
    const auto looks = [](const WindowedField& output) { return output.window.range || output.series; };
    if (!held_.order() || std::ranges::none_of(outputs_, looks)) return Status::OK();
    for (const Document& document : partition.documents) {
      TROUPE_TRY(made_.step(stepsFor(static_cast<size_t>(document.view().size()))));
      partition.sortValues.push_back(held_.sortValue(document));
    }
    return Status::OK();
  }
  Status addOutputs(const Partition& partition) {
    std::vector<std::vector<Value>> columns;
    const int64_t before = made_.bytes();
    for (const WindowedField& output : outputs_) {
      TROUPE_ASSIGN(auto column, WindowEvaluator(partition, output, made_).run());
      columns.push_back(std::move(column));
    }
    size_t row = 0;
    int64_t made = 0;
    ProjectionTree tree(ProjectionTree::Mode::kAdd, made_.work());
    for (size_t i = 0; i < outputs_.size(); ++i)
      TROUPE_TRY(tree.compute(outputs_[i].path,
                              [&columns, &row, i](bson::View) -> StatusWith<Value> { return columns[i][row]; }));
    for (; row < partition.documents.size(); ++row) {
      TROUPE_ASSIGN(auto document, tree.apply(partition.documents[row]));
      TROUPE_TRY(made_.step());
      TROUPE_TRY(made_.fits(made += heldBytes(document.view())));
      results_.push_back(std::move(document));
    }
    return made_.add(made - (made_.bytes() - before));  // the columns go
  }

  Document shown_;
  std::vector<WindowedField> outputs_;
  PartitionedRows held_;
  MadeMemory made_;
  std::vector<Document> results_;
  bool consumed_ = false;
  size_t at_ = 0;
  Document current_;
};

Status parseBounds(const Element& e, Window& window) {
  if (!e.is(Type::kArray) || e.asArray().count() != 2)
    return {ErrorCode::kFailedToParse, "Window bounds must be a 2-element array: " + show(e)};
  const Element ends[2] = {*e.asArray().begin(), *++e.asArray().begin()};
  for (int i = 0; i < 2; ++i) {
    const bool lower = i == 0;
    if (ends[i].toStringOr() == "unbounded") continue;
    const bool current = ends[i].toStringOr() == "current";
    if (!current && !ends[i].isNumber())
      return {ErrorCode::kFailedToParse, "Window bounds must be 'unbounded', 'current', or a number: " + show(ends[i])};
    if (window.range) {
      (lower ? window.from : window.to) = current ? int32(0) : Value(ends[i]);
      continue;
    }
    const auto v = current ? std::optional<int64_t>(0) : exactInt64(ends[i]);
    if (!v) return {ErrorCode::kFailedToParse, "Numeric document-based bounds must be an integer"};
    (lower ? window.low : window.high) = *v;
  }
  const bool crossed = !window.range ? window.low > window.high
                       : window.from && window.to
                           ? bson::compareValues(window.from->element(), window.to->element()) > 0
                           : false;
  if (crossed) return {ErrorCode(5339900), "Lower bound must not exceed upper bound: " + show(e)};
  return Status::OK();
}

/// `sort`: the stage's sortBy, or null.
Status parseWindow(const Element& e, Window& window, const SortPattern* sort) {
  if (!e.is(Type::kDocument)) return {ErrorCode::kFailedToParse, "'window' field must be an object"};
  Element bounds;
  for (const Element& field : e.asDocument()) {
    if (field.name() == "documents" || field.name() == "range") {
      if (bounds) return {ErrorCode::kFailedToParse, "'window' field can specify only one of 'documents' or 'range'"};
      bounds = field;
      window.range = field.name() == "range";
    } else if (field.name() == "unit") {
      if (!field.is(Type::kString))
        return {ErrorCode::kFailedToParse, "'window' field: 'unit' must be a string, found " + typeOf(field)};
      TROUPE_ASSIGN(window.unit, unitOf(field, "window"));
    } else {
      return {ErrorCode::kFailedToParse, "'window' field contains an unknown argument: " + std::string(field.name())};
    }
  }
  if (window.unit && !window.range)
    return {ErrorCode::kFailedToParse, "'window' field: 'unit' can only be specified with 'range' bounds"};
  if (!bounds) return Status::OK();
  if (window.range && (!sort || sort->parts().size() != 1))
    return {ErrorCode(5339902), "Range-based bounds require sortBy a single field"};
  if (window.range && !sort->parts().front().ascending)
    return {ErrorCode(8947401), "Range-based bounds require an ascending sortBy"};
  TROUPE_TRY(parseBounds(bounds, window));
  if (!sort && (window.low != -kUnbounded || window.high != kUnbounded))
    return {ErrorCode(5339901), "Document-based bounds require a sortBy, unless both are 'unbounded'"};
  return Status::OK();
}

Status parseShift(const Element& e, WindowedField& output, const ParseContext& context) {
  if (!e.is(Type::kDocument)) return {ErrorCode::kFailedToParse, "Argument to $shift must be an object"};
  for (const Element& field : e.asDocument()) {
    if (field.name() == "output") {
      TROUPE_ASSIGN(output.shifted, parseExpression(field, context));
    } else if (field.name() == "default") {
      TROUPE_ASSIGN(output.fallback, parseExpression(field, context));
    } else if (field.name() == "by" && exactInt32(field)) output.by = *exactInt32(field);
    else return {ErrorCode::kFailedToParse, "Unknown or invalid argument in $shift: " + std::string(field.name())};
  }
  if (!output.shifted || !e.asDocument().has("by"))
    return {ErrorCode::kFailedToParse, "$shift requires 'output' and 'by'."};
  return Status::OK();
}

StatusWith<WindowedField> parseOutput(const Element& e, const SortPattern* sort, const ParseContext& context) {
  WindowedField output;
  output.path = e.name();
  if (!e.is(Type::kDocument))
    return Status(ErrorCode::kFailedToParse, "The field '" + output.path + "' must be an object");
  bson::Builder function;
  for (const Element& field : e.asDocument()) {
    if (field.name() == "window") TROUPE_TRY(parseWindow(field, output.window, sort));
    else if (field.name().starts_with('$') && output.function.empty()) {
      output.function = field.name();
      function.append(field);
    } else
      return Status(ErrorCode::kFailedToParse,
                    "Window function found an unknown argument: " + std::string(field.name()));
  }
  if (output.function.empty())
    return Status(ErrorCode::kFailedToParse, "Expected a $-prefixed window function, " + output.path);
  const Document only = function.finish();
  const bool ranks =
      output.function == "$rank" || output.function == "$denseRank" || output.function == "$documentNumber";
  if (ranks || output.function == "$shift") {
    const bool single = output.function == "$rank" || output.function == "$denseRank";
    if (!sort || (single && sort->parts().size() != 1))
      return Status(ErrorCode(5371602),
                    output.function + " must be specified with a top level sortBy expression with exactly one element");
    if (e.asDocument().has("window"))
      return Status(ErrorCode(5371601), "Rank style window functions take no other arguments");
    if (!ranks) TROUPE_TRY(parseShift(only.view().first(), output, context));
    return output;
  }
  if (output.function == "$locf") {  // the last value that was neither null nor missing
    if (!sort) return Status(ErrorCode::kFailedToParse, "$locf must be specified with a sortBy");
    if (e.asDocument().has("window")) return Status(ErrorCode::kFailedToParse, "$locf takes no window");
    TROUPE_ASSIGN(output.shifted, parseExpression(only.view().first(), context));
    return output;
  }
  if (isSeriesFunction(output.function)) {
    TROUPE_ASSIGN(output.series, parseSeriesFunction(only.view().first(), e.asDocument().has("window"), sort, context));
    return output;
  }
  const Document holder = bson::doc("x", only);
  auto spec = parseAccumulator(holder["x"], context, AccumulatorUse::kWindow);
  if (!spec.isOK()) {
    if (static_cast<int>(spec.status().code()) == 15952)
      return Status(ErrorCode::kFailedToParse, "Unrecognized window function, " + output.function);
    return spec.status();
  }
  output.spec = std::move(*spec);
  return output;
}

Status parseSetWindowFields(const Element& e, StageParser& parser) {
  if (!e.is(Type::kDocument))
    return {ErrorCode::kFailedToParse,
            "the $setWindowFields stage specification must be an object, found " + typeOf(e)};
  ExpressionPtr partitionBy;
  std::optional<SortPattern> sort;
  const Element sortBy = e.asDocument()["sortBy"];
  std::vector<WindowedField> outputs;
  if (sortBy.is(Type::kDocument)) {
    TROUPE_ASSIGN(sort, SortPattern::parse(sortBy.asDocument(), parser.parse()));
  }
  const Element output = e.asDocument()["output"];
  if (output.isNullish())
    return {ErrorCode(40414), "BSON field '$setWindowFields.output' is missing but a required field"};
  if (!output.is(Type::kDocument))
    return {ErrorCode::kTypeMismatch,
            "BSON field '$setWindowFields.output' is the wrong type '" + typeOf(output) + "', expected type 'object'"};
  for (const Element& field : e.asDocument()) {
    if (field.name() == "sortBy") continue;
    if (field.name() == "partitionBy") {
      TROUPE_ASSIGN(partitionBy, parseExpression(field, parser.parse()));
    } else if (field.name() == "output") {
      for (const Element& named : field.asDocument()) {
        TROUPE_ASSIGN(auto parsed, parseOutput(named, sort ? &*sort : nullptr, parser.parse()));
        outputs.push_back(std::move(parsed));
      }
    } else {
      return {ErrorCode(40415), "BSON field '$setWindowFields." + std::string(field.name()) + "' is an unknown field."};
    }
  }
  bson::Builder shown;
  shown.append("$setWindowFields", e);
  parser.add(std::make_unique<WindowStage>(shown.finish(), std::move(partitionBy), std::move(sort), std::move(outputs),
                                           parser.context));
  return Status::OK();
}

constexpr StageRow kWindowFieldsStages[] = {{"$setWindowFields", parseSetWindowFields}};

}  // namespace

std::span<const StageRow> windowStages() { return kWindowFieldsStages; }

}  // namespace troupe::query
