// saslStart, saslContinue, logout: who the client is.
#include "actors/commands/families.hpp"
#include "actors/commands/sasl_login.hpp"
#include "actors/kernel/node.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/user_store.hpp"
#include "messaging/errors/co_status.hpp"

namespace troupe::commands {
using namespace server;

namespace {

/// All that a client is told of a failed log-in; the log says more.
Status authenticationFailed() { return {ErrorCode::kAuthenticationFailed, "Authentication failed."}; }

void logFailure(Request& request, std::string_view user, std::string_view database, const Status& why) {
  ServerContext& server = request.server();
  const auto leftOut = request.client().failedLogIns.admit(server.node.environment().now());
  if (!leftOut) return;
  server.log.info(log::Component::kAccess, 5286307, "conn" + std::to_string(request.client().connectionId),
                  "Failed to authenticate",
                  bson::doc("user", user, "db", database, "client", request.client().remote, "error", why.reason(),
                            "failedSinceLastLine", *leftOut));
}

/// The stored credentials of the user of a login; decoys for an unknown user, so that replies do not tell which users
/// exist.
auth::ScramCredentials credentialsFor(const Request& request, const auth::SaslConversation& sasl,
                                      const std::optional<bson::Document>& stored) {
  const auto credentials = stored ? (*stored)["credentials"] : bson::Element();
  if (credentials.is(bson::Type::kDocument)) {
    auto read = auth::readUserCredentials(credentials.asDocument(), sasl.mechanism());
    if (read.isOK()) return std::move(*read);
  }
  return auth::decoyCredentials(sasl.mechanism(), sasl.user(), sasl.database(), request.server().loginSecret);
}

/// What a log-in is a proof for: it is worth nothing once the user is another one, or has another password.
std::string accountOf(const std::optional<bson::Document>& stored) {
  if (!stored) return {};
  return std::string((*stored)["userId"].valueBytes()).append((*stored)["credentials"].valueBytes());
}

/// Whether the user exists and has credentials, but none for this mechanism.
bool cannotUse(const Request& request, const auth::SaslConversation& sasl) {
  const auto stored = request.server().users.find(sasl.user(), sasl.database());
  if (!stored.isOK() || !*stored) return false;
  const auto credentials = (**stored)["credentials"];
  return credentials.is(bson::Type::kDocument) && !credentials.asDocument().has(auth::mechanismName(sasl.mechanism()));
}

StatusWith<bson::Document> begin(Request& request, bson::View command, std::string_view database) {
  request.client().logIn.reset();
  auto sasl = auth::SaslConversation::start(command, database, request.server().secrets);
  if (!sasl.isOK()) {
    logFailure(request, "", database, sasl.status());
    return sasl.status() == ErrorCode::kAuthenticationFailed ? authenticationFailed() : sasl.status();
  }
  TROUPE_ASSIGN(const auto stored, request.server().users.find(sasl->user(), sasl->database()));
  auto credentials = credentialsFor(request, *sasl, stored);
  PendingLogIn& logIn = request.client().logIn.emplace(PendingLogIn{std::move(*sasl), accountOf(stored)});
  return logIn.exchange.challenge(std::move(credentials));
}

/// Takes the user up on the connection.
Status admit(Request& request, const PendingLogIn& logIn) {
  const auth::SaslConversation& sasl = logIn.exchange;
  TROUPE_ASSIGN(auto user, request.server().users.load(sasl.user(), sasl.database()));
  // In this order: a user who is changed in between is refused, or has a version that is out of date.
  TROUPE_ASSIGN(const auto stored, request.server().users.find(sasl.user(), sasl.database()));
  if (!user || accountOf(stored) != logIn.account) {
    logFailure(request, sasl.user(), sasl.database(),
               {ErrorCode::kAuthenticationFailed, "the user was changed or removed since the log-in began"});
    return authenticationFailed();
  }
  auto& users = request.client().users;
  std::erase_if(users, [&](const AuthenticatedUser& other) { return other.database == user->database; });
  users.push_back(std::move(*user));
  request.client().usersChanged();
  request.server().log.info(log::Component::kAccess, 5286306, "conn" + std::to_string(request.client().connectionId),
                            "Successfully authenticated",
                            bson::doc("user", sasl.user(), "db", sasl.database(), "client", request.client().remote));
  return Status::OK();
}

Task<Status> saslStart(Request& request) {
  auto attempt = [&] { return begin(request, request.body(), request.db()); };
  ServerContext& server = request.server();
  TROUPE_CO_ASSIGN(const auto answer, co_await server.users.read(server.node, request.operation(), attempt));
  request.reply().appendAll(answer);
  co_return Status::OK();
}

Task<Status> saslContinue(Request& request) {
  auto& logIn = request.client().logIn;
  if (!logIn) co_return Status(ErrorCode::kProtocolError, "No SASL session state found");
  auth::SaslConversation& sasl = logIn->exchange;
  const auto answer = sasl.proceed(request.body());
  if (!answer.isOK()) {
    logFailure(request, sasl.user(), sasl.database(), answer.status());
    const bool wrong = answer.status() == ErrorCode::kAuthenticationFailed;
    const Status shown = wrong ? authenticationFailed() : answer.status();
    logIn.reset();
    co_return shown;
  }
  if (sasl.done()) {
    ServerContext& server = request.server();
    auto attempt = [&] { return admit(request, *logIn); };
    const Status admitted = co_await server.users.read(server.node, request.operation(), attempt);
    logIn.reset();
    if (!admitted.isOK()) co_return admitted;
  }
  request.reply().appendAll(*answer);
  co_return Status::OK();
}

Task<Status> logout(Request& request) {
  std::erase_if(request.client().users, [&](const AuthenticatedUser& user) { return user.database == request.db(); });
  request.client().usersChanged();
  co_return Status::OK();
}

constexpr Argument kAuthenticateArguments[] = {stringArg("mechanism"), stringArg("user"), kAnyOtherArgs};

/// The command of log-ins by certificate, which this server has not: SCRAM goes by saslStart.
Task<Status> authenticate(Request&) { co_return Status(ErrorCode::kAuthenticationFailed, "Authentication failed."); }

constexpr Argument kSaslStartArguments[] = {stringArg("mechanism").required(),
                                            eitherArg("payload", kBinaryArg | kStringArg).required(),
                                            documentArg("options"), anyArg("autoAuthorize"), stringArg("db")};
constexpr Argument kSaslContinueArguments[] = {numberArg("conversationId").required(),
                                               eitherArg("payload", kBinaryArg | kStringArg).required()};

constexpr Command kLoginCommands[] = {
    {.name = "saslStart",
     .summary = "begins a log-in by SCRAM",
     .stableApi = true,
     .arguments = kSaslStartArguments,
     .run = saslStart},
    {.name = "saslContinue",
     .summary = "goes on with a log-in",
     .stableApi = true,
     .arguments = kSaslContinueArguments,
     .run = saslContinue},
    {.name = "authenticate",
     .summary = "not supported: log-ins by certificate",
     .arguments = kAuthenticateArguments,
     .run = authenticate},
    {.name = "logout", .summary = "ends the log-in on this database", .run = logout},
};

}  // namespace

void appendSaslMechanisms(Request& request) {
  const auto wanted = request.text("saslSupportedMechs");
  const auto dot = wanted.find('.');
  if (wanted.empty() || dot == std::string_view::npos) return;
  const auto stored = request.server().users.find(wanted.substr(dot + 1), wanted.substr(0, dot));
  std::vector<std::string> names{"SCRAM-SHA-1", "SCRAM-SHA-256"};
  if (stored.isOK() && *stored) {
    names.clear();
    for (const bson::Element& e : (**stored)["credentials"].asDocument()) names.emplace_back(e.name());
  }
  request.reply().append("saslSupportedMechs", names);
}

Task<void> speculativeLogin(Request& request, bson::View command) {
  const auto db = command["db"].toStringOr("admin");
  if (command.first().name() != "saslStart" || !storage::validateDatabaseName(db).isOK()) co_return;
  const auto answer = begin(request, command, db);
  // A client guesses the mechanism before it knows the user's: without an answer it goes by saslSupportedMechs.
  if (request.client().logIn && cannotUse(request, request.client().logIn->exchange)) {
    request.client().logIn.reset();
    co_return;
  }
  if (answer.isOK()) request.reply().append("speculativeAuthenticate", *answer);
}

std::span<const Command> loginCommands() { return kLoginCommands; }

}  // namespace troupe::commands
