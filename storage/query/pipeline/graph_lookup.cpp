#include <set>

#include "storage/query/expression/accumulators.hpp"
#include "storage/query/expression/paths.hpp"
#include "storage/query/expression/values.hpp"
#include "storage/query/pipeline/stages.hpp"
#include "storage/query/project/nested_value.hpp"

// $graphLookup: breadth first, one query a level.
namespace troupe::query {

using bson::Document;
using bson::Element;
using bson::Type;
using bson::Value;

namespace {

struct GraphSpec {
  Document shown;
  CollectionName from;
  std::string as, connectFrom, connectTo, depthField;
  std::optional<int64_t> maxDepth;
  Document restrict;
};

class GraphLookupStage final : public Stage {
 public:
  GraphLookupStage(GraphSpec spec, ExpressionPtr start, PipelineContext context)
      : spec_(std::move(spec)),
        start_(std::move(start)),
        context_(std::move(context)),
        connectFrom_(spec_.connectFrom),
        variables_(context_.parse->work) {}

  StatusWith<Next> next() override {
    auto in = pull();
    if (!in.isOK() || !in->isDocument()) return in;
    const Document outer(in->document);
    variables_.setRoot(outer);
    TROUPE_ASSIGN(const Operand start, start_->evaluate(variables_));
    TROUPE_ASSIGN(const Value found, search(start));
    TROUPE_ASSIGN(current_, withNestedValue(outer, spec_.as, found, context_.parse->work));
    return Next::of(current_.view());
  }
  std::string_view name() const override { return "$graphLookup"; }
  void serialize(bson::Builder& stages) const override { stages.push(spec_.shown); }
  StageTraits traits() const override { return {.preservesCount = true}; }
  bool addDependencies(Dependencies& dependencies) const override {
    start_->addDependencies(dependencies);
    return true;
  }

 private:
  using Values = std::set<Value, ValueLess>;

  /// Documents that were reached, known by their `_id`. Those without one (of a view, say) are known by all of what
  /// they are, to the levels behind theirs alone: within a level the scan gives each document once, and equal ones are
  /// several.
  class FoundDocuments {
   public:
    explicit FoundDocuments(const ValueLess& less) : ids_(less) {}
    void beginLevel() { earlier_.merge(ofLevel_); }
    /// False: it was reached before. Errors: those of an interrupt.
    StatusWith<bool> add(bson::View document, Variables& variables) {
      const Element id = document["_id"];
      if (id.ok()) {
        TROUPE_TRY(variables.step(stepsOfAdding(id)));
        return ids_.emplace(id).second;
      }
      TROUPE_TRY(variables.step(stepsFor(document.size())));
      std::string bytes(document.bytes());
      if (earlier_.contains(bytes)) return false;
      ofLevel_.insert(std::move(bytes));
      return true;
    }

   private:
    Values ids_;
    std::set<std::string> earlier_, ofLevel_;
  };

  /// That a value or an `_id` which was reached takes beside its own bytes: its places in the set and in the next
  /// level.
  static constexpr int64_t kPerValue = 112;

  template <class F>
  static Status each(const Operand& operand, F visit) {
    const Element e = operand.element();
    if (!e.is(Type::kArray)) return e.ok() ? visit(e) : Status::OK();
    for (const Element& item : e.asArray()) TROUPE_TRY(visit(item));
    return Status::OK();
  }

  StatusWith<Value> search(const Operand& start) {
    const ValueLess less{context_.parse->collator};
    Values seenValues(less);
    FoundDocuments seen(less);
    std::vector<Value> frontier;
    int64_t bytes = 0;  // each of them is held up to three times: found, seen, next level
    int64_t places = 0;
    HeldMemory held(context_.parse->work);
    const auto hold = [&](int64_t size) -> Status {
      bytes += size;
      places += kPerValue;
      if (bytes + places > context_.memoryLimit)
        return {ErrorCode(40099), "$graphLookup reached maximum memory consumption"};
      return held.set(3 * bytes + places);
    };
    const auto reach = [&](const Element& e) -> Status {
      TROUPE_TRY(variables_.step(stepsOfAdding(e)));
      if (!seenValues.emplace(e).second) return Status::OK();
      frontier.emplace_back(e);
      return hold(e.valueSize());
    };
    TROUPE_TRY(each(start, reach));
    bson::Builder found;
    for (int64_t depth = 0; !frontier.empty() && (!spec_.maxDepth || depth <= *spec_.maxDepth); ++depth) {
      PushDown request{.filter = levelFilter(frontier), .parse = context_.parse, .depth = context_.depth + 1};
      frontier.clear();
      TROUPE_ASSIGN(auto scan, context_.environment->scan(spec_.from, request));
      seen.beginLevel();
      TROUPE_TRY(drain([&] { return scan->next(); }, context_,
                       [&](bson::View document) -> Status {
                         TROUPE_ASSIGN(const bool isNew, seen.add(document, variables_));
                         if (!isNew) return Status::OK();
                         TROUPE_TRY(hold(document.size()));
                         if (spec_.depthField.empty()) {
                           found.push(document);
                         } else {
                           const Value level(static_cast<int64_t>(depth));
                           TROUPE_ASSIGN(const auto shown,
                                         withNestedValue(document, spec_.depthField, level, context_.parse->work));
                           found.push(shown);
                         }
                         return each(connectFrom_.in(document), reach);
                       }));
    }
    return found.finishArray();
  }

