#pragma once
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "actors/environment/environment.hpp"
#include "messaging/envelope/envelope.hpp"

namespace troupe {

/// A local receiver of messages.
class Mailbox {
 public:
  /// Takes the envelope (true), or leaves it untouched because the receiver has ended (false). From any thread; must
  /// not block nor call back into the post office.
  virtual bool deliver(Envelope& envelope) noexcept = 0;
  /// Ends the receiver after its current message: in order, or at once with a reason. From any thread.
  virtual void requestEnd(bool inOrder, Status reason) noexcept = 0;

 protected:
  ~Mailbox() = default;
};

/// The way to another node: a link, or the simulated network. A route completes the reply duty of the asks it carries,
/// with HostUnreachable when it dies, and tells the post office (`nodeLost`).
class Route {
 public:
  virtual ~Route() = default;
  virtual void send(Envelope envelope) noexcept = 0;
};

/// Why a message was not delivered.
enum class DeadLetter {
  kNoSuchActor,
  kNoRoute,
  kActorEnded,
  kUnknownType,
  kExpired,
  kMalformed,
  kNotConnected,  ///< the link to the node is not open
  kQueueFull,     ///< the link's queue is full
  kUnsendable,    ///< may not leave the process, or is larger than a link carries
  kCount
};
const char* deadLetterName(DeadLetter reason);

/// Finds the node that is the primary of a replica set now; nothing if none is known. Any thread.
using PrimaryFinder = std::function<std::optional<std::string>(std::string_view set)>;

/// Delivers by name: to a mailbox on this node, or to a route. A message to `primaryOf(set)` goes to the node that is
/// the primary at that moment; an ask repeated after NotWritablePrimary finds the next one. Keeps the watches on local
/// actors. Every message that cannot be delivered is counted by reason, and answered if it was an ask. Thread-safe.
class PostOffice {
 public:
  PostOffice(std::string node, Environment& environment);
  ~PostOffice();

  const std::string& node() const { return node_; }
  /// Delivers, routes, or answers with the failure. Stamps the envelope.
  void send(Envelope envelope) noexcept;

  /// False if the name is taken. The mailbox must be removed before it dies.
  bool add(const Address& address, Mailbox* mailbox);
  /// Removes it, if it is still the one, sends `Down` to its watchers, and ends its own watches.
  void remove(const Address& address, const Mailbox* mailbox, const Status& reason);
  bool exists(const Address& address) const;
  /// Calls `visit` with the local mailbox of that name, which stays for the call; false if there is none. `visit` must
  /// not call back into the post office.
  bool visit(const Address& address, const std::function<void(Mailbox&)>& visit) const;
  /// Ends the local receiver of that name, if there is one.
  void requestEnd(const Address& address, bool inOrder, Status reason) const noexcept;

  /// One `Down` comes for it, however often it is repeated before. Ends with the watcher.
  void watch(const Address& watcher, const Address& watched);
  void unwatch(const Address& watcher, const Address& watched);
  /// A watch on an actor of another node could not be carried there: it ends with a `Down` of that reason.
  void watchFailed(const Address& watcher, const Address& watched, const Status& reason);

  /// Sets (or with null removes) the way to a node. "*" is the way to all nodes that have none of their own.
  void setRoute(const std::string& node, std::shared_ptr<Route> route);
  /// Null: no primary of any set is known.
  void setPrimaryFinder(PrimaryFinder finder);
  /// The node that this name means now: itself, unless it is `primaryOf` a set. Errors: NotWritablePrimary, none is
  /// known.
  StatusWith<std::string> resolve(const std::string& node) const;
  /// All watches on actors of that node end with a `Down` of that reason.
  void nodeLost(const std::string& node, const Status& reason);

  void countDead(DeadLetter reason) { dead_[static_cast<size_t>(reason)].fetch_add(1, std::memory_order_relaxed); }
  uint64_t deadLetters(DeadLetter reason) const {
    return dead_[static_cast<size_t>(reason)].load(std::memory_order_relaxed);
  }
  uint64_t deadLetters() const;

 private:
  static constexpr size_t kShards = 32;
  struct Shard {
    mutable std::shared_mutex mutex;
    std::unordered_map<Address, Mailbox*> boxes;
  };
  Shard& shard(const Address& a) const { return shards_[(a.hash() >> 7) % kShards]; }
  void deliver(Envelope envelope) noexcept;
  void sendRemote(Envelope envelope) noexcept;
  void sendToPrimary(Envelope envelope) noexcept;
  bool isBearer(const Address& address, const Mailbox* mailbox) const;
  bool removeBox(const Address& address, const Mailbox* mailbox);
  void sendUnwatch(const Address& watcher, const Address& watched) noexcept;
  /// False if there was none.
  bool forgetWatch(const Address& watcher, const Address& watched);
  // Under watchMutex_. Watches in both directions; false if there was one, or none.
  bool noteWatch(const Address& watcher, const Address& watched);
  std::vector<Address> takeWatchers(const Address& watched);
  /// Ends all watches of that actor; gives what it watched on other nodes.
  std::vector<Address> takeRemoteWatches(const Address& watcher);
  bool eraseWatcher(const Address& watcher, const Address& watched);
  void eraseWatched(const Address& watcher, const Address& watched);
  void tellDown(const Address& watcher, const Address& who, const Status& reason) noexcept;

  const std::string node_;
  Environment& environment_;
  mutable std::array<Shard, kShards> shards_;
  mutable std::mutex watchMutex_;
  std::map<std::string, std::map<std::string, std::vector<Address>>> watchers_;  ///< node -> path -> watching actors
  std::unordered_map<Address, std::unordered_set<Address>> watched_;             ///< by each watcher of this node
  mutable std::shared_mutex routeMutex_;
  std::map<std::string, std::shared_ptr<Route>> routes_;
  PrimaryFinder primaries_;  ///< guarded like the routes
  std::array<std::atomic<uint64_t>, static_cast<size_t>(DeadLetter::kCount)> dead_{};
};

}  // namespace troupe
