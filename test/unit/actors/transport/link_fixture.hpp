#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/transport/link_manager.hpp"
#include "test/unit/actors/kernel/kernel_fixture.hpp"

namespace troupe::link {

/// A connection made of strings, with both of its ends. Everything runs on the test's thread.
class Pipe : public std::enable_shared_from_this<Pipe> {
 public:
  class End final : public transport::Transport {
   public:
    End(std::shared_ptr<Pipe> pipe, int side) : pipe_(std::move(pipe)), side_(side) {}
    Future<StatusWith<size_t>> read(std::shared_ptr<wire::ReadBuffer> into) override {
      auto& in = pipe_->ways_[side_];
      in.into = std::move(into);
      in.reading.emplace();
      auto future = in.reading->future();
      pipe_->deliver(side_);
      return future;
    }
    StatusWith<size_t> writeNow(std::string_view bytes) override {
      auto& out = pipe_->ways_[1 - side_];
      if (pipe_->closed) return Status(ErrorCode::kHostUnreachable, "closed");
      const size_t n = isStuck() ? 0 : bytes.size();
      out.bytes += bytes.substr(0, n);
      pipe_->deliver(1 - side_);
      return n;
    }
    Future<Status> write(std::shared_ptr<const std::string> bytes, size_t from) override {
      Promise<Status> promise;
      auto future = promise.future();
      if (isStuck() && !pipe_->closed) {
        pipe_->blocked_.push_back(std::move(promise));
        return future;
      }
      promise.set(writeNow(std::string_view(*bytes).substr(from)).status());
      return future;
    }
    int64_t bytesTaken() const override { return pipe_->taken; }
    void close() override { pipe_->cut(); }

   private:
    bool isStuck() const { return pipe_->stuck || pipe_->stuckSide == side_; }
    std::shared_ptr<Pipe> pipe_;
    const int side_;
  };

  std::shared_ptr<End> end(int side) { return std::make_shared<End>(shared_from_this(), side); }
  /// Both ends are gone; what was written before is still read.
  void cut() {
    if (std::exchange(closed, true)) return;
    for (auto& promise : std::exchange(blocked_, {})) promise.set(Status(ErrorCode::kHostUnreachable, "closed"));
    deliver(0);
    deliver(1);
  }
  /// Puts bytes on the way to that end.
  void inject(int side, std::string_view bytes) {
    ways_[side].bytes += bytes;
    deliver(side);
  }
  void release() {
    silent = false;
    deliver(0);
    deliver(1);
  }
  const std::string& onTheWayTo(int side) const { return ways_[side].bytes; }
  /// Loses what is on the way to that end beyond so many bytes.
  void keep(int side, size_t bytes) { ways_[side].bytes.resize(std::min(bytes, ways_[side].bytes.size())); }

  bool silent = false;  ///< bytes are taken, but do not arrive
  bool stuck = false;   ///< bytes are not taken any more
  int stuckSide = -1;   ///< bytes of that end are not taken any more
  int64_t taken = 0;    ///< what ends are told of bytes taken
  bool closed = false;

 private:
  struct Way {
    std::string bytes;
    std::shared_ptr<wire::ReadBuffer> into;
    std::optional<Promise<StatusWith<size_t>>> reading;
  };
  void deliver(int side) {
    Way& way = ways_[side];
    if (!way.reading || (silent && !closed) || (way.bytes.empty() && !closed)) return;
    const auto room = way.into->prepare();
    const size_t n = std::min(room.size(), way.bytes.size());
    std::copy_n(way.bytes.data(), n, room.data());
    way.into->commit(n);
    way.bytes.erase(0, n);
    StatusWith<size_t> outcome(n);
    if (n == 0) outcome = Status(ErrorCode::kHostUnreachable, "closed");
    auto reading = std::move(*way.reading);
    way.reading.reset();
    reading.set(std::move(outcome));
  }
  Way ways_[2];
  std::vector<Promise<Status>> blocked_;
};

/// Nodes without threads on one virtual time, whose links run over pipes.
class LinkTest : public ::testing::Test {
 protected:
  struct Member {
    Member(LinkTest& test, std::string name, LinkSettings settings)
        : node({.name = std::move(name), .environment = test.time, .manual = true}),
          links(std::make_shared<Links>(node, std::move(settings))) {
      node.spawn<LinkManager>(kLinksPath, links);
    }
    Node node;
    std::shared_ptr<Links> links;
    bool reachable = true;
  };

