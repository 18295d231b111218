#include "actors/commands/builtin.hpp"

#include "actors/commands/families.hpp"

namespace troupe::commands {
using namespace server;

CommandTable makeCommandTable(std::span<const Command> more) {
  return CommandTable{
      handshakeCommands(),
      informationCommands(),
      parameterCommands(),
      statusCommands(),
      lockCommands(),
      insertCommands(),
      findCommands(),
      updateCommands(),
      aggregateCommands(),
      explainCommands(),
      collectionCommands(),
      indexCommands(),
      searchIndexCommands(),
      modificationCommands(),
      statisticsCommands(),
      userCommands(),
      roleCommands(),
      userInfoCommands(),
      loginCommands(),
      sessionCommands(),
      sessionKillCommands(),
      sessionInfoCommands(),
      administrationCommands(),
      fsyncCommands(),
      reindexCommands(),
      profileCommands(),
      linkCommands(),
      replicationCommands(),
      memberMessageCommands(),
      actorCommands(),
      planCacheCommands(),
      bulkWriteCommands(),
      cappingCommands(),
      renameCommands(),
      compactionCommands(),
      databaseHashCommands(),
      diagnosticCommands(),
      defaultConcernCommands(),
      metadataValidationCommands(),
      more,
  };
}

}  // namespace troupe::commands
