#include "storage/query/match/match_parser.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "messaging/bson/numeric.hpp"
#include "storage/query/expression/values.hpp"
#include "storage/query/match/json_schema.hpp"
#include "storage/query/match/predicates.hpp"

namespace troupe::query {
namespace {

using bson::Element;
using bson::Type;
using bson::Value;
using bson::View;
using Node = std::unique_ptr<MatchExpression>;

Status bad(std::string reason) { return {ErrorCode::kBadValue, std::move(reason)}; }
std::string describe(const Element& e) { return shortened(e.name()) + ": " + show(e); }

bool isDbRefName(std::string_view name) { return name == "$ref" || name == "$id" || name == "$db"; }

/// `{$gt: 1}` rather than a literal sub-document (a DBRef is one).
bool isOperatorDocument(const Element& e) {
  if (!e.is(Type::kDocument)) return false;
  const auto name = e.asDocument().first().name();
  return name.starts_with('$') && !isDbRefName(name);
}

Node logic(MatchKind kind, Node child) {
  MatchExpression::Children children;
  children.push_back(std::move(child));
  return std::make_unique<MatchExpression>(kind, std::move(children));
}

/// A conjunction of one is that one.
Node conjunction(MatchExpression::Children children) {
  if (children.size() == 1) return std::move(children.front());
  return std::make_unique<MatchExpression>(MatchKind::kAnd, std::move(children));
}

/// A whole number of any numeric type. Errors: FailedToParse, in the words of the server.
StatusWith<int64_t> wholeNumber(const Element& e) {
  if (!e.isNumber()) return {ErrorCode::kFailedToParse, "Expected a number in: " + describe(e)};
  if (const auto n = exactInt64(e)) return *n;
  const double d = e.toDouble();
  if (std::isnan(d)) return {ErrorCode::kFailedToParse, "Expected an integer, but found NaN in: " + describe(e)};
  if (std::fabs(d) >= 9.2233720368547758e18)
    return {ErrorCode::kFailedToParse, "Cannot represent as a 64-bit integer: " + describe(e)};
  return {ErrorCode::kFailedToParse, "Expected an integer: " + describe(e)};
}

StatusWith<int64_t> naturalNumber(const Element& e) {
  TROUPE_ASSIGN(const int64_t n, wholeNumber(e));
  if (n < 0) return {ErrorCode::kFailedToParse, "Expected a non-negative number in: " + describe(e)};
  return n;
}

class Parser {
 public:
  explicit Parser(const ParseContext& context) : context_(context), held_(context.work) {}

  /// What has been parsed holds its charge from now on. Errors: ExceededMemoryLimit.
  StatusWith<Node> finish(StatusWith<Node> root) {
    TROUPE_TRY(root.status());
    TROUPE_TRY(charge());
    (*root)->keep(std::move(held_));
    return root;
  }
  StatusWith<Node> document(View filter, bool topLevel);
  StatusWith<Node> operators(std::string_view path, View document);

 private:
  using Handler = StatusWith<Node> (Parser::*)(std::string_view path, const Element& e);
  /// Counts one level of nesting for as long as it lives.
  struct Deeper {
    explicit Deeper(Parser& p) : parser(p) { ++parser.depth_; }
    ~Deeper() { --parser.depth_; }
    Parser& parser;
  };
  /// Whether the first field of a document is an operator of conditions.
  static bool isOperator(const Element& e) {
    const auto name = e.asDocument().first().name();
    return name == "$regex" || name == "$options" || handler(name);
  }
  Status checkDepth() const {
    if (depth_ <= context_.limits.filterDepth) return Status::OK();
    return {ErrorCode::kOverflow,
            "exceeded the maximum nesting depth of a filter, " + std::to_string(context_.limits.filterDepth)};
  }

  Node leaf(MatchKind kind, std::string_view path, Value operand, std::unique_ptr<Predicate> predicate) {
    const auto components = 1 + std::count(path.begin(), path.end(), '.');
    bytes_ +=
        kNodeBytes + components * kComponentBytes + static_cast<int64_t>(path.size() + operand.valueBytes().size());
    return std::make_unique<MatchExpression>(kind, path, std::move(operand), std::move(predicate));
  }
  /// To be called for each condition: a node takes many times the bytes of what a client wrote. Errors:
  /// ExceededMemoryLimit, those of an interrupt.
  Status charge() {
    if (context_.work) TROUPE_TRY(context_.work->step());
    return held_.set(bytes_);
  }

