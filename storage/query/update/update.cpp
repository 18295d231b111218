#include "storage/query/update/update.hpp"

#include <algorithm>

#include "messaging/bson/compare.hpp"
#include "messaging/bson/json.hpp"
#include "messaging/bson/validate.hpp"
#include "storage/query/update/array_filters.hpp"
#include "storage/query/update/update_tree.hpp"

namespace troupe::query {
namespace {

using bson::Document;
using bson::Element;
using bson::Type;
using bson::View;

bool same(const Element& a, const Element& b) {
  if (a.ok() != b.ok()) return false;
  return !a.ok() || (a.type() == b.type() && a.valueBytes() == b.valueBytes());
}

/// _id and shard key fields keep their values.
Status checkImmutable(const UpdateInput& input, View after, bool whole) {
  const auto check = [&](std::string_view path) -> Status {
    const Element before = input.document.at(path);
    const Element now = after.at(path);
    if (!before.ok() || same(before, now) ||
        (before.isNumber() && now.isNumber() && bson::compareValues(before, now) == 0))
      return Status::OK();
    const std::string name(path);
    if (!whole)
      return {ErrorCode::kImmutableField,
              "Performing an update on the path '" + name + "' would modify the immutable field '" + name + "'"};
    if (!now.ok())
      return {ErrorCode::kImmutableField, "After applying the update to the document, the (immutable) field '" + name +
                                              "' was found to have been removed"};
    return {ErrorCode::kImmutableField, "After applying the update, the (immutable) field '" + name +
                                            "' was found to have been altered to " + name + ": " +
                                            bson::toRelaxedJson(now)};
  };
  TROUPE_TRY(check("_id"));
  if (!input.immutablePaths) return Status::OK();
  for (const auto& path : *input.immutablePaths) TROUPE_TRY(check(path));
  return Status::OK();
}

Status checkResult(const UpdateInput& input, View after, bool whole, bool checkDepth) {
  TROUPE_TRY(checkUpdatedSize(after.size()));
  if (!input.checkForStorage) return Status::OK();
  TROUPE_TRY(checkImmutable(input, after, whole));
  const Element id = after["_id"];
  if (id.is(Type::kArray) || id.is(Type::kRegex) || id.is(Type::kUndefined))
    return {ErrorCode::kInvalidIdField, "The '_id' value cannot be of type " + std::string(bson::typeName(id.type()))};
  if (!checkDepth) return Status::OK();
  return bson::validate(after.bytes(), {.maxDepth = bson::kMaxNestingDepth}).status();
}

class OperatorUpdate final : public Update {
 public:
  OperatorUpdate(UpdateTree tree, ArrayFilters filters) : tree_(std::move(tree)), filters_(std::move(filters)) {}
  Form form() const override { return Form::kOperators; }
  StatusWith<UpdateResult> apply(const UpdateInput& input) const override {
    bson::Builder out;
    out.reserve(input.document.size() + 128);
    bool changed = false;
    TROUPE_TRY(tree_.apply(input, filters_, out, &changed));
    UpdateResult result{out.finish(), !changed};
    if (changed) TROUPE_TRY(checkResult(input, result.document, false, tree_.mayNestDeeply()));
    return result;
  }
  std::vector<std::string> paths() const override { return tree_.paths(); }
  bool needsMatchedIndex() const override { return tree_.needsMatchedIndex(); }

 private:
  UpdateTree tree_;
  ArrayFilters filters_;
};

class Replacement final : public Update {
 public:
  Replacement(View document, bson::Timestamp now) : document_(document), now_(now) {}
  Form form() const override { return Form::kReplacement; }
  StatusWith<UpdateResult> apply(const UpdateInput& input) const override {
    const Element oldId = input.document["_id"];
    const Element newId = document_["_id"];
    bson::Builder out;
    out.reserve(document_.bytes().size() + 64);
    out.append("_id", newId.ok() ? newId : oldId);
    for (const auto& e : document_.view()) {
      if (e.name() == "_id") continue;
      // An empty timestamp at the top stands for the present.
      if (e.is(Type::kTimestamp) && e.asTimestamp() == bson::Timestamp{} && now_ != bson::Timestamp{})
        out.append(e.name(), now_);
      else out.append(e);
    }
    UpdateResult result{out.finish(), false};
    result.noop = result.document.view() == input.document;
    TROUPE_TRY(checkResult(input, result.document, true, true));
    return result;
  }

 private:
  Document document_;
  bson::Timestamp now_;
};

class PipelineForm final : public Update {
 public:
  explicit PipelineForm(UpdatePipeline pipeline) : pipeline_(std::move(pipeline)) {}
  Form form() const override { return Form::kPipeline; }
  StatusWith<UpdateResult> apply(const UpdateInput& input) const override {
    TROUPE_ASSIGN(auto document, pipeline_(input.document));
    // A new document that lost its _id has it back, first.
    if (const Element id = input.document["_id"]; id.ok() && !document["_id"].ok()) {
      bson::Builder out;
      out.append(id).appendAll(document);
      document = out.finish();
    }
    UpdateResult result{std::move(document), false};
    result.noop = result.document.view() == input.document;
    TROUPE_TRY(checkResult(input, result.document, true, true));
    return result;
  }

