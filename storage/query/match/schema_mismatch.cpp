// Which rules of a schema a document breaks. Each keyword is tried alone, as a schema of its own, so that nothing here
// judges.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "messaging/bson/compare.hpp"
#include "storage/query/match/json_schema.hpp"
#include "storage/query/match/mismatch.hpp"
#include "storage/query/match/regex.hpp"

namespace troupe::query {

namespace {

using bson::Builder;
using bson::Element;
using bson::Type;
using bson::View;

/// A value, or a whole document that is no field of anything (`element` is absent).
struct Subject {
  Element element;
  View document;
  bool isObject() const { return !element.ok() || element.is(Type::kDocument); }
  View object() const { return element.ok() ? element.asDocument() : document; }
  View array() const { return element.is(Type::kArray) ? element.asArray() : View(); }
};
Subject subjectOf(const Element& e) { return {e, {}}; }

/// A schema that judges many values.
class Rule {
 public:
  Rule(View schema, Explanation& to) {
    ParseContext context;
    context.work = to.validation.work;
    if (!to.goesOn(stepsForFields(schema.size()))) return;
    auto parsed = schemaPredicate(schema, context);
    if (parsed.isOK()) test_ = std::move(parsed).value();
  }
  /// Also of a rule that was accepted once and is none any more: there is nothing to say about it.
  bool satisfiedBy(const Subject& subject, Explanation& to) const {
    if (!test_ || !to.goesOn()) return true;
    if (subject.element.ok()) {
      const bool passed = test_->test(subject.element);
      return passed || !to.goesOn();
    }
    const auto passed = test_->testDocument(subject.document);
    to.validation.goesOnAfter(passed.status());
    return !passed.isOK() || *passed;
  }

 private:
  std::unique_ptr<Predicate> test_;
};

bool satisfies(View schema, const Subject& subject, Explanation& to) {
  return Rule(schema, to).satisfiedBy(subject, to);
}

/// The names of a keyword's schemas, each with a schema that everything satisfies.
void appendNamesOnly(const Element& schemas, Builder& out) {
  if (!schemas.isObjectLike()) return;
  schemas.is(Type::kArray) ? out.openArray(schemas.name()) : out.openDocument(schemas.name());
  for (const Element& e : schemas.asDocument()) out.append(e.name(), bson::Document());
  out.close();
}

/// A schema of this keyword only, with the sibling keywords that its meaning depends on.
bson::Document alone(View schema, const Element& keyword) {
  Builder b;
  b.append(keyword);
  const auto name = keyword.name();
  if (name == "minimum" && schema.has("exclusiveMinimum")) b.append(schema["exclusiveMinimum"]);
  if (name == "maximum" && schema.has("exclusiveMaximum")) b.append(schema["exclusiveMaximum"]);
  if (name == "additionalItems" && schema["items"].is(Type::kArray)) appendNamesOnly(schema["items"], b);
  if (name == "additionalProperties") {
    appendNamesOnly(schema["properties"], b);
    appendNamesOnly(schema["patternProperties"], b);
  }
  return b.finish();
}

/// Copies the `title` and `description` of a property's schema.
void appendAnnotations(View schema, Explanation& to) {
  for (const auto name : {"title", "description"}) {
    if (const Element e = schema[name]; e) to.copy(name, e);
  }
}

void explainRules(View schema, const Subject& subject, Explanation& to);

/// What is open stays so once the explanation does not go on: nothing of it is shown then.
void appendDetails(View schema, const Subject& subject, Explanation& to) {
  to.out.openArray("details");
  explainRules(schema, subject, to);
  if (to.goesOn()) to.out.close();
}

bool matchesName(const CompiledRegex& regex, std::string_view name, Explanation& to) {
  const auto matched = regex.matches(name, to.validation.work);
  return to.validation.goesOnAfter(matched.status()) && *matched;
}

/// The names that one of `patterns` matches.
class NamePatterns {
 public:
  NamePatterns(const Element& patterns, Explanation& to) {
    if (!patterns.isObjectLike()) return;
    for (const Element& e : patterns.asDocument()) {
      if (!to.goesOn()) return;
      const auto regex = CompiledRegex::compile(e.name(), "", to.validation.work);
      if (regex.isOK()) patterns_.push_back(*regex);
    }
  }
  bool match(std::string_view name, Explanation& to) const {
    return std::any_of(patterns_.begin(), patterns_.end(),
                       [&](const auto& regex) { return matchesName(*regex, name, to); });
  }

