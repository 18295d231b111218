#include "test/simulation/streams.hpp"

#include <algorithm>

#include "actors/kernel/node.hpp"

namespace troupe::sim {

namespace {

/// What a sender may have under way or unread at the other side.
constexpr size_t kWindow = 256 * 1024;
/// A piece that was lost is sent again after this; the pause doubles up to the most. What meets a cut way is tried
/// again after a time between both.
constexpr Duration kFirstRetry = std::chrono::milliseconds(200);
constexpr Duration kMostRetry = std::chrono::seconds(2);
/// A caller gives up when the other machine is silent for so long.
constexpr Duration kConnectTime = std::chrono::seconds(10);
/// The share of what is written that arrives as two pieces.
constexpr double kSplit = 0.1;

Status gone(const char* why) { return {ErrorCode::kHostUnreachable, why}; }

}  // namespace

/// One side of a connection. What arrives waits here until it is read.
class Streams::End final : public transport::Transport, public std::enable_shared_from_this<End> {
 public:
  End(Streams& streams, std::string machine) : machine(std::move(machine)), streams_(&streams) {}
  ~End() override {
    close();
    loseRest();
  }

  Future<StatusWith<size_t>> read(std::shared_ptr<wire::ReadBuffer> into) override {
    reading_.emplace();
    auto future = reading_->future();
    into_ = std::move(into);
    deliver();
    return future;
  }
  StatusWith<size_t> writeNow(std::string_view bytes) override {
    if (!streams_ || over_) return gone("the connection is closed");
    const auto other = peer.lock();
    const size_t room = kWindow - std::min(kWindow, unread_);
    const size_t n = std::min(bytes.size(), room);
    unread_ += n;
    if (n > 0 && other) streams_->send(machine, other, std::string(bytes.substr(0, n)));
    return n;
  }
  Future<Status> write(std::shared_ptr<const std::string> bytes, size_t from) override {
    writing_.emplace();
    auto future = writing_->future();
    rest_ = std::move(bytes);
    written_ = from;
    goOnWriting();
    return future;
  }
  bool isPeerGone() const override { return over_ || ended_; }
  void close() override {
    if (!streams_ || std::exchange(over_, true)) return;
    if (const auto other = peer.lock()) streams_->launch(machine, other, "", Then::kEnd);
    loseRest();
    finish(gone("the connection was closed"));
  }

  void take(std::string_view bytes, Then then) {
    in_ += bytes;
    ended_ |= then == Then::kEnd;
    if (then == Then::kReset) reset();
    deliver();
  }
  /// The other side has read that much.
  void wasRead(size_t bytes) {
    unread_ -= std::min(unread_, bytes);
    goOnWriting();
  }
  /// This side's process died: nobody waits here any more.
  void abandon() {
    loseRest();
    over_ = true;
    streams_ = nullptr;
    reading_.reset();
    writing_.reset();
  }
  /// Completes a read that has something to give, unless the process is paused.
  void deliver() {
    const bool isPaused = streams_ && streams_->paused_.contains(machine);
    if (!reading_ || isPaused || (in_.empty() && !ended_ && !over_)) return;
    StatusWith<size_t> outcome = gone("the other side has closed");
    if (!in_.empty()) outcome = readInto();
    else loseRest();
    auto reading = std::move(*reading_);
    reading_.reset();
    reading.set(std::move(outcome));
  }

  const std::string machine;
  std::weak_ptr<End> peer;
  ConnectionPtr connection;  ///< lives as long as one of its ends
  // What is under way to this end, in its order.
  struct Piece {
    std::string bytes;
    Then then;
  };
  std::deque<Piece> underWay;
  TimePoint lastArrival{};
  bool isBroken = false;         ///< what is sent to it is lost
  std::unique_ptr<LinkTap> tap;  ///< on what is sent to it; null: its connection is no link

