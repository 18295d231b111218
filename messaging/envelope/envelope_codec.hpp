#pragma once
#include <string>
#include <string_view>

#include "messaging/envelope/envelope.hpp"

namespace troupe {

/// The flat Cap'n Proto form of an envelope, for a link. `now` turns the deadline into time left. Fails with
/// IllegalOperation if the payload may not leave the process. The duty to reply is not part of it: a link keeps it
/// under the correlation.
StatusWith<std::string> encodeEnvelope(const Envelope& envelope, TimePoint now);

/// Reads what a link received. The bytes are not trusted; any damage is a ProtocolError. `bytes` may be unaligned.
StatusWith<Envelope> decodeEnvelope(std::string_view bytes, TimePoint now);

}  // namespace troupe
