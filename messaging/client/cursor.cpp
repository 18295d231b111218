#include "messaging/client/cursor.hpp"

#include <utility>

namespace troupe::client {

Cursor::Cursor(Cursor&& other) noexcept
    : connection_(other.connection_),
      database_(std::move(other.database_)),
      collection_(std::move(other.collection_)),
      id_(std::exchange(other.id_, 0)),
      batchSize_(other.batchSize_),
      reply_(std::move(other.reply_)),
      batch_(other.batch_),
      at_(other.at_) {}

Cursor::~Cursor() {
  if (id_ == 0 || !connection_->isOpen()) return;
  const int64_t ids[] = {id_};
  // The server ends idle cursors by itself: a failure here is of no consequence.
  (void)connection_->run(database_, bson::doc("killCursors", collection_, "cursors", bson::array(ids[0])));
}

StatusWith<Cursor> Cursor::open(Connection& connection, std::string_view database, bson::View command) {
  Cursor cursor(connection, std::string(database));
  TROUPE_ASSIGN(auto reply, connection.run(database, command));
  const auto info = reply["cursor"];
  if (!info.is(bson::Type::kDocument) || !info.asDocument()["firstBatch"].is(bson::Type::kArray))
    return {ErrorCode::kFailedToParse, "the answer to " + std::string(command.first().name()) + " has no cursor"};
  // The namespace is "database.collection", where the collection may contain dots.
  const auto ns = info.asDocument()["ns"].toStringOr();
  const auto dot = ns.find('.');
  if (dot != std::string_view::npos) cursor.collection_ = ns.substr(dot + 1);
  const auto options = command["cursor"];
  cursor.batchSize_ =
      options.is(bson::Type::kDocument) ? options.asDocument()["batchSize"].toInt64() : command["batchSize"].toInt64();
  TROUPE_TRY(cursor.take(std::move(reply), "firstBatch"));
  return cursor;
}

Status Cursor::take(bson::Document reply, std::string_view batchName) {
  reply_ = std::move(reply);
  const auto info = reply_["cursor"];
  if (!info.is(bson::Type::kDocument) || !info.asDocument()[batchName].is(bson::Type::kArray))
    return {ErrorCode::kFailedToParse, "the answer has no cursor." + std::string(batchName)};
  id_ = info.asDocument()["id"].toInt64();
  batch_ = info.asDocument()[batchName].asArray();
  at_ = batch_.begin();
  return {};
}

StatusWith<std::optional<bson::View>> Cursor::next() {
  while (at_ == batch_.end()) {
    if (id_ == 0) return std::optional<bson::View>();
    bson::Builder command;
    command.append("getMore", id_).append("collection", collection_);
    if (batchSize_ > 0) command.append("batchSize", batchSize_);
    auto reply = connection_->run(database_, command.finish());
    if (!reply.isOK()) {
      id_ = 0;
      return reply.status();
    }
    TROUPE_TRY(take(std::move(reply).value(), "nextBatch"));
  }
  const bson::Element element = *at_;
  ++at_;
  if (!element.is(bson::Type::kDocument))
    return {ErrorCode::kFailedToParse, "the cursor gave something that is not a document"};
  return std::optional<bson::View>(element.asDocument());
}

}  // namespace troupe::client
