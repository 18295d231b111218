#include "storage/query/project/projection.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "messaging/bson/json.hpp"
#include "storage/query/expression/expression.hpp"
#include "storage/query/match/match_parser.hpp"

namespace troupe::query {
namespace {

using bson::Document;
using bson::Element;
using bson::Type;
using bson::Value;
using bson::View;

enum class MetaField { kTextScore, kSortKey, kRecordId };

class FindProjection final : public Projection {
 public:
  FindProjection(ProjectionTree::Mode mode, QueryWork* work) : work_(work), tree_(mode, work) {}

  bool isInclusion() const override { return tree_.mode() == ProjectionTree::Mode::kInclude; }
  const std::vector<std::string>& requiredPaths() const override { return required_; }
  bool needsSortKey() const override {
    return std::any_of(metas_.begin(), metas_.end(),
                       [](const auto& meta) { return meta.second == MetaField::kSortKey; });
  }
  bool isPositional() const override { return !positional_.empty(); }
  StatusWith<Document> apply(const ProjectionInput& input) const override {
    TROUPE_ASSIGN(Document result, tree_.apply(input.document));
    if (!positional_.empty()) {
      TROUPE_ASSIGN(result, onlyMatchedElement(input.document, result));
    }
    if (metas_.empty()) return result;
    ProjectionTree metas(ProjectionTree::Mode::kAdd, work_);
    for (const auto& [path, field] : metas_)
      TROUPE_TRY(
          metas.compute(path, [&input, field = field](View) -> StatusWith<Value> { return meta(field, input); }));
    return metas.apply(result);
  }

 private:
  friend class ProjectionParser;

  static Value meta(MetaField field, const ProjectionInput& input) {
    switch (field) {
      case MetaField::kTextScore: return Value(input.textScore);
      case MetaField::kSortKey: return Value::array(input.sortKey);
      case MetaField::kRecordId: break;
    }
    return input.recordId ? input.recordId->toValue() : Value(int64_t{0});
  }
  /// `a.$`: of the array at `a`, the element that made the document match.
  StatusWith<Document> onlyMatchedElement(View document, View projected) const {
    constexpr const char* kContext = "Executor error during find command :: caused by :: ";
    MatchDetails details;
    details.work = work_;
    const bool matched = filter_->matches(document, &details);
    TROUPE_TRY(details.error);
    ProjectionTree edit(ProjectionTree::Mode::kExclude, work_);
    TROUPE_TRY(edit.transform(positional_, [&](const Element& e) -> StatusWith<Value> {
      if (!e.is(Type::kArray)) return Value(e);
      if (!matched || details.arrayIndex < 0)
        return {ErrorCode(51246),
                std::string(kContext) + "positional operator '.$' couldn't find a matching element in the array"};
      int64_t n = 0;
      for (const auto& item : e.asArray())
        if (n++ == details.arrayIndex) return bson::array(item);
      return {ErrorCode(51247), std::string(kContext) + "positional operator '.$' element mismatch"};
    }));
    return edit.apply(projected);
  }

  QueryWork* work_;
  ProjectionTree tree_;
  std::vector<std::string> required_;
  std::string positional_;  ///< the path before `.$`, or empty
  const MatchExpression* filter_ = nullptr;
  std::vector<std::pair<std::string, MetaField>> metas_;
};

/// A field of the projection: what is wanted at one path.
struct Wish {
  enum class Kind { kInclude, kExclude, kCompute, kSlice, kElemMatch, kPositional, kMeta };
  Kind kind;
  std::string path;
  Element value;
};

class ProjectionParser {
 public:
  ProjectionParser(const MatchExpression* filter, const ParseContext& context)
      : filter_(filter), context_(context), held_(context.work) {}
  StatusWith<std::unique_ptr<Projection>> parse(View spec);

