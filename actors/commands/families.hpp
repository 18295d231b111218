#pragma once
#include <span>

#include "actors/server/command.hpp"

namespace troupe::commands {
using namespace server;

// The families of commands, a source file each (named as the family); together they are makeCommandTable().
std::span<const Command> handshakeCommands();    ///< hello, isMaster, ping
std::span<const Command> informationCommands();  ///< buildInfo, hostInfo, connectionStatus, listCommands, getLog ...
std::span<const Command> parameterCommands();    ///< getParameter, setParameter, getCmdLineOpts, configureFailPoint
std::span<const Command> statusCommands();       ///< serverStatus, currentOp, killOp, top-like views, actorTree
std::span<const Command> lockCommands();         ///< lockInfo
std::span<const Command> insertCommands();
std::span<const Command> findCommands();    ///< find, getMore, killCursors, count, distinct
std::span<const Command> updateCommands();  ///< update, delete, findAndModify
std::span<const Command> bulkWriteCommands();
std::span<const Command> aggregateCommands();
std::span<const Command> explainCommands();
std::span<const Command> planCacheCommands();           ///< planCacheSetFilter, planCacheClear ...
std::span<const Command> actorCommands();               ///< actorDetails, transitionLog, controlActor
std::span<const Command> collectionCommands();          ///< create, drop, dropDatabase, listDatabases, listCollections
std::span<const Command> indexCommands();               ///< createIndexes, listIndexes, dropIndexes
std::span<const Command> searchIndexCommands();         ///< createSearchIndexes, updateSearchIndex, dropSearchIndex
std::span<const Command> modificationCommands();        ///< collMod
std::span<const Command> statisticsCommands();          ///< collStats, dbStats, dataSize, validate
std::span<const Command> userCommands();                ///< createUser, updateUser, dropUser, grants
std::span<const Command> roleCommands();                ///< createRole, updateRole, dropRole, grants
std::span<const Command> userInfoCommands();            ///< usersInfo, rolesInfo
std::span<const Command> loginCommands();               ///< saslStart, saslContinue, logout, authenticate
std::span<const Command> sessionCommands();             ///< startSession, refreshSessions, endSessions
std::span<const Command> sessionKillCommands();         ///< killSessions, killAllSessions, killAllSessionsByPattern
std::span<const Command> sessionInfoCommands();         ///< sessionInfo, refreshLogicalSessionCacheNow ...
std::span<const Command> replicationCommands();         ///< replSetGetStatus, replSetGetConfig, replSetInitiate
std::span<const Command> memberMessageCommands();       ///< replSetRequestVotes, replSetHeartbeat
std::span<const Command> administrationCommands();      ///< shutdown, logRotate, currentOp ...
std::span<const Command> fsyncCommands();               ///< fsync, fsyncUnlock
std::span<const Command> reindexCommands();             ///< reIndex
std::span<const Command> profileCommands();             ///< profile
std::span<const Command> renameCommands();              ///< renameCollection
std::span<const Command> cappingCommands();             ///< convertToCapped, cloneCollectionAsCapped
std::span<const Command> compactionCommands();          ///< compact, autoCompact
std::span<const Command> databaseHashCommands();        ///< dbHash
std::span<const Command> diagnosticCommands();          ///< top, connPoolStats ...
std::span<const Command> defaultConcernCommands();      ///< setDefaultRWConcern, getDefaultRWConcern
std::span<const Command> metadataValidationCommands();  ///< validateDBMetadata
std::span<const Command> linkCommands();                ///< linkPing, linkRun

}  // namespace troupe::commands
