#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "messaging/auth/scram.hpp"
#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::auth {

/// One log-in over saslStart / saslContinue (or hello's speculativeAuthenticate), as documents in and out:
///   TROUPE_ASSIGN(auto sasl, SaslConversation::start(command, db, random));     // saslStart
///   auto stored = readUserCredentials(<user sasl.user()@sasl.database()>, sasl.mechanism());
///   reply = sasl.challenge(stored or decoyCredentials(...));
///   TROUPE_ASSIGN(reply, sasl.proceed(command));                                // saslContinue, until done()
/// speculativeAuthenticate is a saslStart whose database is its field `db`; its answer goes into hello's reply, and
/// where `start` fails the field is left out. One per connection; a new saslStart replaces it, a failure ends it.
class SaslConversation {
 public:
  /// `command`: {saslStart: 1, mechanism, payload, options: {skipEmptyExchange}}. Errors: BadValue / TypeMismatch for
  /// missing or wrong fields, MechanismUnavailable for a mechanism that is not served, AuthenticationFailed for a bad
  /// payload.
  static StatusWith<SaslConversation> start(bson::View command, std::string_view database, const RandomSource& random);

  const std::string& user() const { return server_.user(); }
  const std::string& database() const { return database_; }
  Mechanism mechanism() const { return server_.mechanism(); }

  /// {conversationId, done: false, payload}: the fields of the answer to saslStart, without `ok`.
  bson::Document challenge(ScramCredentials credentials);
  /// The answer to saslContinue {conversationId, payload}. Errors: ProtocolError for another conversation or one that
  /// has ended, AuthenticationFailed.
  StatusWith<bson::Document> proceed(bson::View command);
  /// The user has proven the password and the exchange has ended: they are logged in now.
  bool done() const { return done_; }

 private:
  SaslConversation(ScramServer server, std::string_view database, bool skipEmptyExchange)
      : server_(std::move(server)), database_(database), skipEmptyExchange_(skipEmptyExchange) {}
  bson::Document answer(std::string_view payload) const;

  ScramServer server_;
  std::string database_;
  bool skipEmptyExchange_;
  bool done_ = false;
};

/// A client's saslStart and saslContinue commands around ScramClient.
bson::Document saslStartCommand(Mechanism mechanism, std::string_view payload);
bson::Document saslContinueCommand(int conversationId, std::string_view payload);
/// The payload of an answer, borrowed. Errors: ProtocolError.
StatusWith<std::string_view> saslPayload(bson::View reply);

}  // namespace troupe::auth
