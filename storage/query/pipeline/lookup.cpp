#include <algorithm>
#include <unordered_set>

#include "messaging/bson/compare.hpp"
#include "storage/query/expression/node.hpp"
#include "storage/query/expression/paths.hpp"
#include "storage/query/expression/values.hpp"
#include "storage/query/pipeline/stages.hpp"
#include "storage/query/project/nested_value.hpp"

// $lookup in both forms, and $unionWith.
namespace troupe::query {

using bson::Document;
using bson::Element;
using bson::Type;

Status drain(const std::function<StatusWith<Next>()>& next, const PipelineContext& context,
             const std::function<Status(bson::View)>& each) {
  QueryWork* const work = context.parse->work;
  while (true) {
    TROUPE_ASSIGN(const Next in, next());
    if (in.isEnd()) return Status::OK();
    if (work) TROUPE_TRY(work->step());
    if (in.isDocument()) TROUPE_TRY(each(in.document));
    else if (context.environment) TROUPE_TRY(context.environment->checkInterrupt());
  }
}

namespace {

struct LookupSpec {
  Document shown;
  CollectionName from;
  std::string as;
  std::string localField, foreignField;  ///< both empty when only a pipeline is given
  Document let;
  Document pipeline;  ///< as an array's bytes
  bool hasPipeline = false;
};

class LookupStage final : public Stage {
 public:
  LookupStage(LookupSpec spec, std::vector<std::pair<std::string, ExpressionPtr>> let, PipelineContext context)
      : spec_(std::move(spec)),
        let_(std::move(let)),
        context_(std::move(context)),
        local_(spec_.localField),
        foreign_(spec_.foreignField),
        variables_(context_.parse->work) {
    for (const auto& [name, expression] : let_) ownNames_.insert(name);
  }

  /// A join may take longer than its turn: it yields when its scan does, or after many results, and goes on from there.
  StatusWith<Next> next() override {
    if (!join_) {
      auto in = pull();
      if (!in.isOK() || !in->isDocument()) return in;
      TROUPE_TRY(beginJoin(in->document));
      metadata_ = in->metadata;
    }
    for (int left = kDocumentsOfATurn;; --left) {
      if (left == 0) return Next::yield();
      TROUPE_ASSIGN(const Next found, join_->pipeline->next());
      if (found.kind == Next::Kind::kYield) return found;
      if (found.isEnd()) break;
      TROUPE_TRY(join_->growth.reserve(join_->found.size() + static_cast<size_t>(found.document.size())));
      join_->found.push(found.document);
      if (join_->found.size() > static_cast<size_t>(bson::kMaxDocumentSize) * 4)
        return Status(ErrorCode(4568), "Total size of documents in " + spec_.from.collection +
                                           " matching pipeline's $lookup stage exceeds the limit");
    }
    const auto join = std::move(join_);
    TROUPE_ASSIGN(current_, withNestedValue(join->outer, spec_.as, join->found.finishArray(), context_.parse->work));
    return Next::of(current_.view(), metadata_);
  }
  void save() override {
    Stage::save();
    if (join_) join_->pipeline->save();
  }
  Status restore() override {
    TROUPE_TRY(Stage::restore());
    return join_ ? join_->pipeline->restore() : Status::OK();
  }
  std::string_view name() const override { return "$lookup"; }
  void serialize(bson::Builder& stages) const override { stages.push(spec_.shown); }
  StageTraits traits() const override { return {.preservesCount = true}; }
  bool addDependencies(Dependencies& dependencies) const override {
    if (!spec_.localField.empty()) dependencies.paths.insert(spec_.localField);
    for (const auto& [name, expression] : let_) expression->addDependencies(dependencies);
    return true;
  }

