#include "actors/maintenance/key_manager.hpp"

#include <algorithm>
#include <utility>

#include "actors/kernel/node.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/server/service_operation.hpp"
#include "actors/server/time_proofs.hpp"
#include "messaging/errors/co_status.hpp"
#include "state_machines/replication/key_rotation.hpp"
#include "storage/catalog/collection.hpp"
#include "storage/oplog/replicated_writes.hpp"

namespace troupe::maintenance {

namespace {

/// Costs two comparisons, and is soon enough for a new set and after a failure.
constexpr Duration kLookForKeysEvery = std::chrono::seconds(1);

bson::Timestamp clusterTime(const server::ServerContext& server) {
  const auto wall = static_cast<uint32_t>(server::wallMillis(server) / 1000);
  return std::max(server.operations.replicated->slots.newest(), bson::Timestamp{wall, 0});
}

}  // namespace

void KeyManager::onStart() {
  if (!server_->identity.authentication) {
    setPhase("idle", "without authentication cluster times go unsigned");
    return;
  }
  setPhase("waiting", "for the time at which keys are lacking");
  every(kLookForKeysEvery, [this] { look(); });
}

void KeyManager::look() {
  const bool isDue = seen_ != server_->proofs->version() || environment().now() >= next_ ||
                     server_->operations.replicated->slots.newest() >= renewAt_;
  if (working_ || !isDue || !server_->membership->view()->isWritable()) return;
  working_ = true;
  start(provide());
}

Task<void> KeyManager::provide() {
  seen_ = server_->proofs->version();
  const auto rest = co_await provideKeys();
  lastError_ = rest.isOK() ? "" : rest.status().toString();
  next_ = environment().now() + (rest.isOK() ? Duration(*rest) : Duration::zero());
  working_ = false;
}

Task<StatusWith<std::chrono::seconds>> KeyManager::provideKeys() {
  TROUPE_CO_ASSIGN(const auto ring, server_->proofs->keys());
  std::vector<replication::KeyLifetime> present;
  for (const auth::SigningKey& key : ring->keys()) present.push_back({key.id, key.expiresAt});
  const std::chrono::seconds interval(server_->parameters.keysRotationIntervalSecs.load());
  const auto plan = replication::planKeys(present, clusterTime(*server_), interval);
  std::vector<auth::SigningKey> keys;
  for (const auto& [id, expiresAt] : plan.lacking)
    keys.push_back({id, auth::randomBytes(server_->secrets, auth::SigningKey::kSecretBytes), expiresAt, {}});
  if (!keys.empty()) TROUPE_CO_TRY(co_await store(std::move(keys)));
  renewAt_ = plan.renewAt;
  co_return plan.lookAgainAfter;
}

Task<Status> KeyManager::store(std::vector<auth::SigningKey> keys) {
  const storage::Namespace& ns = server::kSigningKeys;
  server::ServiceOperation operation(*server_, "KeyManager", ns, bson::doc("insert", ns.collection(), "$db", ns.db()));
  operation->announceWrites();
  CollectionWriter writer(server_->writes, *operation);
  TROUPE_CO_ASSIGN(const auto target, co_await writer.open(ns, IfMissing::kCreate));
  std::vector<bson::Document> documents;
  std::vector<bson::View> views;
  for (const auth::SigningKey& key : keys) documents.push_back(key.toDocument());
  for (const bson::Document& document : documents) views.push_back(document.view());
  auto insert = [&] { return target.collection->insertMany(operation->recoveryUnit(), views); };
  TROUPE_CO_TRY(co_await writer.commit(insert));
  made_ += static_cast<int64_t>(keys.size());
  server_->log.info(log::Component::kReplication, 21370, "keys", "Made keys that sign cluster times",
                    bson::doc("keys", static_cast<int64_t>(keys.size()), "lastExpiresAt", keys.back().expiresAt));
  co_return Status::OK();
}

bson::Document KeyManager::signing() const {
  const auto ring = server_->proofs->keys();
  if (!ring.isOK()) return {};
  const auth::SigningKey* const key = (*ring)->signer(clusterTime(*server_), server_->progress->majority());
  return key ? bson::doc("keyId", key->id, "until", key->expiresAt) : bson::Document();
}

/// Who makes no keys, as a secondary, has no time to look.
bson::Document KeyManager::describe() const {
  bson::Builder out;
  out.append("made", made_).append("lastError", lastError_);
  if (!server_->identity.authentication) return out.finish();
  out.append("signing", signing());
  if (next_ == TimePoint{} || !server_->membership->view()->isWritable()) return out.finish();
  const auto rest = std::chrono::duration_cast<std::chrono::seconds>(next_ - environment().now());
  out.append("looksAgainInSeconds", std::max<int64_t>(rest.count(), 0)).append("renewsAt", renewAt_);
  return out.finish();
}

}  // namespace troupe::maintenance
