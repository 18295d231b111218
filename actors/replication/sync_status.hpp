#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/clock/op_time.hpp"
#include "state_machines/core/step.hpp"

namespace troupe::replication {

/// Progress and attempts of an initial sync, as replSetGetStatus.initialSyncStatus shows them (ISY-019). Written by
/// the actor of the sync and the copy it makes, read by anybody. Times are of the wall clock. Any thread.
class SyncStatus {
 public:
  /// The outcome of an attempt that has succeeded.
  static constexpr const char* kSucceeded = "OK";

  void begin(bson::Date now);
  void beginAttempt(machines::NodeName source, bson::Date now);
  void setBeginning(const OpTime& fetching, const OpTime& applying, int64_t rollbackId);
  void setStop(const OpTime& stop);
  /// A failure of the source that the attempt has got over.
  void noteRetry();
  void endAttempt(const std::string& outcome, bson::Date now);
  /// There was no source to copy, and the member keeps its data.
  void endWithoutCopy(bson::Date now);
  /// All attempts have failed.
  void giveUp();
  /// The member has its data.
  void end(bson::Date now);

  void addDatabase(const std::string& name, int64_t bytes);
  void beginDatabase(const std::string& name, int64_t collections, bson::Date now);
  void endDatabase(const std::string& name, bson::Date now);
  void beginCollection(const std::string& database, const std::string& ns, int64_t documents, int64_t bytes,
                       bson::Date now);
  void noteBatch(const std::string& database, const std::string& ns, int64_t documents, int64_t bytes);
  void endCollection(const std::string& database, const std::string& ns, int64_t indexes, bson::Date now);
  void noteFetched(int64_t entries);
  void noteApplied(int64_t entries);

  /// The copy waits for `what` as long as one lives.
  class Waiting {
   public:
    Waiting(SyncStatus& status, const char* what) : status_(status), what_(what) { status_.noteWaiting(what_, 1); }
    ~Waiting() { status_.noteWaiting(what_, -1); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    SyncStatus& status_;
    const char* const what_;
  };

  /// Since the start of the node. `failures`: syncs that were given up.
  struct Counts {
    int64_t completed = 0, failedAttempts = 0, failures = 0;
  };
  Counts counts() const;
  /// Of the copy that goes on, or of the last one: collections that have not been begun count with their databases'
  /// sizes.
  struct Volume {
    int64_t wanted = 0, copied = 0;
    bool isCopying = false;
  };
  Volume volume() const;

  /// Empty when there was none in this life of the node.
  bson::Document toBson(bson::Date now) const;

 private:
  /// From when to when; `end` is zero while it goes on.
  struct Span {
    int64_t begin = 0, end = 0;
    int64_t millis(int64_t now) const { return begin == 0 ? 0 : (end != 0 ? end : now) - begin; }
    void append(bson::Builder& to, int64_t now) const;
  };
  struct CollectionCopy {
    Span span;
    int64_t documents = 0, copied = 0;  ///< as the source counted them at the beginning, and copied so far
    int64_t bytes = 0, bytesCopied = 0;
    int64_t indexes = 0, batches = 0;
  };
  struct DatabaseCopy {
    Span span;
    int64_t bytes = 0;  ///< on the disk of the source
    int64_t collections = 0, copied = 0;
    bool isDone = false;
    std::map<std::string, CollectionCopy> copies;
  };
  struct Attempt {
    machines::NodeName source;
    Span span;
    std::string outcome;
    int64_t rollbackId = 0, retries = 0;
  };

  void noteWaiting(const char* what, int more);
  void appendDatabases(bson::Builder& to, int64_t now) const;
  void appendCopied(bson::Builder& to, int64_t now) const;
  Volume volumeLocked() const;

  mutable std::mutex mutex_;
  Span span_;
  std::vector<Attempt> attempts_;  ///< the last one may be under way
  OpTime beginFetching_, beginApplying_, stop_;
  Counts counts_;
  int64_t fetched_ = 0, applied_ = 0;   ///< entries of the log
  std::map<std::string, int> waiting_;  ///< how many tasks of the copy wait for it
  std::map<std::string, DatabaseCopy> databases_;
};

}  // namespace troupe::replication
