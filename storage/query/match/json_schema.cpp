#include "storage/query/match/json_schema.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "messaging/bson/numeric.hpp"
#include "storage/query/expression/values.hpp"
#include "storage/query/match/predicates.hpp"
#include "storage/query/match/schema_validation.hpp"
#include "storage/query/match/unordered_fields.hpp"

namespace troupe::query {
namespace {

using bson::Element;
using bson::Type;
using bson::Value;
using bson::View;

class Schema;
using SchemaPtr = std::unique_ptr<Schema>;

Status wrong(std::string reason) { return {ErrorCode::kFailedToParse, std::move(reason)}; }
Status mistyped(std::string_view keyword, std::string_view what) {
  return {ErrorCode::kTypeMismatch, "$jsonSchema keyword '" + std::string(keyword) + "' must be " + std::string(what)};
}

int64_t codePoints(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; });
}

/// The subject of a check: a value, or a whole document that is no field of anything (`element` is absent).
struct Subject {
  explicit Subject(const Element& e)
      : type(e.type()), element(e), object(e.is(Type::kDocument) ? e.asDocument() : View()) {}
  explicit Subject(View document) : type(Type::kDocument), object(document) {}
  Type type;
  Element element;
  View object;
};

struct Range {
  std::optional<int64_t> least, most;
  bool limits() const { return least || most; }
  bool holds(int64_t n) const { return (!least || n >= *least) && (!most || n <= *most); }
};

/// A boolean or a schema, as additionalProperties and additionalItems are.
struct Otherwise {
  bool allowed = true;
  SchemaPtr schema;
  bool valid(const Element& e, Validation& validation) const;
};

class Schema {
 public:
  static StatusWith<SchemaPtr> parse(View text, const ParseContext& context, int depth);
  /// Means nothing once `validation` does not go on.
  bool valid(const Subject& subject, Validation& validation) const;

 private:
  struct Dependency {
    std::string property;
    std::vector<std::string> names;
    SchemaPtr schema;
  };
  using Handler = Status (Schema::*)(const Element& e);

  static Handler handler(std::string_view keyword);
  Status ignore(const Element& e);
  Status types(const Element& e);
  Status enumeration(const Element& e);
  Status bound(const Element& e);
  Status exclusive(const Element& e);
  Status multiple(const Element& e);
  Status size(const Element& e);
  Status pattern(const Element& e);
  Status required(const Element& e);
  Status properties(const Element& e);
  Status patternProperties(const Element& e);
  Status otherwise(const Element& e);
  Status dependencies(const Element& e);
  Status items(const Element& e);
  Status unique(const Element& e);
  Status combination(const Element& e);
  Status negation(const Element& e);
  StatusWith<SchemaPtr> sub(const Element& e, std::string_view keyword);

  Status step(int64_t steps = 1) const { return context_->work ? context_->work->step(steps) : Status::OK(); }

  bool validNumber(const Element& e) const;
  bool validString(std::string_view text, Validation& validation) const;
  bool validObject(const Subject& subject, Validation& validation) const;
  bool validDependencies(const Subject& subject, Validation& validation) const;
  bool validProperty(const Element& e, Validation& validation) const;
  bool validArray(View array, Validation& validation) const;
  bool validCombinations(const Subject& subject, Validation& validation) const;

  const ParseContext* context_ = nullptr;
  int depth_ = 0;
  std::optional<TypeSet> types_;
  std::optional<Value> enum_;  ///< an array, the fields within sorted
  std::optional<Value> minimum_, maximum_, multipleOf_;
  bool exclusiveMinimum_ = false, exclusiveMaximum_ = false;
  Range length_, itemCount_, propertyCount_;
  std::shared_ptr<const CompiledRegex> pattern_;
  std::vector<std::string> required_;
  std::vector<std::pair<std::string, SchemaPtr>> properties_;
  std::vector<std::pair<std::shared_ptr<const CompiledRegex>, SchemaPtr>> patternProperties_;
  Otherwise additionalProperties_, additionalItems_;
  std::vector<Dependency> dependencies_;
  SchemaPtr everyItem_;
  std::vector<SchemaPtr> leadingItems_;
  bool hasLeadingItems_ = false;
  bool uniqueItems_ = false;
  std::vector<SchemaPtr> allOf_, anyOf_, oneOf_;
  SchemaPtr not_;
};

