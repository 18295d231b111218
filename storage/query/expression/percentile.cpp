#include "storage/query/expression/percentile.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "messaging/bson/numeric.hpp"
#include "storage/query/expression/node.hpp"
#include "storage/query/interruptible_sort.hpp"

namespace troupe::query {

using bson::Element;
using bson::Type;
using bson::Value;

namespace {

Status checkMethod(const std::string& name, const Element& method) {
  if (!method.is(Type::kString))
    return {ErrorCode::kTypeMismatch,
            "BSON field '" + name + ".method' is the wrong type '" + typeOf(method) + "', expected type 'string'"};
  if (method.asString() == "approximate") return Status::OK();
  return {ErrorCode::kBadValue, name + "'s method must be 'approximate', found: " + show(method)};
}

StatusWith<std::vector<double>> parseFractions(const Element& p, const ParseContext& context) {
  TROUPE_ASSIGN(const auto expression, parseExpression(p, context));
  const Operand* known = expression->constant();
  const Status wrong(ErrorCode(7750301),
                     "$percentile's 'p' must be an array of numbers that is constant and not empty");
  if (!known || !known->element().is(Type::kArray) || known->element().asArray().empty()) return wrong;
  std::vector<double> fractions;
  for (const Element& e : known->element().asArray()) {
    if (!e.isNumber()) return wrong;
    const double fraction = e.is(Type::kDecimal128) ? bson::toDoubleLossy(e.asDecimal()) : e.toDouble();
    if (!(fraction >= 0 && fraction <= 1))
      return Status(ErrorCode(7750303), "$percentile's 'p' must hold numbers from 0 to 1, found: " + show(e));
    fractions.push_back(fraction);
  }
  return fractions;
}

void serializeRequest(std::string_view name, const PercentileRequest& request, bson::Builder& out) {
  out.openDocument(name);
  request.input->serialize("input", out);
  if (!request.median) {
    out.openArray("p");
    for (const double fraction : request.fractions) out.push(fraction);
    out.close();
  }
  out.append("method", "approximate").close();
}

class PercentileSpec final : public AccumulatorSpec {
 public:
  PercentileSpec(PercentileRequest request, QueryWork* work) : request_(std::move(request)), work_(work) {}
  std::string_view name() const override { return request_.median ? "$median" : "$percentile"; }
  StatusWith<Operand> evaluate(Variables& variables) const override { return request_.input->evaluate(variables); }
  std::unique_ptr<Accumulator> make() const override {
    return std::make_unique<PercentileAccumulator>(request_, work_);
  }
  void addDependencies(Dependencies& dependencies) const override { request_.input->addDependencies(dependencies); }
  void serialize(std::string_view field, bson::Builder& out) const override {
    out.openDocument(field);
    serializeRequest(name(), request_, out);
    out.close();
  }

 private:
  PercentileRequest request_;
  QueryWork* work_;
};

/// As an expression: over the numbers of an array, or over one number.
class PercentileExpression final : public Expression {
 public:
  explicit PercentileExpression(PercentileRequest request) : request_(std::move(request)) {}
  StatusWith<Operand> evaluate(Variables& variables) const override {
    TROUPE_ASSIGN(const Operand input, request_.input->evaluate(variables));
    const Element e = input.element();
    TROUPE_TRY(variables.step(stepsFor(e.valueSize())));
    Growth growth(variables.work());
    TROUPE_TRY(growth.reserve(e.valueSize()));
    PercentileAccumulator state(request_, variables.work());
    if (e.is(Type::kArray)) {
      for (const Element& item : e.asArray()) TROUPE_TRY(state.add(item));
    } else {
      TROUPE_TRY(state.add(e));
    }
    TROUPE_ASSIGN(auto result, state.result());
    return variables.own(std::move(result));
  }
  void addDependencies(Dependencies& dependencies) const override { request_.input->addDependencies(dependencies); }
  void serialize(std::string_view name, bson::Builder& out) const override {
    out.openDocument(name);
    serializeRequest(request_.median ? "$median" : "$percentile", request_, out);
    out.close();
  }

 private:
  PercentileRequest request_;
};

StatusWith<ExpressionPtr> parsePercentileExpression(Parser& parser, const Element& e, const Operator&) {
  TROUPE_ASSIGN(auto request, parsePercentile(e, parser.context));
  TROUPE_ASSIGN(request.input, parser.parse(e.asDocument()["input"]));  // which knows the variables in scope
  return ExpressionPtr(std::make_unique<PercentileExpression>(std::move(request)));
}

constexpr Operator kPercentileOperators[] = {{.name = "$percentile", .parse = parsePercentileExpression},
                                             {.name = "$median", .parse = parsePercentileExpression}};

}  // namespace

StatusWith<PercentileRequest> parsePercentile(const Element& e, const ParseContext& context) {
  const std::string name(e.name());
  PercentileRequest request;
  request.median = name == "$median";
  if (!e.is(Type::kDocument))
    return Status(ErrorCode(7429703), name + " specification must be an object; found " + show(e));
  Element input, p, method;
  for (const Element& field : e.asDocument()) {
    if (field.name() == "input") input = field;
    else if (field.name() == "method") method = field;
    else if (field.name() == "p" && !request.median) p = field;
    else
      return Status(ErrorCode(40415),
                    "BSON field '" + name + "." + std::string(field.name()) + "' is an unknown field.");
  }
  const auto missing = [&name](const char* field) {
    return Status(ErrorCode(40414), "BSON field '" + name + "." + field + "' is missing but a required field");
  };
  if (!input) return missing("input");
  if (!method) return missing("method");
  if (!p && !request.median) return missing("p");
  TROUPE_TRY(checkMethod(name, method));
  if (request.median) request.fractions = {0.5};
  else {
    TROUPE_ASSIGN(request.fractions, parseFractions(p, context));
  }
  return request;
}

StatusWith<std::unique_ptr<AccumulatorSpec>> parsePercentileAccumulator(const Element& e, const ParseContext& context) {
  TROUPE_ASSIGN(auto request, parsePercentile(e, context));
  TROUPE_ASSIGN(request.input, parseExpression(e.asDocument()["input"], context));
  return std::unique_ptr<AccumulatorSpec>(std::make_unique<PercentileSpec>(std::move(request), context.work));
}

Status PercentileAccumulator::add(const Element& value) {
  if (!value.isNumber()) return Status::OK();
  const double v = value.is(Type::kDecimal128) ? bson::toDoubleLossy(value.asDecimal()) : value.toDouble();
  if (!std::isnan(v)) values_.push_back(v);
  return Status::OK();
}

StatusWith<Value> PercentileAccumulator::result() const {
  Growth copied(work_);  // values_ counts for memory(), its copy and what the sort moves it through do not
  TROUPE_TRY(copied.reserve(values_.size() * sizeof(double)));
  std::vector<double> sorted = values_;
  TROUPE_TRY(sortStably(sorted, work_, std::less<>{}));
  const auto at = [&sorted](double fraction) {
    if (sorted.empty()) return nullValue();
    const double rank = std::ceil(fraction * static_cast<double>(sorted.size()));
    return real(sorted[static_cast<size_t>(std::max(rank, 1.0)) - 1]);
  };
  if (request_.median) return at(0.5);
  bson::Builder out;
  Growth growth(work_);
  for (const double fraction : request_.fractions) {
    out.push(at(fraction));
    TROUPE_TRY(growth.to(out.size()));
  }
  return out.finishArray();
}

std::span<const Operator> percentileOperators() { return kPercentileOperators; }

}  // namespace troupe::query
