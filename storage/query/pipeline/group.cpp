#include <algorithm>

#include "messaging/bson/compare.hpp"
#include "storage/query/expression/accumulator.hpp"
#include "storage/query/expression/values.hpp"
#include "storage/query/pipeline/stages.hpp"

// $group, and $sortByCount, which is written with it.
namespace troupe::query {

using bson::Document;
using bson::Element;
using bson::Type;
using bson::Value;

namespace {

struct AccumulatedField {
  std::string name;
  std::unique_ptr<AccumulatorSpec> spec;
};

struct Group {
  uint64_t hash = 0;
  Value key;
  std::vector<std::unique_ptr<Accumulator>> states;
};

/// Groups by key: an open-addressed table of positions over the hash of the key's bytes. A client may choose keys whose
/// hashes are alike, so that each place that is looked at is a step. Errors: those of an interrupt.
class GroupTable {
 public:
  GroupTable(const bson::Collator* collator, QueryWork* work) : collator_(collator), work_(work) {
    slots_.assign(64, kFree);
  }
  /// Null: there is none of this key.
  StatusWith<Group*> find(uint64_t hash, const Element& key) {
    const size_t mask = slots_.size() - 1;
    for (size_t at = hash & mask;; at = (at + 1) & mask) {
      if (slots_[at] == kFree) return nullptr;
      Group& group = groups[slots_[at]];
      if (group.hash == hash) {
        TROUPE_TRY(step(stepsOfAdding(key)));
        if (bson::compareValues(group.key.element(), key, collator_) == 0) return &group;
      }
      TROUPE_TRY(step(1));
    }
  }
  StatusWith<Group*> insert(uint64_t hash, const Element& key) {
    if ((groups.size() + 1) * 2 > slots_.size()) TROUPE_TRY(grow());
    groups.push_back({hash, Value(key), {}});
    TROUPE_TRY(place(hash, static_cast<uint32_t>(groups.size() - 1)));
    return &groups.back();
  }
  void clear() {
    groups.clear();
    slots_.assign(64, kFree);
  }
  std::vector<Group> groups;

 private:
  static constexpr uint32_t kFree = ~uint32_t{0};
  Status step(int64_t steps) { return work_ ? work_->step(steps) : Status::OK(); }
  Status place(uint64_t hash, uint32_t position) {
    const size_t mask = slots_.size() - 1;
    size_t at = hash & mask;
    for (; slots_[at] != kFree; at = (at + 1) & mask) TROUPE_TRY(step(1));
    slots_[at] = position;
    return Status::OK();
  }
  Status grow() {
    slots_.assign(slots_.size() * 2, kFree);
    for (size_t i = 0; i < groups.size(); ++i) TROUPE_TRY(place(groups[i].hash, static_cast<uint32_t>(i)));
    return Status::OK();
  }
  const bson::Collator* collator_;
  QueryWork* work_;
  std::vector<uint32_t> slots_;
};

/// A value as another stage gets it of a $group. The engine that MongoDB groups with has no place for the least and the
/// greatest key, which leave it as the field of a document, nor for code, which leaves it as text. Arrays that were
/// collected leave it item by item.
Value handedOn(const Value& value, bool collected) {
  const Element e = value.element();
  if (e.is(Type::kMinKey) || e.is(Type::kMaxKey)) return Value(bson::doc("", e));
  if (e.is(Type::kCode)) return text(e.asString());
  if (!collected || !e.is(Type::kArray)) return value;
  bson::Builder items;
  for (const Element& item : e.asArray()) items.push(handedOn(Value(item), false));
  return items.finishArray();
}

/// Hashes groups in memory. When they pass the limit, documents of groups not yet in memory go to a sorter by the hash
/// of their key, and are grouped hash by hash after those in memory have been handed out.
class GroupStage final : public Stage {
 public:
  GroupStage(Document spec, ExpressionPtr id, std::vector<AccumulatedField> outputs, PipelineContext context)
      : spec_(std::move(spec)),
        id_(std::move(id)),
        outputs_(std::move(outputs)),
        context_(std::move(context)),
        variables_(context_.parse->work),
        held_(context_.parse->work),
        spillAt_(spillingLimit(context_.parse->work, context_.memoryLimit)),
        table_(context_.parse->collator, context_.parse->work) {
    variables_.random = context_.random;
    variables_.grouping = true;
  }

  StatusWith<Next> next() override {
    while (!consumed_) {
      auto in = pull();
      if (!in.isOK() || in->kind == Next::Kind::kYield) return in;
      if (in->isEnd()) {
        consumed_ = true;
        if (spilled_) TROUPE_TRY(spilled_->done());
      } else {
        variables_.setMetadata(in->metadata);
        TROUPE_TRY(consume(in->document));
      }
    }
    if (at_ == table_.groups.size() && spilled_) TROUPE_TRY(loadSpilled());
    if (at_ == table_.groups.size()) return Next::end();
    TROUPE_TRY(render(table_.groups[at_++]));
    return Next::of(current_.view());
  }

