#include "messaging/link/handshake.hpp"

#include "messaging/auth/crypto.hpp"
#include "messaging/link/flat_message.hpp"
#include "messaging/schemas/link.capnp.h"

namespace troupe::link {

namespace {

using auth::Mechanism;
using Authentication = schema::LinkHello::Authentication;

constexpr size_t kNonceSize = 32;
constexpr size_t kLongestName = 512;
constexpr size_t kLongestReason = 500;
/// A peer that takes less than this could not even be answered.
constexpr size_t kSmallestFrame = kHandshakeFrame;

std::string_view text(capnp::Text::Reader in) { return {in.cStr(), in.size()}; }
std::string_view bytes(capnp::Data::Reader in) { return {reinterpret_cast<const char*>(in.begin()), in.size()}; }
capnp::Data::Reader asData(std::string_view in) { return {reinterpret_cast<const kj::byte*>(in.data()), in.size()}; }

HandshakeStep reject(Rejection reason, std::string detail) {
  HandshakeStep step;
  step.send = closingFrame(std::string(rejectionName(reason)) + ": " + detail);
  step.rejected = {reason, std::move(detail)};
  return step;
}

HandshakeStep send(FrameType type, std::string_view head) {
  HandshakeStep step;
  step.send = frameBytes({type, head, {}, {}});
  return step;
}

/// Each part with its length before it, so that no two lists of parts read alike.
std::string joined(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (const auto part : parts) {
    const uint64_t size = part.size();
    for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<char>(size >> shift));
    out += part;
  }
  return out;
}

/// Transcript of the handshake, as both sides have seen it.
struct Exchange {
  std::string_view opener, acceptor, openerNonce, acceptorNonce;
  size_t openerMaxFrame, acceptorMaxFrame;
};

std::string transcriptOf(const Exchange& seen) {
  return joined({std::to_string(kProtocolVersion), seen.opener, seen.acceptor, seen.openerNonce, seen.acceptorNonce,
                 std::to_string(seen.openerMaxFrame), std::to_string(seen.acceptorMaxFrame)});
}

/// The cluster's key for links alone.
std::string linkKey(const std::string& key) { return auth::hmac(Mechanism::kScramSha256, key, "troupe cluster link"); }

/// Empty without a key.
std::string prove(const std::string& key, std::string_view role, const std::string& transcript) {
  if (key.empty()) return {};
  return auth::hmac(Mechanism::kScramSha256, linkKey(key), joined({role, transcript}));
}

/// The keys as the opener has them.
LinkKeys keysOf(const std::string& key, const std::string& transcript) {
  if (key.empty()) return {};
  const std::string secret = linkKey(key);
  return {auth::hkdf(secret, transcript, "records of the opener", kRecordKey),
          auth::hkdf(secret, transcript, "records of the acceptor", kRecordKey)};
}

std::string proofHead(std::string_view proof) {
  return flatMessage<schema::LinkProof>([&](schema::LinkProof::Builder out) { out.setProof(asData(proof)); });
}

bool proves(const Frame& frame, std::string_view expected) {
  bool right = false;
  const bool readable = readFlat<schema::LinkProof>(frame.head, [&](schema::LinkProof::Reader in) {
    right = auth::equalInConstantTime(bytes(in.getProof()), expected);
  });
  return readable && right;
}

bool nameIsUsable(std::string_view name) { return !name.empty() && name.size() <= kLongestName && name[0] != '@'; }

HandshakeStep wrongKey() {
  return reject(Rejection::kAuthentication, "the other node does not know this cluster's key");
}

HandshakeStep notDue(const Frame& frame) {
  if (frame.type == FrameType::kClosing) {
    HandshakeStep step;
    step.rejected = {Rejection::kRefused, closingReason(frame)};
    return step;
  }
  return reject(Rejection::kUnexpected, "a frame that is not due in the handshake");
}

HandshakeStep unreadable() { return reject(Rejection::kMalformed, "a frame of the handshake cannot be read"); }

HandshakeStep otherVersion(uint32_t version) {
  return reject(Rejection::kVersion, "the other node speaks version " + std::to_string(version) +
                                         " of the link protocol, this one " + std::to_string(kProtocolVersion));
}

}  // namespace

std::string closingFrame(std::string_view reason) {
  const std::string shown(reason.substr(0, kLongestReason));
  return frameBytes({FrameType::kClosing,
                     flatMessage<schema::LinkClosing>([&](schema::LinkClosing::Builder out) { out.setReason(shown); }),
                     {},
                     {}});
}

std::string closingReason(const Frame& frame) {
  std::string reason = "no reason";
  readFlat<schema::LinkClosing>(frame.head, [&](schema::LinkClosing::Reader in) {
    reason = std::string(text(in.getReason()).substr(0, kLongestReason));
  });
  return reason;
}

OpenerHandshake::OpenerHandshake(Identity self, std::string peer, const auth::RandomSource& random)
    : self_(std::move(self)), peer_(std::move(peer)), nonce_(auth::randomBytes(random, kNonceSize)) {}

