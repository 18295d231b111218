#pragma once
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "storage/query/expression/expression.hpp"
#include "storage/query/expression/values.hpp"
#include "storage/query/parse_context.hpp"

// How the families of operators are written: most are plain functions over evaluated arguments, listed in a table with
// their arity or the names of their arguments; the others parse themselves.
namespace troupe::query {

/// The evaluated arguments of a call.
class Arguments {
 public:
  Arguments(size_t size, const std::vector<ExpressionPtr>& given, const bson::Collator* collator, Variables& variables)
      : collator(collator), variables(variables), given_(given), size_(size) {
    if (size > few_.size()) many_.resize(size);
  }
  size_t size() const { return size_; }
  bson::Element operator[](size_t i) const { return at(i).element(); }
  Operand& at(size_t i) { return size_ > few_.size() ? many_[i] : few_[i]; }
  const Operand& at(size_t i) const { return size_ > few_.size() ? many_[i] : few_[i]; }
  /// Whether a named, optional argument was written at all.
  bool given(size_t i) const { return i < given_.size() && given_[i] != nullptr; }
  /// Charges the positions of all elements of all arguments, for operators that sort or search them: some three times
  /// the arguments. Errors: ExceededMemoryLimit.
  Status reservePositions(Growth& scratch) const {
    size_t bytes = 0;
    for (size_t i = 0; i < size_; ++i) bytes += at(i).element().valueSize();
    return scratch.reserve(3 * bytes);
  }
  bool anyNullish() const {
    for (size_t i = 0; i < size_; ++i)
      if (at(i).nullish()) return true;
    return false;
  }

  const bson::Collator* collator;
  Variables& variables;

 private:
  const std::vector<ExpressionPtr>& given_;
  size_t size_;
  std::array<Operand, 4> few_;
  std::vector<Operand> many_;
};

struct Operator;
using Function = StatusWith<Operand> (*)(Arguments& arguments, const Operator& op);

/// Parses nested expressions: the context, and the variables in scope.
class Parser {
 public:
  explicit Parser(const ParseContext& context) : context(context), held_(context.work) {}
  /// Parses a whole expression, which holds the charge of its nodes.
  StatusWith<ExpressionPtr> parseRoot(const bson::Element& e);
  StatusWith<ExpressionPtr> parse(const bson::Element& e);
  StatusWith<ExpressionPtr> parseObject(bson::View object);
  StatusWith<ExpressionPtr> parseArray(bson::View array);
  StatusWith<ExpressionPtr> parseString(std::string_view text);
  /// The operand of an operator with named arguments: one expression for each name, null where it is not given.
  StatusWith<std::vector<ExpressionPtr>> parseArguments(const Operator& op, const bson::Element& e);
  /// A call of the operator, or its value where all arguments are constant.
  StatusWith<ExpressionPtr> call(const Operator& op, std::vector<ExpressionPtr> arguments);
  /// Brings a variable into scope until `leave`; returns its slot, unique within this parse.
  size_t enter(const std::string& name) {
    std::vector<size_t>& slots = slots_[name];
    slots.push_back(nextSlot_);
    scope_.push_back(&slots);
    return nextSlot_++;
  }
  void leave(size_t count = 1) {
    for (; count > 0; --count) {
      scope_.back()->pop_back();
      scope_.pop_back();
    }
  }

  const ParseContext& context;

 private:
  StatusWith<ExpressionPtr> parseVariable(std::string_view path);
  StatusWith<ExpressionPtr> parseOperator(const Operator& op, const bson::Element& e);
  std::unordered_map<std::string, std::vector<size_t>> slots_;  ///< of variables in scope, the innermost last
  std::vector<std::vector<size_t>*> scope_;                     ///< the lists in `slots_`, in the order of entering
  size_t nextSlot_ = 0;
  int depth_ = 0;
  HeldMemory held_;
  int64_t bytes_ = 0;  ///< about what the nodes take that are not folded
};

using ParseFunction = StatusWith<ExpressionPtr> (*)(Parser& parser, const bson::Element& e, const Operator& op);

/// A named argument of an operator that takes a document.
struct NamedArgument {
  std::string_view name;
  bool required = false;
  int missing = 9;       ///< the error's code where it is required and absent; 9: FailedToParse
  bool literal = false;  ///< no expression: taken as it is written
};

/// The codes of errors in an operator's operand that are its own.
struct OperandErrors {
  int notDocument = 9;      ///< named arguments: the operand is no document
  int unknownArgument = 9;  ///< named arguments: one is not known
  int arity = 0;            ///< the number of positional arguments; 0: the general code
};

/// A row of the table of operators.
struct Operator {
  static constexpr int kAny = -1;
  std::string_view name;
  int minArity = 0;
  int maxArity = 0;  ///< kAny: no limit
  Function function = nullptr;
  ParseFunction parse = nullptr;              ///< when set, the operator parses itself
  std::span<const NamedArgument> named = {};  ///< when not empty, the operand is a document of these
  bool nullIfNull = false;                    ///< any nullish argument gives null without a call
  bool random = false;                        ///< never folded
  bool positionalToo = false;  ///< with `named`: an operand that is not such a document is the first argument
  OperandErrors errors = {};
};

/// The operator of that name, or null.
const Operator* findOperator(std::string_view name);

// The families.
std::span<const Operator> arithmeticOperators();
std::span<const Operator> logicOperators();
std::span<const Operator> stringOperators();
std::span<const Operator> stringSearchOperators();
std::span<const Operator> arrayOperators();
std::span<const Operator> arrayFormOperators();
std::span<const Operator> sequenceOperators();
std::span<const Operator> setOperators();
std::span<const Operator> objectOperators();
std::span<const Operator> typeOperators();
std::span<const Operator> dateOperators();
std::span<const Operator> dateArithmeticOperators();
std::span<const Operator> dateTextOperators();
std::span<const Operator> aggregateOperators();
std::span<const Operator> percentileOperators();
std::span<const Operator> miscellaneousOperators();

/// A constant expression, which holds the value and its charge.
ExpressionPtr makeConstant(Operand value);

/// Checks that a value may leave an expression. Errors: 16493 (a string of 16 MiB or more).
Status checkStringSize(const bson::Element& e);

/// Checks the name a user gives to a variable ("this" is allowed for loops by the caller).
Status checkVariableName(std::string_view name);

/// A base for operators with sub-expressions: dependencies and explain come from the list of (name, expression).
class CompoundExpression : public Expression {
 public:
  void addDependencies(Dependencies& dependencies) const override {
    for (const auto& child : children_)
      if (child) child->addDependencies(dependencies);
  }

 protected:
  std::vector<ExpressionPtr> children_;  // absent optional ones are null
};

}  // namespace troupe::query
