#include "storage/query/expression/accumulator.hpp"

#include <algorithm>
#include <optional>

#include "storage/query/expression/accumulators.hpp"
#include "storage/query/expression/node.hpp"
#include "storage/query/expression/percentile.hpp"
#include "storage/query/parse_context.hpp"
#include "storage/query/sort/sort_pattern.hpp"

namespace troupe::query {

using bson::Element;
using bson::Type;
using bson::Value;

namespace {

/// An accumulator of one expression.
class PlainSpec final : public AccumulatorSpec {
 public:
  PlainSpec(std::string_view name, ExpressionPtr argument, const ParseContext& context)
      : name_(name), argument_(std::move(argument)), collator_(context.collator), work_(context.work) {}
  std::string_view name() const override { return name_; }
  StatusWith<Operand> evaluate(Variables& variables) const override { return argument_->evaluate(variables); }
  std::unique_ptr<Accumulator> make() const override { return makeAccumulator(name_, collator_, work_); }
  void addDependencies(Dependencies& dependencies) const override { argument_->addDependencies(dependencies); }
  void serialize(std::string_view field, bson::Builder& out) const override {
    out.openDocument(field);
    if (name_ == "$count") out.openDocument(name_).close();
    else argument_->serialize(name_, out);
    out.close();
  }

 private:
  std::string name_;
  ExpressionPtr argument_;
  const bson::Collator* collator_;
  QueryWork* work_;
};

/// $firstN, $lastN, $minN, $maxN: `{n, input}`.
class SeveralSpec final : public AccumulatorSpec {
 public:
  SeveralSpec(std::string_view name, size_t n, ExpressionPtr input, const bson::Collator* collator)
      : name_(name), n_(n), input_(std::move(input)), collator_(collator) {}
  std::string_view name() const override { return name_; }
  StatusWith<Operand> evaluate(Variables& variables) const override { return input_->evaluate(variables); }
  std::unique_ptr<Accumulator> make() const override {
    if (name_ == "$minN" || name_ == "$maxN")
      return std::make_unique<ExtremesAccumulator>(name_ == "$maxN", n_, collator_);
    return std::make_unique<OutermostAccumulator>(name_ == "$lastN", n_);
  }
  void addDependencies(Dependencies& dependencies) const override { input_->addDependencies(dependencies); }
  void serialize(std::string_view field, bson::Builder& out) const override {
    out.openDocument(field).openDocument(name_).append("n", static_cast<int64_t>(n_));
    input_->serialize("input", out);
    out.close().close();
  }

 private:
  std::string name_;
  size_t n_;
  ExpressionPtr input_;
  const bson::Collator* collator_;
};

/// The state of $top, $topN, $bottom, $bottomN: contributions are `{k: sort key, v: output}`.
class TopAccumulator final : public Accumulator {
 public:
  TopAccumulator(const SortPattern& sort, size_t n, bool bottom, bool single)
      : n_(n), bottom_(bottom), single_(single), items_(Less{sort}) {}
  Status add(const Element& value) override {
    const auto at = items_.upper_bound(value);
    if (items_.size() == n_ && (bottom_ ? at == items_.begin() : at == items_.end())) return Status::OK();
    bytes_ += value.valueSize() + kBytesPerItem;
    items_.emplace_hint(at, value);
    if (items_.size() <= n_) return Status::OK();
    const auto worst = bottom_ ? items_.begin() : std::prev(items_.end());
    bytes_ -= worst->valueBytes().size() + kBytesPerItem;
    items_.erase(worst);
    return Status::OK();
  }
  StatusWith<Value> result() const override {
    const auto output = [](const Value& item) { return item.element().asDocument()["v"]; };
    if (single_) return items_.empty() ? nullValue() : Value(output(*items_.begin()));
    bson::Builder out;
    for (const Value& item : items_) out.push(output(item));
    return out.finishArray();
  }
  size_t memory() const override { return bytes_; }

 private:
  struct Less {
    using is_transparent = void;
    const SortPattern& sort;
    static bson::View key(const Element& e) { return e.asDocument()["k"].asDocument(); }
    static bson::View key(const Value& v) { return key(v.element()); }
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return sort.compareKeyValues(key(a), key(b)) < 0;
    }
  };
  size_t n_;
  bool bottom_, single_;
  std::multiset<Value, Less> items_;
  size_t bytes_ = 0;
};

class TopSpec final : public AccumulatorSpec {
 public:
  TopSpec(std::string_view name, SortPattern sort, ExpressionPtr output, size_t n)
      : name_(name), sort_(std::move(sort)), output_(std::move(output)), n_(n) {}
  std::string_view name() const override { return name_; }
  StatusWith<Operand> evaluate(Variables& variables) const override {
    TROUPE_ASSIGN(const bson::Document key, sort_.keyValues(variables.root()));
    TROUPE_ASSIGN(const Operand value, output_->evaluate(variables));
    bson::Builder out;
    out.append("k", key);
    if (value.ok()) out.append("v", value.element());
    else out.append("v", bson::Null{});
    return Operand(document(out.finish()));
  }
  std::unique_ptr<Accumulator> make() const override {
    return std::make_unique<TopAccumulator>(sort_, n_, name_.starts_with("$bottom"), !name_.ends_with('N'));
  }
  void addDependencies(Dependencies& dependencies) const override {
    for (const auto& part : sort_.parts()) dependencies.paths.insert(std::string(part.path.text()));
    output_->addDependencies(dependencies);
  }
  void serialize(std::string_view field, bson::Builder& out) const override {
    out.openDocument(field).openDocument(name_).append("sortBy", sort_.toBson());
    output_->serialize("output", out);
    if (name_.ends_with('N')) out.append("n", static_cast<int64_t>(n_));
    out.close().close();
  }