  Document levelFilter(const std::vector<Value>& frontier) const {
    bson::Builder in;
    in.openDocument(spec_.connectTo).openArray("$in");
    for (const Value& v : frontier)
      if (v.type() != Type::kRegex) in.push(v);
    in.close().close();
    if (spec_.restrict.empty()) return in.finish();
    bson::Builder both;
    both.openArray("$and").push(spec_.restrict).push(in.finish()).close();
    return both.finish();
  }

  GraphSpec spec_;
  ExpressionPtr start_;
  PipelineContext context_;
  ValuePath connectFrom_;
  Variables variables_;
  Document current_;
};

Status parseField(const Element& field, GraphSpec& spec, StageParser& parser, ExpressionPtr& start) {
  const auto name = field.name();
  if (name == "startWith") {
    TROUPE_ASSIGN(start, parseExpression(field, parser.parse()));
    return Status::OK();
  }
  if (name == "maxDepth") {
    const auto depth = exactInt64(field);
    if (!depth) return {ErrorCode(40100), "maxDepth requires numeric argument, found: " + typeOf(field)};
    if (*depth < 0) return {ErrorCode(40101), "maxDepth requires a nonnegative argument, found: " + show(field)};
    spec.maxDepth = depth;
    return Status::OK();
  }
  if (name == "restrictSearchWithMatch") {
    if (!field.is(Type::kDocument))
      return {ErrorCode(40185), "restrictSearchWithMatch must be an object, found: " + typeOf(field)};
    TROUPE_TRY(parseMatch(field.asDocument(), parser.parse()).status());
    spec.restrict = Document(field.asDocument());
    return Status::OK();
  }
  std::string* target = name == "as"                 ? &spec.as
                        : name == "connectFromField" ? &spec.connectFrom
                        : name == "connectToField"   ? &spec.connectTo
                        : name == "depthField"       ? &spec.depthField
                        : name == "from"             ? &spec.from.collection
                                                     : nullptr;
  if (!target) return {ErrorCode(40104), "Unknown argument to $graphLookup: " + std::string(name)};
  if (!field.is(Type::kString))
    return {ErrorCode(40103), "expected string as argument for " + std::string(name) + ", found: " + typeOf(field)};
  *target = field.asString();
  return name == "from" ? Status::OK() : ValuePath::check(*target);
}

Status parseGraphLookup(const Element& e, StageParser& parser) {
  if (!e.is(Type::kDocument))
    return {ErrorCode(40327), "the $graphLookup stage specification must be an object, but found " + typeOf(e)};
  GraphSpec spec;
  spec.from.db = parser.context.on.db;
  ExpressionPtr start;
  for (const Element& field : e.asDocument()) TROUPE_TRY(parseField(field, spec, parser, start));
  if (spec.from.collection.empty())
    return {ErrorCode::kFailedToParse, "missing 'from' option to $graphLookup stage specification"};
  if (!start || spec.as.empty() || spec.connectFrom.empty() || spec.connectTo.empty())
    return {
        ErrorCode(40105),
        "$graphLookup requires 'from', 'as', 'startWith', 'connectFromField', and 'connectToField' to be specified."};
  bson::Builder shown;
  shown.append("$graphLookup", e);
  spec.shown = shown.finish();
  parser.involved.push_back({spec.from, NamespaceUse::kRead});
  parser.add(std::make_unique<GraphLookupStage>(std::move(spec), std::move(start), parser.context));
  return Status::OK();
}

constexpr StageRow kGraphLookupStages[] = {{"$graphLookup", parseGraphLookup}};

}  // namespace

std::span<const StageRow> graphLookupStages() { return kGraphLookupStages; }

}  // namespace troupe::query
