#include "messaging/client/bulk_insert.hpp"

#include <utility>

namespace troupe::client {

BulkInsert::BulkInsert(Connection& connection, std::string_view database, std::string_view collection,
                       const Options& options)
    : connection_(connection),
      database_(database),
      command_(bson::doc("insert", collection, "ordered", options.ordered)),
      options_(options) {}

Status BulkInsert::add(bson::View document) {
  // A message has room for 48 MB: a large document never joins a batch that is already large.
  if (count_ > 0 && bytes_.size() + document.size() > options_.batchBytes + static_cast<size_t>(bson::kMaxDocumentSize))
    TROUPE_TRY(flush());
  bytes_.append(document.bytes());
  ++count_;
  ++added_;
  return count_ >= options_.batchDocuments || bytes_.size() >= options_.batchBytes ? flush() : Status::OK();
}

Status BulkInsert::flush() {
  if (count_ == 0) return {};
  const wire::DocumentSequence documents[] = {{"documents", {bytes_, static_cast<size_t>(count_)}}};
  const auto reply = connection_.runBorrowed(database_, command_, documents);
  const int64_t first = added_ - count_;
  count_ = 0;
  bytes_.clear();
  if (!reply.isOK()) return reply.status();
  inserted_ += (*reply)["n"].toInt64();
  for (auto& error : writeErrorsOf(*reply, first)) errors_.push_back(std::move(error));
  return {};
}

std::vector<WriteError> BulkInsert::takeErrors() { return std::exchange(errors_, {}); }

std::vector<WriteError> writeErrorsOf(bson::View reply, int64_t offset) {
  std::vector<WriteError> errors;
  const auto list = reply["writeErrors"];
  if (!list.is(bson::Type::kArray)) return errors;
  for (const auto& item : list.asArray()) {
    if (!item.is(bson::Type::kDocument)) continue;
    const auto error = item.asDocument();
    errors.push_back({offset + error["index"].toInt64(),
                      Status(ErrorCode(error["code"].toInt64()), std::string(error["errmsg"].toStringOr()))});
  }
  return errors;
}

}  // namespace troupe::client
