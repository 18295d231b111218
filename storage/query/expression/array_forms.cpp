#include "storage/query/expression/node.hpp"

// $let, $map, $filter, $reduce: forms that bind variables.
namespace troupe::query {

using bson::Element;
using bson::Type;
using Result = StatusWith<Operand>;

namespace {

Status missingParameter(const char* name, const Operator& op, int code) {
  return {ErrorCode(code), std::string("Missing '") + name + "' parameter to " + std::string(op.name)};
}
Status unknownParameter(const Element& field, const Operator& op, int code) {
  return {ErrorCode(code), "Unrecognized parameter to " + std::string(op.name) + ": " + std::string(field.name())};
}
Status objectOnly(const Operator& op, int code) {
  return {ErrorCode(code), std::string(op.name) + " only supports an object as its argument"};
}

class Let final : public CompoundExpression {
 public:
  Let(std::vector<std::pair<std::string, size_t>> names, std::vector<ExpressionPtr> valuesThenBody)
      : names_(std::move(names)) {
    children_ = std::move(valuesThenBody);
  }
  Result evaluate(Variables& variables) const override {
    for (size_t i = 0; i < names_.size(); ++i) {
      TROUPE_ASSIGN(Operand value, children_[i]->evaluate(variables));
      variables.bind(names_[i].second, std::move(value));
    }
    return children_.back()->evaluate(variables);
  }
  void serialize(std::string_view name, bson::Builder& out) const override {
    out.openDocument(name).openDocument("$let").openDocument("vars");
    for (size_t i = 0; i < names_.size(); ++i) children_[i]->serialize(names_[i].first, out);
    out.close();
    children_.back()->serialize("in", out);
    out.close().close();
  }

 private:
  std::vector<std::pair<std::string, size_t>> names_;
};

StatusWith<ExpressionPtr> parseLet(Parser& parser, const Element& e, const Operator& op) {
  if (!e.is(Type::kDocument)) return objectOnly(op, 16874);
  Element vars, body;
  for (const Element& field : e.asDocument()) {
    if (field.name() == "vars") vars = field;
    else if (field.name() == "in") body = field;
    else return unknownParameter(field, op, 16875);
  }
  if (!vars) return missingParameter("vars", op, 16876);
  if (!body) return missingParameter("in", op, 16877);
  if (!vars.is(Type::kDocument)) return Status(ErrorCode(10065), "invalid parameter: expected an object (vars)");
  std::vector<std::pair<std::string, size_t>> names;
  std::vector<ExpressionPtr> parts;
  for (const Element& var : vars.asDocument()) {
    TROUPE_TRY(checkVariableName(var.name()));
    TROUPE_ASSIGN(auto value, parser.parse(var));
    parts.push_back(std::move(value));
  }
  for (const Element& var : vars.asDocument()) names.emplace_back(var.name(), parser.enter(std::string(var.name())));
  auto in = parser.parse(body);
  parser.leave(names.size());
  if (!in.isOK()) return in.status();
  parts.push_back(std::move(*in));
  return ExpressionPtr(std::make_unique<Let>(std::move(names), std::move(parts)));
}

/// $map and $filter: `input`, a body over each item, and for $filter a `limit`.
class Each final : public CompoundExpression {
 public:
  Each(bool filters, std::string as, size_t slot, ExpressionPtr input, ExpressionPtr body, ExpressionPtr limit)
      : filters_(filters), as_(std::move(as)), slot_(slot) {
    children_.push_back(std::move(input));
    children_.push_back(std::move(body));
    children_.push_back(std::move(limit));
  }
  Result evaluate(Variables& variables) const override {
    TROUPE_ASSIGN(const Operand input, children_[0]->evaluate(variables));
    if (input.nullish()) return Operand(nullValue());
    const Element array = input.element();
    if (!array.is(Type::kArray))
      return Status(ErrorCode(filters_ ? 28651 : 16883),
                    std::string("input to ") + name() + " must be an array not " + typeOf(array));
    TROUPE_ASSIGN(int32_t left, limit(variables));
    bson::Builder out;
    Growth growth(variables.work());
    for (const Element& item : array.asArray()) {
      if (left == 0) break;
      variables.bind(slot_, item);
      TROUPE_ASSIGN(const Operand value, children_[1]->evaluate(variables));
      if (!filters_) {
        const Element result = value.element();
        TROUPE_TRY(growth.to(out.size() + result.valueSize()));
        if (result.ok()) out.push(result);
        else out.push(bson::Null{});
        continue;
      }
      TROUPE_TRY(growth.to(out.size() + item.valueSize()));
      if (isTrue(value)) {
        out.push(item);
        --left;
      }
    }
    return variables.own(out.finishArray());
  }
  void serialize(std::string_view name_, bson::Builder& out) const override {
    out.openDocument(name_).openDocument(name());
    children_[0]->serialize("input", out);
    out.append("as", as_);
    children_[1]->serialize(filters_ ? "cond" : "in", out);
    if (children_[2]) children_[2]->serialize("limit", out);
    out.close().close();
  }

