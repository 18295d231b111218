#pragma once
#include <cstdint>
#include <string_view>

#include "messaging/bson/view.hpp"
#include "messaging/errors/status.hpp"
#include "messaging/wire/header.hpp"

namespace troupe::wire {

/// A parsed OP_QUERY, the opcode old drivers open a connection with. Borrows its frame.
struct OpQuery {
  MsgHeader header;
  uint32_t flags = 0;
  std::string_view ns;  ///< "<database>.$cmd"
  std::string_view database;
  bson::View command;  ///< the query, taken out of a `$query` wrapper
};

/// Parses a whole frame. Errors: ProtocolError for a broken layout (close the connection); InvalidBSON,
/// BSONObjectTooLarge for its documents; UnsupportedOpQueryCommand for all but hello and isMaster on `<db>.$cmd`.
StatusWith<OpQuery> parseOpQuery(std::string_view frame);

/// A parsed OP_REPLY of a server to a client's OP_QUERY. Borrows its frame.
struct OpReply {
  MsgHeader header;
  uint32_t flags = 0;
  bson::View document;  ///< the first one; empty when there is none
};

/// Parses a whole frame. Errors: ProtocolError, InvalidBSON.
StatusWith<OpReply> parseOpReply(std::string_view frame);

}  // namespace troupe::wire