 private:
  /// The search for what belongs to one document.
  struct Join {
    explicit Join(QueryWork* work) : held(work), growth(work) {}
    HeldMemory held;  ///< of what the search stands on, which pipelines nested in it do not see
    Document outer, let;
    ParseContext parse;
    std::unique_ptr<Pipeline> pipeline;
    bson::Builder found;
    Growth growth;
  };
  Status beginJoin(bson::View outer) {
    auto join = std::make_unique<Join>(context_.parse->work);
    TROUPE_TRY(join->held.set(heldBytes(outer)));
    join->outer = Document(outer);
    TROUPE_ASSIGN(join->let, bind(join->outer));
    TROUPE_TRY(join->held.set(heldBytes(outer) + heldBytes(join->let.view())));
    join->parse = *context_.parse;
    join->parse.let = join->let;
    TROUPE_ASSIGN(const auto filter, joinFilter(join->outer));
    TROUPE_ASSIGN(join->pipeline, openPipeline(spec_.pipeline, spec_.from, filter, join->parse, context_));
    join_ = std::move(join);
    return Status::OK();
  }
  StatusWith<Document> bind(bson::View outer) {
    if (let_.empty()) return Document(context_.parse->let);
    bson::Builder out;
    Growth growth(context_.parse->work);
    variables_.setRoot(outer);
    for (const auto& [name, expression] : let_) {
      TROUPE_ASSIGN(const Operand value, expression->evaluate(variables_));
      TROUPE_TRY(growth.reserve(out.size() + value.element().valueSize()));
      if (value.ok()) out.append(name, value.element());
      else out.append(name, bson::Undefined{});  // which the parser of expressions takes for missing
    }
    for (const Element& e : context_.parse->let) {
      TROUPE_TRY(growth.reserve(out.size() + e.size()));
      if (!ownNames_.contains(e.name())) out.append(e);
    }
    return out.finish();
  }
  /// `{foreign: {$in: values of local}}`; no value (missing, an empty array) joins with null and missing.
  StatusWith<Document> joinFilter(bson::View outer) const {
    if (spec_.foreignField.empty()) return Document();
    const Operand value = local_.in(outer);
    if (!value.ok() || !value.element().is(Type::kArray)) return equals(value.element());
    const bson::View items = value.element().asArray();
    if (items.empty()) return equals({});
    const auto isApart = [](const Element& e) { return e.is(Type::kRegex) || e.is(Type::kUndefined); };
    const auto clauses = static_cast<size_t>(1 + std::count_if(items.begin(), items.end(), isApart));
    Growth growth(context_.parse->work);
    TROUPE_TRY(growth.reserve(items.size() + clauses * (spec_.foreignField.size() + kClauseBytes)));
    bson::Builder either;
    either.openArray("$or").pushDocument().openDocument(spec_.foreignField).openArray("$in");
    for (const Element& e : items)
      if (!isApart(e)) either.push(e);
    either.close().close().close();
    for (const Element& e : items)  // within $in a pattern would match, not compare
      if (isApart(e)) either.push(equals(e));
    return either.close().finish();
  }
  Document equals(const Element& e) const {
    bson::Builder out;
    out.openDocument(spec_.foreignField);
    if (e.isNullish()) out.append("$eq", bson::Null{});
    else out.append("$eq", e);
    return out.close().finish();
  }

  /// About what a clause takes beside its path and value, once it is parsed.
  static constexpr size_t kClauseBytes = 256;