 private:
  size_t readInto() {
    const auto room = into_->prepare();
    const size_t n = std::min(room.size(), in_.size());
    std::copy_n(in_.data(), n, room.data());
    into_->commit(n);
    in_.erase(0, n);
    if (tap) tap->read(n);
    if (const auto other = peer.lock()) other->wasRead(n);
    return n;
  }
  void reset() {
    over_ = true;
    if (!writing_) return;
    auto writing = std::move(*writing_);
    writing_.reset();
    writing.set(gone("the connection was reset"));
  }
  void loseRest() {
    if (const auto tapped = std::move(tap)) tapped->ended();
  }
  void goOnWriting() {
    if (!writing_) return;
    const auto n = writeNow(std::string_view(*rest_).substr(written_));
    if (n.isOK()) written_ += *n;
    if (n.isOK() && written_ < rest_->size()) return;
    auto writing = std::move(*writing_);
    writing_.reset();
    writing.set(n.status());
  }
  void finish(const Status& why) {
    if (writing_) {
      auto writing = std::move(*writing_);
      writing_.reset();
      writing.set(why);
    }
    deliver();
  }

  Streams* streams_;
  std::string in_;
  bool ended_ = false, over_ = false;
  size_t unread_ = 0;  ///< sent by this side, and not read by the other
  std::optional<Promise<StatusWith<size_t>>> reading_;
  std::shared_ptr<wire::ReadBuffer> into_;
  std::optional<Promise<Status>> writing_;
  std::shared_ptr<const std::string> rest_;
  size_t written_ = 0;
};

/// A connection from the call to its end. Its ends belong to those who use them.
struct Streams::Connection {
  std::string from, to;
  bool isLink = false;
  std::weak_ptr<End> caller, called;
  std::shared_ptr<End> callerEnd;  ///< until the call was answered
  std::optional<Promise<Outcome>> answer;

  void fail(const Status& why) {
    if (!answer) return;
    auto promise = std::move(*answer);
    answer.reset();
    callerEnd.reset();
    promise.set(why);
  }
};

class Streams::Arrival final : public transport::Arrival {
 public:
  Arrival(std::shared_ptr<End> end, std::string from) : end_(std::move(end)), from_(std::move(from)) {}
  Future<bool> encryption() override {
    Promise<bool> promise;
    auto future = promise.future();
    promise.set(false);
    return future;
  }
  void giveUp() override { end_.reset(); }
  std::optional<Remote> remote() const override { return Remote{from_, true}; }
  std::shared_ptr<transport::Transport> take(bool) override { return std::move(end_); }

 private:
  std::shared_ptr<End> end_;
  const std::string from_;
};

class Streams::Port final : public transport::Port {
 public:
  Port(Streams& streams, std::string machine) : streams_(&streams), machine_(std::move(machine)) {
    streams.ports_[machine_] = this;
  }
  ~Port() override { close(); }

  Future<StatusWith<std::shared_ptr<transport::Arrival>>> accept() override {
    waiting_.emplace();
    auto future = waiting_->future();
    next();
    return future;
  }
  void close() override {
    if (streams_) streams_->ports_.erase(machine_);
    streams_ = nullptr;
    arrived_.clear();
    next();
  }
  void take(std::shared_ptr<transport::Arrival> arrival) {
    arrived_.push_back(std::move(arrival));
    next();
  }
  /// The process died.
  void abandon() {
    streams_ = nullptr;
    arrived_.clear();
    waiting_.reset();
  }

 private:
  void next() {
    if (!waiting_ || (arrived_.empty() && streams_)) return;
    StatusWith<std::shared_ptr<transport::Arrival>> outcome =
        Status(ErrorCode::kShutdownInProgress, "the port is closed");
    if (!arrived_.empty()) {
      outcome = std::move(arrived_.front());
      arrived_.pop_front();
    }
    auto waiting = std::move(*waiting_);
    waiting_.reset();
    waiting.set(std::move(outcome));
  }

