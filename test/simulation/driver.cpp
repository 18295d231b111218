#include "test/simulation/driver.hpp"

#include <algorithm>
#include <iterator>

#include "messaging/bson/ids.hpp"
#include "messaging/wire/client.hpp"

namespace troupe::sim {

using checkers::Outcome;

namespace {

constexpr Duration kSelectionTime = std::chrono::seconds(30);
constexpr Duration kPauseBetweenGreetings = std::chrono::milliseconds(500);

/// The errors that a well-formed command may meet, and what each says of its effect. Others must not come.
struct Meaning {
  ErrorCode code;
  Outcome outcome;
};
constexpr Meaning kMeanings[] = {{ErrorCode::kDuplicateKey, Outcome::kFailed},
                                 {ErrorCode::kNamespaceExists, Outcome::kFailed},
                                 {ErrorCode::kOutOfDiskSpace, Outcome::kFailed},
                                 {ErrorCode::kNotWritablePrimary, Outcome::kFailed},
                                 {ErrorCode::kNotPrimaryNoSecondaryOk, Outcome::kFailed},
                                 {ErrorCode::kNotPrimaryOrSecondary, Outcome::kFailed},
                                 {ErrorCode::kPrimarySteppedDown, Outcome::kUnknown},
                                 {ErrorCode::kInterruptedDueToReplStateChange, Outcome::kUnknown},
                                 {ErrorCode::kInterruptedAtShutdown, Outcome::kUnknown},
                                 {ErrorCode::kShutdownInProgress, Outcome::kUnknown},
                                 {ErrorCode::kIncompleteTransactionHistory, Outcome::kUnknown},
                                 {ErrorCode::kWriteConcernFailed, Outcome::kUnknown}};

/// After these errors a driver does not know its server any more, and selects anew.
constexpr ErrorCode kStateChanges[] = {
    ErrorCode::kNotWritablePrimary, ErrorCode::kNotPrimaryNoSecondaryOk,         ErrorCode::kNotPrimaryOrSecondary,
    ErrorCode::kPrimarySteppedDown, ErrorCode::kInterruptedDueToReplStateChange, ErrorCode::kInterruptedAtShutdown,
    ErrorCode::kShutdownInProgress};

bool isStateChange(const Status& status) {
  return std::any_of(std::begin(kStateChanges), std::end(kStateChanges),
                     [&](ErrorCode code) { return status == code; });
}

Status failureIn(bson::View error) {
  return {static_cast<ErrorCode>(error["code"].toInt64()), std::string(error["errmsg"].toStringOr())};
}

/// A disk that fails to flush may be the cause, too.
Status failureOf(bson::View writeConcern) {
  const Status failure = failureIn(writeConcern);
  if (isStateChange(failure)) return failure;
  return {ErrorCode::kWriteConcernFailed, failure.toString()};
}

bool wasCarriedOut(bson::View body) { return wire::replyStatus(body).isOK() && !body.has("writeErrors"); }

/// What the reply says of the command's effect. A write whose concern fails was carried out, and may be rolled back.
DriverReply judge(bson::Document body) {
  DriverReply reply;
  reply.status = wire::replyStatus(body);
  const auto errors = body["writeErrors"], concern = body["writeConcernError"];
  const bool mayBeLost = wasCarriedOut(body) && concern.is(bson::Type::kDocument);
  if (mayBeLost) reply.status = failureOf(concern.asDocument());
  if (reply.status.isOK() && errors.is(bson::Type::kArray))
    reply.status = failureIn(errors.asArray().first().asDocument());
  if (reply.status.isOK()) {
    reply.outcome = Outcome::kOk;
  } else {
    const auto meaning = std::find_if(std::begin(kMeanings), std::end(kMeanings),
                                      [&](const Meaning& one) { return reply.status == one.code; });
    reply.isExplained = meaning != std::end(kMeanings);
    if (reply.isExplained && !mayBeLost) reply.outcome = meaning->outcome;
  }
  reply.mayPass = isStateChange(reply.status);
  reply.body = std::move(body);
  return reply;
}

}  // namespace

Task<DriverReply> Driver::run(std::string database, bson::Document command, Retry retry) {
  if (retry >= Retry::kNumbered) command = lastNumbered_ = numbered(command);
  const int most = retry == Retry::kOnce ? 1 : retry == Retry::kNumbered ? kMostRetries : 0;
  DriverReply reply = co_await attempt(std::move(database), std::move(command), most);
  if (listener_) listener_(reply);
  co_return reply;
}

Task<DriverReply> Driver::repeat(std::string database) {
  DriverReply reply = co_await attempt(std::move(database), lastNumbered_, kMostRetries);
  if (listener_) listener_(reply);
  co_return reply;
}

bson::Document Driver::numbered(const bson::Document& command) {
  if (session_.empty())
    session_ = bson::doc("id", bson::randomUuid([this] { return machine_.environment().random(); }));
  bson::Builder sent;
  sent.appendAll(command).append("lsid", session_).append("txnNumber", ++lastNumber_);
  return sent.finish();
}

Task<DriverReply> Driver::attempt(std::string database, bson::Document command, int mostRetries) {
  DriverReply before;  // what is known of the attempts so far
  for (int attempt = 0;; ++attempt) {
    before.status = co_await select();
    const bool isUncertain = before.followsUnanswered || !before.earlier.empty();
    if (!before.status.isOK()) {
      if (!isUncertain) before.outcome = Outcome::kFailed;  // nothing was sent that could be carried out
      before.isExplained = false;                           // no fault lasts as long
      co_return before;
    }
    auto body = co_await exchange(database, command);
    if (!body.isOK()) {
      drop();
      before.status = body.status();
      before.mayPass = true;
      if (attempt >= mostRetries) co_return before;
      before.followsUnanswered = true;
      continue;
    }
    DriverReply reply = judge(std::move(*body));
    reply.connection = connections_;
    if (reply.mayPass) drop();
    if (attempt >= mostRetries || !reply.mayPass) {
      if ((reply.mayPass || reply.hasNoRoom()) && isUncertain && reply.outcome == Outcome::kFailed)
        reply.outcome = Outcome::kUnknown;
      reply.earlier = std::move(before.earlier);
      reply.followsUnanswered = before.followsUnanswered;
      co_return reply;
    }
    if (wasCarriedOut(reply.body)) before.earlier.push_back(std::move(reply.body));
    else before.followsUnanswered |= reply.outcome == Outcome::kUnknown;
  }
}

Task<Status> Driver::select() {
  if (transport_) co_return Status::OK();
  const TimePoint end = now() + kSelectionTime;
  const bson::Document hello = bson::doc("hello", 1);
  while (now() < end) {
    const size_t first = preference_ == Preference::kNearest ? machine_.environment().random() % servers_.size() : 0;
    for (size_t i = 0; i < servers_.size(); ++i) {
      server_ = servers_[(first + i) % servers_.size()];
      auto connecting = streams_.connect(machine_, server_);
      auto opened = co_await connecting.outcome;
      if (!opened.isOK()) continue;
      transport_ = std::move(*opened);
      reader_ = std::make_shared<wire::FrameReader>();
      const auto greeting = co_await exchange("admin", hello);
      if (greeting.isOK() && isWanted(*greeting)) {
        ++connections_;
        co_return Status::OK();
      }
      drop();
    }
    co_await machine_.sleepFor(kPauseBetweenGreetings);
  }
  co_return Status(ErrorCode::kFailedToSatisfyReadPreference, "no server is what is wanted");
}

bool Driver::isWanted(bson::View hello) const {
  const bool isSecondary = preference_ == Preference::kNearest && hello["secondary"].truthy();
  return isSecondary || hello["isWritablePrimary"].truthy();
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
