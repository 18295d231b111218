// createSearchIndexes, updateSearchIndex, dropSearchIndex: refused, for there is no search engine beside this server.
#include "actors/commands/families.hpp"
#include "messaging/errors/co_status.hpp"

namespace troupe::commands {
using namespace server;

namespace {

constexpr Argument kNewSearchIndexes[] = {arrayArg("indexes")};
constexpr Argument kChangedSearchIndex[] = {stringArg("id"), stringArg("name"), documentArg("definition")};
constexpr Argument kNamedSearchIndex[] = {stringArg("id"), stringArg("name")};

/// Drivers and tools tell a deployment without search by an error that names Atlas. The answer is the same on every
/// member, so the commands have no access: nobody is sent to the primary first.
Task<Status> refuseSearchIndex(Request& request) {
  TROUPE_CO_ASSIGN(const auto ns, request.target());
  co_return Status(ErrorCode::kCommandNotSupported,
                   std::string(request.commandName()) + " on " + ns.toString() +
                       ": search indexes need Atlas Search (mongot), which this server has not: use createIndexes");
}

constexpr Command kSearchIndexCommands[] = {
    {.name = "createSearchIndexes",
     .summary = "not supported: see createIndexes",
     .requirement = {Requirement::Target::kCollection, auth::Action::kCreateIndex},
     .namesCollection = true,
     .arguments = kNewSearchIndexes,
     .run = refuseSearchIndex},
    {.name = "updateSearchIndex",
     .summary = "not supported: there are no search indexes",
     .requirement = {Requirement::Target::kCollection, auth::Action::kCreateIndex},
     .namesCollection = true,
     .arguments = kChangedSearchIndex,
     .run = refuseSearchIndex},
    {.name = "dropSearchIndex",
     .summary = "not supported: there are no search indexes",
     .requirement = {Requirement::Target::kCollection, auth::Action::kDropIndex},
     .namesCollection = true,
     .arguments = kNamedSearchIndex,
     .run = refuseSearchIndex},
};

}  // namespace

std::span<const Command> searchIndexCommands() { return kSearchIndexCommands; }

}  // namespace troupe::commands
