#include "storage/query/expression/paths.hpp"
#include "storage/query/expression/values.hpp"
#include "storage/query/pipeline/stages.hpp"
#include "storage/query/project/nested_value.hpp"

// $unwind.
namespace troupe::query {

using bson::Document;
using bson::Element;
using bson::Type;
using bson::Value;

namespace {

/// Copies a document with the value at a path replaced (removed when absent, nothing added).
void replaceAt(bson::View in, const std::vector<std::string>& path, size_t at, const Element& value,
               bson::Builder& out) {
  bool placed = false;
  for (const Element& e : in) {
    if (e.name() != path[at] || placed) {
      out.append(e);
      continue;
    }
    placed = true;
    if (at + 1 == path.size()) {
      if (value.ok()) out.append(e.name(), value);
    } else if (e.is(Type::kDocument)) {
      out.openDocument(e.name());
      replaceAt(e.asDocument(), path, at + 1, value, out);
      out.close();
    } else {
      out.append(e);
    }
  }
}

class UnwindStage final : public Stage {
 public:
  UnwindStage(std::string_view path, std::string indexField, bool keepEmpty, QueryWork* work)
      : path_(path), indexField_(std::move(indexField)), keepEmpty_(keepEmpty), work_(work) {}

  StatusWith<Next> next() override {
    while (true) {
      if (inArray_ && item_->ok()) {
        const Element item = *item_;
        ++item_;
        return emit(item, position_++);
      }
      inArray_ = false;
      auto in = pull();
      if (!in.isOK() || !in->isDocument()) return in;
      document_ = in->document;
      metadata_ = in->metadata;
      const Element value = find();
      if (value.is(Type::kArray) && !value.asArray().empty()) {
        inArray_ = true;
        item_ = value.asArray().begin();
        position_ = 0;
      } else if (value.is(Type::kArray)) {
        if (keepEmpty_) return emit({}, -1);
      } else if (!value.isNullish()) {
        return emit(value, -1);
      } else if (keepEmpty_) {
        return emit(value, -1);
      }
    }
  }
  std::string_view name() const override { return "$unwind"; }
  void serialize(bson::Builder& stages) const override {
    stages.pushDocument().openDocument("$unwind").append("path", "$" + path_.dotted());
    if (keepEmpty_) stages.append("preserveNullAndEmptyArrays", true);
    if (!indexField_.empty()) stages.append("includeArrayIndex", indexField_);
    stages.close().close();
  }
  bool addDependencies(Dependencies& dependencies) const override {
    dependencies.paths.insert(path_.dotted());
    return true;
  }

 private:
  Element find() const {
    bson::View at = document_;
    for (size_t i = 0;; ++i) {
      const Element e = at[path_.names()[i]];
      if (i + 1 == path_.names().size()) return e;
      if (!e.is(Type::kDocument)) return {};
      at = e.asDocument();
    }
  }
  StatusWith<Next> emit(const Element& value, int64_t position) {
    if (work_) TROUPE_TRY(work_->step(stepsFor(static_cast<size_t>(document_.size()))));  // copied for each element
    bson::Builder out;
    out.reserve(document_.size());
    replaceAt(document_, path_.names(), 0, value, out);
    current_ = out.finish();
    if (!indexField_.empty()) {
      const Value index = position < 0 ? Value(bson::Null{}) : Value(position);
      TROUPE_ASSIGN(current_, withNestedValue(current_, indexField_, index, work_));
    }
    return Next::of(current_.view(), metadata_);
  }
  ValuePath path_;
  std::string indexField_;
  bool keepEmpty_;
  QueryWork* work_;
  bson::View document_, metadata_;  // borrowed from the input until it is asked for the next
  bool inArray_ = false;
  bson::View::Iterator item_;
  int64_t position_ = 0;
  Document current_;
};

Status parseUnwind(const Element& e, StageParser& parser) {
  Element path = e;
  std::string index;
  bool keep = false;
  if (e.is(Type::kDocument)) {
    path = {};
    for (const Element& field : e.asDocument()) {
      if (field.name() == "path") {
        path = field;
        if (!path.is(Type::kString))
          return {ErrorCode(28808), "expected a string as the path for $unwind stage, got " + typeOf(path)};
      } else if (field.name() == "preserveNullAndEmptyArrays") {
        if (!field.is(Type::kBool))
          return {
              ErrorCode(28809),
              "expected a boolean for the preserveNullAndEmptyArrays option to $unwind stage, got " + typeOf(field)};
        keep = field.asBool();
      } else if (field.name() == "includeArrayIndex") {
        if (!field.is(Type::kString) || field.asString().empty())
          return {ErrorCode(28810),
                  "expected a non-empty string for the includeArrayIndex  option to $unwind stage, got " + show(field)};
        index = field.asString();
        if (index[0] == '$')
          return {ErrorCode(28822),
                  "includeArrayIndex option to $unwind stage should not be prefixed with a '$': " + index};
        TROUPE_TRY(ValuePath::check(index));
      } else {
        return {ErrorCode(28811), "unrecognized option to $unwind stage: " + std::string(field.name())};
      }
    }
  } else if (!e.is(Type::kString)) {
    return {ErrorCode(15981),
            "expected either a string or an object as specification for $unwind stage, got " + typeOf(e)};
  }
  if (!path || path.asString().empty()) return {ErrorCode(28812), "no path specified to $unwind stage"};
  if (path.asString()[0] != '$')
    return {ErrorCode(28818),
            "path option to $unwind stage should be prefixed with a '$': " + std::string(path.asString())};
  if (path.asString().find('\0') != std::string_view::npos)
    return {ErrorCode(16419), "path option to $unwind stage may not contain a null byte"};
  TROUPE_TRY(ValuePath::check(path.asString().substr(1)));
  parser.add(std::make_unique<UnwindStage>(path.asString().substr(1), std::move(index), keep, parser.parse().work));
  return Status::OK();
}

constexpr StageRow kUnwindStages[] = {{"$unwind", parseUnwind}};

}  // namespace

std::span<const StageRow> unwindStages() { return kUnwindStages; }

}  // namespace troupe::query
