#include "messaging/link/rejection.hpp"

namespace troupe::link {

const char* rejectionName(Rejection reason) {
  switch (reason) {
    case Rejection::kBadMagic: return "bad magic";
    case Rejection::kTruncated: return "truncated";
    case Rejection::kOversized: return "oversized";
    case Rejection::kMalformed: return "malformed";
    case Rejection::kChecksum: return "checksum";
    case Rejection::kProof: return "wrong proof";
    case Rejection::kUnexpected: return "unexpected frame";
    case Rejection::kVersion: return "version";
    case Rejection::kWrongNode: return "wrong node";
    case Rejection::kNotAllowed: return "not allowed";
    case Rejection::kAuthentication: return "authentication";
    case Rejection::kSlow: return "slow handshake";
    case Rejection::kSilent: return "silent";
    case Rejection::kTooMany: return "too many";
    case Rejection::kRefused: return "refused by the other side";
    case Rejection::kCount: break;
  }
  return "";
}

}  // namespace troupe::link
