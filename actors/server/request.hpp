#pragma once
#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/kernel/task.hpp"
#include "actors/server/authorized_namespace.hpp"
#include "actors/server/client.hpp"
#include "actors/server/read_preference.hpp"
#include "messaging/bson/collation.hpp"
#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "messaging/wire/request.hpp"
#include "storage/catalog/namespace.hpp"
#include "storage/operation/operation_context.hpp"

namespace troupe::server {

struct Command;
struct ServerContext;

/// A document's fields by name, found without walking it again. Most arguments of most commands are absent: 64 bits say
/// so at once.
class Fields {
 public:
  explicit Fields(bson::View document) : document_(document) {
    for (const bson::Element& e : document) {
      bits_ |= bit(e.name());
      if (count_ < kKept) kept_[count_] = e;
      ++count_;
    }
  }
  /// The first field of that name, or an absent element.
  bson::Element operator[](std::string_view name) const {
    if (!mayHave(name)) return {};
    if (count_ > kKept) return document_[name];
    for (size_t i = 0; i < count_; ++i)
      if (kept_[i].name() == name) return kept_[i];
    return {};
  }
  bool mayHave(std::string_view name) const { return (bits_ & bit(name)) != 0; }  ///< false: there is no such field
  /// Whether one of the names is there. `names`: a constant, so that one test says so of most documents.
  template <const auto& names>
  bool hasAny() const {
    if (!(bits_ & kBitsOf<names>)) return false;
    return std::ranges::any_of(names, [this](std::string_view name) { return static_cast<bool>((*this)[name]); });
  }

 private:
  static constexpr size_t kKept = 16;
  static constexpr uint64_t bit(std::string_view name) {
    if (name.empty()) return 1;
    const auto mixed = name.size() * 11 + static_cast<uint8_t>(name.front()) * 5 + static_cast<uint8_t>(name.back());
    return uint64_t{1} << (mixed & 63);
  }
  template <const auto& names>
  static constexpr uint64_t kBitsOf = [] {
    uint64_t bits = 0;
    for (const std::string_view name : names) bits |= bit(name);
    return bits;
  }();
  bson::View document_;
  std::array<bson::Element, kKept> kept_;
  size_t count_ = 0;
  uint64_t bits_ = 0;
};

/// Documents of a batch as another node takes them: one behind the other, beside the reply instead of in it.
struct RawBatch {
  size_t bytes = 0;  ///< approximate limit of the batch, in place of the size of a client's message
  std::string documents = {};

  /// Room for a whole batch, and for the reply that goes behind it on its way to the other node.
  void reserve(size_t batchBytes) { documents.reserve(batchBytes + kReplyBytes); }
  static constexpr size_t kReplyBytes = 512;
};

/// A command's `let` variables with their values under one collation.
struct EvaluatedLet {
  const char* given = nullptr;  ///< where the variables lie in the command
  std::shared_ptr<const bson::Collator> collator;
  bson::Document values;
  storage::MemoryReservation memory;  ///< of the values: a query may outlive its request, and the other way round
};

/// One command on its way through the server: the parsed request, its client, and the reply being written. Lives on the
/// connection's coroutine frame until the reply is sent; used by one thread at a time.
class Request {
 public:
  Request(const wire::Request& wire, ServerContext& server, Client& client, storage::OperationContext& operation)
      : wire_(wire), server_(server), client_(client), operation_(operation), fields_(wire.body) {}
  Request(const Request&) = delete;

  bson::View body() const { return wire_.body; }
  std::string_view commandName() const { return wire_.commandName(); }
  std::string_view db() const { return wire_.database; }
  const wire::Request& wire() const { return wire_; }
  ServerContext& server() const { return server_; }
  Client& client() const { return client_; }
  storage::OperationContext& operation() const { return operation_; }
  const Command* command = nullptr;

