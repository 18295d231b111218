#include "messaging/link/node_name.hpp"

#include <algorithm>

namespace troupe::link {

StatusWith<std::pair<std::string, std::string>> splitNodeName(std::string_view name) {
  const auto colon = name.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == name.size())
    return Status(ErrorCode::kBadValue, "the name of a node is host:port, not '" + std::string(name) + "'");
  std::string host(name.substr(0, colon));
  const std::string port(name.substr(colon + 1));
  if (port.find_first_not_of("0123456789") != std::string::npos || port.size() > 5 || std::stoi(port) > 65535)
    return Status(ErrorCode::kBadValue, "the port of a node is a number up to 65535, not '" + port + "'");
  const auto isWrong = [](unsigned char c) { return c <= ' ' || c == 0x7F || c == ',' || c == '/'; };
  if (std::any_of(host.begin(), host.end(), isWrong))
    return Status(ErrorCode::kBadValue, "the host of a node has no spaces, commas or slashes: '" + host + "'");
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return std::pair(std::move(host), port);
}

}  // namespace troupe::link