  LookupSpec spec_;
  std::vector<std::pair<std::string, ExpressionPtr>> let_;
  std::unordered_set<std::string_view> ownNames_;  ///< of let_
  PipelineContext context_;
  ValuePath local_, foreign_;
  Variables variables_;
  std::unique_ptr<Join> join_;  ///< the one under way
  bson::View metadata_;         ///< of its document; borrowed from the input until it is asked for the next
  Document current_;
};

StatusWith<CollectionName> parseFrom(const Element& e, const PipelineContext& context, std::string_view stage) {
  if (e.is(Type::kString)) return CollectionName{context.on.db, std::string(e.asString())};
  if (e.is(Type::kDocument)) {
    const bson::View ns = e.asDocument();
    for (const Element& field : ns) {
      if (field.name() != "db" && field.name() != "coll")
        return Status(ErrorCode::kUnknownField, "BSON field '" + std::string(stage) + ".from." +
                                                    std::string(field.name()) + "' is an unknown field.");
      if (!field.is(Type::kString))
        return Status(ErrorCode::kTypeMismatch, "BSON field '" + std::string(stage) + ".from." +
                                                    std::string(field.name()) + "' is the wrong type '" +
                                                    typeOf(field) + "', expected type 'string'");
    }
    if (ns["db"].is(Type::kString) && ns["coll"].is(Type::kString))
      return CollectionName{std::string(ns["db"].asString()), std::string(ns["coll"].asString())};
  }
  return Status(ErrorCode::kFailedToParse,
                std::string(stage) + " argument 'from' must be a string, is type " + typeOf(e));
}

Status checkCollectionName(const CollectionName& from) {
  const std::string_view name = from.collection;
  if (!name.empty() && name.front() != '.' && name.find('\0') == std::string_view::npos) return Status::OK();
  return {ErrorCode::kInvalidNamespace, "$lookup from an invalid name of a collection: '" + from.collection + "'"};
}

/// Parses the pipeline once, so that its errors show at once; returns its collections.
Status checkPipeline(const Element& stages, const CollectionName& from, bson::View letNames, StageParser& parser,
                     ErrorCode ifWriting) {
  ParseContext inner = parser.parse();
  inner.let = letNames;
  PipelineContext context = parser.context;
  context.parse = &inner;
  context.on = from;
  ++context.depth;
  TROUPE_ASSIGN(const auto pipeline, Pipeline::parse(stages.asArray(), context));
  if (pipeline->writes()) return {ifWriting, "$out and $merge are not allowed within a sub-pipeline"};
  for (const auto& name : pipeline->involved()) parser.involved.push_back(name);
  return Status::OK();
}

/// What has to be given together, and what excludes each other.
Status checkLookup(const Element& e, const LookupSpec& spec, const Element& from, const Element& pipeline,
                   const Element& let) {
  if (spec.as.empty()) return {ErrorCode::kFailedToParse, "must specify 'as' field for a $lookup"};
  if (spec.localField.empty() != spec.foreignField.empty() || (spec.localField.empty() && !pipeline))
    return {ErrorCode::kFailedToParse,
            pipeline ? "$lookup requires both or neither of 'localField' and 'foreignField' to be specified"
                     : "$lookup requires either 'pipeline' or both 'localField' and 'foreignField' to be specified"};
  const bool makesDocuments = pipeline && pipeline.asArray().first().is(Type::kDocument) &&
                              pipeline.asArray().first().asDocument().has("$documents");
  if (!from && !makesDocuments)
    return {ErrorCode::kFailedToParse, "missing 'from' option to $lookup stage specification: " + show(e)};
  if (from && makesDocuments)
    return {ErrorCode::kInvalidNamespace, "$lookup from a collection may not begin with $documents: leave 'from' out"};
  if (let && !pipeline)
    return {ErrorCode::kFailedToParse, "$lookup with 'let' must have a 'pipeline' that uses its variables"};
  return Status::OK();
}

Status parseLookup(const Element& e, StageParser& parser) {
  if (!e.is(Type::kDocument))
    return {ErrorCode::kFailedToParse, "the $lookup stage specification must be an object, but found " + typeOf(e)};
  LookupSpec spec;
  bson::Builder shown;
  shown.append("$lookup", e);
  spec.shown = shown.finish();
  Element from, pipeline, let;
  for (const Element& field : e.asDocument()) {
    const auto name = field.name();
    if (name == "from") {
      from = field;
      continue;
    }
    if (name == "pipeline") {
      if (!field.is(Type::kArray)) return {ErrorCode::kTypeMismatch, "'pipeline' option must be specified as an array"};
      pipeline = field;
      continue;
    }
    if (name == "let") {
      if (field.isNullish()) continue;
      if (!field.is(Type::kDocument))
        return {ErrorCode::kTypeMismatch,
                "BSON field '$lookup.let' is the wrong type '" + typeOf(field) + "', expected type 'object'"};
      let = field;
      continue;
    }
    std::string* target = name == "as"             ? &spec.as
                          : name == "localField"   ? &spec.localField
                          : name == "foreignField" ? &spec.foreignField
                                                   : nullptr;
    if (!target) return {ErrorCode::kFailedToParse, "unknown argument to $lookup: " + std::string(name)};
    if (field.isNullish() && target != &spec.as) continue;
    if (!field.is(Type::kString))
      return {ErrorCode::kTypeMismatch,
              "$lookup argument '" + std::string(name) + "' must be a string, is type " + typeOf(field)};
    if (!field.asString().empty()) TROUPE_TRY(ValuePath::check(field.asString()));  // empty: as if it were not given
    *target = field.asString();
  }
  TROUPE_TRY(checkLookup(e, spec, from, pipeline, let));
  spec.from = {parser.context.on.db, ""};
  if (from) {
    TROUPE_ASSIGN(spec.from, parseFrom(from, parser.context, "$lookup"));
    TROUPE_TRY(checkCollectionName(spec.from));
  }
  parser.involved.push_back({spec.from, NamespaceUse::kRead});
  std::vector<std::pair<std::string, ExpressionPtr>> variables;
  bson::Builder names;
  names.appendAll(parser.parse().let);
  for (const Element& variable : let ? let.asDocument() : bson::View()) {
    TROUPE_TRY(checkVariableName(variable.name()));
    TROUPE_ASSIGN(auto expression, parseExpression(variable, parser.parse()));
    variables.emplace_back(variable.name(), std::move(expression));
    names.append(variable.name(), bson::Null{});
  }
  if (pipeline) {
    TROUPE_TRY(checkPipeline(pipeline, spec.from, names.finish(), parser, ErrorCode(51047)));
    spec.pipeline = Document(pipeline.asArray());
  }
  parser.add(std::make_unique<LookupStage>(std::move(spec), std::move(variables), parser.context));
  return Status::OK();
}

class UnionWithStage final : public Stage {
 public:
  UnionWithStage(Document shown, CollectionName from, Document pipeline, PipelineContext context)
      : shown_(std::move(shown)), from_(std::move(from)), stages_(std::move(pipeline)), context_(std::move(context)) {}
  StatusWith<Next> next() override {
    if (!second_) {
      auto in = pull();
      if (!in.isOK() || !in->isEnd()) return in;
      TROUPE_ASSIGN(second_, openPipeline(stages_, from_, {}, *context_.parse, context_));
    }
    return second_->next();
  }
  std::string_view name() const override { return "$unionWith"; }
  void serialize(bson::Builder& stages) const override { stages.push(shown_); }
  bool addDependencies(Dependencies&) const override { return true; }
  void save() override {
    Stage::save();
    if (second_) second_->save();
  }
  Status restore() override {
    TROUPE_TRY(Stage::restore());
    return second_ ? second_->restore() : Status::OK();
  }

