#include <algorithm>
#include <utility>

#include "storage/query/expression/values.hpp"
#include "storage/query/pipeline/source_options.hpp"
#include "storage/query/pipeline/stages.hpp"

// Stages that produce documents themselves: $documents, and those the environment answers ($collStats, $currentOp ...).
namespace troupe::query {

using bson::Document;
using bson::Element;
using bson::Type;

namespace {

constexpr std::pair<std::string_view, NamespaceUse> kSources[] = {
    {"$documents", NamespaceUse::kNothing},          {"$collStats", NamespaceUse::kCollectionStatistics},
    {"$indexStats", NamespaceUse::kIndexStatistics}, {"$planCacheStats", NamespaceUse::kPlanCache},
    {"$currentOp", NamespaceUse::kOperations},       {"$actors", NamespaceUse::kActors},
    {"$listCatalog", NamespaceUse::kCatalog},        {"$listClusterCatalog", NamespaceUse::kCatalog},
    {"$querySettings", NamespaceUse::kNothing},  // there are none to be listed
    {"$listSessions", NamespaceUse::kSessions},  // whose sessions the client may see is known when it is opened
    {"$listLocalSessions", NamespaceUse::kSessions},
};

NamespaceUse useOf(const Element& source) {
  const NamespaceUse use = *useOfSource(source.name());
  const bson::View options = source.asDocument();
  const bool isTold = options["allUsers"].truthy() || options["users"].ok();
  return use == NamespaceUse::kSessions && isTold ? NamespaceUse::kNamedSessions : use;
}

/// A source that the environment opens at the first pull.
class EnvironmentSource final : public Stage {
 public:
  EnvironmentSource(Document specification, PipelineContext context, StageTraits traits)
      : specification_(std::move(specification)), context_(std::move(context)), traits_(traits) {}
  StatusWith<Next> next() override {
    if (!source_) {
      TROUPE_ASSIGN(source_, context_.environment->openSource(context_.on, specification_.view().first()));
    }
    return source_->next();
  }
  std::string_view name() const override { return specification_.view().first().name(); }
  void serialize(bson::Builder& stages) const override { stages.push(specification_); }
  StageTraits traits() const override { return traits_; }
  void save() override {
    if (source_) source_->save();
  }
  Status restore() override { return source_ ? source_->restore() : Status::OK(); }

 private:
  Document specification_;
  PipelineContext context_;
  StageTraits traits_;
  StagePtr source_;
};

Status parseEnvironmentSource(const Element& e, StageParser& parser) {
  const auto name = e.name();
  const bool onCollection = name == "$collStats" || name == "$indexStats" || name == "$planCacheStats";
  const bool collectionless = !onCollection;
  if (!e.is(Type::kDocument)) {
    if (name == "$collStats") return {ErrorCode(5447000), "$collStats must take a nested object but found: " + show(e)};
    if (name == "$indexStats") return {ErrorCode(28803), "The $indexStats stage specification must be an empty object"};
    if (name == "$listClusterCatalog")
      return {ErrorCode(9621302), "$listClusterCatalog must take a document, but found: " + show(e)};
    const auto code = name == "$currentOp" ? ErrorCode::kTypeMismatch : ErrorCode::kFailedToParse;
    return {code, "The " + std::string(name) + " stage specification must be an object"};
  }
  const std::string& collection = parser.context.on.collection;
  if (name == "$listClusterCatalog" && !collection.empty())
    return {ErrorCode(9621301), "$listClusterCatalog must be run with {aggregate: 1}, not on a collection"};
  if ((name == "$currentOp" || name == "$querySettings") && !collection.empty())
    return {ErrorCode::kInvalidNamespace, std::string(name) + " must be run with {aggregate: 1}, not on a collection"};
  const bool isSessions = collection == "system.sessions" && parser.context.on.db == "config";
  if (!collection.empty() && (name == "$listLocalSessions" || (name == "$listSessions" && !isSessions)))
    return {ErrorCode::kInvalidNamespace, std::string(name) + " may not be run on the collection " + collection};
  TROUPE_TRY(checkSourceOptions(e));
  if (onCollection && collection.empty())
    return {ErrorCode::kInvalidNamespace,
            std::string(name) +
                " is not valid for a database-level aggregate: {aggregate: 1} requires another first stage"};
  if (!parser.context.environment) return {ErrorCode::kInvalidOptions, std::string(name) + " is not allowed here"};
  parser.involved.push_back({parser.context.on, useOf(e)});
  bson::Builder specification;
  specification.append(e);
  parser.add(std::make_unique<EnvironmentSource>(
      specification.finish(), parser.context,
      StageTraits{.source = true, .inFacet = false, .collectionless = collectionless}));
  return Status::OK();
}

class DocumentsStage final : public Stage {
 public:
  /// `held`: the charge of the documents.
  DocumentsStage(Document shown, std::vector<Document> documents, HeldMemory held)
      : shown_(std::move(shown)), held_(std::move(held)), documents_(std::move(documents)) {}
  StatusWith<Next> next() override {
    return at_ < documents_.size() ? Next::of(documents_[at_++].view()) : Next::end();
  }
  std::string_view name() const override { return "$documents"; }
  void serialize(bson::Builder& stages) const override { stages.push(shown_); }
  StageTraits traits() const override { return {.source = true, .inFacet = false, .collectionless = true}; }

