#pragma once
#include "messaging/envelope/envelope.hpp"
#include "messaging/envelope/envelope_codec.hpp"
#include "messaging/link/frame.hpp"

namespace troupe::link {

/// Why an envelope cannot go over a link: IllegalOperation, its payload may not leave the process; InvalidLength, it is
/// larger than `largestFrame`. OK if it can.
Status checkSendable(const Envelope& envelope, size_t largestFrame);

/// Bytes of the envelope's frame besides its head.
size_t contentSize(const Envelope& envelope);

/// Appends the envelope as a frame, in parts if it is large: its head in Cap'n Proto, then the words of its payload and
/// its attachment as they are, copied once. Returns the bytes appended; 0 and nothing appended when the head is beyond
/// what a frame holds or the whole beyond `largestFrame`. `checkSendable` must hold.
size_t appendMessage(ByteQueue& out, const Envelope& envelope, TimePoint now, const ImpliedNodes& implied,
                     size_t largestFrame, bool checksummed);

/// Reads a frame of type kMessage. Nothing in it is trusted. Errors: ProtocolError.
StatusWith<Envelope> readMessage(const Frame& frame, TimePoint now, const ImpliedNodes& implied);

}  // namespace troupe::link
