#include "storage/oplog/oplog_batches.hpp"

#include <utility>
#include <variant>

#include "storage/oplog/logged_command.hpp"

namespace troupe::storage {

namespace {

constexpr size_t kMostEntries = 1000;
constexpr size_t kMostBytes = size_t{8} << 20;

}  // namespace

StatusWith<std::vector<bson::Document>> OplogBatches::next() {
  RecoveryUnit& unit = operation_.recoveryUnit();
  std::vector<bson::Document> batch;
  {
    TROUPE_ASSIGN(OplogCursor cursor, log_.cursor(unit));
    TROUPE_ASSIGN(bool found, cursor.seek(last_));
    for (size_t bytes = 0; found && batch.size() < kMostEntries && bytes < kMostBytes;) {
      if (cursor.time() > last_) {
        batch.emplace_back(cursor.entry());
        last_ = cursor.time();
        bytes += batch.back().view().size();
      }
      TROUPE_ASSIGN(found, cursor.next());
    }
  }
  unit.abandonSnapshot();
  return batch;
}

Status eachOperation(const LoggedOperation& operation, const std::function<Status(const LoggedOperation&)>& use) {
  if (operation.kind != OplogKind::kCommand) return use(operation);
  TROUPE_ASSIGN(const LoggedCommand command, parseCommand(operation));
  const auto* group = std::get_if<LoggedGroup>(&command);
  if (!group) return use(operation);
  for (const bson::Document& document : group->operations) {
    TROUPE_ASSIGN(const auto one, LoggedOperation::parse(document));
    TROUPE_TRY(use(one));
  }
  return Status::OK();
}

}  // namespace troupe::storage
