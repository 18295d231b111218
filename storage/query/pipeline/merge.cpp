#include <algorithm>
#include <array>

#include "messaging/bson/compare.hpp"
#include "storage/query/expression/objects.hpp"
#include "storage/query/expression/values.hpp"
#include "storage/query/pipeline/output.hpp"

// $merge.
namespace troupe::query {

using bson::Document;
using bson::Element;
using bson::Type;

namespace {

enum class Matched { kReplace, kKeepExisting, kMerge, kFail, kPipeline };
enum class NotMatched { kInsert, kDiscard, kFail };
constexpr std::array<std::string_view, 5> kMatchedNames = {"replace", "keepExisting", "merge", "fail", "pipeline"};
constexpr std::array<std::string_view, 3> kNotMatchedNames = {"insert", "discard", "fail"};

struct MergeSpec {
  std::vector<std::string> on;
  Matched matched = Matched::kMerge;
  NotMatched notMatched = NotMatched::kInsert;
  Document pipeline;
  std::optional<Document> let;
};

/// Failures that concern one document: the others of its batch are written nevertheless, and the first of these
/// failures ends the pipeline after it.
bool concernsOneDocument(const Status& status) {
  return status == ErrorCode::kDuplicateKey || status == ErrorCode::kDocumentValidationFailure ||
         status == ErrorCode::kImmutableField || status == ErrorCode::kMergeStageNoMatchingDocument;
}

/// The new version with the `_id` of the document it replaces: one that has none gets it back, another one is refused.
StatusWith<Document> withIdOf(bson::View existing, Document changed) {
  const Element before = existing["_id"], after = changed["_id"];
  if (!after.ok()) return bson::Builder().append(before).appendAll(changed).finish();
  const bool same =
      before.identical(after) || (before.isNumber() && after.isNumber() && bson::compareValues(before, after) == 0);
  if (same) return changed;
  return Status(ErrorCode::kImmutableField,
                "$merge failed to update the matching document, did you attempt to modify the _id or the shard key? :: "
                "caused by :: Performing an update on the path '_id' would modify the immutable field '_id'");
}

class MergeStage final : public OutputStage {
 public:
  MergeStage(Document shown, CollectionName target, MergeSpec spec, PipelineContext context)
      : OutputStage(std::move(shown), std::move(target), std::move(context)), spec_(std::move(spec)) {}
  std::string_view name() const override { return "$merge"; }

 private:
  Status begin() override {
    TROUPE_ASSIGN(index_, context_.environment->uniqueIndex(target_, spec_.on));
    if (index_ != UniqueIndex::kNone) return Status::OK();
    return {ErrorCode(51183), "Cannot find index to verify that join fields will be unique"};
  }
  Status finish() override { return Status::OK(); }

  Status write(bson::View document) override {
    Status status = writeOne(document);
    if (!concernsOneDocument(status)) return status;
    if (failed_.isOK()) failed_ = std::move(status);
    return Status::OK();
  }
  Status endBatch() override { return failed_; }

  /// The fields by which an existing document is found; nothing where the document needs a new `_id`.
  StatusWith<std::optional<Document>> queryFor(bson::View document) const {
    bson::Builder query;
    for (const auto& field : spec_.on) {
      const Element value = document.at(field);
      if (!value.ok() && field == "_id") return std::optional<Document>();
      if (value.is(Type::kArray))
        return Status(ErrorCode(51185), "$merge write error: 'on' field '" + field + "' cannot be an array");
      if (value.isNullish() && index_ != UniqueIndex::kWhole)
        return Status(ErrorCode(51132),
                      "$merge write error: 'on' field '" + field + "' cannot be missing, null or undefined");
      query.openDocument(field);
      if (value.isNullish()) query.append("$eq", bson::Null{});
      else query.append("$eq", value);
      query.close();
    }
    return std::optional(query.finish());
  }

  Status writeOne(bson::View document) {
    TROUPE_ASSIGN(const auto query, queryFor(document));
    // "fail" inserts at once: the index that finds the document refuses it, and says which key it was.
    if (!query || spec_.matched == Matched::kFail) return insertNew(document);
    const auto change = [&](bson::View existing) { return changed(existing, document); };
    TROUPE_ASSIGN(const bool found, context_.environment->modifyOne(target_, *query, change));
    if (found) return Status::OK();
    Status inserted = insertNew(document);
    if (inserted != ErrorCode::kDuplicateKey) return inserted;
    // Another client may have inserted it since.
    TROUPE_ASSIGN(const bool foundNow, context_.environment->modifyOne(target_, *query, change));
    return foundNow ? Status::OK() : inserted;
  }

  Status insertNew(bson::View document) {
    if (spec_.notMatched == NotMatched::kDiscard) return Status::OK();
    if (spec_.notMatched == NotMatched::kFail)
      return {ErrorCode::kMergeStageNoMatchingDocument,
              "$merge could not find a matching document in the target collection for at least one document in the "
              "source collection"};
    return context_.environment->insert(target_, document);
  }

