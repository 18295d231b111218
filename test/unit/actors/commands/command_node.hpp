#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/environment/virtual_environment.hpp"
#include "actors/kernel/node.hpp"
#include "actors/machines/document_removals.hpp"
#include "actors/maintenance/blocking_worker.hpp"
#include "actors/maintenance/journal_flusher.hpp"
#include "actors/server/capped_waiters.hpp"
#include "actors/server/command.hpp"
#include "actors/server/hello_state.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/session_registry.hpp"
#include "actors/server/user_store.hpp"
#include "messaging/wire/client.hpp"
#include "messaging/wire/request.hpp"
#include "storage/engine/deterministic_engine.hpp"
#include "storage/query/match/match_parser.hpp"

namespace troupe::commands {

using namespace std::chrono_literals;

/// One command on its way through a CommandNode: from the bytes of a request to the bytes of its reply.
struct Exchange {
  Exchange(std::string bytes, ServerContext& server, Client& client, SteadyTime now)
      : frame(std::move(bytes)),
        wire(*wire::parseRequest(frame)),
        operation(server.clients.nextOperationId(), now),
        request(wire, server, client, operation) {}

  const std::string frame;
  wire::Request wire;
  Operation operation;
  Request request;
  bool done = false;

  /// The reply's body; once, when `done`.
  bson::Document takeReply() {
    const std::string bytes = wire.reply(std::move(request.message()), 1);
    const auto body = wire::parseReply(bytes, wire.requestId);
    return body.isOK() ? bson::Document(*body) : bson::doc("unreadable", body.status().reason());
  }
};

/// A server without sockets and threads: every command of the real table, on virtual time and the deterministic engine.
/// What it does is the same in every run. Used by one thread.
class CommandNode {
 public:
  struct Options {
    bool authentication = false;
    bool testCommands = true;
    storage::DeterministicDisk disk = {};
    bool replicated = false;  ///< CatalogHooks::replicated
  };

  CommandNode() : CommandNode(Options{}) {}
  explicit CommandNode(Options options)
      : engine(storage::DeterministicEngine::open(std::move(options.disk))), storageSessions(*engine) {
    parameters.enableTestCommands = options.testCommands;
    if (options.testCommands) time->setFaults(&failPoints);
    storage::CatalogHooks hooks;
    hooks.makeFilter = makeFilter;
    hooks.replicated = options.replicated;
    hooks.random = [this] { return time->random(); };
    hooks.nowMillis = [this] { return wallMillis(); };
    hooks.observers = {&userChanges, &cappedWaiters, &removals};
    catalog = std::move(storage::openCatalog(*engine, storageSessions, std::move(hooks))).value();
    users = std::make_unique<UserStore>(*catalog, storageSessions, userChanges);
    workers = std::make_unique<maintenance::WorkerPool>(node, std::vector{node.address("/worker")});
    node.spawn<maintenance::BlockingWorker>("/worker", workers->jobs());
    flusher = node.spawn<maintenance::JournalFlusher>("/flusher", engine.get(), &durability, storage::FlushKind::kLog,
                                                      &std::as_const(parameters.journalCommitIntervalMillis));
    makeServer(options.authentication);
    client = connect();
  }
  ~CommandNode() {
    node.shutdown();
    time->setFaults(nullptr);
  }
  CommandNode(const CommandNode&) = delete;

  std::shared_ptr<Client> connect(bool fromLoopback = true) {
    return server->clients.add(fromLoopback ? "127.0.0.1:5000" : "10.0.0.9:5000", fromLoopback, false, 10'000);
  }

  /// Starts a command and runs the node until nothing is ready; the command may still be waiting.
  std::shared_ptr<Exchange> begin(bson::View command, std::string_view db = "test",
                                  const std::shared_ptr<Client>& from = nullptr, uint32_t flags = 0) {
    auto exchange = std::make_shared<Exchange>(wire::buildRequest(++lastRequest, db, command, {}, flags), *server,
                                               from ? *from : *client, time->now());
    node.start(serve(exchange));
    node.run();
    return exchange;
  }
  /// Runs a command to its end, for at most a minute of virtual time, and gives its reply.
  bson::Document run(bson::View command, std::string_view db = "test", const std::shared_ptr<Client>& from = nullptr) {
    const auto exchange = begin(command, db, from);
    for (int steps = 0; !exchange->done && steps < 6000; ++steps) node.advance(10ms);
    return exchange->done ? exchange->takeReply() : bson::doc("ok", 0.0, "errmsg", "the command did not end");
  }

  int64_t wallMillis() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(time->wallNow().time_since_epoch()).count();
  }

