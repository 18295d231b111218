#pragma once
#include <cstddef>
#include <string>

namespace troupe::link {

/// Why a node closes a link, or does not let it come about. Counted by reason.
enum class Rejection {
  kBadMagic,        ///< the first bytes are not a link's
  kTruncated,       ///< the connection ended within a frame
  kOversized,       ///< a frame larger than allowed at this point
  kMalformed,       ///< a frame or its content makes no sense
  kChecksum,        ///< a frame was damaged on its way
  kProof,           ///< the proof of origin does not fit: forged, repeated, left out or moved
  kUnexpected,      ///< a frame that is not due now, or a message this side may not send
  kVersion,         ///< another version of the protocol
  kWrongNode,       ///< the names do not fit: a node that is not meant, or oneself
  kNotAllowed,      ///< links without a key are not taken from there, or one side alone has a key
  kAuthentication,  ///< the proof is wrong: another key
  kSlow,            ///< the handshake took too long
  kSilent,          ///< nothing came for longer than the idle time-out
  kTooMany,         ///< as many links are being opened as are allowed
  kRefused,         ///< the other side closed with a reason
  kCount
};
inline constexpr size_t kRejections = static_cast<size_t>(Rejection::kCount);

/// A short name for metrics and logs: "bad magic".
const char* rejectionName(Rejection reason);

/// A rejection and what exactly was wrong, for people.
struct Rejected {
  Rejection reason;
  std::string detail;
  /// "wrong key: the proof does not fit"
  std::string toString() const { return std::string(rejectionName(reason)) + ": " + detail; }
};

}  // namespace troupe::link
