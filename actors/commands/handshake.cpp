// hello, isMaster and ping: what drivers ask first and all the time.
#include "actors/commands/families.hpp"
#include "actors/commands/sasl_login.hpp"
#include "actors/kernel/node.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/server/hello_state.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/user_store.hpp"
#include "actors/storage/interruptible_wait.hpp"
#include "messaging/bson/numeric.hpp"
#include "messaging/errors/co_status.hpp"

namespace troupe::commands {
using namespace server;

namespace {

constexpr int32_t kMinWireVersion = 0;
constexpr int32_t kMaxWireVersion = 21;
constexpr size_t kMaxMetadataBytes = 512;
constexpr size_t kMaxAppNameBytes = 128;
/// Longest wait of an awaitable hello, whatever its client asks for; drivers ask for ten seconds.
constexpr std::chrono::minutes kLongestAwait(10);
/// Shortest wait of a hello that streams, whatever its client asks for: one message, before any log-in, would have the
/// server answer without a pause. Drivers' specifications allow half a second and more.
constexpr std::chrono::milliseconds kShortestStreamedAwait(100);
/// How soon it is noticed that the client of one has gone. Every driver keeps one waiting: each look costs a call of
/// the system.
constexpr std::chrono::seconds kLookForClientEvery(2);

constexpr Argument kHelloArguments[] = {
    flagArg("helloOk"),
    documentArg("client"),
    arrayArg("compression"),
    stringArg("saslSupportedMechs"),
    documentArg("speculativeAuthenticate"),
    documentArg("topologyVersion"),
    numberArg("maxAwaitTimeMS"),
    flagArg("loadBalanced"),
    documentArg("internalClient"),
    anyArg("hostInfo"),
    anyArg("hangUpOnStepDown"),
    kAnyOtherArgs,
};

/// Takes the client's metadata, once a connection.
Status takeMetadata(Request& request) {
  const bson::View metadata = request.document("client");
  if (metadata.empty()) return Status::OK();
  Client& client = request.client();
  if (client.greeted)
    return {ErrorCode::kClientMetadataCannotBeMutated,
            "The client metadata document may only be sent in the first hello"};
  if (metadata.size() > kMaxMetadataBytes)
    return {ErrorCode::kBadValue, "The client metadata document must be less then or equal to 512 bytes"};
  const auto name = metadata.at("application.name");
  if (name && name.toStringOr().size() > kMaxAppNameBytes) {
    return {ErrorCode::kBadValue, "The 'client.application.name' field must be less then or equal to 128 bytes"};
  }
  client.setMetadata(bson::Document(metadata));
  ServerContext& server = request.server();
  server.log.info(
      log::Component::kNetwork, 51800, "conn" + std::to_string(client.connectionId), "client metadata",
      bson::doc("remote", client.remote, "client", "conn" + std::to_string(client.connectionId), "doc", metadata));
  return Status::OK();
}

struct KnownTopology {
  bson::ObjectId processId;
  int64_t counter = 0;
};

StatusWith<KnownTopology> knownTopology(bson::View version) {
  const auto id = version["processId"];
  const auto counter = version["counter"];
  if (!id.is(bson::Type::kObjectId))
    return Status(ErrorCode::kMissingRequiredField,
                  "BSON field 'topologyVersion.processId' is missing but a required field");
  if (!counter.isNumber())
    return Status(ErrorCode::kMissingRequiredField,
                  "BSON field 'topologyVersion.counter' is missing but a required field");
  if (counter.toInt64() < 0) return Status(ErrorCode(31372), "topologyVersion.counter must not be negative");
  return KnownTopology{id.asObjectId(), counter.toInt64()};
}

/// Waits until the topology is another than `known`, for at most `limit`. Strangers may ask for it: the wait ends with
/// its client, so that it keeps no place of a connection.
Task<Status> waitForChange(Request& request, int64_t known, Duration limit) {
  Environment& environment = request.server().node.environment();
  request.endWithClient(kLookForClientEvery);
  const auto change = std::make_shared<Promise<Done>>();
  auto woken = change->future();
  request.server().hello.wakeOnChange(known, change);
  const TimePoint began = environment.now();
  {
    InterruptibleWait::Options options;
    options.limit = began + limit;
    const auto end = [change](const Status&) { change->set(Done{}); };
    const InterruptibleWait guard(environment, request.operation(), end, std::move(options));
    co_await woken;
  }
  request.operation().metrics.awaited += environment.now() - began;
  co_return request.checkForInterrupt();
}

/// Holds an awaitable hello back until the topology changes or its time is over.
Task<Status> awaitTopologyChange(Request& request) {
  const bson::View version = request.document("topologyVersion");
  const auto limit = request.arg("maxAwaitTimeMS");
  if (version.empty() != !limit) {
    co_return Status(ErrorCode(31368),
                     "A request with a 'topologyVersion' must include 'maxAwaitTimeMS', and the reverse");
  }
  if (version.empty()) co_return Status::OK();
  if (limit.toInt64() < 0) co_return Status(ErrorCode(31373), "maxAwaitTimeMS must be a non-negative integer");
  TROUPE_CO_ASSIGN(const auto known, knownTopology(version));
  HelloState& hello = request.server().hello;
  if (known.processId != hello.processId()) co_return Status::OK();
  if (known.counter > hello.counter())
    co_return Status(ErrorCode(31382), "Received a topology version with a counter ahead of the server's");
  Duration wait = std::min<Duration>(bson::timeLimitOf(limit), kLongestAwait);
  if (request.wire().has(wire::kExhaustAllowed)) wait = std::max<Duration>(wait, kShortestStreamedAwait);
  co_return co_await waitForChange(request, known.counter, wait);
}

/// A standalone node is always writable; a member tells what its set knows. Gives the topology version, which it
/// appends, too.
bson::Document appendRole(Request& request, bool modern) {
  const replication::Membership* membership = request.server().membership;
  const HelloState& hello = request.server().hello;
  const auto view = hello.counted([membership] { return membership ? membership->view() : nullptr; });
  if (membership)
    replication::appendHello(request.reply(), *membership, *view.value, request.server().progress->times(),
                             request.server().progress->dates(), modern);
  else request.reply().append(modern ? "isWritablePrimary" : "ismaster", true);
  bson::Document version = hello.topologyVersion(view.counter);
  request.reply().append("topologyVersion", version);
  return version;
}

void appendCompression(Request& request) {
  const auto offered = request.arg("compression");
  if (!offered) return;
  request.client().compressors = wire::negotiate(offered, request.server().identity.compressors);
  if (request.client().compressors.empty()) return;
  request.reply().openArray("compression");
  for (const auto compressor : request.client().compressors) request.reply().push(wire::compressorName(compressor));
  request.reply().close();
}

Task<Status> hello(Request& request) {
  const bool modern = request.commandName() == "hello";
  TROUPE_CO_TRY(takeMetadata(request));
  TROUPE_CO_TRY(co_await awaitTopologyChange(request));
  ServerContext& server = request.server();
  if (server.hello.shuttingDown()) {
    co_return Status(ErrorCode::kShutdownInProgress, "The server is shutting down",
                     bson::doc("topologyVersion", server.hello.topologyVersion(server.hello.counter())));
  }
  bson::Builder& reply = request.reply();
  if (request.flag("helloOk")) reply.append("helloOk", true);
  const bson::Document version = appendRole(request, modern);
  reply.append("maxBsonObjectSize", bson::kMaxDocumentSize).append("maxMessageSizeBytes", int32_t{48'000'000});
  reply.append("maxWriteBatchSize", int32_t{100'000}).append("localTime", bson::Date{wallMillis(server)});
  reply.append("logicalSessionTimeoutMinutes", static_cast<int32_t>(server.parameters.sessionTimeoutMinutes));
  reply.append("connectionId", static_cast<int32_t>(request.client().connectionId));
  reply.append("minWireVersion", kMinWireVersion).append("maxWireVersion", kMaxWireVersion).append("readOnly", false);
  appendCompression(request);
  appendSaslMechanisms(request);
  request.client().greeted = true;
  if (const auto login = request.document("speculativeAuthenticate"); !login.empty())
    co_await speculativeLogin(request, login);
  if (request.wire().has(wire::kExhaustAllowed) && request.arg("topologyVersion")) {
    bson::Builder next;
    for (const bson::Element& e : request.body()) {
      if (e.name() == "topologyVersion") next.append("topologyVersion", version);
      else next.append(e);
    }
    request.streamOn = next.finish();
  }
  co_return Status::OK();
}

Task<Status> ping(Request&) { co_return Status::OK(); }

constexpr Command kHandshakeCommands[] = {
    {.name = "hello",
     .summary = "what the server is and can do, for drivers",
     .stableApi = true,
     .arguments = kHelloArguments,
     .run = hello},
    {.name = "isMaster",
     .alias = "ismaster",
     .summary = "the older name of hello",
     .arguments = kHelloArguments,
     .run = hello},
    {.name = "ping", .summary = "answers at once", .stableApi = true, .run = ping},
};

}  // namespace

std::span<const Command> handshakeCommands() { return kHandshakeCommands; }

}  // namespace troupe::commands
