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

namespace {

constexpr auto kLookAtSendingEvery = std::chrono::milliseconds(500);
/// How long a client may take nothing of an answer when its connection is to close.
constexpr std::chrono::milliseconds kSendingWhenClosing(1000);

/// Bytes of a message that have to pass within `patience`: a kilobyte a second, which is less than slow links carry.
int64_t leastProgress(std::chrono::milliseconds patience) { return patience.count(); }

}  // namespace

Connection::Connection(std::shared_ptr<Transport> transport, std::shared_ptr<server::Client> client,
                       server::ServerContext& server, server::ConnectionGate::Place place)
    : transport_(std::move(transport)),
      client_(std::move(client)),
      server_(server),
      place_(std::move(place)),
      memory_(server.messages) {
  client_->watchPeer = [this](Duration period) { watchPeer(period); };
  client_->isPeerGone = [this] { return transport_->isPeerGone(); };
  client_->reserveAnswer = [this](size_t bytes) { return reserveAnswer(bytes); };
}

Connection::~Connection() {
  client_->watchPeer = nullptr;
  client_->isPeerGone = nullptr;
  client_->reserveAnswer = nullptr;
  if (transport_) transport_->close();
  if (const int64_t failed = client_->failedLogIns.rest(); failed > 0) {
    server_.log.info(log::Component::kAccess, 5286308, client_->description(), "More log-ins failed before the end",
                     bson::doc("client", client_->remote, "failedSinceLastLine", failed));
  }
  server_.clients.remove(client_->connectionId);
}

void Connection::onStart() {
  setPhase("idle", "waiting for the client's next request");
  start(serve());
}

void Connection::onStopRequested() {
  client_->closing = true;
  if (!busy_) return stop();
  if (sending_) sending_ = Sending{environment().now(), transport_->bytesTaken()};  // from now on it has to hurry
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
      if (client_->awaitedUntil.load(std::memory_order_relaxed) != server::Client::kNotAwaited)
        client_->awaitedUntil = server::Client::kNotAwaited;
      // Its operation accounts for a message that is whole; a stranger's stays in the bound that all of them share.
      if (memory_.bytes() > 0 && server::isTrusted(server_, *client_)) (void)memory_.resize(0, true, ownerOfMemory());
      busy_ = true;
      open = co_await answer(*frame);
      releaseAnswer();
      busy_ = false;
      continue;
    }
    if (const Status room = prepareToRead(); !room.isOK()) {
      logClosing(room);
      break;
    }
    const auto n = co_await transport_->read(reader_);
    if (!n.isOK()) break;
    arrived_ += static_cast<int64_t>(*n);
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
  if (requests_ == 0 || reader_->buffered() > 0) awaitMore(trusted);
  const size_t capacity = reader_->capacityToRead();
  const auto counted = static_cast<int64_t>(capacity > wire::FrameReader::kIdleSize ? capacity : 0);
  if (counted == memory_.bytes()) return Status::OK();
  return memory_.resize(counted, trusted, ownerOfMemory());
}

void Connection::awaitMore(bool trusted) {
  const auto& parameters = server_.parameters;
  const bool isAwaited = client_->awaitedUntil.load(std::memory_order_relaxed) != server::Client::kNotAwaited;
  // A stranger's message has to be whole within its time. Others may send large ones over slow links: theirs go on.
  const bool mayBeLong = trusted && requests_ + arrived_ > 0 && !client_->mustLink;
  const std::chrono::milliseconds patience(mayBeLong ? parameters.stalledMessageTimeoutMillis.load()
                                                     : parameters.firstMessageTimeoutMillis.load());
  if (isAwaited && !(mayBeLong && arrived_ >= leastProgress(patience))) return;
  arrived_ = 0;
  client_->awaitedUntil = patience.count() > 0 ? environment().now() + patience : server::Client::kNotAwaited;
}

server::MessageOwner Connection::ownerOfMemory() const {
  if (client_->authenticated()) return {client_->owner(), client_->userNames()};
  std::string address = server::addressKey(client_->remote);
  return {address, address};
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
  reply = wire::replyToMalformed(frame, std::move(message), nextReply_++, why.reason());
  return true;
}

