#include "storage/query/pipeline/output.hpp"

#include <algorithm>

#include "storage/query/expression/objects.hpp"
#include "storage/query/expression/values.hpp"

// $out and $merge.
namespace troupe::query {

using bson::Document;
using bson::Element;
using bson::Type;

/// As much as is gathered before it is written: enough to make giving up the input's cursors cheap.
constexpr size_t kBatchDocuments = 128;
constexpr size_t kBatchBytes = 1 << 20;

void OutputStage::save() {
  if (!inputSaved_) Stage::save();
  inputSaved_ = true;
}

Status OutputStage::restore() {
  inputSaved_ = false;
  return Stage::restore();
}

/// Reads until a batch is full (kDocument), the input ends (kEnd), or it has to let others run (kYield).
StatusWith<Next::Kind> OutputStage::gather() {
  while (batch_.size() < kBatchDocuments && batchBytes_ < kBatchBytes) {
    TROUPE_ASSIGN(const Next in, pull());
    if (!in.isDocument()) return in.kind;
    batch_.emplace_back(in.document);
    batchBytes_ += in.document.size();
  }
  return Next::Kind::kDocument;
}

/// Written documents leave the batch, so that a retry after a conflict goes on with the one that met it.
Status OutputStage::writeBatch() {
  while (!batch_.empty()) {
    TROUPE_TRY(write(batch_.front()));
    batch_.pop_front();
  }
  batchBytes_ = 0;
  return Status::OK();
}

Status OutputStage::write() {
  save();
  context_.environment->beginWrites();
  if (step_ == Step::kBegin) TROUPE_TRY(begin());
  if (step_ == Step::kWrite) TROUPE_TRY(writeBatch());
  if (step_ == Step::kFinish) TROUPE_TRY(finish());
  if (inputEnded_) return Status::OK();  // nothing is left to read, and $out may have replaced what was read
  TROUPE_TRY(context_.environment->endWrites());
  return restore();
}

/// Each step is repeated until it succeeds; the puller waits conflicts with other writers out.
StatusWith<Next> OutputStage::next() {
  while (step_ != Step::kDone) {
    if (step_ == Step::kRead) {
      TROUPE_ASSIGN(const Next::Kind how, gather());
      if (how == Next::Kind::kYield) return Next::yield();
      inputEnded_ = how == Next::Kind::kEnd;
      step_ = Step::kWrite;
    }
    if (Status done = write(); !done.isOK()) {
      if (!context_.environment->mayTryAgain(done)) return done;
      return Next::yield();
    }
    if (step_ == Step::kFinish) step_ = Step::kDone;
    else step_ = inputEnded_ ? Step::kFinish : Step::kRead;
  }
  return Next::end();
}

namespace {

class OutStage final : public OutputStage {
 public:
  using OutputStage::OutputStage;
  OutStage(Document shown, CollectionName target, PipelineContext context)
      : OutputStage(std::move(shown), std::move(target), std::move(context)) {}
  std::string_view name() const override { return "$out"; }

 private:
  Status begin() override {
    TROUPE_ASSIGN(writer_, context_.environment->openOut(target_));
    return Status::OK();
  }
  Status write(bson::View document) override { return writer_->insert(document); }
  Status finish() override { return writer_->finish(); }
  std::unique_ptr<OutWriter> writer_;
};

Status parseOut(const Element& e, StageParser& parser) {
  CollectionName target{parser.context.on.db, ""};
  if (e.is(Type::kString)) {
    target.collection = e.asString();
  } else if (e.is(Type::kDocument)) {
    for (const Element& field : e.asDocument()) {
      if (field.name() != "db" && field.name() != "coll")
        return {ErrorCode(40415), "BSON field '$out." + std::string(field.name()) + "' is an unknown field."};
      if (!field.is(Type::kString))
        return {ErrorCode::kTypeMismatch, "BSON field '$out." + std::string(field.name()) + "' is the wrong type '" +
                                              typeOf(field) + "', expected type 'string'"};
      (field.name() == "db" ? target.db : target.collection) = field.asString();
    }
  } else {
    return {ErrorCode(16990), "$out only supports a string or object argument, but found " + typeOf(e)};
  }
  if (target.collection.empty())
    return {ErrorCode::kInvalidNamespace, "Invalid $out target namespace, " + target.full()};
  if (target.collection.starts_with("system."))
    return {ErrorCode(17385), "Can't $out to special collection: " + target.collection};
  if (!parser.context.environment) return {ErrorCode::kInvalidOptions, "$out is not allowed here"};
  bson::Builder shown;
  shown.append("$out", e);
  parser.add(std::make_unique<OutStage>(shown.finish(), std::move(target), parser.context));
  return Status::OK();
}

enum class Matched { kReplace, kKeepExisting, kMerge, kFail, kPipeline };
enum class NotMatched { kInsert, kDiscard, kFail };

struct MergeSpec {
  std::vector<std::string> on;
  Matched matched = Matched::kMerge;
  NotMatched notMatched = NotMatched::kInsert;
  Document pipeline;
  Document let;
};

class MergeStage final : public OutputStage {
 public:
  MergeStage(Document shown, CollectionName target, MergeSpec spec, PipelineContext context)
      : OutputStage(std::move(shown), std::move(target), std::move(context)), spec_(std::move(spec)) {}
  std::string_view name() const override { return "$merge"; }

 private:
  Status begin() override {
    TROUPE_ASSIGN(const bool unique, context_.environment->hasUniqueIndex(target_, spec_.on));
    if (!unique) return {ErrorCode(51183), "Cannot find index to verify that join fields will be unique"};
    return Status::OK();
  }
  Status finish() override { return Status::OK(); }

