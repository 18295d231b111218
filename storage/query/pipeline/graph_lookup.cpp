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

  /// A search may take longer than its turn: it yields when its scan does, and goes on from there.
  StatusWith<Next> next() override {
    if (!search_) {
      auto in = pull();
      if (!in.isOK() || !in->isDocument()) return in;
      TROUPE_TRY(beginSearch(in->document));
    }
    TROUPE_ASSIGN(const bool isComplete, readLevel(*search_));
    if (!isComplete) return Next::yield();
    const Document outer = std::move(search_->outer);
    const Value found = search_->found.finishArray();
    search_.reset();
    TROUPE_ASSIGN(current_, withNestedValue(outer, spec_.as, found, context_.parse->work));
    return Next::of(current_.view());
  }
  void save() override {
    Stage::save();
    if (search_ && search_->scan) search_->scan->save();
  }
  Status restore() override {
    TROUPE_TRY(Stage::restore());
    return search_ && search_->scan ? search_->scan->restore() : Status::OK();
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

  /// The search for what is reached from one document.
  struct Search {
    Search(const ValueLess& less, QueryWork* work) : seenValues(less), seen(less), held(work) {}
    Document outer;
    Values seenValues;
    FoundDocuments seen;
    std::vector<Value> frontier;  ///< where the next level begins
    StagePtr scan;                ///< of the level at hand; null between two levels
    int64_t depth = 0;            ///< of that level, or of the next one
    bson::Builder found;
    int64_t bytes = 0;  ///< each of them is held up to three times: found, seen, next level
    int64_t places = 0;
    HeldMemory held;
  };

  Status beginSearch(bson::View outer) {
    auto search = std::make_unique<Search>(ValueLess{context_.parse->collator}, context_.parse->work);
    TROUPE_TRY(search->held.set(heldBytes(outer)));
    search->outer = Document(outer);
    variables_.setRoot(search->outer);
    TROUPE_ASSIGN(const Operand start, start_->evaluate(variables_));
    TROUPE_TRY(each(start, [&](const Element& e) { return reach(*search, e); }));
    search_ = std::move(search);
    return Status::OK();
  }
  Status hold(Search& search, int64_t bytes) const {
    search.bytes += bytes;
    search.places += kPerValue;
    if (search.bytes + search.places > context_.memoryLimit)
      return {ErrorCode(40099), "$graphLookup reached maximum memory consumption"};
    return search.held.set(heldBytes(search.outer.view()) + 3 * search.bytes + search.places);
  }
  Status reach(Search& search, const Element& e) {
    TROUPE_TRY(variables_.step(stepsOfAdding(e)));
    if (!search.seenValues.emplace(e).second) return Status::OK();
    search.frontier.emplace_back(e);
    return hold(search, e.valueSize());
  }
  bool isOver(const Search& search) const {
    return search.frontier.empty() || (spec_.maxDepth && search.depth > *spec_.maxDepth);
  }
  Status openLevel(Search& search) {
    PushDown request{.filter = levelFilter(search.frontier), .parse = context_.parse, .depth = context_.depth + 1};
    search.frontier.clear();
    search.seen.beginLevel();
    TROUPE_ASSIGN(search.scan, context_.environment->scan(spec_.from, request));
    return Status::OK();
  }
  /// Goes on with the level at hand, or the next one. True at the end of the search; else others get their turn, also
  /// between levels: each may be short, and there may be very many.
  StatusWith<bool> readLevel(Search& search) {
    if (!search.scan) {
      if (isOver(search)) return true;
      TROUPE_TRY(openLevel(search));
    }
    for (;;) {
      TROUPE_TRY(variables_.step(1));
      TROUPE_ASSIGN(const Next in, search.scan->next());
      if (in.kind == Next::Kind::kYield) return false;
      if (in.isEnd()) break;
      TROUPE_TRY(take(search, in.document));
    }
    search.scan.reset();
    ++search.depth;
    return isOver(search);
  }
  Status take(Search& search, bson::View document) {
    TROUPE_ASSIGN(const bool isNew, search.seen.add(document, variables_));
    if (!isNew) return Status::OK();
    TROUPE_TRY(hold(search, document.size()));
    if (spec_.depthField.empty()) {
      search.found.push(document);
    } else {
      TROUPE_ASSIGN(const auto shown,
                    withNestedValue(document, spec_.depthField, Value(search.depth), context_.parse->work));
      search.found.push(shown);
    }
    return each(connectFrom_.in(document), [&](const Element& e) { return reach(search, e); });
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
  std::unique_ptr<Search> search_;  ///< the one under way
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
