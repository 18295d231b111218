#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "messaging/bson/document.hpp"
#include "test/checkers/history.hpp"

namespace troupe::checkers {

/// What a node holds: documents by namespace, in any order.
using Contents = std::map<std::string, std::vector<bson::Document>>;

/// Whether all nodes hold the same documents, byte for byte. Shows the first document that differs.
Verdict compareReplicas(const std::map<std::string, Contents>& byNode);

/// Whether a scan of an index gives the same documents as a scan of the collection.
Verdict compareIndex(const std::string& index, const std::vector<bson::Document>& byIndex,
                     const std::vector<bson::Document>& byCollection);

/// Whether what is counted is what is there.
Verdict compareCount(const std::string& what, int64_t counted, const std::vector<bson::Document>& found);

}  // namespace troupe::checkers