 private:
  using Mode = ProjectionTree::Mode;
  Status read(View spec, const std::string& prefix);
  Status hold(size_t pathBytes);
  Status readDocument(const std::string& path, const Element& e);
  Status readPositional(const std::string& path, const Element& e);
  bool wishes(Wish::Kind kind) const {
    return std::any_of(wishes_.begin(), wishes_.end(), [kind](const Wish& w) { return w.kind == kind; });
  }
  StatusWith<Mode> mode() const;
  Status add(const Wish& wish, FindProjection& to);
  Status addSlice(const Wish& wish, ProjectionTree& tree);
  Status addElemMatch(const Wish& wish, ProjectionTree& tree);
  Status addMeta(const Wish& wish, FindProjection& to);

  const MatchExpression* filter_;
  const ParseContext& context_;
  std::vector<Wish> wishes_;
  HeldMemory held_;  ///< of the wishes
  int64_t bytes_ = 0;
  std::optional<bool> idShown_;
};

Status checkFieldPath(std::string_view path) {
  if (path.empty()) return {ErrorCode::kFieldPathEmpty, "FieldPath cannot be constructed with empty string"};
  if (path.ends_with('.')) return {ErrorCode::kFieldPathTrailingDot, "FieldPath must not end with a '.'."};
  const FieldPath parts(path);
  TROUPE_TRY(checkDepth(parts));
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].empty()) return {ErrorCode(15998), "FieldPath field names may not be empty strings."};
    if (parts[i].starts_with('$'))
      return {ErrorCode::kFieldPathInvalid,
              "FieldPath field names may not start with '$'. Consider using $getField or $setField."};
  }
  return Status::OK();
}

/// find's `$slice: n` and `[skip, n]`; anything else is the expression of that name.
bool isFindSlice(const Element& operand) {
  if (operand.isNumber()) return true;
  if (!operand.is(Type::kArray) || operand.asArray().count() != 2) return false;
  const View pair = operand.asArray();
  return std::all_of(pair.begin(), pair.end(), [](const Element& e) { return e.isNumber(); });
}

Status ProjectionParser::hold(size_t pathBytes) {
  if (context_.work) TROUPE_TRY(context_.work->step(stepsFor(pathBytes)));
  bytes_ += static_cast<int64_t>(pathBytes + sizeof(Wish));
  return held_.set(bytes_);
}

Status ProjectionParser::read(View spec, const std::string& prefix) {
  for (const auto& e : spec) {
    TROUPE_TRY(hold(prefix.size() + e.name().size()));  // each field has a path of its own, its prefix included
    const std::string path = prefix.empty() ? std::string(e.name()) : prefix + "." + std::string(e.name());
    if (path.ends_with(".$")) {
      TROUPE_TRY(readPositional(path, e));
      continue;
    }
    if (path.find(".$.") != std::string::npos)
      return {ErrorCode(31394),
              "As of 4.4, it's illegal to specify positional operator in the middle of a path."
              "Positional projection may only be used at the end, for example: a.b.$. If the query "
              "previously used a form like a.b.$.d, remove the parts following the '$' and the results "
              "will be equivalent."};
    TROUPE_TRY(checkFieldPath(path));
    if (e.is(Type::kDocument)) {
      TROUPE_TRY(readDocument(path, e));
    } else if (!e.isNumber() && !e.is(Type::kBool)) {
      wishes_.push_back({Wish::Kind::kCompute, path, e});
    } else if (path == "_id") {
      idShown_ = e.truthy();
    } else {
      wishes_.push_back({e.truthy() ? Wish::Kind::kInclude : Wish::Kind::kExclude, path, e});
    }
  }
  return Status::OK();
}

Status ProjectionParser::readDocument(const std::string& path, const Element& e) {
  const Element first = e.asDocument().first();
  if (!first.ok())
    return {ErrorCode(51270), "An empty sub-projection is not a valid value. Found empty object at path"};
  // An operator stands alone; among other fields it is one of them, and its name none that a field may have.
  if (!first.name().starts_with('$') || e.asDocument().count() > 1) return read(e.asDocument(), path);
  constexpr std::string_view kOfFind[] = {"$elemMatch", "$meta"};
  if (!isExpressionOperator(first.name()) &&
      std::find(std::begin(kOfFind), std::end(kOfFind), first.name()) == std::end(kOfFind))
    return {ErrorCode(31325), "Unknown expression " + std::string(first.name())};
  Wish wish{Wish::Kind::kCompute, path, e};
  if (first.name() == "$slice" && isFindSlice(first)) wish = {Wish::Kind::kSlice, path, first};
  if (first.name() == "$elemMatch") {
    if (wishes(Wish::Kind::kPositional))
      return {ErrorCode(31255), "Cannot specify positional operator and $elemMatch in the same projection."};
    wish = {Wish::Kind::kElemMatch, path, first};
  }
  if (first.name() == "$meta") wish = {Wish::Kind::kMeta, path, first};
  wishes_.push_back(std::move(wish));
  return Status::OK();
}

