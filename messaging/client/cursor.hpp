#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "messaging/client/connection.hpp"

namespace troupe::client {

/// Iterates the result of find, aggregate, listCollections ...: asks for more as it goes. It borrows the connection,
/// which may run other commands in between. Not read to its end, it is killed when it is destroyed.
class Cursor {
 public:
  /// Runs a command that answers with a cursor. Errors: the server's, or FailedToParse when the answer has none.
  static StatusWith<Cursor> open(Connection& connection, std::string_view database, bson::View command);
  Cursor(Cursor&& other) noexcept;
  Cursor& operator=(Cursor&&) = delete;
  ~Cursor();

  /// The next document, borrowed until the next call; nothing at the end. Errors: those of getMore.
  StatusWith<std::optional<bson::View>> next();

 private:
  Cursor(Connection& connection, std::string database) : connection_(&connection), database_(std::move(database)) {}
  Status take(bson::Document reply, std::string_view batchName);

  Connection* connection_;
  std::string database_;
  std::string collection_;
  int64_t id_ = 0;
  int64_t batchSize_ = 0;  ///< as the command asked; 0: the server's choice
  bson::Document reply_;   ///< holds the batch
  bson::View batch_;
  bson::View::Iterator at_;
};

}  // namespace troupe::client
