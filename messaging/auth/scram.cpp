#include "messaging/auth/scram.hpp"

#include <charconv>
#include <optional>

namespace troupe::auth {
namespace {

constexpr std::string_view kGs2Header = "n,,";  // no channel binding, no authorisation identity
constexpr size_t kMaxMessage = 8 * 1024;
constexpr int kMaxIterations = 10'000'000;  // more would keep a client busy for the server's pleasure

/// Takes "<key>=<value>" off the front, up to the next comma.
std::optional<std::string_view> takeAttribute(std::string_view& message, char key) {
  if (message.size() < 2 || message[0] != key || message[1] != '=') return {};
  const auto comma = message.find(',');
  const auto value = message.substr(2, comma == message.npos ? message.npos : comma - 2);
  message.remove_prefix(comma == message.npos ? message.size() : comma + 1);
  return value;
}

bool isPrintable(std::string_view text) {
  for (const char c : text)
    if (c < 0x21 || c > 0x7E || c == ',') return false;
  return !text.empty();
}

/// Names travel with ',' as "=2C" and '=' as "=3D".
std::string escapeName(std::string_view name) {
  std::string text;
  for (const char c : name) text += c == ',' ? "=2C" : c == '=' ? "=3D" : std::string(1, c);
  return text;
}

std::optional<std::string> unescapeName(std::string_view text) {
  std::string name;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '=') {
      name += text[at];
      continue;
    }
    const auto code = text.substr(at, 3);
    if (code != "=2C" && code != "=3D") return {};
    name += code == "=2C" ? ',' : '=';
    at += 2;
  }
  return name;
}

std::string exclusiveOr(std::string_view a, std::string_view b) {
  std::string result(a);
  for (size_t i = 0; i < result.size(); ++i) result[i] = static_cast<char>(result[i] ^ b[i]);
  return result;
}

Status failure(std::string reason) { return {ErrorCode::kAuthenticationFailed, std::move(reason)}; }

}  // namespace

std::string makeNonce(const RandomSource& random) { return toBase64(randomBytes(random, 24)); }

Status ScramServer::fail(std::string reason) {
  phase_ = Phase::kFailed;
  return failure(std::move(reason));
}

Status ScramServer::clientFirst(std::string_view message) {
  if (phase_ != Phase::kStart) return fail("SCRAM message out of order");
  if (message.size() > kMaxMessage) return fail("SCRAM message too long");
  // "n" or "y": no channel binding; then an authorisation identity, which may only repeat the user.
  if (!message.starts_with("n,") && !message.starts_with("y,")) return fail("SCRAM channel binding is not supported");
  const auto comma = message.find(',', 2);
  if (comma == message.npos) return fail("malformed SCRAM client-first message");
  gs2Header_ = message.substr(0, comma + 1);
  clientFirstBare_ = message.substr(comma + 1);

  std::string_view rest = clientFirstBare_;
  const auto name = takeAttribute(rest, 'n');  // a mandatory extension ("m=") fails here
  const auto nonce = takeAttribute(rest, 'r');
  if (!name || name->empty() || !nonce || !isPrintable(*nonce)) return fail("malformed SCRAM client-first message");
  auto user = unescapeName(*name);
  if (!user) return fail("malformed user name in SCRAM client-first message");
  const auto identity = message.substr(2, comma - 2);
  if (!identity.empty() && identity != "a=" + std::string(*name))
    return fail("SCRAM authorisation as another user is not supported");
  user_ = std::move(*user);
  nonce_.insert(0, *nonce);
  phase_ = Phase::kUserKnown;
  return {};
}

std::string ScramServer::challenge(ScramCredentials credentials) {
  credentials_ = std::move(credentials);
  serverFirst_ =
      "r=" + nonce_ + ",s=" + toBase64(credentials_.salt) + ",i=" + std::to_string(credentials_.iterationCount);
  phase_ = phase_ == Phase::kUserKnown ? Phase::kChallenged : Phase::kFailed;
  return serverFirst_;
}

