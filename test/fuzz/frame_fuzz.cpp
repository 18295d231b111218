// Bytes as a peer may send them: split into frames in reads of changing sizes, parsed, walked and answered.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "messaging/wire/client.hpp"
#include "messaging/wire/frame_reader.hpp"
#include "messaging/wire/request.hpp"

using namespace troupe;

namespace {

/// Touches every byte of every field, so that a sanitizer sees what validation let through.
size_t walk(bson::View document, int depth = 0) {
  size_t sum = 0;
  for (const auto& field : document) {
    sum += field.name().size();
    for (const char byte : field.valueBytes()) sum += static_cast<uint8_t>(byte);
    if (field.isObjectLike() && depth < 300) sum += walk(field.asDocument(), depth + 1);
  }
  return sum;
}

void require(bool holds) {
  if (!holds) std::abort();
}

void handle(std::string_view frame) {
  const auto request = wire::parseRequest(frame);
  wire::MessageBuilder answer;
  answer.body().append("ok", request.isOK() ? 1.0 : 0.0);
  if (!request.isOK()) {
    const auto reply = wire::replyToMalformed(frame, std::move(answer), 1, "refused");
    require(reply.empty() || wire::parseFrameHeader(reply).isOK());
    return;
  }
  size_t sum = walk(request->body);
  for (const auto& sequence : request->sequences)
    for (const auto document : sequence.documents) sum += walk(document);
  answer.body().append("sum", static_cast<int64_t>(sum));
  const auto reply = request->reply(std::move(answer), 1);
  require(wire::parseFrameHeader(reply).isOK());
  if (wire::parseHeader(reply)->opCode != wire::OpCode::kCompressed)
    require(wire::parseReply(reply, request->requestId).isOK());
  // A client that reads the same bytes must not be hurt either.
  (void)wire::parseReply(frame, 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wire::FrameReader reader;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t step = size ? 1 + data[0] * 3 : 1;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(step, bytes.size()))) {
    reader.feed(bytes.substr(0, step));
    for (;;) {
      const auto frame = reader.next();
      if (!frame.isOK()) return 0;
      if (frame->empty()) break;
      handle(*frame);
    }
  }
  return 0;
}
