#include "actors/server/client.hpp"

#include "actors/server/session_key.hpp"

namespace troupe::server {

std::string joinedNames(std::span<const UserKey> users) {
  std::string joined;
  for (const UserKey& user : users) joined += (joined.empty() ? "" : ", ") + user.text();
  return joined;
}

void Client::usersChanged() {
  userKeys_.clear();
  for (const auto& user : users) userKeys_.push_back(user.key());
  std::string joined = joinedNames(userKeys_);
  std::string owner = SessionKey::ownerOf(userKeys_);
  const std::lock_guard lock(mutex_);
  sessionOwner = std::move(owner);
  userNames_ = std::move(joined);
}

std::shared_ptr<Client> ClientRegistry::add(std::string remote, bool fromLoopback, bool encrypted) {
  const std::lock_guard lock(mutex_);
  const int64_t id = ++created_;
  auto client = std::make_shared<Client>(id, std::move(remote), fromLoopback, encrypted);
  clients_.emplace(id, client);
  ++current_;
  return client;
}

std::shared_ptr<Client> ClientRegistry::addWithoutConnection(std::string name) {
  const std::lock_guard lock(mutex_);
  const int64_t id = --lastWithoutConnection_;
  auto client = std::make_shared<Client>(id, std::move(name), false, false);
  clients_.emplace(id, client);
  return client;
}

void ClientRegistry::remove(int64_t connectionId) {
  const std::lock_guard lock(mutex_);
  const auto removed = static_cast<int64_t>(clients_.erase(connectionId));
  if (connectionId > 0) current_ -= removed;
}

void ClientRegistry::each(const std::function<void(Client&)>& visit) const {
  std::vector<std::shared_ptr<Client>> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, client] : clients_) all.push_back(client);
  }
  for (const auto& client : all) visit(*client);
}

std::vector<std::shared_ptr<Client>> ClientRegistry::next(int64_t& after, size_t most) const {
  std::vector<std::shared_ptr<Client>> found;
  const std::lock_guard lock(mutex_);
  for (auto it = clients_.upper_bound(after); it != clients_.end() && found.size() < most; ++it) {
    found.push_back(it->second);
    after = it->first;
  }
  return found;
}

bool ClientRegistry::killOperation(int64_t operationId, ErrorCode code) const {
  bool killed = false;
  each([&](Client& client) {
    client.withOperation([&](storage::OperationContext& operation) {
      if (operation.id() != operationId) return;
      operation.kill(code);
      killed = true;
    });
  });
  return killed;
}

}  // namespace troupe::server