  std::string_view name() const override { return "$group"; }
  void serialize(bson::Builder& stages) const override {
    stages.pushDocument().openDocument("$group");
    id_->serialize("_id", stages);
    for (const AccumulatedField& output : outputs_) output.spec->serialize(output.name, stages);
    stages.close().close();
  }
  StageTraits traits() const override { return {.blocking = true}; }
  void handOnResults() override { handsOn_ = true; }
  bool addDependencies(Dependencies& dependencies) const override {
    id_->addDependencies(dependencies);
    for (const AccumulatedField& output : outputs_) output.spec->addDependencies(dependencies);
    return false;
  }

 private:
  static constexpr int64_t kGroupOverhead = 96, kStateOverhead = 64;

  Status consume(bson::View document) {
    variables_.setRoot(document);
    TROUPE_ASSIGN(const Operand id, id_->evaluate(variables_));
    const Element key = id.ok() ? id.element() : null_.element();
    TROUPE_TRY(variables_.step(stepsOfAdding(key)));
    const uint64_t hash = bson::hashValue(key, context_.parse->collator);
    TROUPE_ASSIGN(Group * group, table_.find(hash, key));
    if (!group && spilled_) return spill(hash, key);
    if (!group) {
      TROUPE_ASSIGN(group, open(hash, key));
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      TROUPE_ASSIGN(const Operand value, outputs_[i].spec->evaluate(variables_));
      TROUPE_TRY(addTo(*group->states[i], value.element()));
    }
    if (bytes_ > context_.memoryLimit) return overLimit();
    if (!spilled_ && maySpill() && bytes_ > spillAt_) beginSpilling();
    return held_.set(bytes_);
  }

  Status addTo(Accumulator& state, const Element& value) {
    TROUPE_TRY(variables_.step(stepsOfAdding(value)));
    const auto before = static_cast<int64_t>(state.memory());
    TROUPE_TRY(state.add(value));
    bytes_ += static_cast<int64_t>(state.memory()) - before;
    return held_.set(bytes_);  // at once: there may be very many outputs, each with a large value
  }

  StatusWith<Group*> open(uint64_t hash, const Element& key) {
    TROUPE_ASSIGN(Group * group, table_.insert(hash, key));
    group->states.reserve(outputs_.size());
    for (const AccumulatedField& output : outputs_) group->states.push_back(output.spec->make());
    bytes_ += kGroupOverhead + key.valueSize() + kStateOverhead * static_cast<int64_t>(outputs_.size());
    return group;
  }

  Status overLimit() {
    if (spilled_) {
      if (bytes_ < 2 * context_.memoryLimit) return Status::OK();
      return {ErrorCode::kExceededMemoryLimit,
              "$group: accumulators used too much memory and cannot spill to disk. Memory limit: " +
                  std::to_string(context_.memoryLimit) + " bytes"};
    }
    if (!maySpill())
      return {ErrorCode::kQueryExceededMemoryLimitNoDiskUseAllowed,
              "Exceeded memory limit for $group, but didn't allow external sort. Pass allowDiskUse:true to opt in."};
    beginSpilling();
    return Status::OK();
  }

  bool maySpill() const { return context_.allowDiskUse && context_.spill; }

  void beginSpilling() {
    SorterOptions options;
    options.memoryBytes = static_cast<size_t>(context_.memoryLimit);
    options.spill = context_.spill;
    options.work = context_.parse->work;
    spilled_ = Sorter::make(std::move(options));
  }

  /// Sets a document aside: sorted by hash, with its key and what it contributes.
  Status spill(uint64_t hash, const Element& key) {
    std::string hashBytes(8, '\0');
    for (int i = 0; i < 8; ++i) hashBytes[static_cast<size_t>(i)] = static_cast<char>(hash >> (56 - 8 * i));
    bson::Builder row;
    Growth growth(context_.parse->work);
    TROUPE_TRY(growth.reserve(key.valueSize()));
    row.append("k", key);
    for (size_t i = 0; i < outputs_.size(); ++i) {
      TROUPE_ASSIGN(const Operand value, outputs_[i].spec->evaluate(variables_));
      TROUPE_TRY(growth.reserve(row.size() + value.element().valueSize()));
      if (value.ok()) row.append(std::to_string(i), value.element());
    }
    return spilled_->add(std::move(hashBytes), row.finish().bytes());
  }

  /// Groups the documents of the next hash that was set aside.
  Status loadSpilled() {
    table_.clear();
    bytes_ = 0;
    TROUPE_TRY(held_.set(0));
    at_ = 0;
    std::string hashBytes;
    while (true) {
      if (!waiting_) {
        TROUPE_ASSIGN(waiting_, spilled_->next());
      }
      if (!waiting_) break;
      if (hashBytes.empty()) hashBytes = waiting_->key;
      else if (hashBytes != waiting_->key) break;
      TROUPE_TRY(addRow(bson::View(waiting_->payload.data())));
      waiting_.reset();
    }
    return Status::OK();
  }

