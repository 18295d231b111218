#pragma once
#include "messaging/bson/numeric.hpp"

// Conversions between types as $toInt, $toLong, $toDouble, $toDecimal and $toBool do them; null and missing are the
// caller's. Errors: ConversionFailure, with the text $convert gives without `onError`.
namespace troupe::bson {

/// From numbers (truncated), booleans and strings of decimal digits. Fails where the result is out of range, NaN or
/// infinite.
StatusWith<Value> toInt32Value(const Element& v);
/// As `toInt32Value`, and from dates (milliseconds).
StatusWith<Value> toInt64Value(const Element& v);
/// From numbers, booleans, dates and strings. Fails where a decimal is out of range.
StatusWith<Value> toDoubleValue(const Element& v);
/// From numbers, booleans, dates and strings.
StatusWith<Value> toDecimalValue(const Element& v);
/// Numbers are true unless zero; all other types are true.
StatusWith<Value> toBoolValue(const Element& v);

}  // namespace troupe::bson
