#include "storage/query/expression/nodes.hpp"

#include <algorithm>
#include <charconv>

namespace troupe::query {

using bson::Builder;
using bson::Value;

ExpressionPtr makeConstant(Operand value) { return std::make_unique<ConstantExpression>(std::move(value)); }

void ConstantExpression::serialize(std::string_view name, Builder& out) const {
  if (!value_.ok()) {
    out.append(name, "$$REMOVE");
    return;
  }
  out.openDocument(name).append("$const", value_.element()).close();
}

StatusWith<Operand> DocumentExpression::evaluate(Variables& variables) const {
  const bson::View base = root_ ? variables.root() : variables.current();
  if (path_.empty()) return variables.own(document(base));
  return variables.found(path_.in(base), base.size());
}

void DocumentExpression::addDependencies(Dependencies& dependencies) const {
  if (path_.empty()) dependencies.wholeDocument = true;
  else dependencies.paths.insert(path_.dotted());
}

void DocumentExpression::serialize(std::string_view name, Builder& out) const {
  std::string text = root_ ? "$$ROOT" : "$$CURRENT";
  if (!path_.empty()) text += "." + path_.dotted();
  out.append(name, text);
}

StatusWith<Operand> VariableExpression::evaluate(Variables& variables) const {
  const bson::Element value = variables.at(slot_).element();
  if (path_.empty()) return Operand(value);
  return variables.found(path_.in(value), value.valueSize());
}

void VariableExpression::serialize(std::string_view name, Builder& out) const {
  std::string text = "$$" + name_;
  if (!path_.empty()) text += "." + path_.dotted();
  out.append(name, text);
}

void ObjectExpression::add(std::string_view name, ExpressionPtr value) {
  names_.emplace_back(name);
  children_.push_back(std::move(value));
}

StatusWith<Operand> ObjectExpression::evaluate(Variables& variables) const {
  Builder out;
  Growth growth(variables.work());
  for (size_t i = 0; i < children_.size(); ++i) {
    TROUPE_ASSIGN(const Operand value, children_[i]->evaluate(variables));
    const bson::Element e = value.element();
    TROUPE_TRY(growth.reserve(out.size() + e.valueSize()));
    if (e.ok()) out.append(names_[i], e);
  }
  return variables.own(document(out.finish()));
}

void ObjectExpression::serialize(std::string_view name, Builder& out) const {
  out.openDocument(name);
  for (size_t i = 0; i < children_.size(); ++i) children_[i]->serialize(names_[i], out);
  out.close();
}

namespace {

bool constants(const std::vector<ExpressionPtr>& children) {
  return std::all_of(children.begin(), children.end(), [](const auto& c) { return !c || c->constant(); });
}

void serializeItems(const std::vector<ExpressionPtr>& children, std::string_view name, Builder& out) {
  out.openArray(name);
  for (size_t i = 0; i < children.size(); ++i) {
    char digits[12];
    const auto end = std::to_chars(digits, digits + sizeof digits, i).ptr;
    children[i]->serialize({digits, static_cast<size_t>(end - digits)}, out);
  }
  out.close();
}

}  // namespace

bool ObjectExpression::allConstant() const { return constants(children_); }
bool ArrayExpression::allConstant() const { return constants(children_); }

StatusWith<Operand> ArrayExpression::evaluate(Variables& variables) const {
  Builder out;
  Growth growth(variables.work());
  for (const auto& child : children_) {
    TROUPE_ASSIGN(const Operand value, child->evaluate(variables));
    const bson::Element e = value.element();
    TROUPE_TRY(growth.reserve(out.size() + e.valueSize()));
    if (e.ok()) out.push(e);
    else out.push(bson::Null{});
  }
  return variables.own(out.finishArray());
}

void ArrayExpression::serialize(std::string_view name, Builder& out) const { serializeItems(children_, name, out); }

CallExpression::CallExpression(const Operator& op, std::vector<ExpressionPtr> arguments, const bson::Collator* collator)
    : op_(op), collator_(collator) {
  children_ = std::move(arguments);
}

StatusWith<Operand> CallExpression::evaluate(Variables& variables) const {
  Arguments arguments(children_.size(), children_, collator_, variables);
  size_t bytes = 0;
  for (size_t i = 0; i < children_.size(); ++i) {
    if (!children_[i]) continue;
    auto value = children_[i]->evaluate(variables);
    if (!value.isOK()) return value.status();
    arguments.at(i) = std::move(value).value();
    bytes += arguments[i].valueSize();
  }
  TROUPE_TRY(variables.step(stepsFor(bytes)));  // most operators read all of their arguments
  if (op_.nullIfNull && arguments.anyNullish()) return Operand(nullValue());
  auto result = op_.function(arguments, op_);
  if (!result.isOK()) return result;
  TROUPE_TRY(checkStringSize(result->element()));
  TROUPE_TRY(variables.account(*result));
  return result;
}

void CallExpression::addDependencies(Dependencies& dependencies) const {
  CompoundExpression::addDependencies(dependencies);
  if (op_.random) dependencies.random = true;
}

void CallExpression::serialize(std::string_view name, Builder& out) const {
  out.openDocument(name);
  if (op_.named.empty() || (op_.positionalToo && children_.size() == 1)) {
    serializeItems(children_, op_.name, out);
  } else {
    out.openDocument(op_.name);
    for (size_t i = 0; i < children_.size(); ++i)
      if (children_[i] && op_.named[i].literal) out.append(op_.named[i].name, children_[i]->constant()->element());
      else if (children_[i]) children_[i]->serialize(op_.named[i].name, out);
    out.close();
  }
  out.close();
}

bool CallExpression::foldable() const { return !op_.random && constants(children_); }

}  // namespace troupe::query
