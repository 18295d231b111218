#include "messaging/auth/builtin_roles.hpp"

namespace troupe::auth {
namespace {

using enum Action;
using Kind = ResourcePattern::Kind;

// Groups of actions that several roles share.
const ActionSet kRead =
    actions({kChangeStream, kCollStats, kDbHash, kDbStats, kFind, kKillCursors, kListCollections, kListIndexes});
const ActionSet kReadWrite = kRead | actions({kConvertToCapped, kCreateCollection, kCreateIndex, kDropCollection,
                                              kDropIndex, kInsert, kRemove, kRenameCollectionSameDb, kUpdate});
const ActionSet kDbAdmin = actions({kBypassDocumentValidation,
                                    kCollMod,
                                    kCollStats,
                                    kCompact,
                                    kConvertToCapped,
                                    kCreateCollection,
                                    kCreateIndex,
                                    kDbStats,
                                    kDropCollection,
                                    kDropDatabase,
                                    kDropIndex,
                                    kEnableProfiler,
                                    kIndexStats,
                                    kListCollections,
                                    kListIndexes,
                                    kPlanCacheIndexFilter,
                                    kPlanCacheRead,
                                    kPlanCacheWrite,
                                    kReIndex,
                                    kRenameCollectionSameDb,
                                    kStorageDetails,
                                    kValidate});
const ActionSet kProfile =
    actions({kChangeStream, kCollStats, kConvertToCapped, kCreateCollection, kDbHash, kDbStats, kDropCollection, kFind,
             kKillCursors, kListCollections, kListIndexes, kPlanCacheRead});
const ActionSet kUserAdmin =
    actions({kChangeCustomData, kChangePassword, kCreateRole, kCreateUser, kDropRole, kDropUser, kGrantRole,
             kRevokeRole, kSetAuthenticationRestriction, kViewRole, kViewUser});
const ActionSet kInspect = actions({kCollStats, kDbHash, kDbStats, kFind, kGetShardVersion, kIndexStats, kKillCursors,
                                    kListCollections, kListIndexes, kPlanCacheRead});
const ActionSet kUserCollections =
    actions({kCollStats, kDbHash, kDbStats, kFind, kKillCursors, kListCollections, kListIndexes, kPlanCacheRead});
const ActionSet kShardedData = actions({kCheckMetadataConsistency, kClearJumboFlag, kEnableSharding, kMoveChunk,
                                        kRefineCollectionShardKey, kReshardCollection, kSplitChunk, kSplitVector});
const ActionSet kBackup = actions({kCollStats, kDbStats, kFind, kListCollections, kListIndexes});
const ActionSet kRestore =
    actions({kBypassDocumentValidation, kCollMod, kConvertToCapped, kCreateCollection, kCreateIndex, kDropCollection,
             kDropIndex, kInsert, kListCollections, kListIndexes, kUseUuid});

// Rows read as "<where>(actions)".
BuiltinGrant onOwn(ActionSet what) { return {Kind::kNamespace, kOwn, "", what}; }
BuiltinGrant onOwn(std::string_view collection, ActionSet what) { return {Kind::kNamespace, kOwn, collection, what}; }
BuiltinGrant onEach(ActionSet what) { return {Kind::kNamespace, "", "", what}; }
BuiltinGrant onEach(std::string_view collection, ActionSet what) { return {Kind::kNamespace, "", collection, what}; }
BuiltinGrant on(std::string_view database, std::string_view collection, ActionSet what) {
  return {Kind::kNamespace, database, collection, what};
}
BuiltinGrant onCluster(ActionSet what) { return {Kind::kCluster, "", "", what}; }
BuiltinGrant onAnything(ActionSet what) { return {Kind::kAny, "", "", what}; }

void addDatabaseRoles(std::vector<BuiltinRole>& roles) {
  roles.push_back({"read", false, {}, {onOwn(kRead), onOwn("system.js", kRead)}});
  roles.push_back({"readWrite", false, {}, {onOwn(kReadWrite), onOwn("system.js", kReadWrite)}});
  roles.push_back({"dbAdmin", false, {}, {onOwn(kDbAdmin), onOwn("system.profile", kProfile)}});
  roles.push_back({"userAdmin", false, {}, {onOwn(kUserAdmin)}});
  roles.push_back({"dbOwner", false, {"readWrite", "dbAdmin", "userAdmin"}, {}});
  roles.push_back({"enableSharding", false, {}, {{Kind::kNamespace, kOwnOrEach, "", actions({kEnableSharding})}}});
}

void addAnyDatabaseRoles(std::vector<BuiltinRole>& roles) {
  const auto listing = onCluster(actions({kListDatabases}));
  roles.push_back({"readAnyDatabase", true, {}, {onEach(kRead), onEach("system.js", kRead), listing}});
  roles.push_back({"readWriteAnyDatabase", true, {}, {onEach(kReadWrite), onEach("system.js", kReadWrite), listing}});
  roles.push_back({"dbAdminAnyDatabase", true, {}, {onEach(kDbAdmin), onEach("system.profile", kProfile), listing}});
  roles.push_back({"userAdminAnyDatabase",
                   true,
                   {},
                   {onEach(kUserAdmin), on("local", "", kUserAdmin), on("config", "", kUserAdmin),
                    on("admin", "system.users", kUserCollections), on("admin", "system.roles", kUserCollections),
                    onCluster(actions({kInvalidateUserCache, kListDatabases}))}});
}

void addClusterRoles(std::vector<BuiltinRole>& roles) {
  roles.push_back(
      {"clusterMonitor",
       true,
       {},
       {onCluster(actions({kConnPoolStats, kGetCmdLineOpts, kGetDefaultRwConcern, kGetLog, kGetParameter, kGetShardMap,
                           kHostInfo, kInprog, kListDatabases, kListSessions, kListShards, kNetstat, kReplSetGetConfig,
                           kReplSetGetStatus, kServerStatus, kShardingState, kTop, kViewActors})),
        onEach(actions({kCollStats, kDbStats, kGetShardVersion, kIndexStats, kUseUuid})),
        onEach("system.profile", actions({kFind})), on("config", "", kInspect), on("local", "", kInspect),
        on("local", "system.replset", kInspect)}});
  roles.push_back(
      {"clusterManager",
       true,
       {},
       {onCluster(actions({kAddShard, kAppendOplogNote, kCleanupOrphaned, kFlushRouterConfig, kGetDefaultRwConcern,
                           kGetShardMap, kListSessions, kListShards, kRemoveShard, kReplSetConfigure, kReplSetGetConfig,
                           kReplSetGetStatus, kReplSetStateChange, kResync, kSetDefaultRwConcern,
                           kSetFeatureCompatibilityVersion, kSetUserWriteBlockMode, kViewActors, kManageActors})),
        onEach(kShardedData), on("config", "", kReadWrite | kInspect | kShardedData),
        on("local", "", kReadWrite | kInspect), on("local", "system.replset", kInspect)}});
  roles.push_back(
      {"hostManager",
       true,
       {},
       {onCluster(actions({kConnPoolSync, kCpuProfiler, kDropConnections, kFlushRouterConfig, kFsync,
                           kGetDefaultRwConcern, kInvalidateUserCache, kKillAnyCursor, kKillAnySession, kKillop,
                           kLogRotate, kResync, kSetDefaultRwConcern, kSetParameter, kShutdown, kTouch, kUnlock})),
        onEach(actions({kKillCursors})), on("config", "", actions({kKillCursors})),
        on("local", "", actions({kKillCursors}))}});
  roles.push_back(
      {"clusterAdmin", true, {"clusterMonitor", "clusterManager", "hostManager"}, {onEach(actions({kDropDatabase}))}});
}

void addBackupRoles(std::vector<BuiltinRole>& roles) {
  roles.push_back(
      {"backup",
       true,
       {},
       {onCluster(actions({kAppendOplogNote, kGetParameter, kListDatabases, kServerStatus, kSetUserWriteBlockMode})),
        onAnything(actions({kCollStats, kListCollections, kListIndexes})), onEach(kBackup), on("config", "", kBackup),
        on("local", "", kBackup), onEach("system.js", kBackup), onEach("system.profile", kBackup),
        onEach("system.views", kBackup), on("admin", "system.users", kBackup), on("admin", "system.roles", kBackup),
        on("admin", "system.version", kBackup), on("local", "system.replset", kBackup)}});
  roles.push_back(
      {"restore",
       true,
       {},
       {onCluster(actions({kBypassWriteBlockingMode, kGetParameter, kListDatabases})), onEach(kRestore | kUserAdmin),
        on("config", "", kRestore | kUserAdmin), on("local", "", kRestore | kUserAdmin), onEach("system.js", kRestore),
        onEach("system.views", kRestore), on("admin", "system.users", kRestore | actions({kFind, kRemove, kUpdate})),
        on("admin", "system.roles", kRestore | actions({kFind, kRemove, kUpdate})),
        on("admin", "system.version", kRestore | actions({kFind, kRemove, kUpdate}))}});
}

std::vector<BuiltinRole> makeRoles() {
  std::vector<BuiltinRole> roles;
  addDatabaseRoles(roles);
  addAnyDatabaseRoles(roles);
  addClusterRoles(roles);
  addBackupRoles(roles);
  roles.push_back(
      {"root",
       true,
       {"readWriteAnyDatabase", "dbAdminAnyDatabase", "userAdminAnyDatabase", "clusterAdmin", "backup", "restore"},
       {onAnything(actions({kValidate}))}});
  // The cluster's own user: everything.
  roles.push_back({"__system", true, {}, {onAnything(ActionSet().set())}});
  return roles;
}

}  // namespace

std::span<const BuiltinRole> builtinRoles() {
  static const std::vector<BuiltinRole> roles = makeRoles();
  return roles;
}

}  // namespace troupe::auth
