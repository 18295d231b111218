#include "messaging/client/connection.hpp"

#include "messaging/auth/credentials.hpp"
#include "messaging/auth/scram.hpp"
#include "messaging/client/stream.hpp"
#include "messaging/wire/client.hpp"
#include "messaging/wire/frame_reader.hpp"

namespace troupe::client {

using bson::doc;

class Connection::Impl {
 public:
  Impl(Target target, std::unique_ptr<Stream> stream) : target_(std::move(target)), stream_(std::move(stream)) {}

  Status start() {
    bson::Builder command;
    command.append("hello", 1).append("helloOk", true);
    command.append("client",
                   doc("application", doc("name", target_.appName.empty() ? "troupe" : target_.appName.c_str()),
                       "driver", doc("name", "troupe", "version", "0.1"), "os", doc("type", "Linux")));
    if (!target_.user.empty()) command.append("saslSupportedMechs", target_.authDatabase() + "." + target_.user);
    TROUPE_ASSIGN(const auto reply, run("admin", command.finish(), {}));
    hello_ = bson::Document(reply);
    return target_.user.empty() ? Status::OK() : logIn();
  }

  StatusWith<bson::View> run(std::string_view database, bson::View command,
                             std::span<const wire::DocumentSequence> sequences) {
    TROUPE_ASSIGN(const auto body, exchange(database, command, sequences));
    TROUPE_TRY(wire::replyStatus(body));
    return body;
  }

  const bson::Document& hello() const { return hello_; }
  const Target& target() const { return target_; }
  bool isOpen() const { return stream_ != nullptr; }

 private:
  StatusWith<bson::View> exchange(std::string_view database, bson::View command,
                                  std::span<const wire::DocumentSequence> sequences) {
    if (!stream_) return {ErrorCode::kHostUnreachable, "the connection to " + target_.address() + " is closed"};
    const int32_t id = ++lastRequest_;
    if (auto status = stream_->write(wire::buildRequest(id, database, command, sequences)); !status.isOK())
      return lost(status);
    for (;;) {
      const auto frame = reader_.next();
      if (!frame.isOK()) return lost(frame.status());
      if (!frame->empty()) {
        auto body = wire::parseReply(*frame, id);
        if (!body.isOK()) return lost(body.status().withContext(target_.address() + " does not speak the protocol"));
        return body;
      }
      const auto size = stream_->read(reader_.prepare());
      if (!size.isOK()) return lost(size.status());
      reader_.commit(*size);
    }
  }

  /// Nothing more can be read from a stream that failed half way.
  Status lost(Status why) {
    stream_.reset();
    return why;
  }

  StatusWith<auth::Mechanism> chooseMechanism() const {
    if (!target_.mechanism.empty()) return auth::mechanismByName(target_.mechanism);
    const auto offered = hello_["saslSupportedMechs"];
    if (offered.is(bson::Type::kArray)) {
      for (const auto& name : offered.asArray())
        if (name.toStringOr() == "SCRAM-SHA-256") return auth::Mechanism::kScramSha256;
      if (!offered.asArray().empty()) return auth::Mechanism::kScramSha1;
    }
    return auth::Mechanism::kScramSha256;
  }

  Status logIn() {
    TROUPE_ASSIGN(const auto mechanism, chooseMechanism());
    TROUPE_ASSIGN(auto password, auth::preparePassword(mechanism, target_.user, target_.password));
    auth::ScramClient scram(mechanism, target_.user, std::move(password), auth::makeNonce(auth::secureRandom()));
    const std::string first = scram.first();
    TROUPE_ASSIGN(auto reply,
                  run(target_.authDatabase(),
                      doc("saslStart", 1, "mechanism", auth::mechanismName(mechanism), "payload",
                          bson::Binary{bson::kBinaryGeneric, first}, "options", doc("skipEmptyExchange", true)),
                      {}));
    const bson::Value conversation(reply["conversationId"]);
    TROUPE_ASSIGN(const std::string final, scram.final(payloadOf(reply)));
    TROUPE_ASSIGN(reply, proceed(conversation, final));
    TROUPE_TRY(scram.verify(payloadOf(reply)));
    while (!reply["done"].truthy()) {
      TROUPE_ASSIGN(reply, proceed(conversation, ""));
    }
    return {};
  }

  StatusWith<bson::View> proceed(const bson::Value& conversation, std::string_view payload) {
    return run(
        target_.authDatabase(),
        doc("saslContinue", 1, "conversationId", conversation, "payload", bson::Binary{bson::kBinaryGeneric, payload}),
        {});
  }

  static std::string_view payloadOf(bson::View reply) {
    const auto payload = reply["payload"];
    return payload.is(bson::Type::kBinary) ? payload.asBinary().bytes : payload.toStringOr();
  }

  Target target_;
  std::unique_ptr<Stream> stream_;
  wire::FrameReader reader_;
  bson::Document hello_;
  int32_t lastRequest_ = 0;
};

Connection::Connection(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;
Connection::~Connection() = default;

StatusWith<Connection> Connection::open(const Target& target) {
  TROUPE_ASSIGN(auto stream, Stream::connect(target));
  Connection connection(std::make_unique<Impl>(target, std::move(stream)));
  TROUPE_TRY(connection.impl_->start());
  return connection;
}

StatusWith<bson::View> Connection::runBorrowed(std::string_view database, bson::View command,
                                               std::span<const wire::DocumentSequence> sequences) {
  const std::string& mode = target().readPreference;
  if (mode.empty()) return impl_->run(database, command, sequences);
  bson::Builder preferring;
  preferring.appendAll(command).append("$readPreference", doc("mode", mode));
  return impl_->run(database, preferring.finish(), sequences);
}

StatusWith<bson::Document> Connection::run(std::string_view database, bson::View command,
                                           std::span<const wire::DocumentSequence> sequences) {
  TROUPE_ASSIGN(const auto reply, runBorrowed(database, command, sequences));
  return bson::Document(reply);
}

const bson::Document& Connection::hello() const { return impl_->hello(); }
const Target& Connection::target() const { return impl_->target(); }
bool Connection::isOpen() const { return impl_->isOpen(); }

}  // namespace troupe::client