bool Otherwise::valid(const Element& e, Validation& validation) const {
  return schema ? schema->valid(Subject(e), validation) : allowed;
}

StatusWith<SchemaPtr> Schema::parse(View text, const ParseContext& context, int depth) {
  if (depth > context.limits.filterDepth) return {ErrorCode::kOverflow, "$jsonSchema is nested too deeply"};
  auto schema = std::make_unique<Schema>();
  schema->context_ = &context;
  schema->depth_ = depth;
  if (text.has("type") && text.has("bsonType"))
    return wrong("Cannot specify both $jsonSchema keywords 'type' and 'bsonType'");
  for (const auto& e : text) {
    const auto parse = handler(e.name());
    if (!parse) return wrong("Unknown $jsonSchema keyword: " + std::string(e.name()));
    TROUPE_TRY((schema.get()->*parse)(e));
  }
  if (text.has("exclusiveMinimum") && !text.has("minimum"))
    return wrong("$jsonSchema keyword 'minimum' must be a present if exclusiveMinimum is present");
  if (text.has("exclusiveMaximum") && !text.has("maximum"))
    return wrong("$jsonSchema keyword 'maximum' must be a present if exclusiveMaximum is present");
  schema->context_ = nullptr;  // for parsing only
  return schema;
}

StatusWith<SchemaPtr> Schema::sub(const Element& e, std::string_view keyword) {
  if (!e.is(Type::kDocument)) return mistyped(keyword, "an object");
  TROUPE_TRY(step());
  return parse(e.asDocument(), *context_, depth_ + 1);
}

Status Schema::ignore(const Element& e) {
  if (!e.is(Type::kString)) return mistyped(e.name(), "a string");
  return Status::OK();
}

Status Schema::types(const Element& e) {
  types_.emplace();
  const bool json = e.name() == "type";
  const auto one = [&](const Element& name) -> Status {
    if (!name.is(Type::kString)) return mistyped(e.name(), "either a string or an array of strings");
    const auto alias = name.asString();
    if (alias == "integer") return wrong("$jsonSchema type 'integer' is not currently supported.");
    if (!json) return types_->addAlias(alias);
    if (alias == "boolean") return types_->addAlias("bool");
    for (const auto known : {"object", "array", "number", "string", "null"})
      if (alias == known) return types_->addAlias(alias);
    return {ErrorCode::kBadValue, "Unknown type name alias: " + std::string(alias)};
  };
  if (!e.is(Type::kArray)) return one(e);
  for (const auto& item : e.asArray()) TROUPE_TRY(one(item));
  if (!types_->any()) return wrong("$jsonSchema keyword '" + std::string(e.name()) + "' must name at least one type");
  return Status::OK();
}

Status Schema::enumeration(const Element& e) {
  if (!e.is(Type::kArray)) return mistyped("enum", "an array");
  if (e.asArray().empty()) return wrong("$jsonSchema keyword 'enum' cannot be an empty array");
  TROUPE_TRY(step(stepsForFields(e.size())));
  enum_.emplace(withSortedFields(e));  // once for all values that will be compared
  return Status::OK();
}

Status Schema::bound(const Element& e) {
  if (!e.isNumber()) return mistyped(e.name(), "a number");
  (e.name() == "minimum" ? minimum_ : maximum_).emplace(e);
  return Status::OK();
}

Status Schema::exclusive(const Element& e) {
  if (!e.is(Type::kBool)) return mistyped(e.name(), "a boolean");
  (e.name() == "exclusiveMinimum" ? exclusiveMinimum_ : exclusiveMaximum_) = e.asBool();
  return Status::OK();
}

Status Schema::multiple(const Element& e) {
  if (!e.isNumber()) return mistyped("multipleOf", "a number");
  if (bson::compareDecimals(toDecimal(e), bson::decimalFromInt64(0)) <= 0)
    return wrong("$jsonSchema keyword 'multipleOf' must have a positive value");
  multipleOf_.emplace(e);
  return Status::OK();
}

