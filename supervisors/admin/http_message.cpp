#include "supervisors/admin/http_message.hpp"

#include <nlohmann/json.hpp>

namespace troupe::supervisors {

namespace {

int hexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Percent-decoding; in a query, "+" is a space.
StatusWith<std::string> decode(std::string_view text, bool inQuery) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size() || hexDigit(text[i + 1]) < 0 || hexDigit(text[i + 2]) < 0)
        return Status(ErrorCode::kBadValue, "the address has a malformed escape");
      c = static_cast<char>(hexDigit(text[i + 1]) * 16 + hexDigit(text[i + 2]));
      i += 2;
    } else if (c == '+' && inQuery) {
      c = ' ';
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      return Status(ErrorCode::kBadValue, "the address has a control character");
    out.push_back(c);
  }
  return out;
}

unsigned statusFor(ErrorCode code) {
  switch (code) {
    case ErrorCode::kBadValue:
    case ErrorCode::kFailedToParse: return 400;
    case ErrorCode::kUnauthorized: return 403;
    case ErrorCode::kNoSuchKey: return 404;
    case ErrorCode::kIllegalOperation: return 409;
    case ErrorCode::kHostUnreachable:
    case ErrorCode::kShutdownInProgress:
    case ErrorCode::kInterruptedAtShutdown: return 503;
    case ErrorCode::kMaxTimeMSExpired:
    case ErrorCode::kExceededTimeLimit: return 504;
    default: return 500;
  }
}

}  // namespace

Status parseTarget(std::string_view target, HttpRequest& into) {
  if (target.empty() || target.front() != '/') return {ErrorCode::kBadValue, "the address must be an absolute path"};
  target = target.substr(0, target.find('#'));
  const auto mark = target.find('?');
  TROUPE_ASSIGN(into.path, decode(target.substr(0, mark), false));
  if (mark == std::string_view::npos) return Status::OK();
  for (std::string_view rest = target.substr(mark + 1); !rest.empty();) {
    const auto end = rest.find('&');
    const std::string_view pair = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (pair.empty()) continue;
    const auto equals = pair.find('=');
    TROUPE_ASSIGN(auto name, decode(pair.substr(0, equals), true));
    std::string value;
    if (equals != std::string_view::npos) {
      TROUPE_ASSIGN(value, decode(pair.substr(equals + 1), true));
    }
    into.query[std::move(name)] = std::move(value);
  }
  return Status::OK();
}

HttpResponse errorResponse(unsigned status, ErrorCode code, std::string_view message) {
  using Json = nlohmann::ordered_json;
  Json error{
      {"status", status}, {"code", static_cast<int32_t>(code)}, {"codeName", errorName(code)}, {"message", message}};
  HttpResponse response;
  response.status = status;
  response.body = Json{{"error", std::move(error)}}.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  return response;
}

HttpResponse errorResponse(const Status& why) { return errorResponse(statusFor(why.code()), why.code(), why.reason()); }

std::string_view cookieValue(std::string_view header, std::string_view name) {
  while (!header.empty()) {
    const auto end = header.find(';');
    std::string_view pair = header.substr(0, end);
    header = end == std::string_view::npos ? std::string_view() : header.substr(end + 1);
    while (!pair.empty() && pair.front() == ' ') pair.remove_prefix(1);
    if (pair.size() > name.size() && pair.starts_with(name) && pair[name.size()] == '=')
      return pair.substr(name.size() + 1);
  }
  return {};
}

}  // namespace troupe::supervisors