  StatusWith<Node> topLevelOperator(const Element& e, bool topLevel);
  StatusWith<Node> list(MatchKind kind, const Element& e, bool topLevel);
  StatusWith<Node> field(const Element& e);
  StatusWith<Node> equality(std::string_view path, const Element& e);
  StatusWith<Node> compare(MatchKind kind, std::string_view path, const Element& e);
  StatusWith<Node> regexLiteral(std::string_view path, const Element& e);
  StatusWith<Node> regexOperator(std::string_view path, View document);

  template <MatchKind kind>
  StatusWith<Node> comparison(std::string_view path, const Element& e) {
    return compare(kind, path, e);
  }
  StatusWith<Node> notEqual(std::string_view path, const Element& e);
  StatusWith<Node> in(std::string_view path, const Element& e);
  StatusWith<Node> notIn(std::string_view path, const Element& e);
  StatusWith<Node> negation(std::string_view path, const Element& e);
  StatusWith<Node> exists(std::string_view path, const Element& e);
  StatusWith<Node> type(std::string_view path, const Element& e);
  StatusWith<Node> mod(std::string_view path, const Element& e);
  StatusWith<Node> size(std::string_view path, const Element& e);
  StatusWith<Node> all(std::string_view path, const Element& e);
  StatusWith<Node> elemMatch(std::string_view path, const Element& e);
  StatusWith<Node> geo(std::string_view path, const Element& e);
  StatusWith<BitMask> bitMask(std::string_view path, const Element& e);
  template <MatchKind kind>
  StatusWith<Node> bits(std::string_view path, const Element& e) {
    TROUPE_ASSIGN(auto mask, bitMask(path, e));
    return leaf(kind, path, Value(e), bitsPredicate(kind, std::move(mask)));
  }

  static Handler handler(std::string_view name);

