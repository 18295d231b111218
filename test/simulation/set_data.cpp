#include "test/simulation/set_data.hpp"

#include <map>
#include <utility>

#include "messaging/errors/co_status.hpp"
#include "test/simulation/member_audit.hpp"
#include "test/simulation/state_documents.hpp"

namespace troupe::sim {

namespace {

/// Primaries come and go, and sessions wait for them.
constexpr WorkFloor kSetFloor{.ofBegun = 0.1, .ofRate = 1.0 / 15};

/// What all members hold alike: also what a retry is known by. (Images are not: those that a replay makes are marked.)
constexpr std::pair<const char*, const char*> kCompared[] = {
    {"test", "items"},    {"test", "lists"},          {"test", "registers"},
    {"test", "counters"}, {"test", "recorded"},       {"test", "services"},
    {"test", "bank"},     {"config", "transactions"}, {StateDocuments::kDatabase, StateDocuments::kCollection}};

/// A member that is down or no secondary answers nothing: it is asked again.
bson::Document findAllOf(const char* collection) {
  return bson::doc("find", collection, "sort", bson::doc("_id", 1), "batchSize", 100000, "singleBatch", true,
                   "$readPreference", bson::doc("mode", "nearest"));
}

bson::Document majority() { return bson::doc("w", "majority"); }

}  // namespace

SetData::SetData(Simulation& cluster, const DocumentLedger& documents, DataSessions::Hears hears)
    : cluster_(cluster),
      machine_(cluster.addMachine("clients")),
      documents_(documents),
      hears_(std::move(hears)),
      sessions_(cluster, machine_, Safety::ofSet(), hears_),
      services_(hears_.ended),
      anyPrimary_(std::make_unique<Driver>(machine_, cluster.streams(), cluster.nodes(), nullptr)) {
  for (const std::string& node : cluster.nodes())
    members_.push_back(std::make_unique<Driver>(machine_, cluster.streams(), std::vector<std::string>{node}, nullptr,
                                                Driver::Preference::kNearest));
}

bool SetData::isReady() {
  if (!std::exchange(making_, true)) machine_.start(makeCollections());
  return made_;
}

Task<void> SetData::makeCollections() {
  for (const char* collection :
       {"lists", "registers", "items", "counters", "recorded", "services", Bank::kCollection}) {
    const bool records = collection == std::string_view("recorded");
    for (bool exists = false; !exists;) {
      const bson::Document create = bson::doc("create", collection, "writeConcern", majority(),
                                              "changeStreamPreAndPostImages", bson::doc("enabled", records));
      const DriverReply reply = co_await anyPrimary_->run("test", create, Driver::Retry::kNever);
      exists = reply.status.isOK() || reply.status == ErrorCode::kNamespaceExists;
    }
  }
  const bson::Document accounts =
      bson::doc("insert", Bank::kCollection, "documents", Bank::accounts(), "writeConcern", majority());
  for (bool exist = false; !exist;) {
    const DriverReply reply = co_await anyPrimary_->run("test", accounts, Driver::Retry::kNumbered);
    exist = reply.status.isOK() || reply.status == ErrorCode::kDuplicateKey;
  }
  while (!made_) {
    const bson::Document index = bson::doc(
        "createIndexes", "items", "indexes",
        std::vector<bson::Document>{bson::doc("key", bson::doc("x", 1), "name", "x_1")}, "writeConcern", majority());
    made_ = (co_await anyPrimary_->run("test", index, Driver::Retry::kNever)).status.isOK();
  }
}

Task<StatusWith<checkers::Contents>> SetData::contentsOf(Driver* driver) {
  checkers::Contents contents;
  for (const auto& [database, collection] : kCompared) {
    const bson::Document find = findAllOf(collection);
    const DriverReply reply = co_await driver->run(database, find, Driver::Retry::kOnce);
    if (!reply.status.isOK()) co_return reply.status;
    auto& found = contents[std::string(database) + "." + collection];
    for (const bson::Element& e : reply.body.view().at("cursor.firstBatch").asArray())
      found.emplace_back(e.asDocument());
  }
  co_return contents;
}

Task<void> SetData::compareMembers() {
  std::map<std::string, checkers::Contents> byNode;
  // Services may still write: members are not held to what is acknowledged while they are read.
  const DocumentLedger::Times acknowledged = documents_.newestAcknowledged();
  for (size_t i = 0; i < members_.size(); ++i) {
    auto contents = co_await contentsOf(members_[i].get());
    if (contents.isOK()) byNode[cluster_.nodes()[i]] = std::move(*contents);
  }
  difference_ = "a member does not answer";
  if (byNode.size() == members_.size()) difference_ = checkers::compareReplicas(byNode).broken;
  if (difference_.empty()) difference_ = co_await auditMembers();
  same_ = difference_.empty();
  if (same_) {
    checkers::Contents& contents = byNode.begin()->second;
    std::string lost = lostOf(contents);
    if (lost.empty()) lost = documents_.left(contents[StateDocuments::kNamespace], acknowledged);
    cluster_.note(TraceEvent::Kind::kNote, "", "audit", lost.empty() ? "finds all well" : "finds", lost);
    if (!lost.empty()) hears_.broken(kNothingLost, lost);
  }
  comparing_ = false;
}

/// A count that is wrong is mended by its audit: what one finds counts, also when members are compared again.
Task<std::string> SetData::auditMembers() {
  std::map<std::string, checkers::Contents> byNode;
  for (size_t i = 0; i < members_.size(); ++i) {
    const std::string& node = cluster_.nodes()[i];
    auto findings = co_await auditMember(*members_[i]);
    if (!findings.isOK()) co_return node + " could not be audited: " + findings.status().toString();
    cluster_.note(TraceEvent::Kind::kNote, "", "audit of " + node,
                  findings->broken.empty() ? "finds all well" : "finds", findings->broken);
    if (!findings->broken.empty()) hears_.broken(kMembersAgree, node + ": " + findings->broken);
    byNode[node] = std::move(findings->holds);
  }
  holds_ = byNode.begin()->second;
  co_return checkers::compareReplicas(byNode).broken;
}

std::string SetData::lostOf(checkers::Contents& contents) {
  std::string lost = sessions_.items().compare(contents["test.items"]);
  for (const char* collection : Counters::kCollections)
    if (lost.empty()) lost = sessions_.counters().compare(collection, contents[std::string("test.") + collection]);
  if (lost.empty()) lost = sessions_.schemaChanges().compare(holds_[MemberFindings::kCatalog], holds_);
  if (const std::string broken = sessions_.bank().compare(contents["test.bank"]); !broken.empty())
    hears_.broken(kBankHolds, broken);
  if (const std::string broken = services_.compare(contents["test.services"]); !broken.empty())
    hears_.broken(kServiceWritesHold, broken);
  return lost;
}

void SetData::checkWork(const Scenario& scenario) const {
  sessions_.check(scenario, kSetFloor);
  services_.check(kSetFloor, hears_.broken);
  const std::string tooFew = kSetFloor.whyTooFew(documents_.countAcknowledged(), documents_.countBegun(),
                                                 "majority writes of state documents");
  if (!tooFew.empty()) hears_.broken(kWorkIsDone, tooFew);
}

/// Members may take a moment to get the last entries: a difference counts when it does not go away in time.
std::string SetData::whyNotDone(const Scenario& scenario) {
  if (!sessions_.isQuiet() || !services_.isQuiet()) return "an operation still runs";
  if (!std::exchange(checked_, true)) checkWork(scenario);
  if (same_) return {};
  if (!std::exchange(comparing_, true)) machine_.start(compareMembers());
  return std::string(kSameEverywhere) + ": " + difference_;
}

}  // namespace troupe::sim
