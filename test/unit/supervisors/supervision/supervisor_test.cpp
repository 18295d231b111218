#include "supervisors/supervision/supervisor.hpp"

#include <map>
#include <memory>
#include <stdexcept>

#include "test/unit/actors/kernel/kernel_fixture.hpp"

namespace troupe::supervisors {
namespace {

/// The children's log, and the switches by which tests make them fail.
struct Journal {
  std::vector<std::string> lines;
  std::map<std::string, int> failingStarts;  ///< how many starts of that child fail
  std::string text() {
    std::string out;
    for (const auto& line : lines) out += (out.empty() ? "" : ", ") + line;
    lines.clear();
    return out;
  }
};

struct Crash {};

class Child : public Actor {
 public:
  Child(std::string name, Journal* journal, bool stubborn = false)
      : name_(std::move(name)), journal_(journal), stubborn_(stubborn) {}
  Behaviour behaviour() override {
    return {on<Crash>([](const Crash&) { throw std::runtime_error("boom"); })};
  }
  void onStart() override {
    if (journal_->failingStarts[name_]-- > 0) throw std::runtime_error("cannot start");
    journal_->lines.push_back("+" + name_);
  }
  void onStopRequested() override {
    if (!stubborn_) stop();
  }
  void onStop(const Status&) override { journal_->lines.push_back("-" + name_); }