std::string OpenerHandshake::start() const {
  const std::string hello = flatMessage<schema::LinkHello>([&](schema::LinkHello::Builder out) {
    out.setVersion(kProtocolVersion);
    out.setFrom(self_.node);
    out.setTo(peer_);
    out.setNonce(asData(nonce_));
    out.setAuthentication(self_.key.empty() ? Authentication::NONE : Authentication::KEY_FILE);
    out.setMaxFrameBytes(static_cast<uint32_t>(self_.maxFrame));
  });
  return std::string(kMagic) + frameBytes({FrameType::kHello, hello, {}, {}});
}

HandshakeStep OpenerHandshake::take(const Frame& frame) {
  if (frame.type != due_) return notDue(frame);
  return due_ == FrameType::kChallenge ? takeChallenge(frame) : takeWelcome(frame);
}

HandshakeStep OpenerHandshake::takeChallenge(const Frame& frame) {
  std::string nonce;
  uint32_t version = 0;
  const bool readable = readFlat<schema::LinkChallenge>(frame.head, [&](schema::LinkChallenge::Reader in) {
    version = in.getVersion();
    nonce = bytes(in.getNonce());
    peerMaxFrame_ = in.getMaxFrameBytes();
  });
  if (!readable) return unreadable();
  if (version != kProtocolVersion) return otherVersion(version);
  // An echoed nonce would make the peer's proof a replay of our own.
  if (nonce.size() != kNonceSize || nonce == nonce_ || peerMaxFrame_ < kSmallestFrame) return unreadable();
  transcript_ = transcriptOf({self_.node, peer_, nonce_, nonce, self_.maxFrame, peerMaxFrame_});
  due_ = FrameType::kWelcome;
  return send(FrameType::kProof, proofHead(prove(self_.key, "opener", transcript_)));
}

HandshakeStep OpenerHandshake::takeWelcome(const Frame& frame) {
  if (!proves(frame, prove(self_.key, "acceptor", transcript_))) return wrongKey();
  HandshakeStep step;
  step.established = {peer_, peerMaxFrame_, !self_.key.empty(), keysOf(self_.key, transcript_)};
  return step;
}

AcceptorHandshake::AcceptorHandshake(Identity self, bool anonymous, const auth::RandomSource& random)
    : self_(std::move(self)), anonymous_(anonymous), nonce_(auth::randomBytes(random, kNonceSize)) {}

HandshakeStep AcceptorHandshake::take(const Frame& frame) {
  if (frame.type != due_) return notDue(frame);
  return due_ == FrameType::kHello ? takeHello(frame) : takeProof(frame);
}

HandshakeStep AcceptorHandshake::takeHello(const Frame& frame) {
  std::string to, nonce;
  uint32_t version = 0;
  Authentication authentication = Authentication::NONE;
  const bool readable = readFlat<schema::LinkHello>(frame.head, [&](schema::LinkHello::Reader in) {
    version = in.getVersion();
    agreed_.peer = text(in.getFrom());
    to = text(in.getTo());
    nonce = bytes(in.getNonce());
    authentication = in.getAuthentication();
    agreed_.maxFrame = in.getMaxFrameBytes();
  });
  if (!readable) return unreadable();
  if (version != kProtocolVersion) return otherVersion(version);
  if (nonce.size() != kNonceSize || agreed_.maxFrame < kSmallestFrame || !nameIsUsable(agreed_.peer))
    return unreadable();
  if (to != self_.node) return reject(Rejection::kWrongNode, "this node is " + self_.node + ", not " + to);
  if (agreed_.peer == self_.node) return reject(Rejection::kWrongNode, "both nodes are called " + self_.node);
  const bool keyed = authentication == Authentication::KEY_FILE;
  if (keyed && self_.key.empty()) return reject(Rejection::kNotAllowed, "this node has no key file");
  if (!keyed && !self_.key.empty()) return reject(Rejection::kNotAllowed, "this node asks for the cluster's key");
  if (!keyed && !anonymous_) return reject(Rejection::kNotAllowed, "this node takes no links without a key from there");
  agreed_.authenticated = keyed;
  transcript_ = transcriptOf({agreed_.peer, self_.node, nonce, nonce_, agreed_.maxFrame, self_.maxFrame});
  due_ = FrameType::kProof;
  return send(FrameType::kChallenge, flatMessage<schema::LinkChallenge>([&](schema::LinkChallenge::Builder out) {
                out.setVersion(kProtocolVersion);
                out.setNonce(asData(nonce_));
                out.setMaxFrameBytes(static_cast<uint32_t>(self_.maxFrame));
              }));
}

HandshakeStep AcceptorHandshake::takeProof(const Frame& frame) {
  if (!proves(frame, prove(self_.key, "opener", transcript_))) return wrongKey();
  HandshakeStep step = send(FrameType::kWelcome, proofHead(prove(self_.key, "acceptor", transcript_)));
  agreed_.keys = keysOf(self_.key, transcript_);
  std::swap(agreed_.keys.outgoing, agreed_.keys.incoming);
  step.established = agreed_;
  return step;
}

}  // namespace troupe::link