StatusWith<std::string> ScramServer::clientFinal(std::string_view message) {
  if (phase_ != Phase::kChallenged) return fail("SCRAM message out of order");
  if (message.size() > kMaxMessage) return fail("SCRAM message too long");
  const auto proofAt = message.rfind(",p=");
  if (proofAt == message.npos) return fail("SCRAM client-final message without a proof");
  const auto withoutProof = message.substr(0, proofAt);
  std::string_view rest = withoutProof;
  const auto binding = takeAttribute(rest, 'c');
  const auto nonce = takeAttribute(rest, 'r');
  if (!binding || *binding != toBase64(gs2Header_)) return fail("SCRAM channel binding changed");
  if (!nonce || *nonce != nonce_) return fail("SCRAM nonce does not match");
  const auto proof = fromBase64(message.substr(proofAt + 3));
  if (!proof.isOK() || proof->size() != digestSize(mechanism_)) return fail("malformed SCRAM proof");

  const auto authMessage = clientFirstBare_ + "," + serverFirst_ + "," + std::string(withoutProof);
  const auto clientKey = exclusiveOr(*proof, hmac(mechanism_, credentials_.storedKey, authMessage));
  if (!equalInConstantTime(digest(mechanism_, clientKey), credentials_.storedKey))
    return fail("SCRAM authentication failed, storedKey mismatch");
  phase_ = Phase::kProven;
  return "v=" + toBase64(hmac(mechanism_, credentials_.serverKey, authMessage));
}

ScramClient::ScramClient(Mechanism mechanism, std::string_view user, std::string preparedPassword, std::string nonce)
    : mechanism_(mechanism),
      password_(std::move(preparedPassword)),
      nonce_(std::move(nonce)),
      firstBare_("n=" + escapeName(user) + ",r=" + nonce_) {}

std::string ScramClient::first() const { return std::string(kGs2Header) + firstBare_; }

StatusWith<std::string> ScramClient::final(std::string_view serverFirst) {
  std::string_view rest = serverFirst;
  const auto nonce = takeAttribute(rest, 'r');
  const auto salt = takeAttribute(rest, 's');
  const auto count = takeAttribute(rest, 'i');
  if (!nonce || !salt || !count) return failure("malformed SCRAM server-first message");
  if (!nonce->starts_with(nonce_) || nonce->size() == nonce_.size())
    return failure("the server changed the SCRAM nonce");
  int iterations = 0;
  const auto parsed = std::from_chars(count->data(), count->data() + count->size(), iterations);
  if (parsed.ec != std::errc() || parsed.ptr != count->data() + count->size() || iterations < kMinIterations ||
      iterations > kMaxIterations)
    return failure("the server asks for an unacceptable number of SCRAM iterations");
  const auto saltBytes = fromBase64(*salt);
  if (!saltBytes.isOK()) return failure("malformed SCRAM salt");

  const auto salted = pbkdf2(mechanism_, password_, *saltBytes, iterations);
  const auto clientKey = hmac(mechanism_, salted, "Client Key");
  const auto withoutProof = "c=" + toBase64(kGs2Header) + ",r=" + std::string(*nonce);
  const auto authMessage = firstBare_ + "," + std::string(serverFirst) + "," + withoutProof;
  serverSignature_ = hmac(mechanism_, hmac(mechanism_, salted, "Server Key"), authMessage);
  return withoutProof +
         ",p=" + toBase64(exclusiveOr(clientKey, hmac(mechanism_, digest(mechanism_, clientKey), authMessage)));
}

Status ScramClient::verify(std::string_view serverFinal) const {
  std::string_view rest = serverFinal;
  if (const auto error = takeAttribute(rest, 'e')) return failure("the server refuses: " + std::string(*error));
  const auto signature = takeAttribute(rest, 'v');
  const auto bytes = signature ? fromBase64(*signature) : StatusWith<std::string>(failure("no signature"));
  if (serverSignature_.empty() || !bytes.isOK() || !equalInConstantTime(*bytes, serverSignature_))
    return failure("the server does not know the password");
  return {};
}

}  // namespace troupe::auth
