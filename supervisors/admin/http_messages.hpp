#pragma once
#include <boost/beast/core/string.hpp>
#include <boost/beast/http.hpp>
#include <string>
#include <utility>

#include "supervisors/admin/admin_api.hpp"

namespace troupe::supervisors {

// Requests and responses between the HTTP library's types and those of the AdminApi.

/// No script, style, image or connection but this endpoint's own; no frame of another site around it.
inline constexpr const char* kContentPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

using LibraryRequest = boost::beast::http::request<boost::beast::http::string_body>;
using LibraryResponse = boost::beast::http::response<boost::beast::http::string_body>;

inline std::string stringOf(boost::beast::string_view view) { return {view.data(), view.size()}; }

inline HttpRequest toRequest(const LibraryRequest& in, std::string remote) {
  HttpRequest out;
  out.method = stringOf(in.method_string());
  out.host = stringOf(in[boost::beast::http::field::host]);
  out.origin = stringOf(in[boost::beast::http::field::origin]);
  out.authorization = stringOf(in[boost::beast::http::field::authorization]);
  out.cookie = stringOf(in[boost::beast::http::field::cookie]);
  out.ifNoneMatch = stringOf(in[boost::beast::http::field::if_none_match]);
  out.action = stringOf(in["X-Troupe-Action"]);
  out.remote = std::move(remote);
  return out;
}

template <class Message>
void fillHeaders(Message& out, const HttpResponse& from) {
  out.set(boost::beast::http::field::server, "troupe");
  out.set(boost::beast::http::field::content_type, from.contentType);
  out.set("X-Content-Type-Options", "nosniff");
  out.set("Content-Security-Policy", kContentPolicy);
  out.set("Referrer-Policy", "no-referrer");
  out.set("Cross-Origin-Resource-Policy", "same-origin");
  out.set(boost::beast::http::field::cache_control, "no-store");
  for (const auto& [name, value] : from.headers) out.set(name, value);
}

}  // namespace troupe::supervisors
