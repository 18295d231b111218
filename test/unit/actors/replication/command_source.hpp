#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "actors/replication/remote_members.hpp"
#include "test/unit/actors/commands/command_node.hpp"

namespace troupe::replication::test {

/// A whole node as another one's source: its commands are those of the real table, its cursors those of clients. What
/// it is asked comes back in a later turn of the asking node, as over a link. For one thread.
class CommandSource final : public RemoteMembers {
 public:
  CommandSource(commands::CommandNode& source, Node& asker) : source_(&source), asker_(&asker) {}

  bool answers = true;     ///< commands; else it has died a moment ago
  int64_t rollbackId = 0;  ///< shown in place of the source's own, unless `showsItsOwnId`
  bool showsItsOwnId = false;
  int32_t batchSize = 3;        ///< documents of a batch
  std::deque<Status> failures;  ///< of the next commands and batches that `hits`, in their order
  std::function<bool(bson::View command)> hits = [](bson::View) { return true; };
  std::vector<std::string> asked;   ///< the names of the commands
  std::vector<std::string> listed;  ///< the databases whose collections were asked for
  std::function<void(bson::View command)> before;

  void askedBy(Node& asker) { asker_ = &asker; }
  /// The source has been killed, and this is its next life.
  void startedAgain(commands::CommandNode& source) { source_ = &source; }

  Task<StatusWith<bson::Document>> run(NodeName, std::string database, bson::Document command, Duration) override {
    co_await asker_->nextTurn();
    if (!answers) co_return Status(ErrorCode::kHostUnreachable, "nobody answers");
    if (!showsItsOwnId && command["find"].toStringOr() == "system.rollback.id") {
      if (before) before(command);
      std::vector<bson::Document> found{bson::doc("_id", "rollbackId", "rollbackId", rollbackId)};
      co_return bson::doc("cursor", bson::doc("firstBatch", found), "ok", 1.0);
    }
    co_return runThere(database, command, command);
  }
  Task<StatusWith<std::unique_ptr<RemoteDocuments>>> read(NodeName, std::string database, bson::Document command,
                                                          size_t) override;

 private:
  class Pages;

  StatusWith<bson::Document> runThere(const std::string& database, const bson::Document& command, bson::View about) {
    asked.emplace_back(command.view().first().name());
    if (asked.back() == "listCollections") listed.push_back(database);
    if (before) before(about);
    if (!failures.empty() && hits(about)) {
      const Status failure = failures.front();
      failures.pop_front();
      if (!failure.isOK()) return failure;
    }
    bson::Document reply = source_->run(command, database);
    if (reply["ok"].truthy()) return reply;
    return Status(static_cast<ErrorCode>(reply["code"].toInt64(1)), std::string(reply["errmsg"].toStringOr()));
  }

  commands::CommandNode* source_;
  Node* asker_;
};

class CommandSource::Pages final : public RemoteDocuments {
 public:
  Pages(CommandSource& of, std::string database, bson::Document command, bson::Document first)
      : of_(of),
        database_(std::move(database)),
        command_(std::move(command)),
        tails_(command_["tailable"].truthy()),
        page_(std::move(first)) {
    const std::string ns(page_.view().at("cursor.ns").toStringOr());
    collection_ = ns.substr(ns.find('.') + 1);
    id_ = page_.view().at("cursor.id").toInt64();
  }
  Task<StatusWith<std::vector<bson::View>>> next() override {
    co_await of_.asker_->sleepFor(std::chrono::milliseconds(tails_ ? 20 : 1));
    if (std::exchange(isFirst_, false)) co_return documents("cursor.firstBatch");
    if (id_ == 0) co_return std::vector<bson::View>();
    bson::Builder more;
    more.append("getMore", id_).append("collection", collection_).append("batchSize", of_.batchSize);
    if (tails_) more.append("maxTimeMS", 1);
    auto reply = of_.runThere(database_, more.finish(), command_);
    if (!reply.isOK()) co_return reply.status();
    page_ = std::move(*reply);
    id_ = page_.view().at("cursor.id").toInt64();
    co_return documents("cursor.nextBatch");
  }
  bson::View resumeToken() const override {
    const bson::Element token = page_.view().at("cursor.postBatchResumeToken");
    return token.is(bson::Type::kDocument) ? token.asDocument() : bson::View();
  }

 private:
  std::vector<bson::View> documents(std::string_view where) const {
    std::vector<bson::View> all;
    for (const bson::Element& each : page_.view().at(where).asArray()) all.push_back(each.asDocument());
    return all;
  }

  CommandSource& of_;
  const std::string database_;
  const bson::Document command_;
  const bool tails_;
  bson::Document page_;
  std::string collection_;
  int64_t id_ = 0;
  bool isFirst_ = true;
};

inline Task<StatusWith<std::unique_ptr<RemoteDocuments>>> CommandSource::read(NodeName, std::string database,
                                                                              bson::Document command, size_t) {
  co_await asker_->nextTurn();
  bson::Builder paged;
  paged.appendAll(command);
  if (command["find"].ok()) paged.append("batchSize", batchSize);
  else paged.append("cursor", bson::doc("batchSize", batchSize));
  auto first = runThere(database, paged.finish(), command);
  if (!first.isOK()) co_return first.status();
  std::unique_ptr<RemoteDocuments> pages =
      std::make_unique<Pages>(*this, std::move(database), std::move(command), std::move(*first));
  co_return pages;
}

}  // namespace troupe::replication::test
