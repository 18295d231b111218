#include "messaging/envelope/address.hpp"

#include <mutex>
#include <unordered_set>

namespace troupe {

namespace {
const std::string kEmpty;

const std::string* nodeName(std::string_view node) {
  static std::mutex mutex;
  static auto* names = new std::unordered_set<std::string>();  // never destroyed: addresses may outlive main
  std::lock_guard lock(mutex);
  return &*names->emplace(node).first;
}
}  // namespace

Address::Address(std::string_view node, std::string_view path)
    : name_(new Name{1, 0, nodeName(node), std::string(path)}) {
  const size_t a = std::hash<std::string_view>()(path), b = std::hash<std::string_view>()(node);
  name_->hash = a ^ (b + 0x9e3779b97f4a7c15ULL + (a << 6) + (a >> 2));
}

const std::string& Address::node() const { return name_ ? *name_->node : kEmpty; }
const std::string& Address::path() const { return name_ ? name_->path : kEmpty; }

std::string Address::toString() const { return name_ ? *name_->node + name_->path : "nobody"; }

Address Address::child(std::string_view name) const {
  std::string path = this->path();
  if (path.empty() || path.back() != '/') path += '/';
  return Address(node(), path.append(name));
}

}  // namespace troupe
