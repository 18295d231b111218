#include "messaging/auth/sasl.hpp"

namespace troupe::auth {
namespace {

constexpr size_t kShownMechanismBytes = 64;
constexpr int kConversationId = 1;  // one conversation a connection at a time

bson::Binary generic(std::string_view bytes) { return {bson::kBinaryGeneric, bytes}; }

/// Payloads are binary; old clients send base64 text.
StatusWith<std::string> payloadOf(bson::View command) {
  const auto payload = command["payload"];
  if (payload.is(bson::Type::kBinary)) return std::string(payload.asBinary().bytes);
  if (payload.is(bson::Type::kString)) return fromBase64(payload.asString());
  if (!payload.ok()) return {ErrorCode::kNoSuchKey, "Missing expected field \"payload\""};
  return {ErrorCode::kTypeMismatch, "Wrong type for field 'payload': expected binary or string"};
}

}  // namespace

StatusWith<SaslConversation> SaslConversation::start(bson::View command, std::string_view database,
                                                     const RandomSource& random) {
  const auto name = command["mechanism"];
  if (!name.is(bson::Type::kString)) return {ErrorCode::kNoSuchKey, "Missing expected field \"mechanism\""};
  const auto mechanism = mechanismByName(name.asString());
  if (!mechanism.isOK())  // a stranger's text is not repeated at length, here and in the log
    return {ErrorCode::kMechanismUnavailable, "Received authentication for mechanism " +
                                                  std::string(name.asString().substr(0, kShownMechanismBytes)) +
                                                  " which is unknown or not enabled"};
  TROUPE_ASSIGN(const auto payload, payloadOf(command));
  const auto options = command["options"];
  const bool skip = options.is(bson::Type::kDocument) && options.asDocument()["skipEmptyExchange"].truthy();
  SaslConversation conversation(ScramServer(*mechanism, makeNonce(random)), database, skip);
  TROUPE_TRY(conversation.server_.clientFirst(payload));
  return conversation;
}

bson::Document SaslConversation::answer(std::string_view payload) const {
  return bson::doc("conversationId", kConversationId, "done", done_, "payload", generic(payload));
}

bson::Document SaslConversation::challenge(ScramCredentials credentials) {
  return answer(server_.challenge(std::move(credentials)));
}

StatusWith<bson::Document> SaslConversation::proceed(bson::View command) {
  if (done_ || command["conversationId"].toInt64(-1) != kConversationId)
    return {ErrorCode::kProtocolError, "sasl: Mismatched conversation id"};
  TROUPE_ASSIGN(const auto payload, payloadOf(command));
  if (server_.proven()) {  // the empty exchange that ends the conversation for clients which didn't ask to skip it
    if (!payload.empty()) return {ErrorCode::kAuthenticationFailed, "SCRAM message after the last one"};
    done_ = true;
    return answer({});
  }
  TROUPE_ASSIGN(const auto last, server_.clientFinal(payload));
  done_ = skipEmptyExchange_;
  return answer(last);
}

bson::Document saslStartCommand(Mechanism mechanism, std::string_view payload) {
  return bson::doc("saslStart", 1, "mechanism", mechanismName(mechanism), "payload", generic(payload), "options",
                   bson::doc("skipEmptyExchange", true));
}

bson::Document saslContinueCommand(int conversationId, std::string_view payload) {
  return bson::doc("saslContinue", 1, "conversationId", conversationId, "payload", generic(payload));
}

StatusWith<std::string_view> saslPayload(bson::View reply) {
  const auto payload = reply["payload"];
  if (!payload.is(bson::Type::kBinary)) return {ErrorCode::kProtocolError, "the reply holds no SASL payload"};
  return payload.asBinary().bytes;
}

}  // namespace troupe::auth
