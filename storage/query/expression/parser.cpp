#include <unordered_map>

#include "storage/query/expression/nodes.hpp"

namespace troupe::query {

using bson::Element;
using bson::Type;
using bson::Value;

namespace {

constexpr int kMaxExpressionDepth = 200;

std::unordered_map<std::string_view, const Operator*> indexOperators() {
  std::unordered_map<std::string_view, const Operator*> index;
  for (const auto family : {arithmeticOperators(), logicOperators(), stringOperators(), stringSearchOperators(),
                            arrayOperators(), arrayFormOperators(), sequenceOperators(), setOperators(),
                            objectOperators(), typeOperators(), dateOperators(), dateArithmeticOperators(),
                            dateTextOperators(), aggregateOperators(), percentileOperators(), miscellaneousOperators()})
    for (const Operator& op : family) index.emplace(op.name, &op);
  return index;
}

constexpr int64_t kNodeBytes = 160;        ///< of an expression, with its place in another one
constexpr int64_t kFreeBytes = 64 * 1024;  ///< what HeldMemory does not count

/// An expression of so many nodes that they are charged.
class LargeExpression final : public Expression {
 public:
  LargeExpression(ExpressionPtr root, HeldMemory held) : held_(std::move(held)), root_(std::move(root)) {}
  StatusWith<Operand> evaluate(Variables& variables) const override { return root_->evaluate(variables); }
  void addDependencies(Dependencies& dependencies) const override { root_->addDependencies(dependencies); }
  void serialize(std::string_view name, bson::Builder& out) const override { root_->serialize(name, out); }
  std::string_view fieldPath() const override { return root_->fieldPath(); }

