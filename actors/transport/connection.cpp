#include "actors/transport/connection.hpp"

#include <chrono>
#include <utility>

#include "actors/kernel/node.hpp"
#include "actors/server/execution.hpp"
#include "actors/transport/links.hpp"
#include "messaging/log/log.hpp"
#include "messaging/wire/request.hpp"

namespace troupe::transport {

using server::Request;

Connection::Connection(std::shared_ptr<Transport> transport, std::shared_ptr<server::Client> client,
                       server::ServerContext& server, server::ConnectionGate::Place place)
    : transport_(std::move(transport)),
      client_(std::move(client)),
      server_(server),
      place_(std::move(place)),
      memory_(server.messages) {
  client_->watchPeer = [this](Duration every) { watchPeer(every); };
  client_->isPeerGone = [this] { return transport_->isPeerGone(); };
}

Connection::~Connection() {
  client_->watchPeer = nullptr;
  client_->isPeerGone = nullptr;
  if (transport_) transport_->close();
  server_.clients.remove(client_->connectionId);
}

void Connection::onStart() {
  setPhase("idle", "waiting for the client's next request");
  start(serve());
}

void Connection::onStopRequested() {
  client_->closing = true;
  if (!busy_) stop();
}

bson::Document Connection::describe() const {
  return bson::doc("connectionId", client_->connectionId, "remote", client_->remote, "encrypted", client_->encrypted,
                   "requests", requests_, "users", client_->userNames(), "bufferBytes",
                   static_cast<int64_t>(reader_->capacity()), "metadata", client_->metadata());
}

Task<void> Connection::serve() {
  bool open = true;
  while (open && !client_->closing) {
    if (isLink()) {
      handOver();
      break;
    }
    reader_->setLimit(largestMessage());
    auto frame = reader_->next();
    if (!frame.isOK()) {
      logClosing(frame.status());
      break;
    }
    if (!frame->empty() && client_->mustLink) {
      server_.gate.refused(server::ConnectionRefusal::kTooMany);
      break;
    }
    if (!frame->empty()) {
      if (client_->awaitedSince.load(std::memory_order_relaxed) != server::Client::kNotAwaited)
        client_->awaitedSince = server::Client::kNotAwaited;
      busy_ = true;
      open = co_await answer(*frame);
      busy_ = false;
      continue;
    }
    if (const Status room = prepareToRead(); !room.isOK()) {
      logClosing(room);
      break;
    }
    const auto n = co_await transport_->read(reader_);
    if (!n.isOK()) break;
    server_.counters.bytesIn.fetch_add(static_cast<int64_t>(*n), std::memory_order_relaxed);
  }
  stop();
}

int32_t Connection::largestMessage() const {
  if (server::isTrusted(server_, *client_)) return wire::kMaxMessageSize;
  return static_cast<int32_t>(server_.parameters.preAuthMaximumMessageSizeBytes.load(std::memory_order_relaxed));
}

Status Connection::prepareToRead() {
  const bool trusted = server::isTrusted(server_, *client_);
  const bool isAwaited = requests_ == 0 || (!trusted && reader_->buffered() > 0);
  const bool wasAwaited = client_->awaitedSince.load(std::memory_order_relaxed) != server::Client::kNotAwaited;
  if (isAwaited != wasAwaited) client_->awaitedSince = isAwaited ? environment().now() : server::Client::kNotAwaited;
  const size_t capacity = reader_->capacityToRead();
  const size_t counted = capacity > wire::FrameReader::kIdleSize ? capacity : 0;
  return memory_.resize(static_cast<int64_t>(counted), trusted);
}

void Connection::logClosing(const Status& why) {
  server_.log.info(log::Component::kNetwork, 20001, "conn" + std::to_string(client_->connectionId),
                   "Closing a connection that breaks the protocol",
                   bson::doc("remote", client_->remote, "reason", why.reason()));
}

bool Connection::isLink() const { return requests_ == 0 && reader_->peek().starts_with(link::kMagic); }

void Connection::handOver() {
  const Address links = node().address(link::kLinksPath);
  tell(links, local(link::IncomingConnection{std::move(transport_), std::string(reader_->peek()), client_->remote,
                                             client_->fromLoopback, std::move(place_)}));
  transport_.reset();
}

Task<bool> Connection::answer(std::string_view frame) {
  ++requests_;
  server_.counters.requests.fetch_add(1, std::memory_order_relaxed);
  auto request = wire::parseRequest(frame, largestMessage());
  if (!request.isOK()) {
    std::string reply;
    const bool open = refuse(frame, request.status(), reply);
    if (!open || reply.empty()) co_return open;
    co_return co_await send(std::move(reply));
  }
  co_return co_await runRequest(std::move(*request));
}

bool Connection::refuse(std::string_view frame, const Status& why, std::string& reply) {
  if (wire::closesConnection(why.code())) {
    logClosing(why);
    return false;
  }
  wire::MessageBuilder message;
  server::writeError(message, why);
  reply = wire::replyToMalformed(frame, std::move(message), nextReply_++);
  return true;
}

Task<bool> Connection::runRequest(wire::Request wire) {
  int32_t inReplyTo = 0;
  bson::Document next;  // owns the body of an exhaust stream's later rounds
  for (;;) {
    server::Execution execution(wire, server_, *client_);
    Request& request = execution.request;
    co_await execution.run();
    if (watch_) cancelTimer(*std::exchange(watch_, std::nullopt));
    if (request.dropReply) co_return false;
    if (!wire.expectsReply()) co_return !client_->closing;
    const int32_t id = nextReply_++;
    const bool streaming = request.streamOn && wire.has(wire::kExhaustAllowed);
    const bool sent = co_await send(
        wire.reply(std::move(request.message()), id, streaming ? uint32_t{wire::kMoreToCome} : 0, inReplyTo));
    if (!sent || !streaming || client_->closing) co_return sent && !client_->closing;
    next = std::move(*request.streamOn);
    wire.body = next;
    inReplyTo = id;
  }
}

void Connection::watchPeer(Duration period) {
  if (watch_) return;
  watch_ = every(period, [this] {
    if (!transport_->isPeerGone()) return;
    client_->withOperation([](storage::OperationContext& operation) { operation.kill(ErrorCode::kHostUnreachable); });
  });
}

Task<bool> Connection::send(std::string bytes) {
  server_.counters.bytesOut.fetch_add(static_cast<int64_t>(bytes.size()), std::memory_order_relaxed);
  const auto written = transport_->writeNow(bytes);
  if (!written.isOK()) co_return false;
  if (*written == bytes.size()) co_return true;
  auto rest = std::make_shared<const std::string>(std::move(bytes));
  co_return (co_await transport_->write(rest, *written)).isOK();
}

}  // namespace troupe::transport
