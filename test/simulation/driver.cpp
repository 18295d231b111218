#include "test/simulation/driver.hpp"

#include "messaging/wire/client.hpp"

namespace troupe::sim {

using checkers::Outcome;

namespace {

constexpr Duration kSelectionTime = std::chrono::seconds(30);
constexpr Duration kPauseBetweenGreetings = std::chrono::milliseconds(500);

/// What the reply says of the command's effect. Most errors leave it open whether something was written before them.
DriverReply judge(bson::Document body) {
  DriverReply reply;
  reply.status = wire::replyStatus(body);
  const auto errors = body["writeErrors"];
  if (reply.status.isOK() && errors.is(bson::Type::kArray)) {
    const bson::View first = errors.asArray().first().asDocument();
    reply.status = Status(static_cast<ErrorCode>(first["code"].toInt64()), std::string(first["errmsg"].toStringOr()));
  }
  if (reply.status.isOK() && body.view().has("writeConcernError"))
    reply.status = Status(ErrorCode::kWriteConcernFailed, "the write may be lost");
  const bool hadNoEffect = reply.status == ErrorCode::kDuplicateKey || reply.status == ErrorCode::kNotWritablePrimary;
  reply.outcome = reply.status.isOK() ? Outcome::kOk : hadNoEffect ? Outcome::kFailed : Outcome::kUnknown;
  reply.body = std::move(body);
  return reply;
}

}  // namespace

Task<DriverReply> Driver::run(std::string database, bson::Document command, Retry retry) {
  DriverReply lost;
  for (int attempt = 0;; ++attempt) {
    lost.status = co_await select();
    if (!lost.status.isOK()) {
      if (attempt == 0) lost.outcome = Outcome::kFailed;  // nothing was sent
      co_return lost;
    }
    auto body = co_await exchange(database, command);
    if (body.isOK()) co_return judge(std::move(*body));
    drop();
    lost.status = body.status();
    if (retry == Retry::kNever || attempt > 0) co_return lost;
  }
}

Task<Status> Driver::select() {
  if (transport_) co_return Status::OK();
  const TimePoint end = now() + kSelectionTime;
  const bson::Document hello = bson::doc("hello", 1);
  while (now() < end) {
    for (size_t i = 0; i < servers_.size(); ++i) {
      auto connecting = streams_.connect(machine_, servers_[i]);
      auto opened = co_await connecting.outcome;
      if (!opened.isOK()) continue;
      transport_ = std::move(*opened);
      reader_ = std::make_shared<wire::FrameReader>();
      const auto greeting = co_await exchange("admin", hello);
      if (greeting.isOK() && (*greeting)["isWritablePrimary"].truthy()) co_return Status::OK();
      drop();
    }
    co_await machine_.sleepFor(kPauseBetweenGreetings);
  }
  co_return Status(ErrorCode::kFailedToSatisfyReadPreference, "no server takes writes");
}

Task<StatusWith<bson::Document>> Driver::exchange(std::string database, bson::Document command) {
  const int32_t id = ++lastRequest_;
  auto bytes = std::make_shared<const std::string>(wire::buildRequest(id, database, command));
  const auto written = transport_->writeNow(*bytes);
  if (!written.isOK()) co_return written.status();
  if (*written < bytes->size()) {
    const Status rest = co_await transport_->write(bytes, *written);
    if (!rest.isOK()) co_return rest;
  }
  for (;;) {
    const auto frame = reader_->next();
    if (!frame.isOK()) co_return frame.status();
    if (!frame->empty()) {
      const auto body = wire::parseReply(*frame, id);
      if (!body.isOK()) co_return body.status();
      co_return bson::Document(*body);
    }
    const auto n = co_await transport_->read(reader_);
    if (!n.isOK()) co_return n.status();
  }
}

}  // namespace troupe::sim