 private:
  std::string name_;
  Journal* journal_;
  bool stubborn_;
};

class SupervisorTest : public KernelTest {
 protected:
  Journal journal;
  ChildSpec child(std::string name) { return permanent<Child>(name, name, &journal); }
  void crash(const std::string& path) {
    node.tell(node.address(path), local(Crash{}));
    node.run();
  }
  Status control(const std::string& path, ControlAction action) {
    return node.wait(controlActor(node, path, action, "the test asks"));
  }
  std::string phase(const std::string& path) {
    const auto row = node.registry().row(path);
    return row ? row->phase : "none";
  }
};

TEST_F(SupervisorTest, StartsANestedTreeInOrderAndStopsItInReverse) {
  const auto root = startTree(
      node, oneForOne("node", restForOne("storage", child("engine"), child("journal")), child("front").atLevel(1)));
  node.run();
  EXPECT_EQ(journal.text(), "+engine, +journal, +front");
  EXPECT_EQ(node.registry().row("/node/storage/journal")->parent, "/node/storage");
  EXPECT_EQ(node.registry().row("/node/storage")->strategy, "rest for one");
  EXPECT_TRUE(node.wait(stopTree(node, root, 60s)));
  EXPECT_EQ(journal.text(), "-front, -journal, -engine");
  EXPECT_EQ(node.actorCount(), 0U);
  EXPECT_EQ(node.registry().size(), 0U);
}

TEST_F(SupervisorTest, RestartsACrashedChildAfterAPause) {
  startTree(node, oneForOne("node", child("a"), child("b")).pausing({.first = 100ms, .jitter = 0}));
  node.run();
  journal.text();
  crash("/node/a");
  EXPECT_EQ(journal.text(), "-a");
  EXPECT_EQ(phase("/node/a"), "backing off");
  EXPECT_EQ(node.registry().row("/node/a")->lastError, "InternalError: boom");
  node.advance(99ms);
  EXPECT_EQ(journal.text(), "");
  node.advance(1ms);
  EXPECT_EQ(journal.text(), "+a");
  const auto row = node.registry().row("/node/a");
  EXPECT_EQ(row->phase, "running");
  EXPECT_EQ(row->incarnation, 2);
  EXPECT_EQ(row->restarts, 1);
}

TEST_F(SupervisorTest, OneForAllRestartsEveryone) {
  startTree(node, oneForAll("node", child("a"), child("b"), child("c")));
  node.run();
  journal.text();
  crash("/node/b");
  node.advance(1s);
  EXPECT_EQ(journal.text(), "-b, -c, -a, +a, +b, +c");
}

TEST_F(SupervisorTest, RestForOneRestartsThoseAfter) {
  startTree(node, restForOne("node", child("a"), child("b"), child("c")));
  node.run();
  journal.text();
  crash("/node/b");
  node.advance(1s);
  EXPECT_EQ(journal.text(), "-b, -c, +b, +c");
}

TEST_F(SupervisorTest, EscalatesToItsParentWhichStartsTheSubtreeAgain) {
  startTree(node, oneForOne("node", oneForOne("storage", child("engine"), child("journal")).within(1, 30s)));
  node.run();
  journal.text();
  crash("/node/storage/engine");
  node.advance(1s);
  crash("/node/storage/engine");
  EXPECT_EQ(phase("/node/storage"), "backing off");
  node.advance(1s);
  EXPECT_EQ(journal.text(), "-engine, +engine, -engine, -journal, +engine, +journal");
  EXPECT_EQ(node.registry().row("/node/storage")->lastError, "InternalError: engine failed 2 times in a row: boom");
}

TEST_F(SupervisorTest, ParksAChildThatCannotStartAndResumesIt) {
  journal.failingStarts["a"] = 3;
  startTree(node, oneForOne("node", child("a").park(), child("b")).within(2, 30s));
  node.advance(10s);
  EXPECT_EQ(phase("/node/a"), "parked");
  EXPECT_EQ(node.registry().row("/node/a")->lastError, "InternalError: cannot start");
  EXPECT_EQ(phase("/node/b"), "running");
  journal.text();
  EXPECT_TRUE(control("/node/a", ControlAction::kResume).isOK());
  node.run();
  EXPECT_EQ(journal.text(), "+a");
  EXPECT_EQ(phase("/node/a"), "running");
}

TEST_F(SupervisorTest, KillsWhatDoesNotStopWithinItsGrace) {
  const auto root = startTree(node, oneForOne("node", permanent<Child>("a", "a", &journal, true).withGrace(3s)));
  node.run();
  journal.text();
  node.requestStop(root);
  node.advance(2999ms);
  EXPECT_EQ(journal.text(), "");
  node.advance(1ms);
  EXPECT_EQ(journal.text(), "-a");
  EXPECT_FALSE(node.postOffice().exists(root));
}

TEST_F(SupervisorTest, AnOperatorRestartsAndParksByPath) {
  startTree(node, oneForOne("node", child("a")));
  node.run();
  journal.text();
  EXPECT_TRUE(control("/node/a", ControlAction::kRestart).isOK());
  node.run();
  EXPECT_EQ(journal.text(), "-a, +a");
  EXPECT_EQ(node.registry().row("/node/a")->restarts, 0);
  EXPECT_TRUE(control("/node/a", ControlAction::kPark).isOK());
  node.run();
  EXPECT_EQ(phase("/node/a"), "parked");
  EXPECT_EQ(control("/node/a", ControlAction::kRestart).code(), ErrorCode::kIllegalOperation);
  EXPECT_EQ(control("/node/x", ControlAction::kRestart).code(), ErrorCode::kNoSuchKey);
  EXPECT_EQ(control("/node", ControlAction::kRestart).code(), ErrorCode::kIllegalOperation);
}

TEST_F(SupervisorTest, AKilledSupervisorTakesItsChildrenAlongAndComesBack) {
  startTree(node, oneForOne("node", oneForOne("storage", child("engine"))));
  node.run();
  journal.text();
  node.kill(node.address("/node/storage"), Status(ErrorCode::kInternalError, "killed"));
  node.advance(1s);
  EXPECT_EQ(journal.text(), "-engine, +engine");
}

TEST_F(SupervisorTest, TheEndOfAnEarlierLifesChildIsNoFailureOfItsOwn) {
  const Tree tree = oneForOne("node", child("a"));
  const auto root = startTree(node, tree);
  node.run();
  node.kill(root, Status(ErrorCode::kInternalError, "killed"));
  while (node.postOffice().exists(root)) node.step();
  startTree(node, tree);  // at once: its last child has not ended yet
  node.run();
  EXPECT_EQ(journal.text(), "+a, -a, +a");
  crash("/node/a");
  node.advance(1s);
  EXPECT_EQ(journal.text(), "-a, +a");
  EXPECT_EQ(node.registry().row("/node/a")->restarts, 1);
}

TEST_F(SupervisorTest, StartsAChildWhenTheBearerOfItsNameHasEnded) {
  const SpawnOptions earlier{.parent = node.address("/node")};
  node.spawn("/node/a", std::make_unique<Echo>(), earlier);
  startTree(node, oneForOne("node", child("a")));
  node.advance(1s);
  EXPECT_EQ(journal.text(), "");
  node.requestStop(node.address("/node/a"));
  node.run();
  EXPECT_EQ(journal.text(), "+a");
  EXPECT_EQ(node.registry().row("/node/a")->restarts, 0);
}

TEST_F(SupervisorTest, AChildThatIsParkedBeforeItsNameIsFreeIsNotStarted) {
  const SpawnOptions earlier{.parent = node.address("/node")};
  node.spawn("/node/a", std::make_unique<Echo>(), earlier);
  startTree(node, oneForOne("node", child("a")));
  node.run();
  EXPECT_TRUE(control("/node/a", ControlAction::kPark).isOK());
  node.advance(1s);
  EXPECT_EQ(journal.text(), "");
  EXPECT_EQ(phase("/node/a"), "parked");
  EXPECT_TRUE(control("/node/a", ControlAction::kResume).isOK());
  node.run();
  EXPECT_EQ(journal.text(), "+a");
}

TEST_F(SupervisorTest, ShowsItsChildrenAsStateDocument) {
  startTree(node, oneForOne("node", child("a")));
  node.run();
  const auto details = node.wait(node.inspect("/node", 1s));
  ASSERT_TRUE(details.has_value());
  const auto children = details->state["children"];
  EXPECT_EQ(children.asDocument().first().asDocument()["state"].asString(), "running");
}

TEST_F(SupervisorTest, AChildMayJoinARunningSupervisor) {
  const auto root = startTree(node, oneForOne("node", child("a")));
  node.run();
  EXPECT_TRUE(ask(root, local(AddChild{child("b")})).isOK());
  node.run();
  EXPECT_EQ(journal.text(), "+a, +b");
  EXPECT_EQ(ask(root, local(AddChild{child("b")})).status().code(), ErrorCode::kIllegalOperation);
}

}  // namespace
}  // namespace troupe::supervisors
