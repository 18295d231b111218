#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "state_machines/replication/replica_set_config.hpp"

/// How a config is read from and shown as a document.
namespace troupe::replication {

namespace {

using bson::Element;
using bson::Type;
using bson::View;

constexpr std::string_view kDefaultPort = ":27017";

Status wrongType(const std::string& where, const Element& e, std::string_view wanted) {
  return Status(ErrorCode::kTypeMismatch,
                fmt::format("{} must be {}, not {}", where, wanted, bson::typeName(e.type())));
}

/// A whole number that a field of that type can hold; clients send 1, 1.0 and NumberLong(1) alike.
template <class Int>
Status read(const std::string& where, const Element& e, Int& to) {
  if (!e.isNumber()) return wrongType(where, e, "a number");
  const int64_t number = e.toInt64();
  if (e.is(Type::kDouble) && static_cast<double>(number) != e.asDouble())
    return Status(ErrorCode::kInvalidReplicaSetConfig, where + " must be a whole number");
  if (static_cast<int64_t>(static_cast<Int>(number)) != number)
    return Status(ErrorCode::kInvalidReplicaSetConfig, where + " is out of range");
  to = static_cast<Int>(number);
  return Status::OK();
}
Status read(const std::string& where, const Element& e, double& to) {
  if (!e.isNumber()) return wrongType(where, e, "a number");
  to = e.toDouble();
  return Status::OK();
}
Status read(const std::string& where, const Element& e, bool& to) {
  if (!e.is(Type::kBool) && !e.isNumber()) return wrongType(where, e, "a boolean");
  to = e.truthy();
  return Status::OK();
}
Status read(const std::string& where, const Element& e, std::string& to) {
  if (!e.is(Type::kString)) return wrongType(where, e, "a string");
  to = e.asString();
  return Status::OK();
}
Status read(const std::string& where, const Element& e, bson::Document& to) {
  if (!e.is(Type::kDocument)) return wrongType(where, e, "a document");
  to = bson::Document(e.asDocument());
  return Status::OK();
}
Status read(const std::string& where, const Element& e, Millis& to) {
  int64_t count = 0;
  TROUPE_TRY(read(where, e, count));
  to = Millis(count);
  return Status::OK();
}
Status read(const std::string& where, const Element& e, std::optional<bson::ObjectId>& to) {
  if (!e.is(Type::kObjectId)) return wrongType(where, e, "an objectId");
  to = e.asObjectId();
  return Status::OK();
}
Status read(const std::string& where, const Element& e, std::map<std::string, std::string>& to) {
  if (!e.is(Type::kDocument)) return wrongType(where, e, "a document");
  to.clear();
  for (const Element& tag : e.asDocument())
    TROUPE_TRY(read(where + "." + std::string(tag.name()), tag, to[std::string(tag.name())]));
  return Status::OK();
}

using Reader = std::function<Status(const std::string& where, const Element&)>;
using Fields = std::initializer_list<std::pair<std::string_view, Reader>>;

template <class T>
Reader into(T& to) {
  return [&to](const std::string& where, const Element& e) { return read(where, e, to); };
}

/// Each field of the document goes to its reader; a field without one is an error.
Status readFields(View document, const std::string& path, Fields fields) {
  for (const Element& e : document) {
    const std::string where = path + std::string(e.name());
    const Reader* reader = nullptr;
    for (const auto& [name, known] : fields)
      if (name == e.name()) reader = &known;
    if (!reader) return Status(ErrorCode::kUnknownField, fmt::format("BSON field '{}' is an unknown field", where));
    TROUPE_TRY((*reader)(where, e));
  }
  return Status::OK();
}

Status require(View document, const std::string& path, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (!document.has(name))
      return Status(ErrorCode::kMissingRequiredField,
                    fmt::format("BSON field '{}{}' is missing but a required field", path, name));
  return Status::OK();
}

Status readMember(View document, const std::string& path, MemberConfig& m) {
  TROUPE_TRY(require(document, path, {"_id", "host"}));
  TROUPE_TRY(readFields(document, path,
                        {{"_id", into(m.id)},
                         {"host", into(m.host)},
                         {"priority", into(m.priority)},
                         {"votes", into(m.votes)},
                         {"arbiterOnly", into(m.arbiterOnly)},
                         {"hidden", into(m.hidden)},
                         {"buildIndexes", into(m.buildIndexes)},
                         {"secondaryDelaySecs", into(m.secondaryDelaySecs)},
                         {"tags", into(m.tags)}}));
  if (m.arbiterOnly && m.priority == 1) m.priority = 0;
  if (m.host.find(':') == std::string::npos) m.host += kDefaultPort;
  return Status::OK();
}

Status readMembers(const std::string& where, const Element& e, std::vector<MemberConfig>& members) {
  if (!e.is(Type::kArray)) return wrongType(where, e, "an array");
  for (const Element& item : e.asArray()) {
    const std::string path = where + "." + std::string(item.name());
    if (!item.is(Type::kDocument)) return wrongType(path, item, "a document");
    TROUPE_TRY(readMember(item.asDocument(), path + ".", members.emplace_back()));
  }
  return Status::OK();
}

Status readSettings(const std::string& where, const Element& e, ReplicaSetSettings& s) {
  if (!e.is(Type::kDocument)) return wrongType(where, e, "a document");
  return readFields(e.asDocument(), where + ".",
                    {{"chainingAllowed", into(s.chainingAllowed)},
                     {"heartbeatIntervalMillis", into(s.heartbeatInterval)},
                     {"heartbeatTimeoutSecs", into(s.heartbeatTimeoutSecs)},
                     {"electionTimeoutMillis", into(s.electionTimeout)},
                     {"catchUpTimeoutMillis", into(s.catchUpTimeout)},
                     {"catchUpTakeoverDelayMillis", into(s.catchUpTakeoverDelay)},
                     {"getLastErrorModes", into(s.getLastErrorModes)},
                     {"getLastErrorDefaults", into(s.getLastErrorDefaults)},
                     {"replicaSetId", into(s.replicaSetId)}});
}

void append(bson::Builder& b, const MemberConfig& m) {
  b.append("_id", m.id).append("host", m.host).append("arbiterOnly", m.arbiterOnly);
  b.append("buildIndexes", m.buildIndexes).append("hidden", m.hidden).append("priority", m.priority);
  b.openDocument("tags");
  for (const auto& [name, value] : m.tags) b.append(name, value);
  b.close();
  b.append("secondaryDelaySecs", m.secondaryDelaySecs).append("votes", m.votes);
}

void append(bson::Builder& b, const ReplicaSetSettings& s) {
  b.append("chainingAllowed", s.chainingAllowed);
  b.append("heartbeatIntervalMillis", static_cast<int32_t>(s.heartbeatInterval.count()));
  b.append("heartbeatTimeoutSecs", s.heartbeatTimeoutSecs);
  b.append("electionTimeoutMillis", static_cast<int32_t>(s.electionTimeout.count()));
  b.append("catchUpTimeoutMillis", static_cast<int32_t>(s.catchUpTimeout.count()));
  b.append("catchUpTakeoverDelayMillis", static_cast<int32_t>(s.catchUpTakeoverDelay.count()));
  b.append("getLastErrorModes", s.getLastErrorModes);
  b.append("getLastErrorDefaults", s.getLastErrorDefaults);
  if (s.replicaSetId) b.append("replicaSetId", *s.replicaSetId);
}

}  // namespace

StatusWith<ReplicaSetConfig> ReplicaSetConfig::parse(bson::View document) {
  ReplicaSetConfig config;
  int64_t protocolVersion = kProtocolVersion;
  TROUPE_TRY(require(document, "", {"_id", "members"}));
  TROUPE_TRY(readFields(
      document, "",
      {{"_id", into(config.id)},
       {"version", into(config.version)},
       {"term", into(config.term)},
       {"protocolVersion", into(protocolVersion)},
       {"configsvr", into(config.configServer)},
       {"writeConcernMajorityJournalDefault", into(config.writeConcernMajorityJournalDefault)},
       {"members", [&](const auto& where, const Element& e) { return readMembers(where, e, config.members); }},
       {"settings", [&](const auto& where, const Element& e) { return readSettings(where, e, config.settings); }}}));
  if (protocolVersion != kProtocolVersion)
    return Status(ErrorCode::kInvalidReplicaSetConfig, fmt::format("protocolVersion must be {}", kProtocolVersion));
  TROUPE_TRY(config.validate());
  return config;
}

bson::Document ReplicaSetConfig::toBson() const {
  bson::Builder b;
  b.append("_id", id).append("version", version).append("term", term);
  b.openArray("members");
  for (const MemberConfig& m : members) {
    b.pushDocument();
    append(b, m);
    b.close();
  }
  b.close();
  if (configServer) b.append("configsvr", true);
  b.append("protocolVersion", kProtocolVersion);
  b.append("writeConcernMajorityJournalDefault", writeConcernMajorityJournalDefault);
  b.openDocument("settings");
  append(b, settings);
  b.close();
  return b.finish();
}

}  // namespace troupe::replication
