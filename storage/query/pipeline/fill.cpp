#include "storage/query/expression/values.hpp"
#include "storage/query/pipeline/partitioned_rows.hpp"
#include "storage/query/pipeline/stages.hpp"
#include "storage/query/project/projection_tree.hpp"

// $fill: gives values to null and missing fields: a constant or expression, the last one seen (locf), or on a line
// between the neighbours that are known (linear).
namespace troupe::query {

using bson::Document;
using bson::Element;
using bson::Type;
using bson::Value;

namespace {

enum class Method { kValue, kLastSeen, kLinear };

struct FilledField {
  std::string path;
  Method method = Method::kValue;
  ExpressionPtr value;
};

struct FillSpec {
  Document shown;
  ExpressionPtr partitionBy;
  std::optional<SortPattern> sort;
  std::vector<FilledField> outputs;
};

double position(const Element& e) { return e.is(Type::kDate) ? static_cast<double>(e.asDate().millis) : e.toDouble(); }

class FillStage final : public Stage {
 public:
  FillStage(FillSpec spec, const PipelineContext& context)
      : spec_(std::move(spec)),
        held_("$fill", std::move(spec_.partitionBy), std::move(spec_.sort), context),
        variables_(context.parse->work) {}

  StatusWith<Next> next() override {
    while (!consumed_) {
      auto in = pull();
      if (!in.isOK() || in->kind == Next::Kind::kYield) return in;
      if (in->isEnd()) TROUPE_TRY(fillAll());
      else TROUPE_TRY(held_.add(in->document));
    }
    if (at_ == rows_.size()) return Next::end();
    current_ = std::move(rows_[at_++].document);
    return Next::of(current_.view());
  }
  std::string_view name() const override { return "$fill"; }
  void serialize(bson::Builder& stages) const override { stages.push(spec_.shown); }
  StageTraits traits() const override { return {.blocking = true, .preservesCount = true}; }

 private:
  Status fillAll() {
    consumed_ = true;
    TROUPE_TRY(held_.sort());
    for (size_t first = 0; first < rows_.size();) {
      TROUPE_ASSIGN(const size_t end, held_.endOfPartition(first));
      for (const FilledField& output : spec_.outputs) TROUPE_TRY(fill(output, first, end));
      first = end;
    }
    return Status::OK();
  }

  /// Before a path is looked up in a row.
  Status stepInto(const PartitionedRows::Row& row) {
    return variables_.step(stepsFor(static_cast<size_t>(row.document.view().size())));
  }

  Status set(PartitionedRows::Row& row, const std::string& path, const Value& value) {
    const int64_t before = row.document.view().size();
    TROUPE_ASSIGN(row.document, withValueAt(row.document, path, value, variables_.work()));
    return held_.grow(row.document.view().size() - before);
  }

  Status fill(const FilledField& output, size_t first, size_t end) {
    if (output.method == Method::kLinear) return interpolate(output, first, end);
    Value last = nullValue();
    for (size_t i = first; i < end; ++i) {
      TROUPE_TRY(stepInto(rows_[i]));
      const Element present = rows_[i].document.view().at(output.path);
      if (!present.isNullish()) {
        last = Value(present);
        continue;
      }
      if (output.method == Method::kValue) {
        TROUPE_ASSIGN(last, output.value->evaluate(rows_[i].document, variables_));
      }
      TROUPE_TRY(set(rows_[i], output.path, last));
    }
    return Status::OK();
  }

  Status interpolate(const FilledField& output, size_t first, size_t end) {
    std::optional<size_t> known;
    for (size_t i = first; i <= end; ++i) {
      if (i < end) TROUPE_TRY(stepInto(rows_[i]));
      const Element present = i < end ? rows_[i].document.view().at(output.path) : Element();
      if (i < end && present.isNullish()) continue;
      if (i < end && !present.isNumber())
        return {ErrorCode::kTypeMismatch,
                "Value to be filled must be numeric or nullish, but found type: " + typeOf(present)};
      for (size_t j = known ? *known + 1 : first; j < i; ++j)
        TROUPE_TRY(set(rows_[j], output.path, known && i < end ? between(output, *known, i, j) : nullValue()));
      known = i;
    }
    return Status::OK();
  }