  // --- Arguments (checked against the command's table before the body runs; null means absent)
  bson::Element arg(std::string_view name) const { return fields_.mayHave(name) ? given(name) : bson::Element(); }
  const Fields& fields() const { return fields_; }  ///< as they are, nulls too
  bool flag(std::string_view name, bool fallback = false) const {
    const auto e = arg(name);
    return e ? e.truthy() : fallback;
  }
  std::string_view text(std::string_view name, std::string_view fallback = {}) const {
    return arg(name).toStringOr(fallback);
  }
  int64_t number(std::string_view name, int64_t fallback = 0) const { return arg(name).toInt64(fallback); }
  bson::View document(std::string_view name) const {
    const auto e = arg(name);
    return e.isObjectLike() ? e.asDocument() : bson::View();
  }
  /// Documents given as an array in the body or as a section of kind 1.
  StatusWith<std::vector<bson::View>> documents(std::string_view name) const;
  /// The collection the command's own field names, validated; by its UUID where the command takes one. From now on it
  /// is shown as the namespace of the operation. The dispatcher has checked the command's requirement on it.
  /// Errors: InvalidNamespace, TypeMismatch (not a string), NamespaceNotFound (no collection of this database has the
  /// UUID).
  StatusWith<AuthorizedNamespace> target();
  /// The same for a command whose arguments ask for more than its requirement. Errors: also Unauthorized.
  StatusWith<AuthorizedNamespace> target(const auth::ActionSet& further);
  bool namesCollectionByUuid() const;
  bson::View session() const { return document("lsid"); }
  /// For the next statement of the command: see evaluatedLet in commands/query_support.cpp.
  void remember(std::shared_ptr<const EvaluatedLet> let) const { let_ = std::move(let); }
  const std::shared_ptr<const EvaluatedLet>& rememberedLet() const { return let_; }

  // --- Rights
  /// Whether privileges count: authentication is on, and this is not the first user being made.
  bool checksPrivileges() const;
  /// Unauthorized unless the client's users may do this; always allowed with authentication off. Namespaces are
  /// authorised by NamespaceResolution instead, which gives the right to open them.
  Status authorize(auth::Action action, const auth::Resource& resource) const;
  /// `authorize`, remembered for the cursor that the command may open: its further batches need the same.
  Status authorizeResults(auth::Action action, const auth::Resource& resource);
  std::vector<UserKey> users() const;  ///< of the client

  std::vector<Grant> grants;  ///< what `authorizeResults` has checked, beside the command's requirement
  /// Namespaces whose documents the operation reads or changes, though the client may not find them: what views stand
  /// on, and the target of a pipeline. Null: none. Shared with the query, whose stages may meet more of them.
  std::shared_ptr<std::vector<storage::Namespace>> furtherNamespaces;

  // --- Reply
  wire::MessageBuilder& message() { return reply_; }
  bson::Builder& reply() { return reply_.body(); }
  /// {cursor: {firstBatch: [...], id: 0, ns}} for commands whose result fits in one batch.
  void replyWithBatch(std::string_view ns, const std::vector<bson::Document>& documents);
  /// Counts the bytes of the request and of the reply so far for the node, until the reply is sent; to be called while
  /// a reply grows that may become large. Requests of strangers stay counted by their connection (MessageMemory).
  /// Batches for other nodes are not counted: their links bound them, and a full node that kept its log from its
  /// members would never see the writes end that wait for a majority. Errors: ExceededMemoryLimit (the node holds all
  /// it may).
  Status accountForMessages();
  /// While the request waits for other nodes, when little is left of it.
  void stopAccounting() { held_.reset(); }
  /// In an exhaust stream: the body to run next, unasked, after this answer.
  std::optional<bson::Document> streamOn;
  std::optional<RawBatch> rawBatch;        ///< set by askers that take batches so
  bool isLabelled = false;                 ///< the reply has `errorLabels`
  bool dropReply = false;                  ///< send nothing (the connection closes)
  ReadMode readMode = ReadMode::kPrimary;  ///< of the client's read preference
  /// Whether the cursor that is read may be on a secondary; nothing where there is none, or it is not known yet.
  std::optional<bool> fromSecondaries;

  // --- The cursor that the command leaves or has read. Set only once it is known to be its client's: a failure
  // afterwards ends it.
  int64_t cursorId = 0;
  bool cursorExhausted = false;       ///< it has no more results
  bson::Document originatingCommand;  ///< of a getMore, for the profiler: what opened its cursor

  /// The request is going to wait without giving anything to its client, possibly for long: when the client is gone
  /// meanwhile, or later on, the operation is killed (HostUnreachable), at most about `within` later. Costs next to
  /// nothing where requests wait often and shortly. On the request's own coroutine.
  void endWithClient(Duration within = std::chrono::milliseconds(200)) const {
    if (client_.watchPeer) client_.watchPeer(within);
  }
  /// Ends the operation when it was killed or its time is over.
  Status checkForInterrupt() const;
  /// Lets others on this thread run, and checks for interrupts afterwards.
  Task<Status> yield();

 private:
  bson::Element given(std::string_view name) const;  ///< `arg`, where the field may be there

  const wire::Request& wire_;
  ServerContext& server_;
  Client& client_;
  storage::OperationContext& operation_;
  const Fields fields_;  ///< of the body
  wire::MessageBuilder reply_;
  storage::MemoryReservation held_;  ///< of the messages
  std::optional<size_t> counted_;    ///< bytes of the request in it, once it was looked at
  mutable std::shared_ptr<const EvaluatedLet> let_;
};

}  // namespace troupe::server
