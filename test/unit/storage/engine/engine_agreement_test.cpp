// The simulator trusts the in-memory engine because random histories have the same outcome on both, call by call.
#include <array>
#include <random>
#include <sstream>

#include "test/unit/storage/engine/engine_contract.hpp"

namespace troupe::storage {
namespace {

constexpr int kSessions = 3;
constexpr int kKeys = 6;

/// Runs one random history and writes down every outcome.
class History {
 public:
  History(EngineHarness& harness, uint32_t seed) : harness_(harness), random_(seed) {
    logged_ = *harness_.engine().createTable("logged", {.logged = true});
    unlogged_ = *harness_.engine().createTable("unlogged", {.logged = false});
    openSessions();
  }

  std::string run(int steps) {
    for (int i = 0; i < steps; ++i) {
      trace_ << i << ' ';
      step();
      trace_ << '\n';
    }
    closeSessions();
    trace_ << "end " << contents();
    return trace_.str();
  }

 private:
  struct Slot {
    std::unique_ptr<Session> session;
    bool usesTime = false;
    bool wroteLogged = false;
    bool prepared = false;
  };

  uint32_t pick(uint32_t n) { return random_() % n; }
  std::string key() { return "k" + std::to_string(pick(kKeys)); }
  std::string name(const Status& status) { return status.isOK() ? "ok" : errorName(status.code()); }
  void note(const char* what, const Status& status) { trace_ << what << '=' << name(status) << ' '; }

  void openSessions() {
    for (Slot& slot : slots_) {
      slot = Slot();
      slot.session = std::move(harness_.engine().openSession()).value();
    }
  }
  void closeSessions() {
    for (Slot& slot : slots_) slot = Slot();
  }

  void step() {
    Slot& slot = slots_[pick(kSessions)];
    const uint32_t choice = pick(100);
    if (choice < 3) return crash(pick(2) == 0);
    if (choice < 7) return note("flush", harness_.engine().flushLog());
    if (choice < 10) return checkpoint();
    if (choice < 14) return advanceStable();
    if (choice < 15) return rollbackToStable();
    if (!slot.session->inTransaction()) return begin(slot);
    if (slot.prepared) return decide(slot);
    if (choice < 30) return end(slot);
    if (choice < 35) return prepare(slot);
    operate(slot);
  }

  void begin(Slot& slot) {
    slot.usesTime = pick(3) != 0;
    slot.wroteLogged = slot.prepared = false;
    BeginOptions options;
    if (pick(4) == 0 && now_ > 2) options.readTimestamp = at(1 + pick(static_cast<uint32_t>(now_)));
    options.roundUpReadTimestamp = pick(2) == 0;
    note("begin", slot.session->begin(options));
  }

  void end(Slot& slot) {
    if (pick(4) == 0) {
      slot.session->rollback();
      trace_ << "rollback ";
    } else {
      note("commit", slot.session->commit());
    }
    trace_ << "durable=" << harness_.engine().allDurableTimestamp().asUint64() << ' ';
  }

  /// Only what both promise: no logged table, no commit time.
  void prepare(Slot& slot) {
    if (slot.wroteLogged || slot.usesTime) return;
    const Status status = slot.session->prepare(at(++now_));
    slot.prepared = status.isOK();
    note("prepare", status);
  }

  void decide(Slot& slot) {
    slot.prepared = false;
    if (pick(3) == 0) {
      slot.session->rollback();
      return;
    }
    const Timestamp ts = at(++now_);
    now_ += pick(4);  // durable later than committed, as by the log entry of the decision
    note("commitPrepared", slot.session->commitPrepared(ts, at(now_)));
  }

  void operate(Slot& slot) {
    const bool onLogged = pick(3) == 0;
    const std::string at0 = key();
    auto lease = slot.session->cursor(onLogged ? logged_ : unlogged_);
    if (!lease.isOK()) return note("cursor", lease.status());
    Cursor& cursor = **lease;
    if (pick(2) == 0) return read(cursor, at0);
    if (slot.usesTime && !onLogged) note("time", slot.session->setCommitTimestamp(at(++now_)));
    const std::string value = std::to_string(++values_);
    Status status;
    switch (pick(4)) {
      case 0: note("insert", status = cursor.insert(at0, value)); break;
      case 1: note("put", status = cursor.put(at0, value)); break;
      case 2: note("update", status = cursor.update(at0, value)); break;
      default: note("remove", status = cursor.remove(at0)); break;
    }
    slot.wroteLogged = slot.wroteLogged || onLogged;
    if (status == ErrorCode::kWriteConflict || status == ErrorCode::kPreparedTransactionInProgress) {
      lease->reset();
      slot.session->rollback();
    }
  }