  StatusWith<std::optional<Document>> changed(bson::View existing, bson::View document) {
    if (spec_.matched == Matched::kKeepExisting) return std::optional<Document>();
    Document after;
    if (spec_.matched == Matched::kReplace) {
      after = Document(document);
    } else if (spec_.matched == Matched::kMerge) {
      TROUPE_ASSIGN(after, merged(existing, document));
    } else {
      TROUPE_ASSIGN(after, throughPipeline(existing, document));
    }
    TROUPE_ASSIGN(after, withIdOf(existing, std::move(after)));
    return std::optional(std::move(after));
  }

  StatusWith<Document> merged(bson::View existing, bson::View document) const {
    MergedFields fields;
    for (const bson::View part : {existing, document}) TROUPE_TRY(fields.add(part, context_.parse->work));
    bson::Builder out;
    fields.appendTo(out);
    return out.finish();
  }

  StatusWith<Document> throughPipeline(bson::View existing, bson::View document) const {
    ParseContext inner = *context_.parse;
    bson::Builder let;
    Growth growth(context_.parse->work);  // of the variables, which are held until the pipeline has run
    TROUPE_TRY(growth.reserve(static_cast<size_t>(document.size())));
    let.append("new", document);
    Variables variables(context_.parse->work, document);
    if (spec_.let) {
      for (const Element& e : spec_.let->view()) {
        TROUPE_ASSIGN(const auto expression, parseExpression(e, *context_.parse));
        TROUPE_ASSIGN(const Operand value, static_cast<const Expression&>(*expression).evaluate(variables));
        TROUPE_TRY(growth.reserve(let.size() + value.element().valueSize()));
        if (value.ok()) let.append(e.name(), value.element());
      }
    }
    for (const Element& e : context_.parse->let) {
      TROUPE_TRY(growth.reserve(let.size() + static_cast<size_t>(e.size())));
      let.append(e);
    }
    const Document bound = let.finish();
    inner.let = bound;
    return applyPipelineUpdate(spec_.pipeline, existing, inner);
  }

