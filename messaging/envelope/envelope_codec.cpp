#include "messaging/envelope/envelope_codec.hpp"

#include <kj/exception.h>

#include "messaging/bson/validate.hpp"

namespace troupe {

namespace {

capnp::Data::Reader asData(std::string_view bytes) {
  return {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()};
}
std::string_view view(capnp::Data::Reader bytes) {
  return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
}

constexpr size_t kLongestNodeName = 512;

std::string_view view(capnp::Text::Reader text) { return {text.cStr(), text.size()}; }

void put(schema::Address::Builder out, const Address& address, std::string_view implied) {
  if (address.node() != implied) out.setNode(address.node());
  out.setPath(address.path());
}
StatusWith<Address> get(schema::Address::Reader in, std::string_view implied) {
  const auto node = view(in.getNode()), path = view(in.getPath());
  if (path.empty()) return Address();
  if (node.size() > kLongestNodeName) return Status(ErrorCode::kProtocolError, "the name of a node is too long");
  if (node.find('\0') != node.npos || path.find('\0') != path.npos)
    return Status(ErrorCode::kProtocolError, "the name of an actor holds a NUL");
  return Address(node.empty() ? implied : node, path);
}

StatusWith<bson::Document> document(capnp::Data::Reader bytes) {
  if (bytes.size() == 0) return bson::Document();
  const auto valid = bson::validate(view(bytes));
  if (!valid.isOK()) return valid.status();
  return bson::Document::adopt(std::string(view(bytes)));
}

Status readMetadata(schema::Envelope::Reader in, Envelope& out) {
  if (in.getVectorTime().size() == 0 && in.getReplMetadata().size() == 0) return Status::OK();
  out.metadata = std::make_unique<ClusterMetadata>();
  TROUPE_ASSIGN(out.metadata->vectorTime, document(in.getVectorTime()));
  TROUPE_ASSIGN(out.metadata->replMetadata, document(in.getReplMetadata()));
  return Status::OK();
}

Status readFailure(schema::Failure::Reader in, Envelope& out) {
  if (in.getCode() == 0) return Status::OK();
  TROUPE_ASSIGN(const auto extra, document(in.getExtra()));
  std::string reason(view(in.getReason()));
  out.failure = extra.empty() ? Status(ErrorCode(in.getCode()), std::move(reason))
                              : Status(ErrorCode(in.getCode()), std::move(reason), extra);
  return Status::OK();
}

}  // namespace

void writeEnvelopeHead(schema::Envelope::Builder out, const Envelope& envelope, TimePoint now,
                       const ImpliedNodes& implied) {
  put(out.initTo(), envelope.to, implied.receiver);
  if (envelope.from) put(out.initFrom(), envelope.from, implied.sender);
  out.setCorrelation(envelope.correlation);
  out.setKind(static_cast<schema::Envelope::Kind>(envelope.kind));
  if (envelope.deadline != kNoDeadline) {
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(envelope.deadline - now).count();
    out.setDeadline(left > 0 ? static_cast<uint64_t>(left) : 1);
  }
  out.setTrace(envelope.trace);
  out.setUrgent(envelope.priority == Priority::kHigh);
  out.setClusterTime(envelope.clusterTime.asUint64());
  if (envelope.metadata) {
    out.setVectorTime(asData(envelope.metadata->vectorTime.bytes()));
    out.setReplMetadata(asData(envelope.metadata->replMetadata.bytes()));
  }
  if (envelope.payload) out.initPayload().setTypeId(envelope.payload.type());
  if (!envelope.failure.isOK()) {
    auto failure = out.initFailure();
    failure.setCode(static_cast<int32_t>(envelope.failure.code()));
    failure.setReason(envelope.failure.reason());
    if (envelope.failure.extra()) failure.setExtra(asData(envelope.failure.extra()->bytes()));
  }
}

StatusWith<Envelope> readEnvelopeHead(schema::Envelope::Reader in, TimePoint now, const ImpliedNodes& implied,
                                      std::string_view words, std::string_view attached) {
  Envelope out;
  TROUPE_ASSIGN(out.to, get(in.getTo(), implied.receiver));
  TROUPE_ASSIGN(out.from, get(in.getFrom(), implied.sender));
  out.correlation = in.getCorrelation();
  out.kind = static_cast<MessageKind>(in.getKind());
  if (out.kind > MessageKind::kDown) return Status(ErrorCode::kProtocolError, "an envelope of an unknown kind");
  if (in.getDeadline() > 0 && in.getDeadline() < (uint64_t{1} << 50))
    out.deadline = now + std::chrono::microseconds(in.getDeadline());
  out.trace = in.getTrace();
  out.priority = in.getUrgent() ? Priority::kHigh : Priority::kNormal;
  out.clusterTime = bson::Timestamp::fromUint64(in.getClusterTime());
  TROUPE_TRY(readMetadata(in, out));
  if (const auto type = in.getPayload().getTypeId(); type != 0) {
    if (type >> 63 == 0) return Status(ErrorCode::kProtocolError, "a payload type that is no schema type");
    std::shared_ptr<const std::string> attachment;
    if (!attached.empty()) attachment = std::make_shared<const std::string>(attached);
    out.payload = Payload::fromWords(type, words, std::move(attachment));
  }
  TROUPE_TRY(readFailure(in.getFailure(), out));
  return out;
}

}  // namespace troupe
