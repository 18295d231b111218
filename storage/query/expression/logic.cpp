#include "messaging/bson/compare.hpp"
#include "messaging/bson/numeric.hpp"
#include "storage/query/expression/node.hpp"

// Comparison, boolean and conditional operators.
namespace troupe::query {

using bson::Element;
using bson::Type;
using Result = StatusWith<Operand>;

bool isTrue(const Operand& operand) {
  const Element e = operand.element();
  if (e.is(Type::kBool)) return e.asBool();
  return e.truthy();
}

namespace {

/// The order of two operands, where missing comes before every value.
int compare(const Arguments& arguments) { return bson::compareValues(arguments[0], arguments[1], arguments.collator); }

Result cmp(Arguments& a, const Operator&) { return Operand(int32(compare(a))); }
Result eq(Arguments& a, const Operator&) { return Operand(boolean(compare(a) == 0)); }
Result ne(Arguments& a, const Operator&) { return Operand(boolean(compare(a) != 0)); }
Result gt(Arguments& a, const Operator&) { return Operand(boolean(compare(a) > 0)); }
Result gte(Arguments& a, const Operator&) { return Operand(boolean(compare(a) >= 0)); }
Result lt(Arguments& a, const Operator&) { return Operand(boolean(compare(a) < 0)); }
Result lte(Arguments& a, const Operator&) { return Operand(boolean(compare(a) <= 0)); }
Result negate(Arguments& a, const Operator&) { return Operand(boolean(!isTrue(a.at(0)))); }

/// $and, $or: stop at the first operand that decides.
class ShortCircuit final : public CompoundExpression {
 public:
  ShortCircuit(bool decides, std::vector<ExpressionPtr> operands) : decides_(decides) {
    children_ = std::move(operands);
  }
  Result evaluate(Variables& variables) const override {
    for (const auto& child : children_) {
      TROUPE_TRY(variables.step());
      TROUPE_ASSIGN(const Operand value, child->evaluate(variables));
      if (isTrue(value) == decides_) return Operand(boolean(decides_));
    }
    return Operand(boolean(!decides_));
  }
  void serialize(std::string_view name, bson::Builder& out) const override {
    out.openDocument(name).openArray(decides_ ? "$or" : "$and");
    for (size_t i = 0; i < children_.size(); ++i) children_[i]->serialize(std::to_string(i), out);
    out.close().close();
  }

 private:
  bool decides_;
};

StatusWith<std::vector<ExpressionPtr>> parseList(Parser& parser, const Element& e) {
  std::vector<ExpressionPtr> result;
  if (!e.is(Type::kArray)) {
    TROUPE_ASSIGN(auto only, parser.parse(e));
    result.push_back(std::move(only));
    return result;
  }
  for (const Element& item : e.asArray()) {
    TROUPE_ASSIGN(auto next, parser.parse(item));
    result.push_back(std::move(next));
  }
  return result;
}

StatusWith<ExpressionPtr> parseShortCircuit(Parser& parser, const Element& e, const Operator& op) {
  TROUPE_ASSIGN(auto operands, parseList(parser, e));
  return ExpressionPtr(std::make_unique<ShortCircuit>(op.name == "$or", std::move(operands)));
}

/// The first operand that is neither null nor missing, else the last.
class IfNull final : public CompoundExpression {
 public:
  explicit IfNull(std::vector<ExpressionPtr> operands) { children_ = std::move(operands); }
  Result evaluate(Variables& variables) const override {
    for (size_t i = 0; i + 1 < children_.size(); ++i) {
      TROUPE_TRY(variables.step());
      TROUPE_ASSIGN(Operand value, children_[i]->evaluate(variables));
      if (!value.nullish()) return value;
    }
    return children_.back()->evaluate(variables);
  }
  void serialize(std::string_view name, bson::Builder& out) const override {
    out.openDocument(name).openArray("$ifNull");
    for (size_t i = 0; i < children_.size(); ++i) children_[i]->serialize(std::to_string(i), out);
    out.close().close();
  }
};

StatusWith<ExpressionPtr> parseIfNull(Parser& parser, const Element& e, const Operator&) {
  TROUPE_ASSIGN(auto operands, parseList(parser, e));
  if (operands.size() < 2)
    return Status(ErrorCode(1257300), "$ifNull needs at least two arguments, had: " + std::to_string(operands.size()));
  return ExpressionPtr(std::make_unique<IfNull>(std::move(operands)));
}

/// $cond and $switch: pairs of (case, then), and what holds otherwise.
class Branches final : public CompoundExpression {
 public:
  Branches(bool isCond, std::vector<ExpressionPtr> pairsThenDefault) : isCond_(isCond) {
    children_ = std::move(pairsThenDefault);
  }
  Result evaluate(Variables& variables) const override {
    for (size_t i = 0; i + 1 < children_.size(); i += 2) {
      TROUPE_TRY(variables.step());
      TROUPE_ASSIGN(const Operand condition, children_[i]->evaluate(variables));
      if (isTrue(condition)) return children_[i + 1]->evaluate(variables);
    }
    if (children_.back()) return children_.back()->evaluate(variables);
    // A $switch that cannot match whatever the document has a code of its own.
    bool never = true;
    for (size_t i = 0; i + 1 < children_.size(); i += 2) never &= children_[i]->constant() != nullptr;
    return Status(ErrorCode(never ? 40069 : 40066),
                  "$switch could not find a matching branch for an input, and no default was specified.");
  }
  void serialize(std::string_view name, bson::Builder& out) const override {
    out.openDocument(name);
    if (isCond_) {
      out.openArray("$cond");
      for (size_t i = 0; i < 3; ++i) children_[i]->serialize(std::to_string(i), out);
      out.close().close();
      return;
    }
    out.openDocument("$switch").openArray("branches");
    for (size_t i = 0; i + 1 < children_.size(); i += 2) {
      out.openDocument(std::to_string(i / 2));
      children_[i]->serialize("case", out);
      children_[i + 1]->serialize("then", out);
      out.close();
    }
    out.close();
    if (children_.back()) children_.back()->serialize("default", out);
    out.close().close();
  }

