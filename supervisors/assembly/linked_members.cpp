#include "supervisors/assembly/linked_members.hpp"

#include <algorithm>
#include <utility>

#include "actors/transport/run_command.hpp"
#include "messaging/errors/co_status.hpp"

namespace troupe::supervisors {

namespace {

using replication::NodeName;
using replication::RemoteDocuments;

/// Of one batch, about: so that several are on the way for any credit.
constexpr size_t kBatchesInCredit = 4;

class CursorDocuments final : public RemoteDocuments {
 public:
  explicit CursorDocuments(std::unique_ptr<transport::RemoteCursor> cursor) : cursor_(std::move(cursor)) {}
  Task<StatusWith<std::vector<bson::View>>> next() override { return cursor_->next(); }
  bson::View resumeToken() const override { return cursor_->resumeToken(); }

 private:
  std::unique_ptr<transport::RemoteCursor> cursor_;
};

class LinkedMembers final : public replication::RemoteMembers {
 public:
  explicit LinkedMembers(Node& node) : node_(node) {}

  Task<StatusWith<bson::Document>> run(NodeName member, std::string database, bson::Document command,
                                       Duration timeout) override {
    transport::CommandOptions options;
    options.timeout = timeout;
    TROUPE_CO_ASSIGN(const auto reply, co_await transport::runCommand(node_, std::move(member), std::move(database),
                                                                      std::move(command), std::move(options)));
    co_return bson::Document(reply.document());
  }

  Task<StatusWith<std::unique_ptr<RemoteDocuments>>> read(NodeName member, std::string database, bson::Document command,
                                                          size_t credit) override {
    transport::CursorOptions options;
    options.credit = credit;
    options.batchBytes = std::max<size_t>(credit / kBatchesInCredit, 1);
    TROUPE_CO_ASSIGN(auto cursor, co_await transport::RemoteCursor::open(node_, std::move(member), std::move(database),
                                                                         std::move(command), std::move(options)));
    co_return std::unique_ptr<RemoteDocuments>(std::make_unique<CursorDocuments>(std::move(cursor)));
  }

 private:
  Node& node_;
};

}  // namespace

std::unique_ptr<replication::RemoteMembers> linkedMembers(Node& node) { return std::make_unique<LinkedMembers>(node); }

}  // namespace troupe::supervisors