 private:
  const char* name() const { return filters_ ? "$filter" : "$map"; }
  StatusWith<int32_t> limit(Variables& variables) const {
    if (!children_[2]) return -1;
    TROUPE_ASSIGN(const Operand given, children_[2]->evaluate(variables));
    if (given.nullish()) return -1;
    const auto v = exactInt32(given.element());
    if (!v)
      return Status(ErrorCode(327391),
                    "$filter: limit must be represented as a 32-bit integral value: " + show(given.element()));
    if (*v <= 0) return Status(ErrorCode(327392), "$filter: limit must be greater than 0: " + std::to_string(*v));
    return *v;
  }
  bool filters_;
  std::string as_;
  size_t slot_;
};

StatusWith<ExpressionPtr> parseEach(Parser& parser, const Element& e, const Operator& op) {
  const bool filters = op.name == "$filter";
  if (!e.is(Type::kDocument)) return objectOnly(op, filters ? 28646 : 16878);
  Element input, body, limit;
  std::string as = "this";
  for (const Element& field : e.asDocument()) {
    const auto name = field.name();
    if (name == "input") input = field;
    else if (name == (filters ? "cond" : "in")) body = field;
    else if (name == "as") as = field.toStringOr();
    else if (filters && name == "limit") limit = field;
    else return unknownParameter(field, op, filters ? 28647 : 16879);
  }
  if (!input) return missingParameter("input", op, filters ? 28648 : 16880);
  if (!body) return missingParameter(filters ? "cond" : "in", op, filters ? 28650 : 16882);
  TROUPE_TRY(checkVariableName(as));
  TROUPE_ASSIGN(auto inputExpression, parser.parse(input));
  ExpressionPtr limitExpression;
  if (limit) {
    TROUPE_ASSIGN(limitExpression, parser.parse(limit));
  }
  const size_t slot = parser.enter(as);
  auto bodyExpression = parser.parse(body);
  parser.leave();
  if (!bodyExpression.isOK()) return bodyExpression.status();
  return ExpressionPtr(std::make_unique<Each>(filters, std::move(as), slot, std::move(inputExpression),
                                              std::move(*bodyExpression), std::move(limitExpression)));
}

class Reduce final : public CompoundExpression {
 public:
  Reduce(size_t thisSlot, size_t valueSlot, ExpressionPtr input, ExpressionPtr initial, ExpressionPtr body)
      : this_(thisSlot), value_(valueSlot) {
    children_.push_back(std::move(input));
    children_.push_back(std::move(initial));
    children_.push_back(std::move(body));
  }
  Result evaluate(Variables& variables) const override {
    TROUPE_ASSIGN(const Operand input, children_[0]->evaluate(variables));
    if (input.nullish()) return Operand(nullValue());
    const Element array = input.element();
    if (!array.is(Type::kArray))
      return Status(ErrorCode(40080), "$reduce requires that 'input' be an array, found: " + show(array));
    TROUPE_ASSIGN(Operand initial, children_[1]->evaluate(variables));
    TROUPE_ASSIGN(Operand accumulated, owned(std::move(initial), variables));
    for (const Element& item : array.asArray()) {
      TROUPE_TRY(variables.step());
      variables.bind(this_, item);
      variables.bind(value_, accumulated.element());
      TROUPE_ASSIGN(Operand next, children_[2]->evaluate(variables));
      TROUPE_ASSIGN(accumulated, owned(std::move(next), variables));
    }
    return accumulated;
  }
  void serialize(std::string_view name, bson::Builder& out) const override {
    out.openDocument(name).openDocument("$reduce");
    children_[0]->serialize("input", out);
    children_[1]->serialize("initialValue", out);
    children_[2]->serialize("in", out);
    out.close().close();
  }

 private:
  /// The operand, or a copy where it borrows: perhaps from the value that it is going to replace.
  static Result owned(Operand value, Variables& variables) {
    if (value.owned() || !value.ok()) return value;
    return variables.own(value.copy());
  }
  size_t this_, value_;
};

StatusWith<ExpressionPtr> parseReduce(Parser& parser, const Element& e, const Operator& op) {
  if (!e.is(Type::kDocument))
    return Status(ErrorCode(40075), "$reduce requires an object as an argument, found: " + typeOf(e));
  Element input, initial, body;
  for (const Element& field : e.asDocument()) {
    if (field.name() == "input") input = field;
    else if (field.name() == "initialValue") initial = field;
    else if (field.name() == "in") body = field;
    else return Status(ErrorCode(40076), "$reduce found an unknown argument: " + std::string(field.name()));
  }
  if (!input) return missingParameter("input", op, 40077);
  if (!initial) return missingParameter("initialValue", op, 40078);
  if (!body) return missingParameter("in", op, 40079);
  TROUPE_ASSIGN(auto inputExpression, parser.parse(input));
  TROUPE_ASSIGN(auto initialExpression, parser.parse(initial));
  const size_t thisSlot = parser.enter("this");
  const size_t valueSlot = parser.enter("value");
  auto bodyExpression = parser.parse(body);
  parser.leave(2);
  if (!bodyExpression.isOK()) return bodyExpression.status();
  return ExpressionPtr(std::make_unique<Reduce>(thisSlot, valueSlot, std::move(inputExpression),
                                                std::move(initialExpression), std::move(*bodyExpression)));
}

constexpr Operator kArrayFormsOperators[] = {
    {.name = "$let", .parse = parseLet},
    {.name = "$map", .parse = parseEach},
    {.name = "$filter", .parse = parseEach},
    {.name = "$reduce", .parse = parseReduce},
};

}  // namespace

std::span<const Operator> arrayFormOperators() { return kArrayFormsOperators; }

}  // namespace troupe::query