  std::shared_ptr<VirtualEnvironment> time = std::make_shared<VirtualEnvironment>();
  std::map<std::string, std::unique_ptr<Member>> members;
  std::map<std::string, Node*> guests;       ///< nodes that the test makes by itself, on the same time
  std::vector<std::shared_ptr<Pipe>> pipes;  ///< in the order in which they were opened
  bool nextIsReset = false;                  ///< the next connection is gone before anything is written

  void TearDown() override {
    for (auto& [name, member] : members) member->node.shutdown();
  }

  LinkSettings settings(std::string key = "secret") {
    LinkSettings s;
    s.key = std::move(key);
    s.random = [this](void* bytes, size_t size) {
      for (size_t i = 0; i < size; ++i) static_cast<char*>(bytes)[i] = static_cast<char>(time->random());
    };
    s.connect = [this](const std::string& peer) { return connect(peer); };
    return s;
  }
  Member& add(const std::string& name) { return add(name, settings()); }
  Member& add(const std::string& name, LinkSettings s) {
    auto& member = members[name];
    member = std::make_unique<Member>(*this, name, std::move(s));
    settle();
    return *member;
  }
  /// Lets every node do what it can without time passing.
  void settle() {
    for (size_t turns = 1; turns > 0;) {
      turns = 0;
      for (auto& [name, member] : members) turns += member->node.run();
      for (const auto& [name, guest] : guests) turns += guest->run();
    }
  }
  void advance(Duration by) {
    settle();
    const TimePoint end = time->now() + by;
    for (auto next = time->nextTimer(); next && *next <= end; next = time->nextTimer()) {
      time->advanceTo(*next);
      settle();
    }
    time->advanceTo(end);
    settle();
  }
  void tell(Member& member, Payload payload) {
    member.node.tell(member.node.address(kLinksPath), std::move(payload));
    settle();
  }
  void link(Member& from, const Member& to) { tell(from, local(ConnectPeer{to.node.name()})); }

  /// The answer of the ask so far.
  using Outcome = std::shared_ptr<std::optional<Answer>>;
  Outcome ask(Member& from, const Address& to, Payload payload, Duration timeout = kNoTimeout) {
    auto outcome = std::make_shared<std::optional<Answer>>();
    from.node.start(keep(from.node.ask(to, std::move(payload), timeout), outcome));
    settle();
    return outcome;
  }
  static ErrorCode codeOf(const Outcome& outcome) {
    return *outcome ? (*outcome)->status().code() : ErrorCode::kUnknownError;
  }
  static Payload ping(int64_t number, size_t attached = 0) {
    return build<schema::Ping>([&](schema::Ping::Builder p) { p.setNumber(number); },
                               attached ? std::make_shared<const std::string>(attached, 'x') : nullptr);
  }
  std::string phase(Member& member, const std::string& path) {
    const auto row = member.node.registry().row(kLinksPath + ("/" + path));
    return row ? row->phase : "";
  }
  /// A connection to that node that the test holds the other end of.
  std::shared_ptr<Pipe> dial(Member& to, bool fromLoopback = true) {
    auto pipe = std::make_shared<Pipe>();
    tell(to, local(IncomingConnection{pipe->end(1), "", "test", fromLoopback}));
    return pipe;
  }
  /// An echo whose insides the test sees.
  Echo* spawnEcho(Member& member, const std::string& path, Echo::Action atStart = {}) {
    auto echo = std::make_unique<Echo>(std::move(atStart));
    Echo* seen = echo.get();
    member.node.spawn(path, std::move(echo), {});
    settle();
    return seen;
  }

 private:
  static Task<void> keep(Future<Answer> future, Outcome outcome) {
    Answer answer = co_await future;
    outcome->emplace(std::move(answer));
  }
  Connecting connect(const std::string& peer) {
    Promise<StatusWith<std::shared_ptr<transport::Transport>>> promise;
    auto future = promise.future();
    const auto found = members.find(peer);
    const auto guest = guests.find(peer);
    if (guest == guests.end() && (found == members.end() || !found->second->reachable)) {
      promise.set(Status(ErrorCode::kHostUnreachable, "connection refused"));
    } else {
      auto pipe = pipes.emplace_back(std::make_shared<Pipe>());
      if (std::exchange(nextIsReset, false)) pipe->cut();
      Node& node = guest == guests.end() ? found->second->node : *guest->second;
      node.tell(node.address(kLinksPath), local(IncomingConnection{pipe->end(1), "", "pipe", true}));
      promise.set(std::shared_ptr<transport::Transport>(pipe->end(0)));
    }
    return {std::move(future), [] {}};
  }
};

}  // namespace troupe::link
