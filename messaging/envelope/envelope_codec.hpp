#pragma once
#include <string>
#include <string_view>

#include "messaging/envelope/envelope.hpp"
#include "messaging/schemas/envelope.capnp.h"

namespace troupe {

/// The flat Cap'n Proto form of an envelope, for a link. `now` turns the deadline into time left. Fails with
/// IllegalOperation if the payload may not leave the process. The duty to reply is not part of it: a link keeps it
/// under the correlation.
StatusWith<std::string> encodeEnvelope(const Envelope& envelope, TimePoint now);

/// Reads what a link received. The bytes are not trusted; any damage is a ProtocolError. `bytes` may be unaligned.
StatusWith<Envelope> decodeEnvelope(std::string_view bytes, TimePoint now);

/// The names of nodes that an envelope on a link leaves out: the receiver's, and the sender's.
struct ImpliedNodes {
  std::string_view receiver, sender;
};

/// All of an envelope but words and attachment of its payload, for a link, which carries these beside it. Names of
/// nodes that are implied are left out.
void writeEnvelopeHead(schema::Envelope::Builder out, const Envelope& envelope, TimePoint now,
                       const ImpliedNodes& implied);
/// The same back; the words are not looked at here, their reader finds out about damage. Names that were left out are
/// filled in. May throw kj::Exception on damage. Errors: ProtocolError.
StatusWith<Envelope> readEnvelopeHead(schema::Envelope::Reader in, TimePoint now, const ImpliedNodes& implied,
                                      std::string_view words, std::string_view attachment);

}  // namespace troupe
