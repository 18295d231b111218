#include <algorithm>
#include <charconv>

#include "storage/query/expression/objects.hpp"
#include "storage/query/expression/paths.hpp"
#include "storage/query/expression/values.hpp"
#include "storage/query/pipeline/stages.hpp"

// Stages that turn one document into one (or none): $match, $project, $addFields, $unset, $replaceRoot, $redact.
namespace troupe::query {

using bson::Document;
using bson::Element;
using bson::Type;
using bson::Value;

StatusWith<std::unique_ptr<MatchStage>> MatchStage::make(bson::View filter, const ParseContext& context) {
  std::unique_ptr<MatchStage> stage(new MatchStage);
  stage->filter_ = Document(filter);
  TROUPE_ASSIGN(stage->match_, parseMatch(stage->filter_, context));
  stage->work_ = context.work;
  return stage;
}

StatusWith<Next> MatchStage::next() {
  while (true) {
    auto in = pull();
    if (!in.isOK() || !in->isDocument()) return in;
    MatchDetails details;
    details.work = work_;
    const bool matched = match_->matches(in->document, &details);
    if (!details.error.isOK()) return details.error;
    if (matched) return in;
  }
}

namespace {

void addMatchPaths(const MatchExpression& match, Dependencies& dependencies) {
  if (match.kind() == MatchKind::kExpr || match.kind() == MatchKind::kJsonSchema) dependencies.wholeDocument = true;
  if (!match.path().empty()) {
    dependencies.paths.insert(match.path());
    return;
  }
  for (const auto& child : match.children()) addMatchPaths(*child, dependencies);
}

std::string topOf(std::string_view path) { return std::string(path.substr(0, path.find('.'))); }

}  // namespace

bool MatchStage::addDependencies(Dependencies& dependencies) const {
  addMatchPaths(*match_, dependencies);
  return true;
}

StatusWith<Next> TransformStage::next() {
  auto in = pull();
  if (!in.isOK() || !in->isDocument()) return in;
  TROUPE_ASSIGN(current_, apply_(*in));
  return Next::of(current_.view(), in->metadata);
}

bool TransformStage::addDependencies(Dependencies& dependencies) const {
  dependencies.paths.insert(effects_.reads.paths.begin(), effects_.reads.paths.end());
  dependencies.wholeDocument |= effects_.reads.wholeDocument;
  dependencies.indexKey |= effects_.reads.indexKey;
  return effects_.keepsOthers;
}

namespace {

/// `{$op: ...}`. Among other fields an operator is one of them, and its name none that a field may have.
bool isOperatorAlone(bson::View fields) { return fields.first().name().starts_with('$') && fields.count() == 1; }

/// $elemMatch is known, though only to find: as an expression it fails with the error of all such operators.
Status checkProjectOperator(std::string_view name) {
  if (isExpressionOperator(name) || name == "$elemMatch") return Status::OK();
  return {ErrorCode(31325), "Invalid $project :: caused by :: Unknown expression " + std::string(name)};
}

/// Collects a projection: the tree, the variables its expressions share, and what it reads and writes.
class ProjectionParser {
 public:
  ProjectionParser(ProjectionTree::Mode mode, const PipelineContext& context)
      : tree_(std::make_shared<ProjectionTree>(mode, context.parse->work)),
        variables_(std::make_shared<Variables>(context.parse->work)),
        context_(context) {
    variables_->random = context.random;
  }

  Status mark(const std::string& path) {
    TROUPE_TRY(ValuePath::check(path));
    if (tree_->mode() == ProjectionTree::Mode::kInclude) effects.reads.paths.insert(path);
    else effects.written.push_back(topOf(path));
    return tree_->mark(path);
  }

  Status compute(const std::string& path, const Element& e) {
    TROUPE_TRY(ValuePath::check(path));
    TROUPE_ASSIGN(ExpressionPtr parsed, parseExpression(e, *context_.parse));
    parsed->addDependencies(effects.reads);
    effects.written.push_back(topOf(path));
    const std::shared_ptr<const Expression> expression = std::move(parsed);
    return tree_->compute(path, [expression, variables = variables_](bson::View root) -> StatusWith<Value> {
      return expression->evaluate(root, *variables);
    });
  }

