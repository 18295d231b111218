#pragma once
#include <string>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/bson/json.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::storage {

/// An index named x, documents that it cannot hold, and documents with one key in it.
struct UnindexableKind {
  bson::Document spec;
  std::string badFields, goodFields;  ///< as JSON
  ErrorCode code;

  bson::Document bad(int id, int n = 0) const { return document(id, n, badFields); }
  bson::Document good(int id, int n = 0) const { return document(id, n, goodFields); }

 private:
  static bson::Document document(int id, int n, const std::string& fields) {
    const std::string start = R"({"_id": )" + std::to_string(id) + R"(, "n": )" + std::to_string(n);
    return *bson::fromJson(start + ", " + fields + "}");
  }
};

inline const std::vector<UnindexableKind>& unindexableKinds() {
  static const std::vector<UnindexableKind> kinds{
      {*bson::fromJson(R"({"key": {"tags": 1, "items": 1}, "name": "x"})"), R"("tags": [1, 2], "items": [3, 4])",
       R"("tags": [1], "items": 3)", ErrorCode::kCannotIndexParallelArrays},
      {*bson::fromJson(R"({"key": {"h": "hashed"}, "name": "x"})"), R"("h": [1, 2])", R"("h": 1)", ErrorCode(16766)},
      {*bson::fromJson(R"({"key": {"a.0": 1}, "name": "x"})"), R"("a": [{"0": 1}])", R"("a": [7])", ErrorCode(16746)}};
  return kinds;
}

}  // namespace troupe::storage
