#pragma once
// Read before every source by clang 16 and later. Cap'n Proto 0.9 compares texts in namespace capnp with operators that
// lie outside of namespace kj, where they are not found; by the rules of C++20 as older compilers have them the members
// of StringPtr, turned round, stand in for them.
#include <kj/string.h>

namespace kj {

inline bool operator==(const char* a, const StringPtr& b) { return StringPtr(a) == b; }
inline bool operator!=(const char* a, const StringPtr& b) { return StringPtr(a) != b; }

}  // namespace kj
