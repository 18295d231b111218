#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/client/connection.hpp"
#include "supervisors/cli/cluster_folder.hpp"

namespace troupe::supervisors {

/// A member of a local replica set at one moment.
struct MemberReport {
  ClusterMember member;
  MemberFiles files;
  std::optional<pid_t> pid;   ///< of its process, if that runs
  std::string state;          ///< as it says itself; "down" without a process, "no answer", "STARTUP" without a config
  std::optional<double> lag;  ///< seconds behind the primary
  bson::Document status;      ///< its reply to replSetGetStatus, or empty

  bool is(std::string_view wanted) const { return state == wanted; }
};

/// The member that says it is the primary, or null; of several the one with the latest term.
const MemberReport* primaryOf(const std::vector<MemberReport>& reports);
/// Whether a member has data, or the primary's config does not name it.
bool isSettled(const MemberReport& member, const std::vector<MemberReport>& all);
/// Whether nothing more is to be waited for after a restart: it is settled, or stays in a state that takes an operator.
bool isBack(const MemberReport& member, const std::vector<MemberReport>& all);
/// The members whose states differ from those before, as "member 2: SECONDARY"; empty: none.
std::string changedStates(const std::vector<MemberReport>& before, const std::vector<MemberReport>& now);
/// Whether there is a primary, and all members are settled: initial syncs have ended.
bool isReady(const std::vector<MemberReport>& reports);

/// A replica set of processes on this machine, for trying out and for tests. The processes outlive this object, which
/// only knows their folder. One thread; what changes processes keeps other commands out of the folder meanwhile.
class LocalCluster {
 public:
  /// What a new set is to be; of an old one, what it is expected to be.
  struct Wishes {
    std::optional<int64_t> members;
    std::optional<uint16_t> port;  ///< of the first member; the others follow
    std::optional<int64_t> oplogSizeMB;
  };
  static constexpr int64_t kMostMembers = 7;  ///< as many as may vote

  /// The set in a folder. Errors: NonExistentPath (none is there) and those of ClusterFolder::read.
  static StatusWith<LocalCluster> open(const std::string& folder);
  /// As `open`, but an empty folder gets a new set. Errors: also SocketException (a port is taken) and
  /// IllegalOperation (the set there is another one than wished for).
  static StatusWith<LocalCluster> openOrMake(const std::string& folder, const Wishes& wishes);

  const ClusterFolder& folder() const { return folder_; }
  const ClusterPlan& plan() const { return plan_; }
  /// The connection string of the whole set.
  std::string uri() const;

  /// Is told the states of members as they change, while they are waited for. May be null.
  using Told = std::function<void(const std::string& states)>;

  /// Starts the members that do not run, initiates the set if it is new, and waits until all have data. `goOn` is asked
  /// meanwhile. Errors: FileNotOpen (no trouped), SocketException, OperationFailed (one ended), ExceededTimeLimit,
  /// Interrupted, those of replSetInitiate.
  Status start(
      const std::function<bool()>& goOn = [] { return true; }, const Told& told = nullptr);
  /// Stops all members in order, the primary last; gives how many were running.
  StatusWith<int> stop();
  /// SIGKILL; gives whether it was running. Errors: BadValue (no such member).
  StatusWith<bool> kill(int64_t number);
  /// Stops a member in order, if it runs, and starts it; waits until it has caught up with the set or leads it, or is
  /// RECOVERING: that may take an operator.
  Status restart(
      int64_t number, const std::function<bool()>& goOn = [] { return true; }, const Told& told = nullptr);
  std::vector<MemberReport> report() const;

 private:
  LocalCluster(ClusterFolder folder, ClusterPlan plan) : folder_(std::move(folder)), plan_(std::move(plan)) {}
  StatusWith<ClusterMember> member(int64_t number) const;
  static StatusWith<std::string> program();
  Status launch(const std::string& program, const ClusterMember& member) const;
  Status untilAnswers(const ClusterMember& member, const std::function<bool()>& goOn) const;
  Status initiateIfNew() const;
  /// Fails as soon as a member ends, or this one if `only` one is waited for.
  Status waitUntil(const std::function<bool(const std::vector<MemberReport>&)>& reached,
                   const std::function<bool()>& goOn, const Told& told,
                   std::optional<int64_t> only = std::nullopt) const;
  MemberReport reportOf(const ClusterMember& member) const;

  ClusterFolder folder_;
  ClusterPlan plan_;
};

}  // namespace troupe::supervisors
