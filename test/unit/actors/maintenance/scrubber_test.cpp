#include "actors/maintenance/scrubber.hpp"

#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::maintenance {

using namespace std::chrono_literals;

class ScrubberTest : public commands::CommandTest {
 protected:
  bson::Document metrics() {
    return bson::Document(run(R"({"serverStatus": 1})", "admin").view().at("metrics.scrub").asDocument());
  }
  template <class T>
  void set(std::string_view parameter, T value) {
    ASSERT_TRUE(server.run(bson::doc("setParameter", 1, parameter, value), "admin")["ok"].truthy());
  }
  int64_t cycles() { return metrics()["cycles"].toInt64(); }
  void damage(const std::string& ident) {
    server.engine->setBlockFault([ident](std::string_view each) {
      return each == ident ? Status(ErrorCode::kDataCorruptionDetected, "a block of it is damaged") : Status::OK();
    });
  }
  std::string identOf(std::string_view collection) {
    return server.catalog->find(storage::Namespace("test", collection))->ident();
  }
};

TEST_F(ScrubberTest, ReadsAllTablesTenMinutesAfterAStartAndAgainAfterAPause) {
  ASSERT_TRUE(succeeds(R"({"create": "c"})"));
  set("scrubberSleepSecs", 1200);
  server.node.advance(9min);
  EXPECT_EQ(cycles(), 0);
  server.node.advance(2min);
  EXPECT_EQ(cycles(), 1);
  EXPECT_EQ(metrics()["tables"].toInt64(), static_cast<int64_t>(server.engine->listTables().size()));
  server.node.advance(18min);
  EXPECT_EQ(cycles(), 1);
  server.node.advance(3min);
  EXPECT_EQ(cycles(), 2);
}

TEST_F(ScrubberTest, ItsPauseIsAParameterAndItCanBeSwitchedOff) {
  set("scrubberSleepSecs", 5);
  set("scrubberEnabled", false);
  server.node.advance(60s);
  EXPECT_EQ(cycles(), 0);
  set("scrubberEnabled", true);
  server.node.advance(60s);
  EXPECT_GE(cycles(), 5);
}

TEST_F(ScrubberTest, DamageIsCountedAndShownUntilItIsGone) {
  ASSERT_TRUE(succeeds(R"({"create": "c"})"));
  damage(identOf("c"));
  set("scrubberSleepSecs", 5);
  server.node.advance(8s);
  EXPECT_EQ(metrics()["damagedTables"].toInt64(), 1);
  EXPECT_GE(metrics()["tables"].toInt64(), 1) << "it goes on with the other tables";
  server.engine->setBlockFault({});
  server.node.advance(8s);
  EXPECT_EQ(metrics()["damagedTables"].toInt64(), 0);
}

TEST_F(ScrubberTest, ADroppedTableIsNoLongerDamaged) {
  ASSERT_TRUE(succeeds(R"({"create": "c"})"));
  damage(identOf("c"));
  set("scrubberSleepSecs", 5);
  server.node.advance(8s);
  ASSERT_EQ(metrics()["damagedTables"].toInt64(), 1);
  ASSERT_TRUE(succeeds(R"({"drop": "c"})"));
  server.node.advance(3min);  // the table goes after a checkpoint
  EXPECT_EQ(metrics()["damagedTables"].toInt64(), 0);
}

/// A read of the damaged part would end the engine: validation says what is wrong and does not read it.
TEST_F(ScrubberTest, AFullValidationReportsDamageWithoutReadingOn) {
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1}]})"));
  ASSERT_TRUE(answers(R"({"validate": "c", "full": true})", R"({"valid": true, "nrecords": 1})"));
  damage(identOf("c"));
  const bson::Document reply = run(R"({"validate": "c", "full": true})");
  EXPECT_FALSE(reply["valid"].truthy()) << bson::toRelaxedJson(reply);
  EXPECT_EQ(reply["nrecords"].toInt64(), 0);
  EXPECT_NE(bson::toRelaxedJson(reply).find("a block of it is damaged"), std::string::npos);
  EXPECT_FALSE(run(R"({"validate": "c", "full": true, "repair": true})")["repaired"].truthy());
  EXPECT_EQ(server.catalog->find(storage::Namespace("test", "c"))->records().count(), 1);
  EXPECT_TRUE(answers(R"({"validate": "c"})", R"({"valid": true})")) << "without full the disk is not read";
}

}  // namespace troupe::maintenance