 private:
  UpdatePipeline pipeline_;
};

StatusWith<std::unique_ptr<Update>> parseReplacement(View document, const ParseContext& context) {
  for (const auto& e : document) {
    if (!e.name().starts_with('$')) continue;
    return {ErrorCode::kDollarPrefixedFieldName, "The dollar ($) prefixed field '" + std::string(e.name()) + "' in '" +
                                                     std::string(e.name()) +
                                                     "' is not allowed in the context of an update's replacement "
                                                     "document. Consider using an aggregation pipeline with "
                                                     "$replaceWith."};
  }
  return std::unique_ptr<Update>(std::make_unique<Replacement>(document, context.clusterTime));
}

Status addRename(const Element& e, const ArrayFilters& filters, UpdateTree& tree) {
  const std::string source(e.name());
  if (!e.is(Type::kString))
    return {ErrorCode::kBadValue, "The 'to' field for $rename must be a string: " + describeElement(e)};
  const std::string target(e.asString());
  const auto dynamic = [](const std::string& path) { return path.find(".$") != std::string::npos; };
  if (dynamic(source)) return {ErrorCode::kBadValue, "The source field for $rename may not be dynamic: " + source};
  if (dynamic(target)) return {ErrorCode::kBadValue, "The destination field for $rename may not be dynamic: " + target};
  if (source == target)
    return {ErrorCode::kBadValue, "The source and target field for $rename must differ: " + describeElement(e)};
  if (source.starts_with(target + ".") || target.starts_with(source + "."))
    return {ErrorCode::kBadValue,
            "The source and target field for $rename must not be on the same path: " + describeElement(e)};
  TROUPE_TRY(tree.add(renameFrom(source), filters));
  return tree.add(renameTo(target, source), filters);
}

constexpr std::string_view kModifiers[] = {"$set",  "$unset",  "$inc",      "$mul",         "$min",
                                           "$max",  "$rename", "$bit",      "$setOnInsert", "$currentDate",
                                           "$push", "$pull",   "$addToSet", "$pullAll",     "$pop"};

StatusWith<std::unique_ptr<Update>> parseOperators(View u, View arrayFilters, const ParseContext& context) {
  TROUPE_ASSIGN(auto filters, ArrayFilters::parse(arrayFilters, context));
  UpdateTree tree(context.work);
  for (const auto& modifier : u) {
    const std::string name(modifier.name());
    if (std::find(std::begin(kModifiers), std::end(kModifiers), name) == std::end(kModifiers))
      return {ErrorCode::kFailedToParse,
              "Unknown modifier: " + name +
                  ". Expected a valid update modifier or pipeline-style update specified as an array"};
    if (!modifier.is(Type::kDocument))
      return {ErrorCode::kFailedToParse,
              "Modifiers operate on fields but we found type " + std::string(bson::typeName(modifier.type())) +
                  " instead. For example: {$mod: {<field>: ...}} not {" + describeElement(modifier) + "}"};
    for (const auto& e : modifier.asDocument()) {
      if (name == "$rename") {
        TROUPE_TRY(addRename(e, filters, tree));
        continue;
      }
      TROUPE_ASSIGN(auto op, makeUpdateOperator(name, std::string(e.name()), e, context));
      TROUPE_TRY(tree.add(std::move(op), filters));
    }
  }
  for (const auto& [identifier, filter] : filters.byIdentifier()) {
    if (!tree.usedIdentifiers().contains(identifier))
      return {ErrorCode::kFailedToParse, "The array filter for identifier '" + identifier +
                                             "' was not used in the update " + bson::toRelaxedJson(u)};
  }
  return std::unique_ptr<Update>(std::make_unique<OperatorUpdate>(std::move(tree), std::move(filters)));
}

}  // namespace

Status checkUpdatedSize(size_t bytes) {
  if (bytes <= static_cast<size_t>(bson::kMaxDocumentSize)) return Status::OK();
  return {ErrorCode::kResultTooLarge,
          "Resulting document after update is larger than " + std::to_string(bson::kMaxDocumentSize)};
}

Status checkUpdated(View before, View after) {
  UpdateInput input;
  input.document = before;
  return checkResult(input, after, true, true);
}

StatusWith<std::unique_ptr<Update>> parseUpdate(const Element& u, View arrayFilters, const ParseContext& context,
                                                View constants) {
  if (u.is(Type::kArray)) {
    if (!arrayFilters.empty()) return {ErrorCode::kFailedToParse, "Cannot specify arrayFilters and a pipeline update"};
    TROUPE_ASSIGN(auto pipeline, parseUpdatePipeline(u.asArray(), constants, context));
    return std::unique_ptr<Update>(std::make_unique<PipelineForm>(std::move(pipeline)));
  }
  if (!u.is(Type::kDocument))
    return {ErrorCode::kFailedToParse, "Update argument must be either an object or an array"};
  if (!constants.empty()) return {ErrorCode(51198), "Constant values may only be specified for pipeline updates"};
  if (u.asDocument().first().name().starts_with('$')) return parseOperators(u.asDocument(), arrayFilters, context);
  if (!arrayFilters.empty())
    return {ErrorCode::kFailedToParse, "Cannot specify arrayFilters with a replacement-style update"};
  return parseReplacement(u.asDocument(), context);
}

}  // namespace troupe::query
