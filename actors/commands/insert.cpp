// insert: adds documents to one collection.
#include "actors/commands/families.hpp"
#include "actors/commands/insert_batch.hpp"
#include "messaging/errors/co_status.hpp"

namespace troupe::commands {
using namespace server;

namespace {

constexpr Argument kInsertArguments[] = {
    arrayArg("documents"),  flagArg("ordered"),        flagArg("bypassDocumentValidation"),
    numberArg("maxTimeMS"), uuidArg("collectionUUID"),
};

Task<Status> insert(Request& request) {
  const auto ns = request.target(bypassAction(request));
  if (!ns.isOK()) co_return ns.status();
  auto documents = request.documents("documents");
  if (!documents.isOK()) co_return documents.status();
  TROUPE_CO_TRY(checkBatchSize(documents->size()));
  TROUPE_CO_TRY(checkStatementIds(request, documents->size()));
  InsertBatch batch{.documents = std::move(*documents),
                    .ordered = request.flag("ordered", true),
                    .bypassValidation = request.flag("bypassDocumentValidation")};
  InsertOutcome outcome;
  RetriedStatements retried(request);
  const Status status = co_await insertBatch(request, *ns, std::move(batch), retried, outcome);
  request.operation().metrics.inserted = outcome.inserted;
  if (!status.isOK()) co_return status;
  request.reply().append("n", static_cast<int32_t>(outcome.inserted + outcome.retried));
  outcome.errors.appendTo(request);
  retried.appendTo(request.reply());
  co_return Status::OK();
}

constexpr Command kInsertCommands[] = {
    {.name = "insert",
     .summary = "adds documents to a collection, which is made when it does not exist",
     .requirement = {Requirement::Target::kCollection, auth::Action::kInsert},
     .access = Access::kWrite,
     .stableApi = true,
     .namesCollection = true,
     .allowedInTransaction = true,
     .retryable = true,
     .arguments = kInsertArguments,
     .run = insert},
};

}  // namespace

std::span<const Command> insertCommands() { return kInsertCommands; }

}  // namespace troupe::commands