  Value between(const FilledField& output, size_t left, size_t right, size_t at) const {
    const double x0 = position(held_.sortValue(rows_[left].document)),
                 x1 = position(held_.sortValue(rows_[right].document)),
                 x = position(held_.sortValue(rows_[at].document));
    const double y0 = rows_[left].document.view().at(output.path).toDouble(),
                 y1 = rows_[right].document.view().at(output.path).toDouble();
    return real(x1 == x0 ? y0 : y0 + (x - x0) * (y1 - y0) / (x1 - x0));
  }

  FillSpec spec_;
  PartitionedRows held_;
  std::vector<PartitionedRows::Row>& rows_ = held_.rows();
  Variables variables_;
  bool consumed_ = false;
  size_t at_ = 0;
  Document current_;
};

StatusWith<FilledField> parseOutput(const Element& e, const ParseContext& context) {
  FilledField output;
  output.path = e.name();
  if (!e.is(Type::kDocument) || e.asDocument().count() != 1)
    return Status(ErrorCode(6050202), "$fill: each output must be an object with exactly one of 'value' and 'method'");
  const Element how = e.asDocument().first();
  if (how.name() == "value") {
    TROUPE_ASSIGN(output.value, parseExpression(how, context));
    return output;
  }
  if (how.name() != "method" || (how.toStringOr() != "locf" && how.toStringOr() != "linear"))
    return Status(ErrorCode(6050202), "$fill: 'method' must be either 'locf' or 'linear'");
  output.method = how.asString() == "locf" ? Method::kLastSeen : Method::kLinear;
  return output;
}

Status parsePartitionFields(const Element& e, const ParseContext& context, ExpressionPtr& partitionBy) {
  if (!e.is(Type::kArray)) return {ErrorCode(6050201), "$fill: 'partitionByFields' must be an array of strings"};
  bson::Builder fields;
  fields.openArray("fields");
  for (const Element& field : e.asArray()) {
    if (!field.is(Type::kString)) return {ErrorCode(6050201), "$fill: 'partitionByFields' must be an array of strings"};
    fields.push("$" + std::string(field.asString()));
  }
  const Document list = fields.close().finish();
  TROUPE_ASSIGN(partitionBy, parseExpression(list["fields"], context));
  return Status::OK();
}

Status parseFill(const Element& e, StageParser& parser) {
  if (!e.is(Type::kDocument)) return {ErrorCode(6050200), "$fill takes an object, found: " + typeOf(e)};
  FillSpec spec;
  for (const Element& field : e.asDocument()) {
    if (field.name() == "partitionBy") {
      TROUPE_ASSIGN(spec.partitionBy, parseExpression(field, parser.parse()));
    } else if (field.name() == "partitionByFields") {
      TROUPE_TRY(parsePartitionFields(field, parser.parse(), spec.partitionBy));
    } else if (field.name() == "sortBy" && field.is(Type::kDocument)) {
      TROUPE_ASSIGN(spec.sort, SortPattern::parse(field.asDocument(), parser.parse()));
    } else if (field.name() == "output" && field.is(Type::kDocument)) {
      for (const Element& output : field.asDocument()) {
        TROUPE_ASSIGN(auto parsed, parseOutput(output, parser.parse()));
        spec.outputs.push_back(std::move(parsed));
      }
    } else {
      return {ErrorCode(40415), "BSON field '$fill." + std::string(field.name()) + "' is an unknown field."};
    }
  }
  if (spec.outputs.empty()) return {ErrorCode(40414), "BSON field '$fill.output' is missing but a required field"};
  for (const FilledField& output : spec.outputs)
    if (output.method == Method::kLinear && (!spec.sort || spec.sort->parts().size() != 1))
      return {ErrorCode(605001), "linear filling requires sortBy with exactly one field"};
  bson::Builder shown;
  shown.append("$fill", e);
  spec.shown = shown.finish();
  parser.add(std::make_unique<FillStage>(std::move(spec), parser.context));
  return Status::OK();
}

constexpr StageRow kFillStages[] = {{"$fill", parseFill}};

}  // namespace

std::span<const StageRow> fillStages() { return kFillStages; }

}  // namespace troupe::query
