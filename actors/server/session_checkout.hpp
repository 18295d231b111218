#pragma once
#include <optional>

#include "actors/server/request.hpp"
#include "actors/server/session_catalog.hpp"
#include "storage/operation/held_lock.hpp"

namespace troupe::server {

/// The session of a command with a transaction number, for the time in which its body runs: the session is the
/// operation's alone, what it has done is known, and the collections that are written beside its entries are locked
/// (IX). Nothing for other commands. Lives on the frame of the request.
class SessionCheckout {
 public:
  explicit SessionCheckout(Request& request) : request_(request) {}
  ~SessionCheckout() { checkIn(); }
  SessionCheckout(const SessionCheckout&) = delete;

  /// Errors: TransactionTooOld; those of waiting for the session and for locks; NotWritablePrimary; Unauthorized (the
  /// session is another user's); InvalidOptions (a client's session with the fields of servers); those of
  /// SessionId::parse.
  Task<Status> checkOut();
  /// Before the write concern is awaited.
  void checkIn();

 private:
  Task<Status> lockTables();
  /// Without waiting; false: nothing is locked.
  bool tryLockTables();
  void reapChildren();

  Request& request_;
  std::optional<SessionCatalog::CheckedOut> session_;
  storage::HeldLock transactions_, images_;
};

}  // namespace troupe::server
