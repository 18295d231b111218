#include "actors/transport/run_command.hpp"

#include <atomic>

#include "actors/storage/interruptible_wait.hpp"
#include "actors/transport/command_service.hpp"
#include "messaging/bson/validate.hpp"
#include "messaging/schemas/command.capnp.h"

namespace troupe::transport {

namespace {

/// Numbers of commands sent by this process.
uint64_t nextId() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void giveUp(Node& node, const std::string& target, uint64_t id) {
  // The answer tells nothing new; being an ask it comes over the link that the command came by.
  (void)node.ask(Address(target, kCommandsPath),
                 build<schema::KillCommand>([id](schema::KillCommand::Builder out) { out.setId(id); }));
}

/// Kills the command there unless it has been answered.
class Asking {
 public:
  Asking(Node& node, std::string target, uint64_t id) : node_(node), target_(std::move(target)), id_(id) {}
  Asking(const Asking&) = delete;
  ~Asking() {
    if (!answered_) giveUp(node_, target_, id_);
  }
  void answered(const Status& how) { answered_ = how.isOK() || !(how == ErrorCode::kExceededTimeLimit); }

 private:
  Node& node_;
  const std::string target_;
  const uint64_t id_;
  bool answered_ = false;
};

schema::RunCommand::Identity identityOf(const ActAs& as) {
  switch (as.who) {
    case ActAs::Who::kCluster: return schema::RunCommand::Identity::CLUSTER;
    case ActAs::Who::kUser: return schema::RunCommand::Identity::USER;
    case ActAs::Who::kNobody: break;
  }
  return schema::RunCommand::Identity::NOBODY;
}

Payload question(uint64_t id, const std::string& database, const bson::Document& command, const CommandOptions& options,
                 size_t batchBytes) {
  const auto fill = [&](schema::RunCommand::Builder out) {
    out.setId(id);
    out.setDatabase(database);
    out.setIdentity(identityOf(options.as));
    out.setUser(options.as.user);
    out.setUserDatabase(options.as.database);
    out.setBatchBytes(static_cast<uint32_t>(batchBytes));
  };
  return build<schema::RunCommand>(fill, std::make_shared<const std::string>(command.bytes()));
}

/// Makes the timeout of this node's ask the error that the other node gives for the same deadline: either may come
/// first.
Status sameOnBothSides(const Status& failure) {
  if (!(failure == ErrorCode::kExceededTimeLimit)) return failure;
  return {ErrorCode::kMaxTimeMSExpired, failure.reason()};
}

/// Awaits what the other node answers, or the end of the operation that waits, if there is one.
Task<Answer> awaitFor(Node& node, storage::OperationContext* operation, Future<Answer> due) {
  if (operation) co_return co_await awaitAnswer(node, *operation, std::move(due));
  co_return co_await due;
}

/// Asks for a T, whose attachment is a reply.
Task<Answer> askToRun(Node& node, std::string target, uint64_t id, Payload question, CommandOptions options) {
  Asking asking(node, target, id);
  Future<Answer> due = node.ask(Address(target, kCommandsPath), std::move(question), options.timeout);
  Answer answer = co_await awaitFor(node, options.operation, std::move(due));
  const Status ended =
      options.operation ? options.operation->checkForInterrupt(node.environment().now()) : Status::OK();
  if (ended.isOK()) asking.answered(answer.status());
  if (!answer.isOK()) co_return sameOnBothSides(answer.status());
  co_return answer;
}

template <class T>
StatusWith<CommandReply> replyOf(const Payload& answer) {
  if (!answer.is<T>())
    return Status(ErrorCode::kProtocolError, std::string("a command was answered with ") + answer.typeName());
  try {
    return CommandReply::of(answer.attachment(), answer.read<T>()->getDocumentBytes());
  } catch (const kj::Exception& damage) {
    return Status(ErrorCode::kProtocolError, std::string("a damaged reply: ") + damage.getDescription().cStr());
  }
}

}  // namespace

StatusWith<CommandReply> CommandReply::of(std::shared_ptr<const std::string> message, size_t documentBytes) {
  if (!message || documentBytes > message->size())
    return Status(ErrorCode::kProtocolError, "a reply that is shorter than it says");
  const size_t bytes = message->size() - documentBytes;
  TROUPE_ASSIGN(const int32_t size,
                bson::validate(std::string_view(*message).substr(bytes), {.maxDepth = bson::kMaxInternalNesting}));
  if (static_cast<size_t>(size) != documentBytes) return Status(ErrorCode::kProtocolError, "a reply of another size");
  return CommandReply(std::move(message), bytes);
}

Task<StatusWith<CommandReply>> runCommand(Node& node, std::string target, std::string database, bson::Document command,
                                          CommandOptions options) {
  auto executing = node.postOffice().resolve(target);
  if (!executing.isOK()) co_return executing.status();
  const uint64_t id = nextId();
  Payload wanted = question(id, database, command, options, 0);
  const Answer answer = co_await askToRun(node, std::move(*executing), id, std::move(wanted), options);
  if (!answer.isOK()) co_return answer.status();
  co_return replyOf<schema::CommandReply>(*answer);
}

Task<StatusWith<std::unique_ptr<RemoteCursor>>> RemoteCursor::open(Node& node, std::string target, std::string database,
                                                                   bson::Document command, CursorOptions options) {
  auto executing = node.postOffice().resolve(target);
  if (!executing.isOK()) co_return executing.status();
  target = std::move(*executing);
  const uint64_t id = nextId();
  const bool tails = command["tailable"].truthy() && command["awaitData"].truthy();
  Payload wanted = question(id, database, command, options.command, std::max<size_t>(options.batchBytes, 1));
  const Answer answer = co_await askToRun(node, target, id, std::move(wanted), options.command);
  if (!answer.isOK()) co_return answer.status();
  auto first = replyOf<schema::CursorOpened>(*answer);
  if (!first.isOK()) co_return first.status();
  const std::string sender(answer->read<schema::CursorOpened>()->getPath().cStr());
  const bson::Element info = first->document()["cursor"];
  const bool hasMore = info.isObjectLike() && info.asDocument()["id"].toInt64() != 0;
  if (hasMore && sender.empty()) co_return Status(ErrorCode::kCursorKilled, "the cursor was closed by " + target);
  std::unique_ptr<RemoteCursor> cursor(new RemoteCursor(node, target, id, std::move(options)));
  cursor->present_ = std::move(*first);
  cursor->tails_ = tails;
  if (!sender.empty()) cursor->sender_ = Address(target, sender);
  cursor->grant();
  co_return cursor;
}

namespace {

/// The parameters outlive every wait: they are moved into the frame.
Task<void> openInto(Node& node, std::string target, std::string database, bson::Document command, CursorOptions options,
                    std::shared_ptr<Promise<RemoteCursor::Opened>> opened) {
  auto outcome =
      co_await RemoteCursor::open(node, std::move(target), std::move(database), std::move(command), std::move(options));
  opened->set(std::move(outcome));
}

}  // namespace

Future<RemoteCursor::Opened> RemoteCursor::begin(Node& node, std::string target, std::string database,
                                                 bson::Document command, CursorOptions options) {
  auto promise = std::make_shared<Promise<Opened>>();
  auto opened = promise->future();
  node.start(openInto(node, std::move(target), std::move(database), std::move(command), std::move(options),
                      std::move(promise)));
  return opened;
}

RemoteCursor::~RemoteCursor() {
  if (sender_) giveUp(node_, target_, id_);
}

/// At once for each batch that was read: a source that hears nothing any more gives as many further answers, after each
/// of which its reader looks for another one.
void RemoteCursor::grant() {
  const size_t most = std::max<size_t>(1, options_.credit / std::max<size_t>(1, options_.batchBytes));
  const auto bytes = static_cast<uint32_t>(options_.batchBytes);
  while (sender_ && granted_.size() + (present_ ? 1 : 0) < most)
    granted_.push_back(node_.ask(sender_,
                                 build<schema::NextBatch>([&](schema::NextBatch::Builder out) { out.setBytes(bytes); }),
                                 options_.command.timeout));
}

Task<StatusWith<std::vector<bson::View>>> RemoteCursor::next() {
  if (std::exchange(isFirst_, false)) {
    auto found = documents();
    if (!found.isOK() || !found->empty() || tails_) co_return found;
  }
  while (sender_) {
    present_.reset();
    grant();  // the batch that was read frees its room
    Future<Answer> due = std::move(granted_.front());
    granted_.pop_front();
    const Answer answer = co_await awaitFor(node_, options_.command.operation, std::move(due));
    StatusWith<CommandReply> reply = answer.status();
    if (answer.status() == ErrorCode::kNoSuchKey)  // the sender has waited long for its reader
      reply = Status(ErrorCode::kCursorNotFound, "the cursor was closed by " + target_);
    if (answer.isOK()) reply = replyOf<schema::CommandReply>(*answer);
    if (!reply.isOK()) {
      granted_.clear();
      giveUp(node_, target_, id_);
      sender_ = Address();
      failed_ = true;
      co_return sameOnBothSides(reply.status());
    }
    present_ = std::move(*reply);
    const bson::Element cursor = present_->document()["cursor"];
    if (!cursor.isObjectLike() || cursor.asDocument()["id"].toInt64() == 0) {
      granted_.clear();
      sender_ = Address();
    }
    auto found = documents();
    if (!found.isOK() || !found->empty() || (tails_ && sender_)) co_return found;
  }
  present_.reset();
  // Empty again and again, at once, would have its reader spin.
  if (tails_ && !std::exchange(failed_, true))
    co_return Status(ErrorCode::kCursorNotFound, "the tailing cursor was closed by " + target_);
  co_return std::vector<bson::View>();
}

bson::View RemoteCursor::resumeToken() const {
  if (!present_) return {};
  const bson::Element cursor = present_->document()["cursor"];
  const bson::Element token = cursor.isObjectLike() ? cursor.asDocument()["postBatchResumeToken"] : bson::Element();
  return token.is(bson::Type::kDocument) ? token.asDocument() : bson::View();
}

StatusWith<std::vector<bson::View>> RemoteCursor::documents() {
  std::vector<bson::View> found;
  const bson::Element cursor = present_->document()["cursor"];
  for (const auto name : {"firstBatch", "nextBatch"}) {
    if (!cursor.isObjectLike()) break;
    const bson::Element batch = cursor.asDocument()[name];
    if (!batch.is(bson::Type::kArray)) continue;
    for (const bson::Element& e : batch.asArray())
      if (e.is(bson::Type::kDocument)) found.push_back(e.asDocument());
  }
  for (auto rest = present_->bytes(); !rest.empty();) {
    TROUPE_ASSIGN(const int32_t size, bson::validate(rest, {.maxDepth = bson::kMaxInternalNesting}));
    found.emplace_back(rest.data());
    rest.remove_prefix(static_cast<size_t>(size));
  }
  return found;
}

}  // namespace troupe::transport