 private:
  Document shown_;
  HeldMemory held_;
  std::vector<Document> documents_;
  size_t at_ = 0;
};

Status parseDocuments(const Element& e, StageParser& parser) {
  TROUPE_ASSIGN(const auto expression, parseExpression(e, parser.parse()));
  Variables variables(parser.parse().work);
  TROUPE_ASSIGN(const Operand list, static_cast<const Expression&>(*expression).evaluate(variables));
  if (list.type() != Type::kArray)
    return {ErrorCode(5858203), "$documents must evaluate to an array of objects, found: " + show(list.element())};
  std::vector<Document> documents;
  HeldMemory held(parser.parse().work);
  int64_t bytes = 0;
  for (const Element& item : list.element().asArray()) {
    TROUPE_TRY(variables.step(stepsFor(item.valueSize())));
    if (!item.is(Type::kDocument))
      return {ErrorCode(40228), "$documents must be an array of objects, found an element of type " + typeOf(item)};
    TROUPE_TRY(held.set(bytes += heldBytes(item.asDocument())));
    documents.emplace_back(item.asDocument());
  }
  bson::Builder shown;
  shown.append("$documents", e);
  parser.add(std::make_unique<DocumentsStage>(shown.finish(), std::move(documents), std::move(held)));
  return Status::OK();
}

Status refuseChangeStream(const Element&, StageParser&) {
  return {ErrorCode(40573), "The $changeStream stage is only supported on replica sets"};
}

Status refuseGeoNear(const Element&, StageParser&) {
  return {ErrorCode::kIndexNotFound, "$geoNear requires a 2d or 2dsphere index, but none were found"};
}

/// First in a pipeline or not: tools ask by it whether there are search indexes at all.
Status refuseListSearchIndexes(const Element&, StageParser&) {
  return {ErrorCode::kCommandNotSupported,
          "$listSearchIndexes needs Atlas Search (mongot), which this server has not: use listIndexes"};
}

constexpr StageRow kSourcesStages[] = {
    {"$documents", parseDocuments},
    {"$collStats", parseEnvironmentSource},
    {"$indexStats", parseEnvironmentSource},
    {"$planCacheStats", parseEnvironmentSource},
    {"$currentOp", parseEnvironmentSource},
    {"$listCatalog", parseEnvironmentSource},
    {"$listClusterCatalog", parseEnvironmentSource},
    {"$querySettings", parseEnvironmentSource},
    {"$listSessions", parseEnvironmentSource},
    {"$listLocalSessions", parseEnvironmentSource},
    {"$actors", parseEnvironmentSource},
    {"$changeStream", refuseChangeStream},
    {"$geoNear", refuseGeoNear},
    {"$listSearchIndexes", refuseListSearchIndexes},
};

}  // namespace

std::optional<NamespaceUse> useOfSource(std::string_view stage) {
  const auto* found = std::ranges::find(kSources, stage, &std::pair<std::string_view, NamespaceUse>::first);
  return found == std::end(kSources) ? std::nullopt : std::optional(found->second);
}

std::span<const StageRow> sourceStages() { return kSourcesStages; }

}  // namespace troupe::query
