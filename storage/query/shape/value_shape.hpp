#pragma once
#include <string>

#include "messaging/bson/view.hpp"
#include "messaging/errors/status.hpp"
#include "storage/query/query_work.hpp"

namespace troupe::query {

/// Text that tells where it ends, whatever it holds.
void appendSized(std::string& out, std::string_view text);

/// `?number`, `?array<?string>`: what stands for a constant in a query shape. Errors: of an interrupt.
Status appendTypeOf(std::string& out, const bson::Element& constant, QueryWork* work);

/// An expression, a projection or a stage: names, operators and field paths stay, constants become their types.
/// Errors: of an interrupt.
Status appendExpressionShape(std::string& out, const bson::Element& expression, QueryWork* work);

/// The same of the fields of a document or the elements of an array.
Status appendFieldsShape(std::string& out, bson::View fields, QueryWork* work);

}  // namespace troupe::query
