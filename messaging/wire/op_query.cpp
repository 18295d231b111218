#include "messaging/wire/op_query.hpp"

#include <string>

#include "messaging/bson/validate.hpp"

namespace troupe::wire {
namespace {

constexpr std::string_view kCommandSuffix = ".$cmd";

bool isHandshake(std::string_view command) {
  return command == "hello" || command == "isMaster" || command == "ismaster";
}

Status unsupported(std::string_view what) {
  return {ErrorCode::kUnsupportedOpQueryCommand,
          "Unsupported OP_QUERY command: " + std::string(what) + ". The client driver may require an upgrade."};
}

}  // namespace

StatusWith<OpQuery> parseOpQuery(std::string_view frame) {
  OpQuery query;
  TROUPE_ASSIGN(query.header, parseFrameHeader(frame));
  auto rest = frame.substr(kHeaderSize);
  if (query.header.opCode != OpCode::kQuery || rest.size() < 4)
    return {ErrorCode::kProtocolError, "not an OP_QUERY, or truncated"};
  query.flags = bson::load<uint32_t>(rest.data());
  rest.remove_prefix(4);
  const auto end = rest.find('\0');
  constexpr size_t kSkipAndLimit = 8;
  if (end == std::string_view::npos || rest.size() < end + 1 + kSkipAndLimit)
    return {ErrorCode::kProtocolError, "OP_QUERY is truncated"};
  query.ns = rest.substr(0, end);
  rest.remove_prefix(end + 1 + kSkipAndLimit);

  TROUPE_ASSIGN(const auto size, bson::validate(rest));
  query.command = bson::View(rest.data());
  rest.remove_prefix(static_cast<size_t>(size));
  if (!rest.empty()) {  // a selector of fields may follow, which commands have no use for
    TROUPE_ASSIGN(const auto selectorSize, bson::validate(rest));
    if (static_cast<size_t>(selectorSize) != rest.size())
      return {ErrorCode::kProtocolError, "bytes follow the documents of OP_QUERY"};
  }

  for (const auto wrapper : {"$query", "query"}) {
    const auto wrapped = query.command.first();
    if (wrapped.is(bson::Type::kDocument) && wrapped.name() == wrapper) query.command = wrapped.asDocument();
  }
  if (!query.ns.ends_with(kCommandSuffix)) return unsupported("find");
  query.database = query.ns.substr(0, query.ns.size() - kCommandSuffix.size());
  const auto name = query.command.first().name();
  if (!isHandshake(name)) return unsupported(name);
  return query;
}

StatusWith<OpReply> parseOpReply(std::string_view frame) {
  constexpr size_t kFields = 4 + 8 + 4 + 4;
  OpReply reply;
  TROUPE_ASSIGN(reply.header, parseFrameHeader(frame));
  if (reply.header.opCode != OpCode::kReply || frame.size() < kHeaderSize + kFields)
    return {ErrorCode::kProtocolError, "not an OP_REPLY, or truncated"};
  reply.flags = bson::load<uint32_t>(frame.data() + kHeaderSize);
  const auto documents = frame.substr(kHeaderSize + kFields);
  if (documents.empty()) return reply;
  TROUPE_TRY(bson::validate(documents).status());
  reply.document = bson::View(documents.data());
  return reply;
}

}  // namespace troupe::wire