Task<bool> Connection::runRequest(wire::Request wire) {
  int32_t inReplyTo = 0;
  bson::Document next;  // owns the body of an exhaust stream's later rounds
  for (;;) {
    if (inReplyTo != 0) co_await node().nextTurn();  // batches may be so small that none of them lets others run
    server::Execution execution(wire, server_, *client_);
    Request& request = execution.request;
    co_await execution.run();
    isWatched_ = false;
    if (request.dropReply) co_return false;
    if (!wire.expectsReply()) co_return !client_->closing;
    const int32_t id = nextReply_++;
    const bool streaming = request.streamOn && wire.has(wire::kExhaustAllowed);
    const bool sent = co_await send(
        wire.reply(std::move(request.message()), id, streaming ? uint32_t{wire::kMoreToCome} : 0, inReplyTo));
    releaseAnswer();
    if (!sent || !streaming || client_->closing) co_return sent && !client_->closing;
    next = std::move(*request.streamOn);
    wire.body = next;
    inReplyTo = id;
  }
}

/// The timer outlives the request: a connection whose writes each await a majority for less than a millisecond would
/// spend more on timers than on the waits.
void Connection::watchPeer(Duration period) {
  isWatched_ = true;
  if (peerWatch_ && peerWatch_->period <= period) return;
  if (peerWatch_) cancelTimer(peerWatch_->timer);
  peerWatch_ = PeerWatch{period, every(period, [this] { lookAtPeer(); })};
}

void Connection::lookAtPeer() {
  if (!isWatched_) return cancelTimer(std::exchange(peerWatch_, std::nullopt)->timer);
  if (!transport_->isPeerGone()) return;
  client_->withOperation([](storage::OperationContext& operation) { operation.kill(ErrorCode::kHostUnreachable); });
}

Task<bool> Connection::send(std::string bytes) {
  server_.counters.bytesOut.fetch_add(static_cast<int64_t>(bytes.size()), std::memory_order_relaxed);
  const auto written = transport_->writeNow(bytes);
  if (!written.isOK()) co_return false;
  if (*written == bytes.size()) co_return true;
  auto rest = std::make_shared<const std::string>(std::move(bytes));
  if (const Status room = holdAnswer(rest->size() - *written); !room.isOK()) {
    server_.gate.refused(server::ConnectionRefusal::kUnread);
    logClosing(room);
    co_return false;
  }
  sending_ = Sending{environment().now(), transport_->bytesTaken()};
  // It stays for the next answers: under TLS each of them waits.
  if (!sendWatch_) sendWatch_ = every(kLookAtSendingEvery, [this] { lookAtSending(); });
  const Status sent = co_await transport_->write(rest, *written);
  sending_.reset();
  co_return sent.isOK();
}

/// An answer stays in memory until its client has read it. Those that it reads at once are not counted.
Status Connection::holdAnswer(size_t bytes) {
  const auto wanted = static_cast<int64_t>(bytes);
  if (bytes <= wire::FrameReader::kIdleSize || wanted <= answer_) return Status::OK();
  TROUPE_TRY(memory_.resize(memory_.bytes() - answer_ + wanted, server::isTrusted(server_, *client_), ownerOfMemory()));
  answer_ = wanted;
  return Status::OK();
}

bool Connection::reserveAnswer(size_t bytes) {
  const auto wanted = static_cast<int64_t>(bytes);
  if (wanted <= answer_) return true;
  const int64_t all = memory_.bytes() - answer_ + wanted;
  if (!memory_.tryResize(all, server::isTrusted(server_, *client_), ownerOfMemory())) return false;
  answer_ = wanted;
  return true;
}

void Connection::releaseAnswer() {
  if (answer_ == 0) return;
  const int64_t rest = memory_.bytes() - std::exchange(answer_, 0);
  (void)memory_.resize(rest, server::isTrusted(server_, *client_), ownerOfMemory());
}

void Connection::lookAtSending() {
  if (!sending_) return cancelTimer(*std::exchange(sendWatch_, std::nullopt));
  const std::chrono::milliseconds patience =
      client_->closing ? kSendingWhenClosing
                       : std::chrono::milliseconds(server_.parameters.stalledMessageTimeoutMillis);
  const TimePoint now = environment().now();
  const int64_t taken = transport_->bytesTaken();
  sending_->taken = std::min(sending_->taken, taken);  // under TLS whole records are counted ahead, and given back
  if (taken - sending_->taken >= leastProgress(patience)) sending_ = Sending{now, taken};
  if (patience.count() == 0 || now < sending_->since + patience) return;
  server_.gate.refused(server::ConnectionRefusal::kUnread);
  logClosing({ErrorCode::kHostUnreachable, "the client does not read its answer"});
  sending_.reset();
  transport_->close();
}

}  // namespace troupe::transport