 private:
  bool isCond_;
};

StatusWith<ExpressionPtr> parseCond(Parser& parser, const Element& e, const Operator&) {
  std::vector<ExpressionPtr> parts(3);
  if (e.is(Type::kDocument)) {
    for (const Element& field : e.asDocument()) {
      const auto name = field.name();
      const int at = name == "if" ? 0 : name == "then" ? 1 : name == "else" ? 2 : -1;
      if (at < 0) return Status(ErrorCode(17083), "Unrecognized parameter to $cond: " + std::string(name));
      TROUPE_ASSIGN(parts[at], parser.parse(field));
    }
    constexpr const char* kNames[] = {"if", "then", "else"};
    for (int i = 0; i < 3; ++i)
      if (!parts[i]) return Status(ErrorCode(17080 + i), std::string("Missing '") + kNames[i] + "' parameter to $cond");
  } else {
    TROUPE_ASSIGN(parts, parseList(parser, e));
    if (parts.size() != 3)
      return Status(ErrorCode(16020),
                    "Expression $cond takes exactly 3 arguments. " + std::to_string(parts.size()) + " were passed in.");
  }
  if (const Operand* known = parts[0]->constant()) return std::move(isTrue(*known) ? parts[1] : parts[2]);
  return ExpressionPtr(std::make_unique<Branches>(true, std::move(parts)));
}

StatusWith<ExpressionPtr> parseSwitch(Parser& parser, const Element& e, const Operator&) {
  if (!e.is(Type::kDocument))
    return Status(ErrorCode(40060), "$switch requires an object as an argument, found: " + typeOf(e));
  std::vector<ExpressionPtr> parts;
  ExpressionPtr otherwise;
  for (const Element& field : e.asDocument()) {
    if (field.name() == "default") {
      TROUPE_ASSIGN(otherwise, parser.parse(field));
      continue;
    }
    if (field.name() != "branches")
      return Status(ErrorCode(40067), "$switch found an unknown argument: " + std::string(field.name()));
    if (!field.is(Type::kArray))
      return Status(ErrorCode(40061), "$switch expected an array for 'branches', found: " + typeOf(field));
    for (const Element& branch : field.asArray()) {
      if (!branch.is(Type::kDocument))
        return Status(ErrorCode(40062), "$switch expected each branch to be an object, found: " + typeOf(branch));
      ExpressionPtr condition, then;
      for (const Element& part : branch.asDocument()) {
        if (part.name() != "case" && part.name() != "then")
          return Status(ErrorCode(40063), "$switch found an unknown argument to a branch: " + std::string(part.name()));
        TROUPE_ASSIGN((part.name() == "case" ? condition : then), parser.parse(part));
      }
      if (!condition) return Status(ErrorCode(40064), "$switch requires each branch have a 'case' expression");
      if (!then) return Status(ErrorCode(40065), "$switch requires each branch have a 'then' expression.");
      parts.push_back(std::move(condition));
      parts.push_back(std::move(then));
    }
  }
  if (parts.empty()) return Status(ErrorCode(40068), "$switch requires at least one branch.");
  parts.push_back(std::move(otherwise));
  return ExpressionPtr(std::make_unique<Branches>(false, std::move(parts)));
}

constexpr Operator comparison(std::string_view name, Function function) {
  return {.name = name, .minArity = 2, .maxArity = 2, .function = function};
}

constexpr Operator kLogicOperators[] = {
    comparison("$cmp", cmp),
    comparison("$eq", eq),
    comparison("$ne", ne),
    comparison("$gt", gt),
    comparison("$gte", gte),
    comparison("$lt", lt),
    comparison("$lte", lte),
    {.name = "$not", .minArity = 1, .maxArity = 1, .function = negate},
    {.name = "$and", .parse = parseShortCircuit},
    {.name = "$or", .parse = parseShortCircuit},
    {.name = "$ifNull", .parse = parseIfNull},
    {.name = "$cond", .parse = parseCond},
    {.name = "$switch", .parse = parseSwitch},
};

}  // namespace

std::span<const Operator> logicOperators() { return kLogicOperators; }

}  // namespace troupe::query
