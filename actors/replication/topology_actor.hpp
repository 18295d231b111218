#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "actors/machines/machine_host.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/replication/topology_store.hpp"

namespace troupe::replication {

/// Parts of the node that the topology uses. All that is referred to outlives the actor.
struct TopologyParts {
  std::shared_ptr<machines::StorageAccess> storage;
  Membership* membership = nullptr;
  /// Told after each change of what clients see (role, primary, config), with the reason of a change of role: wakes
  /// waiting hellos. May be null.
  std::function<void(const ReplicaView&, const std::string& why)> changed;
  /// Told when another member serves data that did not, or no longer, and clients see no change. May be null.
  std::function<void(const ReplicaView&)> membersChanged;
  /// Told when another member refuses heartbeats, for another reason than before, or no longer (empty). May be null.
  std::function<void(const NodeName& host, const std::string& refusal)> refusalChanged;
  /// Told when another member that was there is down to this node, or is there again or for the first time. May be
  /// null.
  std::function<void(const NodeName& host, bool isUp)> reachChanged;
  /// Told of each config that is in use from now on; without one before it is the first, or that of a start. May be
  /// null.
  std::function<void(const std::optional<ReplicaSetConfig>& before, const ReplicaSetConfig& now)> configChanged;
  /// Outcome of ending the operations that began under the old role.
  struct Interrupted {
    int64_t killed = 0, left = 0;
  };
  /// Ends them (ELE-028). May be null.
  std::function<Interrupted()> interruptOperations;
  /// Takes and gives the right to write (state_transition.hpp). Both in effect for new writes when the call returns,
  /// but that a term waits for the end of the one before. May be null.
  std::function<void()> refuseWrites;
  std::function<void(int64_t term)> acceptWrites;
  /// After `refuseWrites`: ends when no write that was begun before is under way, with the last one. Null: there are
  /// none.
  std::function<Task<OpTime>()> lastWrite;
  /// What other members have reported to have applied. May be null.
  std::function<Positions()> positions;
  /// Ends when operations of the last role have. May be null.
  std::function<Task<void>()> untilOldRoleEnded;
  /// Fetches operations up to the target, and applies what was fetched; what comes of it is told to the actor as
  /// AppliedAdvanced, CatchUpDone and DrainDone. Null: there is no data, and both are done at once.
  std::function<void(const CatchUp&)> catchUp;
  std::function<void(const Drain&)> drain;
  /// What this member has applied, at the moment at which it is asked to vote in that term (0: at its start). The
  /// judgement of a candidate must not be older: what this member acknowledges afterwards counts for nobody of an
  /// earlier term. Null: there is no data.
  std::function<OpTime(int64_t term)> appliedWhenVoting;
  /// Nothing that is newer can have been committed so far. Null: there is no data.
  std::function<OpTime()> newestCommitted;
  /// The newest term in which positions were reported, as the actor begins: they count in no earlier one. May be null.
  std::function<int64_t()> newestTerm;
  /// Whether the node holds data that a set would take away from it; asked as long as it has no config. Null: it does
  /// not.
  std::function<bool()> holdsData;
  /// Whether the node has no data of its set, as the actor begins: another member's are to be copied, or half of them
  /// are here. Null: it has.
  std::function<bool(const Topology::Document&)> lacksData;
  /// Whether a rollback is under way as the actor begins: it goes on when the topology is started again. Null: none is.
  std::function<bool()> rollsBack;
  /// Whether the fetcher has found that this member is too stale to catch up. May be null: never.
  std::function<bool()> isTooStale;
  /// A new state, before its effects. May be null.
  std::function<void(const Snapshot<Topology>&)> adopted;
  /// The nodes it talks with, for the links; in effect when the call returns. May be null.
  std::function<void(std::vector<NodeName>)> setPeers;
  /// Why there is no link to a member. May be null.
  LinkErrors linkErrors;
  /// After each transition: for simulations. May be null.
  std::function<void(const Snapshot<Topology>&, const machines::Outcome<Topology>&)> observe;
};

/// The actor around the topology machine of a member: `/node/replication/topology`. Keeps its document, publishes what
/// it is, answers commands, and feeds what the node reports.
class TopologyActor final : public machines::MachineHost<Topology> {
 public:
  /// Reads its document; throws if it cannot be read (the supervisor deals with that).
  explicit TopologyActor(TopologyParts parts);

