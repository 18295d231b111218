#include "messaging/link/handshake.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "messaging/link/flat_message.hpp"
#include "messaging/schemas/link.capnp.h"

namespace troupe::link {
namespace {

/// Chance from a seed, as tests and simulations give it.
auth::RandomSource seeded(uint64_t seed) {
  return [source = std::make_shared<std::mt19937_64>(seed)](void* bytes, size_t size) {
    for (size_t i = 0; i < size; ++i) static_cast<char*>(bytes)[i] = static_cast<char>((*source)());
  };
}

Identity node(std::string name, std::string key = "the cluster's key") { return {std::move(name), std::move(key)}; }

/// A reader that has the one frame of these bytes; the frame borrows from it.
struct Parsed {
  explicit Parsed(const std::string& bytes, bool magic = false) : reader(magic) {
    reader.feed(bytes);
    readable = reader.next(frame) == FrameReader::Outcome::kFrame;
  }
  FrameReader reader;
  Frame frame;
  bool readable = false;
};

struct Pair {
  OpenerHandshake opener;
  AcceptorHandshake acceptor;
  explicit Pair(Identity a = node("a:1"), Identity b = node("b:2"), bool anonymous = false, std::string meant = "b:2")
      : opener(std::move(a), std::move(meant), seeded(1)), acceptor(std::move(b), anonymous, seeded(2)) {}
};

HandshakeStep give(OpenerHandshake& to, const std::string& bytes) { return to.take(Parsed(bytes).frame); }
HandshakeStep give(AcceptorHandshake& to, const std::string& bytes, bool magic = false) {
  return to.take(Parsed(bytes, magic).frame);
}

Rejection reasonOf(const HandshakeStep& step) { return step.rejected ? step.rejected->reason : Rejection::kCount; }

TEST(LinkHandshake, TwoNodesOfOneClusterAgree) {
  Pair p;
  const auto challenge = give(p.acceptor, p.opener.start(), true);
  const auto proof = give(p.opener, challenge.send);
  EXPECT_FALSE(proof.established) << "the opener must not trust before the acceptor has proven itself";
  const auto welcome = give(p.acceptor, proof.send);
  ASSERT_TRUE(welcome.established);
  EXPECT_EQ(welcome.established->peer, "a:1");
  EXPECT_TRUE(welcome.established->authenticated);
  const auto last = give(p.opener, welcome.send);
  ASSERT_TRUE(last.established);
  EXPECT_EQ(last.established->peer, "b:2");
  EXPECT_TRUE(last.established->authenticated);
  EXPECT_TRUE(last.send.empty());
  const auto &ours = last.established->keys, &theirs = welcome.established->keys;
  EXPECT_EQ(ours.outgoing.size(), kRecordKey);
  EXPECT_EQ(ours.outgoing, theirs.incoming);
  EXPECT_EQ(ours.incoming, theirs.outgoing);
  EXPECT_NE(ours.incoming, ours.outgoing);
}

TEST(LinkHandshake, NeverSendsTheKey) {
  Pair p;
  const auto hello = p.opener.start();
  const auto challenge = give(p.acceptor, hello, true);
  const auto proof = give(p.opener, challenge.send);
  const auto welcome = give(p.acceptor, proof.send);
  for (const auto& bytes : {hello, challenge.send, proof.send, welcome.send})
    EXPECT_EQ(bytes.find("the cluster's key"), std::string::npos);
}

TEST(LinkHandshake, AnOpenerWithAnotherKeyIsRejected) {
  Pair p(node("a:1", "another key"));
  const auto proof = give(p.opener, give(p.acceptor, p.opener.start(), true).send);
  const auto step = give(p.acceptor, proof.send);
  EXPECT_EQ(reasonOf(step), Rejection::kAuthentication);
  EXPECT_FALSE(step.established);
  EXPECT_EQ(reasonOf(give(p.opener, step.send)), Rejection::kRefused);  // and hears why
}

TEST(LinkHandshake, AnAcceptorWithAnotherKeyIsRejected) {
  // It cannot check the proof, so it says yes to anything; the opener does not.
  Pair p;
  const auto challenge = give(p.acceptor, p.opener.start(), true);
  (void)give(p.opener, challenge.send);
  const std::string forged = frameBytes({FrameType::kWelcome,
                                         flatMessage<schema::LinkProof>([](auto out) {
                                           const std::string guess(32, 'x');
                                           out.setProof({reinterpret_cast<const kj::byte*>(guess.data()), 32});
                                         }),
                                         {},
                                         {}});
  EXPECT_EQ(reasonOf(give(p.opener, forged)), Rejection::kAuthentication);
}

TEST(LinkHandshake, ReplayedFramesOfAnOpenerAreRejected) {
  Pair first;
  const auto hello = first.opener.start();
  const auto proof = give(first.opener, give(first.acceptor, hello, true).send);
  ASSERT_TRUE(give(first.acceptor, proof.send).established);
  AcceptorHandshake again(node("b:2"), false, seeded(3));  // the same node, a new nonce
  ASSERT_FALSE(give(again, hello, true).rejected);
  EXPECT_EQ(reasonOf(give(again, proof.send)), Rejection::kAuthentication);
}

TEST(LinkHandshake, AReplayedAcceptorIsRejected) {
  Pair first;
  const auto challenge = give(first.acceptor, first.opener.start(), true);
  const auto welcome = give(first.acceptor, give(first.opener, challenge.send).send);
  OpenerHandshake again(node("a:1"), "b:2", seeded(4));
  (void)again.start();
  ASSERT_FALSE(give(again, challenge.send).rejected);
  EXPECT_EQ(reasonOf(give(again, welcome.send)), Rejection::kAuthentication);
}

TEST(LinkHandshake, ItsOwnWordsHeldUpToItDoNotConvinceANode) {
  // A stranger without the key connects to a:1 as b:2, gets a:1 to open a link to it, and passes on what it hears.
  OpenerHandshake victimAsOpener(node("a:1"), "b:2", seeded(5));
  AcceptorHandshake victimAsAcceptor(node("a:1"), false, seeded(6));
  OpenerHandshake stranger({"b:2", "no idea"}, "a:1", seeded(7));
  const auto challenge = give(victimAsAcceptor, stranger.start(), true);
  ASSERT_FALSE(challenge.rejected);
  const auto proof = give(victimAsOpener, challenge.send);  // the victim's own challenge comes back to it
  ASSERT_FALSE(proof.send.empty());
  EXPECT_EQ(reasonOf(give(victimAsAcceptor, proof.send)), Rejection::kAuthentication);
  // And the proof of the opener, sent back as the welcome, is that of the wrong role.
  std::string reflected = proof.send;
  Parsed parsed(reflected);
  reflected = frameBytes({FrameType::kWelcome, parsed.frame.head, {}, {}});
  EXPECT_EQ(reasonOf(give(victimAsOpener, reflected)), Rejection::kAuthentication);
}

TEST(LinkHandshake, AHelloSentBackIsNoChallenge) {
  OpenerHandshake opener(node("a:1"), "b:2", seeded(1));
  EXPECT_EQ(reasonOf(give(opener, opener.start().substr(kMagic.size()))), Rejection::kUnexpected);
}

TEST(LinkHandshake, TheOwnNonceIsNoChallenge) {
  OpenerHandshake opener(node("a:1"), "b:2", seeded(1));
  Parsed hello(opener.start(), true);
  const std::string echoed =
      frameBytes({FrameType::kChallenge,
                  flatMessage<schema::LinkChallenge>([&](schema::LinkChallenge::Builder out) {
                    readFlat<schema::LinkHello>(hello.frame.head, [&](auto in) { out.setNonce(in.getNonce()); });
                    out.setVersion(kProtocolVersion);
                    out.setMaxFrameBytes(1 << 20);
                  }),
                  {},
                  {}});
  EXPECT_EQ(reasonOf(give(opener, echoed)), Rejection::kMalformed);
}

TEST(LinkHandshake, OtherVersionsAreRejectedOnBothSides) {
  AcceptorHandshake acceptor(node("b:2"), false, seeded(2));
  const std::string hello =
      frameBytes({FrameType::kHello,
                  flatMessage<schema::LinkHello>([](auto out) { out.setVersion(kProtocolVersion + 1); }),
                  {},
                  {}});
  EXPECT_EQ(reasonOf(give(acceptor, hello)), Rejection::kVersion);
  OpenerHandshake opener(node("a:1"), "b:2", seeded(1));
  const std::string challenge =
      frameBytes({FrameType::kChallenge,
                  flatMessage<schema::LinkChallenge>([](auto out) { out.setVersion(kProtocolVersion + 1); }),
                  {},
                  {}});
  EXPECT_EQ(reasonOf(give(opener, challenge)), Rejection::kVersion);
}

TEST(LinkHandshake, ANodeAnswersOnlyToItsName) {
  Pair p(node("a:1"), node("b:2"), false, "c:3");
  const auto step = give(p.acceptor, p.opener.start(), true);
  EXPECT_EQ(reasonOf(step), Rejection::kWrongNode);
  EXPECT_NE(give(p.opener, step.send).rejected->detail.find("this node is b:2, not c:3"), std::string::npos);
  Pair self(node("b:2"), node("b:2"));
  EXPECT_EQ(reasonOf(give(self.acceptor, self.opener.start(), true)), Rejection::kWrongNode);
}

TEST(LinkHandshake, WithoutKeysOnlyWhereThatIsAllowed) {
  Pair allowed(node("a:1", ""), node("b:2", ""), true);
  const auto proof = give(allowed.opener, give(allowed.acceptor, allowed.opener.start(), true).send);
  const auto welcome = give(allowed.acceptor, proof.send);
  ASSERT_TRUE(welcome.established);
  EXPECT_FALSE(welcome.established->authenticated);
  EXPECT_TRUE(give(allowed.opener, welcome.send).established);
  Pair refused(node("a:1", ""), node("b:2", ""), false);
  EXPECT_EQ(reasonOf(give(refused.acceptor, refused.opener.start(), true)), Rejection::kNotAllowed);
}

TEST(LinkHandshake, OneSideWithoutAKeyIsRejectedWhateverIsAllowed) {
  Pair without(node("a:1", ""), node("b:2"), true);
  EXPECT_EQ(reasonOf(give(without.acceptor, without.opener.start(), true)), Rejection::kNotAllowed);
  Pair alone(node("a:1"), node("b:2", ""), true);
  EXPECT_EQ(reasonOf(give(alone.acceptor, alone.opener.start(), true)), Rejection::kNotAllowed);
}

TEST(LinkHandshake, AMiddlemanCannotChangeWhatIsAgreed) {
  // The limit of the opener is raised on the way: the proofs cover it.
  Identity small = node("a:1");
  small.maxFrame = 100'000;
  Pair p(small);
  Parsed hello(p.opener.start(), true);
  const std::string changed =
      frameBytes({FrameType::kHello,
                  flatMessage<schema::LinkHello>([&](schema::LinkHello::Builder out) {
                    readFlat<schema::LinkHello>(hello.frame.head, [&](schema::LinkHello::Reader in) {
                      out.setVersion(in.getVersion());
                      out.setFrom(in.getFrom());
                      out.setTo(in.getTo());
                      out.setNonce(in.getNonce());
                      out.setAuthentication(in.getAuthentication());
                      out.setMaxFrameBytes(in.getMaxFrameBytes() * 2);
                    });
                  }),
                  {},
                  {}});
  const auto proof = give(p.opener, give(p.acceptor, changed).send);
  EXPECT_EQ(reasonOf(give(p.acceptor, proof.send)), Rejection::kAuthentication);
}

TEST(LinkHandshake, DamagedAndTruncatedContentIsRejected) {
  Pair whole;
  Parsed hello(whole.opener.start(), true);
  const std::string head(hello.frame.head);
  for (size_t size = 0; size < head.size(); size += 8) {
    AcceptorHandshake acceptor(node("b:2"), false, seeded(2));
    EXPECT_TRUE(give(acceptor, frameBytes({FrameType::kHello, head.substr(0, size), {}, {}})).rejected) << size;
  }
  for (size_t i = 0; i < head.size(); ++i) {
    std::string damaged = head;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x5A);
    AcceptorHandshake acceptor(node("b:2"), false, seeded(2));
    EXPECT_FALSE(give(acceptor, frameBytes({FrameType::kHello, damaged, {}, {}})).established);
  }
}

TEST(LinkHandshake, FramesOutOfOrderAreRejected) {
  Pair p;
  const auto proofFirst = frameBytes({FrameType::kProof, {}, {}, {}});
  EXPECT_EQ(reasonOf(give(p.acceptor, proofFirst)), Rejection::kUnexpected);
  EXPECT_EQ(reasonOf(give(p.opener, frameBytes({FrameType::kWelcome, {}, {}, {}}))), Rejection::kUnexpected);
  Pair q;
  (void)give(q.acceptor, q.opener.start(), true);
  EXPECT_EQ(reasonOf(give(q.acceptor, frameBytes({FrameType::kMessage, {}, {}, {}}))), Rejection::kUnexpected);
}

}  // namespace
}  // namespace troupe::link