  Streams* streams_;
  const std::string machine_;
  std::deque<std::shared_ptr<transport::Arrival>> arrived_;
  std::optional<Promise<StatusWith<std::shared_ptr<transport::Arrival>>>> waiting_;
};

Streams::~Streams() {
  due_.clear();
  for (const auto& weak : connections_) {
    const auto connection = weak.lock();
    if (!connection) continue;
    for (const auto& end : {connection->caller.lock(), connection->called.lock()})
      if (end) end->abandon();
    connection->callerEnd.reset();
    connection->answer.reset();
  }
  for (const auto& [machine, port] : ports_) port->abandon();
}

std::vector<std::unique_ptr<transport::Port>> Streams::listen(Node& node, const std::vector<std::string>& addresses,
                                                              uint16_t, const tls::TlsOptions&) {
  std::vector<std::unique_ptr<transport::Port>> ports;
  for (size_t i = 0; i < addresses.size(); ++i) ports.push_back(std::make_unique<Port>(*this, node.name()));
  return ports;
}

StatusWith<link::Connector> Streams::connector(Node& node, const tls::TlsOptions&, bool) {
  return link::Connector([this, &node](const std::string& peer) { return open(node, peer, true); });
}

link::Connecting Streams::connect(Node& from, const std::string& to) { return open(from, to, false); }

link::Connecting Streams::open(Node& from, const std::string& to, bool isLink) {
  auto connection = std::make_shared<Connection>();
  connection->from = from.name();
  connection->to = to;
  connection->isLink = isLink;
  connection->callerEnd = std::make_shared<End>(*this, from.name());
  connection->caller = connection->callerEnd;
  connection->answer.emplace();
  auto outcome = connection->answer->future();
  std::erase_if(connections_, [](const auto& weak) { return weak.expired(); });
  connections_.push_back(connection);
  const TimePoint due = now_() + delay(connection->from, to);
  carry(connection->from, to, due, [this, connection](TimePoint) { answerCall(connection); });
  at(now_() + kConnectTime, [connection](TimePoint) { connection->fail(gone("the other machine does not answer")); });
  return {std::move(outcome), [connection] { connection->fail(gone("the try was given up")); }};
}

std::unique_ptr<LinkTap> Streams::tap(const std::string& from, const std::string& to, bool byOpener) {
  const auto tell = [this, from, to](TraceEvent::Kind kind, const LinkTap::Message& message) {
    if (kind == TraceEvent::Kind::kSend) note(kind, from, "sends", to, message);
    else if (kind == TraceEvent::Kind::kDeliver) note(kind, to, "gets", from, message);
    else note(kind, from, "loses", to, message);
  };
  return std::make_unique<LinkTap>(byOpener, from, to, lastMessage_, tell);
}

void Streams::note(TraceEvent::Kind kind, const std::string& node, const char* what, const std::string& peer,
                   const LinkTap::Message& message) {
  trace_.add({.at = now_() - simulationStart(),
              .kind = kind,
              .node = node,
              .role = "",
              .actor = "network",
              .what = what,
              .detail = message.name + (kind == TraceEvent::Kind::kDeliver ? " from " : " to ") + peer,
              .peer = peer,
              .message = message.number});
}

/// The call has come: to a process that listens, or to a machine that refuses it. The answer takes its time, too.
void Streams::answerCall(const ConnectionPtr& connection) {
  if (!connection->answer) return;
  const auto port = ports_.find(connection->to);
  std::shared_ptr<End> called;
  if (port != ports_.end()) {
    called = std::make_shared<End>(*this, connection->to);
    if (connection->isLink) {
      called->tap = tap(connection->from, connection->to, true);
      connection->callerEnd->tap = tap(connection->to, connection->from, false);
    }
    called->peer = connection->callerEnd;
    called->connection = connection;
    connection->callerEnd->peer = called;
    connection->callerEnd->connection = connection;
    connection->called = called;
  }
  // The end of the called side lives in the arrival, or with the one who took it.
  if (called) port->second->take(std::make_shared<Arrival>(called, connection->from));
  const TimePoint due = now_() + delay(connection->to, connection->from);
  carry(connection->to, connection->from, due, [connection, isRefused = !called](TimePoint) {
    if (isRefused || connection->called.expired()) return connection->fail(gone("the connection was refused"));
    if (!connection->answer) return;
    auto promise = std::move(*connection->answer);
    connection->answer.reset();
    std::shared_ptr<transport::Transport> end = std::move(connection->callerEnd);
    promise.set(std::move(end));
  });
  ++opened_;
}

void Streams::died(const std::string& node) {
  paused_.erase(node);
  if (const auto port = ports_.find(node); port != ports_.end()) {
    port->second->abandon();
    ports_.erase(port);
  }
  for (const auto& weak : connections_) {
    const auto connection = weak.lock();
    if (!connection || (connection->from != node && connection->to != node)) continue;
    for (const auto& end : {connection->caller.lock(), connection->called.lock()}) {
      if (!end) continue;
      if (end->machine == node) end->abandon();
      else launch(node, end, "", Then::kReset);  // the machine answers for its dead process
    }
    if (connection->from == node) connection->answer.reset();
  }
}

void Streams::resumed(const std::string& node) {
  paused_.erase(node);
  for (const auto& weak : std::vector(connections_)) {
    const auto connection = weak.lock();
    if (!connection) continue;
    for (const auto& end : {connection->caller.lock(), connection->called.lock()})
      if (end && end->machine == node) end->deliver();
  }
}

void Streams::breakBetween(const std::string& one, const std::string& other) {
  for (const auto& weak : std::vector(connections_)) {
    const auto connection = weak.lock();
    if (!connection) continue;
    const bool isMeant =
        (connection->from == one && connection->to == other) || (connection->from == other && connection->to == one);
    if (isMeant) breakOff(connection);
  }
}

void Streams::breakOff(const ConnectionPtr& connection) {
  connection->fail(gone("the connection was reset"));
  for (const auto& end : {connection->caller.lock(), connection->called.lock()}) {
    if (!end || end->isBroken) continue;
    size_t left = 0;
    for (const auto& piece : end->underWay) left += piece.bytes.size();
    left = static_cast<size_t>(random_() % (left + 1));
    for (auto& piece : end->underWay) {
      piece.bytes.resize(std::min(left, piece.bytes.size()));
      piece.then = Then::kMore;
      left -= piece.bytes.size();
    }
    launch(end->machine == connection->from ? connection->to : connection->from, end, "", Then::kReset);
    end->isBroken = true;
  }
}

Duration Streams::delay(const std::string& from, const std::string& to) {
  const Conditions& way = conditions_.between(from, to);
  Duration takes = sim::between(random_, way.leastDelay, way.mostDelay);
  if (way.cloggedUntil > now_()) takes += way.cloggedUntil - now_();
  Duration pause = kFirstRetry;
  for (int tries = 0; tries < 20 && share(random_) < way.loss; ++tries) {
    takes += pause;
    pause = std::min(2 * pause, kMostRetry);
  }
  return takes;
}

void Streams::carry(const std::string& from, const std::string& to, TimePoint due,
                    std::function<void(TimePoint)> action) {
  at(due, [this, from, to, action = std::move(action)](TimePoint now) {
    if (!conditions_.between(from, to).cut) return action(now);
    carry(from, to, now + sim::between(random_, kFirstRetry, kMostRetry), action);
  });
}

void Streams::at(TimePoint when, std::function<void(TimePoint)> action) {
  due_.emplace(std::pair(when, ++sequence_), std::move(action));
}

void Streams::send(const std::string& from, const std::shared_ptr<End>& to, std::string bytes) {
  if (to->tap) to->tap->sent(bytes);
  const bool breaks = share(random_) < conditions_.between(from, to->machine).breaks;
  if (bytes.size() > 1 && share(random_) < kSplit) {
    const size_t cut = 1 + static_cast<size_t>(random_() % (bytes.size() - 1));
    launch(from, to, bytes.substr(0, cut), Then::kMore);
    bytes.erase(0, cut);
  }
  launch(from, to, std::move(bytes), Then::kMore);
  if (!breaks || !to->connection) return;
  trace_.add({.at = now_() - simulationStart(),
              .kind = TraceEvent::Kind::kFault,
              .node = from,
              .role = "",
              .actor = "network",
              .what = "breaks",
              .detail = "a connection with " + to->machine});
  breakOff(to->connection);
}

void Streams::launch(const std::string& from, const std::shared_ptr<End>& to, std::string bytes, Then then) {
  if (to->isBroken) return;
  to->underWay.push_back({std::move(bytes), then});
  const TimePoint due = std::max(to->lastArrival, now_() + delay(from, to->machine));
  to->lastArrival = due;
  carry(from, to->machine, due, [this, end = std::weak_ptr<End>(to)](TimePoint) { arrive(end); });
}

void Streams::arrive(std::weak_ptr<End> to) {
  const auto end = to.lock();
  if (!end || end->underWay.empty()) return;
  const auto piece = std::move(end->underWay.front());
  end->underWay.pop_front();
  end->take(piece.bytes, piece.then);
}

std::optional<TimePoint> Streams::nextDue() const {
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first.first;
}

void Streams::deliverDue(TimePoint now) {
  while (!due_.empty() && due_.begin()->first.first <= now) {
    const auto action = std::move(due_.begin()->second);
    due_.erase(due_.begin());
    action(now);
  }
}

}  // namespace troupe::sim
