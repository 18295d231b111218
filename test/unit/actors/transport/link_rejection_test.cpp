// Connections that a node refuses: damaged, unauthenticated, too slow.
#include <cstring>

#include "messaging/link/flat_message.hpp"
#include "messaging/schemas/link.capnp.h"
#include "test/unit/actors/transport/link_fixture.hpp"

namespace troupe::link {
namespace {

using namespace std::chrono_literals;

class Rejecting : public LinkTest {
 protected:
  Member& b = add("b:2");
  int64_t rejected(Rejection reason) { return b.links->strangers()->count(reason); }
  /// The other end of a link to b that is open; `identity` must be right.
  std::shared_ptr<Pipe> shakeHands() {
    auto pipe = dial(b);
    OpenerHandshake opener({"a:1", "secret"}, "b:2", settings().random);
    pipe->inject(1, opener.start());
    settle();
    for (int i = 0; i < 2; ++i) {
      FrameReader reader(false);
      reader.feed(pipe->onTheWayTo(0).substr(read_));
      read_ = pipe->onTheWayTo(0).size();
      Frame frame;
      if (reader.next(frame) != FrameReader::Outcome::kFrame) return nullptr;
      const auto step = opener.take(frame);
      if (step.established) proof_.emplace(step.established->keys.outgoing);
      pipe->inject(1, step.send);
      settle();
    }
    return pipe;
  }
  /// The frame in a record, proven by the node that has shaken hands.
  std::string proven(std::string_view frame) {
    std::string record(ByteQueue::kRecordHeader, '\0');
    record += frame;
    sealRecord(record, *proof_);
    return record;
  }
  static std::string beat() {
    const auto head = flatMessage<schema::LinkBeat>([](schema::LinkBeat::Builder out) { out.setSentAtMicros(1); });
    return frameBytes({FrameType::kBeat, head, {}, {}});
  }
  const LinkCounters& ofPeer() { return *b.links->figures().at(0).counters; }
  size_t read_ = 0;
  std::optional<RecordProof> proof_;
};

TEST_F(Rejecting, OtherMagicClosesTheConnection) {
  auto pipe = dial(b);
  pipe->inject(1, "GET / HTTP/1.1\r\n");
  settle();
  EXPECT_TRUE(pipe->closed);
  EXPECT_EQ(rejected(Rejection::kBadMagic), 1);
}

TEST_F(Rejecting, AFrameTooLargeForTheHandshakeClosesTheConnection) {
  auto pipe = dial(b);
  pipe->inject(1, std::string(kMagic) + std::string("\0\0\0\x40\x01\0\0\0\0\0\0\0\0\0\0\0", 16));
  settle();
  EXPECT_TRUE(pipe->closed);
  EXPECT_EQ(rejected(Rejection::kOversized), 1);
}

TEST_F(Rejecting, AConnectionThatEndsWithinAFrameIsCounted) {
  auto pipe = dial(b);
  pipe->inject(1, std::string(kMagic) + "half");
  pipe->cut();
  settle();
  EXPECT_EQ(rejected(Rejection::kTruncated), 1);
}

TEST_F(Rejecting, WhoDoesNotFinishTheHandshakeIsClosed) {
  auto pipe = dial(b);
  advance(4s);
  EXPECT_FALSE(pipe->closed);
  advance(2s);
  EXPECT_TRUE(pipe->closed);
  EXPECT_EQ(rejected(Rejection::kSlow), 1);
}

TEST_F(Rejecting, NoMoreHandshakesAtOnceThanAllowed) {
  LinkSettings few = settings();
  few.handshakesAtOnce = 2;
  Member& c = add("c:3", few);
  auto oldest = dial(c);
  auto second = dial(c);
  auto newest = dial(c);
  settle();
  EXPECT_TRUE(oldest->closed) << "a member would have finished its handshake by now";
  EXPECT_FALSE(second->closed || newest->closed);
  EXPECT_EQ(c.links->strangers()->count(Rejection::kTooMany), 1);
}

TEST_F(Rejecting, ANodeWithAnotherKeyStaysOutside) {
  Member& c = add("c:3", settings("another secret"));
  link(c, b);
  EXPECT_EQ(rejected(Rejection::kAuthentication), 1);
  EXPECT_EQ(phase(c, "b:2"), "waiting");
  const auto outcome = ask(c, Address("b:2", kLinksPath), ping(1));
  EXPECT_EQ(codeOf(outcome), ErrorCode::kHostUnreachable);
  EXPECT_NE((*outcome)->status().reason().find("does not know this cluster's key"), std::string::npos);
  EXPECT_EQ(c.links->figures().at(0).counters->count(Rejection::kRefused), 1);
}

TEST_F(Rejecting, WithoutKeysOnlyNodesOfThisMachineWhenThatIsAllowed) {
  LinkSettings open = settings("");
  open.anonymous = Anonymous::kLoopback;
  Member& c = add("c:3", open);
  Member& d = add("d:4", open);
  link(c, d);
  EXPECT_EQ(phase(c, "d:4"), "open");
  auto pipe = dial(d, false);  // from another machine
  OpenerHandshake opener({"e:5", ""}, "d:4", settings().random);
  pipe->inject(1, opener.start());
  settle();
  EXPECT_TRUE(pipe->closed);
  EXPECT_EQ(d.links->strangers()->count(Rejection::kNotAllowed), 1);
}

TEST_F(Rejecting, AMalformedMessageClosesAnOpenLink) {
  auto pipe = shakeHands();
  ASSERT_TRUE(pipe);
  EXPECT_EQ(ofPeer().opened, 1);
  pipe->inject(1, proven(frameBytes({FrameType::kMessage, std::string(16, '\x7f'), {}, {}})));
  settle();
  EXPECT_TRUE(pipe->closed);
  EXPECT_EQ(ofPeer().count(Rejection::kMalformed), 1);
}

TEST_F(Rejecting, ADamagedFrameClosesAnOpenLink) {
  auto pipe = shakeHands();
  ASSERT_TRUE(pipe);
  std::string frame = frameBytes({FrameType::kMessage, std::string(16, 'h'), {}, {}});
  frame.back() = '?';
  pipe->inject(1, proven(frame));
  settle();
  EXPECT_TRUE(pipe->closed);
  EXPECT_EQ(ofPeer().count(Rejection::kChecksum), 1);
}

TEST_F(Rejecting, AProvenFrameIsTaken) {
  auto pipe = shakeHands();
  ASSERT_TRUE(pipe);
  for (int i = 0; i < 3; ++i) pipe->inject(1, proven(beat()));
  settle();
  EXPECT_FALSE(pipe->closed);
}

TEST_F(Rejecting, AFrameWithoutAProofClosesTheLink) {
  auto pipe = shakeHands();
  ASSERT_TRUE(pipe);
  pipe->inject(1, beat());
  settle();
  EXPECT_TRUE(pipe->closed);
  EXPECT_EQ(ofPeer().count(Rejection::kProof), 1);
  EXPECT_NE(pipe->onTheWayTo(0).find("wrong proof"), std::string::npos) << "the other side is told why";
}

TEST_F(Rejecting, ARecordThatIsRepeatedLeftOutMovedOrChangedClosesTheLink) {
  for (const char* what : {"repeated", "left out", "moved", "changed", "of another link"}) {
    read_ = 0;
    auto pipe = shakeHands();
    ASSERT_TRUE(pipe);
    const int64_t before = ofPeer().count(Rejection::kProof);
    std::string first = proven(beat()), second = proven(beat());
    const std::string_view tried(what);
    if (tried == "repeated") second = first;
    if (tried == "left out") first.clear();
    if (tried == "moved") std::swap(first, second);
    if (tried == "changed") first[40] ^= 1;
    if (tried == "of another link") {
      read_ = 0;
      pipe = shakeHands();
      read_ = 0;
    }
    pipe->inject(1, first + second);
    settle();
    EXPECT_TRUE(pipe->closed) << what;
    EXPECT_EQ(ofPeer().count(Rejection::kProof), before + 1) << what;
  }
}

TEST_F(Rejecting, ARecordLargerThanAnyClosesTheLinkBeforeItsBytesCome) {
  auto pipe = shakeHands();
  ASSERT_TRUE(pipe);
  std::string header = proven(beat()).substr(0, kFrameHeader);
  const uint32_t size = kLargestRecord + 8;
  std::memcpy(header.data(), &size, sizeof size);
  pipe->inject(1, header);
  settle();
  EXPECT_TRUE(pipe->closed);
  EXPECT_EQ(ofPeer().count(Rejection::kOversized), 1);
}

TEST_F(Rejecting, AConnectionThatEndsWithinALargeMessageIsCounted) {
  auto pipe = shakeHands();
  ASSERT_TRUE(pipe);
  Envelope envelope;
  envelope.to = Address("b:2", "/node");
  envelope.payload = ping(1, 100'000);
  ByteQueue queue;
  queue.setProven(true);
  appendMessage(queue, envelope, time->now(), {"b:2", "a:1"}, kLargestFrame, false);
  std::string whole = queue.take().bytes;
  const auto firstPart = whole.substr(ByteQueue::kRecordHeader, kLargestPart);
  pipe->inject(1, proven(firstPart));
  pipe->cut();
  settle();
  EXPECT_EQ(ofPeer().count(Rejection::kTruncated), 1);
}

TEST_F(Rejecting, AnswersToNothingAndMessagesForOthersCloseTheLink) {
  for (const bool answer : {true, false}) {
    read_ = 0;
    auto pipe = shakeHands();
    ASSERT_TRUE(pipe);
    Envelope envelope;
    envelope.kind = answer ? MessageKind::kReply : MessageKind::kTell;
    envelope.to = Address(answer ? "b:2" : "z:9", "/node");
    ByteQueue queue;
    appendMessage(queue, envelope, time->now(), {"b:2", "a:1"}, kLargestFrame, true);
    pipe->inject(1, proven(queue.take().bytes));
    settle();
    EXPECT_TRUE(pipe->closed);
    EXPECT_EQ(ofPeer().count(answer ? Rejection::kUnexpected : Rejection::kMalformed), 1);
  }
}

TEST_F(Rejecting, AnOpenerRejectsQuestionsOverItsOwnLink) {
  LinkSettings open = settings("");  // nobody here could prove a frame of b's
  open.anonymous = Anonymous::kLoopback;
  Member& a = add("a:1", open);
  Member& c = add("c:3", open);
  link(a, c);
  Envelope envelope;
  envelope.kind = MessageKind::kTell;
  envelope.to = Address("a:1", "/node");
  ByteQueue queue;
  appendMessage(queue, envelope, time->now(), {"a:1", "c:3"}, kLargestFrame, true);
  c.reachable = false;
  pipes.at(0)->inject(0, queue.take().bytes);
  settle();
  EXPECT_EQ(a.links->figures().at(0).counters->count(Rejection::kUnexpected), 1);
  EXPECT_EQ(phase(a, "c:3"), "waiting");
}

}  // namespace
}  // namespace troupe::link
