#include "test/probe/test_kit.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "actors/kernel/ask.hpp"
#include "messaging/link/message_frame.hpp"

namespace troupe::probe {

namespace {

Status unreachable(const std::string& node) {
  return {ErrorCode::kHostUnreachable, "the node " + node + " is not there"};
}

/// Keeps all that comes.
class ProbeActor final : public Actor {
 public:
  explicit ProbeActor(std::shared_ptr<Inbox> inbox) : inbox_(std::move(inbox)) {}
  Behaviour behaviour() override {
    Behaviour all;
    all.otherwise([this](Context& context) { take(std::move(context)); });
    return all;
  }

 private:
  void take(Context context) {
    auto letter = std::make_shared<Letter>();
    letter->at = environment().now();
    letter->payload = context.payload();
    letter->from = context.sender();
    letter->asks = context.expectsReply();
    letter->context.emplace(std::move(context));
    inbox_->waiting.push_back(letter);
    inbox_->letters.push_back(letter);
    const auto reply = inbox_->answers.find(letter->payload.type());
    if (reply != inbox_->answers.end()) letter->answer(reply->second(letter->payload));
  }

  std::shared_ptr<Inbox> inbox_;
};

}  // namespace

/// The connection of one life of a node to the others. Its open asks are answered at the latest when that life ends.
class TestKit::Wire final : public Route {
 public:
  Wire(TestKit& kit, Node& node) : kit_(kit), node_(node) {}

  void send(Envelope envelope) noexcept override {
    const auto peer = kit_.wires_.find(envelope.to.node());
    if (!*open_ || peer == kit_.wires_.end()) {
      if (*open_ && envelope.kind == MessageKind::kWatch)
        node_.postOffice().watchFailed(envelope.from, envelope.to, unreachable(envelope.to.node()));
      return envelope.reply.complete(unreachable(envelope.to.node()));
    }
    if (const Status status = link::checkSendable(envelope, link::kLargestFrame); !status.isOK()) {
      node_.postOffice().countDead(DeadLetter::kUnsendable);
      return envelope.reply.complete(status);
    }
    if (envelope.reply) {
      asks_.push_back(std::make_shared<ReplyDuty>(std::move(envelope.reply)));
      envelope.reply = ReplyDuty(new AnswerBack(asks_.back(), peer->second->open_, envelope.to.node()));
    }
    peer->second->node_.postOffice().send(std::move(envelope));
  }

  void close() { *open_ = false; }
  void failAsks() {
    for (const auto& ask : asks_) ask->complete(unreachable("that asked"));
  }

 private:
  /// Takes the answer of another node back to the asker.
  class AnswerBack final : public ReplySink {
   public:
    AnswerBack(std::shared_ptr<ReplyDuty> duty, std::shared_ptr<bool> answererLives, std::string answerer)
        : duty_(std::move(duty)), answererLives_(std::move(answererLives)), answerer_(std::move(answerer)) {}
    void complete(StatusWith<Payload> answer) noexcept override {
      if (!*answererLives_) duty_->complete(unreachable(answerer_));
      else if (answer.isOK() && !answer->isSerializable())
        duty_->complete(
            Status(ErrorCode::kIllegalOperation, std::string(answer->typeName()) + " cannot leave its process"));
      else duty_->complete(std::move(answer));
      delete this;
    }

   private:
    std::shared_ptr<ReplyDuty> duty_;
    std::shared_ptr<bool> answererLives_;
    std::string answerer_;
  };

  TestKit& kit_;
  Node& node_;
  std::shared_ptr<bool> open_ = std::make_shared<bool>(true);
  std::vector<std::shared_ptr<ReplyDuty>> asks_;
};

TestKit::TestKit(std::string name, uint64_t seed)
    : name_(std::move(name)), time_(std::make_shared<VirtualEnvironment>(seed)), began_(time_->now()) {
  printers_[payloadType<Down>()] = [](const Payload& payload) {
    const auto& down = payload.local<Down>();
    return "the end of " + down.who.toString() + " (" + down.reason.toString() + ")";
  };
  begin(name_);
}

TestKit::~TestKit() {
  while (!nodes_.empty()) end(nodes_.begin()->first);
}

Node& TestKit::nodeOf(const std::string& name) const {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) throw std::logic_error("the node " + name + " is down");
  return *found->second;
}

Node& TestKit::begin(const std::string& name) {
  auto& node = nodes_[name];
  node = std::make_unique<Node>(NodeOptions{.name = name, .environment = time_, .manual = true});
  wires_[name] = std::make_shared<Wire>(*this, *node);
  node->postOffice().setRoute("*", wires_[name]);
  for (const auto& inbox : inboxes_)
    if (inbox->self.node() == name) node->spawn<ProbeActor>(inbox->self.path(), inbox);
  return *node;
}