  static constexpr int64_t kNodeBytes = sizeof(MatchExpression) + 96;  ///< with its predicate
  static constexpr int64_t kComponentBytes = 16;                       ///< of a path
  static constexpr int64_t kSchemaFactor = 16;  ///< that the rules of a schema are larger than its text, about
  const ParseContext& context_;
  HeldMemory held_;
  int64_t bytes_ = 0;  ///< about what has been parsed takes
  int depth_ = 0;
};

StatusWith<Node> Parser::document(View filter, bool topLevel) {
  const Deeper deeper(*this);
  TROUPE_TRY(checkDepth());
  MatchExpression::Children children;
  for (const auto& e : filter) {
    const auto name = e.name();
    if (name == "$comment") continue;
    if (name.starts_with('$') && (topLevel || !isDbRefName(name))) {
      TROUPE_ASSIGN(auto child, topLevelOperator(e, topLevel));
      children.push_back(std::move(child));
      continue;
    }
    TROUPE_ASSIGN(auto child, field(e));
    TROUPE_TRY(charge());
    // Several operators on one field are conditions of their own; nesting them would only slow matching down.
    if (child->kind() == MatchKind::kAnd && isOperatorDocument(e)) {
      for (auto& condition : child->takeChildren()) children.push_back(std::move(condition));
    } else {
      children.push_back(std::move(child));
    }
  }
  return conjunction(std::move(children));
}

StatusWith<Node> Parser::topLevelOperator(const Element& e, bool topLevel) {
  const auto name = e.name();
  if (name == "$and") return list(MatchKind::kAnd, e, topLevel);
  if (name == "$or") return list(MatchKind::kOr, e, topLevel);
  if (name == "$nor") return list(MatchKind::kNor, e, topLevel);
  if (name == "$alwaysTrue" || name == "$alwaysFalse") {
    if (e.toInt64() != 1) return {ErrorCode::kFailedToParse, std::string(name) + " must be an integer value of 1"};
    return std::make_unique<MatchExpression>(name == "$alwaysTrue" ? MatchKind::kAlwaysTrue : MatchKind::kAlwaysFalse,
                                             MatchExpression::Children());
  }
  if (name == "$expr") {
    if (!topLevel) return bad("$expr can only be applied to the top-level document");
    Value operand(e);
    TROUPE_ASSIGN(auto predicate, exprPredicate(e, context_));
    return leaf(MatchKind::kExpr, "", std::move(operand), std::move(predicate));
  }
  if (name == "$jsonSchema") {
    if (!e.is(Type::kDocument)) return {ErrorCode::kTypeMismatch, "$jsonSchema must be an object"};
    bytes_ += kSchemaFactor * e.valueSize();
    TROUPE_TRY(charge());
    TROUPE_ASSIGN(auto predicate, schemaPredicate(e.asDocument(), context_));
    return leaf(MatchKind::kJsonSchema, "", Value(e), std::move(predicate));
  }
  if (name == "$where") return bad("$where is not supported: this server does not run JavaScript; use $expr");
  if (name == "$text") return bad("$text is not supported: this server has no text indexes");
  return bad("unknown top level operator: " + std::string(name) +
             ". If you have a field name that starts with a '$' symbol, consider using $getField or $setField.");
}

StatusWith<Node> Parser::list(MatchKind kind, const Element& e, bool topLevel) {
  const std::string name(e.name());
  if (!e.is(Type::kArray)) return bad(name + " must be an array");
  MatchExpression::Children children;
  for (const auto& item : e.asArray()) {
    if (!item.is(Type::kDocument)) return bad("$or/$and/$nor entries need to be full objects");
    TROUPE_ASSIGN(auto child, document(item.asDocument(), topLevel));
    bytes_ += kNodeBytes;
    TROUPE_TRY(charge());
    children.push_back(std::move(child));
  }
  if (children.empty()) return bad("$and/$or/$nor must be a nonempty array");
  return std::make_unique<MatchExpression>(kind, std::move(children));
}

StatusWith<Node> Parser::field(const Element& e) {
  if (isOperatorDocument(e)) return operators(e.name(), e.asDocument());
  if (e.is(Type::kRegex)) return regexLiteral(e.name(), e);
  return equality(e.name(), e);
}

StatusWith<Node> Parser::equality(std::string_view path, const Element& e) { return compare(MatchKind::kEq, path, e); }

StatusWith<Node> Parser::compare(MatchKind kind, std::string_view path, const Element& e) {
  if (e.is(Type::kUndefined)) return bad("cannot compare to undefined");
  if (e.is(Type::kRegex) && kind != MatchKind::kEq)
    return bad("Can't have RegEx as arg to predicate over field '" + std::string(path) + "'.");
  // The predicate borrows the operand from the node, whose place does not change any more.
  auto node = leaf(kind, path, Value(e), nullptr);
  node->setPredicate(comparePredicate(kind, node->operand(), context_.collator));
  return node;
}

StatusWith<Node> Parser::regexLiteral(std::string_view path, const Element& e) {
  TROUPE_ASSIGN(auto predicate, regexPredicate(e.asRegex().pattern, e.asRegex().options, context_.work));
  return leaf(MatchKind::kRegex, path, Value(e), std::move(predicate));
}

StatusWith<Node> Parser::operators(std::string_view path, View conditions) {
  const Deeper deeper(*this);
  TROUPE_TRY(checkDepth());
  MatchExpression::Children children;
  bool regexDone = false;
  for (const auto& e : conditions) {
    const auto name = e.name();
    if (name == "$comment") continue;
    StatusWith<Node> child = Node();
    if (name == "$regex" || name == "$options") {
      if (std::exchange(regexDone, true)) continue;
      child = regexOperator(path, conditions);
    } else if (const auto parse = handler(name)) {
      child = (this->*parse)(path, e);
    } else {
      return bad("unknown operator: " + std::string(name));
    }
    if (!child.isOK()) return child.status();
    TROUPE_TRY(charge());
    children.push_back(std::move(child).value());
  }
  return conjunction(std::move(children));
}

StatusWith<Node> Parser::regexOperator(std::string_view path, View conditions) {
  const Element regex = conditions["$regex"];
  const Element options = conditions["$options"];
  if (!regex.ok()) return bad("$options needs a $regex");
  if (!regex.is(Type::kString) && !regex.is(Type::kRegex)) return bad("$regex has to be a string");
  if (options.ok() && !options.is(Type::kString)) return bad("$options has to be a string");
  std::string_view pattern, flags;
  if (regex.is(Type::kRegex)) {
    pattern = regex.asRegex().pattern;
    flags = regex.asRegex().options;
    if (options.ok() && !flags.empty())
      return {ErrorCode::kRegexOptionsConflict, "options set in both $regex and $options"};
  } else {
    pattern = regex.asString();
  }
  if (options.ok()) flags = options.asString();
  TROUPE_ASSIGN(auto predicate, regexPredicate(pattern, flags, context_.work));
  return leaf(MatchKind::kRegex, path, Value(bson::Regex{pattern, flags}), std::move(predicate));
}

StatusWith<Node> Parser::notEqual(std::string_view path, const Element& e) {
  if (e.is(Type::kRegex)) return bad("Can't have regex as arg to $ne.");
  TROUPE_ASSIGN(auto child, compare(MatchKind::kEq, path, e));
  return logic(MatchKind::kNot, std::move(child));
}

StatusWith<Node> Parser::in(std::string_view path, const Element& e) {
  if (!e.is(Type::kArray)) return bad(std::string(e.name()) + " needs an array");
  auto node = leaf(MatchKind::kIn, path, Value(e), nullptr);
  TROUPE_ASSIGN(auto predicate, inPredicate(node->operand(), context_));
  node->setPredicate(std::move(predicate));
  return node;
}

StatusWith<Node> Parser::notIn(std::string_view path, const Element& e) {
  TROUPE_ASSIGN(auto child, in(path, e));
  return logic(MatchKind::kNot, std::move(child));
}

StatusWith<Node> Parser::negation(std::string_view path, const Element& e) {
  if (e.is(Type::kRegex)) {
    TROUPE_ASSIGN(auto child, regexLiteral(path, e));
    return logic(MatchKind::kNot, std::move(child));
  }
  if (!e.is(Type::kDocument)) return bad("$not needs a regex or a document");
  if (e.asDocument().empty()) return bad("$not cannot be empty");
  TROUPE_ASSIGN(auto child, operators(path, e.asDocument()));
  return logic(MatchKind::kNot, std::move(child));
}

StatusWith<Node> Parser::exists(std::string_view path, const Element& e) {
  auto node = leaf(MatchKind::kExists, path, Value(true), existsPredicate());
  if (e.truthy()) return node;
  return logic(MatchKind::kNot, std::move(node));
}

StatusWith<Node> Parser::type(std::string_view path, const Element& e) {
  TypeSet types;
  TROUPE_TRY(types.add(e, path));
  return leaf(MatchKind::kType, path, Value(e), typePredicate(types));
}

StatusWith<Node> Parser::mod(std::string_view path, const Element& e) {
  if (!e.is(Type::kArray)) return bad("malformed mod, needs to be an array");
  int64_t numbers[2] = {0, 0};
  int count = 0;
  for (const auto& item : e.asArray()) {
    if (count == 2) return bad("malformed mod, too many elements");
    const std::string which = count == 0 ? "divisor" : "remainder";
    if (!item.isNumber()) return bad("malformed mod, " + which + " not a number");
    if (!std::isfinite(item.toDouble()))
      return bad("malformed mod, " + which +
                 " value is invalid :: caused by :: Unable to coerce NaN/Inf to integral type");
    const auto whole = truncatedInt64(item);
    if (!whole) return bad("malformed mod, " + which + " value is invalid :: caused by :: Out of bounds of a long");
    numbers[count++] = *whole;
  }
  if (count < 2) return bad("malformed mod, not enough elements");
  if (numbers[0] == 0) return bad("divisor cannot be 0");
  return leaf(MatchKind::kMod, path, Value(e), modPredicate(numbers[0], numbers[1]));
}

StatusWith<Node> Parser::size(std::string_view path, const Element& e) {
  const auto n = naturalNumber(e);
  if (!n.isOK()) return bad("Failed to parse $size. " + n.status().reason());
  if (*n > INT32_MAX) return bad("Failed to parse $size. Cannot represent as a 32-bit integer: " + describe(e));
  return leaf(MatchKind::kSize, path, Value(*n), sizePredicate(*n));
}

StatusWith<Node> Parser::all(std::string_view path, const Element& e) {
  if (!e.is(Type::kArray)) return bad("$all needs an array");
  const auto isElemMatch = [](const Element& item) {
    return item.is(Type::kDocument) && item.asDocument().first().name() == "$elemMatch";
  };
  MatchExpression::Children children;
  const bool elemMatches = isElemMatch(e.asArray().first());
  for (const auto& item : e.asArray()) {
    // Names that are no operators, as those of a pipeline's stages, make values.
    if (elemMatches != isElemMatch(item) || (!elemMatches && isOperatorDocument(item) && isOperator(item)))
      return bad("no $ expressions in $all");
    auto child = elemMatches             ? elemMatch(path, item.asDocument().first())
                 : item.is(Type::kRegex) ? regexLiteral(path, item)
                                         : equality(path, item);
    if (!child.isOK()) return child.status();
    TROUPE_TRY(charge());
    children.push_back(std::move(child).value());
  }
  if (children.empty()) return std::make_unique<MatchExpression>(MatchKind::kAlwaysFalse, std::move(children));
  return conjunction(std::move(children));
}

StatusWith<Node> Parser::elemMatch(std::string_view path, const Element& e) {
  if (!e.is(Type::kDocument)) return bad("$elemMatch needs an Object");
  const auto first = e.asDocument().first().name();
  const bool byValue = isOperatorDocument(e) && first != "$and" && first != "$or" && first != "$nor" &&
                       first != "$where" && first != "$expr" && first != "$jsonSchema" && first != "$comment";
  TROUPE_ASSIGN(auto child, byValue ? operators("", e.asDocument()) : document(e.asDocument(), false));
  auto node = leaf(byValue ? MatchKind::kElemMatchValue : MatchKind::kElemMatchObject, path, {}, nullptr);
  node->addChild(std::move(child));
  return node;
}

StatusWith<Node> Parser::geo(std::string_view, const Element& e) {
  return bad(std::string(e.name()) + " is not supported: this server has no geospatial operators");
}

StatusWith<BitMask> Parser::bitMask(std::string_view path, const Element& e) {
  std::vector<uint32_t> positions;
  if (e.is(Type::kArray)) {
    for (const auto& item : e.asArray()) {
      const auto n = wholeNumber(item);
      if (!n.isOK()) return bad("bit positions must be an integer but got: " + describe(item));
      if (*n < 0) return bad("bit positions must be >= 0 but got: " + describe(item));
      if (*n > INT32_MAX)
        return bad("bit positions cannot be represented as a 32-bit signed integer: " + describe(item));
      positions.push_back(static_cast<uint32_t>(*n));
    }
    return BitMask::ofPositions(std::move(positions));
  }
  if (e.is(Type::kBinary)) return BitMask::ofBytes(e.asBinary().bytes);
  if (!e.isNumber())
    return bad(std::string(path) + " takes an Array, a number, or a BinData but received: " + describe(e));
  TROUPE_ASSIGN(const int64_t mask, naturalNumber(e));
  for (uint32_t bit = 0; bit < 64; ++bit)
    if ((mask >> bit) & 1) positions.push_back(bit);
  return BitMask::ofPositions(std::move(positions));
}

Parser::Handler Parser::handler(std::string_view name) {
  static const std::unordered_map<std::string_view, Handler> kHandlers = {
      {"$eq", &Parser::comparison<MatchKind::kEq>},
      {"$lt", &Parser::comparison<MatchKind::kLt>},
      {"$lte", &Parser::comparison<MatchKind::kLte>},
      {"$gt", &Parser::comparison<MatchKind::kGt>},
      {"$gte", &Parser::comparison<MatchKind::kGte>},
      {"$ne", &Parser::notEqual},
      {"$in", &Parser::in},
      {"$nin", &Parser::notIn},
      {"$not", &Parser::negation},
      {"$exists", &Parser::exists},
      {"$type", &Parser::type},
      {"$mod", &Parser::mod},
      {"$size", &Parser::size},
      {"$all", &Parser::all},
      {"$elemMatch", &Parser::elemMatch},
      {"$bitsAllSet", &Parser::bits<MatchKind::kBitsAllSet>},
      {"$bitsAllClear", &Parser::bits<MatchKind::kBitsAllClear>},
      {"$bitsAnySet", &Parser::bits<MatchKind::kBitsAnySet>},
      {"$bitsAnyClear", &Parser::bits<MatchKind::kBitsAnyClear>},
      {"$geoWithin", &Parser::geo},
      {"$geoIntersects", &Parser::geo},
      {"$near", &Parser::geo},
      {"$nearSphere", &Parser::geo},
      {"$within", &Parser::geo},
  };
  const auto at = kHandlers.find(name);
  return at == kHandlers.end() ? nullptr : at->second;
}

}  // namespace

StatusWith<Node> parseMatch(View filter, const ParseContext& context) {
  Parser parser(context);
  return parser.finish(parser.document(filter, true));
}

StatusWith<Node> parseValueMatch(View conditions, const ParseContext& context) {
  Parser parser(context);
  return parser.finish(parser.operators("", conditions));
}

}  // namespace troupe::query
