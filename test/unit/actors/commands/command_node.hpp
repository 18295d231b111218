#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "actors/environment/virtual_environment.hpp"
#include "actors/kernel/node.hpp"
#include "actors/server/capped_waiters.hpp"
#include "actors/server/command.hpp"
#include "actors/server/hello_state.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/session_cache.hpp"
#include "actors/server/user_store.hpp"
#include "messaging/wire/client.hpp"
#include "messaging/wire/request.hpp"
#include "storage/engine/deterministic_engine.hpp"
#include "supervisors/assembly/node_assembly.hpp"
#include "supervisors/tree/data_node.hpp"

namespace troupe::commands {
using namespace server;

using namespace std::chrono_literals;

/// One command on its way through a CommandNode: from the bytes of a request to the bytes of its reply.
struct Exchange {
  Exchange(std::string bytes, ServerContext& server, Client& client, TimePoint now)
      : frame(std::move(bytes)),
        wire(*wire::parseRequest(frame)),
        operation(server.operations, storage::OperationOrigin::kClient, server.clients.nextOperationId(), now),
        request(wire, server, client, operation) {}

  const std::string frame;
  wire::Request wire;
  storage::OperationContext operation;
  Request request;
  bool done = false;

  /// The reply's body; once, when `done`.
  bson::Document takeReply() {
    const std::string bytes = wire.reply(std::move(request.message()), 1);
    const auto body = wire::parseReply(bytes, wire.requestId);
    return body.isOK() ? bson::Document(*body) : bson::doc("unreadable", body.status().reason());
  }
};

/// The assembly of a node (NodeAssembly) without sockets and threads: every command of the real table, on virtual time
/// and the deterministic engine. Deterministic: every run is the same. Used by one thread.
class CommandNode {
 public:
  struct Options {
    bool authentication = false;
    bool testCommands = true;
    storage::DeterministicDisk disk = {};
    bool replicated = false;  ///< AssemblyOptions::replicated
    std::string name = "n1";
    std::string replicaSet = {};      ///< empty: the node stands alone
    storage::OplogLimits oplog = {};  ///< of a member
    std::vector<storage::WriteObserver*> observers = {};
    std::function<void(replication::RollbackParts&)> adjustRollback = {};
    std::shared_ptr<VirtualEnvironment> time = std::make_shared<VirtualEnvironment>();
  };

  CommandNode() : CommandNode(Options{}) {}
  explicit CommandNode(Options options)
      : time(options.time),
        assembly(time, opener(std::move(options.disk)), transport::makeNoNetwork(), wanted(options)) {}
  ~CommandNode() { assembly.crash(); }
  CommandNode(const CommandNode&) = delete;

  std::shared_ptr<Client> connect(bool fromLoopback = true) {
    return clients.add(fromLoopback ? "127.0.0.1:5000" : "10.0.0.9:5000", fromLoopback, false);
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

  const std::shared_ptr<VirtualEnvironment> time;
  int shutdowns = 0;                               ///< how often the shutdown command asked for it
  storage::DeterministicEngine* engine = nullptr;  ///< the assembly's
  supervisors::NodeAssembly assembly;

  // The assembly's parts that tests look at.
  ServerContext* const server = started();
  Node& node = server->node;
  log::Log& log = server->log;
  Parameters& parameters = server->parameters;
  FailPoints& failPoints = server->failPoints;
  ClientRegistry& clients = server->clients;
  CursorRegistry& cursors = server->cursors;
  SessionCache& sessions = server->sessions;
  HelloState& hello = server->hello;
  CappedWaiters& cappedWaiters = server->cappedWaiters;
  storage::LockManager& locks = server->locks;
  storage::ExecutionAdmission& admission = server->admission;
  storage::DurabilityTracker& durability = server->durability;
  storage::SessionPool& storageSessions = server->storageSessions;
  storage::Catalog* const catalog = &server->catalog.unguarded();
  UserStore* const users = &server->users;
  DiskGuard& disk = server->disk;
  const Address flusher = node.address(supervisors::kJournalFlusherPath);
  std::shared_ptr<Client> client = connect();  ///< whose commands run when no other client is named
  int32_t lastRequest = 0;

 private:
  static Task<void> serve(std::shared_ptr<Exchange> exchange) {
    co_await dispatch(exchange->request);
    exchange->done = true;
  }
  supervisors::EngineOpener opener(storage::DeterministicDisk left) {
    return [this, left = std::move(left)](const supervisors::EngineSetting&) {
      auto opened = storage::DeterministicEngine::open(left);
      engine = opened.get();
      return StatusWith<std::unique_ptr<storage::Engine>>(std::move(opened));
    };
  }
  supervisors::AssemblyOptions wanted(const Options& options) {
    supervisors::AssemblyOptions made;
    made.name = options.name;
    made.manual = true;
    made.log.file = "/dev/null";
    made.identity.host = "localhost:27017";
    made.identity.port = 27017;
    made.identity.authentication = options.authentication;
    made.identity.commandLine = bson::doc("argv", std::vector<std::string>{"trouped"}, "parsed", bson::Document());
    made.setParameters = [test = options.testCommands](Parameters& parameters) {
      parameters.enableTestCommands = test;
      return Status::OK();
    };
    made.replicated = options.replicated;
    made.replicaSet = options.replicaSet;
    made.oplog = options.oplog;
    made.observers = options.observers;
    made.adjustRollback = options.adjustRollback;
    made.dataDirectory = "/data";
    made.spillDirectory = "/tmp";
    made.requestShutdown = [this] { ++shutdowns; };
    return made;
  }
  ServerContext* started() {
    const Status opened = assembly.open();
    if (!opened.isOK()) throw std::runtime_error(opened.toString());
    auto ready = assembly.begin();
    if (!ready.isOK()) throw std::runtime_error(ready.status().toString());
    assembly.node().run();
    if (!ready->isReady()) throw std::runtime_error("the tree of the node is not ready");
    if (const Status outcome = ready->take(); !outcome.isOK()) throw std::runtime_error(outcome.toString());
    return &assembly.context();
  }
};

}  // namespace troupe::commands