/// Nobody hears of the last things that happen on a node that dies.
void TestKit::end(std::string name) {
  const auto wire = wires_.extract(name).mapped();
  wire->close();
  std::vector<std::optional<Context>> unanswered;
  for (const auto& inbox : inboxes_) {
    if (inbox->self.node() != name) continue;
    for (const auto& letter : inbox->letters) unanswered.push_back(std::exchange(letter->context, std::nullopt));
    inbox->waiting.clear();
  }
  nodes_.extract(name).mapped()->shutdown();
  unanswered.clear();
  wire->failAsks();
  for (const auto& [other, node] : nodes_) node->postOffice().nodeLost(name, unreachable(name));
}

Address TestKit::add(std::function<Address(Node&)> starter) {
  const Address self = starter(node());
  starters_.push_back(std::move(starter));
  run();
  return self;
}

Probe TestKit::probe(std::string node, std::string path) {
  if (!nodes_.contains(node)) begin(node);
  auto inbox = std::make_shared<Inbox>();
  inbox->self = Address(node, path);
  nodeOf(node).spawn<ProbeActor>(path, inbox);
  inboxes_.push_back(inbox);
  run();
  return Probe(*this, std::move(inbox));
}

std::shared_ptr<MemoryStore> TestKit::sharedStore(const std::string& path) {
  auto& store = stores_[path];
  if (!store) store = std::make_shared<MemoryStore>();
  return store;
}

void TestKit::send(const Address& from, const Address& to, Payload payload) {
  Envelope envelope;
  envelope.from = from;
  envelope.to = to;
  envelope.payload = std::move(payload);
  nodeOf(from ? from.node() : name_).postOffice().send(std::move(envelope));
}

Question TestKit::ask(const Address& from, const Address& to, Payload payload, Duration timeout) {
  Node& asker = nodeOf(from ? from.node() : name_);
  Envelope envelope;
  envelope.from = from;
  envelope.to = to;
  envelope.payload = std::move(payload);
  auto state = std::make_shared<Question::State>();
  state->to = to;
  asker.start(Question::keep(state, sendAsk(asker.postOffice(), *time_, std::move(envelope), timeout, nullptr)));
  run();
  return Question(*this, std::move(state));
}

void TestKit::run() {
  for (size_t turns = 1; turns > 0;) {
    turns = 0;
    for (const auto& [name, node] : nodes_) turns += node->run();
  }
}

void TestKit::advance(Duration by) {
  runUntil([] { return false; }, by);
}

bool TestKit::runUntil(const std::function<bool()>& holds, Duration within) {
  const TimePoint end = time_->now() + within;
  run();
  while (!holds()) {
    const auto next = time_->nextTimer();
    const bool isLast = !next || *next > end;
    time_->advanceTo(isLast ? end : *next);
    run();
    if (isLast) return holds();
  }
  return true;
}

void TestKit::crash() {
  end(name_);
  for (const auto& [path, store] : stores_) store->crash();
  run();
}

void TestKit::restart() {
  Node& again = begin(name_);
  for (const auto& starter : starters_) starter(again);
  run();
}

std::string TestKit::phase(const std::string& path) const {
  const auto row = node().registry().row(path);
  return row ? row->phase : "none";
}

void TestKit::expectPhase(const std::string& path, const std::string& wanted, Duration within,
                          std::source_location at) {
  if (runUntil([&] { return phase(path) == wanted; }, within)) return;
  reportFailure(at, path + " was to be '" + wanted + "', and is '" + phase(path) + "'\n" + rows());
}

std::string TestKit::text(const Payload& payload) const {
  const auto printer = printers_.find(payload.type());
  return printer == printers_.end() ? payload.summary() : printer->second(payload);
}

std::string TestKit::rows() const {
  if (!nodes_.contains(name_)) return "the node " + name_ + " is down\n";
  std::string lines;
  for (const auto& row : node().registry().rows({})) {
    lines += "  " + row.path + ": " + row.phase;
    if (!row.lastMessage.empty()) lines += ", last message " + row.lastMessage;
    if (!row.lastError.empty()) lines += ", last error: " + row.lastError;
    lines += "\n";
  }
  return "The actors of " + name_ + ":\n" + lines;
}

double TestKit::seconds(TimePoint when) const { return std::chrono::duration<double>(when - began_).count(); }

}  // namespace troupe::probe