Status Schema::size(const Element& e) {
  if (!e.isNumber())
    return wrong("$jsonSchema keyword '" + std::string(e.name()) + "' must be a number, found: " + typeOf(e));
  const double d = e.toDouble();
  if (!(d >= 0) || d != std::trunc(d))
    return wrong("Expected a non-negative integer for $jsonSchema keyword '" + std::string(e.name()) + "'");
  const auto name = e.name().substr(3);
  Range& range = name == "Length" ? length_ : name == "Items" ? itemCount_ : propertyCount_;
  (e.name().starts_with("min") ? range.least : range.most) = e.toInt64();
  return Status::OK();
}

Status Schema::pattern(const Element& e) {
  if (!e.is(Type::kString)) return mistyped("pattern", "a string");
  TROUPE_ASSIGN(pattern_, CompiledRegex::compile(e.asString(), "", context_->work));
  return Status::OK();
}

Status Schema::required(const Element& e) {
  if (!e.is(Type::kArray)) return mistyped("required", "an array");
  for (const auto& item : e.asArray()) {
    if (!item.is(Type::kString)) return mistyped("required", "an array of strings");
    required_.emplace_back(item.asString());
  }
  if (required_.empty()) return wrong("$jsonSchema keyword 'required' cannot be an empty array");
  auto sorted = required_;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return wrong("$jsonSchema keyword 'required' array cannot contain duplicate values");
  return Status::OK();
}

Status Schema::properties(const Element& e) {
  if (!e.is(Type::kDocument)) return mistyped("properties", "an object");
  for (const auto& property : e.asDocument()) {
    TROUPE_ASSIGN(auto schema, sub(property, property.name()));
    properties_.emplace_back(property.name(), std::move(schema));
  }
  return Status::OK();
}

Status Schema::patternProperties(const Element& e) {
  if (!e.is(Type::kDocument)) return mistyped("patternProperties", "an object");
  for (const auto& property : e.asDocument()) {
    auto compiled = CompiledRegex::compile(property.name(), "", context_->work);
    if (compiled.status() == ErrorCode::kInvalidRegex) return {ErrorCode::kBadValue, compiled.status().reason()};
    TROUPE_TRY(compiled.status());
    TROUPE_ASSIGN(auto schema, sub(property, property.name()));
    patternProperties_.emplace_back(std::move(*compiled), std::move(schema));
  }
  return Status::OK();
}

Status Schema::otherwise(const Element& e) {
  Otherwise& target = e.name() == "additionalItems" ? additionalItems_ : additionalProperties_;
  if (e.is(Type::kBool)) {
    target.allowed = e.asBool();
    return Status::OK();
  }
  if (!e.is(Type::kDocument)) return mistyped(e.name(), "either an object or a boolean");
  TROUPE_ASSIGN(target.schema, sub(e, e.name()));
  return Status::OK();
}

Status Schema::dependencies(const Element& e) {
  if (!e.is(Type::kDocument)) return mistyped("dependencies", "an object");
  for (const auto& item : e.asDocument()) {
    Dependency dependency{std::string(item.name()), {}, nullptr};
    if (item.is(Type::kArray)) {
      for (const auto& name : item.asArray()) {
        if (!name.is(Type::kString)) return mistyped("dependencies", "an object of schemas or arrays of strings");
        dependency.names.emplace_back(name.asString());
      }
      if (dependency.names.empty())
        return wrong("property '" + dependency.property +
                     "' in $jsonSchema keyword 'dependencies' cannot be an empty array");
    } else {
      TROUPE_ASSIGN(dependency.schema, sub(item, "dependencies"));
    }
    dependencies_.push_back(std::move(dependency));
  }
  return Status::OK();
}

Status Schema::items(const Element& e) {
  if (!e.is(Type::kArray)) {
    if (!e.is(Type::kDocument)) return mistyped("items", "an array or an object");
    TROUPE_ASSIGN(everyItem_, sub(e, "items"));
    return Status::OK();
  }
  hasLeadingItems_ = true;
  for (const auto& item : e.asArray()) {
    TROUPE_ASSIGN(auto schema, sub(item, "items"));
    leadingItems_.push_back(std::move(schema));
  }
  return Status::OK();
}

Status Schema::unique(const Element& e) {
  if (!e.is(Type::kBool)) return mistyped("uniqueItems", "a boolean");
  uniqueItems_ = e.asBool();
  return Status::OK();
}

