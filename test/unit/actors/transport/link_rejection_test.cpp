// What a node does with connections that are not, or not yet, what they should be.
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
      pipe->inject(1, opener.take(frame).send);
      settle();
    }
    return pipe;
  }
  const LinkCounters& ofPeer() { return *b.links->figures().at(0).counters; }
  size_t read_ = 0;
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
  dial(c);
  dial(c);
  EXPECT_TRUE(dial(c)->closed);
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
  pipe->inject(1, frameBytes({FrameType::kMessage, std::string(16, '\x7f'), {}, {}}));
  settle();
  EXPECT_TRUE(pipe->closed);
  EXPECT_EQ(ofPeer().count(Rejection::kMalformed), 1);
}

TEST_F(Rejecting, ADamagedFrameClosesAnOpenLink) {
  auto pipe = shakeHands();
  ASSERT_TRUE(pipe);
  std::string frame = frameBytes({FrameType::kMessage, std::string(16, 'h'), {}, {}});
  frame.back() = '?';
  pipe->inject(1, frame);
  settle();
  EXPECT_TRUE(pipe->closed);
  EXPECT_EQ(ofPeer().count(Rejection::kChecksum), 1);
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
    pipe->inject(1, queue.take().bytes);
    settle();
    EXPECT_TRUE(pipe->closed);
    EXPECT_EQ(ofPeer().count(answer ? Rejection::kUnexpected : Rejection::kMalformed), 1);
  }
}

TEST_F(Rejecting, AnOpenerRejectsQuestionsOverItsOwnLink) {
  Member& a = add("a:1");
  link(a, b);
  Envelope envelope;
  envelope.kind = MessageKind::kTell;
  envelope.to = Address("a:1", "/node");
  ByteQueue queue;
  appendMessage(queue, envelope, time->now(), {"a:1", "b:2"}, kLargestFrame, true);
  b.reachable = false;
  pipes.at(0)->inject(0, queue.take().bytes);
  settle();
  EXPECT_EQ(a.links->figures().at(0).counters->count(Rejection::kUnexpected), 1);
  EXPECT_EQ(phase(a, "b:2"), "waiting");
}

}  // namespace
}  // namespace troupe::link
