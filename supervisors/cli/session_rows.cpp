#include "supervisors/cli/session_rows.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "supervisors/cli/table.hpp"

namespace troupe::supervisors {
namespace {

std::string operationOf(bson::View row) {
  const bson::Element operation = row["operation"];
  if (!operation.is(bson::Type::kDocument)) return "";
  const bson::View its = operation.asDocument();
  return fmt::format("{} {} (op {})", its["command"].toStringOr(), its["ns"].toStringOr(), its["opid"].toInt64());
}

}  // namespace

std::string renderSessions(const std::vector<bson::Document>& rows, int64_t total, int64_t nowMillis, size_t width,
                           const Paint& paint) {
  if (rows.empty()) return "No session was used on this node lately.\n";
  Table table(
      {{"session", false, 36}, {"user"}, {"last use", true}, {"cursors", true}, {"waiters", true}, {"operation"}});
  for (const bson::Document& row : rows) {
    const int64_t idle = std::max<int64_t>(nowMillis - row["lastUse"].asDate().millis, 0);
    table.add({std::string(row["session"].toStringOr()), std::string(row["user"].toStringOr()),
               formatDuration(static_cast<double>(idle) / 1000) + " ago", formatCount(row["openCursors"].toInt64()),
               formatCount(row["waiters"].toInt64()), operationOf(row)});
  }
  const auto shown = static_cast<int64_t>(rows.size());
  const std::string more =
      shown < total ? fmt::format("\n{} of {} sessions, the last used first\n", formatCount(shown), formatCount(total))
                    : "";
  return table.render(width, paint, "") + more;
}

void SessionRows::add(bson::View page) {
  for (const bson::Element& row : page["sessions"].asArray())
    if (ids_.emplace(row.asDocument()["_id"].valueBytes()).second) rows_.emplace_back(row.asDocument());
}

}  // namespace troupe::supervisors
