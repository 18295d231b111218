#include "supervisors/cli/replica_rows.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "supervisors/cli/table.hpp"

namespace troupe::supervisors {
namespace {

constexpr int64_t kPrimary = 1;

int64_t electedAt(bson::View member) {
  const auto date = member["electionDate"];
  return date.is(bson::Type::kDate) ? date.asDate().millis : 0;
}

/// The primary's entry among the members; an empty view where there is none. Of several, one of which does not know yet
/// that it was replaced, the member itself or the one that was elected last.
bson::View primaryOf(bson::View status) {
  bson::View found;
  if (!status["members"].is(bson::Type::kArray)) return found;
  for (const auto& each : status["members"].asArray()) {
    const bson::View member = each.asDocument();
    if (member["state"].toInt64() != kPrimary) continue;
    if (member["self"].truthy()) return member;
    if (found.empty() || electedAt(member) > electedAt(found)) found = member;
  }
  return found;
}

std::string since(const bson::Element& date, const bson::Element& now) {
  if (!date.is(bson::Type::kDate) || date.asDate().millis <= 0 || !now.is(bson::Type::kDate)) return "never";
  const int64_t millis = std::max<int64_t>(now.asDate().millis - date.asDate().millis, 0);
  return formatDuration(static_cast<double>(millis) / 1000) + " ago";
}

/// What is known against a member, or else what holds it up.
std::string remarkOf(bson::View member) {
  const std::string_view message = member["lastHeartbeatMessage"].toStringOr();
  return std::string(message.empty() ? member["infoMessage"].toStringOr() : message);
}

std::vector<std::string> cellsOf(bson::View status, bson::View member) {
  const bool isSelf = member["self"].truthy();
  const auto lag = lagOf(status, member);
  const auto ping = member["pingMs"];
  return {std::string(member["name"].toStringOr()),
          std::string(member["stateStr"].toStringOr("?")),
          isSelf ? "this one" : since(member["lastHeartbeatRecv"], status["date"]),
          ping.ok() ? fmt::format("{} ms", ping.toInt64()) : "",
          lag ? formatLag(*lag) : "",
          remarkOf(member)};
}

}  // namespace

std::optional<double> lagOf(bson::View status, bson::View member) {
  const bson::View primary = primaryOf(status);
  if (primary.empty() || member["state"].toInt64() == kPrimary) return std::nullopt;
  const auto newest = primary["optimeDate"], own = member["optimeDate"];
  if (!newest.is(bson::Type::kDate) || !own.is(bson::Type::kDate)) return std::nullopt;
  if (newest.asDate().millis <= 0 || own.asDate().millis <= 0) return std::nullopt;  // it has no data, or is unknown
  return static_cast<double>(std::max<int64_t>(newest.asDate().millis - own.asDate().millis, 0)) / 1000;
}

std::string formatLag(double seconds) { return seconds < 1 ? "0 s" : formatDuration(seconds); }

std::string renderReplicaSet(bson::View status, size_t width, const Paint& paint) {
  const bson::View primary = primaryOf(status);
  std::string out;
  const auto line = [&](std::string_view name, const std::string& value) {
    out += paint.dim(fmt::format("{:<14}", name)) + value + "\n";
  };
  line("set", std::string(status["set"].toStringOr()));
  line("term", std::to_string(status["term"].toInt64()));
  line("primary", primary.empty() ? paint.red("none") : std::string(primary["name"].toStringOr()));
  line("majority", fmt::format("{} of {} voting members", status["majorityVoteCount"].toInt64(),
                               status["votingMembersCount"].toInt64()));
  Table table({{"member", false, 12}, {"state"}, {"heard of"}, {"ping", true, 5}, {"lag", true, 5}, {"remark"}});
  if (status["members"].is(bson::Type::kArray))
    for (const auto& member : status["members"].asArray()) table.add(cellsOf(status, member.asDocument()));
  return out + "\n" + table.render(width, paint, "");
}

}  // namespace troupe::supervisors