Status ProjectionParser::readPositional(const std::string& path, const Element& e) {
  const std::string array = path.substr(0, path.size() - 2);
  TROUPE_TRY(checkFieldPath(array));
  if (e.is(Type::kDocument))
    return {ErrorCode(31271), "positional projection cannot be used with an expression or sub object"};
  if (!e.isNumber() && !e.is(Type::kBool))
    return {ErrorCode(31308), "positional projection cannot be used with a literal"};
  if (!e.truthy()) return {ErrorCode(31395), "positional projection cannot be used with exclusion"};
  if (wishes(Wish::Kind::kElemMatch))
    return {ErrorCode(31256), "Cannot specify positional operator and $elemMatch in the same projection."};
  if (wishes(Wish::Kind::kPositional))
    return {ErrorCode(31276), "Cannot specify more than one positional projection per query."};
  if (!filter_) return {ErrorCode(51050), "Projections with a positional operator require a matcher"};
  wishes_.push_back({Wish::Kind::kPositional, array, e});
  return Status::OK();
}

StatusWith<ProjectionTree::Mode> ProjectionParser::mode() const {
  std::optional<Mode> mode;
  bool elemMatch = false;
  for (const auto& wish : wishes_) {
    switch (wish.kind) {
      case Wish::Kind::kExclude:
        if (mode == Mode::kInclude)
          return {ErrorCode::kProjectionMixed,
                  "Cannot do exclusion on field " + wish.path + " in inclusion projection"};
        mode = Mode::kExclude;
        break;
      case Wish::Kind::kInclude:
      case Wish::Kind::kPositional:
        if (mode == Mode::kExclude)
          return {ErrorCode(31253), "Cannot do inclusion on field " + wish.path + " in exclusion projection"};
        mode = Mode::kInclude;
        break;
      case Wish::Kind::kCompute:
        if (mode == Mode::kExclude)
          return {ErrorCode(31252), "Cannot use expression other than $meta in exclusion projection"};
        mode = Mode::kInclude;
        break;
      case Wish::Kind::kElemMatch: elemMatch = true; break;
      case Wish::Kind::kSlice:
      case Wish::Kind::kMeta: break;
    }
  }
  if (mode) return *mode;
  if (idShown_) return *idShown_ ? Mode::kInclude : (elemMatch ? Mode::kInclude : Mode::kExclude);
  return elemMatch ? Mode::kInclude : Mode::kExclude;
}

Status ProjectionParser::addSlice(const Wish& wish, ProjectionTree& tree) {
  int64_t skip = 0;
  int64_t limit = 0;
  if (wish.value.isNumber()) {
    limit = wish.value.toInt64();
    if (limit < 0) {
      skip = limit;
      limit = limit == INT64_MIN ? INT64_MAX : -limit;
    }
  } else {
    const View pair = wish.value.asArray();
    skip = pair["0"].toInt64();
    limit = pair["1"].toInt64();
    if (limit <= 0) return {ErrorCode(28724), "First argument to $slice must be an array, but is of type: int"};
  }
  return tree.transform(wish.path, [skip, limit](const Element& e) -> StatusWith<Value> {
    if (!e.is(Type::kArray)) return Value(e);
    const int64_t size = e.asArray().count();
    const int64_t from = skip >= 0 ? std::min(skip, size) : std::max<int64_t>(0, size + std::max(skip, -size));
    const int64_t to = limit > size - from ? size : from + limit;
    bson::Builder out;
    int64_t n = 0;
    for (const auto& item : e.asArray()) {
      if (n >= to) break;
      if (n++ >= from) out.push(item);
    }
    return out.finishArray();
  });
}

