#include "messaging/client/uri.hpp"

#include <array>
#include <charconv>
#include <optional>

namespace troupe::client {
namespace {

constexpr std::string_view kScheme = "mongodb://";

Status bad(std::string reason) { return {ErrorCode::kFailedToParse, "connection string: " + std::move(reason)}; }

int hexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

StatusWith<std::string> unescape(std::string_view text, std::string_view what) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    const int high = i + 2 < text.size() ? hexDigit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hexDigit(text[i + 2]) : -1;
    if (high < 0 || low < 0)
      return bad("the " + std::string(what) + " has a '%' that two hexadecimal digits do not follow");
    out.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return out;
}

StatusWith<int64_t> number(std::string_view text, std::string_view what, int64_t most) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > most)
    return bad("'" + std::string(text) + "' is not a valid " + std::string(what));
  return value;
}

StatusWith<bool> flag(std::string_view text, std::string_view name) {
  if (text == "true") return true;
  if (text == "false") return false;
  return bad(std::string(name) + " must be true or false");
}

Status readHost(std::string_view text, Target& target) {
  text = text.substr(0, text.find(','));
  std::string_view host = text, port;
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos) return bad("the address lacks its closing ']'");
    host = text.substr(1, close - 1);
    port = text.substr(close + 1);
    if (!port.empty() && !port.starts_with(':')) return bad("'" + std::string(text) + "' is not host:port");
  } else if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon);
  }
  if (host.empty()) return bad("it names no host");
  TROUPE_ASSIGN(target.host, unescape(host, "host"));
  if (port.empty()) return {};
  TROUPE_ASSIGN(const int64_t value, number(port.substr(1), "port", 65535));
  if (value == 0) return bad("port 0 cannot be connected to");
  target.port = static_cast<uint16_t>(value);
  return {};
}

Status readUser(std::string_view text, Target& target) {
  const auto colon = text.find(':');
  TROUPE_ASSIGN(target.user, unescape(text.substr(0, colon), "user name"));
  if (target.user.empty()) return bad("the user name is empty");
  if (colon == std::string_view::npos) return {};
  const auto password = text.substr(colon + 1);
  if (password.find_first_of(":/@") != std::string_view::npos)
    return bad("write ':', '/' and '@' in the password as %3A, %2F and %40");
  TROUPE_ASSIGN(target.password, unescape(password, "password"));
  return {};
}

struct TextOption {
  std::string_view name;
  std::string Target::*field;
};
struct FlagOption {
  std::string_view name;
  bool Target::*field;
};
struct TimeOption {
  std::string_view name;
  int64_t Target::*field;
};
constexpr std::array kTexts = {TextOption{"authSource", &Target::authSource},
                               TextOption{"authMechanism", &Target::mechanism},
                               TextOption{"tlsCAFile", &Target::tlsCAFile},
                               TextOption{"appName", &Target::appName},
                               TextOption{"appname", &Target::appName},
                               TextOption{"tlsCertificateKeyFile", &Target::tlsCertificateKeyFile},
                               TextOption{"readPreference", &Target::readPreference}};
constexpr std::array kFlags = {FlagOption{"tls", &Target::tls}, FlagOption{"ssl", &Target::tls},
                               FlagOption{"tlsAllowInvalidCertificates", &Target::tlsAllowInvalidCertificates},
                               FlagOption{"tlsInsecure", &Target::tlsAllowInvalidCertificates},
                               FlagOption{"tlsAllowInvalidHostnames", &Target::tlsAllowInvalidHostnames}};
constexpr std::array kTimes = {TimeOption{"connectTimeoutMS", &Target::connectTimeoutMs},
                               TimeOption{"socketTimeoutMS", &Target::socketTimeoutMs}};
/// Options of drivers that mean nothing to one blocking connection.
constexpr std::array<std::string_view, 17> kIgnored = {"directConnection",
                                                       "replicaSet",
                                                       "readPreferenceTags",
                                                       "readConcernLevel",
                                                       "w",
                                                       "wtimeoutMS",
                                                       "journal",
                                                       "retryWrites",
                                                       "retryReads",
                                                       "maxPoolSize",
                                                       "minPoolSize",
                                                       "maxIdleTimeMS",
                                                       "compressors",
                                                       "loadBalanced",
                                                       "zlibCompressionLevel",
                                                       "serverSelectionTimeoutMS",
                                                       "heartbeatFrequencyMS"};

Status readOption(std::string_view name, std::string_view escaped, Target& target) {
  TROUPE_ASSIGN(const std::string value, unescape(escaped, name));
  for (const auto& option : kTexts) {
    if (option.name == name) return target.*option.field = value, Status::OK();
  }
  for (const auto& option : kFlags) {
    if (option.name != name) continue;
    TROUPE_ASSIGN(target.*option.field, flag(value, name));
    return {};
  }
  for (const auto& option : kTimes) {
    if (option.name != name) continue;
    TROUPE_ASSIGN(target.*option.field, number(value, name, int64_t{1} << 31));
    return {};
  }
  for (const auto ignored : kIgnored) {
    if (ignored == name) return {};
  }
  return bad("there is no option '" + std::string(name) + "'");
}

Status readOptions(std::string_view text, Target& target) {
  while (!text.empty()) {
    const auto amp = text.find('&');
    const auto pair = text.substr(0, amp);
    text = amp == std::string_view::npos ? std::string_view() : text.substr(amp + 1);
    const auto equals = pair.find('=');
    if (equals == std::string_view::npos)
      return bad("the option '" + std::string(pair) + "' has no value (name=value)");
    TROUPE_TRY(readOption(pair.substr(0, equals), pair.substr(equals + 1), target));
  }
  return {};
}

}  // namespace

std::string Target::address() const {
  const bool bare = host.find(':') != std::string::npos;
  return (bare ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string Target::authDatabase() const {
  if (!authSource.empty()) return authSource;
  return database.empty() ? "admin" : database;
}

StatusWith<Target> parseTarget(std::string_view text) {
  Target target;
  if (!text.starts_with(kScheme)) {
    if (text.starts_with("mongodb+srv://"))
      return bad("mongodb+srv:// is not supported; name the host with mongodb://");
    if (text.find("://") != std::string_view::npos) return bad("it must begin with mongodb://");
    TROUPE_TRY(readHost(text, target));
    return target;
  }
  text.remove_prefix(kScheme.size());
  const auto question = text.find('?');
  const auto options = question == std::string_view::npos ? std::string_view() : text.substr(question + 1);
  text = text.substr(0, question);
  const auto at = text.rfind('@');
  if (at != std::string_view::npos) {
    TROUPE_TRY(readUser(text.substr(0, at), target));
    text.remove_prefix(at + 1);
  }
  const auto slash = text.find('/');
  TROUPE_TRY(readHost(text.substr(0, slash), target));
  if (slash != std::string_view::npos) {
    TROUPE_ASSIGN(target.database, unescape(text.substr(slash + 1), "database"));
  }
  TROUPE_TRY(readOptions(options, target));
  return target;
}

}  // namespace troupe::client
