#pragma once
#include <memory>
#include <string>
#include <vector>

#include "actors/replication/remote_members.hpp"
#include "messaging/bson/json.hpp"

namespace troupe::replication {

/// A log of another member, oldest entry first, which it sends backwards in batches of two.
class OtherLog final : public RemoteMembers {
 public:
  Task<StatusWith<bson::Document>> run(NodeName, std::string, bson::Document, Duration) override {
    co_return Status(ErrorCode::kCommandNotFound, "no command is expected");
  }
  Task<StatusWith<std::unique_ptr<RemoteDocuments>>> read(NodeName member, std::string database, bson::Document command,
                                                          size_t) override {
    asked.push_back(member + " " + database + " " + bson::toRelaxedJson(command));
    if (!failure.isOK()) co_return failure;
    co_return std::unique_ptr<RemoteDocuments>(std::make_unique<Backwards>(*this));
  }

  std::vector<bson::Document> entries;
  std::vector<std::string> asked;
  Status failure;

 private:
  class Backwards final : public RemoteDocuments {
   public:
    explicit Backwards(const OtherLog& log) : log_(log), left_(log.entries.size()) {}
    Task<StatusWith<std::vector<bson::View>>> next() override {
      std::vector<bson::View> batch;
      while (left_ > 0 && batch.size() < 2) batch.push_back(log_.entries[--left_]);
      co_return batch;
    }

   private:
    const OtherLog& log_;
    size_t left_;
  };
};

}  // namespace troupe::replication
