#pragma once
#include <string>
#include <utility>
#include <vector>

#include "storage/query/expression/node.hpp"
#include "storage/query/expression/paths.hpp"

// The basic forms of expressions.
namespace troupe::query {

class ConstantExpression final : public Expression {
 public:
  explicit ConstantExpression(Operand value) : value_(std::move(value)) {}
  StatusWith<Operand> evaluate(Variables&) const override { return Operand(value_.element()); }
  void addDependencies(Dependencies&) const override {}
  void serialize(std::string_view name, bson::Builder& out) const override;
  const Operand* constant() const override { return &value_; }

 private:
  Operand value_;
};

class FieldPathExpression final : public Expression {
 public:
  explicit FieldPathExpression(std::string_view path) : path_(path) {}
  StatusWith<Operand> evaluate(Variables& variables) const override {
    return variables.found(path_.in(variables.current()), variables.current().size());
  }
  void addDependencies(Dependencies& dependencies) const override { dependencies.paths.insert(path_.dotted()); }
  void serialize(std::string_view name, bson::Builder& out) const override { out.append(name, "$" + path_.dotted()); }
  std::string_view fieldPath() const override { return path_.dotted(); }

 private:
  ValuePath path_;
};

/// `$$ROOT` and `$$CURRENT`, possibly with a path.
class DocumentExpression final : public Expression {
 public:
  DocumentExpression(bool root, ValuePath path) : root_(root), path_(std::move(path)) {}
  StatusWith<Operand> evaluate(Variables& variables) const override;
  void addDependencies(Dependencies& dependencies) const override;
  void serialize(std::string_view name, bson::Builder& out) const override;
  std::string_view fieldPath() const override { return root_ ? std::string_view() : path_.dotted(); }

 private:
  bool root_;
  ValuePath path_;
};

/// A variable bound by an enclosing expression, possibly with a path.
class VariableExpression final : public Expression {
 public:
  VariableExpression(std::string name, size_t slot, ValuePath path)
      : name_(std::move(name)), slot_(slot), path_(std::move(path)) {}
  StatusWith<Operand> evaluate(Variables& variables) const override;
  void addDependencies(Dependencies&) const override {}
  void serialize(std::string_view name, bson::Builder& out) const override;

 private:
  std::string name_;
  size_t slot_;
  ValuePath path_;
};

class ObjectExpression final : public CompoundExpression {
 public:
  void add(std::string_view name, ExpressionPtr value);
  StatusWith<Operand> evaluate(Variables& variables) const override;
  void serialize(std::string_view name, bson::Builder& out) const override;
  bool allConstant() const;

 private:
  std::vector<std::string> names_;
};

class ArrayExpression final : public CompoundExpression {
 public:
  void add(ExpressionPtr item) { children_.push_back(std::move(item)); }
  StatusWith<Operand> evaluate(Variables& variables) const override;
  void serialize(std::string_view name, bson::Builder& out) const override;
  bool allConstant() const;
};

/// A call of an operator that is a function of its arguments.
class CallExpression final : public CompoundExpression {
 public:
  CallExpression(const Operator& op, std::vector<ExpressionPtr> arguments, const bson::Collator* collator);
  StatusWith<Operand> evaluate(Variables& variables) const override;
  void addDependencies(Dependencies& dependencies) const override;
  void serialize(std::string_view name, bson::Builder& out) const override;
  bool foldable() const;

 private:
  const Operator& op_;
  const bson::Collator* collator_;
};

}  // namespace troupe::query