 private:
  Document shown_;
  CollectionName from_;
  Document stages_;
  PipelineContext context_;
  std::unique_ptr<Pipeline> second_;
};

Status parseUnionWith(const Element& e, StageParser& parser) {
  CollectionName from{parser.context.on.db, ""};
  Document stages;
  if (e.is(Type::kString)) {
    from.collection = e.asString();
  } else if (e.is(Type::kDocument)) {
    for (const Element& field : e.asDocument()) {
      if (field.name() == "coll" && field.is(Type::kString)) {
        from.collection = field.asString();
      } else if (field.name() == "pipeline" && field.is(Type::kArray)) {
        TROUPE_TRY(checkPipeline(field, from, parser.parse().let, parser, ErrorCode(31441)));
        stages = Document(field.asArray());
      } else {
        return {ErrorCode(40415), "BSON field '$unionWith." + std::string(field.name()) + "' is an unknown field."};
      }
    }
  } else {
    return {ErrorCode::kFailedToParse,
            "the $unionWith stage specification must be an object or string, but found " + typeOf(e)};
  }
  if (!from.collection.empty()) parser.involved.push_back({from, NamespaceUse::kRead});
  bson::Builder shown;
  shown.append("$unionWith", e);
  parser.add(std::make_unique<UnionWithStage>(shown.finish(), std::move(from), std::move(stages), parser.context));
  return Status::OK();
}

constexpr StageRow kLookupStages[] = {{"$lookup", parseLookup}, {"$unionWith", parseUnionWith}};

}  // namespace

StatusWith<std::unique_ptr<Pipeline>> openPipeline(bson::View stages, const CollectionName& from,
                                                   bson::View extraFilter, const ParseContext& parse,
                                                   const PipelineContext& outer) {
  PipelineContext context = outer;
  context.parse = &parse;
  context.on = from;
  ++context.depth;
  bson::Builder all;
  const auto filter = [&] { all.pushDocument().append("$match", extraFilter).close(); };
  bool pending = !extraFilter.empty();
  for (const Element& stage : stages) {
    const bool isSource = stage.is(Type::kDocument) && useOfSource(stage.asDocument().first().name());
    if (pending && !isSource) filter();  // behind a stage that makes the documents
    pending = pending && isSource;
    all.push(stage);
  }
  if (pending) filter();
  TROUPE_ASSIGN(auto pipeline, Pipeline::parse(all.finish(), context));
  if (pipeline->startsWithSource()) return pipeline;
  TROUPE_TRY(pipeline->optimize());
  PushDown request = pipeline->takePushDown();
  request.depth = context.depth;
  TROUPE_ASSIGN(auto scan, context.environment->scan(from, request));
  pipeline->attach(std::move(scan));
  return pipeline;
}

std::span<const StageRow> lookupStages() { return kLookupStages; }

}  // namespace troupe::query