  void read(Cursor& cursor, const std::string& from) {
    auto found = pick(2) == 0 ? cursor.seekAtOrAfter(from) : cursor.seekAtOrBefore(from);
    for (int i = 0; found.isOK() && *found && i < 3; ++i) {
      trace_ << cursor.key() << ':' << cursor.value() << ' ';
      found = pick(2) == 0 ? cursor.next() : cursor.previous();
    }
    note("read", found.status());
  }

  void advanceStable() {
    // Stable stays behind every open commit time, as replication keeps it.
    const Timestamp durable = harness_.engine().allDurableTimestamp();
    for (const Slot& slot : slots_) {
      if (slot.prepared) return;
    }
    const uint64_t old = harness_.engine().stableTimestamp().asUint64();
    // A stable time before what a full checkpoint holds is not asked for: the contract leaves open what the next holds.
    const uint64_t low = std::max(old, full_);
    if (durable.asUint64() <= low) return;
    // Also between the commit of a prepared transaction and the time from which on it is durable.
    const Timestamp stable = at(low + 1 + pick(static_cast<uint32_t>(durable.asUint64() - low)));
    note("stable", harness_.engine().setStableTimestamp(stable));
    if (pick(2) == 0) note("oldest", harness_.engine().setOldestTimestamp(stable));
  }

  void checkpoint() {
    // A full one only where all data are stable, as the contract of stable ones after it asks.
    const bool full = pick(4) == 0 && harness_.engine().stableTimestamp() == at(now_);
    if (full || harness_.engine().stableTimestamp() == Timestamp{}) full_ = now_;
    const auto taken = harness_.engine().checkpoint({.stable = !full});
    note("checkpoint", taken.status());
    trace_ << taken->asUint64() << " last=" << harness_.engine().lastCheckpointTimestamp().asUint64() << ' ';
  }

  void rollbackToStable() {
    closeSessions();
    note("rollbackToStable", harness_.engine().rollbackToStable());
    openSessions();
    trace_ << "durable=" << harness_.engine().allDurableTimestamp().asUint64() << ' ' << contents();
  }

  void crash(bool kill) {
    closeSessions();
    // WiredTiger may write what was not flushed at any time of its own choice, so commits that nobody flushed may
    // survive there. The engines have to agree on what was promised.
    if (kill) note("flush", harness_.engine().flushLog());
    kill ? harness_.crash() : harness_.reopen();
    logged_ = *harness_.engine().openTable("logged");
    unlogged_ = *harness_.engine().openTable("unlogged");
    openSessions();
    trace_ << (kill ? "crash " : "reopen ") << harness_.engine().recoveryTimestamp().asUint64() << ' ' << contents();
  }

  std::string contents() {
    return Transaction(harness_.engine(), logged_).rows() + " | " + Transaction(harness_.engine(), unlogged_).rows();
  }

  EngineHarness& harness_;
  std::mt19937 random_;
  Table logged_, unlogged_;
  std::array<Slot, kSessions> slots_;
  uint64_t now_ = 0;
  uint64_t full_ = 0;  ///< newest time that a full checkpoint may hold
  int values_ = 0;
  std::ostringstream trace_;
};

class EngineAgreement : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, EngineAgreement, testing::Range(1u, 13u));

TEST_P(EngineAgreement, TheSameHistoryHasTheSameOutcome) {
  WiredTigerHarness real;
  DeterministicHarness simulated;
  const std::string expected = History(real, GetParam()).run(400);
  const std::string actual = History(simulated, GetParam()).run(400);
  std::istringstream a(expected), b(actual);
  std::string left, right;
  for (; std::getline(a, left) && std::getline(b, right);)
    ASSERT_EQ(left, right) << "seed " << GetParam() << "\n" << actual.substr(0, actual.find(right) + right.size());
  EXPECT_EQ(expected.size(), actual.size());
}

}  // namespace
}  // namespace troupe::storage