  Behaviour behaviour() override;
  void onStart() override;
  void onStop(const Status& reason) override;
  bson::Document describe() const override;

 protected:
  machines::Step<Topology> resume() const override {
    const Topology::Document& found = snapshot().document;
    return Topology::resume(found, {.lacksData = parts_.lacksData && parts_.lacksData(found),
                                    .rollsBack = parts_.rollsBack && parts_.rollsBack(),
                                    .tooStale = parts_.isTooStale && parts_.isTooStale(),
                                    .newestTerm = parts_.newestTerm ? parts_.newestTerm() : 0});
  }
  void unanswered(const Event& event, Context asker) override;
  void adopted() override {
    noteLinkErrors();
    updatePeers();
    if (parts_.adopted) parts_.adopted(snapshot());
  }
  void answerMessage(const machines::Outcome<Topology>& outcome);
  void transitioned(const machines::Outcome<Topology>& outcome) override;
  void sending(Topology::Message& message) override;

 private:
  using Action = machines::ActionOf<Topology>;
  /// How the way to a member is: a connection that breaks may be made again at once; one that then is refused is not
  /// there.
  enum class Watch { kStands, kBroken };
  TopologyActor(TopologyParts parts, std::shared_ptr<TopologyStore> store);

  static machines::HostOptions<Topology> hostOptions(const TopologyParts& parts);
  Task<StatusWith<std::optional<Event>>> perform(Action action);
  Task<StatusWith<std::optional<Event>>> refuseWrites(RefuseWrites action);
  std::optional<Event> done(const AnnounceRole& role);
  std::optional<Event> done(const RefuseWrites&) { return {}; }  ///< refuseWrites() does it
  std::optional<Event> done(const InterruptOperations&);
  std::optional<Event> done(const AcceptWrites& accept);
  std::optional<Event> done(const InstallConfig& config);
  std::optional<Event> done(const CatchUp& catchUp);
  std::optional<Event> done(const Drain& drain);
  std::optional<Event> done(const Conclude& outcome);

  void heardFrom(const Envelope& envelope);
  void noteRoundTrip(const Envelope& envelope, Contact& contact) const;
  bool answersMeanwhile(const Context& context);
  bool concernsThisSet(const VoteRequest& request) const;
  void noteApplied(int64_t votingTerm);
  void notePositions();
  void noteOwnData();
  void watchMember(const NodeName& host);
  void lost(const Down& down);
  void updatePeers();
  void noteLinkErrors();
  void forgetCallers(const std::set<NodeName>& members);
  void publish(const std::string& why = {});
  void reportRefusals(const ReplicaView& next) const;
  void reportReach(const ReplicaView& next);

  TopologyParts parts_;
  /// A command that is concluded later.
  struct Open {
    Context asker;
    std::vector<NodeName> hosts;                 ///< of the config that it brings
    std::map<NodeName, std::string> linkErrors;  ///< of these hosts
  };
  static Status withLinkErrors(const Status& outcome, const Open& open);

  std::map<OpenCommand, Open> open_;
  std::optional<Context> messageAsker_;     ///< asker of a member's message, until its transition has ended
  Snapshot<Topology> before_;               ///< the last transition
  std::map<NodeName, Contact> contacts_;    ///< of peers
  std::map<NodeName, TimePoint> calledAt_;  ///< recent callers
  std::set<NodeName> heard_;                ///< a message has come of them since they were down last
  std::set<NodeName> up_;                   ///< as `reachChanged` was told
  std::set<NodeName> unheard_;              ///< their heartbeats wait for the document to be written
  std::set<NodeName> peers_;
  std::map<NodeName, Watch> watches_;  ///< of members that were heard of
  ReplicaView shown_;
};

}  // namespace troupe::replication
