#pragma once
#include "messaging/bson/numeric.hpp"

// Mathematics over numeric values of any types, with the types of results that aggregation expressions give (beyond the
// basic operations of numeric.hpp). All arguments are numbers: the caller has checked that.
// Errors carry the numbers and texts of the expressions they serve.
namespace troupe::bson {

/// Decimal if one of both is decimal, else double. Error: BadValue for a zero divisor.
StatusWith<Value> divide(const Element& a, const Element& b);
/// The remainder with the sign of `a`: integer for integers. Error: 16610 for a zero divisor.
StatusWith<Value> modulo(const Element& a, const Element& b);
/// Keeps the type; the least int32 gives int64. Error: 28680 for the least int64.
StatusWith<Value> abs(const Element& v);
/// Integers stay as they are; double and decimal keep their type.
Value ceil(const Element& v);
Value floor(const Element& v);
/// Rounds half to even (or towards zero) to `place` decimals; a negative place zeroes digits before the point. Keeps
/// the type; an int32 that leaves its range gives int64. Error: 51080 where an int64 leaves its range.
StatusWith<Value> round(const Element& v, int place = 0);
StatusWith<Value> truncate(const Element& v, int place = 0);
/// Decimal for decimal, else double. Error: 28714 below zero.
StatusWith<Value> sqrt(const Element& v);
Value exp(const Element& v);
/// Errors: 28766 ($ln), 28761 ($log10), 28758 and 28759 ($log) where argument or base is out of range.
StatusWith<Value> ln(const Element& v);
StatusWith<Value> log10(const Element& v);
StatusWith<Value> log(const Element& v, const Element& base);
/// Integers give the narrowest integer type that holds the result and is not narrower than the arguments, else double.
/// Error: 28764 for zero to a negative power.
StatusWith<Value> pow(const Element& base, const Element& exponent);

}  // namespace troupe::bson