 private:
  std::string name_;
  SortPattern sort_;
  ExpressionPtr output_;
  size_t n_;
};

StatusWith<size_t> parseN(const Element& e, const ParseContext& context, AccumulatorUse use) {
  TROUPE_ASSIGN(const auto expression, parseExpression(e, context));
  const Operand* known = expression->constant();
  if (!known) return Status(ErrorCode::kFailedToParse, "'n' must be a constant");
  const auto n = exactInt64(known->element());
  if (use == AccumulatorUse::kGroup && (!n || *n <= 0))  // its own engine, its own code
    return Status(ErrorCode(7548606),
                  "parameter 'n' must be coercible to a positive 64-bit integer, found " + show(known->element()));
  if (!n)
    return Status(ErrorCode(5787902), "Value for 'n' must be of integral type, but found " + show(known->element()));
  if (*n <= 0) return Status(ErrorCode(5787908), "'n' must be greater than 0, found " + std::to_string(*n));
  return static_cast<size_t>(*n);
}

using Parsed = StatusWith<std::unique_ptr<AccumulatorSpec>>;

Parsed parseTop(const Element& e, const ParseContext& context, AccumulatorUse use) {
  const std::string name(e.name());
  const bool several = name.ends_with('N');
  if (!e.is(Type::kDocument))
    return Status(ErrorCode(5788001), "specification must be an object; found " + name + ": " + show(e));
  Element sortBy, output, n;
  for (const Element& field : e.asDocument()) {
    if (field.name() == "sortBy") sortBy = field;
    else if (field.name() == "output") output = field;
    else if (several && field.name() == "n") n = field;
    else return Status(ErrorCode(5788002), "Unknown argument to " + name + " '" + std::string(field.name()) + "'");
  }
  if (several && !n) return Status(ErrorCode(5788003), "Missing value for 'n'");
  if (!output) return Status(ErrorCode(5788004), "Missing value for 'output'");
  if (!sortBy || !sortBy.is(Type::kDocument)) return Status(ErrorCode(5788005), "Missing value for 'sortBy'");
  TROUPE_ASSIGN(auto sort, SortPattern::parse(sortBy.asDocument(), context));
  TROUPE_ASSIGN(auto expression, parseExpression(output, context));
  size_t count = 1;
  if (several) {
    TROUPE_ASSIGN(count, parseN(n, context, use));
  }
  return std::unique_ptr<AccumulatorSpec>(
      std::make_unique<TopSpec>(name, std::move(sort), std::move(expression), count));
}

Parsed parseSeveral(const Element& e, const ParseContext& context, AccumulatorUse use) {
  const std::string name(e.name());
  if (!e.is(Type::kDocument))
    return Status(ErrorCode(5787900), "specification must be an object; found " + name + ": " + show(e));
  Element input, n;
  for (const Element& field : e.asDocument()) {
    if (field.name() == "input") input = field;
    else if (field.name() == "n") n = field;
    else return Status(ErrorCode(5787901), "Unknown argument for 'n' operator: " + std::string(field.name()));
  }
  if (!input) return Status(ErrorCode(5787907), "Missing value for 'input'");
  if (!n) return Status(ErrorCode(5787906), "Missing value for 'n'");
  TROUPE_ASSIGN(const size_t count, parseN(n, context, use));
  TROUPE_ASSIGN(auto expression, parseExpression(input, context));
  return std::unique_ptr<AccumulatorSpec>(
      std::make_unique<SeveralSpec>(name, count, std::move(expression), context.collator));
}

}  // namespace

Parsed parseAccumulator(const Element& field, const ParseContext& context, AccumulatorUse use) {
  const std::string name(field.name());
  if (!field.is(Type::kDocument))
    return Status(ErrorCode(40234), "The field '" + name + "' must be an accumulator object");
  if (name.find('.') != std::string::npos)
    return Status(ErrorCode(40235), "The field name '" + name + "' cannot contain '.'");
  if (name.starts_with('$'))
    return Status(ErrorCode(40236), "The field name '" + name + "' cannot be an operator name");
  const bson::View spec = field.asDocument();
  if (spec.count() != 1) return Status(ErrorCode(40238), "The field '" + name + "' must specify one accumulator");
  const Element op = spec.first();
  const auto is = [&op](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), op.name()) != names.end();
  };
  if (is({"$top", "$topN", "$bottom", "$bottomN"})) return parseTop(op, context, use);
  if (is({"$firstN", "$lastN", "$minN", "$maxN"})) return parseSeveral(op, context, use);
  if (is({"$percentile", "$median"})) return parsePercentileAccumulator(op, context);
  if (op.name() == "$count") {
    if (!op.is(Type::kDocument) || !op.asDocument().empty())
      return Status(ErrorCode::kTypeMismatch, "$count takes no arguments, i.e. $count:{}");
    return std::unique_ptr<AccumulatorSpec>(std::make_unique<PlainSpec>("$count", makeConstant(Operand()), context));
  }
  const bool window = use == AccumulatorUse::kWindow;
  if (!makeAccumulator(op.name(), nullptr, nullptr) || (!window && op.name().starts_with("$covariance")))
    return Status(ErrorCode(15952), "unknown group operator '" + std::string(op.name()) + "'");
  if (op.is(Type::kArray) && !window)
    return Status(ErrorCode(40237), "The " + std::string(op.name()) + " accumulator is a unary operator");
  TROUPE_ASSIGN(auto argument, parseExpression(op, context));
  return std::unique_ptr<AccumulatorSpec>(std::make_unique<PlainSpec>(op.name(), std::move(argument), context));
}

}  // namespace troupe::query
