#include "supervisors/metrics/node_metrics.hpp"

#include "supervisors/supervision/supervisor.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"
#include "test/unit/actors/kernel/kernel_fixture.hpp"

namespace troupe::supervisors {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class NodeMetricsTest : public KernelTest {
 protected:
  std::string text() {
    MetricSet metrics;
    addActorMetrics(metrics, node);
    return metrics.text();
  }
};

TEST_F(NodeMetricsTest, CountsActorsByTypeAndPhase) {
  node.spawn<Echo>("/a");
  node.spawn<Echo>("/b");
  node.run();
  EXPECT_THAT(text(), HasSubstr("troupe_actors{type=\"Echo\",phase=\"running\"} 2\n"));
}

TEST_F(NodeMetricsTest, ShowsWaitingMessagesAndDeadLetters) {
  const Address a = node.spawn<Echo>("/a");
  node.run();
  node.tell(a, ping(1));
  node.tell(a, ping(2));
  node.tell(node.address("/nobody"), ping(3));
  EXPECT_THAT(text(), HasSubstr("troupe_mailbox_messages{type=\"Echo\"} 2\n"));
  EXPECT_THAT(text(), HasSubstr(std::string("troupe_dead_letters_total{reason=\"") +
                                deadLetterName(DeadLetter::kNoSuchActor) + "\"} 1\n"));
}

TEST_F(NodeMetricsTest, HasSeriesOfTheirOwnForSupervisedActorsOnly) {
  startTree(node, oneForOne("node", permanent<Echo>("kept")));
  node.spawn<Echo>("/node/kept/conn1");
  node.run();
  ASSERT_TRUE(node.wait(controlActor(node, "/node/kept", ControlAction::kRestart, "")).isOK());
  node.run();
  EXPECT_THAT(text(), HasSubstr("troupe_actor_incarnations_total{path=\"/node/kept\"} 2\n"));
  EXPECT_THAT(text(), HasSubstr("troupe_actor_parked{path=\"/node/kept\"} 0\n"));
  EXPECT_THAT(text(), Not(HasSubstr("conn1")));
}

TEST(ServerMetrics, ShowLatenciesOfReadsWritesAndCommands) {
  commands::CommandNode server;
  server.server->latencies.reads.note(std::chrono::microseconds(50));
  server.server->latencies.reads.note(std::chrono::microseconds(100));
  server.server->latencies.reads.note(std::chrono::hours(2));
  MetricSet metrics;
  addServerMetrics(metrics, *server.server);
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("troupe_operation_seconds_bucket{kind=\"read\",le=\"6.4e-05\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("troupe_operation_seconds_bucket{kind=\"read\",le=\"0.000128\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("troupe_operation_seconds_bucket{kind=\"read\",le=\"+Inf\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("troupe_operation_seconds_count{kind=\"write\"} 0\n"));
}

TEST(ServerMetrics, ShowTheFreeDiskAndWhetherWritesAreRefused) {
  commands::CommandNode server;
  const auto text = [&] {
    MetricSet metrics;
    addServerMetrics(metrics, *server.server);
    return metrics.text();
  };
  EXPECT_THAT(text(), Not(HasSubstr("\ntroupe_disk_free_bytes "))) << "nobody has looked yet";
  server.time->setDiskSpace(DiskSpace{int64_t{1} << 20, int64_t{100} << 30});
  server.disk.look();
  EXPECT_THAT(text(), HasSubstr("\ntroupe_disk_free_bytes 1048576\n"));
  EXPECT_THAT(text(), HasSubstr("\ntroupe_disk_reserve_bytes 536870912\n"));
  EXPECT_THAT(text(), HasSubstr("\ntroupe_disk_refusing_writes 1\n"));
  EXPECT_THAT(text(), HasSubstr("\ntroupe_disk_refusals_total 1\n"));
}

TEST(ProcessMetrics, ReadTheProcess) {
  MetricSet metrics;
  addProcessMetrics(metrics);
  const std::string text = metrics.text();
  const auto at = text.find("\nprocess_resident_memory_bytes ");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_GT(std::stod(text.substr(at + 31)), 1e6);
  EXPECT_THAT(text, HasSubstr("process_cpu_seconds_total "));
}

}  // namespace
}  // namespace troupe::supervisors
