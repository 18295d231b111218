#pragma once
#include <string_view>

#include "messaging/envelope/envelope.hpp"
#include "messaging/schemas/envelope.capnp.h"

namespace troupe {

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
