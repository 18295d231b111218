// Which rules of a schema a document breaks. Each keyword is tried alone, as a schema of its own, so that nothing here
// judges.
#include <algorithm>
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

bool satisfies(View schema, const Subject& subject) {
  const ParseContext context;
  const auto rule = schemaPredicate(schema, context);
  if (!rule.isOK()) return true;  // a rule that was accepted once is no rule any more: nothing to say about it
  if (subject.element.ok()) return (*rule)->test(subject.element);
  const auto passed = (*rule)->testDocument(subject.document);
  return !passed.isOK() || *passed;
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
void appendAnnotations(View schema, Builder& out) {
  for (const auto name : {"title", "description"}) {
    if (const Element e = schema[name]; e) out.append(e);
  }
}

void explainRules(View schema, const Subject& subject, Builder& rules);

void appendDetails(View schema, const Subject& subject, Builder& out) {
  out.openArray("details");
  explainRules(schema, subject, out);
  out.close();
}

bool namedBy(const Element& patterns, std::string_view name) {
  if (!patterns.isObjectLike()) return false;
  const View all = patterns.asDocument();
  return std::any_of(all.begin(), all.end(), [&](const Element& e) {
    const auto regex = CompiledRegex::compile(e.name(), "");
    return regex.isOK() && (*regex)->search(name);
  });
}

void explainProperties(const Element& properties, View object, Builder& out) {
  out.openArray("propertiesNotSatisfied");
  for (const Element& property : properties.asDocument()) {
    const Element value = object[property.name()];
    if (!value.ok() || satisfies(property.asDocument(), subjectOf(value))) continue;
    out.pushDocument().append("propertyName", property.name());
    appendAnnotations(property.asDocument(), out);
    appendDetails(property.asDocument(), subjectOf(value), out);
    out.close();
  }
  out.close();
}

void explainPatternProperties(const Element& patterns, View object, Builder& out) {
  out.openArray("details");
  for (const Element& pattern : patterns.asDocument()) {
    const auto regex = CompiledRegex::compile(pattern.name(), "");
    for (const Element& value : object) {
      if (!regex.isOK() || !(*regex)->search(value.name()) || satisfies(pattern.asDocument(), subjectOf(value)))
        continue;
      out.pushDocument().append("propertyName", value.name()).append("regexMatched", pattern.name());
      appendDetails(pattern.asDocument(), subjectOf(value), out);
      out.close();
    }
  }
  out.close();
}

void explainAdditionalProperties(View schema, const Element& rule, View object, Builder& out) {
  const auto isAdditional = [&](const Element& e) {
    const Element known = schema["properties"];
    return !(known.isObjectLike() && known.asDocument().has(e.name())) &&
           !namedBy(schema["patternProperties"], e.name());
  };
  out.append("specifiedAs", bson::doc("additionalProperties", rule));
  if (!rule.is(Type::kDocument)) {
    out.openArray("additionalProperties");
    for (const Element& e : object) {
      if (isAdditional(e)) out.push(e.name());
    }
    out.close();
    return;
  }
  for (const Element& e : object) {
    if (!isAdditional(e) || satisfies(rule.asDocument(), subjectOf(e))) continue;
    out.append("reason", "at least one additional property did not match the subschema")
        .append("failingProperty", e.name());
    return appendDetails(rule.asDocument(), subjectOf(e), out);
  }
}

void explainRequired(const Element& rule, View object, Builder& out) {
  out.append("specifiedAs", bson::doc("required", rule)).openArray("missingProperties");
  for (const Element& name : rule.asArray()) {
    if (!object.has(name.toStringOr())) out.push(name.toStringOr());
  }
  out.close();
}

void explainDependencies(const Element& rule, const Subject& subject, Builder& out) {
  out.openArray("failingDependencies");
  for (const Element& dependency : rule.asDocument()) {
    if (satisfies(bson::doc("dependencies", bson::Builder().append(dependency).finish()), subject)) continue;
    out.pushDocument().append("conditionalProperty", dependency.name());
    if (dependency.is(Type::kArray)) {
      out.openArray("missingProperties");
      for (const Element& name : dependency.asArray()) {
        if (!subject.object().has(name.toStringOr())) out.push(name.toStringOr());
      }
      out.close();
    } else {
      appendDetails(dependency.asDocument(), subject, out);
    }
    out.close();
  }
  out.close();
}

void explainItems(View schema, const Element& rule, View array, Builder& out) {
  const bool additional = rule.name() == "additionalItems";
  size_t leading = 0;
  if (additional && schema["items"].is(Type::kArray)) leading = static_cast<size_t>(schema["items"].asArray().count());
  size_t index = 0;
  for (const Element& item : array) {
    const size_t at = index++;
    if (at < leading) continue;
    Element each = rule;
    if (rule.is(Type::kArray)) {
      const View schemas = rule.asArray();
      const auto own =
          std::next(schemas.begin(), static_cast<std::ptrdiff_t>(std::min(at, static_cast<size_t>(schemas.count()))));
      if (own == schemas.end()) return;
      each = *own;
    }
    if (each.is(Type::kDocument) && satisfies(each.asDocument(), subjectOf(item))) continue;
    out.append("reason", "At least one item did not match the sub-schema")
        .append("itemIndex", static_cast<int32_t>(at));
    if (each.is(Type::kDocument)) appendDetails(each.asDocument(), subjectOf(item), out);
    return;
  }
}

void explainCombination(const Element& rule, const Subject& subject, Builder& out) {
  std::vector<int32_t> matching, failing;
  int32_t index = 0;
  for (const Element& e : rule.asArray()) (satisfies(e.asDocument(), subject) ? matching : failing).push_back(index++);
  if (rule.name() == "oneOf" && matching.size() > 1) {
    out.append("reason", "more than one subschema matched").append("matchingSchemaIndexes", matching);
    return;
  }
  out.openArray("schemasNotSatisfied");
  index = 0;
  for (const Element& e : rule.asArray()) {
    const int32_t at = index++;
    if (std::find(failing.begin(), failing.end(), at) == failing.end()) continue;
    out.pushDocument().append("index", at);
    appendDetails(e.asDocument(), subject, out);
    out.close();
  }
  out.close();
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

void explainSimple(View schema, const Element& rule, const Subject& subject, Builder& out) {
  out.append("specifiedAs", alone(schema, rule)).append("reason", reasonOf(rule.name()));
  if (rule.name().ends_with("Properties")) {
    out.append("numberOfProperties", static_cast<int32_t>(subject.object().count()));
    return;
  }
  if (subject.element.ok()) out.append("consideredValue", subject.element);
  else out.append("consideredValue", subject.document);
  if (rule.name() == "bsonType" || rule.name() == "type")
    out.append("consideredType", bson::typeName(subject.element.ok() ? subject.element.type() : Type::kDocument));
}

void explainRule(View schema, const Element& rule, const Subject& subject, Builder& out) {
  const auto name = rule.name();
  out.append("operatorName", name);
  if (name == "properties") return explainProperties(rule, subject.object(), out);
  if (name == "patternProperties") return explainPatternProperties(rule, subject.object(), out);
  if (name == "additionalProperties") return explainAdditionalProperties(schema, rule, subject.object(), out);
  if (name == "required") return explainRequired(rule, subject.object(), out);
  if (name == "dependencies") return explainDependencies(rule, subject, out);
  if (name == "items" || name == "additionalItems") return explainItems(schema, rule, subject.array(), out);
  if (name == "allOf" || name == "anyOf" || name == "oneOf") return explainCombination(rule, subject, out);
  if (name == "not") {
    out.append("reason", "child expression matched");
    return;
  }
  explainSimple(schema, rule, subject, out);
}

void explainRules(View schema, const Subject& subject, Builder& rules) {
  for (const Element& rule : schema) {
    const auto name = rule.name();
    if (name == "exclusiveMinimum" || name == "exclusiveMaximum" || name == "title" || name == "description") continue;
    if (satisfies(alone(schema, rule), subject)) continue;
    rules.pushDocument();
    explainRule(schema, rule, subject, rules);
    rules.close();
  }
}

}  // namespace

void explainSchema(View schema, View document, Builder& rules) { explainRules(schema, Subject{{}, document}, rules); }

}  // namespace troupe::query
