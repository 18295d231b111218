#include "actors/transport/command_service.hpp"

#include "actors/server/user_store.hpp"
#include "actors/transport/cursor_sender.hpp"
#include "messaging/bson/validate.hpp"

namespace troupe::transport {

namespace {

using Identity = schema::RunCommand::Identity;

/// Told to the service when the last command has ended while it stops (local payload).
struct AllEnded {};

std::string text(capnp::Text::Reader in) { return {in.cStr(), in.size()}; }

/// A command on its way, with the duty to answer it.
struct Job {
  std::shared_ptr<RemoteCommand> command;
  std::string database;
  bson::Document document;
  Identity identity = Identity::NOBODY;
  std::string user, userDatabase;
  size_t batchBytes = 0;
  TimePoint deadline;
  ReplyDuty reply;
  Address service;
};

Status unauthorized(std::string why) { return {ErrorCode::kUnauthorized, std::move(why)}; }

/// Whether the asker may act for others. Without authentication any client may do everything, and so may any node.
Status checkOrigin(const server::ServerContext& server, const AskOrigin* origin, Identity identity) {
  if (identity == Identity::NOBODY || !server.identity.authentication || !origin || origin->authenticated)
    return Status::OK();
  return unauthorized("the node at the other end of the link has not proven that it belongs to the cluster");
}

Status logIn(const Job& job) {
  auto& client = *job.command->client;
  server::AuthenticatedUser user;
  if (job.identity == Identity::CLUSTER) {
    user.name = "__system";
    user.database = "local";
    user.internal = true;
    TROUPE_TRY(user.privileges.addRole("__system", "admin"));
  } else if (job.identity == Identity::USER) {
    TROUPE_ASSIGN(auto loaded, job.command->server.users.load(job.user, job.userDatabase));
    if (!loaded) return unauthorized("there is no user " + job.user + "@" + job.userDatabase + " on this node");
    user = std::move(*loaded);
  } else {
    return Status::OK();
  }
  client.users.push_back(std::move(user));
  client.usersChanged();
  return Status::OK();
}

/// The operation of a log-in, which may have to wait, and can be killed as the command can.
struct LogIn {
  explicit LogIn(const Job& job) : run(*job.command->run), operation(job.command->server.operations) {
    if (job.deadline != kNoDeadline) operation.setDeadline(job.deadline);
    run.setOperation(&operation);
  }
  LogIn(const LogIn&) = delete;
  ~LogIn() { run.setOperation(nullptr); }
  RemoteRun& run;
  storage::OperationContext operation;
};

/// Logs the client in, as soon as users can be read.
Task<Status> logInWhenReadable(std::shared_ptr<Job> job) {
  server::ServerContext& server = job->command->server;
  LogIn waiting(*job);
  auto attempt = [&] { return logIn(*job); };
  co_return co_await server.users.read(server.node, waiting.operation, attempt);
}

/// Answers with the first batch; what comes after it is given by an actor of its own. Without one the first batch would
/// pass for all there is: a run that was killed meanwhile fails.
StatusWith<Payload> openCursor(Job& job, RemoteReply reply) {
  const bson::View cursor =
      reply.document.view()["cursor"].isObjectLike() ? reply.document.view()["cursor"].asDocument() : bson::View();
  const int64_t id = cursor["id"].toInt64();
  std::string path;
  if (id != 0) {
    const auto& command = job.command;
    server::ServerContext& server = command->server;
    const Address address = job.service.child("cursor" + std::to_string(command->client->connectionId));
    SpawnOptions options;
    options.type = "RemoteCursor";
    options.parent = job.service;
    auto sender =
        std::make_unique<CursorSender>(command, CursorSender::Cursor(id, cursor["ns"].toStringOr(), job.document));
    server.node.spawn(address.path(), std::move(sender), options);
    if (Status killed = command->run->continueAs(address); !killed.isOK()) {
      server.node.requestStop(address);
      return killed;
    }
    path = address.path();
  }
  return replyPayload<schema::CursorOpened>(std::move(reply), [&](auto out) { out.setPath(path); });
}

Task<void> carryOut(std::shared_ptr<Job> job) {
  if (Status status = co_await logInWhenReadable(job); !status.isOK()) {
    job->reply.complete(std::move(status));
    co_return;
  }
  auto reply = co_await execute(job->command, job->database, job->document, job->deadline, job->batchBytes);
  if (!reply.isOK()) {
    job->reply.complete(reply.status());
  } else if (job->batchBytes > 0) {
    job->reply.complete(openCursor(*job, std::move(*reply)));
  } else {
    job->reply.complete(replyPayload<schema::CommandReply>(std::move(*reply), [](auto) {}));
  }
}

StatusWith<std::shared_ptr<Job>> jobOf(const Received<schema::RunCommand>& wanted) {
  auto job = std::make_shared<Job>();
  auto in = wanted.read();
  const auto& attachment = wanted.payload().attachment();
  if (!attachment) return Status(ErrorCode::kProtocolError, "a command without its document");
  TROUPE_TRY(bson::validate(*attachment, {.maxDepth = bson::kMaxInternalNesting}).status());
  job->document = bson::Document(bson::View(attachment->data()));
  job->database = text(in->getDatabase());
  job->identity = in->getIdentity();
  job->user = text(in->getUser());
  job->userDatabase = text(in->getUserDatabase());
  job->batchBytes = in->getBatchBytes();
  return job;
}

}  // namespace

Behaviour CommandService::behaviour() {
  return {on<schema::RunCommand>(this, &CommandService::run),
          on<schema::KillCommand>([this](schema::KillCommand::Reader in, Context& context) {
            if (!context.envelope().reply) return;
            const AskOrigin* origin = context.envelope().reply.origin();
            const RemoteRuns::Key key(origin ? origin->link.path() : "", in.getId());
            const bool found = runs_->kill(key, ErrorCode::kInterrupted, node());
            context.reply<schema::CommandKilled>([found](schema::CommandKilled::Builder out) { out.setFound(found); });
          }),
          on<Down>([this](const Down& down) {
            if (links_.erase(down.who.path()) > 0)
              runs_->killAllOf(down.who.path(), ErrorCode::kHostUnreachable, node());
          }),
          on<AllEnded>([this](const AllEnded&) {
            if (stopping_) stop();
          }),
          on<ChildReady>([](const ChildReady&) {})};
}

void CommandService::onStart() { setPhase("serving", "runs the commands of other nodes"); }

void CommandService::onStopRequested() {
  stopping_ = true;
  setPhase("stopping", "waits for the commands of other nodes to be interrupted");
  runs_->killAll(ErrorCode::kInterruptedAtShutdown, node());
  Node* all = &node();
  runs_->whenEmpty([all, self = self()] { all->tell(self, local(AllEnded{})); });
}

void CommandService::onStop(const Status&) { runs_->killAll(ErrorCode::kInterrupted, node()); }

void CommandService::watchLink(const AskOrigin* origin) {
  if (origin && links_.insert(origin->link.path()).second) watch(origin->link);
}

/// Only asks have an origin: what a link brings without one would pass for this node's own.
void CommandService::run(Received<schema::RunCommand> wanted, Context context) {
  if (!context.envelope().reply) {
    ++refused_;
    return;
  }
  const AskOrigin* origin = context.envelope().reply.origin();
  const auto refuse = [&](const Status& why) {
    ++refused_;
    context.fail(why);
  };
  if (stopping_) return refuse({ErrorCode::kShutdownInProgress, "the node is shutting down"});
  auto job = jobOf(wanted);
  if (!job.isOK()) return refuse(job.status());
  if (Status status = checkOrigin(*server_, origin, (*job)->identity); !status.isOK()) return refuse(status);
  const RemoteRuns::Key key(origin ? origin->link.path() : "", wanted.read()->getId());
  auto run = runs_->add(key);
  if (!run.isOK()) return refuse(run.status());
  watchLink(origin);
  const auto row = node().registry().row(key.first);
  const std::string peer = row ? row->documentId : node().name();
  (*job)->command = std::make_shared<RemoteCommand>(*server_, runs_, key, std::move(*run), peer);
  (*job)->deadline = context.deadline();
  (*job)->reply = std::move(context.release().reply);
  (*job)->service = self();
  ++started_;
  // A turn of its own, so that commands of other nodes run beside each other.
  Node& all = node();
  all.post([&all, job = std::move(*job)] { all.start(carryOut(job)); });
}

bson::Document CommandService::describe() const {
  return bson::doc("running", static_cast<int64_t>(runs_->size()), "started", started_, "refused", refused_, "links",
                   static_cast<int64_t>(links_.size()));
}

}  // namespace troupe::transport
