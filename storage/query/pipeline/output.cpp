#include "storage/query/pipeline/output.hpp"

#include <algorithm>

#include "storage/catalog/namespace.hpp"
#include "storage/query/expression/values.hpp"

// What $out and $merge have in common, and $out.
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
  return endBatch();
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

bool OutputStage::isInternal(std::string_view db) { return db == "admin" || db == "config" || db == "local"; }

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

/// Checked though such collections are not served: a client that errs learns of it. Null counts as missing.
Status checkTimeseries(const Element& options) {
  if (!options.is(Type::kDocument))
    return {ErrorCode::kTypeMismatch,
            "BSON field '$out.timeseries' is the wrong type '" + typeOf(options) + "', expected type 'object'"};
  bool time = false, span = false, rounding = false;
  for (const Element& e : options.asDocument()) {
    const std::string name = "BSON field '$out.timeseries." + std::string(e.name());
    const bool isNumber = e.name() == "bucketMaxSpanSeconds" || e.name() == "bucketRoundingSeconds";
    if (!isNumber && e.name() != "timeField" && e.name() != "metaField" && e.name() != "granularity")
      return {ErrorCode::kUnknownField, name + "' is an unknown field."};
    if (e.isNullish()) continue;
    if (isNumber ? !e.isNumber() : !e.is(Type::kString))
      return {ErrorCode::kTypeMismatch, name + "' is the wrong type '" + typeOf(e) + "', expected " +
                                            (isNumber ? "types '[long, int, decimal, double]'" : "type 'string'")};
    time = time || e.name() == "timeField";
    span = span || e.name() == "bucketMaxSpanSeconds";
    rounding = rounding || e.name() == "bucketRoundingSeconds";
  }
  if (!time)
    return {ErrorCode::kMissingRequiredField, "BSON field '$out.timeseries.timeField' is missing but a required field"};
  if (span != rounding)
    return {ErrorCode::kInvalidOptions, "bucketMaxSpanSeconds and bucketRoundingSeconds have to be given together"};
  return Status::OK();
}

/// {db, coll}, both needed; null counts as missing.
Status parseOutDocument(bson::View spec, CollectionName& target) {
  bool db = false, collection = false, timeseries = false;
  for (const Element& field : spec) {
    const std::string name = "BSON field '$out." + std::string(field.name());
    bool* seen = field.name() == "db"           ? &db
                 : field.name() == "coll"       ? &collection
                 : field.name() == "timeseries" ? &timeseries
                                                : nullptr;
    if (!seen) return {ErrorCode(40415), name + "' is an unknown field."};
    if (*seen) return {ErrorCode(40413), name + "' is a duplicate field"};
    if (field.isNullish()) continue;
    *seen = true;
    if (seen == &timeseries) {
      TROUPE_TRY(checkTimeseries(field));
      return {ErrorCode::kNotImplemented, "time-series collections are not served yet"};
    }
    if (!field.is(Type::kString))
      return {ErrorCode::kTypeMismatch, name + "' is the wrong type '" + typeOf(field) + "', expected type 'string'"};
    (seen == &db ? target.db : target.collection) = field.asString();
  }
  if (db && collection) return Status::OK();
  return {ErrorCode::kMissingRequiredField,
          std::string("BSON field '$out.") + (db ? "coll" : "db") + "' is missing but a required field"};
}

Status parseOut(const Element& e, StageParser& parser) {
  CollectionName target{parser.context.on.db, ""};
  if (e.is(Type::kString)) {
    target.collection = e.asString();
  } else if (e.is(Type::kDocument)) {
    TROUPE_TRY(parseOutDocument(e.asDocument(), target));
  } else {
    return {ErrorCode(16990), "$out only supports a string or object argument, but found " + typeOf(e)};
  }
  if (target.collection.empty())
    return {ErrorCode::kInvalidNamespace, "Invalid $out target namespace, " + target.full()};
  if (target.full().size() > storage::kMaxNamespaceBytes)
    return {ErrorCode::kIllegalOperation, "the namespace of the $out target is too long: " + target.full()};
  if (target.collection.starts_with("system."))
    return {ErrorCode(17385), "Can't $out to special collection: " + target.collection};
  if (OutputStage::isInternal(target.db)) return {ErrorCode(31321), "Can't $out to internal database: " + target.db};
  if (!parser.context.environment) return {ErrorCode::kInvalidOptions, "$out is not allowed here"};
  bson::Builder shown;
  shown.append("$out", e);
  parser.involved.push_back({target, NamespaceUse::kReplace});
  parser.add(std::make_unique<OutStage>(shown.finish(), std::move(target), parser.context));
  return Status::OK();
}

constexpr StageRow kOutputStages[] = {{"$out", parseOut}};

}  // namespace

std::span<const StageRow> outputStages() { return kOutputStages; }

}  // namespace troupe::query