 private:
  std::vector<std::shared_ptr<const CompiledRegex>> patterns_;
};

/// The fields of an object by name; of several with one name the first.
std::unordered_map<std::string_view, Element> fieldsByName(View object, Explanation& to) {
  std::unordered_map<std::string_view, Element> fields;
  if (!to.goesOn(stepsForFields(object.size()))) return fields;
  for (const Element& e : object) fields.emplace(e.name(), e);
  return fields;
}

void explainProperties(const Element& properties, View object, Explanation& to) {
  to.out.openArray("propertiesNotSatisfied");
  const auto fields = fieldsByName(object, to);
  for (const Element& property : properties.asDocument()) {
    if (!to.goesOn()) return;
    const auto value = fields.find(property.name());
    if (value == fields.end() || satisfies(property.asDocument(), subjectOf(value->second), to)) continue;
    to.out.pushDocument().append("propertyName", property.name());
    appendAnnotations(property.asDocument(), to);
    appendDetails(property.asDocument(), subjectOf(value->second), to);
    if (!to.goesOn()) return;
    to.out.close();
  }
  to.out.close();
}

void explainPatternProperties(const Element& patterns, View object, Explanation& to) {
  to.out.openArray("details");
  for (const Element& pattern : patterns.asDocument()) {
    if (!to.goesOn()) return;
    const auto regex = CompiledRegex::compile(pattern.name(), "", to.validation.work);
    if (!regex.isOK()) continue;
    const Rule rule(pattern.asDocument(), to);
    for (const Element& value : object) {
      if (!to.goesOn()) return;
      if (!matchesName(**regex, value.name(), to) || rule.satisfiedBy(subjectOf(value), to)) continue;
      to.out.pushDocument().append("propertyName", value.name()).append("regexMatched", pattern.name());
      appendDetails(pattern.asDocument(), subjectOf(value), to);
      if (!to.goesOn()) return;
      to.out.close();
    }
  }
  to.out.close();
}

/// The first of `additional` that the schema refuses.
void explainFailingProperty(View schema, const std::vector<Element>& additional, Explanation& to) {
  const Rule rule(schema, to);
  const auto failing = std::find_if(additional.begin(), additional.end(),
                                    [&](const Element& e) { return !rule.satisfiedBy(subjectOf(e), to); });
  if (failing == additional.end()) return;
  to.out.append("reason", "at least one additional property did not match the subschema")
      .append("failingProperty", failing->name());
  appendDetails(schema, subjectOf(*failing), to);
}

void explainAdditionalProperties(View schema, const Element& rule, View object, Explanation& to) {
  const Element properties = schema["properties"];
  const auto known = fieldsByName(properties.isObjectLike() ? properties.asDocument() : View(), to);
  const NamePatterns patterns(schema["patternProperties"], to);
  std::vector<Element> additional;
  for (const Element& e : object) {
    if (!to.goesOn()) return;
    if (!known.contains(e.name()) && !patterns.match(e.name(), to)) additional.push_back(e);
  }
  to.copy("specifiedAs", bson::doc("additionalProperties", rule).view());
  if (rule.is(Type::kDocument)) return explainFailingProperty(rule.asDocument(), additional, to);
  to.out.openArray("additionalProperties");
  for (const Element& e : additional) {
    if (!to.goesOn()) return;
    to.out.push(e.name());
  }
  to.out.close();
}

/// Appends an array of the names that the object has no field of.
void appendMissing(const Element& names, View object, Explanation& to) {
  to.out.openArray("missingProperties");
  const auto fields = fieldsByName(object, to);
  for (const Element& name : names.asArray()) {
    if (!to.goesOn()) return;
    if (!fields.contains(name.toStringOr())) to.out.push(name.toStringOr());
  }
  to.out.close();
}

void explainRequired(const Element& rule, View object, Explanation& to) {
  to.copy("specifiedAs", bson::doc("required", rule).view());
  appendMissing(rule, object, to);
}

void explainDependencies(const Element& rule, const Subject& subject, Explanation& to) {
  to.out.openArray("failingDependencies");
  for (const Element& dependency : rule.asDocument()) {
    if (!to.goesOn()) return;
    if (satisfies(bson::doc("dependencies", bson::Builder().append(dependency).finish()), subject, to)) continue;
    to.out.pushDocument().append("conditionalProperty", dependency.name());
    if (dependency.is(Type::kArray)) appendMissing(dependency, subject.object(), to);
    else appendDetails(dependency.asDocument(), subject, to);
    if (!to.goesOn()) return;
    to.out.close();
  }
  to.out.close();
}

void explainItem(View schema, const Element& item, size_t index, Explanation& to) {
  to.out.append("reason", "At least one item did not match the sub-schema")
      .append("itemIndex", static_cast<int32_t>(index));
  appendDetails(schema, subjectOf(item), to);
}

/// `items` with a schema for each of the first items.
void explainLeadingItems(View schemas, View array, Explanation& to) {
  size_t index = 0;
  auto item = array.begin();
  for (const Element& schema : schemas) {
    if (item == array.end() || !to.goesOn()) return;
    if (!satisfies(schema.asDocument(), subjectOf(*item), to))
      return explainItem(schema.asDocument(), *item, index, to);
    ++item;
    ++index;
  }
}

void explainItems(View schema, const Element& rule, View array, Explanation& to) {
  if (rule.is(Type::kArray)) return explainLeadingItems(rule.asArray(), array, to);
  const bool additional = rule.name() == "additionalItems";
  size_t leading = 0;
  if (additional && schema["items"].is(Type::kArray)) leading = static_cast<size_t>(schema["items"].asArray().count());
  std::optional<Rule> each;
  if (rule.is(Type::kDocument)) each.emplace(rule.asDocument(), to);
  size_t index = 0;
  for (const Element& item : array) {
    if (!to.goesOn()) return;
    const size_t at = index++;
    if (at < leading || (each && each->satisfiedBy(subjectOf(item), to))) continue;
    if (each) return explainItem(rule.asDocument(), item, at, to);
    to.out.append("reason", "At least one item did not match the sub-schema")
        .append("itemIndex", static_cast<int32_t>(at));
    return;
  }
}

void explainCombination(const Element& rule, const Subject& subject, Explanation& to) {
  std::vector<int32_t> matching;
  std::vector<std::pair<int32_t, View>> failing;
  int32_t index = 0;
  for (const Element& e : rule.asArray()) {
    if (satisfies(e.asDocument(), subject, to)) matching.push_back(index);
    else failing.emplace_back(index, e.asDocument());
    ++index;
  }
  if (rule.name() == "oneOf" && matching.size() > 1) {
    to.out.append("reason", "more than one subschema matched").append("matchingSchemaIndexes", matching);
    return;
  }
  to.out.openArray("schemasNotSatisfied");
  for (const auto& [at, schema] : failing) {
    if (!to.goesOn()) return;
    to.out.pushDocument().append("index", at);
    appendDetails(schema, subject, to);
    if (!to.goesOn()) return;
    to.out.close();
  }
  to.out.close();
}

std::string_view reasonOf(std::string_view keyword) {
  if (keyword == "bsonType" || keyword == "type") return "type did not match";
  if (keyword == "enum") return "value was not found in enum";
  if (keyword == "minimum" || keyword == "maximum") return "comparison failed";
  if (keyword == "multipleOf") return "considered value is not a multiple of the specified value";
  if (keyword == "minLength" || keyword == "maxLength") return "specified string length was not satisfied";
  if (keyword == "pattern") return "regular expression did not match";
  if (keyword == "minItems" || keyword == "maxItems") return "array did not match specified length";
  if (keyword == "uniqueItems") return "found a duplicate item";
  if (keyword == "minProperties" || keyword == "maxProperties")
    return "specified number of properties was not satisfied";
  return "rule was not satisfied";
}

void explainSimple(View schema, const Element& rule, const Subject& subject, Explanation& to) {
  to.copy("specifiedAs", alone(schema, rule).view());
  to.out.append("reason", reasonOf(rule.name()));
  if (rule.name().ends_with("Properties")) {
    to.out.append("numberOfProperties", static_cast<int32_t>(subject.object().count()));
    return;
  }
  if (subject.element.ok()) to.copy("consideredValue", subject.element);
  else to.copy("consideredValue", subject.document);
  if (rule.name() == "bsonType" || rule.name() == "type")
    to.out.append("consideredType", bson::typeName(subject.element.ok() ? subject.element.type() : Type::kDocument));
}

void explainRule(View schema, const Element& rule, const Subject& subject, Explanation& to) {
  const auto name = rule.name();
  to.out.append("operatorName", name);
  if (name == "properties") return explainProperties(rule, subject.object(), to);
  if (name == "patternProperties") return explainPatternProperties(rule, subject.object(), to);
  if (name == "additionalProperties") return explainAdditionalProperties(schema, rule, subject.object(), to);
  if (name == "required") return explainRequired(rule, subject.object(), to);
  if (name == "dependencies") return explainDependencies(rule, subject, to);
  if (name == "items" || name == "additionalItems") return explainItems(schema, rule, subject.array(), to);
  if (name == "allOf" || name == "anyOf" || name == "oneOf") return explainCombination(rule, subject, to);
  if (name == "not") {
    to.out.append("reason", "child expression matched");
    return;
  }
  explainSimple(schema, rule, subject, to);
}

void explainRules(View schema, const Subject& subject, Explanation& to) {
  for (const Element& rule : schema) {
    const auto name = rule.name();
    if (name == "exclusiveMinimum" || name == "exclusiveMaximum" || name == "title" || name == "description") continue;
    if (satisfies(alone(schema, rule), subject, to)) continue;
    if (!to.goesOn()) return;
    to.out.pushDocument();
    explainRule(schema, rule, subject, to);
    if (!to.goesOn()) return;
    to.out.close();
  }
}

}  // namespace

void explainSchema(View schema, View document, Explanation& rules) {
  explainRules(schema, Subject{{}, document}, rules);
}

}  // namespace troupe::query