  /// A nested specification `{a: {b: 1}}`: paths below; `{a: {$op: ...}}`: an expression.
  Status field(const std::string& path, const Element& e, bool literalsCompute) {
    if (e.is(Type::kDocument)) {
      const bson::View inner = e.asDocument();
      if (inner.first().name().starts_with('$') && (literalsCompute || isOperatorAlone(inner))) {
        if (!literalsCompute) TROUPE_TRY(checkProjectOperator(inner.first().name()));
        return compute(path, e);
      }
      if (inner.empty()) {
        if (literalsCompute) return compute(path, e);
        return {ErrorCode(51270), "An empty sub-projection is not a valid value. Found empty object at path"};
      }
      for (const Element& sub : inner) TROUPE_TRY(field(path + "." + std::string(sub.name()), sub, literalsCompute));
      return Status::OK();
    }
    if (literalsCompute || !(e.isNumber() || e.is(Type::kBool))) return compute(path, e);
    return mark(path);
  }

  StagePtr stage(std::string name, Document shown) {
    effects.keepsOthers = tree_->mode() != ProjectionTree::Mode::kInclude;
    return std::make_unique<TransformStage>(
        std::move(name), std::move(shown),
        [tree = tree_, variables = variables_](const Next& in) {
          variables->setMetadata(in.metadata);
          return tree->apply(in.document);
        },
        std::move(effects));
  }

  TransformStage::Effects effects;

