#include "messaging/envelope/address.hpp"

namespace troupe {

namespace {
const std::string kEmpty;
}

Address::Address(std::string_view node, std::string_view path)
    : name_(new Name{1, 0, std::string(node), std::string(path)}) {
  const size_t a = std::hash<std::string_view>()(path), b = std::hash<std::string_view>()(node);
  name_->hash = a ^ (b + 0x9e3779b97f4a7c15ULL + (a << 6) + (a >> 2));
}

const std::string& Address::node() const { return name_ ? name_->node : kEmpty; }
const std::string& Address::path() const { return name_ ? name_->path : kEmpty; }

std::string Address::toString() const { return name_ ? name_->node + name_->path : "nobody"; }

Address Address::child(std::string_view name) const {
  std::string path = this->path();
  if (path.empty() || path.back() != '/') path += '/';
  return Address(node(), path.append(name));
}

}  // namespace troupe