Status ProjectionParser::addElemMatch(const Wish& wish, ProjectionTree& tree) {
  if (!wish.value.is(Type::kDocument))
    return {ErrorCode(31274),
            "elemMatch: Invalid argument, object required, but got " + std::string(bson::typeName(wish.value.type()))};
  if (wish.value.asDocument().has("$jsonSchema")) return {ErrorCode(224), "$jsonSchema is not allowed in this context"};
  if (wish.path.find('.') != std::string::npos)
    return {ErrorCode(31275), "Cannot use $elemMatch projection on a nested field."};
  const Document filter = bson::doc(wish.path, bson::doc("$elemMatch", wish.value.asDocument()));
  TROUPE_ASSIGN(auto parsed, parseMatch(filter, context_));
  const std::shared_ptr<const MatchExpression> match = std::move(parsed);
  return tree.compute(wish.path, [match, path = wish.path, work = context_.work](View root) -> StatusWith<Value> {
    MatchDetails details;
    details.work = work;
    const bool matched = match->matches(root, &details);
    TROUPE_TRY(details.error);
    if (!matched) return Value();
    int64_t n = 0;
    for (const auto& item : root[path].asArray())
      if (n++ == details.arrayIndex) return bson::array(item);
    return Value();
  });
}

Status ProjectionParser::addMeta(const Wish& wish, FindProjection& to) {
  if (!wish.value.is(Type::kString)) return {ErrorCode(17307), "$meta only supports string arguments"};
  const auto name = wish.value.asString();
  if (name == "textScore") to.metas_.emplace_back(wish.path, MetaField::kTextScore);
  else if (name == "sortKey") to.metas_.emplace_back(wish.path, MetaField::kSortKey);
  else if (name == "recordId") to.metas_.emplace_back(wish.path, MetaField::kRecordId);
  else return {ErrorCode(17308), "Unsupported argument to $meta: " + std::string(name)};
  return Status::OK();
}

Status ProjectionParser::add(const Wish& wish, FindProjection& to) {
  switch (wish.kind) {
    case Wish::Kind::kInclude:
    case Wish::Kind::kExclude: return to.tree_.mark(wish.path);
    case Wish::Kind::kPositional:
      to.positional_ = wish.path;
      to.filter_ = filter_;
      return to.tree_.mark(wish.path);
    case Wish::Kind::kSlice: return addSlice(wish, to.tree_);
    case Wish::Kind::kElemMatch: return addElemMatch(wish, to.tree_);
    case Wish::Kind::kMeta: return addMeta(wish, to);
    case Wish::Kind::kCompute: break;
  }
  TROUPE_ASSIGN(auto parsed, parseExpression(wish.value, context_));
  const std::shared_ptr<const Expression> expression = std::move(parsed);
  return to.tree_.compute(wish.path, [expression, work = context_.work](View root) -> StatusWith<Value> {
    Variables variables(work);
    return expression->evaluate(root, variables);
  });
}

StatusWith<std::unique_ptr<Projection>> ProjectionParser::parse(View spec) {
  TROUPE_TRY(read(spec, ""));
  TROUPE_ASSIGN(const auto mode, this->mode());
  auto projection = std::make_unique<FindProjection>(mode, context_.work);
  const bool idWished = std::any_of(wishes_.begin(), wishes_.end(),
                                    [](const Wish& w) { return w.path == "_id" || w.path.starts_with("_id."); });
  const bool including = mode == ProjectionTree::Mode::kInclude;
  if (!idWished && idShown_.value_or(true) == including) TROUPE_TRY(projection->tree_.mark("_id"));
  for (const auto& wish : wishes_) TROUPE_TRY(add(wish, *projection));
  if (including && projection->tree_.isPlain() && projection->positional_.empty() && projection->metas_.empty())
    projection->required_ = projection->tree_.markedPaths();
  return std::unique_ptr<Projection>(std::move(projection));
}

}  // namespace

StatusWith<std::unique_ptr<Projection>> parseProjection(View spec, const MatchExpression* filter,
                                                        const ParseContext& context) {
  return ProjectionParser(filter, context).parse(spec);
}

}  // namespace troupe::query
