#include "test/cases/query_case.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

#include "messaging/bson/collation.hpp"
#include "messaging/bson/json.hpp"
#include "storage/query/expression/expression.hpp"
#include "storage/query/match/match_parser.hpp"
#include "storage/query/pipeline/pipeline.hpp"
#include "storage/query/project/projection.hpp"
#include "storage/query/update/update.hpp"
#include "test/cases/case_json.hpp"
#include "test/cases/memory_collections.hpp"

namespace troupe::cases {

using bson::Document;
using bson::Type;
using bson::Value;

namespace {

/// The value that a case gives, a missing one, or the error that a client would get.
using Outcome = StatusWith<Value>;

constexpr bson::Date kNow{1'600'000'000'000};

/// A case, and what its query is parsed with.
struct Parts {
  Document spec;
  std::shared_ptr<const bson::Collator> collator;
  query::ParseContext context;

  bson::Element operator[](std::string_view field) const { return spec[field]; }
  bson::View view(std::string_view field) const {
    const auto e = spec[field];
    return e.isObjectLike() ? e.asDocument() : bson::View();
  }
  std::vector<Document> documents(std::string_view field) const {
    std::vector<Document> result;
    for (const auto& e : view(field)) result.emplace_back(e.asDocument());
    return result;
  }
};

std::string shown(const bson::Element& value) {
  if (!value) return "no value";
  return bson::toCanonicalJson(bson::doc("v", value));
}

bool isNear(const bson::Element& value, const bson::Element& expected, const bson::Element& within) {
  return within && value.is(Type::kDouble) && expected.isNumber() &&
         std::abs(value.toDouble() - expected.toDouble()) <= within.toDouble();
}

/// The difference between the outcome and the one that the case names; empty when they agree.
std::string difference(const Outcome& outcome, const Parts& parts) {
  if (const auto code = parts["fails"]; code) {
    if (outcome.isOK()) return "does not fail: " + shown(outcome->element());
    const Status& failure = outcome.status();
    const bool anyCode = code.is(Type::kBool);  // where the number is documented nowhere
    const bool asSaid = (anyCode || static_cast<int64_t>(failure.code()) == code.toInt64()) &&
                        failure.reason().find(parts["because"].toStringOr()) != std::string::npos;
    return asSaid ? ""
                  : "fails otherwise: " + std::to_string(static_cast<int>(failure.code())) + " " + failure.toString();
  }
  if (!outcome.isOK())
    return "fails: " + std::to_string(static_cast<int>(outcome.status().code())) + " " + outcome.status().toString();
  const bson::Element value = outcome->element(), expected = parts["gives"];
  if (isNear(value, expected, parts["within"]) || shown(value) == shown(expected)) return "";
  return "gives " + shown(value) + "\n instead of " + shown(expected);
}

Outcome evaluateOver(const bson::Element& specification, const Parts& parts) {
  TROUPE_ASSIGN(const auto expression, query::parseExpression(specification, parts.context));
  query::Variables variables;
  return expression->evaluate(parts.view("doc"), variables);
}

/// The expression, and what it is shown as by explain: both give the same.
std::string checkExpression(const Parts& parts) {
  if (std::string fault = difference(evaluateOver(parts["expression"], parts), parts); !fault.empty()) return fault;
  const auto parsed = query::parseExpression(parts["expression"], parts.context);
  if (!parsed.isOK()) return "";
  bson::Builder again;
  (*parsed)->serialize("v", again);
  const Document serialized = again.finish();
  const std::string fault = difference(evaluateOver(serialized["v"], parts), parts);
  return fault.empty() ? "" : "shown as " + shown(serialized["v"]) + " it " + fault;
}

/// A filter that fails does so when it is parsed, or over `doc` ($expr).
Outcome matchDocument(const query::MatchExpression& filter, const Parts& parts) {
  query::MatchDetails details;
  const bool matched = filter.matches(parts.view("doc"), &details);
  if (!details.error.isOK()) return details.error;
  return Value(matched);
}

/// Whether each document is matched as the case says, by the filter and by what explain shows of it.
std::string checkMatch(const Parts& parts) {
  const auto filter = query::parseMatch(parts.view("match"), parts.context);
  if (!filter.isOK()) return difference(filter.status(), parts);
  if (parts["fails"]) return difference(matchDocument(**filter, parts), parts);
  const Document serialized = (*filter)->toBson();
  const auto again = query::parseMatch(serialized, parts.context);
  if (!again.isOK())
    return "shown as " + bson::toRelaxedJson(serialized) + " it does not parse: " + again.status().toString();
  for (const bool wanted : {true, false}) {
    for (const Document& document : parts.documents(wanted ? "matches" : "rejects")) {
      if ((*filter)->matches(document) != wanted)
        return (wanted ? "rejects " : "matches ") + bson::toCanonicalJson(document);
      if ((*again)->matches(document) != wanted)
        return "shown as " + bson::toRelaxedJson(serialized) + " it disagrees about " + bson::toCanonicalJson(document);
    }
  }
  return "";
}

Outcome applyUpdate(const Parts& parts, bool& noop) {
  TROUPE_ASSIGN(const auto update, query::parseUpdate(parts["update"], parts.view("arrayFilters"), parts.context,
                                                      parts.view("constants")));
  TROUPE_ASSIGN(const auto filter, query::parseMatch(parts.view("filter"), parts.context));
  if (parts["upsert"].truthy()) {
    TROUPE_ASSIGN(const Document made, query::documentForUpsert(*filter, *update, bson::ObjectId{}));
    return Value(made);
  }
  query::MatchDetails details;
  if (!filter->matches(parts.view("doc"), &details))
    return Status(ErrorCode::kBadValue, "bad case: the filter rejects doc");
  query::UpdateInput input;
  input.document = parts.view("doc");
  input.matchedIndex = details.arrayIndex;
  TROUPE_ASSIGN(const auto result, update->apply(input));
  noop = result.noop;
  return Value(result.document);
}

/// `"changes": false` stands for `gives` where nModified must not count the document.
std::string checkUpdate(const Parts& parts) {
  bool noop = false;
  const Outcome outcome = applyUpdate(parts, noop);
  if (const auto changes = parts["changes"]; changes && outcome.isOK()) {
    if (shown(outcome->element()) != shown(parts["doc"])) return "gives " + shown(outcome->element());
    return noop ? "" : "counts as a change";
  }
  if (outcome.isOK() && noop) return "counts as no change";
  return difference(outcome, parts);
}

Outcome project(const Parts& parts) {
  TROUPE_ASSIGN(const auto filter, query::parseMatch(parts.view("filter"), parts.context));
  TROUPE_ASSIGN(const auto projection, query::parseProjection(parts.view("project"), filter.get(), parts.context));
  TROUPE_ASSIGN(const Document result, projection->apply({.document = parts.view("doc")}));
  return Value(result);
}
std::string checkProjection(const Parts& parts) { return difference(project(parts), parts); }

StatusWith<std::vector<Document>> runPipeline(bson::View stages, const Parts& parts, MemoryCollections& world,
                                              bool optimized) {
  query::PipelineContext context;
  context.parse = &parts.context;
  context.environment = &world;
  context.on = {"db", "c"};
  context.random = [] { return 0.5; };
  TROUPE_ASSIGN(const auto pipeline, query::Pipeline::parse(stages, context));
  if (optimized) TROUPE_TRY(pipeline->optimize());
  if (!pipeline->startsWithSource()) pipeline->attach(std::make_unique<MemoryRows>(parts.documents("docs")));
  std::vector<Document> results;
  while (true) {
    TROUPE_ASSIGN(const auto next, pipeline->next());
    if (next.isEnd()) return results;
    if (next.isDocument()) results.emplace_back(next.document);
  }
}

Value arrayOf(const std::vector<Document>& documents) {
  bson::Builder array;
  for (const Document& document : documents) array.push(document);
  return array.finishArray();
}

std::string inAnyOrder(std::vector<Document> documents) {
  std::sort(documents.begin(), documents.end(),
            [](const Document& a, const Document& b) { return bson::toCanonicalJson(a) < bson::toCanonicalJson(b); });
  return shown(arrayOf(documents).element());
}

/// Runs the stages as they are written, and again as the optimizer has them.
std::string checkPipeline(const Parts& parts) {
  for (const bool optimized : {false, true}) {
    MemoryCollections world;
    for (const auto& e : parts.view("collections"))
      for (const auto& document : e.asArray())
        world.collections[std::string(e.name())].emplace_back(document.asDocument());
    const auto results = runPipeline(parts.view("pipeline"), parts, world, optimized);
    const std::string when = optimized ? "optimized, it " : "as written, it ";
    if (results.isOK() && parts["anyOrder"].truthy()) {
      if (inAnyOrder(*results) != inAnyOrder(parts.documents("gives")))
        return when + "gives " + inAnyOrder(*results) + "\n instead of " + inAnyOrder(parts.documents("gives"));
    } else if (std::string fault = difference(results.isOK() ? Outcome(arrayOf(*results)) : results.status(), parts);
               !fault.empty()) {
      return when + fault;
    }
    for (const auto& e : parts.view("leaves")) {
      const std::string left = shown(arrayOf(world.collections[std::string(e.name())]).element());
      if (left != shown(e)) return when + "leaves " + left + "\n instead of " + shown(e);
    }
  }
  return "";
}

/// The value of one field of the one result of a pipeline.
Outcome fieldOf(const StatusWith<std::vector<Document>>& results, std::string_view field) {
  if (!results.isOK()) return results.status();
  if (results->size() != 1) return Status(ErrorCode::kBadValue, "not one result");
  const auto e = results->front()[field];
  return e ? Value(e) : Value();
}

std::string checkAccumulator(const Parts& parts) {
  bson::Builder stages;
  stages.push(bson::doc("$group", bson::doc("_id", bson::Null{}, "v", parts["accumulator"])));
  MemoryCollections world;
  const Value pipeline = stages.finishArray();
  return difference(fieldOf(runPipeline(pipeline.element().asArray(), parts, world, true), "v"), parts);
}

/// A window function over all documents in the order of `sortBy`: the list of its values.
std::string checkWindow(const Parts& parts) {
  bson::Builder window;
  if (const auto by = parts["partitionBy"]; by) window.append("partitionBy", by);
  if (const auto by = parts["sortBy"]; by) window.append("sortBy", by);
  window.append("output", bson::doc("v", parts["window"]));
  bson::Builder stages;
  stages.push(bson::doc("$setWindowFields", window.finish()));
  stages.push(bson::doc("$group", bson::doc("_id", bson::Null{}, "v", bson::doc("$push", "$v"))));
  MemoryCollections world;
  const Value pipeline = stages.finishArray();
  return difference(fieldOf(runPipeline(pipeline.element().asArray(), parts, world, true), "v"), parts);
}

/// A kind of case: the field that marks it, and the fields it may have beside those of every case.
struct Kind {
  std::string_view field;
  std::vector<std::string_view> others;
  std::string (*check)(const Parts& parts);
};
const Kind kKinds[] = {
    {"expression", {"doc", "within"}, checkExpression},
    {"match", {"matches", "rejects", "doc"}, checkMatch},
    {"update", {"doc", "filter", "arrayFilters", "constants", "upsert", "changes"}, checkUpdate},
    {"project", {"doc", "filter"}, checkProjection},
    {"accumulator", {"docs", "within"}, checkAccumulator},
    {"window", {"docs", "sortBy", "partitionBy"}, checkWindow},
    {"pipeline", {"docs", "collections", "leaves", "anyOrder"}, checkPipeline},
};
constexpr std::string_view kCommon[] = {"name", "gives", "missing", "fails", "because", "collation", "let"};

bool isOneOf(std::string_view name, const auto& names) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

std::string unknownField(const Document& spec, const Kind& kind) {
  for (const auto& e : spec.view())
    if (e.name() != kind.field && !isOneOf(e.name(), kind.others) && !isOneOf(e.name(), kCommon))
      return "bad case: unknown field '" + std::string(e.name()) + "'";
  return "";
}

/// A case that says nothing of its outcome would hold always.
bool saysOutcome(const Document& spec) {
  constexpr std::string_view kOutcomes[] = {"gives", "missing", "fails", "matches", "rejects", "changes", "leaves"};
  return std::any_of(spec.view().begin(), spec.view().end(),
                     [&](const auto& e) { return isOneOf(e.name(), kOutcomes); });
}

}  // namespace

std::string QueryCase::check() const {
  auto spec = readCase(text);
  if (!spec.isOK()) return "bad case: " + spec.status().reason();
  const auto kind =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& k) { return spec->view().has(k.field); });
  if (kind == std::end(kKinds))
    return "bad case: neither expression, match, update, project, accumulator, window nor pipeline";
  if (std::string fault = unknownField(*spec, *kind); !fault.empty()) return fault;
  if (!saysOutcome(*spec)) return "bad case: it names no outcome";
  Parts parts{std::move(*spec), nullptr, {}};
  parts.context.now = kNow;
  parts.context.let = parts.view("let");
  if (const auto collation = parts["collation"]; collation) {
    auto made = bson::Collator::parse(collation.asDocument());
    if (!made.isOK()) return "bad case: " + made.status().toString();
    parts.collator = std::move(*made);
    parts.context.collator = parts.collator.get();
  }
  return kind->check(parts);
}

std::vector<QueryCase> readCases(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".jsonl") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<QueryCase> cases;
  for (const auto& file : files) {
    std::ifstream in(file);
    std::string text;
    for (int line = 1; std::getline(in, text); ++line)
      if (!text.empty()) cases.push_back({file.stem().string(), line, text});
  }
  return cases;
}

}  // namespace troupe::cases
