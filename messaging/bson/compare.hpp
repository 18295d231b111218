#pragma once
#include <cstdint>

#include "messaging/bson/view.hpp"

namespace troupe::bson {

/// Compares strings by a locale's rules (collation.hpp); null means bytewise.
class Collator;

/// The rank of a type in the order of all values: MinKey, (undefined, null, missing), numbers, strings and symbols,
/// documents, arrays, binary, ObjectId, bool, date, timestamp, regex, DBPointer, code, code with scope, MaxKey.
int canonicalRank(Type type);

/// Orders two values (names are ignored) by rank, then by value; numbers by mathematical value. -1, 0 or 1.
/// An absent element ranks as null's neighbour: below null, above MinKey (as `undefined`).
int compareValues(const Element& a, const Element& b, const Collator* collator = nullptr);

/// Orders documents field by field: rank of type, then name, then value; a prefix comes first.
int compareDocuments(View a, View b, const Collator* collator = nullptr);

/// A hash that is equal for values that compare equal (1, 1.0 and NumberDecimal("1") hash alike).
uint64_t hashValue(const Element& e, const Collator* collator = nullptr);

}  // namespace troupe::bson
