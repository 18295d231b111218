#pragma once
#include <memory>
#include <string>

#include "storage/locks/locker.hpp"

namespace troupe {

/// Another operation that holds a collection's lock, or waits for it, until it is told to release it.
class LockHolder {
 public:
  LockHolder(storage::LockManager& locks, const std::string& ns, storage::LockMode mode) : locker_(locks) {
    const auto intent = storage::intentAbove(mode);
    locker_.tryAcquire(storage::ResourceId::global(), intent);
    locker_.tryAcquire(storage::ResourceId::database(ns.substr(0, ns.find('.'))), intent);
    const auto taken = locker_.acquire(storage::ResourceId::collection(ns), mode, {},
                                       [held = held_](const Status& status) { *held = status.isOK(); });
    if (!taken.wait) *held_ = taken.status.isOK();
  }
  bool held() const { return *held_; }
  void release() { locker_.releaseAll(); }

 private:
  std::shared_ptr<bool> held_ = std::make_shared<bool>(false);
  storage::Locker locker_;
};

}  // namespace troupe