  MergeSpec spec_;
  UniqueIndex index_ = UniqueIndex::kNone;
  Status failed_;
};

Status wrongType(const Element& e, std::string_view expected) {
  return {ErrorCode::kTypeMismatch, "BSON field '$merge." + std::string(e.name()) + "' is the wrong type '" +
                                        typeOf(e) + "', expected type '" + std::string(expected) + "'"};
}

Status parseInto(const Element& e, CollectionName& target) {
  if (e.is(Type::kString)) {
    target.collection = e.asString();
    if (target.collection.empty()) return {ErrorCode(5786800), "$merge 'into' field cannot be an empty string"};
    return Status::OK();
  }
  if (!e.is(Type::kDocument))
    return {ErrorCode(51178), "$merge 'into' field  must be either a string or an object, but found " + typeOf(e)};
  for (const Element& field : e.asDocument()) {
    const bool isDb = field.name() == "db";
    if (!isDb && field.name() != "coll")
      return {ErrorCode(40415), "BSON field '$merge.into." + std::string(field.name()) + "' is an unknown field."};
    if (field.isNullish()) continue;
    if (!field.is(Type::kString)) return wrongType(field, "string");
    (isDb ? target.db : target.collection) = field.asString();
  }
  if (target.collection.empty())
    return {ErrorCode(5786801), "$merge 'into' field must specify a 'coll' that is not empty, null or undefined"};
  return Status::OK();
}

constexpr int kMaxOnFields = 32;

Status parseOn(const Element& e, std::vector<std::string>& on) {
  if (e.is(Type::kString)) {
    on = {std::string(e.asString())};
    return Status::OK();
  }
  if (!e.is(Type::kArray))
    return {ErrorCode(51186),
            "$merge 'on' field  must be either a string or an array of strings, but found " + typeOf(e)};
  if (e.asArray().count() > kMaxOnFields)
    return {ErrorCode::kBadValue,
            "$merge 'on' may name at most " + std::to_string(kMaxOnFields) + " fields, as many as an index has"};
  for (const Element& path : e.asArray()) {
    if (!path.is(Type::kString))
      return {ErrorCode(51134), "$merge 'on' array elements must be strings, but found " + typeOf(path)};
    if (std::find(on.begin(), on.end(), path.asString()) != on.end())
      return {ErrorCode(31465), "Found a duplicate field '" + std::string(path.asString()) + "'"};
    on.emplace_back(path.asString());
  }
  if (!on.empty()) return Status::OK();
  return {ErrorCode(51187), "If explicitly specifying $merge 'on', must include at least one field"};
}

template <class Mode, size_t N>
Status parseMode(const Element& e, const std::array<std::string_view, N>& names, size_t count, Mode& mode) {
  const auto found = std::find(names.begin(), names.begin() + count, e.asString());
  if (found == names.begin() + count)
    return {ErrorCode::kBadValue, "Enumeration value '" + std::string(e.asString()) + "' for field '$merge." +
                                      std::string(e.name()) + "' is not a valid value."};
  mode = static_cast<Mode>(found - names.begin());
  return Status::OK();
}

Status parseWhenMatched(const Element& e, MergeSpec& spec) {
  if (e.is(Type::kArray)) {
    spec.matched = Matched::kPipeline;
    spec.pipeline = Document(e.asArray());
    return Status::OK();
  }
  if (!e.is(Type::kString))
    return {ErrorCode(51191),
            "$merge 'whenMatched' field  must be either a string or an array, but found " + typeOf(e)};
  return parseMode(e, kMatchedNames, kMatchedNames.size() - 1, spec.matched);
}

Status parseLet(const Element& e, MergeSpec& spec) {
  if (!e.is(Type::kDocument)) return wrongType(e, "object");
  spec.let = Document(e.asDocument());
  const Element reserved = (*spec.let)["new"];
  if (!reserved.ok() || reserved.toStringOr() == "$$ROOT") return Status::OK();
  return {ErrorCode(51273), "'let' may not define a value for the reserved 'new' variable other than '$$ROOT'"};
}

Status parseMergeField(const Element& field, CollectionName& target, MergeSpec& spec) {
  const std::string_view name = field.name();
  if (name == "into") return parseInto(field, target);
  const bool known = name == "on" || name == "whenMatched" || name == "whenNotMatched" || name == "let";
  if (!known) return {ErrorCode(40415), "BSON field '$merge." + std::string(name) + "' is an unknown field."};
  if (field.isNullish()) return Status::OK();  // the default
  if (name == "on") return parseOn(field, spec.on);
  if (name == "let") return parseLet(field, spec);
  if (name == "whenMatched") return parseWhenMatched(field, spec);
  if (!field.is(Type::kString)) return wrongType(field, "string");
  return parseMode(field, kNotMatchedNames, kNotMatchedNames.size(), spec.notMatched);
}

/// What goes together: to keep or refuse existing documents says that the others are inserted.
Status checkModes(const MergeSpec& spec) {
  const bool needsInsert = spec.matched == Matched::kKeepExisting || spec.matched == Matched::kFail;
  const std::string matched(kMatchedNames[static_cast<size_t>(spec.matched)]);
  if (needsInsert && spec.notMatched != NotMatched::kInsert)
    return {ErrorCode(51181), "Combination of $merge modes 'whenMatched: " + matched + "' and 'whenNotMatched: " +
                                  std::string(kNotMatchedNames[static_cast<size_t>(spec.notMatched)]) +
                                  "' is not supported"};
  if (spec.let && spec.matched != Matched::kPipeline)
    return {ErrorCode(51199), "Cannot use 'let' variables with 'whenMatched: " + matched + "' mode"};
  return Status::OK();
}

Status parseMerge(const Element& e, StageParser& parser) {
  CollectionName target{parser.context.on.db, ""};
  MergeSpec spec;
  if (e.is(Type::kString)) {
    target.collection = e.asString();
  } else if (e.is(Type::kDocument)) {
    for (const Element& field : e.asDocument()) TROUPE_TRY(parseMergeField(field, target, spec));
    if (!e.asDocument().has("into"))
      return {ErrorCode::kMissingRequiredField, "BSON field '$merge.into' is missing but a required field"};
  } else {
    return {ErrorCode::kTypeMismatch, "$merge requires a string or object argument, but found " + typeOf(e)};
  }
  TROUPE_TRY(checkModes(spec));
  if (target.collection.empty())
    return {ErrorCode::kInvalidNamespace, "Invalid $merge target namespace: '" + target.full() + "'"};
  if (target.collection.starts_with("system."))
    return {ErrorCode(31319), "Cannot $merge to special collection: " + target.collection};
  if (OutputStage::isInternal(target.db)) return {ErrorCode(31320), "Cannot $merge to internal database: " + target.db};
  if (!parser.context.environment) return {ErrorCode::kInvalidOptions, "$merge is not allowed here"};
  if (spec.on.empty()) spec.on = {"_id"};
  bson::Builder shown;
  shown.append("$merge", e);
  // Whether a document matches is seen by an update alone; `fail` never looks further than at its own insert.
  if (spec.notMatched == NotMatched::kInsert) parser.involved.push_back({target, NamespaceUse::kInsert});
  if (spec.matched != Matched::kFail || spec.notMatched != NotMatched::kInsert)
    parser.involved.push_back({target, NamespaceUse::kUpdate});
  parser.add(std::make_unique<MergeStage>(shown.finish(), std::move(target), std::move(spec), parser.context));
  return Status::OK();
}

constexpr StageRow kMergeStages[] = {{"$merge", parseMerge}};

}  // namespace

std::span<const StageRow> mergeStages() { return kMergeStages; }

}  // namespace troupe::query
