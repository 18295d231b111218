#include "messaging/tls/options.hpp"

#include <algorithm>
#include <array>

namespace troupe::tls {
namespace {

constexpr std::array<std::string_view, 4> kModeNames = {"disabled", "allowTLS", "preferTLS", "requireTLS"};
constexpr std::array<std::string_view, 4> kProtocols = {"TLS1_0", "TLS1_1", "TLS1_2", "TLS1_3"};

}  // namespace

StatusWith<TlsMode> tlsModeByName(std::string_view name) {
  const auto found = std::ranges::find(kModeNames, name);
  if (found == kModeNames.end())
    return {ErrorCode::kBadValue, "unsupported value for tlsMode: " + std::string(name) +
                                      "; expected disabled, allowTLS, preferTLS or requireTLS"};
  return static_cast<TlsMode>(found - kModeNames.begin());
}

std::string_view tlsModeName(TlsMode mode) { return kModeNames[static_cast<size_t>(mode)]; }

Status checkOptions(const TlsOptions& options) {
  if (options.mode == TlsMode::kDisabled) {
    if (!options.certificateKeyFile.empty() || !options.caFile.empty() || !options.crlFile.empty())
      return {ErrorCode::kInvalidOptions, "TLS files are given although tlsMode is disabled; set tlsMode"};
    return {};
  }
  if (options.certificateKeyFile.empty())
    return {ErrorCode::kInvalidOptions, "need tlsCertificateKeyFile when TLS is enabled"};
  if (options.caFile.empty() && !options.crlFile.empty())
    return {ErrorCode::kInvalidOptions, "need tlsCAFile with tlsCRLFile"};
  for (const auto& protocol : options.disabledProtocols)
    if (!std::ranges::count(kProtocols, protocol))
      return {ErrorCode::kBadValue,
              "unrecognized TLS protocol '" + protocol + "'; expected TLS1_0, TLS1_1, TLS1_2 or TLS1_3"};
  const auto off = [&](std::string_view name) { return std::ranges::count(options.disabledProtocols, name) > 0; };
  if (off("TLS1_2") && off("TLS1_3")) return {ErrorCode::kInvalidOptions, "all TLS protocols are disabled"};
  return {};
}

}  // namespace troupe::tls
