#include "storage/query/expression/objects.hpp"

#include "storage/query/expression/nodes.hpp"

// $mergeObjects, $getField, $setField, $unsetField.
namespace troupe::query {

using bson::Element;
using bson::Type;
using Result = StatusWith<Operand>;

namespace {

/// The document with a field set, at its old place, or removed (`value` is absent). Of several fields with that name
/// the first one takes the value, and the others go.
StatusWith<bson::Document> withField(bson::View base, std::string_view name, const Element& value, QueryWork* work) {
  Growth growth(work);
  TROUPE_TRY(growth.reserve(base.size() + name.size() + value.valueSize()));
  bson::Builder out;
  bool placed = !value.ok();
  for (const Element& field : base) {
    if (field.name() != name) {
      out.append(field);
      continue;
    }
    if (!placed) out.append(name, value);
    placed = true;
  }
  if (!placed) out.append(name, value);
  return out.finish();
}

}  // namespace

bson::Document mergeDocuments(bson::View base, bson::View over) {
  auto merged = mergeDocuments(base, over, nullptr);
  return std::move(*merged);  // without an operation nothing fails
}

StatusWith<bson::Document> mergeDocuments(bson::View base, bson::View over, QueryWork* work) {
  if (base.empty()) return bson::Document(over);
  Growth growth(work);
  TROUPE_TRY(growth.reserve(base.bytes().size() + over.bytes().size()));
  bson::Builder out;
  const auto look = [work](bson::View walked) {  // finding a field walks the document
    return work ? work->step(stepsFor(walked.bytes().size())) : Status::OK();
  };
  for (const Element& field : base) {
    TROUPE_TRY(look(over));
    const Element replacement = over[field.name()];
    out.append(field.name(), replacement ? replacement : field);
  }
  for (const Element& field : over) {
    TROUPE_TRY(look(base));
    if (!base.has(field.name())) out.append(field);
  }
  return out.finish();
}

namespace {

Result mergeObjects(Arguments& arguments, const Operator&) {
  bson::Document result;
  Growth growth(arguments.variables.work());
  const auto merge = [&](const Element& e) -> Status {
    if (e.isNullish()) return Status::OK();
    if (!e.is(Type::kDocument))
      return {ErrorCode(40400),
              "$mergeObjects requires object inputs, but input " + show(e) + " is of type " + typeOf(e)};
    TROUPE_TRY(growth.reserve(result.bytes().size() + e.valueSize()));
    TROUPE_ASSIGN(result, mergeDocuments(result, e.asDocument(), arguments.variables.work()));
    return Status::OK();
  };
  if (arguments.size() == 1 && arguments[0].is(Type::kArray)) {
    for (const Element& e : arguments[0].asArray()) TROUPE_TRY(merge(e));
  } else {
    for (size_t i = 0; i < arguments.size(); ++i) TROUPE_TRY(merge(arguments[i]));
  }
  return Operand(document(result));
}

constexpr NamedArgument kGetArguments[] = {{"field", true}, {"input"}};
constexpr NamedArgument kSetArguments[] = {{"field", true}, {"input", true}, {"value", true}};
constexpr NamedArgument kUnsetArguments[] = {{"field", true}, {"input", true}};

StatusWith<std::string> fieldName(const Element& e, const Operator& op) {
  if (!e.is(Type::kString))
    return Status(ErrorCode(op.name == "$getField" ? 5654602 : 4161107),
                  std::string(op.name) + " requires 'field' to evaluate to type String, but got " + typeOf(e));
  if (e.asString().find('\0') != std::string_view::npos)
    return Status(ErrorCode(16411), std::string(op.name) + ": a field name may not contain '\\0'");
  return std::string(e.asString());
}

Result getField(Arguments& arguments, const Operator& op) {
  TROUPE_ASSIGN(const std::string name, fieldName(arguments[0], op));
  if (!arguments.given(1)) return Operand(arguments.variables.current()[name]);
  if (arguments[1].is(Type::kNull)) return Operand(nullValue());
  if (!arguments[1].is(Type::kDocument)) return Operand();
  return Operand(bson::Value(arguments[1].asDocument()[name]));
}

Result setField(Arguments& arguments, const Operator& op) {
  TROUPE_ASSIGN(const std::string name, fieldName(arguments[0], op));
  if (arguments[1].isNullish()) return Operand(nullValue());
  if (!arguments[1].is(Type::kDocument))
    return Status(ErrorCode(4161105), std::string(op.name) + " requires 'input' to evaluate to type Object");
  const Element value = op.name == "$setField" ? arguments[2] : Element();
  TROUPE_ASSIGN(const auto result, withField(arguments[1].asDocument(), name, value, arguments.variables.work()));
  return Operand(document(result));
}

/// `{$getField: "name"}` and `{$getField: {field, input}}`. The short form reads $$CURRENT, so it is not folded.
StatusWith<ExpressionPtr> parseGetField(Parser& parser, const Element& e, const Operator& op) {
  std::vector<ExpressionPtr> parts(2);
  const bool named = e.is(Type::kDocument) && !e.asDocument().first().name().starts_with('$');
  if (named) {
    for (const Element& field : e.asDocument()) {
      if (field.name() != "field" && field.name() != "input")
        return Status(ErrorCode(3041701), "$getField found an unknown argument: " + std::string(field.name()));
      TROUPE_ASSIGN(parts[field.name() == "input"], parser.parse(field));
    }
    if (!parts[0]) return Status(ErrorCode(3041702), "$getField requires 'field' to be specified");
    if (!parts[1]) return Status(ErrorCode(3041703), "$getField requires 'input' to be specified");
  } else {
    TROUPE_ASSIGN(parts[0], parser.parse(e));
    parts[1] = std::make_unique<DocumentExpression>(false, ValuePath());
  }
  static constexpr Operator kCall = {.name = "$getField", .function = getField, .named = kGetArguments};
  (void)op;
  return ExpressionPtr(std::make_unique<CallExpression>(kCall, std::move(parts), parser.context.collator));
}

constexpr Operator kObjectsOperators[] = {
    {.name = "$mergeObjects", .maxArity = Operator::kAny, .function = mergeObjects},
    {.name = "$getField", .parse = parseGetField},
    {.name = "$setField", .function = setField, .named = kSetArguments},
    {.name = "$unsetField", .function = setField, .named = kUnsetArguments},
};

}  // namespace

std::span<const Operator> objectOperators() { return kObjectsOperators; }

}  // namespace troupe::query
