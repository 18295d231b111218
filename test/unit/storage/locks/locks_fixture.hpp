#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "storage/locks/lock_manager.hpp"
#include "storage/locks/locker.hpp"

namespace troupe::storage {

/// A lock manager whose time the test sets, and lockers by a letter. A log says in which order waits ended: "b" was
/// granted, "b!" failed.
struct Locks {
  std::chrono::steady_clock::time_point time{std::chrono::seconds(1)};
  LockManager manager{[this] { return time; }};
  std::string log;
  std::map<char, std::shared_ptr<LockWait>> waits;
  std::map<char, Status> failures;
  std::map<char, std::unique_ptr<Locker>> lockers;  ///< last: when they end, others are called back

  Locker& operator[](char name) {
    auto& locker = lockers[name];
    if (!locker) locker = std::make_unique<Locker>(manager);
    return *locker;
  }
  /// True when it is granted at once.
  bool acquire(char name, const ResourceId& resource, LockMode mode, LockOptions options = {}) {
    auto outcome = (*this)[name].acquire(resource, mode, options, [this, name](const Status& status) {
      log += name;
      if (!status.isOK()) log += '!';
      failures[name] = status;
    });
    if (!outcome.status.isOK()) failures[name] = outcome.status;
    waits[name] = outcome.wait;
    return outcome.status.isOK() && !outcome.wait;
  }
  bool mutex(char name, LockMode mode, LockOptions options = {}) {
    return acquire(name, ResourceId::mutex("m"), mode, options);
  }
  void release(char name, const ResourceId& resource = ResourceId::mutex("m")) { (*this)[name].release(resource); }
  /// "Collection db.c: 1 IX, 2 S; 3 X" for each resource in use; numbers are those of the lockers.
  std::string shown() const {
    std::string text;
    for (const ResourceView& view : manager.inspect()) {
      text += (text.empty() ? "" : " | ") + std::string(nameOf(view.type));
      if (!view.name.empty()) text += " " + view.name;
      text += ":";
      for (const auto& h : view.granted) text += " " + std::to_string(h.locker) + " " + std::string(nameOf(h.mode));
      if (!view.pending.empty()) text += ";";
      for (const auto& w : view.pending) text += " " + std::to_string(w.locker) + " " + std::string(nameOf(w.mode));
    }
    return text;
  }
};

}  // namespace troupe::storage
