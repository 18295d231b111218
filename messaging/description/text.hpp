#pragma once
#include <string>
#include <string_view>

#include "messaging/description/value_type.hpp"

/// One readable line of any described value, for traces, failures of tests and interaction scripts:
///   Drain{lease=L, from="node a", rounds=[1, 2]}
/// A struct without fields is its name alone; an empty optional field is left out; a variant shows what it holds. Texts
/// are quoted and escaped unless they consist of letters, digits and _ - . / : @ only. The same value always gives the
/// same line.
namespace troupe::machines {

namespace detail {
void appendText(std::string& out, const ValueType& type, const void* value);
}

/// The text of a described struct, or of any value that one may hold.
template <class T>
std::string toText(const T& value) {
  std::string out;
  detail::appendText(out, typeOf<T>(), &value);
  return out;
}

/// The text as it stands in a line: as it is, or quoted and escaped.
std::string quotedText(std::string_view text);

}  // namespace troupe::machines
