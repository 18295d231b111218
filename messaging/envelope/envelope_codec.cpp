#include "messaging/envelope/envelope_codec.hpp"

#include <kj/exception.h>

#include <cstring>
#include <vector>

#include "messaging/bson/validate.hpp"
#include "messaging/schemas/envelope.capnp.h"

namespace troupe {

namespace {

capnp::Data::Reader asData(std::string_view bytes) {
  return {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()};
}
std::string_view view(capnp::Data::Reader bytes) {
  return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
}

void put(schema::Address::Builder out, const Address& address) {
  out.setNode(address.node());
  out.setPath(address.path());
}
Address get(schema::Address::Reader in) {
  if (in.getPath().size() == 0) return {};
  return Address(std::string_view(in.getNode().cStr(), in.getNode().size()),
                 std::string_view(in.getPath().cStr(), in.getPath().size()));
}

StatusWith<bson::Document> document(capnp::Data::Reader bytes) {
  if (bytes.size() == 0) return bson::Document();
  const auto valid = bson::validate(view(bytes));
  if (!valid.isOK()) return valid.status();
  return bson::Document::adopt(std::string(view(bytes)));
}

StatusWith<Envelope> readEnvelope(schema::Envelope::Reader in, TimePoint now) {
  Envelope out;
  out.to = get(in.getTo());
  out.from = get(in.getFrom());
  out.correlation = in.getCorrelation();
  out.kind = static_cast<MessageKind>(in.getKind());
  if (out.kind > MessageKind::kDown) return Status(ErrorCode::kProtocolError, "an envelope of an unknown kind");
  if (in.getDeadline() > 0 && in.getDeadline() < (uint64_t{1} << 50))
    out.deadline = now + std::chrono::microseconds(in.getDeadline());
  out.trace = in.getTrace();
  out.priority = in.getUrgent() ? Priority::kHigh : Priority::kNormal;
  if (in.getVectorTime().size() > 0 || in.getReplMetadata().size() > 0) {
    out.metadata = std::make_unique<ClusterMetadata>();
    TROUPE_ASSIGN(out.metadata->vectorTime, document(in.getVectorTime()));
    TROUPE_ASSIGN(out.metadata->replMetadata, document(in.getReplMetadata()));
  }
  const auto payload = in.getPayload();
  if (payload.getTypeId() != 0) {
    if (payload.getTypeId() >> 63 == 0) return Status(ErrorCode::kProtocolError, "a payload type that is no schema type");
    std::shared_ptr<const std::string> attachment;
    if (payload.getAttachment().size() > 0)
      attachment = std::make_shared<const std::string>(view(payload.getAttachment()));
    out.payload = Payload::fromWords(payload.getTypeId(), view(payload.getWords()), std::move(attachment));
  }
  const auto failure = in.getFailure();
  if (failure.getCode() != 0) {
    TROUPE_ASSIGN(auto extra, document(failure.getExtra()));
    const std::string reason(failure.getReason().cStr(), failure.getReason().size());
    out.failure = extra.empty() ? Status(ErrorCode(failure.getCode()), reason)
                                : Status(ErrorCode(failure.getCode()), reason, extra);
  }
  return out;
}

}  // namespace

StatusWith<std::string> encodeEnvelope(const Envelope& envelope, TimePoint now) {
  if (!envelope.payload.isSerializable())
    return Status(ErrorCode::kIllegalOperation,
                  std::string("a ") + envelope.payload.typeName() + " may not leave the process");
  capnp::MallocMessageBuilder message;
  auto out = message.initRoot<schema::Envelope>();
  put(out.initTo(), envelope.to);
  put(out.initFrom(), envelope.from);
  out.setCorrelation(envelope.correlation);
  out.setKind(static_cast<schema::Envelope::Kind>(envelope.kind));
  if (envelope.deadline != kNoDeadline) {
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(envelope.deadline - now).count();
    out.setDeadline(left > 0 ? static_cast<uint64_t>(left) : 1);
  }
  out.setTrace(envelope.trace);
  out.setUrgent(envelope.priority == Priority::kHigh);
  if (envelope.metadata) {
    out.setVectorTime(asData(envelope.metadata->vectorTime.bytes()));
    out.setReplMetadata(asData(envelope.metadata->replMetadata.bytes()));
  }
  if (envelope.payload) {
    auto payload = out.initPayload();
    payload.setTypeId(envelope.payload.type());
    const auto bytes = envelope.payload.words().asBytes();
    payload.setWords(bytes);
    if (envelope.payload.attachment()) payload.setAttachment(asData(*envelope.payload.attachment()));
  }
  if (!envelope.failure.isOK()) {
    auto failure = out.initFailure();
    failure.setCode(static_cast<int32_t>(envelope.failure.code()));
    failure.setReason(envelope.failure.reason());
    if (envelope.failure.extra()) failure.setExtra(asData(envelope.failure.extra()->bytes()));
  }
  const auto words = capnp::messageToFlatArray(message);
  const auto bytes = words.asChars();
  return std::string(bytes.begin(), bytes.size());
}

StatusWith<Envelope> decodeEnvelope(std::string_view bytes, TimePoint now) {
  if (bytes.size() % sizeof(capnp::word) != 0 || bytes.empty())
    return Status(ErrorCode::kProtocolError, "an envelope that is not made of whole words");
  std::vector<capnp::word> aligned(bytes.size() / sizeof(capnp::word));
  std::memcpy(static_cast<void*>(aligned.data()), bytes.data(), bytes.size());
  try {
    // Each word once, and the few of addresses again.
    capnp::FlatArrayMessageReader reader(kj::arrayPtr(aligned.data(), aligned.size()),
                                         {aligned.size() * 2 + 1024, 16});
    return readEnvelope(reader.getRoot<schema::Envelope>(), now);
  } catch (const kj::Exception& damage) {
    return Status(ErrorCode::kProtocolError,
                  std::string("a damaged envelope: ") + damage.getDescription().cStr());
  }
}

}  // namespace troupe
