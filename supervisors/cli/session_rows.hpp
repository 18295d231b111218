#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "messaging/bson/document.hpp"
#include "supervisors/cli/terminal.hpp"

namespace troupe::supervisors {

/// Rows of sessionInfo for people: a table of the sessions, and how many of them there are. `total`: all sessions of
/// the node. `nowMillis`: since 1970, for how long a session was not used.
std::string renderSessions(const std::vector<bson::Document>& rows, int64_t total, int64_t nowMillis, size_t width,
                           const Paint& paint);

/// Rows of several pages of sessionInfo, each session once: one that is used while the pages are read comes twice from
/// a server that goes by the present order.
class SessionRows {
 public:
  void add(bson::View page);
  const std::vector<bson::Document>& rows() const { return rows_; }

 private:
  std::vector<bson::Document> rows_;
  std::unordered_set<std::string> ids_;
};

}  // namespace troupe::supervisors