Status Schema::combination(const Element& e) {
  if (!e.is(Type::kArray)) return mistyped(e.name(), "an array");
  auto& target = e.name() == "allOf" ? allOf_ : e.name() == "anyOf" ? anyOf_ : oneOf_;
  for (const auto& item : e.asArray()) {
    TROUPE_ASSIGN(auto schema, sub(item, e.name()));
    target.push_back(std::move(schema));
  }
  if (target.empty())
    return {ErrorCode::kBadValue, "$jsonSchema keyword '" + std::string(e.name()) + "' must be a non-empty array"};
  return Status::OK();
}

Status Schema::negation(const Element& e) {
  TROUPE_ASSIGN(not_, sub(e, "not"));
  return Status::OK();
}

Schema::Handler Schema::handler(std::string_view keyword) {
  static const std::unordered_map<std::string_view, Handler> kHandlers = {
      {"title", &Schema::ignore},
      {"description", &Schema::ignore},
      {"type", &Schema::types},
      {"bsonType", &Schema::types},
      {"enum", &Schema::enumeration},
      {"minimum", &Schema::bound},
      {"maximum", &Schema::bound},
      {"exclusiveMinimum", &Schema::exclusive},
      {"exclusiveMaximum", &Schema::exclusive},
      {"multipleOf", &Schema::multiple},
      {"minLength", &Schema::size},
      {"maxLength", &Schema::size},
      {"minItems", &Schema::size},
      {"maxItems", &Schema::size},
      {"minProperties", &Schema::size},
      {"maxProperties", &Schema::size},
      {"pattern", &Schema::pattern},
      {"required", &Schema::required},
      {"properties", &Schema::properties},
      {"patternProperties", &Schema::patternProperties},
      {"additionalProperties", &Schema::otherwise},
      {"additionalItems", &Schema::otherwise},
      {"dependencies", &Schema::dependencies},
      {"items", &Schema::items},
      {"uniqueItems", &Schema::unique},
      {"allOf", &Schema::combination},
      {"anyOf", &Schema::combination},
      {"oneOf", &Schema::combination},
      {"not", &Schema::negation},
  };
  const auto at = kHandlers.find(keyword);
  return at == kHandlers.end() ? nullptr : at->second;
}

bool Schema::valid(const Subject& subject, Validation& validation) const {
  if (!validation.goesOn()) return false;
  if (types_ && !types_->contains(subject.type)) return false;
  if (enum_) {
    const View values = enum_->element().asArray();
    if (!(subject.element.ok() ? isOneOf(subject.element, values, validation)
                               : isOneOf(subject.object, values, validation)))
      return false;
  }
  if (subject.type == Type::kDocument && !validObject(subject, validation)) return false;
  if (subject.type == Type::kArray && !validArray(subject.element.asArray(), validation)) return false;
  if (subject.type == Type::kString && !validString(subject.element.asString(), validation)) return false;
  if (subject.element.isNumber() && !validNumber(subject.element)) return false;
  return validCombinations(subject, validation);
}

bool Schema::validCombinations(const Subject& subject, Validation& validation) const {
  const auto accepts = [&](const SchemaPtr& schema) { return schema->valid(subject, validation); };
  if (!std::all_of(allOf_.begin(), allOf_.end(), accepts)) return false;
  // A value that was accepted needs no further schema, nor does a check that was interrupted.
  const auto decides = [&](const SchemaPtr& schema) { return accepts(schema) || !validation.error.isOK(); };
  if (!anyOf_.empty() && std::none_of(anyOf_.begin(), anyOf_.end(), decides)) return false;
  if (!oneOf_.empty()) {
    const auto first = std::find_if(oneOf_.begin(), oneOf_.end(), decides);
    if (first == oneOf_.end() || std::any_of(first + 1, oneOf_.end(), decides)) return false;
  }
  return !not_ || !not_->valid(subject, validation);
}

bool Schema::validString(std::string_view text, Validation& validation) const {
  if (!validation.goesOn(stepsFor(text.size()))) return false;
  if (length_.limits() && !length_.holds(codePoints(text))) return false;
  return !pattern_ || matches(*pattern_, text, validation);
}

