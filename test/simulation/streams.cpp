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

Status gone(const char* why) { return {ErrorCode::kHostUnreachable, why}; }

}  // namespace

/// One side of a connection. What arrives waits here until it is read.
class Streams::End final : public front::Transport, public std::enable_shared_from_this<End> {
 public:
  End(Streams& streams, Node& node, std::string machine)
      : machine(std::move(machine)), streams_(&streams), node_(&node) {}
  ~End() override { close(); }

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
    if (n > 0 && other) streams_->launch(machine, other, std::string(bytes.substr(0, n)), false, now());
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
  void close() override {
    if (!streams_ || std::exchange(over_, true)) return;
    if (const auto other = peer.lock()) streams_->launch(machine, other, "", true, now());
    finish(gone("the connection was closed"));
  }

  /// A piece has come; `last`: the other side has closed.
  void take(std::string bytes, bool last) {
    in_ += bytes;
    ended_ |= last;
    deliver();
  }
  /// The other side has read that much.
  void wasRead(size_t bytes) {
    unread_ -= std::min(unread_, bytes);
    goOnWriting();
  }
  /// The connection is broken: the other machine died.
  void reset() {
    over_ = true;
    in_.clear();
    finish(gone("the connection was reset"));
  }
  /// This side's process died: nobody waits here any more.
  void abandon() {
    over_ = true;
    streams_ = nullptr;
    reading_.reset();
    writing_.reset();
  }

  TimePoint now() const { return node_->environment().now(); }

  const std::string machine;
  std::weak_ptr<End> peer;
  ConnectionPtr connection;  ///< lives as long as one of its ends
  // What is under way to this end, in its order.
  struct Piece {
    std::string bytes;
    bool last;
  };
  std::deque<Piece> underWay;
  TimePoint lastArrival{};

