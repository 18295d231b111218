#include "storage/query/expression/accumulator.hpp"
#include "storage/query/expression/node.hpp"

// Accumulators used as expressions: `{$sum: "$list"}`, `{$max: ["$a", "$b"]}`.
namespace troupe::query {

using bson::Element;
using bson::Type;
using Result = StatusWith<Operand>;

namespace {

Result aggregate(Arguments& arguments, const Operator& op) {
  const auto accumulator = makeAccumulator(op.name, arguments.collator, arguments.variables.work());
  if (arguments.size() == 1 && arguments[0].is(Type::kArray)) {
    for (const Element& e : arguments[0].asArray()) {
      TROUPE_TRY(arguments.variables.step());
      TROUPE_TRY(accumulator->add(e));
    }
  } else {
    for (size_t i = 0; i < arguments.size(); ++i) TROUPE_TRY(accumulator->add(arguments[i]));
  }
  TROUPE_ASSIGN(auto result, accumulator->result());
  return Operand(std::move(result));
}

constexpr Operator any(std::string_view name) {
  return {.name = name, .maxArity = Operator::kAny, .function = aggregate};
}
constexpr Operator kAggregatesOperators[] = {any("$sum"), any("$avg"),       any("$min"),
                                             any("$max"), any("$stdDevPop"), any("$stdDevSamp")};

}  // namespace

std::span<const Operator> aggregateOperators() { return kAggregatesOperators; }

}  // namespace troupe::query