bool Schema::validNumber(const Element& e) const {
  if (minimum_) {
    const int order = bson::compareNumbers(e, minimum_->element());
    if (order < 0 || (order == 0 && exclusiveMinimum_)) return false;
  }
  if (maximum_) {
    const int order = bson::compareNumbers(e, maximum_->element());
    if (order > 0 || (order == 0 && exclusiveMaximum_)) return false;
  }
  if (!multipleOf_) return true;
  // In decimals: 0.3 is a multiple of 0.1.
  return bson::isZero(bson::remainder(toDecimal(e), toDecimal(multipleOf_->element())));
}

bool Schema::validObject(const Subject& subject, Validation& validation) const {
  const View object = subject.object;
  for (const auto& name : required_)
    if (!hasField(object, name, validation)) return false;
  if (!validation.goesOn(stepsFor(object.size()))) return false;
  if (propertyCount_.limits() && !propertyCount_.holds(object.count())) return false;
  if (!validDependencies(subject, validation)) return false;
  if (properties_.empty() && patternProperties_.empty() && !additionalProperties_.schema &&
      additionalProperties_.allowed)
    return true;
  return std::all_of(object.begin(), object.end(), [&](const Element& e) { return validProperty(e, validation); });
}

bool Schema::validDependencies(const Subject& subject, Validation& validation) const {
  for (const auto& dependency : dependencies_) {
    const bool applies = hasField(subject.object, dependency.property, validation);
    if (!validation.error.isOK()) return false;
    if (!applies) continue;
    for (const auto& name : dependency.names)
      if (!hasField(subject.object, name, validation)) return false;
    if (dependency.schema && !dependency.schema->valid(subject, validation)) return false;
  }
  return true;
}

bool Schema::validProperty(const Element& e, Validation& validation) const {
  bool named = false;
  for (const auto& [name, schema] : properties_) {
    if (!validation.goesOn()) return false;
    if (name != e.name()) continue;
    named = true;
    if (!schema->valid(Subject(e), validation)) return false;
  }
  for (const auto& [regex, schema] : patternProperties_) {
    const bool matched = matches(*regex, e.name(), validation);
    if (!validation.error.isOK()) return false;
    if (!matched) continue;
    named = true;
    if (!schema->valid(Subject(e), validation)) return false;
  }
  return named || additionalProperties_.valid(e, validation);
}

bool Schema::validArray(View array, Validation& validation) const {
  if (!validation.goesOn(stepsFor(array.size()))) return false;
  if (itemCount_.limits() && !itemCount_.holds(array.count())) return false;
  if (everyItem_ || hasLeadingItems_) {
    size_t n = 0;
    for (const auto& item : array) {
      if (!validation.goesOn()) return false;
      if (everyItem_ && !everyItem_->valid(Subject(item), validation)) return false;
      if (hasLeadingItems_ && !(n < leadingItems_.size() ? leadingItems_[n]->valid(Subject(item), validation)
                                                         : additionalItems_.valid(item, validation)))
        return false;
      ++n;
    }
  }
  return !uniqueItems_ || allDiffer(array, validation);
}

class SchemaTest final : public Predicate {
 public:
  SchemaTest(SchemaPtr schema, QueryWork* work) : schema_(std::move(schema)), work_(work) {}
  bool test(const Element& e, MatchDetails* details) const override {
    Validation validation{work_, {}};
    const bool valid = schema_->valid(Subject(e), validation);
    if (validation.error.isOK()) return valid;
    if (details) details->error = std::move(validation.error);
    return false;
  }
  bool canFail() const override { return true; }
  StatusWith<bool> testDocument(View document) const override {
    Validation validation{work_, {}};
    const bool valid = schema_->valid(Subject(document), validation);
    TROUPE_TRY(validation.error);
    return valid;
  }

 private:
  SchemaPtr schema_;
  QueryWork* work_;
};

}  // namespace

StatusWith<std::unique_ptr<Predicate>> schemaPredicate(View schema, const ParseContext& context) {
  TROUPE_ASSIGN(auto parsed, Schema::parse(schema, context, 0));
  return std::unique_ptr<Predicate>(std::make_unique<SchemaTest>(std::move(parsed), context.work));
}

}  // namespace troupe::query
