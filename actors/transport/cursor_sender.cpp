#include "actors/transport/cursor_sender.hpp"

#include <algorithm>

namespace troupe::transport {

namespace {
constexpr auto kLookForReader = std::chrono::seconds(10);
}

CursorSender::Cursor::Cursor(int64_t id, std::string_view ns, bson::View command) : id(id) {
  const size_t dot = ns.find('.');
  database = ns.substr(0, dot);
  if (dot != ns.npos) collection = ns.substr(dot + 1);
  if (const auto lsid = command["lsid"]; lsid.isObjectLike()) session = bson::Document(lsid.asDocument());
}

CursorSender::CursorSender(std::shared_ptr<RemoteCommand> opened, Cursor cursor)
    : opened_(std::move(opened)), cursor_(std::move(cursor)) {}

Behaviour CursorSender::behaviour() {
  return {on<schema::NextBatch>([this](Received<schema::NextBatch> wanted, Context context) {
    const AskOrigin* origin = context.envelope().reply.origin();
    if ((origin ? origin->link.path() : "") != opened_->key.first)
      return context.fail({ErrorCode::kUnauthorized, "the cursor was opened over another link"});
    usedAt_ = environment().now();
    if (grants_.size() >= kMostGrants)
      return context.fail({ErrorCode::kExceededMemoryLimit, "the cursor has been granted as many batches as it takes"});
    grants_.push_back({wanted.read()->getBytes(), std::move(context)});
    if (!std::exchange(sending_, true)) start(send());
  })};
}

void CursorSender::onStart() {
  setPhase("open", "makes a batch for each grant of its reader");
  usedAt_ = environment().now();
  every(kLookForReader, [this] {
    const auto patience = std::chrono::milliseconds(opened_->server.parameters.cursorTimeoutMillis);
    if (!sending_ && environment().now() > usedAt_ + patience) stop();
  });
}

void CursorSender::onStop(const Status&) {
  opened_->server.cursors.kill(cursor_.id);
  opened_.reset();
}

Task<void> CursorSender::send() {
  while (!grants_.empty()) {
    auto reply = co_await nextBatch(grants_.front().bytes);
    usedAt_ = environment().now();
    Context asker = std::move(grants_.front().asker);
    grants_.pop_front();
    if (!reply.isOK()) {
      asker.fail(reply.status());
      stop();
      co_return;
    }
    ++batches_;
    bytes_ += static_cast<int64_t>(reply->bytes.size());
    const bson::Element cursor = reply->document.view()["cursor"];
    const bool more = cursor.isObjectLike() && cursor.asDocument()["id"].toInt64() != 0;
    asker.reply(replyPayload<schema::CommandReply>(std::move(*reply), [](auto) {}));
    if (!more) {
      stop();
      co_return;
    }
  }
  sending_ = false;
}

Task<StatusWith<RemoteReply>> CursorSender::nextBatch(size_t bytes) {
  bson::Builder command;
  command.append("getMore", cursor_.id).append("collection", cursor_.collection);
  if (!cursor_.session.empty()) command.append("lsid", cursor_.session);
  bson::Document document = command.finish();
  co_return co_await execute(opened_, cursor_.database, std::move(document), kNoDeadline, std::max<size_t>(bytes, 1));
}

bson::Document CursorSender::describe() const {
  return bson::doc("cursor", cursor_.id, "ns", cursor_.database + "." + cursor_.collection, "reader",
                   opened_ ? opened_->client->remote : std::string(), "granted", static_cast<int64_t>(grants_.size()),
                   "batches", batches_, "bytes", bytes_);
}

}  // namespace troupe::transport
