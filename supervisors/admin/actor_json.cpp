#include "supervisors/admin/actor_json.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>

#include "messaging/bson/json.hpp"
#include "messaging/description/bson_archive.hpp"

namespace troupe::supervisors {

namespace {

constexpr std::string_view kRowFields[] = {"path",
                                           "node",
                                           "type",
                                           "incarnation",
                                           "phase",
                                           "phaseMeaning",
                                           "phaseSince",
                                           "mailboxLength",
                                           "mailboxOldestMs",
                                           "handled",
                                           "handledPerSecond",
                                           "busyShare",
                                           "restarts",
                                           "restartLimit",
                                           "lastMessage",
                                           "lastError",
                                           "documentId",
                                           "documentRevision",
                                           "pendingAsks",
                                           "parent",
                                           "strategy",
                                           "startedAt"};

/// Enough digits to read, without the noise of binary fractions.
double rounded(double value) { return std::round(value * 1000) / 1000; }

Json messages(const std::vector<MessageTrace>& traces) {
  Json out = Json::array();
  for (auto trace = traces.rbegin(); trace != traces.rend(); ++trace) {
    Json one{{"message", trace->name}, {"at", isoTime(trace->at)}};
    one["peer"] = trace->peer ? Json(trace->peer.path()) : Json();
    one["peerNode"] = trace->peer ? Json(trace->peer.node()) : Json();
    out.push_back(std::move(one));
  }
  return out;
}

WallTime wallTimeOf(bson::Date date) { return WallTime(std::chrono::milliseconds(date.millis)); }

/// The messages of a reply of `actorDetails`, where what has no peer does not name one.
Json messagesJson(const bson::Element& traces) {
  Json out = Json::array();
  if (!traces.is(bson::Type::kArray)) return out;
  for (const bson::Element& trace : traces.asArray()) {
    if (!trace.is(bson::Type::kDocument)) continue;
    const bson::View one = trace.asDocument();
    const auto textOrNull = [&](const char* name) {
      return one[name] ? Json(std::string(one[name].toStringOr())) : Json();
    };
    const bson::Date at = one["at"].is(bson::Type::kDate) ? one["at"].asDate() : bson::Date{};
    out.push_back(Json{{"message", one["message"].toStringOr()},
                       {"at", isoTime(wallTimeOf(at))},
                       {"peer", textOrNull("peer")},
                       {"peerNode", textOrNull("peerNode")}});
  }
  return out;
}

std::string_view parentPath(std::string_view path) { return path.substr(0, path.rfind('/')); }

/// Rows by the place they hang at: the nearest ancestor that is a row, or "" for roots.
using Below = std::map<std::string_view, std::vector<const ActorRow*>>;

Json nest(const Below& below, std::string_view at) {
  Json out = Json::array();
  const auto found = below.find(at);
  if (found == below.end()) return out;
  for (const ActorRow* row : found->second) {
    Json one = toJson(*row);
    const auto above = row->path.size() > at.size() + 1 ? at.size() + 1 : 0;
    one["name"] = row->path.substr(above);
    one["children"] = nest(below, row->path);
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

std::string isoTime(WallTime time) {
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  const std::time_t seconds = static_cast<std::time_t>(std::floor(static_cast<double>(millis) / 1000));
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900, parts.tm_mon + 1,
                parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, static_cast<int>(millis - seconds * 1000));
  return text;
}

Json toJson(const ActorRow& row) {
  return Json{{"path", row.path},
              {"node", row.node},
              {"type", row.type},
              {"incarnation", row.incarnation},
              {"phase", row.phase},
              {"phaseMeaning", row.phaseMeaning},
              {"phaseSince", isoTime(row.phaseSince)},
              {"mailboxLength", row.mailboxLength},
              {"mailboxOldestMs", row.mailboxOldestMs},
              {"handled", row.handled},
              {"handledPerSecond", rounded(row.handledPerSecond)},
              {"busyShare", rounded(row.busyShare)},
              {"restarts", row.restarts},
              {"restartLimit", row.restartLimit},
              {"lastMessage", row.lastMessage},
              {"lastError", row.lastError},
              {"documentId", row.documentId},
              {"documentRevision", row.documentRevision},
              {"pendingAsks", row.pendingAsks},
              {"parent", row.parent},
              {"strategy", row.strategy},
              {"startedAt", isoTime(row.startedAt)}};
}

Json toTree(const std::vector<ActorRow>& rows) {
  std::map<std::string_view, const ActorRow*> byPath;
  for (const ActorRow& row : rows) byPath[row.path] = &row;
  Below below;
  for (const ActorRow& row : rows) {
    std::string_view above = parentPath(row.path);
    while (!above.empty() && !byPath.contains(above)) above = parentPath(above);
    below[above].push_back(&row);
  }
  return nest(below, "");
}

Json toJson(const machines::MachineOutline& machine) {
  const auto nameOrNull = [](const char* phase) { return phase ? Json(phase) : Json(); };
  Json phases = Json::array(), transitions = Json::array();
  for (const auto& phase : machine.phases) phases.push_back({{"name", phase.name}, {"meaning", phase.meaning}});
  for (const auto& row : machine.rows) {
    Json targets = Json::array();
    for (const char* target : row.targets) targets.push_back(nameOrNull(target));
    transitions.push_back({{"from", nameOrNull(row.from)}, {"event", row.event}, {"to", std::move(targets)}});
  }
  return Json{{"name", machine.name}, {"phases", std::move(phases)}, {"transitions", std::move(transitions)}};
}

Json toJson(const ActorDetails& details, const bson::Document& specification) {
  return Json{{"row", toJson(details.row)},
              {"state", toJson(details.state.view())},
              {"machine", details.machine ? toJson(*details.machine) : Json()},
              {"childSpecification", specification.empty() ? Json() : toJson(specification.view())},
              {"received", messages(details.received)},
              {"sent", messages(details.sent)}};
}

Json toJson(const TransitionRecord& record) {
  const auto textOrNull = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  return Json{{"at", isoTime(WallTime(std::chrono::milliseconds(record.at.millis)))},
              {"path", record.path},
              {"machine", record.machine},
              {"instance", record.instance},
              {"event", record.event},
              {"cause", textOrNull(record.cause)},
              {"from", textOrNull(record.from)},
              {"to", textOrNull(record.to)},
              {"revision", record.revision},
              {"effects", record.effects},
              {"outcome", textOrNull(record.outcome)}};
}

Json toJson(bson::View document) {
  Json parsed = Json::parse(bson::toRelaxedJson(document), nullptr, false);
  return parsed.is_discarded() ? Json::object() : parsed;
}

Json rowJson(bson::View row) {
  Json out = toJson(row);
  for (const bson::Element& field : row) {
    if (field.is(bson::Type::kDate)) out[std::string(field.name())] = isoTime(wallTimeOf(field.asDate()));
    else if (field.is(bson::Type::kDouble)) out[std::string(field.name())] = rounded(field.asDouble());
  }
  return out;
}

Json stepJson(bson::View row) {
  const auto record = machines::fromBson<TransitionRecord>(row);
  if (row["unreachable"] || !record.isOK()) return rowJson(row);
  Json out{{"node", std::string(row["node"].toStringOr())}};
  out.update(toJson(*record));
  return out;
}

Json detailsJson(bson::View reply, const bson::Document& specification) {
  const auto document = [&](const char* name) {
    const bson::Element field = reply[name];
    return field.is(bson::Type::kDocument) ? field.asDocument() : bson::View();
  };
  const bool hasMachine = reply["machine"].is(bson::Type::kDocument);
  return Json{{"row", rowJson(document("row"))},
              {"state", toJson(document("state"))},
              {"machine", hasMachine ? toJson(document("machine")) : Json()},
              {"childSpecification", specification.empty() ? Json() : toJson(specification.view())},
              {"received", messagesJson(reply["received"])},
              {"sent", messagesJson(reply["sent"])}};
}

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

bool isRowField(std::string_view name) {
  return std::find(std::begin(kRowFields), std::end(kRowFields), name) != std::end(kRowFields);
}

}  // namespace troupe::supervisors
