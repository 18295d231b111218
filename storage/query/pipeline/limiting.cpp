#include <algorithm>
#include <random>

#include "storage/query/expression/values.hpp"
#include "storage/query/pipeline/stages.hpp"

// $sort, $limit, $skip, $count, $sample.
namespace troupe::query {

using bson::Document;
using bson::Element;
using bson::Type;

double randomNumber(const PipelineContext& context) {
  if (context.random) return context.random();
  thread_local std::mt19937_64 generator{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(generator);
}

Status StageMemory::overLimit() const {
  return {ErrorCode::kQueryExceededMemoryLimitNoDiskUseAllowed,
          "Exceeded memory limit for " + std::string(stage_) +
              ", but didn't allow external sort. Pass allowDiskUse:true to opt in."};
}

StatusWith<Next> LimitStage::next() {
  if (left_ == 0) return Next::end();
  auto in = pull();
  if (in.isOK() && in->isDocument()) --left_;
  return in;
}

StatusWith<Next> SkipStage::next() {
  while (left_ > 0) {
    auto in = pull();
    if (!in.isOK() || !in->isDocument()) return in;
    --left_;
  }
  return pull();
}

bool SortStage::addDependencies(Dependencies& dependencies) const {
  for (const auto& part : pattern_.parts())
    if (!part.path.empty()) dependencies.paths.insert(std::string(part.path.text()));
  return true;
}

void SortStage::serialize(bson::Builder& stages) const {
  stages.pushDocument().append("$sort", spec_).close();
  if (limit_) stages.pushDocument().append("$limit", *limit_).close();
}

StatusWith<Next> SortStage::next() {
  if (!sorter_) {
    SorterOptions options;
    options.limit = static_cast<uint64_t>(limit_.value_or(0));
    options.memoryBytes = static_cast<size_t>(context_.memoryLimit);
    options.work = context_.parse->work;
    if (context_.allowDiskUse) options.spill = context_.spill;
    sorter_ = Sorter::make(std::move(options));
  }
  while (!sorted_) {
    auto in = pull();
    if (!in.isOK() || in->kind == Next::Kind::kYield) return in;
    if (in->isEnd()) {
      TROUPE_TRY(sorter_->done());
      sorted_ = true;
      break;
    }
    TROUPE_ASSIGN(auto key, pattern_.key(in->document, {.score = in->metadata["score"]}));
    std::string held(in->document.bytes());
    if (!in->metadata.empty()) held += in->metadata.bytes();
    TROUPE_TRY(sorter_->add(std::move(key), std::move(held)));
  }
  TROUPE_ASSIGN(auto item, sorter_->next());
  if (!item) return Next::end();
  current_ = std::move(item->payload);
  const bson::View document(current_.data());
  const auto size = static_cast<size_t>(document.size());
  return Next::of(document, current_.size() > size ? bson::View(current_.data() + size) : bson::View());
}

namespace {

class CountStage final : public Stage {
 public:
  explicit CountStage(std::string field) : field_(std::move(field)) {}
  StatusWith<Next> next() override {
    while (!done_) {
      auto in = pull();
      if (!in.isOK() || in->kind == Next::Kind::kYield) return in;
      if (in->isDocument()) {
        ++count_;
        continue;
      }
      done_ = true;
      if (count_ == 0) break;
      bson::Builder out;
      out.append(field_, integer(count_));
      result_ = out.finish();
      return Next::of(result_.view());
    }
    return Next::end();
  }
  std::string_view name() const override { return "$count"; }
  void serialize(bson::Builder& stages) const override { stages.pushDocument().append("$count", field_).close(); }
  StageTraits traits() const override { return {.blocking = true}; }
  bool addDependencies(Dependencies&) const override { return false; }

 private:
  std::string field_;
  int64_t count_ = 0;
  bool done_ = false;
  Document result_;
};

/// Keeps `size` documents, each with the same chance (reservoir sampling), in random order.
class SampleStage final : public Stage {
 public:
  SampleStage(int64_t size, PipelineContext context)
      : size_(size), context_(std::move(context)), memory_(context_, "$sample") {}
  StatusWith<Next> next() override {
    while (!done_) {
      auto in = pull();
      if (!in.isOK() || in->kind == Next::Kind::kYield) return in;
      if (in->isEnd()) done_ = true;
      else TROUPE_TRY(take(in->document));
    }
    if (kept_.empty()) return Next::end();
    const auto at = static_cast<size_t>(randomNumber(context_) * static_cast<double>(kept_.size()));
    std::swap(kept_[at], kept_.back());
    current_ = std::move(kept_.back());
    kept_.pop_back();
    return Next::of(current_.view());
  }
  std::string_view name() const override { return "$sample"; }
  void serialize(bson::Builder& stages) const override {
    stages.pushDocument().openDocument("$sample").append("size", size_).close().close();
  }
  StageTraits traits() const override { return {.blocking = true}; }
  bool addDependencies(Dependencies& dependencies) const override {
    dependencies.random = true;
    return true;
  }

 private:
  Status take(bson::View document) {
    ++seen_;
    if (static_cast<int64_t>(kept_.size()) < size_) {
      TROUPE_TRY(memory_.set(bytes_ += heldBytes(document)));
      kept_.emplace_back(document);
      return Status::OK();
    }
    const auto at = static_cast<int64_t>(randomNumber(context_) * static_cast<double>(seen_));
    if (at < size_) {
      TROUPE_TRY(memory_.set(bytes_ += int64_t{document.size()} - kept_[static_cast<size_t>(at)].view().size()));
      kept_[static_cast<size_t>(at)] = Document(document);
    }
    return Status::OK();
  }
  int64_t size_;
  PipelineContext context_;
  StageMemory memory_;
  std::vector<Document> kept_;
  int64_t seen_ = 0, bytes_ = 0;
  bool done_ = false;
  Document current_;
};

Status parseSort(const Element& e, StageParser& parser) {
  if (!e.is(Type::kDocument)) return {ErrorCode(15973), "the $sort key specification must be an object"};
  TROUPE_ASSIGN(auto pattern, SortPattern::parse(e.asDocument(), parser.parse()));
  if (pattern.parts().empty()) return {ErrorCode(15976), "$sort stage must have at least one sort key"};
  for (const auto& part : pattern.parts())
    if (part.meta == SortPattern::Meta::kRecordId) return {ErrorCode(31138), "Illegal $meta sort: $meta: \"recordId\""};
  parser.add(std::make_unique<SortStage>(Document(e.asDocument()), std::move(pattern), parser.context));
  return Status::OK();
}

Status parseLimit(const Element& e, StageParser& parser) {
  const auto limit = exactInt64(e);
  if (!limit) return {ErrorCode(5107201), "invalid argument to $limit stage: Expected a number in: $limit: " + show(e)};
  if (*limit < 0)
    return {ErrorCode(5107201),
            "invalid argument to $limit stage: Expected a non-negative number in: $limit: " + show(e)};
  if (*limit == 0) return {ErrorCode(15958), "the limit must be positive"};
  parser.add(std::make_unique<LimitStage>(*limit));
  return Status::OK();
}

Status parseSkip(const Element& e, StageParser& parser) {
  const auto skip = exactInt64(e);
  if (!skip) return {ErrorCode(5107200), "invalid argument to $skip stage: Expected a number in: $skip: " + show(e)};
  if (*skip < 0)
    return {ErrorCode(5107200),
            "invalid argument to $skip stage: Expected a non-negative number in: $skip: " + show(e)};
  parser.add(std::make_unique<SkipStage>(*skip));
  return Status::OK();
}

Status parseCount(const Element& e, StageParser& parser) {
  if (!e.is(Type::kString)) return {ErrorCode(40156), "the count field must be a non-empty string"};
  const std::string_view field = e.asString();
  if (field.empty()) return {ErrorCode(40157), "the count field must be a non-empty string"};
  if (field == "_id") return {ErrorCode(9039800), "the count field cannot be '_id': choose another name"};
  if (field[0] == '$') return {ErrorCode(40158), "the count field cannot be a $-prefixed path"};
  if (field.find('\0') != std::string_view::npos)
    return {ErrorCode(40159), "the count field cannot contain a null byte"};
  if (field.find('.') != std::string_view::npos) return {ErrorCode(40160), "the count field cannot contain '.'"};
  parser.add(std::make_unique<CountStage>(std::string(field)));
  return Status::OK();
}

Status parseSample(const Element& e, StageParser& parser) {
  if (!e.is(Type::kDocument)) return {ErrorCode(28745), "the $sample stage specification must be an object"};
  Element size;
  for (const Element& field : e.asDocument()) {
    if (field.name() != "size")
      return {ErrorCode(28748), "unrecognized option to $sample: " + std::string(field.name())};
    size = field;
    if (!size.isNumber()) return {ErrorCode(28746), "size argument to $sample must be a number"};
  }
  if (!size) return {ErrorCode(28749), "$sample stage must specify a size"};
  if (size.toInt64() <= 0) return {ErrorCode(28747), "size argument to $sample must be a positive integer"};
  parser.add(std::make_unique<SampleStage>(size.toInt64(), parser.context));
  return Status::OK();
}

constexpr StageRow kLimitingStages[] = {
    {"$sort", parseSort},   {"$limit", parseLimit},   {"$skip", parseSkip},
    {"$count", parseCount}, {"$sample", parseSample},
};

}  // namespace

std::span<const StageRow> limitingStages() { return kLimitingStages; }

}  // namespace troupe::query