 private:
  std::shared_ptr<ProjectionTree> tree_;
  std::shared_ptr<Variables> variables_;
  const PipelineContext& context_;
};

Document shownAs(std::string_view name, const Element& e) {
  bson::Builder out;
  out.append(name, e);
  return out.finish();
}

bool isFlag(const Element& e) { return e.isNumber() || e.is(Type::kBool); }

/// Whether a projection excludes: the first plain flag decides; `_id: 0` alone excludes only when nothing else is
/// listed.
StatusWith<bool> excludes(bson::View spec) {
  std::optional<bool> mode;
  bool computed = false;
  const std::function<Status(bson::View, const std::string&)> walk = [&](bson::View fields,
                                                                         const std::string& prefix) -> Status {
    for (const Element& e : fields) {
      const std::string path = prefix + std::string(e.name());
      TROUPE_TRY(ValuePath::check(e.name()));
      if (e.is(Type::kDocument) && e.asDocument().first().name() == "$meta") continue;  // stands in either kind
      if (e.is(Type::kDocument) && !e.asDocument().empty() && !isOperatorAlone(e.asDocument())) {
        TROUPE_TRY(walk(e.asDocument(), path + "."));
      } else if (!isFlag(e)) {
        computed = true;
        if (mode.value_or(false))
          return {ErrorCode(e.is(Type::kDocument) ? 31252 : 31310),
                  "Invalid $project :: caused by :: Cannot use an expression in an exclusion projection: " + path};
        mode = false;
      } else if (path != "_id") {
        const bool exclude = !e.truthy();
        if (mode && *mode != exclude)
          return {ErrorCode(exclude ? 31254 : 31253),
                  std::string("Invalid $project :: caused by :: Cannot do ") + (exclude ? "exclusion" : "inclusion") +
                      " on field " + path + " in " + (exclude ? "inclusion" : "exclusion") + " projection"};
        mode = exclude;
      }
    }
    return Status::OK();
  };
  TROUPE_TRY(walk(spec, ""));
  if (mode) return *mode;
  return !computed && spec.has("_id") && !spec["_id"].truthy();
}

Status parseProject(const Element& e, StageParser& parser) {
  if (!e.is(Type::kDocument)) return {ErrorCode(15969), "$project specification must be an object"};
  const bson::View spec = e.asDocument();
  if (spec.empty())
    return {ErrorCode(51272), "Invalid $project :: caused by :: projection specification must have at least one field"};
  TROUPE_ASSIGN(const bool exclude, excludes(spec));
  ProjectionParser projection(exclude ? ProjectionTree::Mode::kExclude : ProjectionTree::Mode::kInclude,
                              parser.context);
  const bool id = std::any_of(spec.begin(), spec.end(), [](const Element& field) {
    return field.name() == "_id" || field.name().starts_with("_id.");  // whole or in part
  });
  if (!exclude && !id) TROUPE_TRY(projection.mark("_id"));
  for (const Element& field : spec) {
    if (field.name() == "_id" && isFlag(field) && field.truthy() == exclude) continue;  // the odd one out
    TROUPE_TRY(projection.field(std::string(field.name()), field, false));
  }
  parser.add(projection.stage("$project", shownAs("$project", e)));
  return Status::OK();
}

Status parseAddFields(const Element& e, StageParser& parser) {
  const std::string name(e.name());
  if (!e.is(Type::kDocument))
    return {ErrorCode(40272), name + " specification stage must be an object, got " + typeOf(e)};
  if (e.asDocument().empty())
    return {ErrorCode(51272), "Invalid " + name + " :: caused by :: specification must have at least one field"};
  ProjectionParser projection(ProjectionTree::Mode::kAdd, parser.context);
  for (const Element& field : e.asDocument()) {
    const Status status = projection.field(std::string(field.name()), field, true);
    if (!status.isOK()) return status.withContext("Invalid " + name + " :: caused by");
  }
  parser.add(projection.stage(name, shownAs(name, e)));
  return Status::OK();
}

Status parseUnset(const Element& e, StageParser& parser) {
  ProjectionParser projection(ProjectionTree::Mode::kExclude, parser.context);
  const auto hasNull = [](const Element& path) { return path.asString().find('\0') != std::string_view::npos; };
  constexpr ErrorCode kNullByte{9527900};
  const Status nullByte(kNullByte, "$unset: the name of a field may not contain a null byte");
  if (e.is(Type::kArray)) {
    if (e.asArray().empty())
      return {ErrorCode(31119), "$unset specification must be a string or an array with at least one field"};
    for (const Element& path : e.asArray())
      if (!path.is(Type::kString))
        return {ErrorCode(31120), "$unset specification must be a string or an array containing only string values"};
    for (const Element& path : e.asArray())
      if (hasNull(path)) return nullByte;
    for (const Element& path : e.asArray()) TROUPE_TRY(projection.mark(std::string(path.asString())));
  } else if (e.is(Type::kString)) {
    if (hasNull(e)) return nullByte;
    TROUPE_TRY(projection.mark(std::string(e.asString())));
  } else {
    return {ErrorCode(31002), "$unset specification must be a string or an array"};
  }
  parser.add(projection.stage("$unset", shownAs("$unset", e)));
  return Status::OK();
}

Status addReplaceRoot(const Element& shown, const Element& expression, StageParser& parser) {
  TROUPE_ASSIGN(ExpressionPtr parsed, parseExpression(expression, parser.parse()));
  TransformStage::Effects effects;
  parsed->addDependencies(effects.reads);
  auto variables = std::make_shared<Variables>(parser.parse().work);
  variables->random = parser.context.random;
  const std::shared_ptr<const Expression> shared = std::move(parsed);
  const auto apply = [shared, variables](const Next& in) -> StatusWith<Document> {
    variables->setRoot(in.document);
    variables->setMetadata(in.metadata);
    TROUPE_ASSIGN(const Operand root, static_cast<const Expression&>(*shared).evaluate(*variables));
    if (root.type() != Type::kDocument)
      return Status(ErrorCode(40228), "'newRoot' expression  must evaluate to an object, but resulting value was: " +
                                          show(root.element()) + ". Type of resulting value: '" +
                                          typeOf(root.element()) + "'.");
    return Document(root.element().asDocument());
  };
  parser.add(std::make_unique<TransformStage>("$replaceRoot", shownAs(shown.name(), shown), apply, std::move(effects)));
  return Status::OK();
}

Status parseReplaceRoot(const Element& e, StageParser& parser) {
  if (!e.is(Type::kDocument))
    return {ErrorCode(40229), "expected an object as specification for $replaceRoot stage, got " + typeOf(e)};
  Element root;
  for (const Element& field : e.asDocument()) {
    if (field.name() != "newRoot")
      return {ErrorCode(40415), "BSON field '$replaceRoot." + std::string(field.name()) + "' is an unknown field."};
    root = field;
  }
  if (!root)
    return {ErrorCode::kMissingRequiredField, "BSON field '$replaceRoot.newRoot' is missing but a required field"};
  return addReplaceRoot(e, root, parser);
}

Status parseReplaceWith(const Element& e, StageParser& parser) { return addReplaceRoot(e, e, parser); }

Status parseMatchStage(const Element& e, StageParser& parser) {
  if (!e.is(Type::kDocument)) return {ErrorCode(15959), "the match filter must be an expression in an object"};
  TROUPE_ASSIGN(auto stage, MatchStage::make(e.asDocument(), parser.parse()));
  parser.add(std::move(stage));
  return Status::OK();
}

class RedactStage final : public Stage {
 public:
  RedactStage(Document shown, ExpressionPtr expression, QueryWork* work)
      : shown_(std::move(shown)), expression_(std::move(expression)), variables_(work) {}
  StatusWith<Next> next() override {
    while (true) {
      auto in = pull();
      if (!in.isOK() || !in->isDocument()) return in;
      variables_.setRoot(in->document);
      variables_.setMetadata(in->metadata);
      Growth growth(variables_.work());
      TROUPE_TRY(growth.reserve(static_cast<size_t>(in->document.size())));
      TROUPE_ASSIGN(auto kept, redact(in->document));
      if (!kept) continue;
      current_ = std::move(*kept);
      return Next::of(current_.view(), in->metadata);
    }
  }
  std::string_view name() const override { return "$redact"; }
  void serialize(bson::Builder& stages) const override { stages.push(shown_); }