 private:
  void deliver() {
    if (!reading_ || (in_.empty() && !ended_ && !over_)) return;
    StatusWith<size_t> outcome = gone("the other side has closed");
    if (!in_.empty()) {
      const auto room = into_->prepare();
      const size_t n = std::min(room.size(), in_.size());
      std::copy_n(in_.data(), n, room.data());
      into_->commit(n);
      in_.erase(0, n);
      outcome = n;
      if (const auto other = peer.lock()) other->wasRead(n);
    }
    auto reading = std::move(*reading_);
    reading_.reset();
    reading.set(std::move(outcome));
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
  Node* node_;
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

class Streams::Arrival final : public front::Arrival {
 public:
  Arrival(std::shared_ptr<End> end, std::string from) : end_(std::move(end)), from_(std::move(from)) {}
  Future<bool> encryption() override {
    Promise<bool> promise;
    auto future = promise.future();
    promise.set(false);
    return future;
  }
  std::optional<Remote> remote() const override { return Remote{from_, true}; }
  std::shared_ptr<front::Transport> take(bool) override { return std::move(end_); }

 private:
  std::shared_ptr<End> end_;
  const std::string from_;
};

class Streams::Port final : public front::Port {
 public:
  Port(Streams& streams, Node& node) : node(node), streams_(&streams), machine_(node.name()) {
    streams.ports_[machine_] = this;
  }
  ~Port() override { close(); }

  Future<StatusWith<std::shared_ptr<front::Arrival>>> accept() override {
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
  void take(std::shared_ptr<front::Arrival> arrival) {
    arrived_.push_back(std::move(arrival));
    next();
  }
  /// The process died.
  void abandon() {
    streams_ = nullptr;
    arrived_.clear();
    waiting_.reset();
  }

  Node& node;

 private:
  void next() {
    if (!waiting_ || (arrived_.empty() && streams_)) return;
    StatusWith<std::shared_ptr<front::Arrival>> outcome = Status(ErrorCode::kShutdownInProgress, "the port is closed");
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
  std::deque<std::shared_ptr<front::Arrival>> arrived_;
  std::optional<Promise<StatusWith<std::shared_ptr<front::Arrival>>>> waiting_;
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

std::unique_ptr<front::Port> Streams::listen(Node& node, const std::string&, uint16_t, const tls::TlsOptions&) {
  return std::make_unique<Port>(*this, node);
}

StatusWith<link::Connector> Streams::connector(Node& node, const tls::TlsOptions&, bool) {
  return link::Connector([this, &node](const std::string& peer) { return connect(node, peer); });
}

link::Connecting Streams::connect(Node& from, const std::string& to) {
  auto connection = std::make_shared<Connection>();
  connection->from = from.name();
  connection->to = to;
  connection->callerEnd = std::make_shared<End>(*this, from, from.name());
  connection->caller = connection->callerEnd;
  connection->answer.emplace();
  auto outcome = connection->answer->future();
  std::erase_if(connections_, [](const auto& weak) { return weak.expired(); });
  connections_.push_back(connection);
  const TimePoint now = from.environment().now();
  carry(connection->from, to, now + delay(connection->from, to, now),
        [this, connection](TimePoint then) { answerCall(connection, then); });
  at(now + kConnectTime, [connection](TimePoint) { connection->fail(gone("the other machine does not answer")); });
  return {std::move(outcome), [connection] { connection->fail(gone("the try was given up")); }};
}

/// The call has come: to a process that listens, or to a machine that refuses it. The answer takes its time, too.
void Streams::answerCall(const ConnectionPtr& connection, TimePoint now) {
  if (!connection->answer) return;
  const auto port = ports_.find(connection->to);
  std::shared_ptr<End> called;
  if (port != ports_.end()) {
    called = std::make_shared<End>(*this, port->second->node, connection->to);
    called->peer = connection->callerEnd;
    called->connection = connection;
    connection->callerEnd->peer = called;
    connection->callerEnd->connection = connection;
    connection->called = called;
  }
  // The end of the called side lives in the arrival, or with the one who took it.
  if (called) port->second->take(std::make_shared<Arrival>(called, connection->from));
  const TimePoint due = now + delay(connection->to, connection->from, now);
  carry(connection->to, connection->from, due, [connection, isRefused = !called](TimePoint) {
    if (isRefused || connection->called.expired()) return connection->fail(gone("the connection was refused"));
    if (!connection->answer) return;
    auto promise = std::move(*connection->answer);
    connection->answer.reset();
    std::shared_ptr<front::Transport> end = std::move(connection->callerEnd);
    promise.set(std::move(end));
  });
  ++opened_;
}

void Streams::died(const std::string& node) {
  if (const auto port = ports_.find(node); port != ports_.end()) {
    port->second->abandon();
    ports_.erase(port);
  }
  for (const auto& weak : connections_) {
    const auto connection = weak.lock();
    if (!connection || (connection->from != node && connection->to != node)) continue;
    for (const auto& end : {connection->caller.lock(), connection->called.lock()}) {
      if (!end) continue;
      if (end->machine == node) {
        end->abandon();
        continue;
      }
      // The machine answers for its dead process, once the way is free.
      const TimePoint now = end->now();
      carry(node, end->machine, now + delay(node, end->machine, now), [other = std::weak_ptr<End>(end)](TimePoint) {
        if (const auto still = other.lock()) still->reset();
      });
    }
    if (connection->from == node) connection->answer.reset();
  }
}

Duration Streams::delay(const std::string& from, const std::string& to, TimePoint now) {
  const Conditions& way = conditions_.between(from, to);
  Duration takes = sim::between(random_, way.leastDelay, way.mostDelay);
  if (way.cloggedUntil > now) takes += way.cloggedUntil - now;
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

void Streams::launch(const std::string& from, const std::shared_ptr<End>& to, std::string bytes, bool last,
                     TimePoint now) {
  to->underWay.push_back({std::move(bytes), last});
  const TimePoint due = std::max(to->lastArrival, now + delay(from, to->machine, now));
  to->lastArrival = due;
  carry(from, to->machine, due, [this, end = std::weak_ptr<End>(to)](TimePoint) { arrive(end); });
}

void Streams::arrive(std::weak_ptr<End> to) {
  const auto end = to.lock();
  if (!end || end->underWay.empty()) return;
  const auto piece = std::move(end->underWay.front());
  end->underWay.pop_front();
  end->take(std::move(piece.bytes), piece.last);
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