 private:
  HeldMemory held_;
  ExpressionPtr root_;
};

/// A constant in place of an expression that depends on nothing. One that fails stays, so that it fails when used.
/// Errors: those of an interrupt.
template <class T>
StatusWith<ExpressionPtr> folded(std::unique_ptr<T> expression, bool foldable, const ParseContext& context) {
  if (!foldable) return ExpressionPtr(std::move(expression));
  Variables nothing(context.work);
  auto value = static_cast<const Expression&>(*expression).evaluate(nothing);
  if (!value.isOK()) {
    TROUPE_TRY(nothing.step());  // which fails again if it was an interrupt
    return ExpressionPtr(std::move(expression));
  }
  if (value->owned()) return makeConstant(std::move(*value));
  auto copy = nothing.own(value->copy());
  return copy.isOK() ? makeConstant(std::move(*copy)) : ExpressionPtr(std::move(expression));
}

Status arityError(const Operator& op, size_t given) {
  const std::string name(op.name);
  if (op.errors.arity)
    return {ErrorCode(op.errors.arity),
            name + " takes exactly one argument. " + std::to_string(given) + " were passed in."};
  if (op.minArity == op.maxArity)
    return {ErrorCode(16020), "Expression " + name + " takes exactly " + std::to_string(op.minArity) + " arguments. " +
                                  std::to_string(given) + " were passed in."};
  if (op.maxArity == Operator::kAny)
    return {ErrorCode(16020), "Expression " + name + " takes at least " + std::to_string(op.minArity) + " arguments. " +
                                  std::to_string(given) + " were passed in."};
  return {ErrorCode(28667), "Expression " + name + " takes at least " + std::to_string(op.minArity) +
                                " arguments, and at most " + std::to_string(op.maxArity) + ", but " +
                                std::to_string(given) + " were passed in."};
}

StatusWith<ExpressionPtr> parsePositional(Parser& parser, const Operator& op, const Element& operand) {
  std::vector<ExpressionPtr> arguments;
  if (operand.is(Type::kArray)) {
    for (const Element& item : operand.asArray()) {
      TROUPE_ASSIGN(auto argument, parser.parse(item));
      arguments.push_back(std::move(argument));
    }
  } else {
    TROUPE_ASSIGN(auto argument, parser.parse(operand));
    arguments.push_back(std::move(argument));
  }
  const auto count = static_cast<int>(arguments.size());
  if (count < op.minArity || (op.maxArity != Operator::kAny && count > op.maxArity))
    return arityError(op, arguments.size());
  return parser.call(op, std::move(arguments));
}

bool looksNamed(const Element& operand) {
  return operand.is(Type::kDocument) && !operand.asDocument().empty() &&
         !operand.asDocument().first().name().starts_with('$');
}

}  // namespace

StatusWith<std::vector<ExpressionPtr>> Parser::parseArguments(const Operator& op, const Element& operand) {
  const std::string name(op.name);
  if (!operand.is(Type::kDocument))
    return Status(ErrorCode(op.errors.notDocument),
                  name + " only supports an object as its argument, found: " + typeOf(operand));
  std::vector<ExpressionPtr> arguments(op.named.size());
  for (const Element& field : operand.asDocument()) {
    size_t i = 0;
    while (i < op.named.size() && op.named[i].name != field.name()) ++i;
    if (i == op.named.size())
      return Status(ErrorCode(op.errors.unknownArgument),
                    name + " found an unknown argument: " + std::string(field.name()));
    if (op.named[i].literal) {
      arguments[i] = makeConstant(Operand(Value(field)));
      continue;
    }
    TROUPE_ASSIGN(arguments[i], parse(field));
  }
  for (size_t i = 0; i < op.named.size(); ++i)
    if (op.named[i].required && !arguments[i])
      return Status(ErrorCode(op.named[i].missing),
                    "Missing '" + std::string(op.named[i].name) + "' parameter to " + name);
  return arguments;
}

StatusWith<ExpressionPtr> Parser::call(const Operator& op, std::vector<ExpressionPtr> arguments) {
  auto call = std::make_unique<CallExpression>(op, std::move(arguments), context.collator);
  const bool foldable = call->foldable();
  return folded(std::move(call), foldable, context);
}

const Operator* findOperator(std::string_view name) {
  static const auto index = indexOperators();
  const auto found = index.find(name);
  return found == index.end() ? nullptr : found->second;
}

bool isExpressionOperator(std::string_view name) { return findOperator(name) != nullptr; }

StatusWith<ExpressionPtr> parseExpression(const Element& expression, const ParseContext& context) {
  return Parser(context).parseRoot(expression);
}

StatusWith<ExpressionPtr> Parser::parseRoot(const Element& e) {
  auto root = parse(e);
  if (!root.isOK() || (*root)->constant() || bytes_ <= kFreeBytes) return root;
  TROUPE_TRY(held_.set(bytes_));
  return ExpressionPtr(std::make_unique<LargeExpression>(std::move(*root), std::move(held_)));
}

StatusWith<Value> Expression::evaluate(bson::View root, Variables& variables) const {
  variables.setRoot(root);
  TROUPE_ASSIGN(Operand result, evaluate(variables));
  return std::move(result).take();
}

Status checkVariableName(std::string_view name) {
  if (name.empty()) return {ErrorCode::kFailedToParse, "empty variable names are not allowed"};
  const auto letter = [](unsigned char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80; };
  const auto first = static_cast<unsigned char>(name[0]);
  if (!(first >= 'a' && first <= 'z') && first < 0x80)
    return {ErrorCode::kFailedToParse,
            "'" + std::string(name) + "' starts with an invalid character for a user variable name"};
  for (const char c : name)
    if (!letter(static_cast<unsigned char>(c)) && !(c >= '0' && c <= '9') && c != '_')
      return {ErrorCode::kFailedToParse,
              "'" + std::string(name) + "' contains an invalid character for a variable name: '" + c + "'"};
  return Status::OK();
}

StatusWith<ExpressionPtr> Parser::parse(const Element& e) {
  if (++depth_ > kMaxExpressionDepth) return Status(ErrorCode::kOverflow, "expression is nested too deeply");
  struct Leave {
    int& depth;
    ~Leave() { --depth; }
  } leave{depth_};
  if (context.work) TROUPE_TRY(context.work->step());
  const int64_t before = bytes_;
  bytes_ += kNodeBytes + static_cast<int64_t>(e.name().size() + (e.isObjectLike() ? 0 : e.valueSize()));
  TROUPE_TRY(held_.set(bytes_));
  switch (e.type()) {
    case Type::kString: TROUPE_TRY(checkStringSize(e)); return parseString(e.asString());
    case Type::kDocument:
    case Type::kArray: {
      auto parsed = e.is(Type::kArray) ? parseArray(e.asArray()) : parseObject(e.asDocument());
      if (parsed.isOK() && (*parsed)->constant()) bytes_ = before + kNodeBytes;  // its value has a charge of its own
      return parsed;
    }
    default: return makeConstant(Operand(Value(e)));
  }
}

Status checkStringSize(const Element& e) {
  constexpr int32_t kMaxString = 16 << 20;
  if (!e.is(Type::kString) || e.valueSize() <= kMaxString) return Status::OK();
  if (e.asString().size() < kMaxString) return Status::OK();
  return {ErrorCode(16493), "a string in an expression must be shorter than 16 MiB"};
}

StatusWith<ExpressionPtr> Parser::parseObject(bson::View object) {
  const Element first = object.first();
  if (first.ok() && first.name().starts_with('$')) {
    if (object.count() != 1)
      return Status(ErrorCode(15983),
                    "an expression specification must contain exactly one field, the name of the expression. "
                    "Found " +
                        std::to_string(object.count()) + " fields in " + show(document(object).element()));
    const Operator* op = findOperator(first.name());
    if (!op)
      return Status(ErrorCode::kInvalidPipelineOperator, "Unrecognized expression '" + std::string(first.name()) + "'");
    return parseOperator(*op, first);
  }
  auto result = std::make_unique<ObjectExpression>();
  for (const Element& field : object) {
    if (field.name().empty()) return Status(ErrorCode(15998), "FieldPath field names may not be empty strings.");
    if (field.name().starts_with('$'))
      return Status(ErrorCode::kFieldPathInvalid,
                    "FieldPath field names may not start with '$'. Consider using $getField or $setField.");
    if (field.name().find('.') != std::string_view::npos)
      return Status(ErrorCode(16412),
                    "FieldPath field names may not contain '.'. Consider using $getField or $setField.");
    TROUPE_ASSIGN(auto value, parse(field));
    result->add(field.name(), std::move(value));
  }
  const bool foldable = result->allConstant();
  return folded(std::move(result), foldable, context);
}

StatusWith<ExpressionPtr> Parser::parseArray(bson::View array) {
  auto result = std::make_unique<ArrayExpression>();
  for (const Element& item : array) {
    TROUPE_ASSIGN(auto value, parse(item));
    result->add(std::move(value));
  }
  const bool foldable = result->allConstant();
  return folded(std::move(result), foldable, context);
}

StatusWith<ExpressionPtr> Parser::parseString(std::string_view text) {
  if (!text.starts_with('$')) return makeConstant(query::text(text));
  if (text.starts_with("$$")) return parseVariable(text.substr(2));
  const auto path = text.substr(1);
  if (path.empty()) return Status(ErrorCode::kInvalidVariableName, "'$' by itself is not a valid FieldPath");
  TROUPE_TRY(ValuePath::check(path));
  return ExpressionPtr(std::make_unique<FieldPathExpression>(path));
}

StatusWith<ExpressionPtr> Parser::parseVariable(std::string_view text) {
  const size_t dot = text.find('.');
  const std::string name(text.substr(0, dot));
  if (name.empty()) return Status(ErrorCode::kFailedToParse, "empty variable names are not allowed");
  ValuePath path;
  if (dot != std::string_view::npos) {
    TROUPE_TRY(ValuePath::check(text.substr(dot + 1)));
    path = ValuePath(text.substr(dot + 1));
  }
  const auto constant = [&path](Value value) { return makeConstant(path.in(value.element()).copy()); };
  if (const auto bound = slots_.find(name); bound != slots_.end() && !bound->second.empty())
    return ExpressionPtr(std::make_unique<VariableExpression>(name, bound->second.back(), std::move(path)));
  if (context.work) TROUPE_TRY(context.work->step(stepsFor(context.let.size())));
  if (const Element value = context.let[name])
    return value.is(Type::kUndefined) ? makeConstant(Operand()) : constant(Value(value));  // bound to what was missing
  if (name == "ROOT") return ExpressionPtr(std::make_unique<DocumentExpression>(true, std::move(path)));
  if (name == "CURRENT") {
    if (path.empty()) return ExpressionPtr(std::make_unique<DocumentExpression>(false, std::move(path)));
    return ExpressionPtr(std::make_unique<FieldPathExpression>(path.dotted()));
  }
  if (name == "NOW") return constant(date(context.now.millis));
  if (name == "REMOVE") return makeConstant(Operand());
  if (name == "DESCEND") return makeConstant(query::text("descend"));
  if (name == "PRUNE") return makeConstant(query::text("prune"));
  if (name == "KEEP") return makeConstant(query::text("keep"));
  if (name == "CLUSTER_TIME") {
    if (context.clusterTime.asUint64() == 0)
      return Status(ErrorCode(51144), "Builtin variable '$$CLUSTER_TIME' is not available");
    return constant(Value(context.clusterTime));
  }
  return Status(ErrorCode::kUndefinedVariable, "Use of undefined variable: " + name);
}

StatusWith<ExpressionPtr> Parser::parseOperator(const Operator& op, const Element& e) {
  if (op.parse) return op.parse(*this, e, op);
  if (op.named.empty() || (op.positionalToo && !looksNamed(e))) return parsePositional(*this, op, e);
  TROUPE_ASSIGN(auto arguments, parseArguments(op, e));
  return call(op, std::move(arguments));
}

}  // namespace troupe::query
