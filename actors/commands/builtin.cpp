#include "actors/commands/families.hpp"

namespace troupe::commands {

const CommandTable& builtinCommands() {
  static const CommandTable table{
      handshakeCommands(), informationCommands(), parameterCommands(), statusCommands(),
      insertCommands(),    findCommands(),        updateCommands(),    aggregateCommands(),
      explainCommands(),   collectionCommands(),  indexCommands(),     statisticsCommands(),
      userCommands(),      loginCommands(),       sessionCommands(),   administrationCommands(),
      replicationCommands(),
      memberMessageCommands(),
  };
  return table;
}

}  // namespace troupe::commands