  Status addRow(bson::View row) {
    const Element key = row["k"];
    const uint64_t hash = bson::hashValue(key, context_.parse->collator);
    TROUPE_TRY(variables_.step(stepsOfAdding(key)));
    TROUPE_ASSIGN(Group * group, table_.find(hash, key));
    if (!group) {
      TROUPE_ASSIGN(group, open(hash, key));
    }
    auto field =
        std::next(row.begin());  // after the key the values stand in the order of outputs, but for missing ones
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const bool given = field != row.end() && field->name() == std::to_string(i);
      TROUPE_TRY(addTo(*group->states[i], given ? *field : Element()));
      if (given) ++field;
    }
    return held_.set(bytes_);
  }

  static bool collects(const AccumulatorSpec& spec) { return spec.name() == "$addToSet" || spec.name() == "$push"; }

  Status render(Group& group) {
    bson::Builder out;
    Growth growth(context_.parse->work);
    if (handsOn_) out.append("_id", handedOn(group.key, false));
    else out.append("_id", group.key);
    for (size_t i = 0; i < outputs_.size(); ++i) {
      TROUPE_TRY(growth.reserve(out.size() + group.states[i]->memory()));
      TROUPE_ASSIGN(Value value, group.states[i]->result());
      if (handsOn_) value = handedOn(value, collects(*outputs_[i].spec));
      TROUPE_TRY(checkNesting(value.element(), Operand::kMaxDepth - out.depth(), context_.parse->work));
      out.append(outputs_[i].name, value);
    }
    group = Group{};  // gives the memory back while results are read
    if (out.size() > static_cast<size_t>(bson::kMaxInternalDocumentSize))
      return {ErrorCode::kBSONObjectTooLarge, "a $group result is larger than the limit of a document"};
    current_ = out.finish();
    return Status::OK();
  }

  Document spec_;
  ExpressionPtr id_;
  std::vector<AccumulatedField> outputs_;
  PipelineContext context_;
  Variables variables_;
  HeldMemory held_;
  const int64_t spillAt_;  ///< bytes
  GroupTable table_;
  const Value null_ = nullValue();
  int64_t bytes_ = 0;
  bool consumed_ = false;
  bool handsOn_ = false;  ///< to another stage
  size_t at_ = 0;
  std::unique_ptr<Sorter> spilled_;
  std::optional<Sorter::Item> waiting_;
  Document current_;
};

}  // namespace

Status addGroup(ExpressionPtr id, bson::View spec, StageParser& parser) {
  std::vector<AccumulatedField> outputs;
  for (const Element& field : spec) {
    if (field.name() == "_id") {
      if (id) return {ErrorCode(15948), "a group's _id may only be specified once"};
      TROUPE_ASSIGN(id, parseExpression(field, parser.parse()));
      continue;
    }
    TROUPE_ASSIGN(auto accumulator, parseAccumulator(field, parser.parse()));
    outputs.push_back({std::string(field.name()), std::move(accumulator)});
  }
  if (!id) return {ErrorCode::kGroupMissingId, "a group specification must include an _id"};
  parser.add(std::make_unique<GroupStage>(Document(spec), std::move(id), std::move(outputs), parser.context));
  return Status::OK();
}

Status addStage(std::string_view name, bson::View specification, StageParser& parser) {
  const Document holder = bson::doc(name, specification);
  return findStage(name)->parse(holder.view().first(), parser);
}

namespace {

Status parseGroup(const Element& e, StageParser& parser) {
  if (!e.is(Type::kDocument))
    return {ErrorCode::kGroupFieldSpecInvalid, "a group's fields must be specified in an object"};
  return addGroup(nullptr, e.asDocument(), parser);
}

Status parseSortByCount(const Element& e, StageParser& parser) {
  const bool isPath = e.is(Type::kString) && e.asString().starts_with('$');
  const bool isOperator = e.is(Type::kDocument) && e.asDocument().first().name().starts_with('$');
  if (e.is(Type::kString) && !isPath)
    return {ErrorCode(40148),
            "the sortByCount field must be defined as a $-prefixed path or an expression inside an object"};
  if (e.is(Type::kDocument) && !isOperator)
    return {ErrorCode(40147),
            "the sortByCount field must be defined as a $-prefixed path or an expression inside an object"};
  if (!isPath && !isOperator)
    return {ErrorCode(40149), "the sortByCount field must be specified as a string or as an object"};
  bson::Builder group;
  group.append("_id", e).openDocument("count").append("$sum", 1).close();
  TROUPE_TRY(addGroup(nullptr, group.finish(), parser));
  return addStage("$sort", bson::doc("count", -1), parser);
}

constexpr StageRow kGroupStages[] = {{"$group", parseGroup}, {"$sortByCount", parseSortByCount}};

}  // namespace

std::span<const StageRow> groupStages() { return kGroupStages; }

}  // namespace troupe::query
