#include "state_machines/replication/replica_set_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "messaging/bson/numeric.hpp"
#include "messaging/description/bson_archive.hpp"

namespace troupe::replication {

namespace {

template <class... Args>
Status invalid(fmt::format_string<Args...> text, Args&&... args) {
  return Status(ErrorCode::kInvalidReplicaSetConfig, fmt::format(text, std::forward<Args>(args)...));
}

constexpr double kMaxPriority = 1000;
constexpr int32_t kMaxMemberId = 255;
constexpr int64_t kMaxDelaySecs = 366LL * 24 * 3600;

bool isLocal(std::string_view host) {
  return host.starts_with("localhost:") || host.starts_with("127.0.0.1:") || host.starts_with("[::1]:");
}

bool isHostAndPort(std::string_view host) {
  const size_t colon = host.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view port = host.substr(colon + 1);
  if (port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != port.npos) return false;
  const int number = std::stoi(std::string(port));
  return number > 0 && number < 65536 && host.find_first_of(" /,") == host.npos;
}

Status validateNumbers(const MemberConfig& m) {
  if (m.id < 0 || m.id > kMaxMemberId) return invalid("members.{}._id must be from 0 to {}", m.host, kMaxMemberId);
  if (!isHostAndPort(m.host)) return invalid("members.host '{}' is not of the form host:port", m.host);
  if (!(m.priority >= 0 && m.priority <= kMaxPriority))
    return invalid("the priority of {} must be from 0 to {}", m.host, kMaxPriority);
  if (m.votes != 0 && m.votes != 1) return invalid("the votes of {} must be 0 or 1", m.host);
  if (m.secondaryDelaySecs < 0 || m.secondaryDelaySecs > kMaxDelaySecs)
    return invalid("secondaryDelaySecs of {} must be from 0 to {}", m.host, kMaxDelaySecs);
  return Status::OK();
}

/// Members with a special role (arbiter, hidden, delayed ...) must not become primary.
Status validateMember(const MemberConfig& m) {
  TROUPE_TRY(validateNumbers(m));
  if (m.arbiterOnly && m.priority != 0) return invalid("priority must be 0 when arbiterOnly is true: {}", m.host);
  if (m.arbiterOnly && !m.isVoter()) return invalid("an arbiter must vote: {}", m.host);
  if (m.arbiterOnly && !m.tags.empty()) return invalid("an arbiter can have no tags: {}", m.host);
  if (m.priority == 0) return Status::OK();
  if (!m.isVoter()) return invalid("priority must be 0 when a member has no vote: {}", m.host);
  if (m.hidden) return invalid("priority must be 0 when hidden is true: {}", m.host);
  if (!m.buildIndexes) return invalid("priority must be 0 when buildIndexes is false: {}", m.host);
  if (m.secondaryDelaySecs > 0) return invalid("priority must be 0 when secondaryDelaySecs is set: {}", m.host);
  return Status::OK();
}

Status validateSettings(const ReplicaSetSettings& s) {
  if (s.heartbeatIntervalMillis.count() <= 0) return invalid("settings.heartbeatIntervalMillis must be above 0");
  if (s.heartbeatTimeoutSecs <= 0) return invalid("settings.heartbeatTimeoutSecs must be above 0");
  if (s.electionTimeoutMillis.count() <= 0) return invalid("settings.electionTimeoutMillis must be above 0");
  if (s.catchUpTimeoutMillis.count() < -1) return invalid("settings.catchUpTimeoutMillis must be -1 or more");
  if (s.catchUpTakeoverDelayMillis.count() < -1)
    return invalid("settings.catchUpTakeoverDelayMillis must be -1 or more");
  return Status::OK();
}

/// Heartbeats come twice in an election timeout: below this a set is busy with elections, and a scheduling delay ends
/// each primary.
constexpr int64_t kLeastElectionTimeoutMillis = 50;
/// Each hello tells parts of the config, and each new version of it goes to all members.
constexpr size_t kMostConfigBytes = 64 * 1024;

/// Each mode of write concern names tags that members have, or no write could ever satisfy it, and asks for at least
/// one value of each: a mode that asks for nobody would acknowledge writes that no member has.
Status checkModes(const ReplicaSetConfig& config) {
  for (const bson::Element& mode : config.settings.getLastErrorModes.view()) {
    if (!mode.is(bson::Type::kDocument))
      return invalid("settings.getLastErrorModes.{} must be a document", mode.name());
    if (mode.asDocument().empty())
      return invalid("settings.getLastErrorModes.{} must name at least one tag, as {{{}: {{dc: 2}}}} does", mode.name(),
                     mode.name());
    for (const bson::Element& tag : mode.asDocument()) {
      const std::string name(tag.name());
      if (std::ranges::none_of(config.members, [&](const MemberConfig& m) { return m.tags.contains(name); }))
        return invalid("settings.getLastErrorModes.{} names the tag '{}', which no member has", mode.name(), name);
      if (!valuesWanted(tag))
        return invalid("settings.getLastErrorModes.{}.{} must be a whole number of at least 1", mode.name(), name);
    }
  }
  return Status::OK();
}

/// Tools send the defaults that old configs showed, which are taken. Any other default write concern given here would
/// have no effect, and writes would be less safe than the operator believes.
Status checkDefaults(bson::View defaults) {
  for (const bson::Element& field : defaults) {
    const auto has = [&field](std::string_view name, int value) {
      return field.name() == name && field.isNumber() && field.toDouble() == value;
    };
    if (has("w", 1) || has("wtimeout", 0)) continue;
    return invalid(
        "settings.getLastErrorDefaults must be {{w: 1, wtimeout: 0}}, and sets {}: give the default write concern with "
        "the command setDefaultRWConcern",
        field.name());
  }
  return Status::OK();
}

/// An arbiter has no data to be late with and no indexes to do without: such a config means another kind of member.
Status checkArbiters(const ReplicaSetConfig& config) {
  for (const MemberConfig& m : config.members) {
    if (!m.arbiterOnly) continue;
    if (m.secondaryDelaySecs > 0)
      return invalid("secondaryDelaySecs must be 0 when arbiterOnly is true, for an arbiter holds no data: {}", m.host);
    if (!m.buildIndexes)
      return invalid("buildIndexes must be true when arbiterOnly is true, for an arbiter holds no data: {}", m.host);
  }
  return Status::OK();
}

/// What is refused where a config is given, and taken where one is stored already: a member has to start with it.
Status checkGiven(const ReplicaSetConfig& config, bson::View document) {
  if (document.size() > kMostConfigBytes)
    return invalid("the config has {} bytes, and may have {}: are there tags that nobody needs?", document.size(),
                   kMostConfigBytes);
  if (config.settings.electionTimeoutMillis.count() < kLeastElectionTimeoutMillis)
    return invalid("settings.electionTimeoutMillis must be {} or more", kLeastElectionTimeoutMillis);
  TROUPE_TRY(checkArbiters(config));
  TROUPE_TRY(checkDefaults(config.settings.getLastErrorDefaults));
  return checkModes(config);
}

constexpr std::string_view kDefaultPort = ":27017";

/// What a config cannot do without; all other fields have defaults. `path` is that of the document.
Status require(bson::View document, const std::string& path, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (!document.has(name))
      return Status(ErrorCode::kMissingRequiredField,
                    fmt::format("BSON field '{}{}' is missing but a required field", path, name));
  return Status::OK();
}

Status requireFields(bson::View document) {
  TROUPE_TRY(require(document, "", {"_id", "members"}));
  if (!document["members"].is(bson::Type::kArray)) return Status::OK();  // found when it is read
  for (const bson::Element& member : document["members"].asArray())
    if (member.is(bson::Type::kDocument))
      TROUPE_TRY(require(member.asDocument(), fmt::format("members.{}.", member.name()), {"_id", "host"}));
  return Status::OK();
}

/// A config as it was given, with the defaults of what it leaves out; not validated.
StatusWith<ReplicaSetConfig> readConfig(bson::View document) {
  TROUPE_TRY(requireFields(document));
  auto config = machines::parseBson<ReplicaSetConfig>(document);
  if (config.status() == ErrorCode::kOverflow)
    return Status(ErrorCode::kInvalidReplicaSetConfig, config.status().reason());
  TROUPE_TRY(config.status());
  for (MemberConfig& member : config->members) {
    if (member.arbiterOnly && member.priority == 1) member.priority = 0;
    if (member.host.find(':') == std::string::npos) member.host += kDefaultPort;
  }
  return config;
}

StatusWith<ReplicaSetConfig> checked(ReplicaSetConfig config, bson::View document) {
  TROUPE_TRY(config.validate());
  TROUPE_TRY(checkGiven(config, document));
  return config;
}

/// Voters of `a` that are no voters of `b`.
int votersOnlyIn(const ReplicaSetConfig& a, const ReplicaSetConfig& b) {
  return static_cast<int>(std::count_if(a.members.begin(), a.members.end(), [&](const MemberConfig& m) {
    const MemberConfig* other = b.member(m.host);
    return m.isVoter() && !(other && other->isVoter());
  }));
}

}  // namespace

ReplicaSetSettings::ReplicaSetSettings() = default;

StatusWith<ReplicaSetConfig> ReplicaSetConfig::parse(bson::View document) {
  TROUPE_ASSIGN(ReplicaSetConfig config, readConfig(document));
  return checked(std::move(config), document);
}

StatusWith<ReplicaSetConfig> ReplicaSetConfig::parseSuccessor(bson::View document) {
  TROUPE_ASSIGN(ReplicaSetConfig config, readConfig(document));
  std::set<NodeName> hosts;
  for (const MemberConfig& m : config.members)
    if (!hosts.insert(m.host).second)
      return Status(ErrorCode::kNewReplicaSetConfigurationIncompatible,
                    fmt::format("Found two member configurations with same host field: {}", m.host));
  return checked(std::move(config), document);
}

Status ReplicaSetConfig::validate() const {
  if (id.empty()) return invalid("_id, the name of the replica set, must not be empty");
  if (protocolVersion != kProtocolVersion) return invalid("protocolVersion must be {}", kProtocolVersion);
  if (version < 1) return invalid("version must be 1 or more");
  if (term < ConfigVersion::kNoTerm) return invalid("term must be -1 or more");
  if (members.empty() || members.size() > kMaxMembers)
    return invalid("a replica set has from 1 to {} members, not {}", kMaxMembers, members.size());
  std::set<int32_t> ids;
  std::set<NodeName> hosts;
  for (const MemberConfig& m : members) {
    TROUPE_TRY(validateMember(m));
    if (!ids.insert(m.id).second) return invalid("two members have the _id {}", m.id);
    if (!hosts.insert(m.host).second) return invalid("two members have the host {}", m.host);
    if (isLocal(m.host) != isLocal(members.front().host))
      return invalid("either all host names must refer to the local host, or none: {} and {}", members.front().host,
                     m.host);
  }
  if (voters() > kMaxVoters) return invalid("at most {} members may vote, not {}", kMaxVoters, voters());
  if (std::none_of(members.begin(), members.end(), [](const auto& m) { return m.isElectable(); }))
    return invalid("at least one member must be able to become primary: no arbiter, and priority above 0");
  return validateSettings(settings);
}

const MemberConfig* ReplicaSetConfig::member(const NodeName& host) const {
  for (const MemberConfig& m : members)
    if (m.host == host) return &m;
  return nullptr;
}

int ReplicaSetConfig::voters() const {
  return static_cast<int>(std::count_if(members.begin(), members.end(), [](const auto& m) { return m.isVoter(); }));
}

int ReplicaSetConfig::writeMajority() const {
  const auto holders =
      std::count_if(members.begin(), members.end(), [](const auto& m) { return m.isVoter() && !m.arbiterOnly; });
  return std::min(majority(), static_cast<int>(holders));
}

int ReplicaSetConfig::priorityRank(const NodeName& host) const {
  const MemberConfig* self = member(host);
  return static_cast<int>(std::count_if(members.begin(), members.end(),
                                        [&](const auto& m) { return self && m.priority > self->priority; }));
}

bool ReplicaSetConfig::isOnlyVoter(const NodeName& host) const {
  const MemberConfig* self = member(host);
  return self && self->isElectable() && self->isVoter() && voters() == 1;
}

Millis ReplicaSetConfig::heartbeatInterval() const {
  return std::max<Millis>(Millis(1),
                          std::min<Millis>(settings.heartbeatIntervalMillis, settings.electionTimeoutMillis / 2));
}

std::optional<int64_t> valuesWanted(const bson::Element& tag) {
  const auto count = bson::integerOf(tag);
  return count.isOK() && *count >= 1 ? std::optional(*count) : std::nullopt;
}

Status checkSuccessor(const ReplicaSetConfig& present, const ReplicaSetConfig& next, bool force) {
  const auto incompatible = [](std::string why) {
    return Status(ErrorCode::kNewReplicaSetConfigurationIncompatible, std::move(why));
  };
  if (next.id != present.id)
    return incompatible(fmt::format("the set is called {}, the new config is for {}", present.id, next.id));
  if (next.settings.replicaSetId != present.settings.replicaSetId)
    return incompatible("settings.replicaSetId is drawn by replSetInitiate, and must not change nor be given");
  if (next.isConfigServer() != present.isConfigServer()) return incompatible("configsvr must not change");
  if (present.version >= ReplicaSetConfig::kMaxVersion)
    return incompatible(
        fmt::format("no config can follow the present one, since its version, {}, leaves no higher one: make a new set "
                    "of a dump, or of one member's data without its local database",
                    present.version));
  if (next.version <= present.version)
    return incompatible(
        fmt::format("the new version, {}, must be above the present one, {}", next.version, present.version));
  if (next.version > std::max(ReplicaSetConfig::kMaxChosenVersion, present.version + 1))
    return invalid("version must be {} or less, not {}: one more than the present one, {}, will do",
                   std::max(ReplicaSetConfig::kMaxChosenVersion, present.version + 1), next.version, present.version);
  for (const MemberConfig& m : next.members) {
    const MemberConfig* before = present.member(m.host);
    if (!before) continue;
    if (before->id != m.id) return incompatible(fmt::format("the _id of {} must not change", m.host));
    if (before->arbiterOnly != m.arbiterOnly)
      return incompatible(fmt::format("arbiterOnly of {} must not change", m.host));
    if (before->buildIndexes != m.buildIndexes)
      return incompatible(fmt::format("buildIndexes of {} must not change", m.host));
  }
  if (!force && votersOnlyIn(next, present) + votersOnlyIn(present, next) > 1)
    return invalid(
        "without force, only one voting member may be added or removed at a time, and one of another host is another "
        "member: to rename a host, take its vote and its priority away first (votes: 0, priority: 0), then rename it, "
        "then give it its vote back");
  return Status::OK();
}

}  // namespace troupe::replication
