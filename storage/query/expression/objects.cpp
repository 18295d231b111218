#include "storage/query/expression/objects.hpp"

#include "storage/query/expression/nodes.hpp"

// $mergeObjects, $getField, $setField, $unsetField.
namespace troupe::query {

using bson::Element;
using bson::Type;
using bson::Value;
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

Status MergedFields::add(bson::View over, QueryWork* work) {
  storage::MemoryCharge ahead;
  if (work) {
    TROUPE_TRY(work->step(static_cast<int64_t>(1 + (over.size() >> 7))));  // each name is looked up
    if (over.size() > storage::MemoryBudget::kFree)
      TROUPE_TRY(ahead.resize(work->memory(), over.size() + over.count() * int64_t{kPerField}));
  }
  for (const Element& field : over) {
    const auto known = places_.find(field.name());
    if (known != places_.end()) {
      Field& old = fields_[known->second];
      bytes_ += field.valueSize();
      bytes_ -= old.value.valueBytes().size();
      old.value = Value(field);
      continue;
    }
    fields_.push_back({std::string(field.name()), Value(field)});
    places_.emplace(fields_.back().name, fields_.size() - 1);
    bytes_ += kPerField + field.size();
  }
  return Status::OK();
}

void MergedFields::appendTo(bson::Builder& out) const {
  for (const Field& field : fields_) out.append(field.name, field.value);
}

namespace {

Result mergeObjects(Arguments& arguments, const Operator&) {
  MergedFields merged;
  HeldMemory held(arguments.variables.work());
  const auto merge = [&](const Element& e) -> Status {
    if (e.isNullish()) return Status::OK();
    if (!e.is(Type::kDocument))
      return {ErrorCode(40400),
              "$mergeObjects requires object inputs, but input " + show(e) + " is of type " + typeOf(e)};
    TROUPE_TRY(merged.add(e.asDocument(), arguments.variables.work()));
    return held.set(static_cast<int64_t>(merged.bytes()));
  };
  if (arguments.size() == 1 && arguments[0].is(Type::kArray)) {
    for (const Element& e : arguments[0].asArray()) TROUPE_TRY(merge(e));
  } else {
    for (size_t i = 0; i < arguments.size(); ++i) TROUPE_TRY(merge(arguments[i]));
  }
  Growth growth(arguments.variables.work());
  TROUPE_TRY(growth.reserve(merged.bytes()));
  bson::Builder out;
  merged.appendTo(out);
  return Operand(document(out.finish()));
}

constexpr NamedArgument kGetArguments[] = {{"field", true}, {"input"}};
constexpr NamedArgument kSetArguments[] = {
    {"field", true, 4161102}, {"input", true, 4161109}, {"value", true, 4161103}};
constexpr NamedArgument kUnsetArguments[] = {{"field", true, 4161102}, {"input", true, 4161109}};

StatusWith<std::string> fieldName(const Element& e, const Operator& op) {
  if (!e.is(Type::kString))
    return Status(ErrorCode(op.name == "$getField" ? 3041704 : 4161107),
                  std::string(op.name) + " requires 'field' to evaluate to type String, but got " + typeOf(e));
  if (e.asString().find('\0') != std::string_view::npos)
    return Status(ErrorCode(9534700), std::string(op.name) + ": a field name may not contain '\\0'");
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

/// The operand of $setField and $unsetField, whose `field` is a constant already as it is written.
StatusWith<ExpressionPtr> parseSetField(Parser& parser, const Element& e, const Operator& op) {
  TROUPE_ASSIGN(auto arguments, parser.parseArguments(op, e));
  const Element field = e.asDocument()["field"];
  const std::string name(op.name);
  if (field.is(Type::kString) && field.asString().starts_with('$'))
    return Status(ErrorCode(4161108),
                  "A field path reference which is not allowed in this context. Did you mean {$literal: '" +
                      std::string(field.asString()) + "'}?");
  const bool computed = field.is(Type::kArray) || (field.is(Type::kDocument) && !field.asDocument().empty());
  if (computed && !field.asDocument().has("$literal") && !field.asDocument().has("$const"))
    return Status(ErrorCode(4161106), name + " requires 'field' to evaluate to a constant");
  if (const Operand* known = arguments[0]->constant()) {
    TROUPE_ASSIGN([[maybe_unused]] const auto checked, fieldName(known->element(), op));
  }
  return parser.call(op, std::move(arguments));
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
    {.name = "$setField",
     .function = setField,
     .parse = parseSetField,
     .named = kSetArguments,
     .errors = {.notDocument = 4161100, .unknownArgument = 4161101}},
    {.name = "$unsetField",
     .function = setField,
     .parse = parseSetField,
     .named = kUnsetArguments,
     .errors = {.notDocument = 4161100, .unknownArgument = 4161101}},
};

}  // namespace

std::span<const Operator> objectOperators() { return kObjectsOperators; }

}  // namespace troupe::query
