#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "messaging/client/connection.hpp"

namespace troupe::client {

/// A write that the server refused.
struct WriteError {
  int64_t index = 0;  ///< which document, counted from the first `add`
  Status status;
};

/// Gathers documents and inserts them in batches as document sequences: no copy beyond the message. Unordered: a
/// document that is refused does not hold back the others. Borrows the connection.
class BulkInsert {
 public:
  struct Options {
    int64_t batchDocuments = 1000;
    size_t batchBytes = 8u << 20;
    bool ordered = false;
  };
  BulkInsert(Connection& connection, std::string_view database, std::string_view collection, const Options& options);
  BulkInsert(Connection& connection, std::string_view database, std::string_view collection)
      : BulkInsert(connection, database, collection, Options()) {}

  /// Adds a document; sends the batch when it is full. Errors: those of the command; refused documents are collected.
  Status add(bson::View document);
  /// Sends the last, partly filled batch.
  Status flush();

  int64_t inserted() const { return inserted_; }
  int64_t added() const { return added_; }
  /// The refused documents since the last call.
  std::vector<WriteError> takeErrors();

 private:
  Connection& connection_;
  std::string database_;
  bson::Document command_;
  Options options_;
  std::string bytes_;
  int64_t count_ = 0;
  int64_t added_ = 0;
  int64_t inserted_ = 0;
  std::vector<WriteError> errors_;
};

/// The refused writes in a reply of insert, update or delete (`writeErrors`), their indexes moved by `offset`.
std::vector<WriteError> writeErrorsOf(bson::View reply, int64_t offset = 0);

}  // namespace troupe::client
