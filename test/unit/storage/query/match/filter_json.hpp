#pragma once
#include <gtest/gtest.h>

#include <string>

#include "messaging/bson/json.hpp"

namespace troupe::query {

/// A document from JSON in which a field name may begin with `%` instead of `$`: Extended JSON would take `$type`,
/// `$regex` and `$options` for notations of its own.
inline bson::Document filterJson(std::string_view text) {
  const auto rename = [](const auto& self, bson::View in, bson::Builder& out) -> void {
    for (const auto& e : in) {
      std::string name(e.name());
      if (name.starts_with('%')) name[0] = '$';
      if (!e.isObjectLike()) {
        out.append(name, e);
        continue;
      }
      e.is(bson::Type::kArray) ? out.openArray(name) : out.openDocument(name);
      self(self, e.asDocument(), out);
      out.close();
    }
  };
  auto parsed = bson::fromJson(text);
  EXPECT_TRUE(parsed.isOK()) << text << ": " << parsed.status().toString();
  bson::Builder out;
  if (parsed.isOK()) rename(rename, *parsed, out);
  return out.finish();
}

}  // namespace troupe::query
