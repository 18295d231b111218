#include <algorithm>
#include <random>

#include "messaging/bson/compare.hpp"
#include "storage/query/expression/hashed_key.hpp"
#include "storage/query/expression/node.hpp"

// $literal, $rand, sizes, timestamps, bits.
namespace troupe::query {

using bson::Element;
using bson::Type;
using Result = StatusWith<Operand>;

namespace {

double randomNumber(const Variables& variables) {
  if (variables.random) return variables.random();
  thread_local std::mt19937_64 generator{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(generator);
}

StatusWith<ExpressionPtr> parseLiteral(Parser&, const Element& e, const Operator&) {
  return makeConstant(Operand(bson::Value(e)));
}

/// `$meta`: missing where the stages before have not given the document that metadata.
class MetaExpression final : public Expression {
 public:
  explicit MetaExpression(std::string_view name) : name_(name) {}
  StatusWith<Operand> evaluate(Variables& variables) const override {
    const bson::View metadata = variables.metadata();
    if (metadata.empty()) return Operand();
    return variables.found(Operand(metadata[name_]), metadata.size());
  }
  void addDependencies(Dependencies& dependencies) const override { dependencies.indexKey |= name_ == "indexKey"; }
  void serialize(std::string_view name, bson::Builder& out) const override {
    out.append(name, bson::doc("$meta", name_));
  }

 private:
  std::string name_;
};

StatusWith<ExpressionPtr> parseMeta(Parser&, const Element& e, const Operator&) {
  constexpr std::string_view kNames[] = {
      "textScore",       "indexKey",     "recordId", "sortKey",           "searchScore",        "searchHighlights",
      "geoNearDistance", "geoNearPoint", "randVal",  "vectorSearchScore", "searchScoreDetails", "searchSequenceToken",
      "score",           "scoreDetails"};
  if (!e.is(Type::kString)) return Status(ErrorCode(17307), "$meta only supports string arguments");
  if (std::ranges::count(kNames, e.asString()) == 0)
    return Status(ErrorCode(17308), "Unsupported argument to $meta: " + std::string(e.asString()));
  return ExpressionPtr(std::make_unique<MetaExpression>(e.asString()));
}

StatusWith<ExpressionPtr> parseRandom(Parser& parser, const Element& e, const Operator& op) {
  if (!e.is(Type::kDocument) && !e.is(Type::kArray))
    return Status(ErrorCode(10065), "invalid parameter: $rand takes an empty object, but got " + typeOf(e));
  if (!e.asDocument().empty()) return Status(ErrorCode(3040501), "$rand does not currently accept arguments");
  return parser.call(op, {});
}

Result random(Arguments& arguments, const Operator&) { return Operand(real(randomNumber(arguments.variables))); }

Result sampleRate(Arguments& arguments, const Operator&) {
  const Element e = arguments[0];
  if (!e.isNumber())
    return Status(ErrorCode::kTypeMismatch, "argument to $sampleRate must be a numeric type, not " + typeOf(e));
  const double rate = e.toDouble();
  if (!(rate >= 0 && rate <= 1))
    return Status(ErrorCode::kBadValue, "numeric argument to $sampleRate must be in [0, 1]");
  return Operand(boolean(randomNumber(arguments.variables) < rate));
}

Result hashedKey(Arguments& arguments, const Operator&) {
  const bson::Value null = nullValue();
  return Operand(int64(hashedIndexKey(arguments[0].ok() ? arguments[0] : null.element())));
}

Result bsonSize(Arguments& arguments, const Operator&) {
  const Element e = arguments[0];
  if (!e.is(Type::kDocument))
    return Status(ErrorCode(31393), "$bsonSize requires a document input, found: " + typeOf(e));
  return Operand(int32(static_cast<int32_t>(e.asDocument().size())));
}

Result binarySize(Arguments& arguments, const Operator&) {
  const Element e = arguments[0];
  if (e.is(Type::kString)) return Operand(integer(static_cast<int64_t>(e.asString().size())));
  if (e.is(Type::kBinary)) return Operand(integer(static_cast<int64_t>(e.asBinary().bytes.size())));
  return Status(ErrorCode(51276), "$binarySize requires a string or BinData argument, found: " + typeOf(e));
}

Result timestampPart(Arguments& arguments, const Operator& op) {
  const Element e = arguments[0];
  const bool second = op.name == "$tsSecond";
  if (!e.is(Type::kTimestamp))
    return Status(ErrorCode(second ? 5687301 : 5687302),
                  " Argument to " + std::string(op.name) + " must be a timestamp, but is " + typeOf(e));
  return Operand(int64(second ? e.asTimestamp().seconds : e.asTimestamp().increment));
}

Result bits(Arguments& arguments, const Operator& op) {
  const bool isAnd = op.name == "$bitAnd", isOr = op.name == "$bitOr";
  int64_t result = isAnd ? -1 : 0;
  bool isLong = false, isNull = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Element e = arguments[i];
    if (e.isNullish()) {
      isNull = true;
      continue;
    }
    if (!e.is(Type::kInt32) && !e.is(Type::kInt64))
      return Status(ErrorCode::kTypeMismatch, std::string(op.name) + " only supports int and long operands.");
    isLong |= e.is(Type::kInt64);
    const int64_t v = e.toInt64();
    result = isAnd ? result & v : isOr ? result | v : result ^ v;
  }
  if (isNull) return Operand(nullValue());
  return Operand(isLong ? int64(result) : int32(static_cast<int32_t>(result)));
}

Result bitNot(Arguments& arguments, const Operator&) {
  const Element e = arguments[0];
  if (e.is(Type::kInt32)) return Operand(int32(~e.asInt32()));
  if (e.is(Type::kInt64)) return Operand(int64(~e.asInt64()));
  return Status(ErrorCode::kTypeMismatch, "$bitNot only supports int and long, not: " + typeOf(e) + ".");
}

constexpr Operator unary(std::string_view name, Function function) {
  return {.name = name, .minArity = 1, .maxArity = 1, .function = function, .nullIfNull = true};
}

constexpr Operator kMiscellaneousOperators[] = {
    {.name = "$literal", .parse = parseLiteral},
    {.name = "$const", .parse = parseLiteral},
    {.name = "$meta", .parse = parseMeta},
    {.name = "$rand", .function = random, .parse = parseRandom, .random = true},
    {.name = "$toHashedIndexKey", .minArity = 1, .maxArity = 1, .function = hashedKey},
    {.name = "$sampleRate", .minArity = 1, .maxArity = 1, .function = sampleRate, .random = true},
    unary("$bsonSize", bsonSize),
    unary("$binarySize", binarySize),
    unary("$tsSecond", timestampPart),
    unary("$tsIncrement", timestampPart),
    {.name = "$bitAnd", .maxArity = Operator::kAny, .function = bits},
    {.name = "$bitOr", .maxArity = Operator::kAny, .function = bits},
    {.name = "$bitXor", .maxArity = Operator::kAny, .function = bits},
    unary("$bitNot", bitNot),
};

}  // namespace

std::span<const Operator> miscellaneousOperators() { return kMiscellaneousOperators; }

}  // namespace troupe::query
