#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "storage/query/expression/operand.hpp"

namespace troupe::query {

/// A dotted path of an expression ("$a.b"), split once.
class ValuePath {
 public:
  ValuePath() = default;
  explicit ValuePath(std::string_view dotted);

  /// Checks the text of a path. Errors: 15998 (empty name), 16410 ($ in front), 40352, 40353.
  static Status check(std::string_view dotted);

  /// The value at the path. Arrays on the way give an array of what their documents hold there; the result is borrowed
  /// unless an array was crossed.
  Operand in(bson::View document) const { return names_.empty() ? Operand() : inDocument(document, 0); }
  /// The same, starting from any value.
  Operand in(const bson::Element& value) const;

  bool empty() const { return names_.empty(); }
  const std::string& dotted() const { return dotted_; }
  const std::vector<std::string>& names() const { return names_; }

 private:
  Operand inDocument(bson::View document, size_t from) const;
  Operand inArray(bson::View array, size_t from) const;
  std::string dotted_;
  std::vector<std::string> names_;
};

}  // namespace troupe::query