  Status write(bson::View document) override {
    bson::Builder query;
    for (const auto& field : spec_.on) {
      const Element value = document.at(field);
      if (!value.ok() && field == "_id") return insertNew(document);
      if (value.isNullish() || value.is(Type::kArray))
        return {ErrorCode(51132),
                "$merge write error: 'on' field '" + field + "' cannot be missing, null, undefined or an array"};
      query.openDocument(field).append("$eq", value).close();
    }
    const auto change = [&](bson::View existing) { return changed(existing, document); };
    const Document filter = query.finish();
    TROUPE_ASSIGN(const bool found, context_.environment->modifyOne(target_, filter, change));
    return found ? Status::OK() : insertNew(document);
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
    switch (spec_.matched) {
      case Matched::kKeepExisting: return std::optional<Document>();
      case Matched::kFail:
        return Status(ErrorCode::kDuplicateKey,
                      "$merge write error: a document with the same 'on' fields exists in " + target_.full());
      case Matched::kReplace:
        if (document.has("_id")) return std::optional(Document(document));
        return std::optional(withField(document, "_id", existing["_id"]));
      case Matched::kMerge: return std::optional(mergeDocuments(existing, document));
      case Matched::kPipeline: break;
    }
    ParseContext inner = *context_.parse;
    bson::Builder let;
    let.append("new", document);
    Variables variables(document);
    for (const Element& e : spec_.let.view()) {
      TROUPE_ASSIGN(const auto expression, parseExpression(e, *context_.parse));
      TROUPE_ASSIGN(const Operand value, static_cast<const Expression&>(*expression).evaluate(variables));
      if (value.ok()) let.append(e.name(), value.element());
    }
    for (const Element& e : context_.parse->let) let.append(e);
    const Document bound = let.finish();
    inner.let = bound;
    TROUPE_ASSIGN(auto result, applyPipelineUpdate(spec_.pipeline, existing, inner));
    return std::optional(std::move(result));
  }
  MergeSpec spec_;
};

Status parseWhenMatched(const Element& e, MergeSpec& spec) {
  if (e.is(Type::kArray)) {
    spec.matched = Matched::kPipeline;
    spec.pipeline = Document(e.asArray());
    return Status::OK();
  }
  constexpr std::string_view kModes[] = {"replace", "keepExisting", "merge", "fail"};
  const auto found = std::find(std::begin(kModes), std::end(kModes), e.toStringOr());
  if (found == std::end(kModes))
    return {ErrorCode::kBadValue, "Enumeration value '" + std::string(e.toStringOr()) +
                                      "' for field '$merge.whenMatched' is not a valid value."};
  spec.matched = static_cast<Matched>(found - std::begin(kModes));
  return Status::OK();
}

Status parseMergeInto(const Element& e, CollectionName& target) {
  if (e.is(Type::kString)) {
    target.collection = e.asString();
    return Status::OK();
  }
  if (!e.is(Type::kDocument))
    return {ErrorCode(51178), "$merge 'into' field  must be either a string or an object, but found " + typeOf(e)};
  if (e.asDocument()["db"].ok()) target.db = e.asDocument()["db"].toStringOr();
  target.collection = e.asDocument()["coll"].toStringOr();
  return Status::OK();
}

Status parseMerge(const Element& e, StageParser& parser) {
  CollectionName target{parser.context.on.db, ""};
  MergeSpec spec;
  if (e.is(Type::kString)) {
    target.collection = e.asString();
  } else if (e.is(Type::kDocument)) {
    for (const Element& field : e.asDocument()) {
      const auto name = field.name();
      if (name == "into") {
        TROUPE_TRY(parseMergeInto(field, target));
      } else if (name == "on") {
        if (field.is(Type::kString)) spec.on = {std::string(field.asString())};
        else if (field.is(Type::kArray))
          for (const Element& path : field.asArray()) spec.on.emplace_back(path.toStringOr());
        if (spec.on.empty())
          return {ErrorCode(51187), "If explicitly specifying $merge 'on', must include at least one field"};
      } else if (name == "whenMatched") {
        TROUPE_TRY(parseWhenMatched(field, spec));
      } else if (name == "whenNotMatched") {
        const auto mode = field.toStringOr();
        if (mode != "insert" && mode != "discard" && mode != "fail")
          return {ErrorCode::kBadValue, "Enumeration value '" + std::string(mode) +
                                            "' for field '$merge.whenNotMatched' is not a valid value."};
        spec.notMatched = mode == "insert"    ? NotMatched::kInsert
                          : mode == "discard" ? NotMatched::kDiscard
                                              : NotMatched::kFail;
      } else if (name == "let" && field.is(Type::kDocument)) {
        spec.let = Document(field.asDocument());
      } else {
        return {ErrorCode(40415), "BSON field '$merge." + std::string(name) + "' is an unknown field."};
      }
    }
  } else {
    return {ErrorCode(51182), "$merge requires a string or object argument, but found " + typeOf(e)};
  }
  if (target.collection.empty())
    return {ErrorCode::kInvalidNamespace, "Invalid $merge target namespace: '" + target.full() + "'"};
  if (!parser.context.environment) return {ErrorCode::kInvalidOptions, "$merge is not allowed here"};
  if (spec.on.empty()) spec.on = {"_id"};
  bson::Builder shown;
  shown.append("$merge", e);
  parser.add(std::make_unique<MergeStage>(shown.finish(), std::move(target), std::move(spec), parser.context));
  return Status::OK();
}

constexpr StageRow kOutputStages[] = {{"$out", parseOut}, {"$merge", parseMerge}};

}  // namespace

std::span<const StageRow> outputStages() { return kOutputStages; }

}  // namespace troupe::query