  std::shared_ptr<VirtualEnvironment> time = std::make_shared<VirtualEnvironment>();
  log::Log log{{.file = "/dev/null"}, [this] { return wallMillis(); }};
  Parameters parameters{log.verbosity()};
  FailPoints failPoints{[this] { return time->randomShare(); }};
  ClientRegistry clients;
  CursorRegistry cursors{[this] { return static_cast<int64_t>(time->random() >> 1); }};
  SessionRegistry sessions;
  bson::ObjectIdGenerator objectIds{[this] { return time->random(); }};
  HelloState hello{objectIds.next(1)};
  UserChanges userChanges;
  CappedWaiters cappedWaiters;
  machines::DocumentRemovals removals;
  storage::ResourceLocks locks;
  storage::DurabilityTracker durability;
  std::unique_ptr<storage::DeterministicEngine> engine;
  storage::SessionPool storageSessions;
  std::unique_ptr<storage::Catalog> catalog;
  std::unique_ptr<UserStore> users;
  Node node{{.name = "n1", .environment = time, .manual = true}};
  std::unique_ptr<maintenance::WorkerPool> workers;
  Address flusher;
  DiskGuard disk{*time, *engine, "/data", parameters.diskSpaceReserveMB, log};
  std::unique_ptr<ServerContext> server;
  std::shared_ptr<Client> client;  ///< whose commands run when no other client is named
  int shutdowns = 0;               ///< how often the shutdown command asked for it
  int32_t lastRequest = 0;

 private:
  static Task<void> serve(std::shared_ptr<Exchange> exchange) {
    co_await dispatch(exchange->request, builtinCommands());
    exchange->done = true;
  }
  static StatusWith<storage::DocumentFilter> makeFilter(bson::View expression, const bson::Collator* collator) {
    query::ParseContext context;
    context.collator = collator;
    TROUPE_ASSIGN(auto parsed, query::parseMatch(expression, context));
    const std::shared_ptr<const query::MatchExpression> shared = std::move(parsed);
    return storage::DocumentFilter([shared](bson::View document) { return shared->matches(document); });
  }
  void makeServer(bool authentication) {
    ServerIdentity identity;
    identity.host = "localhost:27017";
    identity.processId = hello.processId();
    identity.port = 27017;
    identity.authentication = authentication;
    identity.commandLine = bson::doc("argv", std::vector<std::string>{"trouped"}, "parsed", bson::Document());
    server.reset(new ServerContext{.node = node,
                                   .startedAt = time->now(),
                                   .log = log,
                                   .identity = std::move(identity),
                                   .parameters = parameters,
                                   .failPoints = failPoints,
                                   .clients = clients,
                                   .cursors = cursors,
                                   .sessions = sessions,
                                   .users = *users,
                                   .hello = hello,
                                   .cappedWaiters = cappedWaiters,
                                   .counters = {},
                                   .latencies = {},
                                   .objectIds = objectIds,
                                   .engine = *engine,
                                   .storageSessions = storageSessions,
                                   .catalog = *catalog,
                                   .locks = locks,
                                   .durability = durability,
                                   .conflicts = {},
                                   .blocking = *workers,
                                   .disk = disk,
                                   .loginSecret = "a secret of thirty-two characters",
                                   .spillDirectory = "/tmp",
                                   .wakeFlusher = [this] { node.tell(flusher, local(maintenance::FlushNow{})); },
                                   .requestShutdown = [this] { ++shutdowns; },
                                   .actorRows = [](bson::View) { return std::vector<bson::Document>(); }});
  }
};

}  // namespace troupe::commands
