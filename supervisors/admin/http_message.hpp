#pragma once
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "messaging/envelope/envelope.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::supervisors {

/// An HTTP request, as far as the admin endpoint reads it. A value; the HTTP library stays in the session.
struct HttpRequest {
  std::string method;                        ///< "GET", "HEAD", "POST"
  std::string path;                          ///< decoded, without the query
  std::map<std::string, std::string> query;  ///< decoded
  // Headers; empty when absent.
  std::string host, origin, authorization, cookie, ifNoneMatch;
  std::string action;  ///< X-Troupe-Action: what a page of another site cannot send
  std::string remote;  ///< "127.0.0.1:51234", for the log and the tree
  bool encrypted = false;
};

/// A log-in that lasts longer than the request that it came with: whose it is, and nothing that it was proven with.
struct LogIn {
  std::string user, database;         ///< empty when nobody has to log in
  std::string fingerprint;            ///< of the user's stored credentials when it began
  TimePoint ends = TimePoint::max();  ///< with its session
};

struct HttpResponse {
  unsigned status = 200;
  std::string contentType = "application/json; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  bool events = false;  ///< the body is a stream of events without end
  LogIn eventsOf;       ///< whose stream it is
};

/// Splits and decodes "/actors/a%20b?tree=1" into `path` and `query`. Errors: BadValue for malformed escapes, control
/// characters, or a target that is no absolute path.
Status parseTarget(std::string_view target, HttpRequest& into);

/// {"error": {"status", "code", "codeName", "message"}}.
HttpResponse errorResponse(unsigned status, ErrorCode code, std::string_view message);
/// The same with the status that fits the code: 404, 409, 504 ...
HttpResponse errorResponse(const Status& why);

/// The value of a cookie in a Cookie header; empty if it is not there.
std::string_view cookieValue(std::string_view header, std::string_view name);

}  // namespace troupe::supervisors
