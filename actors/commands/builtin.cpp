#include <stdexcept>
#include <vector>

#include "actors/commands/extra_commands.hpp"
#include "actors/commands/families.hpp"

namespace troupe::commands {

namespace {
struct Extra {
  std::vector<Command> commands;
  bool taken = false;
};
Extra& extra() {
  static Extra extra;
  return extra;
}
}  // namespace

void addCommands(std::span<const Command> commands) {
  if (extra().taken) throw std::logic_error("the table of commands is in use: add commands before the server is made");
  extra().commands.insert(extra().commands.end(), commands.begin(), commands.end());
}

const CommandTable& builtinCommands() {
  static const CommandTable table{
      handshakeCommands(),
      informationCommands(),
      parameterCommands(),
      statusCommands(),
      insertCommands(),
      findCommands(),
      updateCommands(),
      aggregateCommands(),
      explainCommands(),
      collectionCommands(),
      indexCommands(),
      statisticsCommands(),
      userCommands(),
      loginCommands(),
      sessionCommands(),
      administrationCommands(),
      replicationCommands(),
      memberMessageCommands(),
      std::span<const Command>((extra().taken = true, extra().commands)),
  };
  return table;
}

}  // namespace troupe::commands
