#pragma once
#include <cstdint>
#include <memory>
#include <mutex>

#include "actors/replication/replication_progress.hpp"
#include "actors/server/observed_documents.hpp"
#include "messaging/auth/cluster_time_keys.hpp"

namespace troupe::server {

/// Signs and verifies cluster times with the keys of the set (CLK-006, CLK-009). A second's times share a few proofs,
/// and the last one is kept: a reply costs no HMAC. Thread-safe.
class TimeProofs {
 public:
  /// Both outlive it.
  TimeProofs(ObservedDocuments& keys, const replication::ReplicationProgress& progress)
      : stored_(keys), progress_(progress) {}

  /// A dummy while there is no key for the time that a majority of the set has: a key that a rollback takes away would
  /// leave clients with times that nobody accepts.
  auth::TimeProof sign(bson::Timestamp time);
  /// `signature`: of a client's `$clusterTime`. Errors: KeyNotFound, TimeProofMismatch; LockTimeout while keys cannot
  /// be read, as of UserStore.
  Status verify(bson::Timestamp time, bson::View signature);
  /// All keys of the set. Errors: those of ObservedDocuments.
  StatusWith<std::shared_ptr<const auth::KeyRing>> keys() { return ring(); }
  /// Grows with each change of the keys.
  uint64_t version() const { return stored_.version(); }

 private:
  StatusWith<std::shared_ptr<const auth::KeyRing>> ring();

  ObservedDocuments& stored_;
  const replication::ReplicationProgress& progress_;
  std::mutex mutex_;
  std::shared_ptr<const auth::KeyRing> ring_;
  uint64_t ringVersion_ = 0;    ///< of the documents that `ring_` and `last_` come from
  bson::Timestamp provenWith_;  ///< the time whose proof `last_` is; the zero time: of none
  auth::TimeProof last_;
};

}  // namespace troupe::server