 private:
  StatusWith<std::optional<Document>> redact(bson::View level) {
    variables_.setCurrent(level);
    TROUPE_TRY(variables_.step(stepsFor(static_cast<size_t>(level.size()))));
    TROUPE_ASSIGN(const Operand verdict, expression_->evaluate(variables_));
    const std::string_view decision = verdict.element().toStringOr();
    if (decision == "keep") return std::optional(Document(level));
    if (decision == "prune") return std::optional<Document>();
    if (decision != "descend")
      return Status(ErrorCode(17053),
                    "$redact's expression should not return anything aside from the variables $$KEEP, $$DESCEND, and "
                    "$$PRUNE, but returned " +
                        show(verdict.element()));
    bson::Builder out;
    for (const Element& e : level) {
      if (e.is(Type::kDocument)) {
        TROUPE_ASSIGN(const auto inner, redact(e.asDocument()));
        if (inner) out.append(e.name(), *inner);
      } else if (e.is(Type::kArray)) {
        out.openArray(e.name());
        TROUPE_TRY(redactArray(e.asArray(), out));
        out.close();
      } else {
        out.append(e);
      }
    }
    return std::optional(out.finish());
  }
  Status redactArray(bson::View array, bson::Builder& out) {
    for (const Element& e : array) {
      if (e.is(Type::kDocument)) {
        TROUPE_ASSIGN(const auto inner, redact(e.asDocument()));
        if (inner) out.push(*inner);
      } else if (e.is(Type::kArray)) {
        out.pushOpenArray();
        TROUPE_TRY(redactArray(e.asArray(), out));
        out.close();
      } else {
        out.push(e);
      }
    }
    return Status::OK();
  }
  Document shown_;
  ExpressionPtr expression_;
  Variables variables_;
  Document current_;
};

Status parseRedact(const Element& e, StageParser& parser) {
  TROUPE_ASSIGN(auto expression, parseExpression(e, parser.parse()));
  parser.add(std::make_unique<RedactStage>(shownAs("$redact", e), std::move(expression), parser.parse().work));
  return Status::OK();
}

constexpr StageRow kTransformsStages[] = {
    {"$match", parseMatchStage},
    {"$project", parseProject, true},
    {"$addFields", parseAddFields, true},
    {"$set", parseAddFields, true},
    {"$unset", parseUnset, true},
    {"$replaceRoot", parseReplaceRoot, true},
    {"$replaceWith", parseReplaceWith, true},
    {"$redact", parseRedact},
};

}  // namespace

std::span<const StageRow> transformStages() { return kTransformsStages; }

}  // namespace troupe::query
