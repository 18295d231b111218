#include "supervisors/supervision/root_watch.hpp"

#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "actors/machines/primary_only_service.hpp"
#include "test/probe/memory_store.hpp"
#include "test/probe/subjects/caller.hpp"
#include "test/unit/actors/kernel/kernel_fixture.hpp"

namespace troupe::supervisors {
namespace {

using machines::DocumentStore;
using machines::HostOptions;
using machines::PrimaryOnlyService;
using probe::MemoryStore;
using probe::test::Caller;

/// Fails in so many of its starts.
class Failing : public Actor {
 public:
  explicit Failing(int* left) : left_(left) {}
  Behaviour behaviour() override { return {}; }
  void onStart() override {
    if ((*left_)-- > 0) throw std::runtime_error("cannot start");
  }

 private:
  int* left_;
};

struct BeReady {};

/// Is ready when the test says so: the rest of the tree starts meanwhile.
class Slow : public Actor {
 public:
  Behaviour behaviour() override {
    return {on<BeReady>([this](const BeReady&) { ready(); })};
  }
  void onStart() override { deferReady(); }
};

/// Fails ten seconds after each of its starts, without having been ready.
class FailsLate : public Actor {
 public:
  Behaviour behaviour() override { return {}; }
  void onStart() override {
    deferReady();
    after(10s, [this] { stop(Status(ErrorCode::kInternalError, "nobody answers")); });
  }
};

class RootWatchTest : public KernelTest {
 protected:
  std::optional<Status> started, ended;
  std::map<std::string, int> failures;
  std::vector<std::string> notAwaited;

  static Task<void> keep(std::optional<Status>* to, Future<Status> ready) { *to = co_await ready; }
  void start(Tree tree) {
    auto watched = startWatchedTree(
        node, std::move(tree), [this](const Status& reason) { ended = reason; },
        [this](const std::string& path, const std::string& why) { notAwaited.push_back(path + ": " + why); });
    node.start(keep(&started, std::move(watched.ready)));
    node.run();
  }
  ChildSpec failing(const std::string& name, int starts) {
    failures[name] = starts;
    return permanent<Failing>(name, &failures[name]);
  }
  void beReady() {
    node.tell(node.address("/node/slow"), local(BeReady{}));
    node.run();
  }
  std::string phase(const std::string& path) {
    const auto row = node.registry().row(path);
    return row ? row->phase : "none";
  }
};

TEST_F(RootWatchTest, AChildThatTheRootDoesNotSurviveEndsTheStartAtItsFirstFailure) {
  start(oneForOne("node", oneForOne("storage", failing("engine", 1)), permanent<Slow>("slow")));
  ASSERT_TRUE(started);
  EXPECT_EQ(started->reason(), "/node/storage/engine could not start: InternalError: cannot start");
}

TEST_F(RootWatchTest, AChildThatIsSetAsideHasItsRestartsFirst) {
  start(oneForOne("node", failing("recovers", 2).park(), failing("never", 1000).park()));
  ASSERT_TRUE(started) << "both back off, and are not awaited";
  EXPECT_TRUE(started->isOK()) << started->toString();
  node.advance(10s);
  EXPECT_EQ(phase("/node/recovers"), "running");
  EXPECT_EQ(phase("/node/never"), "parked");
  EXPECT_FALSE(ended);
}

/// Its failures are too far apart to set it aside.
TEST_F(RootWatchTest, AChildThatFailsLateAndIsSetAsideHoldsTheStartUpOnce) {
  start(oneForOne("node", permanent<FailsLate>("late").park(), permanent<Slow>("slow")));
  beReady();
  EXPECT_FALSE(started) << "it may still become ready";
  node.advance(11s);
  ASSERT_TRUE(started);
  EXPECT_TRUE(started->isOK()) << started->toString();
  EXPECT_EQ(notAwaited, std::vector<std::string>{"/node/late: InternalError: nobody answers"});
  node.advance(1min);
  EXPECT_EQ(notAwaited.size(), 1u) << "the start is over";
  EXPECT_NE(phase("/node/late"), "parked");
  EXPECT_FALSE(ended);
}

TEST_F(RootWatchTest, AChildThatFailsLateAndFastEndsTheStart) {
  start(oneForOne("node", permanent<FailsLate>("late").park().failFast()));
  node.advance(11s);
  ASSERT_TRUE(started);
  EXPECT_FALSE(started->isOK());
  EXPECT_TRUE(notAwaited.empty());
}

TEST_F(RootWatchTest, SoHasAllThatIsBelowATreeThatIsSetAside) {
  start(oneForOne("node", ChildSpec(oneForOne("extras", failing("one", 1))).park()));
  node.advance(10s);
  ASSERT_TRUE(started);
  EXPECT_TRUE(started->isOK()) << started->toString();
}

TEST_F(RootWatchTest, AChildThatFailsFastEndsTheStartAlthoughItIsSetAsideLater) {
  start(oneForOne("node", oneForOne("front", failing("admin", 1).park().failFast())));
  ASSERT_TRUE(started);
  EXPECT_EQ(started->reason(), "/node/front/admin could not start: InternalError: cannot start");
}

TEST_F(RootWatchTest, AnInstanceOfAServiceThatFailsDuringTheStartIsTheServicesAffair) {
  auto store = std::make_shared<MemoryStore>();
  store->set(bson::doc("_id", "a", "version", 1, "peer", "n2", "sum", int64_t{0}, "phase", "calling"));
  HostOptions<Caller> options;
  options.observe = [](const auto&, const auto&) { throw std::runtime_error("a poisoned document"); };
  start(oneForOne(
      "node", permanent<Slow>("slow"),
      permanent<PrimaryOnlyService<Caller>>("callers", std::shared_ptr<DocumentStore>(store), options).park()));
  node.advance(10s);
  EXPECT_EQ(phase("/node/callers/a"), "parked") << "it has failed before the tree is ready";
  EXPECT_FALSE(started);
  beReady();
  ASSERT_TRUE(started);
  EXPECT_TRUE(started->isOK()) << started->toString();
  EXPECT_FALSE(ended);
  EXPECT_EQ(phase("/node/callers"), "serving");
}

TEST_F(RootWatchTest, AnActorThatIsNoChildOfTheTreeMayFail) {
  start(oneForOne("node", permanent<Slow>("slow")));
  node.spawn<Failing>("/node/slow/helper", &(failures["helper"] = 1));
  node.run();
  beReady();
  ASSERT_TRUE(started);
  EXPECT_TRUE(started->isOK()) << started->toString();
}

}  // namespace
}  // namespace troupe::supervisors
